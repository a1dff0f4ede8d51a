#include "tools/cli.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "emu/isa/arch.hpp"
#include "tools/fuzz_command.hpp"
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

// Descriptions that leave the left column and fit 100 columns; CLI11 breaks no lines itself.
constexpr size_t left_column = 24;
constexpr size_t right_column = 76;

std::string wrapped(const std::string& text) {
    std::string out;
    size_t column = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        if (column != 0 && column + 1 + (end - at) > right_column) {
            out += '\n';
            column = 0;
        } else if (column != 0) {
            out += ' ';
            ++column;
        }
        out += text.substr(at, end - at);
        column += end - at;
        at = end + 1;
    }
    return out;
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

void add_fuzz(CLI::App& app, FuzzCommand& o) {
    CLI::App* fuzz = app.add_subcommand(
        "fuzz", "Run random programs on the emulator and on a GPU; shrink what differs");
    fuzz->add_option("--gpu", o.gpu, "which GPU of this machine (default: 0)")->type_name("N");
    fuzz->add_option("--seed", o.seed, "of the first program (default: 1)")->type_name("N");
    fuzz->add_option("--cases", o.cases, "programs to run (default: 100)")->type_name("N");
    fuzz->add_option("--time", o.seconds, "stop after so many seconds")->type_name("SECONDS");
    fuzz->add_option("--only", o.only, "these instructions: mma.m16n8k16,cvt,add.rn.f32")
        ->type_name("NAMES")
        ->delimiter(',')
        ->allow_extra_args(false);
    fuzz->add_option("--instructions", o.instructions, "of each program (default: 48)")
        ->type_name("N")
        ->check(CLI::Range(1u, 2000u));
    fuzz->add_option("--ctas", o.ctas, "of 128 threads that run each program (default: 64)")
        ->type_name("N")
        ->check(CLI::Range(1u, 65535u));
    fuzz->add_option("--out", o.out, "where found cases go (default: fuzz-found)")
        ->type_name("DIR");
    fuzz->add_option("--threads", o.threads, "cores to use (default: all)")->type_name("N");
    fuzz->add_flag("--list", o.list, "print what is generated");
}

}  // namespace

int command_line(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_color_st("lockwarp"));
    spdlog::set_pattern("%^%l%$: %v");
    CLI::App app{std::string(about), "lockwarp"};
    app.set_version_flag("--version", "lockwarp " LOCKWARP_VERSION);
    app.require_subcommand(1);
    app.footer(std::string(examples));
    app.get_formatter()->column_width(left_column);
    RunOptions run;
    add_run(app, run);
    ValidateOptions validate;
    add_validate(app, validate);
    FuzzCommand fuzz;
    add_fuzz(app, fuzz);
    CLI::App* list = app.add_subcommand("list", "Print the instructions that are executed");
    bool markdown = false;
    list->add_flag("--markdown", markdown, "as the README has it");
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        for (CLI::Option* option : command->get_options())
            option->description(wrapped(option->get_description()));
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
    if (app.got_subcommand("fuzz")) return fuzz_command(fuzz);
    return run_command(run);
}

}  // namespace lockwarp::tools
