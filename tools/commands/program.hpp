// SPDX-License-Identifier: Apache-2.0
// Programs that commands start with libraries of ours before others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// The folder of libcuda.so.1 and what belongs to it: beside the built program, or where both are
// installed. Empty: there is none.
std::filesystem::path library_folder();
// Puts a value before those that an environment variable has, with a colon.
void put_before(const char* variable, const std::string& value);
// --keep-ptx
void add_keep_ptx(CLI::App& command, bool& keep);
// A ptxas that the program starts leaves PTX in the place of machine code.
void preload_ptxas(const std::filesystem::path& folder);
// The program and its arguments in place of this process; it returns where that is not possible.
int become(const std::vector<std::string>& words);
// The program's status, 128 and the signal's number where one ended it. The terminal's signals
// reach the program too; SIGTERM and a time limit that reach this one ask it to end.
int run_program(const std::vector<std::string>& words);

}  // namespace lockwarp::tools
