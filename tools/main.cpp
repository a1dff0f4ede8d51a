// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/cli.hpp"

int main(int argc, char** argv) { return lockwarp::tools::command_line(argc, argv); }
