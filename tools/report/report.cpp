// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch/source_text.hpp"
#include "tools/report/summary_text.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

constexpr size_t columns = 100;

std::string_view line_of(std::string_view source, uint32_t line) {
    size_t begin = 0;
    for (uint32_t i = 1; i < line; ++i) {
        begin = source.find('\n', begin);
        if (begin == std::string_view::npos) return {};
        ++begin;
    }
    return source.substr(begin, std::min(source.find('\n', begin), source.size()) - begin);
}

// The line and a caret under the place, cut to the width of a terminal; what is no printable
// character shows as '.'.
std::string marked(std::string_view source, ptx::Place place) {
    if (place.line == 0) return {};
    const std::string_view whole = line_of(source, place.line);
    const std::string number = std::to_string(place.line);
    const size_t room = columns - number.size() - 6;
    const size_t at = place.column == 0 ? 0 : place.column - 1;
    const size_t first = at > room * 3 / 4 ? at - room / 2 : 0;
    if (first > whole.size()) return {};
    std::string text(whole.substr(first, room));
    for (char& c : text)
        if (c == '\t')
            c = ' ';
        else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
            c = '.';
    std::string under(at - first, ' ');
    const size_t length =
        std::min<size_t>(std::max(place.length, 1u), room - std::min(room - 1, at - first));
    under.push_back('^');
    under.append(length - 1, '~');
    return fmt::format("  {} | {}\n  {} | {}\n", number, text, std::string(number.size(), ' '),
                       under);
}

// A hint in lines of at most 100 columns, broken at blanks.
std::string folded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t room = columns - 2;
        size_t end = text.size();
        if (end > room) {
            end = text.rfind(' ', room);
            if (end == std::string_view::npos || end == 0) end = room;
        }
        out += fmt::format("  {}\n", text.substr(0, end));
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
    }
    return out;
}

std::string_view space_of(ptx::Space space) {
    switch (space) {
        case ptx::Space::global:
            return "global";
        case ptx::Space::shared:
            return "shared";
        case ptx::Space::local:
            return "local";
        case ptx::Space::param:
            return "param";
        case ptx::Space::const_:
            return "const";
        default:
            return "generic";
    }
}

std::string_view function_of(const isa::Program& program, uint32_t operation) {
    for (const isa::Function& f : program.functions)
        if (operation >= f.first && operation < f.end) return f.name;
    return program.entry;
}

// "  line 14, kernel.cu:7:3" and the source's line, of each further operation that a trap names.
std::string others_report(const isa::Program& program, const ptx::SourceMap& sources,
                          const warp::Trap& t) {
    std::string out;
    std::vector<uint32_t> lines{t.place.line};
    for (const uint32_t operation : t.others) {
        const ptx::Place at = program.operations[operation].place;
        if (std::ranges::find(lines, at.line) != lines.end()) continue;
        lines.push_back(at.line);
        const std::string source = launch::source_text(ptx::places_of(sources, at), 80);
        if (!source.empty()) out += fmt::format("  line {}, {}", at.line, source.substr(2));
    }
    return out;
}

}  // namespace

std::string caret_report(const std::string& file, std::string_view source,
                         const std::vector<ptx::Diagnostic>& diagnostics) {
    std::string out;
    for (const ptx::Diagnostic& d : diagnostics) {
        if (d.place.line == 0)
            out += fmt::format("{}: error: {}\n", file, d.message);
        else
            out +=
                fmt::format("{}:{}:{}: error: {}\n", file, d.place.line, d.place.column, d.message);
        out += marked(source, d.place);
        out += folded(d.hint);
    }
    return out;
}

std::string trap_report(const launch::Input& in, const isa::Program& program, const warp::Trap& t) {
    const ptx::SourceMap sources = ptx::source_map(in.module);
    std::string out =
        fmt::format("{}  {}:{}  {}", t.kind == warp::TrapKind::stopped ? "STOPPED" : "TRAP",
                    launch::named_ptx(in), t.place.line, function_of(program, t.operation));
    if (t.kind != warp::TrapKind::stopped) out += fmt::format(": {}", warp::trap_name(t.kind));
    if (t.has_address) out += fmt::format(" {:#x}", t.address);
    out += '\n';
    out += marked(in.source, t.place);
    out += launch::source_text(ptx::places_of(sources, t.place));
    out += fmt::format("  CTA ({},{},{}), warp {}", t.cta[0], t.cta[1], t.cta[2], t.warp);
    if (t.has_lane) out += fmt::format(", lane {}", t.lane);
    out += fmt::format(", step {}", t.step);
    if (t.has_address) out += fmt::format(", {} address {:#x}", space_of(t.space), t.address);
    out += '\n';
    if (!t.detail.empty()) out += folded(t.detail);
    out += others_report(program, sources, t);
    constexpr size_t shown = 8;
    for (size_t i = 0; i < t.calls.size() && i < shown; ++i) {
        const ptx::Place call = program.operations[t.calls[i]].place;
        const std::string from = launch::short_place(ptx::places_of(sources, call));
        out += fmt::format("  called from {}:{} ({}){}\n", launch::named_ptx(in), call.line,
                           function_of(program, t.calls[i]), from.empty() ? "" : "  " + from);
    }
    if (t.calls.size() > shown) out += "  called from further calls\n";
    return clean(out);
}

std::string stopped_report(const launch::Input& in, const isa::Program& program,
                           const warp::Result& result, uint64_t ctas) {
    return trap_report(in, program, *result.trap) + printed_report(result) +
           fmt::format("stopped: {} of {} CTA{} ended, {} instructions; no output was written\n",
                       validate::grouped(result.statistics.ctas), validate::grouped(ctas),
                       ctas == 1 ? "" : "s", validate::grouped(result.statistics.instructions));
}

std::string findings_report(const launch::Input& in, const isa::Program& program,
                            std::string_view word, const check::Findings& findings) {
    if (findings.list.empty()) return {};
    const ptx::SourceMap sources = ptx::source_map(in.module);
    std::string out = fmt::format("{}  {}\n", word, findings.summary);
    for (const check::Finding& f : findings.list) {
        if (f.operation) {
            const ptx::Place at = program.operations[*f.operation].place;
            out += fmt::format("{}:{}  {}: {}\n{}", launch::named_ptx(in), at.line,
                               function_of(program, *f.operation), f.what, marked(in.source, at));
            out += launch::source_text(ptx::places_of(sources, at));
        } else {
            out += folded(f.what);
        }
        if (!f.place.empty()) out += fmt::format("  {}\n", f.place);
        if (!f.hint.empty()) out += folded(f.hint);
    }
    return clean(out);
}

std::string printed_report(const warp::Result& result) {
    if (result.printed.empty()) return {};
    uint64_t bytes = 0;
    for (const warp::Printed& p : result.printed) bytes += p.text.size();
    std::string out = fmt::format(
        "printed by {} call{} of printf, {} bytes{}:\n", result.printed.size(),
        result.printed.size() == 1 ? "" : "s", bytes,
        result.printed_bytes_lost == 0 ? ""
                                       : fmt::format(", {} more lost", result.printed_bytes_lost));
    for (const warp::Printed& p : result.printed)
        for (const char c : p.text) {
            const auto code = static_cast<unsigned char>(c);
            const bool shows = (code >= 32 && code != 127) || c == '\n' || c == '\t';
            out += shows ? c : '.';
        }
    if (out.back() != '\n') out += '\n';
    return out;
}

}  // namespace lockwarp::tools
