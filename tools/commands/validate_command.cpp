// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/validate_command.hpp"
#include "tools/nvcc_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "launch/unfinished.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/commands/validate_launch.hpp"
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
        if (*next == '-') {  // at the end stands a NUL or a comma
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
            for (uint64_t w = first; w <= std::min<uint64_t>(last, 31); ++w) warps |= 1u << w;
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

// The launch files of the command line: each by itself, or one with the source in its place.
std::vector<std::vector<std::string>> cases_of(const std::vector<std::string>& files) {
    if (files.size() == 2 && !files[0].ends_with(".json")) return {files};
    std::vector<std::vector<std::string>> out;
    for (const std::string& f : files) out.push_back({f});
    return out;
}

// What is said of each of many as soon as it has ended: a line, or all of it where it differs.
void print_one(const Outcome& o) {
    const std::string time = fmt::format("{:.1f} s", o.result.seconds);
    if (o.left_out) {
        fmt::print("left out  {}: no instruction of the kernel is to be compared\n", o.result.name);
    } else if (o.refused) {
        fmt::print("NOT COMPARED  {}\n{}\n", o.result.name, o.result.text);
    } else if (o.status != done || !o.result.compiler.empty()) {
        fmt::print("{}  {}\n{}\n", o.result.name, time, o.result.text);
    } else {
        fmt::print("identical  {}  {} register values, {} memory bytes, {}\n", o.result.name,
                   validate::grouped(o.result.counts.values),
                   validate::grouped(o.result.counts.memory_bytes), time);
    }
    std::fflush(stdout);
}

// The last lines: all of one, or how many of many.
void print(const std::vector<Outcome>& all, const validate::Summary& s) {
    if (all.size() == 1) {
        if (all[0].ended && !all[0].refused) fmt::print("{}", all[0].result.text);
        return;
    }
    const auto count = [&](auto what) {
        return static_cast<size_t>(std::ranges::count_if(all, what));
    };
    const size_t ended = count([](const Outcome& o) { return o.ended; });
    const size_t refused = count([](const Outcome& o) { return o.ended && o.refused; });
    const size_t identical = count([](const Outcome& o) { return o.ended && o.status == done; });
    const size_t compilers = count([](const Outcome& o) { return !o.result.compiler.empty(); });
    const std::string counts = validate::counts_text(s.counts);
    if (ended != all.size())
        fmt::print("STOPPED: {} of {} launch files compared, {} different; {}\n", ended - refused,
                   all.size(), ended - identical - refused, counts);
    else if (refused != 0)
        fmt::print("FAILED: {} of {} launch files not compared, {} different; {}\n", refused,
                   all.size(), all.size() - identical - refused, counts);
    else if (identical == all.size())
        fmt::print("identical: {} launch files; {}\n", all.size(), counts);
    else
        fmt::print("DIFFERS: {} of {} launch files; {}\n", all.size() - identical, all.size(),
                   counts);
    if (compilers != 0)
        fmt::print("{} of them at --optimize 0 alone: what differs there is the compiler's\n",
                   compilers);
    for (const gpu::Device& d : s.devices) fmt::print("{}\n", validate::device_text(d));
    for (const Outcome& o : all)
        if (o.ended && o.status != done)
            fmt::print("{}: {}\n", o.refused ? "not compared" : "differs", o.result.name);
}

// Of more launch files than these none is kept before its turn.
constexpr size_t max_kept = 64;

// Reads the launch files, many at a time; the first that is wrong, in their order.
std::optional<launch::Error> read_inputs(const std::vector<std::vector<std::string>>& cases,
                                         const std::vector<std::string>& nvcc,
                                         std::vector<std::vector<launch::Input>>& inputs) {
    std::vector<std::optional<launch::Error>> wrong(cases.size());
    inputs.resize(cases.size());
    std::atomic<size_t> next{0};
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    {
        std::vector<std::jthread> threads;
        for (size_t t = 0; t < std::min(cores, cases.size()); ++t)
            threads.emplace_back([&] {
                for (size_t i = next++; i < cases.size(); i = next++) {
                    launch::Result<std::vector<launch::Input>> in =
                        launch::read_inputs(cases[i], "", nvcc);
                    if (!in)
                        wrong[i] = in.error();
                    else if (cases.size() <= max_kept)
                        inputs[i] = std::move(*in);
                }
            });
    }
    for (std::optional<launch::Error>& error : wrong)
        if (error) return std::move(*error);
    return std::nullopt;
}

// How many launch files run at a time, as far as the GPUs have memory.
size_t max_jobs(const ValidateOptions& o, size_t cases) {
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    return std::clamp<size_t>(o.jobs != 0 ? o.jobs : cores, 1, std::max<size_t>(cases, 1));
}

size_t jobs_of(const ValidateOptions& o, const Engines& engines, size_t cases) {
    constexpr uint64_t memory_of_one = uint64_t{4} << 30;  // of a GPU
    const size_t jobs = max_jobs(o, cases);
    if (o.jobs != 0) return jobs;
    const uint64_t fit = std::max<uint64_t>(engines.all[0]->device().memory / memory_of_one, 1);
    return std::min<size_t>(jobs, engines.all.size() * fit);
}

uint64_t host_memory() {
    return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

// What runs at present.
class Running {
  public:
    void begin(const std::string& name) {
        const std::lock_guard guard(lock_);
        names_.push_back(std::filesystem::path(name).stem().string());
    }
    void end(const std::string& name) {
        const std::lock_guard guard(lock_);
        const auto at = std::ranges::find(names_, std::filesystem::path(name).stem().string());
        if (at != names_.end()) names_.erase(at);
    }
    std::string text() const {
        const std::lock_guard guard(lock_);
        return fmt::format("{}", fmt::join(names_, " "));
    }

  private:
    mutable std::mutex lock_;
    std::vector<std::string> names_;
};

// One launch file, which is read again where it was not kept.
Outcome read_and_run(const Job& job, const std::vector<std::string>& files,
                     std::vector<launch::Input> steps, gpu::Engine& engine) {
    const std::string& name = files.back();
    if (steps.empty()) {
        launch::Result<std::vector<launch::Input>> again =
            launch::read_inputs(files, "", job.options.nvcc);
        if (!again) return refused(name, std::move(again.error()));
        steps = std::move(*again);
    }
    return run_one(job, name, std::move(steps), engine);
}

using OpenEngines = std::vector<std::unique_ptr<gpu::Engine>>;

// The launch files side by side, each result printed when it is there. opened: engines beside the
// GPUs' own, which the caller closes when it has said what came of them: it may take seconds.
std::vector<Outcome> run_all(const Job& job, const EngineOptions& how_opened,
                             const Engines& engines, OpenEngines& opened,
                             const std::vector<std::vector<std::string>>& cases,
                             std::vector<std::vector<launch::Input>>& inputs, size_t jobs) {
    std::vector<Outcome> outcomes(cases.size());
    std::atomic<size_t> next{0};
    std::atomic<uint64_t> ended;
    Running running;
    Progress progress(ended, cases.size(), "launch files", [&] { return running.text(); });
    const auto work = [&](gpu::Engine& engine) {
        for (size_t i = next++; i < cases.size() && !interrupted_now(); i = next++) {
            const std::string& name = cases[i].back();
            running.begin(name);
            Outcome o = read_and_run(job, cases[i], std::move(inputs[i]), engine);
            running.end(name);
            // What was under way when the user stopped it says nothing.
            if (interrupted_now()) return;
            o.ended = true;
            if (cases.size() > 1) progress.above([&] { print_one(o); });
            outcomes[i] = std::move(o);
            ++ended;
        }
    };
    opened.resize(jobs);
    std::vector<std::jthread> threads;
    for (size_t n = 0; n < jobs; ++n)
        threads.emplace_back([&, n] {
            if (n < engines.all.size()) return work(*engines.all[n]);
            std::string why;
            opened[n] = open_gpu(how_opened, engines.numbers[n % engines.all.size()], why);
            // The others do its work where the GPU has no room for one more.
            if (opened[n] != nullptr) work(*opened[n]);
        });
    threads.clear();
    return outcomes;
}

constexpr std::string_view notes =
    "Where threads wait for each other (locks, look-back, split-K), or add to what others add to, "
    "the\n"
    "emulator takes the order of the GPU's run, and every register is compared. Where the GPU "
    "differs\n"
    "from itself and no order explains it, the answer is \"not comparable\".\n"
    "\n"
    "What a kernel reads of shared memory or registers that nothing wrote is taken from the GPU, "
    "so\n"
    "that what follows is compared, and is counted as never written.";

}  // namespace

void add_validate(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ValidateOptions>();
    ValidateOptions& o = *shared;
    CLI::App* validate = app.add_subcommand(
        "validate", "Run launch files on the emulator and on a GPU; compare every register");
    validate->add_option(
        "FILES", o.files,
        "LAUNCH.json, one or more; or a source and a launch file, as for run; or behind "
        "--: a CUDA program and its arguments, whose launches are compared");
    add_nvcc_options(*validate, o.nvcc);
    validate->add_flag("--lockstep", o.lockstep,
                       "of a program's launches every register, when it has ended (default: "
                       "memory, after each launch, and of those that differ every register then)");
    add_beside_options(*validate, o.beside);
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
    validate
        ->add_option("--trace-mb", o.trace_megabytes,
                     "memory for the traces of a launch file (default: 1024)")
        ->type_name("MB")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    validate->add_option("--max-steps", o.max_steps, "trap when a warp has retired N instructions")
        ->type_name("N");
    validate->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
    validate
        ->add_option("-j,--jobs", o.jobs,
                     "launch files to run at a time (default: one a core, as the GPUs have memory)")
        ->type_name("N");
    validate->add_option("--save", o.save, "where recordings of differences go (default: here)")
        ->type_name("DIR");
    validate->add_flag("--stats", o.stats, "time the parts, and the emulator alone");
    add_shard_option(*validate, o.shard);
    add_report_options(*validate, o.reports);
    validate->footer(std::string(notes));
    validate->callback([shared, &status] {
        if (shared->files.empty() && shared->nvcc.empty()) throw CLI::RequiredError("FILES");
        status = validate_command(*shared);
    });
}

namespace {

// How each launch file is compared.
launch::Result<validate::Options> comparison(const ValidateOptions& options) {
    validate::Options how;
    how.only = options.only;
    how.final_only = options.final_only;
    if (options.words) how.registers = validate::Registers::words;
    if (options.digests) how.registers = validate::Registers::digests;
    how.threads = options.threads;
    how.stop = &interrupt_flag();
    how.drop_tracks = true;
    how.measure = options.stats;
    how.optimization = options.engines.optimization;
    if (options.max_steps != 0) how.max_steps = options.max_steps;
    if (launch::Result<void> watched = watch(options, how); !watched)
        return launch::failure(watched);
    return how;
}

// This process's part of the launch files.
launch::Result<std::vector<std::vector<std::string>>> chosen_cases(const ValidateOptions& options) {
    const launch::Result<Shard> shard = choose_shard(options.shard);
    if (!shard) return tl::unexpected(shard.error());
    const std::vector<std::vector<std::string>> all = cases_of(options.files);
    const Part part = part_of(*shard, all.size());
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(part.first);
    return std::vector(first, first + static_cast<std::ptrdiff_t>(part.count));
}

// What the emulator models: the GPU's architecture, if none is named.
launch::Result<isa::Arch> arch_beside(const std::string& named, const Engines& engines) {
    if (named.empty()) return engines.arch;
    const auto* const found = std::ranges::find(isa::arch_rows, named, &isa::ArchRow::name);
    if (found == isa::arch_rows.end())
        return launch::failure("--arch " + named + " is not modelled");
    return found->arch;
}

// The greatest status of all; the reasons of a single refusal are said.
int sum_up(const std::vector<Outcome>& outcomes, const Engines& engines,
           validate::Summary& summary) {
    summary.command = "validate";
    int status = done;
    for (const Outcome& o : outcomes) {
        if (!o.ended) continue;
        if (o.refused && outcomes.size() == 1) refuse(*o.refused);
        validate::add(summary, o.result, true);
        for (const auto& [name, counts] : o.counted.instructions)
            summary.instructions[name] += counts;
        status = std::max(status, o.status);
    }
    for (const auto& engine : engines.all)
        if (std::ranges::find(summary.devices, engine->device()) == summary.devices.end())
            summary.devices.push_back(engine->device());
    return status;
}

// Of memory, in the launch files of a program's differences that are asked again.
constexpr uint64_t kept_megabytes = 4096;

// Launch files, each compared as the options say. outcomes: what came of each, in their order;
// empty where the GPU was not asked.
int compare_files(const ValidateOptions& options, std::vector<Outcome>& outcomes) {
    launch::Result<validate::Options> how = comparison(options);
    if (!how) return refuse(how.error());
    const launch::Result<std::vector<std::vector<std::string>>> cases = chosen_cases(options);
    if (!cases) return refuse(cases.error());
    // A launch file that is wrong is wrong without a GPU too.
    std::vector<std::vector<launch::Input>> inputs;
    if (const auto error = read_inputs(*cases, options.nvcc, inputs)) return refuse(*error);
    if (const launch::Result<void> held = check_reports(options.reports); !held)
        return refuse(held.error());
    EngineOptions how_opened = options.engines;
    how_opened.processes = static_cast<unsigned>(max_jobs(options, cases->size()));
    launch::Result<Engines> opened = open_gpus(how_opened, 1);
    if (!opened) return refuse(opened.error());
    Engines& engines = *opened;
    if (engines.all.empty())
        return skip("validate", "validate needs a GPU: " + engines.no_gpu, options.reports);
    const launch::Result<isa::Arch> arch = arch_beside(options.arch, engines);
    if (!arch) return refuse(arch.error());
    const size_t jobs = jobs_of(options, engines, cases->size());
    how->trace_bytes = std::min(options.trace_megabytes << 20, host_memory() / 2 / jobs);
    const Job job{options, std::move(*how), *arch};
    OpenEngines more;
    outcomes = run_all(job, how_opened, engines, more, *cases, inputs, jobs);
    // A program may launch empty kernels too, as long as there is something that was compared.
    std::erase_if(outcomes, [](const Outcome& o) { return o.left_out; });
    if (outcomes.empty()) return refuse("no instruction of any launch is to be compared");
    validate::Summary summary;
    const int status = sum_up(outcomes, engines, summary);
    print(outcomes, summary);
    std::fflush(stdout);
    if (const launch::Result<void> written = write_reports(summary, options.reports); !written)
        return refuse(written.error());
    return interrupted_now() ? interrupted : status;
}

// The launches of a program that lie in `folder` as launch files since a time.
std::vector<std::string> launch_files_of(const std::string& folder,
                                         std::filesystem::file_time_type since) {
    std::vector<std::string> out;
    std::error_code error;
    for (const auto& e : std::filesystem::directory_iterator(folder, error))
        if (e.path().extension() == ".json" && e.last_write_time(error) >= since)
            out.push_back(e.path().string());
    std::ranges::sort(out);
    return out;
}

// A program on the GPU. With --lockstep its launches are captured as it runs, and then compared as
// launch files are. Without, memory is compared after each; those that differ are kept, and asked
// again once it has ended: threads may have come in another order than the emulator's.
int validate_program(const ValidateOptions& options) {
    namespace fs = std::filesystem;
    BesideOptions beside = options.beside;
    beside.validates = !options.lockstep;
    beside.words = options.nvcc;  // what stands behind --
    if (options.save != ".") beside.out = options.save;
    launch::Temporary temporary;
    std::error_code error;
    if (beside.out.empty()) {
        beside.out = (fs::temp_directory_path(error) / "lockwarp.XXXXXX").string();
        if (error || ::mkdtemp(beside.out.data()) == nullptr)
            return refuse("no temporary folder: " + std::string(std::strerror(errno)));
        temporary = launch::Temporary(beside.out);
        beside.keeps = false;
        if (!options.lockstep) beside.kept_megabytes = kept_megabytes;
    }
    const auto begin = fs::file_time_type::clock::now();
    BesideRun ran = run_beside_gpu(beside);
    ValidateOptions files = options;
    files.nvcc.clear();
    files.of_a_program = true;
    files.files = launch_files_of(beside.out, begin);
    std::vector<Outcome> outcomes;
    if (interrupted_now()) {
        end_beside_gpu(beside, ran);
        return interrupted;
    }
    if (options.lockstep) {
        const int program = end_beside_gpu(beside, ran);
        if (files.files.empty()) return program;
        const int compared = compare_files(files, outcomes);
        return program != done ? program : compared;
    }
    if (ran.different != 0 && !files.files.empty()) {
        fmt::print(stderr,
                   "{} of {} that differ, once more by every register, in the GPU's order:\n",
                   files.files.size(), ran.different);
        compare_files(files, outcomes);
        std::fflush(stdout);
        const auto count = [&](bool ordered) {
            const auto n = std::ranges::count_if(outcomes, [&](const Outcome& o) {
                return o.ended && o.status == done && o.ordered == ordered;
            });
            return static_cast<size_t>(n);
        };
        ran.ordered = std::min(ran.different, count(true));
        if (const size_t n = count(false); n != 0)
            fmt::print(stderr, "{} identical now, and no order of threads tells why not before\n",
                       n);
    }
    return end_beside_gpu(beside, ran);
}

}  // namespace

int validate_command(const ValidateOptions& options) {
    if (options.files.empty()) return validate_program(options);
    std::vector<Outcome> outcomes;
    return compare_files(options, outcomes);
}

}  // namespace lockwarp::tools
