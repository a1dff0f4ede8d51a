// SPDX-License-Identifier: Apache-2.0
// lockwarp run
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/exit_status.hpp"
#include "tools/report/report_options.hpp"

namespace lockwarp::tools {

struct RunOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json, or several launch files
    std::vector<std::string> nvcc;   // its options
    ReportOptions report;
    std::string shard;
    unsigned jobs = 0;  // launch files side by side; 0: as many as there are cores
    std::string arch;
    std::string out;
    std::vector<std::string> print;
    std::vector<std::string> product;
    bool stats = false;
    std::string check;       // names of checks, with commas; "all"; empty: none
    uint64_t max_steps = 0;  // 0: no limit
    unsigned threads = 0;
    std::optional<uint64_t> order;  // a seed
    uint64_t orders = 0;            // that are tried
    std::string async = "early";    // or "late"
    unsigned optimization = 4;      // as validate's
    // One look, at a place of the debugger's "break".
    std::string at;
    std::vector<std::string> show;
    unsigned lane = 0;
};

int run_command(const RunOptions& options);

}  // namespace lockwarp::tools
