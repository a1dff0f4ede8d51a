// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/debug_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include "debug/console.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/line_editor.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_text.hpp"
#include "tools/report/why_subject.hpp"

namespace lockwarp::tools {

namespace {

// Set by ctrl-C; the run is held at its next look.
std::atomic<bool> hold_wish{false};

void on_interrupt(int) { hold_wish = true; }

// In place of the program's own: ctrl-C gives the prompt.
void catch_hold_wishes() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
}

void execute(debug::Console& console, const std::string& line) {
    fmt::print("{}", clean(console.execute(line)));
    std::fflush(stdout);
}

std::string commands_help() {
    std::string out = "Commands (help in the session says more):\n ";
    size_t column = 1;
    for (const debug::CommandRow& row : debug::command_rows()) {
        if (column + 1 + row.name.size() > 98) {
            out += "\n ";
            column = 1;
        }
        out += fmt::format(" {}", row.name);
        column += 1 + row.name.size();
    }
    return out + "\n";
}

}  // namespace

std::vector<std::string> with_gdb_options(std::vector<std::string> words) {
    if (words.empty() || words[0] != "debug") return words;
    for (size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "-batch") words[i] = "--batch";
        if (words[i] == "-ex") words[i] = "--ex";
        if (words[i] == "-x" && i + 1 < words.size()) {
            words[i] = "--ex";
            words[i + 1] = "source " + words[i + 1];
            ++i;
        }
    }
    return words;
}

int debug_command(const DebugOptions& options) {
    launch::Result<std::vector<launch::Loaded>> loaded =
        launch::load_all(options.files, options.arch, options.nvcc);
    if (!loaded) return refuse(loaded.error());
    launch::Result<std::unique_ptr<debug::Session>> session =
        debug::Session::make(std::move(*loaded), &hold_wish, options.order);
    if (!session) return refuse(session.error());
    (*session)->expect(subject_of(options.product));
    debug::Console console(
        **session, [&] { return launch::load_all(options.files, options.arch, options.nvcc); });
    catch_hold_wishes();
    for (const std::string& line : options.commands) {
        execute(console, line);
        if (console.is_done()) break;
        if (options.batch && console.interrupted()) return interrupted;
        if (!console.failed()) continue;
        if (options.batch) return wrong_input;
        break;
    }
    if (options.batch) return console.trapped() ? differs_or_trapped : done;
    if (console.is_done()) return done;
    LineEditor editor("(lockwarp) ",
                      [&](const std::string& line) { return console.complete(line); });
    while (!console.is_done()) {
        const std::optional<std::string> line = editor.read();
        if (!line) break;
        hold_wish = false;
        execute(console, *line);
    }
    return done;
}

void add_debug(CLI::App& app, int& status) {
    const auto shared = std::make_shared<DebugOptions>();
    DebugOptions& o = *shared;
    CLI::App* debug = app.add_subcommand(
        "debug", "Run a launch file step by step, forwards and backwards, as gdb does");
    debug->add_option("FILES", o.files, "a launch file, or a source (.ptx, .cu) and a launch file")
        ->required();
    add_nvcc_options(*debug, o.nvcc);
    debug->add_option("--arch", o.arch, "the machine to model; default: as run's");
    debug
        ->add_option("--ex", o.commands,
                     "a command of the session, also as -ex COMMAND; may be repeated. -x FILE: the "
                     "commands of a file")
        ->type_name("COMMAND")
        ->allow_extra_args(false);
    debug
        ->add_option("--product", o.product,
                     "what the result should be, as run takes it, in place of what the launch file "
                     "expects: frag shows what operands should be")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    debug
        ->add_option("--order", o.order,
                     "another order of warps and CTAs, which the seed chooses, as run takes it")
        ->type_name("SEED");
    debug->add_flag("--batch", o.batch,
                    "no prompt: ends after these commands, with exit status 1 where the run "
                    "trapped, and 2 at the first command that is wrong");
    debug->footer(commands_help());
    debug->callback([shared, &status] { status = debug_command(*shared); });
}

}  // namespace lockwarp::tools
