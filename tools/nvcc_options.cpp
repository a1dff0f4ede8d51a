// SPDX-License-Identifier: Apache-2.0
#include "tools/nvcc_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace lockwarp::tools {

void add_nvcc_options(CLI::App& command, std::vector<std::string>& options) {
    command
        .add_option("--nvcc", options,
                    "an option for nvcc, where the source is a .cu; may be repeated. Words behind "
                    "-- are all options for nvcc")
        ->type_name("OPTION")
        ->allow_extra_args(false);
}

std::vector<std::string> with_words_behind(const CLI::App& app, std::vector<std::string> words) {
    const auto end = std::ranges::find(words, "--");
    if (words.empty() || end == words.end()) return words;
    const std::vector<const CLI::App*> named = app.get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == words[0]; });
    if (named.empty()) return words;
    const bool of_nvcc = named[0]->get_option_no_throw("--nvcc") != nullptr;
    if (!of_nvcc && named[0]->get_option_no_throw("PROGRAM") == nullptr) return words;
    for (auto word = end + 1; word != words.end(); ++word)
        *word = (of_nvcc ? "--nvcc=" : "") + std::string(1, as_it_is) + *word;
    if (of_nvcc) words.erase(end);
    return words;
}

}  // namespace lockwarp::tools
