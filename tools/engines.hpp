// SPDX-License-Identifier: Apache-2.0
// The machines a command compares the emulator with: GPUs, each kernel in a process of its own, or,
// where none is wanted, the emulator's own plain arithmetic.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "gpu/engine.hpp"
#include "launch/result.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct EngineOptions {
    std::string gpus = "0";        // "all", or numbers: "0,2"
    double limit_seconds = 60;     // of one run of a kernel on a GPU
    double compile_seconds = 300;  // of compiling it before
    uint32_t optimization = 4;     // of the driver's compiler
    unsigned processes = 1;        // that use a GPU beside each other
};

// --gpus, --limit, --compile-limit, --optimize
void add_engine_options(CLI::App& command, EngineOptions& o);

// GPU number `gpu` of this machine, in a process of its own; nullptr with the reason in `why`.
std::unique_ptr<gpu::Engine> open_gpu(const EngineOptions& o, unsigned gpu, std::string& why);

struct Engines {
    std::vector<std::unique_ptr<gpu::Engine>> all;  // GPU after GPU, `each` of every one
    std::vector<unsigned> numbers;                  // of their GPUs
    isa::Arch arch{};                               // of all of them
    std::string no_gpu;                             // why there is none: exit status 77
};

// Opens every GPU that is wanted `each` times. Errors: wrong options, and GPUs of different or of
// unknown architectures.
[[nodiscard]] launch::Result<Engines> open_gpus(const EngineOptions& o, unsigned each);

// The row of a compute capability, 90 for 9.0.
std::optional<isa::Arch> arch_of(const gpu::Device& device);

}  // namespace lockwarp::tools
