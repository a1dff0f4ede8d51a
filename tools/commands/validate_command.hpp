// SPDX-License-Identifier: Apache-2.0
// lockwarp validate
#pragma once

#include <string>
#include <vector>

#include "tools/commands/beside.hpp"
#include "tools/engines.hpp"
#include "tools/report/report_options.hpp"

namespace lockwarp::tools {

struct ValidateOptions {
    std::vector<std::string> files;
    std::vector<std::string> nvcc;  // its options
    BesideOptions beside;           // of a program
    bool lockstep = false;          // of a program: every register, else memory alone
    bool of_a_program = false;      // the files are launches that a program made
    EngineOptions engines;
    std::string every = "instruction";
    std::vector<std::string> only;
    bool final_only = false;
    bool digests = false;
    bool words = false;
    std::string arch;   // the machine the emulator models; empty: the GPU's
    std::string ctas;   // "0-3"; empty: all
    std::string warps;  // "0,2-3"; empty: all
    std::string lines;  // "40-80,95"; empty: all
    uint64_t trace_megabytes = 1024;
    uint64_t max_steps = 0;  // 0: no limit
    unsigned threads = 0;
    unsigned jobs = 0;       // launch files at a time; 0: as many as cores
    bool stats = false;      // seconds, and the emulator alone
    std::string save = ".";  // where recordings of differences go
    std::string shard;
    ReportOptions reports;
};

int validate_command(const ValidateOptions& options);

}  // namespace lockwarp::tools
