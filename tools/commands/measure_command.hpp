// SPDX-License-Identifier: Apache-2.0
// lockwarp measure
#pragma once

#include <string>
#include <vector>

#include "tools/engines.hpp"

namespace lockwarp::tools {

struct MeasureCommand {
    std::vector<std::string> files;
    std::vector<std::string> nvcc;  // options for a .cu
    EngineOptions engines;
    bool emulator = false;    // in a GPU's place
    bool in_process = false;  // the GPU's driver in this process
    unsigned runs = 9;
    std::string out;  // a file; empty: none
};

int measure_command(const MeasureCommand& command);

}  // namespace lockwarp::tools
