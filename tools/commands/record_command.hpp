// SPDX-License-Identifier: Apache-2.0
// lockwarp record
#pragma once

#include <string>
#include <vector>

#include "gpu/engine.hpp"
#include "launch/input.hpp"
#include "tools/engines.hpp"
#include "validate/lockstep.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct RecordOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json, or several launch files
    std::vector<std::string> nvcc;   // options for a .cu
    bool suite = false;              // the programs of the suite too
    // A file; of several launch files, or of the suite, the folder. Empty: this folder, and the
    // launch file's stem and ".lwr".
    std::string out;
    EngineOptions engine;           // one GPU of them
    std::vector<std::string> only;  // opcodes
    bool final_only = false;
    uint64_t trace_megabytes = 1024;
    uint64_t max_steps = 0;
    unsigned threads = 0;
};

int record_command(const RecordOptions& options);

// One launch file on an engine that is open, of that architecture, to options.out.
int record_on(gpu::Engine& engine, isa::Arch arch, launch::Input in, const RecordOptions& options);

// Writes what an engine gave for a case of the input, once it is sure that it can be read again.
// The file's bytes.
[[nodiscard]] launch::Result<uint64_t> write_recorded(const std::string& path,
                                                      const launch::Input& in, isa::Arch arch,
                                                      launch::Case c, validate::Answer answer);

}  // namespace lockwarp::tools
