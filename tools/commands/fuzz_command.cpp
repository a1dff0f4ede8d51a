// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/fuzz_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "launch/files.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/shard.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/fuzz.hpp"

namespace lockwarp::tools {

namespace {

// Each found case in a folder of its own: a kernel and its launch file.
launch::Result<void> save(const std::string& folder, const std::vector<validate::Found>& found) {
    launch::Outputs outputs;
    for (size_t i = 0; i < found.size(); ++i) {
        const std::filesystem::path place =
            std::filesystem::path(folder) / fmt::format("{:04}", i + 1);
        launch::Result<void> written = launch::make_folder(place.string());
        if (written)
            written = outputs.add((place / "case.ptx").string(), std::string_view(found[i].ptx));
        if (written)
            written = outputs.add((place / "case.json").string(), std::string_view(found[i].json));
        if (!written) return written;
    }
    return outputs.commit();
}

std::optional<isa::Arch> arch_named(const std::string& name) {
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.name == name) return a.arch;
    return std::nullopt;
}

// Compiling a program's two texts takes a GPU's driver longer than running it: several at a time.
unsigned jobs_of(const FuzzCommand& command) {
    if (command.jobs != 0) return command.jobs;
    return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u);
}

// The other side: GPUs, or the plain arithmetic.
launch::Result<Engines> open_engines(const FuzzCommand& command) {
    if (!command.plain) return open_gpus(command.engines, jobs_of(command));
    Engines out;
    out.arch = arch_named(command.arch).value_or(isa::default_arch);
    for (unsigned i = 0;
         i < (command.jobs != 0 ? command.jobs : std::max(std::thread::hardware_concurrency(), 1u));
         ++i)
        out.all.push_back(std::make_unique<validate::EmulatorEngine>(out.arch, true, 1));
    return out;
}

}  // namespace

void add_fuzz(CLI::App& app, int& status) {
    const auto shared = std::make_shared<FuzzCommand>();
    FuzzCommand& o = *shared;
    CLI::App* fuzz = app.add_subcommand(
        "fuzz", "Run random programs on the emulator and on a GPU; shrink what differs");
    add_engine_options(*fuzz, o.engines);
    fuzz->add_flag("--plain", o.plain,
                   "without a GPU: compare the emulator's fast arithmetic with its plain one");
    fuzz->add_option("--arch", o.arch,
                     "the machine the emulator models (default: the GPU's; of --plain sm_90)")
        ->type_name("ARCH");
    fuzz->add_option("--seed", o.seed, "of the first program (default: 1)")->type_name("N");
    fuzz->add_option("--cases", o.cases, "programs to run (default: 100; with --time: no limit)")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
    fuzz->add_option("--time", o.seconds, "begin no program after so many seconds")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9));
    fuzz->add_option("--only", o.only, "these instructions: mma.m16n8k16,cvt,add.rn.f32")
        ->type_name("NAMES")
        ->delimiter(',')
        ->allow_extra_args(false);
    fuzz->add_option("--instructions", o.instructions, "of each program (default: 48)")
        ->type_name("N")
        ->check(CLI::Range(1u, 2000u));
    fuzz->add_option(
            "--ctas", o.ctas,
            "of 128 threads that run each program (default: 64 beside a GPU, 2 with --plain)")
        ->type_name("N")
        ->check(CLI::Range(1u, 65535u));
    fuzz->add_option("--jobs", o.jobs, "programs at a time on each GPU (default: half the cores)")
        ->type_name("N")
        ->check(CLI::Range(1u, 256u));
    fuzz->add_option(
            "--shrink", o.shrink,
            "make so many of the differences small; the others are saved as the programs they "
            "were found in (default: 20)")
        ->type_name("N");
    fuzz->add_option("--out", o.out, "where found cases go (default: fuzz-found)")
        ->type_name("DIR");
    fuzz->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
    add_shard_option(*fuzz, o.shard);
    add_report_options(*fuzz, o.reports);
    fuzz->add_flag("--list", o.list, "print what is generated");
    fuzz->callback([shared, &status] { status = fuzz_command(*shared); });
}

namespace {

validate::FuzzOptions options_of(const FuzzCommand& command, const Part& part, size_t engines) {
    validate::FuzzOptions options;
    options.generate.seed = command.seed + part.first;
    options.generate.only = command.only;
    options.generate.instructions = command.instructions;
    options.generate.ctas = command.ctas != 0 ? command.ctas : command.plain ? 2 : 64;
    options.cases = part.count;
    options.threads = command.plain ? 1 : command.threads;
    options.trace_bytes /= engines;
    options.optimization = command.engines.optimization;
    options.max_shrunk = command.shrink;
    options.stopped = [] { return interrupted_now(); };
    return options;
}

// What is printed: the answer, the devices, then each difference.
std::string fuzz_text(const validate::FuzzReport& r, uint64_t seed, const Shard& shard) {
    std::string out = fmt::format(
        "{}: {} programs from seed {}{}\n{}, {:.0f} s\n",
        r.found.empty() ? "identical" : fmt::format("DIFFERS in {} instructions", r.found.size()),
        validate::grouped(r.summary.cases), seed, shard.count == 1 ? "" : ", " + shard_text(shard),
        validate::counts_text(r.summary.counts), r.summary.seconds);
    for (const gpu::Device& d : r.summary.devices) out += validate::device_text(d) + "\n";
    out += fmt::format("{} spellings of instructions\n", r.summary.instructions.size());
    out += compilers_text(r.summary);
    for (const validate::Found& f : r.found)
        out += fmt::format("\nseed {}: {}{}\n{}", f.seed, f.instruction,
                           f.isolated ? ", alone" : ", in its program", f.report);
    return out;
}

// The programs of the part on every engine; the seconds are in the summary.
validate::FuzzReport run_programs(const FuzzCommand& command, validate::FuzzOptions options,
                                  const Engines& engines, uint64_t programs) {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    options.enough = [&] {
        return interrupted_now() || (command.seconds > 0 && seconds() > command.seconds);
    };
    std::atomic<uint64_t> ended{0};
    options.progress = [&](uint64_t n) { ended.store(n, std::memory_order_relaxed); };
    std::vector<gpu::Engine*> sides;
    for (const auto& engine : engines.all) sides.push_back(engine.get());
    const isa::Arch arch = arch_named(command.arch).value_or(engines.arch);
    const Progress progress(ended, programs, "programs");
    validate::FuzzReport r = validate::fuzz(options, arch, sides);
    r.summary.seconds = seconds();
    return r;
}

}  // namespace

std::string compilers_text(const validate::Summary& summary) {
    std::map<std::string, std::vector<const validate::CaseResult*>> programs;
    for (const validate::CaseResult& c : summary.results)
        if (!c.compiler.empty()) programs[c.compiler].push_back(&c);
    std::string out;
    for (const auto& [what, of] : programs) {
        out += fmt::format("identical at --optimize 0 alone: {}; the compiler's: {}\n", of.size(),
                           what);
        out += fmt::format("{}: {}", of[0]->name, of[0]->text);
    }
    return out;
}

int fuzz_command(const FuzzCommand& command) {
    if (!command.arch.empty() && !arch_named(command.arch))
        return refuse("--arch " + command.arch + " is not modelled; `lockwarp run --help` lists");
    if (command.list) {
        for (const std::string& name :
             programs::generated_instructions(arch_named(command.arch).value_or(isa::default_arch)))
            fmt::print("{}\n", name);
        return done;
    }
    const launch::Result<Shard> shard = choose_shard(command.shard);
    if (!shard) return refuse(shard.error());
    const bool endless = command.seconds > 0 && command.cases == FuzzCommand{}.cases;
    const Part part = part_of(*shard, endless ? uint64_t{1} << 40 : command.cases);
    if (part.count == 0)
        return refuse(shard_text(*shard) + ": " + std::to_string(command.cases) +
                      " programs are too few for so many shards");
    if (const launch::Result<void> held = check_reports(command.reports); !held)
        return refuse(held.error());
    const launch::Result<Engines> engines = open_engines(command);
    if (!engines) return refuse(engines.error());
    if (engines->all.empty())
        return skip("fuzz", "fuzz needs a GPU (or --plain): " + engines->no_gpu, command.reports);
    const validate::FuzzOptions options = options_of(command, part, engines->all.size());
    const validate::FuzzReport r =
        run_programs(command, options, *engines, endless ? 0 : part.count);
    if (!r.problem.empty()) return refuse(r.problem);
    // What differed before it was stopped is said all the same.
    const bool stopped = interrupted_now();
    if (stopped) {
        spdlog::error("stopped after {} programs", validate::grouped(r.summary.cases));
        if (r.found.empty()) return interrupted;
    }
    fmt::print("{}", fuzz_text(r, options.generate.seed, *shard));
    if (const launch::Result<void> written = write_reports(r.summary, command.reports); !written)
        return refuse(written.error());
    if (r.found.empty()) return done;
    if (const launch::Result<void> saved = save(command.out, r.found); !saved)
        return refuse(saved.error());
    fmt::print("\ncases in {}\n", command.out);
    return stopped ? interrupted : differs_or_trapped;
}

}  // namespace lockwarp::tools
