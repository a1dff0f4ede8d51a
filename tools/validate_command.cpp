#include "tools/validate_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "gpu/driver.hpp"
#include "tools/input.hpp"
#include "tools/run_command.hpp"

namespace lockwarp::tools {

namespace {

int wrong(const Problem& problem) {
    spdlog::error("{}", problem);
    return wrong_input;
}

}  // namespace

std::optional<isa::Arch> arch_of(const gpu::Device& device) {
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number == device.number) return a.arch;
    return std::nullopt;
}

int validate_command(const ValidateOptions& options) {
    Input in;
    if (Problem why = read_input(options.files, "", in); !why.empty()) return wrong(why);
    for (const std::string& w : in.launch.warnings) spdlog::warn("{}", w);
    ptx::Parsed parsed = ptx::parse(in.source);
    const auto refuse = [&](const std::vector<ptx::Diagnostic>& diagnostics) {
        fmt::print(stderr, "{}", diagnostics_report(in, diagnostics));
        return wrong_input;
    };
    if (!parsed.diagnostics.empty()) return refuse(parsed.diagnostics);

    std::string why;
    const std::unique_ptr<gpu::Engine> engine = gpu::open_device(options.gpu, why);
    if (engine == nullptr) {
        spdlog::error("validate needs a GPU: {}", why);
        return no_gpu;
    }
    const std::optional<isa::Arch> arch = arch_of(engine->device());
    if (!arch)
        return wrong(engine->device().name + " is sm_" + std::to_string(engine->device().number) +
                     ", which is not modelled");
    const isa::Resolved resolved = isa::resolve(parsed.module, *arch, in.launch.entry);
    if (!resolved.diagnostics.empty()) return refuse(resolved.diagnostics);

    validate::Case c;
    if (Problem p = make_case(in.launch, parsed.module, resolved.program, c); !p.empty())
        return wrong(p);

    validate::Options how;
    how.only = options.only;
    how.final_only = options.final_only;
    how.trace_bytes = options.trace_megabytes << 20;
    how.threads = options.threads;
    if (options.max_steps != 0) how.max_steps = options.max_steps;
    const validate::Report report = validate::run_lockstep(c, *arch, *engine, how);
    if (!report.diagnostics.empty()) return refuse(report.diagnostics);
    if (!report.problem.empty()) return wrong(in.launch.path + ": " + report.problem);
    fmt::print("{}", validate::text_report(report, engine->device(), in.ptx_path));
    return report.first ? differs_or_trapped : done;
}

}  // namespace lockwarp::tools
