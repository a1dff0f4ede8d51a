// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/init_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "emu/isa/resolver.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/debug_info.hpp"
#include "launch/entry.hpp"
#include "launch/nvcc.hpp"
#include "launch/skeleton.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t max_source_bytes = uint64_t{1} << 28;

int finish() { return std::fflush(stdout) == 0 ? done : refuse("the output could not be written"); }

int explain(const InitOptions& o) {
    const launch::Result<std::vector<launch::Loaded>> loaded =
        launch::load_all({o.file}, o.arch, o.nvcc);
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

// A source, without a launch file: its kernels, and what it says of their parameters.
struct Source {
    launch::Input in;
    ptx::DebugInfo info;
};

// A .cu is compiled once more for the layouts of its structs: with -G, what is for debuggers.
ptx::DebugInfo info_of(const launch::Input& in, const InitOptions& o) {
    ptx::DebugInfo info = ptx::debug_info(in.module);
    if (!info.functions.empty() || in.compiled == nullptr) return info;
    std::vector<std::string> options = o.nvcc;
    std::erase_if(options, [](const std::string& word) {
        return word == "-lineinfo" || word == "--generate-line-info";
    });
    options.push_back("-G");
    const launch::Result<launch::Compiled> made = launch::compile_cuda(in.path, o.arch, options);
    return made ? ptx::debug_info(ptx::parse(made->ptx).module) : ptx::DebugInfo{};
}

launch::Result<Source> read_source(const InitOptions& o) {
    launch::Input in;
    in.launch.path = o.file;
    in.launch.launches.emplace_back();
    in.path = in.ptx_path = o.file;
    if (o.file.ends_with(".cu")) {
        launch::Result<launch::Compiled> made = launch::compile_cuda(o.file, o.arch, o.nvcc);
        if (!made) return launch::failure(made);
        in.source = std::move(made->ptx);
        in.ptx_path = std::move(made->path);
        in.compiled = std::move(made->folder);
    } else {
        if (!o.nvcc.empty())
            return launch::failure(o.file + ": options for nvcc are given, and this is no .cu");
        launch::Result<std::string> text = launch::read_text(o.file, max_source_bytes);
        if (!text) return launch::failure(text);
        in.source = std::move(*text);
    }
    ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty())
        return tl::unexpected(launch::refused(in, std::move(parsed.diagnostics)));
    in.module = std::move(parsed.module);
    Source out{std::move(in), {}};
    out.info = info_of(out.in, o);
    return out;
}

// Every instruction that is spelled like one of those: of a spelling the first is reported.
void remove_spelled(ptx::Block& block, const std::vector<ptx::Diagnostic>& found) {
    std::erase_if(block.body, [&](const ptx::Statement& s) {
        const auto* i = std::get_if<ptx::Instruction>(&s.node);
        if (i == nullptr) return false;
        const std::string spelling = "'" + isa::spelled(*i) + "'";
        return std::ranges::any_of(found, [&](const ptx::Diagnostic& d) {
            return d.message.find(spelling) != std::string::npos;
        });
    });
    for (ptx::Statement& s : block.body)
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) remove_spelled(*inner, found);
}

// A kernel resolved for what its declaration says. Instructions that are known but not executed do
// not stand in the way of a launch file: they are left out.
launch::Result<isa::Program> resolve_declaration(const launch::Input& in, isa::Arch arch) {
    launch::Result<isa::Program> program = launch::resolve(in, arch);
    if (program || program.error().diagnostics.empty()) return program;
    const std::vector<ptx::Diagnostic>& found = program.error().diagnostics;
    if (!std::ranges::all_of(found, &ptx::Diagnostic::not_executed)) return program;
    spdlog::warn("{}:{}: {}; the launch file is for a GPU{}", in.path, found[0].place.line,
                 found[0].message,
                 found.size() == 1 ? "" : fmt::format(" ({} such)", found.size()));
    launch::Input rest = in;
    for (auto& item : rest.module.items)
        if (auto* function = std::get_if<ptx::Function>(&item))
            remove_spelled(function->body, found);
    return launch::resolve(rest, arch);
}

// The kernels that are named, resolved; without a name the only one.
launch::Result<std::vector<isa::Program>> resolve_all(launch::Input& in, const InitOptions& o) {
    const launch::Result<isa::Arch> arch = launch::choose_arch(in, o.arch);
    if (!arch) return tl::unexpected(arch.error());
    const std::vector<std::string> names =
        o.entries.empty() ? std::vector<std::string>{""} : o.entries;
    std::vector<isa::Program> out;
    for (const std::string& name : names) {
        launch::Result<std::string> entry = launch::find_entry(in.module, name);
        if (!entry) return launch::failure(o.file + ": " + entry.error().sentence);
        in.launch.launches[0].entry = std::move(*entry);
        launch::Result<isa::Program> program = resolve_declaration(in, *arch);
        if (!program) return launch::failure(program);
        out.push_back(std::move(*program));
    }
    return out;
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
    init->add_option("ENTRY", o.entries,
                     "the kernel, where there are several: any part of its name; more than one are "
                     "launched one after another");
    add_nvcc_options(*init, o.nvcc);
    init->add_option("--arch", o.arch, "the machine to model (default: the module's .target)")
        ->type_name("ARCH");
    init->callback([shared, &status] { status = init_command(*shared); });
}

int init_command(const InitOptions& o) {
    if (o.file.ends_with(".json")) {
        if (!o.entries.empty()) return refuse("init: a launch file names its kernel itself");
        return explain(o);
    }
    launch::Result<Source> source = read_source(o);
    if (!source) return refuse(source.error());
    const launch::Result<std::vector<isa::Program>> programs = resolve_all(source->in, o);
    if (!programs) return refuse(programs.error());
    const std::string name = std::filesystem::path(o.file).filename().string();
    fmt::print("{}", launch::skeleton(source->in.module, *programs, name, source->info));
    return finish();
}

}  // namespace lockwarp::tools
