// SPDX-License-Identifier: Apache-2.0
#include "tools/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/ptx/space_name.hpp"
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

// "gemm.cu:41", or where that is not known the line of the PTX.
std::string line_text(const launch::Input& in, const ptx::SourceMap& sources, ptx::Place at) {
    const std::string source = launch::short_place(ptx::places_of(sources, at));
    return source.empty() ? fmt::format("{}:{}", launch::named_ptx(in), at.line) : source;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A message beside a line of the source: the other side's line as its source has it, and "PTX"
// before the other numbers of lines.
std::string beside_source(std::string message, const std::string& other,
                          const std::string& other_source) {
    if (const size_t at = message.find(other); !other_source.empty() && at != std::string::npos)
        if (at + other.size() == message.size() || !is_digit(message[at + other.size()]))
            message.replace(at, other.size(), other_source);
    for (const std::string_view word : {"line ", "lines "})
        for (size_t at = message.find(word); at != std::string::npos; at = message.find(word, at)) {
            const bool is_number = at + word.size() < message.size() &&
                                   is_digit(message[at + word.size()]) &&
                                   (at == 0 || message[at - 1] == ' ');
            if (is_number) message.insert(at, "PTX ");
            at += is_number ? 4 + word.size() : word.size();
        }
    return message;
}

// The first line of a finding, without the line break.
std::string headline(const launch::Input& in, const isa::Program& program,
                     const ptx::SourceMap& sources, const Found& f) {
    const check::Finding& finding = f.finding;
    std::string where = launch::named_ptx(in), message = finding.message;
    if (finding.here.operation) {
        const ptx::Place at = program.operations[*finding.here.operation].place;
        where = line_text(in, sources, at);
        std::string other, other_source;
        if (finding.other && finding.other->operation) {
            const ptx::Place there = program.operations[*finding.other->operation].place;
            other = fmt::format("line {}", there.line);
            other_source = launch::short_place(ptx::places_of(sources, there));
        }
        if (!ptx::places_of(sources, at).empty())
            message = beside_source(std::move(message), other, other_source);
    }
    return fmt::format("{}: {}: {} [{}/{}]", where,
                       finding.severity == Severity::error ? "error" : "note", message,
                       f.check->name, finding.kind);
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
        add(fmt::format("{} address {:#x}", ptx::name_of(f.finding.space), f.finding.address));
    if (!f.object.name.empty())
        add(fmt::format("{}{} + {}", f.object.space == ptx::Space::global ? "buffer " : "",
                        f.object.name, f.object.offset));
    if (!f.object.element.empty()) out += " = " + f.object.element;
    if (f.finding.count != 1) out += fmt::format("; {} times", f.finding.count);
    return out;
}

std::string finding_text(const launch::Input& in, const isa::Program& program, const Found& f) {
    const ptx::SourceMap sources = ptx::source_map(in.module);
    const check::Finding& finding = f.finding;
    std::string out = headline(in, program, sources, f) + "\n";
    if (finding.here.operation) {
        const ptx::Place at = program.operations[*finding.here.operation].place;
        const std::vector<ptx::SourcePlace> places = ptx::places_of(sources, at);
        if (!places.empty()) out += fmt::format("  {}:{}\n", launch::named_ptx(in), at.line);
        out += marked(in.source, at) + launch::source_text(places);
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
