// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/run_command.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/order_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "emu/lockwarp.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/debug_command.hpp"
#include "tools/commands/run_file.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/products.hpp"
#include "tools/report/summary_text.hpp"
#include "tools/shard.hpp"

namespace lockwarp::tools {

namespace {

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
        out += fmt::format("{}{} ({})", out.empty() ? "look, while it runs, for " : "; ", row.finds,
                           row.name);
    return out + "; =NAMES chooses among them, with commas. Exit status 1 where one finds an error";
}

void add_run(CLI::App& app, int& status) {
    const auto shared = std::make_shared<RunOptions>();
    RunOptions& o = *shared;
    CLI::App* run = app.add_subcommand("run", "Run a launch file on the emulator");
    run->add_option(
           "FILES", o.files,
           "launch files, or a source (.ptx, .cu) and a launch file: the source takes the place "
           "of the one that the launch file names. Several, or one with a report, are tests: each "
           "must hold what it expects (\"expect\")")
        ->required();
    add_nvcc_options(*run, o.nvcc);
    run->add_option("--arch", o.arch, arch_help());
    run->add_option("--out", o.out, "write each output buffer to DIR/NAME.bin")->type_name("DIR");
    run->add_option(
           "--print", o.print,
           "print a buffer as a matrix: BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex]; may be repeated")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    run->add_option("--product", o.product,
                    "how far a result is from the exact product: "
                    "D=A*B:MxNxK:AB_TYPE:D_TYPE[:ulp=N|absolute=X|relative=X], all row-major; A' "
                    "for A stored K x M, B' for B stored N x K. Exit status 1 beyond the tolerance "
                    "(default: what rounding explains)")
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
    add_order_options(*run, o.order, o.orders);
    add_async_option(*run, o.async);
    run->add_option("--optimize", o.optimization,
                    "level of the driver's compiler to model, 0 to 4 (default: 4): from 1 on it "
                    "computes functions of constants itself")
        ->type_name("LEVEL")
        ->check(CLI::Range(0u, 4u));
    run->add_option("--at", o.at,
                    "one look: hold where the debugger's \"break\" would, a line of the PTX or "
                    "FILE:LINE or an opcode, show, and end")
        ->type_name("WHERE");
    run->add_option("--show", o.show,
                    "with --at: fragments (A, B, C; D once the instruction has run), registers, "
                    "expressions of the debugger")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->needs("--at");
    run->add_option("--lane", o.lane, "with --at: the lane to look at")
        ->type_name("N")
        ->check(CLI::Range(0u, 31u))
        ->needs("--at");
    add_report_options(*run, o.report);
    add_shard_option(*run, o.shard);
    run->add_option("-j,--jobs", o.jobs, "launch files side by side (default: as many as cores)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    run->callback([shared, &status] { status = run_command(*shared); });
}

launch::Result<Requests> parse_requests(const RunOptions& options) {
    Requests out;
    for (const std::string& text : options.print) {
        launch::Result<PrintRequest> request = parse_print(text);
        if (!request) return launch::failure(request);
        out.prints.push_back(std::move(*request));
    }
    for (const std::string& text : options.product) {
        launch::Result<launch::Expectation> request = parse_product(text);
        if (!request) return launch::failure(request);
        out.products.push_back(std::move(*request));
    }
    check::Chosen chosen = check::choose(options.check);
    if (!chosen.wrong.empty())
        return launch::failure(fmt::format("--check={}: {}", options.check, chosen.wrong));
    out.checks = std::move(chosen.rows);
    return out;
}

namespace {

bool is_launch_file(const std::string& name) { return name.ends_with(".json"); }

// One launch file, with all that it has to say.
int run_one(const RunOptions& options, const Requests& requests) {
    const FileRun r =
        run_file(options, requests, options.files, options.threads, true, options.out);
    if (r.refused) return refuse(*r.refused);
    fmt::print("{}", r.text);
    if (std::fflush(stdout) != 0) return refuse("the output could not be written");
    return r.status;
}

// As a test: one that expects nothing has compared nothing.
void judge(FileRun& r) {
    if (r.status != done || r.expectations != 0) return;
    r.status = wrong_input;
    r.result.verdict = validate::Verdict::failed;
    r.result.text = "nothing was compared: the launch file expects nothing (field 'expect')\n";
}

void print_tested(const FileRun& r) {
    const std::string time = fmt::format("{:.1f} s", r.result.seconds);
    if (r.status == done)
        fmt::print("as expected  {}  {} values, {}\n", r.result.name,
                   validate::grouped(r.result.counts.values), time);
    else
        fmt::print("{}  {}  {}\n{}", r.status == differs_or_trapped ? "FAILED" : "NOT RUN",
                   r.result.name, time, r.result.text);
    std::fflush(stdout);
    if (r.refused) (void)refuse(*r.refused);
}

// What one is written to: of several each has a folder of its own.
std::string folder_of(const RunOptions& options, const std::string& name) {
    if (options.out.empty() || options.files.size() == 1) return options.out;
    return (std::filesystem::path(options.out) / std::filesystem::path(name).stem()).string();
}

// The launch files side by side, each result printed when it is there.
std::vector<FileRun> test_all(const RunOptions& options, const Requests& requests,
                              const std::vector<std::vector<std::string>>& cases) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t jobs =
        std::clamp<size_t>(options.jobs != 0 ? options.jobs : cores, 1, cases.size());
    const auto share = static_cast<unsigned>(std::max<size_t>(cores / jobs, 1));
    const unsigned threads = options.threads != 0 ? options.threads : share;
    std::vector<FileRun> out(cases.size());
    std::atomic<size_t> next{0};
    std::atomic<uint64_t> ended{0};
    Progress progress(ended, cases.size(), "launch files");
    const auto work = [&] {
        for (size_t i = next++; i < cases.size() && !interrupted_now(); i = next++) {
            FileRun r = run_file(options, requests, cases[i], threads, false,
                                 folder_of(options, cases[i].back()));
            if (r.status == interrupted) return;
            judge(r);
            progress.above([&] { print_tested(r); });
            out[i] = std::move(r);
            ++ended;
        }
    };
    {
        std::vector<std::jthread> workers;
        for (size_t n = 0; n < jobs; ++n) workers.emplace_back(work);
    }  // all have ended
    return out;
}

int run_tests(const RunOptions& options, const Requests& requests, const Shard& shard,
              std::vector<std::vector<std::string>> cases) {
    const Part part = part_of(shard, cases.size());
    cases = {cases.begin() + static_cast<std::ptrdiff_t>(part.first),
             cases.begin() + static_cast<std::ptrdiff_t>(part.first + part.count)};
    if (cases.empty()) return refuse("--shard " + options.shard + ": no launch file is in it");
    const std::vector<FileRun> all = test_all(options, requests, cases);
    validate::Summary summary;
    summary.command = "run";
    int status = interrupted_now() ? static_cast<int>(interrupted) : static_cast<int>(done);
    size_t failed = 0, refused = 0, ended = 0;
    for (const FileRun& r : all) {
        if (r.result.name.empty()) continue;
        ++ended;
        validate::add(summary, r.result, true);
        status = std::max(status, r.status);
        failed += r.status == differs_or_trapped ? 1 : 0;
        refused += r.status == wrong_input ? 1 : 0;
    }
    const std::string which = shard_text(shard);
    fmt::print("{}: {} of {} launch files as expected, {} failed, {} not run{}{}\n",
               ended != all.size()     ? "STOPPED"
               : failed + refused != 0 ? "FAILED"
                                       : "as expected",
               ended - failed - refused, all.size(), failed, refused, which.empty() ? "" : "; ",
               which);
    if (const launch::Result<void> written = write_reports(summary, options.report); !written)
        return refuse(written.error());
    if (std::fflush(stdout) != 0) return refuse("the output could not be written");
    return status;
}

}  // namespace

namespace {

// A session of the debugger that ends after one look.
int look_once(const RunOptions& options) {
    DebugOptions debug;
    debug.files = options.files;
    debug.nvcc = options.nvcc;
    debug.arch = options.arch;
    debug.product = options.product;
    debug.order = options.order;
    debug.batch = true;
    debug.commands = {"tbreak " + options.at, "run", "lane " + std::to_string(options.lane)};
    std::vector<std::string> show = options.show;
    if (show.empty()) debug.commands.emplace_back("info registers");
    std::stable_partition(show.begin(), show.end(),
                          [](const std::string& what) { return what != "D"; });
    for (const std::string& what : show) {
        const bool is_fragment = what == "A" || what == "B" || what == "C" || what == "D";
        if (what == "D") debug.commands.emplace_back("stepi");
        debug.commands.push_back((is_fragment ? "frag " : "print ") + what);
    }
    return debug_command(debug);
}

}  // namespace

int run_command(const RunOptions& options) {
    const bool late = options.async == "late";
    if (late && (!options.check.empty() || !options.at.empty()))
        return refuse("--async late: --check and --at are of the early schedule");
    if (!options.at.empty()) return look_once(options);
    const launch::Result<Requests> requests = parse_requests(options);
    if (!requests) return refuse(requests.error());
    const launch::Result<Shard> shard = choose_shard(options.shard);
    if (!shard) return refuse(shard.error());
    const bool replaced = options.files.size() == 2 && !is_launch_file(options.files[0]);
    std::vector<std::vector<std::string>> cases;
    if (replaced)
        cases.push_back(options.files);
    else
        for (const std::string& f : options.files) cases.push_back({f});
    const auto other = std::ranges::find_if_not(options.files, is_launch_file);
    if (cases.size() > 1 && other != options.files.end())
        return refuse(*other + ": among several files each must be a launch file (.json)");
    const ReportOptions& report = options.report;
    const bool reports = !report.json.empty() || !report.junit.empty() || report.github;
    if (const launch::Result<void> held = check_reports(report); !held) return refuse(held.error());
    if (cases.size() == 1 && !reports && options.shard.empty()) return run_one(options, *requests);
    if (cases.size() > 1 && (!options.print.empty() || !options.product.empty()))
        return refuse("--print and --product are of one launch file");
    std::set<std::string> names;
    for (const std::vector<std::string>& c : cases)
        if (!names.insert(c.back()).second) return refuse(c.back() + ": is there twice");
    return run_tests(options, *requests, *shard, std::move(cases));
}

}  // namespace lockwarp::tools
