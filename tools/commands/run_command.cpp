// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/run_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"
#include "launch/input.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/fidelity_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/matrices.hpp"
#include "tools/report/report.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

Buffers views(const std::vector<launch::BufferField>& fields,
              const std::vector<std::vector<uint8_t>>& storage) {
    Buffers out;
    for (size_t i = 0; i < fields.size(); ++i) out[fields[i].name] = storage[i];
    return out;
}

launch::Result<void> write_outputs(const launch::LaunchFile& file, const launch::Prepared& prepared,
                                   const std::string& folder) {
    if (launch::Result<void> made = launch::make_folder(folder); !made) return made;
    launch::Outputs outputs;
    for (const std::string& name : file.outputs)
        for (size_t i = 0; i < file.buffers.size(); ++i)
            if (file.buffers[i].name == name) {
                const std::string path = (std::filesystem::path(folder) / (name + ".bin")).string();
                launch::Result<void> written = outputs.add(path, prepared.storage[i]);
                if (!written) return written;
            }
    return outputs.commit();
}

std::string statistics(const warp::Statistics& s, double seconds) {
    return fmt::format(
        "instructions     {:>18}   retired by warps\n"
        "lane operations  {:>18}   {:.3g} a second\n"
        "products         {:>18}   multiply-adds of matrix instructions, {:.3g} a second\n"
        "CTAs, warps      {:>18}   {} warps\n"
        "seconds          {:>18.3f}\n",
        validate::grouped(s.instructions), validate::grouped(s.lane_operations),
        static_cast<double>(s.lane_operations) / seconds, validate::grouped(s.products),
        static_cast<double>(s.products) / seconds, validate::grouped(s.ctas),
        validate::grouped(s.warps), seconds);
}

std::string arch_help() {
    std::string text = "the machine to model:";
    for (const isa::ArchRow& a : isa::arch_rows) text += fmt::format(" {} ({})", a.name, a.product);
    return text + "; default: the launch file's, else the module's own .target";
}

}  // namespace

// From the table of checks.
std::string check_help() {
    std::string out;
    for (const check::CheckRow& row : check::checks())
        out += fmt::format("{}{} ({}{})", out.empty() ? "look, while it runs, for " : "; ",
                           row.finds, row.name, row.is_fault ? ": exit status 1" : "");
    return out + "; =NAMES chooses among them, with commas";
}

using Checks = std::vector<std::pair<const check::CheckRow*, std::unique_ptr<check::Check>>>;

// "all", or names with commas.
launch::Result<std::vector<const check::CheckRow*>> parse_checks(std::string_view names) {
    std::vector<const check::CheckRow*> rows;
    for (size_t begin = 0; begin < names.size();) {
        const size_t end = std::min(names.find(',', begin), names.size());
        const std::string_view name = names.substr(begin, end - begin);
        begin = end + 1;
        const check::CheckRow* const one = check::check_named(name);
        std::string known;
        for (const check::CheckRow& row : check::checks()) {
            if ((name == "all" || &row == one) && std::ranges::find(rows, &row) == rows.end())
                rows.push_back(&row);
            known += fmt::format(", {}", row.name);
        }
        if (name != "all" && one == nullptr)
            return launch::failure(fmt::format(
                "--check={}: there is no check \"{}\"; there are all{}", names, name, known));
    }
    return rows;
}

// The checks, as observers of the launch.
Checks make_checks(const std::vector<const check::CheckRow*>& rows, const isa::Program& program,
                   warp::Launch& launch) {
    Checks out;
    for (const check::CheckRow* row : rows) {
        out.emplace_back(row, row->make(program, launch));
        launch.observers.push_back(out.back().second.get());
    }
    return out;
}

void add_run(CLI::App& app, int& status) {
    const auto shared = std::make_shared<RunOptions>();
    RunOptions& o = *shared;
    CLI::App* run = app.add_subcommand("run", "Run a launch file on the emulator");
    run->add_option(
           "FILES", o.files,
           "LAUNCH.json, or a source (.ptx, .cu) and a launch file: the source takes the place "
           "of the one that the launch file names")
        ->required()
        ->expected(1, 2);
    run->add_option("--arch", o.arch, arch_help());
    run->add_option("--out", o.out, "write each output buffer to DIR/NAME.bin")->type_name("DIR");
    run->add_option(
           "--print", o.print,
           "print a buffer as a matrix: BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex]; may be repeated")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    run->add_option("--product", o.product,
                    "how far a result is from the exact product: D=A*B:MxNxK:AB_TYPE:D_TYPE, all "
                    "row-major; A' for A stored K x M, B' for B stored N x K")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    run->add_flag("--check{all}", o.check, check_help());
    run->add_flag("--stats", o.stats, "count instructions, lane operations and products");
    run->add_option("--max-steps", o.max_steps,
                    "trap when a warp has retired N instructions (default: no limit)")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
    run->add_option("--threads", o.threads, "cores to use (default: all)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    run->add_option("--optimize", o.optimization,
                    "level of the driver's compiler to model, 0 to 4 (default: 4): from 1 on it "
                    "computes functions of constants itself")
        ->type_name("LEVEL")
        ->check(CLI::Range(0u, 4u));
    run->callback([shared, &status] { status = run_command(*shared); });
}

namespace {

// What is to be shown of the buffers.
struct Requests {
    std::vector<PrintRequest> prints;
    std::vector<ProductRequest> products;
};

launch::Result<Requests> parse_requests(const RunOptions& options) {
    Requests out;
    for (const std::string& text : options.print) {
        launch::Result<PrintRequest> request = parse_print(text);
        if (!request) return launch::failure(request);
        out.prints.push_back(std::move(*request));
    }
    for (const std::string& text : options.product) {
        launch::Result<ProductRequest> request = parse_product(text);
        if (!request) return launch::failure(request);
        out.products.push_back(std::move(*request));
    }
    return out;
}

// Whatever can be wrong with a request is said before the run, not after it.
launch::Result<void> check_requests(const RunOptions& options, const Requests& requests,
                                    const Buffers& buffers) {
    for (const PrintRequest& p : requests.prints)
        if (launch::Result<void> held = check_print(p, buffers); !held) return held;
    for (const ProductRequest& p : requests.products)
        if (launch::Result<void> held = check_product(p, buffers); !held) return held;
    if (!options.out.empty()) return launch::make_folder(options.out);
    return {};
}

struct Ran {
    warp::Result result;
    double seconds = 0;
};

Ran run(const RunOptions& options, const isa::Program& program, warp::Launch& launch) {
    std::atomic<uint64_t> ended{0}, retired{0};
    launch.progress = &ended;
    launch.retired = &retired;
    launch.stop = &interrupt_flag();
    launch.threads = options.threads;
    launch.fold_constants = options.optimization != 0;
    if (options.max_steps != 0) launch.max_steps = options.max_steps;
    const auto begin = std::chrono::steady_clock::now();
    const Progress progress(ended, launch.grid.count(), retired);
    warp::Result result = exec::launch(program, launch);
    launch.progress = nullptr;
    launch.retired = nullptr;
    return {std::move(result),
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

// Prints what the checks found; whether a fault is among it.
bool print_findings(const launch::Loaded& loaded, const Checks& checks) {
    bool fault = false;
    for (const auto& [row, check] : checks) {
        const std::string found =
            findings_report(loaded.in, loaded.program, row->word, check->findings());
        fault |= row->is_fault && !found.empty();
        fmt::print("{}", found);
    }
    return fault;
}

}  // namespace

int run_command(const RunOptions& options) {
    const launch::Result<Requests> requests = parse_requests(options);
    if (!requests) return refuse(requests.error());
    const launch::Result<std::vector<const check::CheckRow*>> rows = parse_checks(options.check);
    if (!rows) return refuse(rows.error());
    const launch::Result<launch::Loaded> loaded = launch::load(options.files, options.arch);
    if (!loaded) return refuse(loaded.error());
    const auto& [in, arch, program] = *loaded;
    for (const std::string& w : in.launch.warnings) spdlog::warn("{}", w);
    launch::Result<launch::Prepared> made = launch::prepare(in.launch, program);
    if (!made) return refuse(made.error());
    launch::Prepared& prepared = *made;
    const Buffers buffers = views(in.launch.buffers, prepared.storage);
    if (const launch::Result<void> held = check_requests(options, *requests, buffers); !held)
        return refuse(held.error());
    std::vector<std::vector<uint8_t>> inputs;
    if (!requests->products.empty()) inputs = prepared.storage;

    const Checks checks = make_checks(*rows, program, prepared.launch);
    const auto [result, seconds] = run(options, program, prepared.launch);
    if (result.refusal) return refuse(in.launch.path + ": " + result.refusal->what);
    if (result.trap && result.trap->kind == warp::TrapKind::stopped) {
        fmt::print("{}", stopped_report(in, program, result, prepared.launch.grid.count()));
        return interrupted;
    }
    if (result.trap) {
        fmt::print("{}", trap_report(in, program, *result.trap));
        fmt::print("{}", printed_report(result));
        if (options.stats) fmt::print("{}", statistics(result.statistics, seconds));
        return differs_or_trapped;
    }

    const bool is_wrong = print_findings(*loaded, checks);
    std::string text = fmt::format("done: {} on {}, {} CTA{}, {} instructions\n", program.entry,
                                   isa::row(arch).name, validate::grouped(result.statistics.ctas),
                                   result.statistics.ctas == 1 ? "" : "s",
                                   validate::grouped(result.statistics.instructions));
    text += printed_report(result);
    for (const PrintRequest& p : requests->prints) print_matrix(p, buffers, text);
    for (const ProductRequest& p : requests->products)
        product_report(p, views(in.launch.buffers, inputs), buffers, text);
    if (options.stats) text += statistics(result.statistics, seconds);
    text += validate::folded_text(program, result.folded, in.ptx_path);
    text += fidelity_note(program, in.module);
    if (!options.out.empty())
        if (const auto written = write_outputs(in.launch, prepared, options.out); !written)
            return refuse(written.error());
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) return refuse("the output could not be written");
    return is_wrong ? differs_or_trapped : done;
}

}  // namespace lockwarp::tools
