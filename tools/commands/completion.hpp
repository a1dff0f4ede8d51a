// SPDX-License-Identifier: Apache-2.0
// What a shell and `man` know of the command line, printed from the command line itself.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace lockwarp::tools {

// A script that completes commands, options and their values: for bash 4.2 and zsh 5.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);

// The page lockwarp(1), for man.
std::string manual_page(const CLI::App& app, std::string_view version);

}  // namespace lockwarp::tools
