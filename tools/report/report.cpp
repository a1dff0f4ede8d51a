// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "emu/exec/unneeded.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/source_text.hpp"
#include "tools/report/shown.hpp"
#include "tools/report/summary_text.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

std::string_view function_of(const isa::Program& program, uint32_t operation) {
    for (const isa::Function& f : program.functions)
        if (operation < f.end) return f.name;  // they stand in the order of their operations
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

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

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
    if (t.has_address) out += fmt::format(", {} address {:#x}", ptx::name_of(t.space), t.address);
    out += '\n';
    if (!t.detail.empty()) out += folded(t.detail);
    if (exec::UnneededLoads(program).is_cause(t))
        out += folded(
            "nothing needs what it loads: NVIDIA's assembler leaves the load out, and a GPU goes "
            "on");
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
