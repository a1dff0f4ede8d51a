// SPDX-License-Identifier: Apache-2.0
// Options for nvcc on the command lines that compile a .cu, and words for other programs.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// --nvcc OPTION
void add_nvcc_options(CLI::App& command, std::vector<std::string>& options);

// Stands before a word that is another program's, which CLI11 would not leave as it is: it takes no
// empty one and unpacks "[a,b]".
inline constexpr char as_it_is = 1;

// The words of a command line, without the program's name; those behind "--" marked so where they
// are another program's, and as --nvcc=WORD where the command takes that.
std::vector<std::string> with_words_behind(const CLI::App& app, std::vector<std::string> words);

}  // namespace lockwarp::tools
