// SPDX-License-Identifier: Apache-2.0
// The command line.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// The program's own options and every command; parsing one runs it and sets `status`.
void add_commands(CLI::App& app, int& status);

// Prepares the process, parses and runs one command; the program's exit status.
int command_line(int argc, char** argv);
// The same in a process that is someone else's: no signal is caught, and no time limit ends it.
int command_line(std::vector<std::string> words);

}  // namespace lockwarp::tools
