// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/cli.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "lockwarp/version.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/debug_command.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/commands/usage.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/process.hpp"
#include "tools/report/summary_text.hpp"
#include "tools/signals.hpp"

namespace lockwarp::tools {

namespace {

constexpr std::string_view about =
    "Lockwarp runs a tensor-core kernel (PTX) on the CPU, bit for bit as a given NVIDIA GPU would.";

constexpr std::string_view first_examples =
    "Examples:\n"
    "  lockwarp run kernel.json --print D:f16:16x8\n"
    "  lockwarp run kernel.json --arch sm_90 --out results --stats\n"
    "  lockwarp run kernel.cu kernel.json            compiled by nvcc, where there is one\n"
    "  lockwarp where m16n8k16.f32.f16 A 3 7         which lane and register hold A[3][7]\n"
    "\n"
    "Exit status: 0 done; 1 the program trapped, or a comparison found a difference; 2 wrong "
    "usage\n"
    "or input; 77 needs a GPU and there is none; 130 interrupted.";

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

// The end of a command's --help: its own notes, then what its row has.
std::string footer_of(const Command& c, std::string notes) {
    if (!c.examples.empty())
        notes += (notes.empty() ? "Examples:\n" : "\n\nExamples:\n") + std::string(c.examples);
    if (!c.exits.empty()) notes += (notes.empty() ? "" : "\n") + std::string(c.exits);
    return notes;
}

// Names from files may hold what a terminal takes for a command.
class CleanSink : public spdlog::sinks::stderr_color_sink_mt {
  public:
    void log(const spdlog::details::log_msg& message) override {
        const std::string text =
            clean(std::string_view(message.payload.data(), message.payload.size()));
        spdlog::details::log_msg cleaned = message;
        cleaned.payload = text;
        spdlog::sinks::stderr_color_sink_mt::log(cleaned);
    }
};

bool can_be_interrupted(const Command& c) { return c.exits.find("130") != std::string_view::npos; }

void wrap_descriptions(CLI::App& app) {
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
        for (CLI::Option* option : command->get_options())
            option->description(wrapped(option->get_description()));
        wrap_descriptions(*command);
    }
}

}  // namespace

void add_commands(CLI::App& app, int& status) {
    app.description(std::string(about));
    app.name("lockwarp");
    app.set_version_flag("--version", "lockwarp " + std::string(version));
    app.require_subcommand(1);
    app.footer(std::string(first_examples));
    app.failure_message(usage_message);
    app.get_formatter()->column_width(left_column);
    for (const Command& c : commands) {
        c.add(app, status);
        CLI::App& added = *app.get_subcommands([](CLI::App*) { return true; }).back();
        if (!c.group.empty()) added.group(std::string(c.group));
        if (can_be_interrupted(c)) add_time_limit(added);
        check_values(added);
        const std::string inherited = app.get_footer();
        for (CLI::App* below : added.get_subcommands([](CLI::App*) { return true; })) {
            if (below->get_footer() == inherited) below->footer(std::string(c.exits));
            check_values(*below);
        }
        added.footer(footer_of(c, added.get_footer() == inherited ? "" : added.get_footer()));
    }
    wrap_descriptions(app);
}

int command_line(std::vector<std::string> words) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("lockwarp", std::make_shared<CleanSink>()));
    spdlog::set_pattern("%^%l%$: %v");
    CLI::App app;
    int status = done;
    add_commands(app, status);
    try {
        words = with_words_behind(app, with_gdb_options(std::move(words)));
        std::ranges::reverse(words);  // as CLI11 takes them
        app.parse(std::move(words));
    } catch (const CLI::ParseError& e) {
        return flushed(app.exit(e) == 0 ? done : wrong_input);
    } catch (...) {
        return refuse_current_exception();
    }
    status = flushed(status);
    if (!interrupted_now() || status == done) return status;
    spdlog::error("{}", why_interrupted());
    return interrupted;
}

int command_line(int argc, char** argv) {
    prepare_process();
    catch_interrupts();
    return command_line(std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace lockwarp::tools
