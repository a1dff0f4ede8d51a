// SPDX-License-Identifier: Apache-2.0
// The command line.
#pragma once

namespace lockwarp::tools {

// Parses and runs one command; the program's exit status.
int command_line(int argc, char** argv);

}  // namespace lockwarp::tools
