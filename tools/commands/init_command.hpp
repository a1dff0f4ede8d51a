// SPDX-License-Identifier: Apache-2.0
// lockwarp init
#pragma once

#include <string>
#include <vector>

namespace lockwarp::tools {

struct InitOptions {
    std::string file;                  // KERNEL.ptx, KERNEL.cu or a launch file
    std::vector<std::string> entries;  // may be left out where there is one
    std::string arch;
    std::vector<std::string> nvcc;  // options for a .cu
};

int init_command(const InitOptions& options);

}  // namespace lockwarp::tools
