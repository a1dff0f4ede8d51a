// SPDX-License-Identifier: Apache-2.0
// Options for nvcc on the command lines that compile a .cu.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// --nvcc OPTION
void add_nvcc_options(CLI::App& command, std::vector<std::string>& options);

// The words of a command line, without the program's name; those behind "--" as --nvcc=WORD where
// the command takes that.
std::vector<std::string> with_nvcc_options(const CLI::App& app, std::vector<std::string> words);

}  // namespace lockwarp::tools
