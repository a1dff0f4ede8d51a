// SPDX-License-Identifier: Apache-2.0
#include "tools/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch/source_text.hpp"
#include "tools/report/shown.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using check::Found;
using check::Severity;
using check::Site;

namespace {

std::string numbered(size_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string other_text(const launch::Input& in, const isa::Program& program,
                       const ptx::SourceMap& sources, const Site& other) {
    if (!other.operation) return {};
    const ptx::Place at = program.operations[*other.operation].place;
    std::string who = fmt::format("CTA ({},{},{})", other.cta[0], other.cta[1], other.cta[2]);
    if (other.lanes != 0) who = site_text(other);
    return fmt::format("  the other side: {}:{}, {}\n", launch::named_ptx(in), at.line, who) +
           marked(in.source, at) + launch::source_text(ptx::places_of(sources, at));
}

}  // namespace

std::string lanes_text(uint32_t lanes) {
    std::string out;
    for (unsigned first = 0; first < 32; ++first) {
        if ((lanes >> first & 1) == 0) continue;
        unsigned last = first;
        while (last + 1 < 32 && (lanes >> (last + 1) & 1) != 0) ++last;
        out += fmt::format("{}{}", out.empty() ? "" : ",", first);
        if (last != first) out += fmt::format("-{}", last);
        first = last;
    }
    return out;
}

size_t errors_of(std::span<const Found> found) {
    return static_cast<size_t>(std::ranges::count(
        found, Severity::error, [](const Found& f) { return f.finding.severity; }));
}

std::string counts_text(std::span<const Found> found) {
    const size_t errors = errors_of(found), notes = found.size() - errors;
    if (found.empty()) return "nothing was found";
    if (notes == 0) return numbered(errors, "error");
    if (errors == 0) return numbered(notes, "note");
    return numbered(errors, "error") + ", " + numbered(notes, "note");
}

std::string site_text(const Site& s) {
    if (!s.operation) return {};
    std::string out = fmt::format("CTA ({},{},{}), warp {}", s.cta[0], s.cta[1], s.cta[2], s.warp);
    if (s.lanes != 0)
        out += ((s.lanes & (s.lanes - 1)) == 0 ? ", lane " : ", lanes ") + lanes_text(s.lanes);
    if (s.step != 0) out += fmt::format(", step {}", s.step);
    return out;
}

std::string place_text(const Found& f) {
    std::string out = site_text(f.finding.here);
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    if (f.finding.space != ptx::Space::none)
        add(fmt::format("{} address {:#x}", space_of(f.finding.space), f.finding.address));
    if (!f.object.name.empty())
        add(fmt::format("{}{} + {}", f.object.space == ptx::Space::global ? "buffer " : "",
                        f.object.name, f.object.offset));
    if (f.finding.count != 1) out += fmt::format("; {} times", f.finding.count);
    return out;
}

std::string finding_text(const launch::Input& in, const isa::Program& program, const Found& f) {
    const ptx::SourceMap sources = ptx::source_map(in.module);
    const check::Finding& finding = f.finding;
    const char* const severity = finding.severity == Severity::error ? "error" : "note";
    std::string out;
    if (finding.here.operation) {
        const ptx::Place at = program.operations[*finding.here.operation].place;
        out = fmt::format("{}:{}: {}: {} [{}/{}]\n{}", launch::named_ptx(in), at.line, severity,
                          finding.message, f.check->name, finding.kind, marked(in.source, at));
        out += launch::source_text(ptx::places_of(sources, at));
    } else {
        out = fmt::format("{}: {}: {} [{}/{}]\n", launch::named_ptx(in), severity, finding.message,
                          f.check->name, finding.kind);
    }
    if (const std::string place = place_text(f); !place.empty()) out += folded(place);
    if (finding.other) out += other_text(in, program, sources, *finding.other);
    if (!finding.hint.empty()) out += folded(finding.hint);
    return clean(out);
}

std::string findings_report(const launch::Input& in, const isa::Program& program,
                            std::span<const Found> found) {
    if (found.empty()) return {};
    const check::Finding& first = found.front().finding;
    std::string line;
    if (first.here.operation)
        line = fmt::format("line {} ", program.operations[*first.here.operation].place.line);
    std::string out = fmt::format("CHECK  {}: {}{}\n", counts_text(found), line, first.message);
    for (const Found& f : found) out += finding_text(in, program, f);
    return out;
}

}  // namespace lockwarp::tools
