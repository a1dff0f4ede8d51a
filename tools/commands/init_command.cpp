// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/init_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "emu/lockwarp.hpp"
#include "launch/entry.hpp"
#include "launch/nvcc.hpp"
#include "launch/skeleton.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t max_source_bytes = uint64_t{1} << 28;

int finish() { return std::fflush(stdout) == 0 ? done : refuse("the output could not be written"); }

int explain(const InitOptions& o) {
    const launch::Result<std::vector<launch::Loaded>> loaded = launch::load_all({o.file}, o.arch);
    if (!loaded) return refuse(loaded.error());
    bool complete = true;
    for (const launch::Loaded& step : *loaded) {
        const std::vector<std::string> missing = launch::missing_in(step.in, step.program);
        for (const std::string& sentence : missing)
            fmt::print("{}: {}\n", step.program.entry, sentence);
        complete &= missing.empty();
    }
    if (complete) fmt::print("complete: {}\n", o.file);
    const int written = finish();
    return written != done || complete ? written : differs_or_trapped;
}

// The kernel of a source, without a launch file.
launch::Result<launch::Input> read_source(const InitOptions& o) {
    launch::Input in;
    in.launch.path = o.file;
    in.launch.launches.emplace_back();
    in.path = in.ptx_path = o.file;
    if (o.file.ends_with(".cu")) {
        launch::Result<launch::Compiled> made = launch::compile_cuda(o.file, o.arch);
        if (!made) return launch::failure(made);
        in.source = std::move(made->ptx);
        in.ptx_path = std::move(made->path);
        in.compiled = std::move(made->folder);
    } else {
        launch::Result<std::string> text = launch::read_text(o.file, max_source_bytes);
        if (!text) return launch::failure(text);
        in.source = std::move(*text);
    }
    ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty())
        return tl::unexpected(launch::refused(in, std::move(parsed.diagnostics)));
    in.module = std::move(parsed.module);
    launch::Result<std::string> entry = launch::find_entry(in.module, o.entry);
    if (!entry) return launch::failure(o.file + ": " + entry.error().sentence);
    in.launch.launches[0].entry = std::move(*entry);
    return in;
}

}  // namespace

void add_init(CLI::App& app, int& status) {
    const auto shared = std::make_shared<InitOptions>();
    InitOptions& o = *shared;
    CLI::App* init = app.add_subcommand(
        "init", "Print a launch file to fill in, or say what a launch file lacks");
    init->add_option("FILE", o.file,
                     "a source (.ptx, .cu): a launch file for it is printed; a launch file "
                     "(.json): what it lacks is")
        ->required();
    init->add_option("ENTRY", o.entry, "the kernel, where there are several: any part of its name");
    init->add_option("--arch", o.arch, "the machine to model (default: the module's .target)")
        ->type_name("ARCH");
    init->callback([shared, &status] { status = init_command(*shared); });
}

int init_command(const InitOptions& o) {
    if (o.file.ends_with(".json")) {
        if (!o.entry.empty()) return refuse("init: a launch file names its kernel itself");
        return explain(o);
    }
    const launch::Result<launch::Input> in = read_source(o);
    if (!in) return refuse(in.error());
    const launch::Result<isa::Arch> arch = launch::choose_arch(*in, o.arch);
    if (!arch) return refuse(arch.error());
    const launch::Result<isa::Program> program = launch::resolve(*in, *arch);
    if (!program) return refuse(program.error());
    const std::string name = std::filesystem::path(o.file).filename().string();
    fmt::print("{}", launch::skeleton(in->module, *program, name));
    return finish();
}

}  // namespace lockwarp::tools
