// SPDX-License-Identifier: Apache-2.0
// lockwarp check
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/exit_status.hpp"

namespace lockwarp::tools {

struct CheckOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json, or launch files and patterns of them
    std::vector<std::string> nvcc;   // its options
    std::string check = "all";       // names, with commas
    std::string format = "text";
    std::string output;    // a file for the report; empty: stdout
    std::string suppress;  // a file; empty: none
    std::string arch;
    uint64_t max_steps = 0;         // 0: no limit
    unsigned threads = 0;           // 0: all cores
    std::optional<uint64_t> order;  // a seed
    uint64_t orders = 0;            // that are tried
};

int check_command(const CheckOptions& options);

}  // namespace lockwarp::tools
