// SPDX-License-Identifier: Apache-2.0
// The command line as completion and the manual page walk it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockwarp::tools {

// The commands of `app` that --help lists, in their order.
std::vector<const CLI::App*> listed_commands(const CLI::App& app);

// Its options ("--arch", "-h") and its positional arguments, in their order.
std::vector<const CLI::Option*> listed_options(const CLI::App& app);
std::vector<const CLI::Option*> positionals(const CLI::App& app);

// "--help", "-h": the ways to write an option, dashes included.
std::vector<std::string> spellings(const CLI::Option& option);

bool takes_value(const CLI::Option& option);

// What stands for the value in --help: "FILE", "ARCH".
std::string value_name(const CLI::Option& option);

// What may be completed in the place of a value. A list that several options share has a name.
enum class Completes : uint8_t { nothing, files, folders, words };
struct Completion {
    Completes what = Completes::nothing;
    std::vector<std::string> words;
    std::string_view list;  // "architectures"; empty: the words are this option's alone
};
Completion completion_of(const CLI::Option& option);

// The named lists.
struct WordList {
    std::string_view name;
    std::vector<std::string> words;
};
std::vector<WordList> word_lists();

// A description in one line.
std::string one_line(const std::string& text);

}  // namespace lockwarp::tools
