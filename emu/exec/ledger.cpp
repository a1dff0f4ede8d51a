// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/ledger.hpp"

#include <algorithm>

namespace lockwarp::exec {

namespace {

std::string counted(uint64_t n, const char* one) {
    return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

}  // namespace

Ledger::Barrier& Ledger::of(const uint8_t* barrier) {
    if (last_ < barriers_.size() && barriers_[last_].at == barrier) return barriers_[last_];
    const auto found = std::ranges::find(barriers_, barrier, &Barrier::at);
    last_ = static_cast<size_t>(found - barriers_.begin());
    if (found == barriers_.end()) barriers_.push_back({barrier, 0, {}});
    return barriers_[last_];
}

Ledger::Entry& Ledger::entry(const uint8_t* barrier, uint32_t operation) {
    std::vector<Entry>& entries = of(barrier).entries;
    const auto found = std::ranges::find(entries, operation, &Entry::operation);
    if (found != entries.end()) return *found;
    return entries.emplace_back(Entry{operation});
}

void Ledger::begins(const uint8_t* barrier) {
    Barrier& b = of(barrier);
    b.phases = 0;
    b.entries.clear();
}

void Ledger::ends_phase(const uint8_t* barrier) {
    Barrier& b = of(barrier);
    ++b.phases;
    b.entries.clear();
}

std::string Ledger::text(const uint8_t* barrier, const isa::Program& program) const {
    const auto found = std::ranges::find(barriers_, barrier, &Barrier::at);
    if (found == barriers_.end()) return {};
    std::string lines;
    for (const Entry& e : found->entries) {
        lines += lines.empty() ? "line " : "; line ";
        lines += std::to_string(program.operations[e.operation].place.line) + ": ";
        std::string what;
        const auto add = [&](uint64_t n, const char* one, const char* behind) {
            if (n != 0) what += (what.empty() ? "" : ", ") + counted(n, one) + behind;
        };
        add(e.arrivals, "arrival", "");
        add(static_cast<uint64_t>(e.expected), "byte", " expected");
        add(static_cast<uint64_t>(e.brought), "byte", " came");
        lines += what;
    }
    if (found->phases == 0) return lines.empty() ? "nobody has come" : "so far " + lines;
    const std::string over =
        counted(found->phases, "phase") + (found->phases == 1 ? " is over" : " are over");
    return over + (lines.empty() ? ", and nobody has come since" : "; since then " + lines);
}

}  // namespace lockwarp::exec
