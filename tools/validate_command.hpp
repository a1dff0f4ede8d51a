// lockwarp validate
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "gpu/engine.hpp"

namespace lockwarp::tools {

struct ValidateOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    unsigned gpu = 0;
    std::vector<std::string> only;  // opcodes
    bool final_only = false;
    uint64_t trace_megabytes = 1024;
    uint64_t max_steps = 0;
    unsigned threads = 0;
};

// The architecture that models a GPU: of the same compute capability.
std::optional<isa::Arch> arch_of(const gpu::Device& device);

int validate_command(const ValidateOptions& options);

}  // namespace lockwarp::tools
