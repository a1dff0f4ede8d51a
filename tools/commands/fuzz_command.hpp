// SPDX-License-Identifier: Apache-2.0
// lockwarp fuzz
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/engines.hpp"
#include "tools/report/report_options.hpp"
#include "validate/summary.hpp"

namespace lockwarp::tools {

struct FuzzCommand {
    EngineOptions engines;
    bool plain = false;  // beside the emulator's own plain arithmetic
    std::string arch;    // the machine the emulator models; empty: the GPU's
    uint64_t seed = 1;
    uint64_t cases = 100;
    double seconds = 0;  // 0: no limit
    std::vector<std::string> only;
    unsigned instructions = 48;
    uint32_t ctas = 0;  // 0: 64 beside a GPU, 2 beside the plain arithmetic
    std::string out = "fuzz-found";
    unsigned jobs = 0;  // programs at a time; 0: chosen by the cores
    uint64_t shrink = 20;
    unsigned threads = 0;
    std::string shard;
    ReportOptions reports;
    bool list = false;  // print what is generated
};

int fuzz_command(const FuzzCommand& command);

// Of what is the compiler's: how many programs and one of each kind.
std::string compilers_text(const validate::Summary& summary);

}  // namespace lockwarp::tools
