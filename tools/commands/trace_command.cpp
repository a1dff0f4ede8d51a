// SPDX-License-Identifier: Apache-2.0
// lockwarp trace
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "debug/trace.hpp"
#include "debug/words.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/failure.hpp"
#include "tools/signals.hpp"

namespace lockwarp::tools {

namespace {

struct TraceOptions {
    std::vector<std::string> files, nvcc;
    std::string arch;
    std::vector<std::string> lines, ctas, instructions, registers;
    std::vector<uint32_t> warps, lanes;
    uint64_t max_rows = UINT64_MAX;
    std::string output;
};

// "41" or "40-80".
bool parse_range(const std::string& text, std::pair<uint32_t, uint32_t>& out) {
    const size_t dash = text.find('-');
    const std::optional<uint64_t> first = debug::number_of(text.substr(0, dash));
    const std::optional<uint64_t> last =
        dash == std::string::npos ? first : debug::number_of(text.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first || *last > UINT32_MAX) return false;
    out = {static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)};
    return true;
}

int trace_command(const TraceOptions& o) {
    launch::Result<std::vector<launch::Loaded>> loaded = launch::load_all(o.files, o.arch, o.nvcc);
    if (!loaded) return refuse(loaded.error());
    debug::TraceFilter filter;
    filter.max_rows = o.max_rows;
    filter.instructions = o.instructions;
    filter.registers = {o.registers.begin(), o.registers.end()};
    filter.warps = {o.warps.begin(), o.warps.end()};
    filter.lanes = {o.lanes.begin(), o.lanes.end()};
    for (const std::string& text : o.lines)
        if (!parse_range(text, filter.lines.emplace_back()))
            return refuse("--line takes a line of the PTX or two with '-', not '" + text + "'");
    for (const std::string& text : o.ctas) {
        const std::optional<uint64_t> cta =
            debug::cta_index(text, loaded->front().in.kernel().grid);
        if (!cta) return refuse("--cta: the grid has no CTA '" + text + "'");
        filter.ctas.insert(*cta);
    }
    std::FILE* const file = o.output.empty() ? stdout : std::fopen(o.output.c_str(), "w");
    if (file == nullptr) return refuse(o.output + ": cannot be written");
    bool good = std::fputs(std::string(debug::trace_header).c_str(), file) >= 0;
    const launch::Result<uint64_t> rows =
        debug::trace(*loaded, filter, &interrupt_flag(), [&](const std::string& text) {
            good = good && std::fwrite(text.data(), 1, text.size(), file) == text.size();
        });
    good = std::fflush(file) == 0 && good;
    if (file != stdout) good = std::fclose(file) == 0 && good;
    if (interrupted_now()) return interrupted;
    if (!good) return refuse("the trace could not be written");
    if (!rows) {
        (void)refuse(rows.error());
        return differs_or_trapped;
    }
    if (*rows == 0) return refuse("no instruction is of this choice: nothing was written");
    if (!o.output.empty()) fmt::print("{} rows in {}\n", *rows, o.output);
    return done;
}

}  // namespace

void add_trace(CLI::App& app, int& status) {
    const auto shared = std::make_shared<TraceOptions>();
    TraceOptions& o = *shared;
    CLI::App* trace = app.add_subcommand(
        "trace", "What lanes did: registers and accesses of each instruction, in columns");
    trace->add_option("FILES", o.files, "a launch file, or a source (.ptx, .cu) and a launch file")
        ->required();
    add_nvcc_options(*trace, o.nvcc);
    trace->add_option("--arch", o.arch, "the machine to model; default: as run's");
    const auto list = [&](const char* name, auto& values, const char* about, const char* type) {
        trace->add_option(name, values, about)
            ->type_name(type)
            ->delimiter(',')
            ->allow_extra_args(false);
    };
    list("--line", o.lines, "lines of the PTX, as 41 or 40-80", "LINES");
    list("--warp", o.warps, "warps of their CTAs", "N,...");
    list("--lane", o.lanes, "lanes, 0 to 31", "N,...");
    list("--instruction", o.instructions, "opcodes, whole or up to a dot, as mma", "NAMES");
    list("--register", o.registers, "instructions that write these registers", "NAMES");
    trace->add_option("--cta", o.ctas, "CTAs, as X,Y,Z or their index; may be repeated")
        ->type_name("CTA")
        ->allow_extra_args(false);
    trace->add_option("--max-rows", o.max_rows, "no more rows than these")->type_name("N");
    trace->add_option("--output", o.output, "a file; default: standard output")->type_name("FILE");
    trace->callback([shared, &status] { status = trace_command(*shared); });
}

}  // namespace lockwarp::tools
