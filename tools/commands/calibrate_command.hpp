// SPDX-License-Identifier: Apache-2.0
// lockwarp calibrate
#pragma once

#include <string>
#include <vector>

#include "tools/engines.hpp"
#include "validate/probes.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct CalibrateCommand {
    std::vector<std::string> only;  // beginnings of keys; empty: all
    std::vector<unsigned> warps;    // of those that a probe has; empty: all
    std::string out;                // JSON; empty: none
    std::string ptx;                // a folder for the kernels; empty: none
    std::string arch;               // without a GPU; empty: sm_90
    bool list = false;
    bool emulator = false;  // in a GPU's place
    std::string against;    // a file that out wrote
    unsigned lines = 20;
    EngineOptions engine;
};

int calibrate_command(const CalibrateCommand& command);

struct FailedProbe {
    std::string key;
    std::string why;
};

// What is printed: the answer, then latency and interval of each instruction, then what failed.
std::string calibrate_text(const validate::Probes& measured,
                           const std::vector<FailedProbe>& failed);

}  // namespace lockwarp::tools
