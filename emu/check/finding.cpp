// SPDX-License-Identifier: Apache-2.0
#include "emu/check/finding.hpp"

#include <utility>

namespace lockwarp::check {

bool Collection::again(std::string_view kind, std::optional<uint32_t> here,
                       std::optional<uint32_t> other, uint64_t count) {
    const auto at = findings_.find({here, other, kind});
    if (at == findings_.end()) return false;
    at->second.count += count;
    return true;
}

void Collection::add(Finding finding) {
    const std::optional<uint32_t> other = finding.other ? finding.other->operation : std::nullopt;
    if (again(finding.kind, finding.here.operation, other, finding.count)) return;
    const Key key{finding.here.operation, other, finding.kind};
    findings_.emplace(key, std::move(finding));
}

void Collection::take(const Collection& later) {
    for (const auto& [key, finding] : later.findings_) add(finding);
}

std::vector<Finding> Collection::list() const {
    std::vector<Finding> out;
    for (const auto& [key, finding] : findings_) out.push_back(finding);
    return out;
}

}  // namespace lockwarp::check
