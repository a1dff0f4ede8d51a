// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/record_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "lockwarp/version.hpp"
#include "programs/suite.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {

namespace {

namespace fs = std::filesystem;

}  // namespace

void add_record(CLI::App& app, int& status) {
    const auto shared = std::make_shared<RecordOptions>();
    RecordOptions& o = *shared;
    CLI::App* record = app.add_subcommand(
        "record", "Run launch files on a GPU; keep what it gave, for lockwarp replay");
    record->add_option("FILES", o.files,
                       "LAUNCH.json, one or more; or a source and a launch file, as for run");
    add_nvcc_options(*record, o.nvcc);
    record->add_flag("--suite", o.suite,
                     "programs that have every instruction in every spelling, one file for each "
                     "mma variant and each opcode");
    record
        ->add_option("--out", o.out,
                     "where the recording goes (default: the launch file's name with .lwr, here); "
                     "of several the folder")
        ->type_name("FILE");
    add_engine_options(*record, o.engine);
    record
        ->add_option("--only", o.only,
                     "keep the results of these instructions: mma,ldmatrix (default: all); of the "
                     "suite the programs of these names")
        ->type_name("OPCODES")
        ->delimiter(',')
        ->allow_extra_args(false);
    record->add_flag("--final", o.final_only, "keep only memory at the end");
    record->add_option("--trace-mb", o.trace_megabytes, "memory for traces (default: 1024)")
        ->type_name("MB")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    record->add_option("--max-steps", o.max_steps, "trap when a warp has retired N instructions")
        ->type_name("N");
    record->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
    record->callback([shared, &status] { status = record_command(*shared); });
}

launch::Result<uint64_t> write_recorded(const std::string& path, const launch::Input& in,
                                        isa::Arch arch, launch::Case c, validate::Answer answer) {
    validate::Recording recording;
    recording.name = fs::path(in.ptx_path).filename().string();
    // A recording has no launch file: the variables that it sets stand in the text.
    recording.ptx = in.has_variables() ? ptx::print(c.module) : in.source;
    recording.arch = isa::row(arch).name;
    recording.made_by = "lockwarp " + std::string(version);
    recording.c = std::move(c);
    launch::patch_buffers(recording.c.buffer_patches, answer.addresses, recording.c.bytes);
    recording.c.buffer_patches.clear();
    recording.answer = std::move(answer);
    const std::vector<uint8_t> bytes = validate::write_recording(recording);
    if (bytes.empty())
        return launch::failure(
            in.launch.path + ": a recording has at most " +
            validate::grouped(validate::max_recorded >> 20) +
            " MB of traces and buffers; keep the results of fewer instructions (--only)");
    // It will be read where there is nothing to make it again with.
    if (const launch::Result<validate::Recording> again = validate::read_recording(bytes); !again)
        return launch::failure(in.launch.path + ": cannot be recorded: " + again.error().sentence);
    launch::Result<void> written = launch::write_file(path, bytes);
    if (!written) return launch::failure(written);
    return bytes.size();
}

namespace {

// A case of the input, to `out`.
int record_case(gpu::Engine& engine, isa::Arch arch, const launch::Input& in, launch::Case c,
                const RecordOptions& options, const std::string& out) {
    validate::Options how;
    how.only = options.only;
    how.final_only = options.final_only;
    how.trace_bytes = options.trace_megabytes << 20;
    how.threads = options.threads;
    how.stop = &interrupt_flag();
    how.optimization = options.engine.optimization;
    if (options.max_steps != 0) how.max_steps = options.max_steps;
    validate::Answer answer;
    const validate::Report report = validate::run_lockstep(c, arch, engine, how, &answer);
    if (interrupted_now()) {
        spdlog::error("stopped; {} was not written", out);
        return interrupted;
    }
    if (!report.diagnostics.empty()) return refuse(launch::refused(in, report.diagnostics));
    if (!report.problem.empty()) return refuse(in.launch.path + ": " + report.problem);
    const launch::Result<uint64_t> size =
        write_recorded(out, in, arch, std::move(c), std::move(answer));
    if (!size) return refuse(size.error());
    // As replay names it, but for a temporary file, which a reader is to find.
    const std::string file = in.compiled ? in.ptx_path : fs::path(in.ptx_path).filename().string();
    const std::string text = validate::text_report(report, engine.device(), file);
    launch::keep_if_named(in, text);
    fmt::print("recorded: {}, {} bytes: {} register values, {} memory bytes\n{}", out,
               validate::grouped(*size), validate::grouped(report.counts.values),
               validate::grouped(report.counts.memory_bytes), text);
    return report.first ? differs_or_trapped : done;
}

std::string default_name(const launch::Input& in) {
    return fs::path(in.launch.path).stem().string() + ".lwr";
}

}  // namespace

int record_on(gpu::Engine& engine, isa::Arch arch, launch::Input in, const RecordOptions& options) {
    const launch::Result<isa::Program> program = launch::resolve(in, arch);
    if (!program) return refuse(program.error());
    launch::Result<launch::Case> c = launch::make_case(in.launch, in.module, *program);
    if (!c) return refuse(c.error());
    return record_case(engine, arch, in, std::move(*c), options,
                       options.out.empty() ? default_name(in) : options.out);
}

int record_command(const RecordOptions& options) {
    const bool replaced = options.files.size() == 2 && !options.files[0].ends_with(".json");
    const bool one = !options.suite && (options.files.size() == 1 || replaced);
    if (options.files.empty() && !options.suite)
        return refuse("record: give a launch file, or --suite");
    std::vector<launch::Input> wanted;
    const size_t inputs = replaced ? 1 : options.files.size();
    for (size_t i = 0; i < inputs; ++i) {
        launch::Result<launch::Input> in = launch::read_input(
            replaced ? options.files : std::vector{options.files[i]}, "", options.nvcc);
        if (!in) return refuse(in.error());
        wanted.push_back(std::move(*in));
    }
    launch::Result<Engines> opened = open_gpus(options.engine, 1);
    if (!opened) return refuse(opened.error());
    Engines& engines = *opened;
    if (engines.all.empty()) {
        spdlog::error("record needs a GPU: {}", engines.no_gpu);
        return no_gpu;
    }
    if (engines.all.size() > 1)
        return refuse("--gpus " + options.engine.gpus + ": a recording is of one GPU");
    gpu::Engine& engine = *engines.all[0];
    if (one) return record_on(engine, engines.arch, std::move(wanted[0]), options);

    const fs::path folder = options.out.empty() ? "." : options.out;
    if (const launch::Result<void> made = launch::make_folder(folder.string()); !made)
        return refuse(made.error());
    int status = done;
    for (launch::Input& in : wanted) {
        RecordOptions each = options;
        each.out = (folder / default_name(in)).string();
        status = std::max(status, record_on(engine, engines.arch, std::move(in), each));
        if (status > differs_or_trapped) return status;
    }
    if (!options.suite) return status;
    RecordOptions whole = options;
    whole.only.clear();
    for (programs::SuiteProgram& program : programs::suite(engines.arch)) {
        if (!options.only.empty() && std::ranges::count(options.only, program.name) == 0) continue;
        launch::Input in;
        in.launch.path = program.name;
        in.ptx_path = program.name + ".ptx";
        in.source = program.ptx;
        status = std::max(status, record_case(engine, engines.arch, in, std::move(program.c), whole,
                                              (folder / (program.name + ".lwr")).string()));
        if (status > differs_or_trapped) return status;
    }
    return status;
}

}  // namespace lockwarp::tools
