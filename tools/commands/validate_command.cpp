// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/validate_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "launch/input.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/record_command.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/shard.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

// "3", "0-3", and for `list` "0,2-3": calls f(first, last) for each. false: not of that form.
template <class F>
bool each_range(const std::string& text, bool list, F f) {
    for (size_t at = 0; at <= text.size();) {
        const size_t end = list ? std::min(text.find(',', at), text.size()) : text.size();
        uint64_t first = 0;
        const char* const stop = text.data() + end;
        auto [next, error] = std::from_chars(text.data() + at, stop, first);
        if (error != std::errc{}) return false;
        uint64_t last = first;
        if (next != stop && *next == '-') {
            const auto more = std::from_chars(next + 1, stop, last);
            next = more.ptr;
            error = more.ec;
        }
        if (error != std::errc{} || next != stop || last < first) return false;
        f(first, last);
        at = end + 1;
    }
    return true;
}

launch::Result<void> watch(const ValidateOptions& o, validate::Options& how) {
    if (!o.ctas.empty() && !each_range(o.ctas, false, [&](uint64_t first, uint64_t last) {
            how.first_cta = first;
            how.ctas = last - first + 1;
        }))
        return launch::failure("--ctas " + o.ctas +
                               ": expected a number or a range, such as 0-3, x fastest");
    uint32_t warps = 0;
    bool small = true;
    if (!o.warps.empty() && (!each_range(o.warps, true, [&](uint64_t first, uint64_t last) {
            small = small && last < 32;
            for (uint64_t w = first; small && w <= last; ++w) warps |= 1u << w;
        }) || !small))
        return launch::failure("--warps " + o.warps +
                               ": expected numbers and ranges from 0 to 31, such as 0,2-3");
    if (warps != 0) how.warps = warps;
    if (!o.lines.empty() && !each_range(o.lines, true, [&](uint64_t first, uint64_t last) {
            how.lines.emplace_back(static_cast<uint32_t>(std::min<uint64_t>(first, UINT32_MAX)),
                                   static_cast<uint32_t>(std::min<uint64_t>(last, UINT32_MAX)));
        }))
        return launch::failure("--lines " + o.lines +
                               ": expected numbers and ranges, such as 40-80,95");
    return {};
}

// What each launch file is compared with, and how.
struct Job {
    const ValidateOptions& options;
    validate::Options how;
    isa::Arch arch;
};

// One launch file and what came of it.
struct Outcome {
    validate::CaseResult result;
    validate::Summary counted;  // its instructions
    int status = done;
    std::optional<launch::Error> refused;  // what stands on stderr where the input is wrong
};

// The first name that is free: diff-0001.lwr, diff-0002.lwr, ...
std::string free_name(const std::string& folder) {
    for (unsigned i = 1;; ++i) {
        const auto path = std::filesystem::path(folder) / fmt::format("diff-{:04}.lwr", i);
        std::error_code error;
        if (!std::filesystem::exists(path, error)) return path.string();
    }
}

// Saves what differed. Returns the line that says so.
std::string save_difference(const Job& job, const launch::Input& in, launch::Case& c,
                            const validate::Report& report, validate::Answer answer) {
    static std::mutex names;
    const std::lock_guard guard(names);
    if (report.tracks) {
        // Its CTA alone tells the difference.
        answer.tracks = {*report.tracks};
        answer.outputs.clear();
    } else {
        answer.tracks.clear();
    }
    const std::string path = free_name(job.options.save);
    if (const launch::Result<void> made = launch::make_folder(job.options.save); !made)
        return "no recording: " + made.error().sentence + "\n";
    const launch::Result<uint64_t> written =
        write_recorded(path, in, job.arch, std::move(c), std::move(answer));
    if (!written) return "no recording: " + written.error().sentence + "\n";
    return "replay: lockwarp replay " + path + "\n";
}

std::string statistics(const validate::Report& r) {
    const validate::Seconds& s = r.seconds;
    const double beside = s.traced - s.compile;
    return fmt::format(
        "seconds: kernel compiled and run on the GPU {:.3f}, traced kernel the first time {:.3f}\n"
        "  emulator beside the GPU {:.3f}, emulator alone {:.3f}: {:.2f} times; {} windows, {} "
        "steps\n",
        s.start, s.compile, beside, s.alone, beside / s.alone, r.windows,
        validate::grouped(r.statistics.instructions));
}

Outcome run_one(const Job& job, const std::string& name, launch::Input in, gpu::Engine& engine) {
    Outcome out;
    const auto begin = std::chrono::steady_clock::now();
    out.result.name = name;
    const auto refuse = [&](launch::Error why) {
        out.status = wrong_input;
        out.result.verdict = validate::Verdict::failed;
        out.result.text = text_of(why);
        out.refused = std::move(why);
        return out;
    };
    const launch::Result<isa::Program> program = launch::resolve(in, job.arch);
    if (!program) return refuse(program.error());
    launch::Result<launch::Case> made = launch::make_case(in.launch, in.module, *program);
    if (!made) return refuse(made.error());
    launch::Case& c = *made;
    validate::Answer answer;
    const validate::Report report = validate::run_lockstep(c, job.arch, engine, job.how, &answer);
    if (!report.diagnostics.empty()) return refuse(launch::refused(in, report.diagnostics));
    if (!report.problem.empty())
        return refuse(launch::failure(in.launch.path + ": " + report.problem).value());
    out.result = validate::result_of(name, report, in.ptx_path);
    out.result.text = validate::text_report(report, engine.device(), in.ptx_path);
    if (job.options.stats) out.result.text += statistics(report);
    validate::add_instructions(out.counted, report);
    if (report.first || report.same_fault) out.status = differs_or_trapped;
    if (report.first && !c.cooperative)
        out.result.text += save_difference(job, in, c, report, std::move(answer));
    out.result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return out;
}

// The launch files of the command line: each by itself, or one with the source in its place.
std::vector<std::vector<std::string>> cases_of(const std::vector<std::string>& files) {
    if (files.size() == 2 && !files[0].ends_with(".json")) return {files};
    std::vector<std::vector<std::string>> out;
    for (const std::string& f : files) out.push_back({f});
    return out;
}

void print(const std::vector<Outcome>& all, const validate::Summary& s) {
    if (all.size() == 1) {
        if (!all[0].refused) fmt::print("{}", all[0].result.text);
        return;
    }
    uint64_t identical = 0;
    uint64_t refused = 0;
    for (const Outcome& o : all) identical += o.status == done;
    for (const Outcome& o : all) refused += o.refused.has_value();
    if (refused != 0)
        fmt::print("FAILED: {} of {} launch files not compared, {} different; {}\n", refused,
                   all.size(), all.size() - identical - refused, validate::counts_text(s.counts));
    else if (identical == all.size())
        fmt::print("identical: {} launch files; {}\n", all.size(), validate::counts_text(s.counts));
    else
        fmt::print("DIFFERS: {} of {} launch files; {}\n", all.size() - identical, all.size(),
                   validate::counts_text(s.counts));
    for (const gpu::Device& d : s.devices) fmt::print("{}\n", validate::device_text(d));
    for (const Outcome& o : all)
        if (o.status != done && !o.refused) fmt::print("\n{}\n{}", o.result.name, o.result.text);
}

}  // namespace

void add_validate(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ValidateOptions>();
    ValidateOptions& o = *shared;
    CLI::App* validate = app.add_subcommand(
        "validate", "Run launch files on the emulator and on a GPU; compare every register");
    validate
        ->add_option("FILES", o.files,
                     "LAUNCH.json, one or more; or a source and a launch file, as for run")
        ->required();
    add_engine_options(*validate, o.engines);
    validate->add_option("--every", o.every, "compare after every instruction (the default)")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"instruction"}));
    validate
        ->add_option(
            "--only", o.only,
            "compare only after these instructions: mma,ldmatrix (default: after every one)")
        ->type_name("OPCODES")
        ->delimiter(',')
        ->allow_extra_args(false);
    validate
        ->add_option("--lines", o.lines,
                     "compare only after the instructions on these lines of the PTX: 40-80,95")
        ->type_name("LIST");
    CLI::Option* digests = validate->add_flag(
        "--digests", o.digests,
        "registers by a digest of 64 bits a lane, and word by word where these differ (default: "
        "where the words do not fit in --trace-mb)");
    validate->add_flag("--words", o.words, "registers word by word, however long it takes")
        ->excludes(digests);
    validate->add_flag("--final", o.final_only, "compare only memory at the end");
    validate->add_option("--ctas", o.ctas, "compare the registers of these CTAs: 0-3, x fastest")
        ->type_name("RANGE");
    validate->add_option("--warps", o.warps, "compare the registers of these warps: 0,2-3")
        ->type_name("LIST");
    validate
        ->add_option("--arch", o.arch,
                     "the machine the emulator models (default: the GPU's own architecture)")
        ->type_name("ARCH");
    validate->add_option("--trace-mb", o.trace_megabytes, "memory for traces (default: 1024)")
        ->type_name("MB")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    validate->add_option("--max-steps", o.max_steps, "trap when a warp has retired N instructions")
        ->type_name("N");
    validate->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
    validate->add_option("--save", o.save, "where recordings of differences go (default: here)")
        ->type_name("DIR");
    validate->add_flag("--stats", o.stats, "time the parts, and the emulator alone");
    add_shard_option(*validate, o.shard);
    add_report_options(*validate, o.reports);
    validate->callback([shared, &status] { status = validate_command(*shared); });
}

int validate_command(const ValidateOptions& options) {
    Job job{options, {}, {}};
    job.how.only = options.only;
    job.how.final_only = options.final_only;
    if (options.words) job.how.registers = validate::Registers::words;
    if (options.digests) job.how.registers = validate::Registers::digests;
    job.how.threads = options.threads;
    job.how.stop = &interrupt_flag();
    job.how.drop_tracks = true;
    job.how.measure = options.stats;
    job.how.optimization = options.engines.optimization;
    if (options.max_steps != 0) job.how.max_steps = options.max_steps;
    if (const launch::Result<void> watched = watch(options, job.how); !watched)
        return refuse(watched.error());
    const launch::Result<Shard> chosen = choose_shard(options.shard);
    if (!chosen) return refuse(chosen.error());
    const Shard& shard = *chosen;
    std::vector<std::vector<std::string>> cases = cases_of(options.files);
    const Part part = part_of(shard, cases.size());
    cases = {cases.begin() + static_cast<std::ptrdiff_t>(part.first),
             cases.begin() + static_cast<std::ptrdiff_t>(part.first + part.count)};
    // A launch file that is wrong is wrong without a GPU too.
    std::vector<launch::Input> inputs;
    for (const std::vector<std::string>& files : cases) {
        launch::Result<launch::Input> in = launch::read_input(files, "");
        if (!in) return refuse(in.error());
        for (const std::string& w : in->launch.warnings) spdlog::warn("{}", w);
        inputs.push_back(std::move(*in));
    }
    launch::Result<Engines> opened = open_gpus(options.engines, 1);
    if (!opened) return refuse(opened.error());
    Engines& engines = *opened;
    if (engines.all.empty()) {
        spdlog::error("validate needs a GPU: {}", engines.no_gpu);
        return no_gpu;
    }
    job.arch = engines.arch;
    if (!options.arch.empty()) {
        const auto* const found =
            std::ranges::find(isa::arch_rows, options.arch, &isa::ArchRow::name);
        if (found == isa::arch_rows.end())
            return refuse("--arch " + options.arch + " is not modelled");
        job.arch = found->arch;
    }
    job.how.trace_bytes = (options.trace_megabytes << 20) / engines.all.size();
    catch_interrupts();

    std::vector<Outcome> outcomes(cases.size());
    std::atomic<size_t> next{0};
    std::atomic<uint64_t> ended{0};
    {
        const Progress progress(ended, cases.size(), "launch files");
        std::vector<std::jthread> threads;
        for (const auto& engine : engines.all)
            threads.emplace_back([&, side = engine.get()] {
                for (size_t i = next++; i < cases.size() && !interrupted_now(); i = next++) {
                    outcomes[i] = run_one(job, cases[i].back(), std::move(inputs[i]), *side);
                    ++ended;
                }
            });
    }
    if (interrupted_now()) {
        spdlog::error("stopped");
        return interrupted;
    }
    validate::Summary summary;
    summary.command = "validate";
    int status = done;
    for (const Outcome& o : outcomes) {
        if (o.refused) refuse(*o.refused);
        validate::add(summary, o.result, true);
        for (const auto& [name, counts] : o.counted.instructions)
            summary.instructions[name] += counts;
        status = std::max(status, o.status);
    }
    for (const auto& engine : engines.all)
        if (std::ranges::find(summary.devices, engine->device()) == summary.devices.end())
            summary.devices.push_back(engine->device());
    print(outcomes, summary);
    if (const launch::Result<void> written = write_reports(summary, options.reports); !written)
        return refuse(written.error());
    return status;
}

}  // namespace lockwarp::tools
