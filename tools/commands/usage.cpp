// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/usage.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "emu/isa/nearest.hpp"
#include "tools/commands/command_tree.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

namespace {

constexpr size_t max_shown = 60;  // bytes of a word of the command line

std::string shown(const std::string& word) { return cut(clean_line(word), max_shown); }

std::string meant(std::string_view word, const std::vector<std::string>& names,
                  std::string_view before = "") {
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view near = isa::nearest(word, candidates);
    return near.empty() ? std::string() : fmt::format("; did you mean '{}{}'?", before, near);
}

const CLI::App& last_command(const CLI::App& app) {
    const std::vector<CLI::App*> below = app.get_subcommands();
    return below.empty() ? app : last_command(*below.back());
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::App* command : listed_commands(app)) out.push_back(command->get_name());
    return out;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
    std::vector<std::string> out;
    for (const CLI::Option* option : listed_options(command))
        for (std::string& name : spellings(*option))
            if (name.starts_with("--")) out.push_back(std::move(name));
    return out;
}

// What of the command line nothing takes.
std::string unexpected(const CLI::App& command, const std::string& word) {
    if (!word.starts_with('-')) return fmt::format("'{}' is one argument too many", shown(word));
    const std::string name = word.substr(0, word.find('='));
    // Dashes that all of them have would make all of them near.
    std::vector<std::string> names = names_of_options(command);
    for (std::string& n : names) n.erase(0, n.find_first_not_of('-'));
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    return fmt::format("there is no option '{}'{}", shown(name), meant(bare, names, "--"));
}

std::string sentence(const CLI::App& app, const CLI::Error& error) {
    const CLI::App& command = last_command(app);
    const std::vector<std::string> rest = app.remaining(true);
    if (!command.get_subcommands([](const CLI::App*) { return true; }).empty() && !rest.empty() &&
        !rest[0].starts_with('-'))
        return fmt::format("there is no command '{}'{}", shown(rest[0]),
                           meant(rest[0], names_of_commands(command)));
    const auto wrong =
        std::ranges::find_if(rest, [](const std::string& word) { return word != "--"; });
    // A misspelt option before a missing argument: what it took may be that.
    const bool misspelt = wrong != rest.end() && wrong->starts_with('-');
    // Its name is the command's.
    const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    if (wrong != rest.end() && (misspelt || is_extra)) return unexpected(command, *wrong);
    return clean(error.what());
}

// The type names of options that take whole numbers from 0.
constexpr auto whole_types =
    std::to_array<std::string_view>({"N", "MB", "CYCLE", "BYTES", "LEVEL", "UINT"});

std::string whole_number(std::string& text) {
    uint64_t n = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, n);
    if (error == std::errc{} && stop == end) return {};
    return fmt::format("'{}' is not a whole number from 0 to {}", shown(text), UINT64_MAX);
}

// Seconds: CLI::Range takes a NaN for a number in any range.
std::string decimal_number(std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end && std::isfinite(value)) return {};
    return fmt::format("'{}' is not a number", shown(text));
}

std::string not_empty(std::string& text) { return text.empty() ? "an empty value" : ""; }

bool is_for_others(const CLI::Option& option) {
    return option.get_name() == "PROGRAM" || option.check_lname("nvcc");
}

std::string unmarked(std::string& text) {
    if (!text.starts_with(as_it_is)) return not_empty(text);
    text.erase(0, 1);
    return {};
}

}  // namespace

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
    return fmt::format("error: {}\nRun with --help for more information.\n", sentence(*app, error));
}

void check_values(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
        if (!takes_value(*option) || option->get_expected_min() == 0) continue;
        // A transformation comes before the checks that the option has.
        if (std::ranges::count(whole_types, value_name(*option)) != 0)
            option->transform(CLI::Validator(whole_number, ""));
        else if (value_name(*option) == "SECONDS")
            option->transform(CLI::Validator(decimal_number, ""));
        else if (is_for_others(*option))
            option->transform(CLI::Validator(unmarked, ""));
        else
            option->transform(CLI::Validator(not_empty, ""));
    }
}

}  // namespace lockwarp::tools
