#include "tools/commands/cli.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "emu/isa/arch.hpp"
#include "tools/commands/calibrate_command.hpp"
#include "tools/commands/explain_command.hpp"
#include "tools/commands/explorer_command.hpp"
#include "tools/commands/fidelity_command.hpp"
#include "tools/commands/fuzz_command.hpp"
#include "tools/commands/lanes_command.hpp"
#include "tools/commands/list_command.hpp"
#include "tools/commands/measure_command.hpp"
#include "tools/commands/memory_command.hpp"
#include "tools/commands/record_command.hpp"
#include "tools/commands/replay_command.hpp"
#include "tools/commands/report_command.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/commands/special_command.hpp"
#include "tools/commands/time_command.hpp"
#include "tools/commands/validate_command.hpp"

namespace lockwarp::tools {

namespace {

constexpr std::string_view about =
    "Lockwarp runs a tensor-core kernel (PTX) on the CPU, bit for bit as a given NVIDIA GPU would.";

constexpr std::string_view examples =
    "Examples:\n"
    "  lockwarp run kernel.json --print D:f16:16x8\n"
    "  lockwarp run kernel.json --arch sm_90 --out results --stats\n"
    "  lockwarp run kernel.cu kernel.json            compiled by nvcc, where there is one\n"
    "  lockwarp where m16n8k16.f32.f16 A 3 7         which lane and register hold A[3][7]\n"
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

void wrap_descriptions(CLI::App& app) {
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
        for (CLI::Option* option : command->get_options())
            option->description(wrapped(option->get_description()));
        wrap_descriptions(*command);
    }
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
                    "row-major; A' for A stored K x M, B' for B stored N x K")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    run->add_flag("--check", o.check,
                  "look for reads of shared memory that a cp.async may still be bringing; exit "
                  "status 1 where there is one");
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

void add_fidelity(CLI::App& app, FidelityCommand& o) {
    CLI::App* fidelity = app.add_subcommand(
        "fidelity", "Print how far each instruction is known to have the hardware's bits");
    fidelity->add_option("--arch", o.arch,
                         "each instruction of this architecture (default: all "
                         "architectures, one line each)");
    fidelity->add_flag("--json", o.json, "print JSON, every row of the instruction tables");
    fidelity
        ->add_option("--from", o.from,
                     "compare the recordings (.lwr) and reports in a folder; print the source of "
                     "the table of what they hold")
        ->type_name("FOLDER");
    fidelity->footer(fidelity_help());
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
    TimeCommand time;
    add_time(app, time);
    ValidateOptions validate;
    add_validate(app, validate);
    FuzzCommand fuzz;
    add_fuzz(app, fuzz);
    RecordOptions record;
    add_record(app, record);
    ReplayOptions replay;
    add_replay(app, replay);
    SpecialCommand special;
    add_special(app, special);
    CalibrateCommand calibrate;
    add_calibrate(app, calibrate);
    MeasureCommand measure;
    add_measure(app, measure);
    FidelityCommand fidelity;
    add_fidelity(app, fidelity);
    CLI::App* list = app.add_subcommand("list", "Print the instructions that are executed");
    bool markdown = false;
    list->add_flag("--markdown", markdown, "as the README has it");
    LanesCommand listed;
    list->add_option("--arch", listed.arch,
                     "instead, the instructions of an architecture whose operands lie in lanes, as "
                     "info has them")
        ->type_name("ARCH");
    add_answer_options(*list, listed.answer);
    LanesCommand lanes;
    add_lanes(app, lanes);
    ExplorerCommand explorer;
    add_explorer(app, explorer);
    ExplainCommand explain;
    add_explain(app, explain);
    MemoryCommand memory;
    add_memory(app, memory);
    ReportCommand report;
    add_report(app, report);
    for (const char* name :
         {"info", "where", "what", "table", "layout", "compat", "explain", "equiv", "banks",
          "ldmatrix", "stmatrix", "movmatrix", "swizzle", "descriptor", "explorer"})
        app.get_subcommand(name)->group("Which lane holds which element, and why the bits are so");
    wrap_descriptions(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? done : wrong_input;
    }
    if (list->parsed() && (!listed.arch.empty() || listed.answer.json)) return list_lanes(listed);
    if (list->parsed()) {
        fmt::print("{}", instruction_list(markdown));
        return std::fflush(stdout) == 0 ? done : wrong_input;
    }
    if (const std::optional<int> status = lanes_command(app, lanes)) return *status;
    if (app.got_subcommand("explorer")) return explorer_command(explorer);
    if (const std::optional<int> status = explain_command(app, explain)) return *status;
    if (const std::optional<int> status = memory_command(app, memory)) return *status;
    if (app.got_subcommand("time")) return time_command(time);
    if (app.got_subcommand("fidelity")) return fidelity_command(fidelity);
    if (app.got_subcommand("validate")) return validate_command(validate);
    if (app.got_subcommand("fuzz")) return fuzz_command(fuzz);
    if (app.got_subcommand("record")) return record_command(record);
    if (app.got_subcommand("replay")) return replay_command(replay);
    if (app.got_subcommand("measure")) return measure_command(measure);
    if (app.got_subcommand("special")) return special_command(special);
    if (app.got_subcommand("calibrate")) return calibrate_command(calibrate);
    if (app.got_subcommand("report")) return report_command(*app.get_subcommand("report"), report);
    return run_command(run);
}

}  // namespace lockwarp::tools
