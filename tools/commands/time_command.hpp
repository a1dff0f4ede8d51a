// SPDX-License-Identifier: Apache-2.0
// lockwarp time
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::tools {

struct TimeCommand {
    unsigned launch = 0;             // from 1; 0: the only one
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    std::vector<std::string> nvcc;   // its options
    std::string arch;                // an architecture's or a product's name
    std::vector<std::string> compare;
    unsigned lines = 12;
    std::string timeline;  // "0": a warp; "sub-core:1"
    uint64_t from = 0, cycles = 64;
    std::string trace, svg;  // files
    bool json = false;
    bool cold = false;
    bool all = false;
    unsigned registers = 0;
    std::string against;  // what lockwarp measure wrote
    std::string scatter;  // a picture of it
};

int time_command(const TimeCommand& o);

}  // namespace lockwarp::tools
