// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/measure_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "gpu/driver.hpp"
#include "launch/input.hpp"
#include "lockwarp/version.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/report.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/measure.hpp"

namespace lockwarp::tools {

namespace {

constexpr std::string_view measure_help =
    "Cycles are those of the GPU's clock register, which every thread reads first and last. CTA "
    "cycles:\nfrom the first begin to the last end of its threads, the median over CTAs and runs. "
    "SM "
    "cycles: the\nsame of all CTAs of one multiprocessor, the median over those with the most CTAs "
    "(of SM; at once:\nhow many of them ran at a time) and over runs. first: SM cycles of the run "
    "before the others, with\ncold caches. spread: the largest less the smallest of the runs, in "
    "parts of the median.";

// One launch file, ready to run.
struct Wanted {
    launch::Input in;
    launch::Case c;
    isa::Program program;
};

launch::Result<Wanted> make_wanted(launch::Input in, isa::Arch arch) {
    launch::Result<isa::Program> program = launch::resolve(in, arch);
    if (!program) return launch::failure(program);
    Wanted out;
    launch::Result<launch::Case> made = launch::make_case(in.launch, in.module, *program);
    if (!made) return launch::failure(made);
    out.c = std::move(*made);
    out.in = std::move(in);
    out.program = std::move(*program);
    return out;
}

launch::Result<Engines> open_engine(const MeasureCommand& command) {
    Engines out;
    if (command.emulator) {
        out.arch = isa::default_arch;
        out.all.push_back(std::make_unique<validate::EmulatorEngine>(out.arch));
        return out;
    }
    if (!command.in_process) return open_gpus(command.engines, 1);
    auto engine = gpu::open_device(0, out.no_gpu);
    if (engine == nullptr) return out;
    const std::optional<isa::Arch> arch = arch_of(engine->device());
    if (!arch) return launch::failure(engine->device().name + " is not modelled");
    out.arch = *arch;
    out.all.push_back(std::move(engine));
    return out;
}

// The date in Greenwich: 2026-12-31.
std::string table(const std::vector<validate::ClockPoint>& points) {
    std::string out =
        fmt::format("{:>10} {:>9} {:>8} {:>6} {:>5} {:>5} {:>7} {:>5} launch\n", "CTA cycles",
                    "SM cycles", "first", "spread", "CTAs", "of SM", "at once", "warps");
    for (const validate::ClockPoint& p : points)
        out += fmt::format("{:>10.0f} {:>9.0f} {:>8.0f} {:>5.1f}% {:>5} {:>5} {:>7} {:>5} {}\n",
                           p.cta_cycles, p.sm_cycles, p.first, 100 * p.spread, p.ctas, p.sm_ctas,
                           p.resident, p.warps, p.name);
    return out;
}

}  // namespace

void add_measure(CLI::App& app, int& status) {
    const auto shared = std::make_shared<MeasureCommand>();
    MeasureCommand& o = *shared;
    CLI::App* measure =
        app.add_subcommand("measure", "Run launch files on a GPU and count the cycles they take");
    measure->add_option("FILES", o.files, "LAUNCH.json, one or more")->required();
    add_nvcc_options(*measure, o.nvcc);
    add_engine_options(*measure, o.engines);
    measure->add_flag("--emulator", o.emulator,
                      "without a GPU: the emulator, as sm_90, whose clock counts instructions");
    measure->add_flag("--in-process", o.in_process,
                      "for profilers: GPU 0, by the driver in this process, and without --limit");
    measure->add_option("--runs", o.runs, "how often, beside the first time (default: 9)")
        ->type_name("N")
        ->check(CLI::Range(1u, 10000u));
    measure->add_option("--out", o.out, "write the cycles to FILE, as JSON")->type_name("FILE");
    measure->footer(std::string(measure_help));
    measure->callback([shared, &status] { status = measure_command(*shared); });
}

namespace {

// The inputs on one GPU; what cannot be measured is said, and is no point.
validate::Clocks measured(const MeasureCommand& command, std::vector<launch::Input> inputs,
                          isa::Arch arch, gpu::Engine& engine) {
    validate::MeasureOptions how;
    how.runs = command.runs;
    how.optimization = command.engines.optimization;
    how.stop = &interrupt_flag();
    validate::Clocks clocks;
    clocks.version = version;
    clocks.date = today();
    clocks.device = engine.device().name;
    clocks.arch = isa::row(arch).name;
    clocks.driver = engine.device().driver;
    clocks.mhz = engine.device().clock_mhz;
    std::atomic<uint64_t> ended{0};
    const Progress progress(ended, command.files.size(), "launch files");
    for (size_t i = 0; i < inputs.size() && !interrupted_now(); ++i) {
        const std::string& file = command.files[i];
        ++ended;
        const launch::Result<Wanted> wanted = make_wanted(std::move(inputs[i]), arch);
        if (!wanted) {
            refuse(wanted.error());
            continue;
        }
        validate::Measured one = validate::measure(wanted->c, wanted->program, engine, how);
        if (!one.problem.empty()) {
            spdlog::error("{}: {}", file, one.problem);
            continue;
        }
        if (!one.same_results)
            spdlog::warn("{}: the clocked kernel gives other results than the plain one", file);
        one.point.launch = file;
        one.point.name = std::filesystem::path(file).stem().string();
        clocks.points.push_back(std::move(one.point));
    }
    return clocks;
}

}  // namespace

int measure_command(const MeasureCommand& command) {
    // A launch file that is wrong is wrong without a GPU too.
    std::vector<launch::Input> inputs;
    for (const std::string& file : command.files) {
        launch::Result<launch::Input> in = launch::read_input({file}, "", command.nvcc);
        if (!in) return refuse(in.error());
        inputs.push_back(std::move(*in));
    }
    const launch::Result<Engines> engines = open_engine(command);
    if (!engines) return refuse(engines.error());
    if (engines->all.empty()) {
        spdlog::error("measure needs a GPU: {}", engines->no_gpu);
        return no_gpu;
    }
    if (engines->all.size() > 1)
        return refuse("--gpus " + command.engines.gpus + ": kernels are measured on one GPU");
    const validate::Clocks clocks =
        measured(command, std::move(inputs), engines->arch, *engines->all[0]);
    if (interrupted_now()) return interrupted;
    const size_t failed = command.files.size() - clocks.points.size();
    if (failed == 0)
        fmt::print("measured: {} launch file{}, median of {} run{}\n", clocks.points.size(),
                   clocks.points.size() == 1 ? "" : "s", command.runs,
                   command.runs == 1 ? "" : "s");
    else
        fmt::print("FAILED: {} of {} launch files not measured\n", failed, command.files.size());
    fmt::print("{}\n", validate::device_text(engines->all[0]->device()));
    if (!clocks.points.empty()) fmt::print("{}", table(clocks.points));
    if (!command.out.empty()) {
        const launch::Result<void> written =
            launch::write_text(command.out, validate::clocks_json(clocks));
        if (!written) return refuse(written.error());
    }
    return failed == 0 ? done : wrong_input;
}

}  // namespace lockwarp::tools
