#include "tools/cli.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "emu/isa/arch.hpp"
#include "tools/list_command.hpp"
#include "tools/run_command.hpp"
#include "tools/validate_command.hpp"

namespace lockwarp::tools {

namespace {

constexpr std::string_view about =
    "Lockwarp runs a tensor-core kernel (PTX) on the CPU, bit for bit as a given NVIDIA GPU would.";

constexpr std::string_view examples =
    "Examples:\n"
    "  lockwarp run kernel.json --print D:f16:16x8\n"
    "  lockwarp run kernel.json --arch sm_90 --out results --stats\n"
    "  lockwarp run kernel.cu kernel.json            compiled by nvcc, where there is one\n"
    "\n"
    "Exit status: 0 done; 1 the program trapped, or a comparison found a difference; 2 wrong "
    "usage\n"
    "or input; 77 needs a GPU and there is none; 130 interrupted.";

std::string arch_help() {
    std::string text = "the machine to model:";
    for (const isa::ArchRow& a : isa::arch_rows) text += fmt::format(" {} ({})", a.name, a.product);
    return text + "; default: the launch file's, else the module's own .target";
}

void add_run(CLI::App& app, RunOptions& o) {
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
                    "row-major; B' for B stored N x K")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    run->add_flag("--stats", o.stats, "count instructions, lane operations and products");
    run->add_option("--max-steps", o.max_steps,
                    "trap when a warp has retired N instructions (default: no limit)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    run->add_option("--threads", o.threads, "cores to use (default: all)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    run->footer(std::string(examples));
}

void add_validate(CLI::App& app, ValidateOptions& o) {
    CLI::App* validate = app.add_subcommand(
        "validate", "Run a launch file on the emulator and on a GPU; compare every register");
    validate->add_option("FILES", o.files, "LAUNCH.json, or a source and a launch file")
        ->required()
        ->expected(1, 2);
    validate->add_option("--gpu", o.gpu, "which GPU of this machine (default: 0)")->type_name("N");
    validate
        ->add_option(
            "--only", o.only,
            "compare only after these instructions: mma,ldmatrix (default: after every one)")
        ->type_name("OPCODES")
        ->delimiter(',')
        ->allow_extra_args(false);
    validate->add_flag("--final", o.final_only, "compare only memory at the end");
    validate->add_option("--trace-mb", o.trace_megabytes, "memory for traces (default: 1024)")
        ->type_name("MB")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    validate->add_option("--max-steps", o.max_steps, "trap when a warp has retired N instructions")
        ->type_name("N");
    validate->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
}

}  // namespace

int command_line(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_color_st("lockwarp"));
    spdlog::set_pattern("%^%l%$: %v");
    CLI::App app{std::string(about), "lockwarp"};
    app.set_version_flag("--version", "lockwarp " LOCKWARP_VERSION);
    app.require_subcommand(1);
    app.footer(std::string(examples));
    app.get_formatter()->column_width(24);
    RunOptions run;
    add_run(app, run);
    ValidateOptions validate;
    add_validate(app, validate);
    CLI::App* list = app.add_subcommand("list", "Print the instructions that are executed");
    bool markdown = false;
    list->add_flag("--markdown", markdown, "as the README has it");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? done : wrong_input;
    }
    if (list->parsed()) {
        fmt::print("{}", instruction_list(markdown));
        return std::fflush(stdout) == 0 ? done : wrong_input;
    }
    if (app.got_subcommand("validate")) return validate_command(validate);
    return run_command(run);
}

}  // namespace lockwarp::tools
