// SPDX-License-Identifier: Apache-2.0
// lockwarp init
#pragma once

#include <string>

namespace lockwarp::tools {

struct InitOptions {
    std::string file;   // KERNEL.ptx, KERNEL.cu or a launch file
    std::string entry;  // may be left out where there is one
    std::string arch;
};

int init_command(const InitOptions& options);

}  // namespace lockwarp::tools
