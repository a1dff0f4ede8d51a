// SPDX-License-Identifier: Apache-2.0
// A CUDA program on a GPU as always, with each of its launches looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct BesideOptions {
    bool validates = false;     // else it captures
    std::string out;            // a folder for launch files; empty: none
    bool keeps = true;          // the folder stays
    std::string kernel;         // a part of a name; empty: all
    uint64_t launch = 0;        // a number; 0: all
    uint64_t megabytes = 1024;  // that a launch may reach
    bool keep_ptx = false;
    std::string driver;  // the GPU's libcuda.so.1; empty: that which the loader finds
    std::vector<std::string> words;
};

// --kernel, --launch, --max-memory, --keep-ptx and --driver
void add_beside_options(CLI::App& command, BesideOptions& options);
// The program's own exit status; where that is 0, 1 for a difference and 2 where no launch was
// compared or captured; 77: no driver of a GPU.
int run_beside_gpu(const BesideOptions& options);

}  // namespace lockwarp::tools
