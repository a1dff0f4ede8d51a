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
    bool validates = false;       // else it captures
    std::string out;              // a folder for launch files; empty: none
    bool keeps = true;            // the folder stays
    uint64_t kept_megabytes = 0;  // of memory, in launch files of `out`; 0: no limit
    std::string kernel;           // a part of a name; empty: all
    uint64_t launch = 0;          // a number; 0: all
    uint64_t megabytes = 1024;    // that a launch may reach
    bool keep_ptx = false;
    std::string driver;  // the GPU's libcuda.so.1; empty: that which the loader finds
    std::vector<std::string> words;
};

// --kernel, --launch, --max-memory, --keep-ptx and --driver
void add_beside_options(CLI::App& command, BesideOptions& options);
// What a program's launches came to.
struct BesideRun {
    int status = 0;        // of the program; 2 or 77 where it did not begin
    bool began = false;    // false: the reason has been said
    size_t identical = 0;  // with those that are where mul and add are not fused
    size_t fused = 0, different = 0, captured = 0, left_out = 0;
    size_t ordered = 0;  // of the different ones: identical in the GPU's order of their threads
};

BesideRun run_beside_gpu(const BesideOptions& options);
// Says it in one line on stderr. The program's own exit status; where that is 0, 1 for a difference
// and 2 where no launch was compared or captured.
int end_beside_gpu(const BesideOptions& options, const BesideRun& ran);

}  // namespace lockwarp::tools
