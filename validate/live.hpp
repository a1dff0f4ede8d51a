// SPDX-License-Identifier: Apache-2.0
// The engine's side of a comparison: runs kernels and brings their tracks.
#pragma once

#include <chrono>

#include "validate/side.hpp"

namespace lockwarp::validate {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Stack of a thread where the program calls functions, which NVIDIA's compiler cannot measure where
// they call each other; CUDA's own 1024 bytes are few for code that is not optimized.
constexpr uint32_t call_stack_bytes = 65536;

// Memory of the engine that is given back at the end.
struct EngineMemory {
    gpu::Engine& engine;
    std::vector<uint64_t> addresses;

    explicit EngineMemory(gpu::Engine& e) : engine(e) {}
    EngineMemory(const EngineMemory&) = delete;
    EngineMemory& operator=(const EngineMemory&) = delete;
    ~EngineMemory() {
        for (const uint64_t a : addresses) engine.release(a);
    }
    uint64_t allocate(uint64_t bytes) {
        const uint64_t address = engine.allocate(bytes);
        if (address != 0) addresses.push_back(address);
        return address;
    }
    bool allocate_at(uint64_t address, uint64_t bytes) {
        if (!engine.allocate_at(address, bytes)) return false;
        addresses.push_back(address);
        return true;
    }
};

// Memory of the engine for a case's buffers. An error where there is none, or none at the address
// that the case fixes.
[[nodiscard]] launch::Result<std::vector<uint64_t>> place(const launch::Case& c,
                                                          EngineMemory& memory);

// A case on the engine.
struct Live {
    const launch::Case& c;
    gpu::Engine& engine;
    const std::vector<uint64_t>& addresses;
    const std::vector<uint8_t> parameters;
    uint32_t optimization;
    uint32_t stack_bytes;  // as gpu::Job, and `fresh`
    bool fresh;
    gpu::Ran ran;         // of the last run
    std::string problem;  // empty where `ran` says what was wrong
    double compile = 0;   // seconds of the first traced run

    // Whether it is good; else `problem` says why.
    bool good(const launch::Result<void>& result) {
        problem = result ? std::string() : result.error().sentence;
        return result.has_value();
    }

    // Runs a text of the kernel on the case's bytes, and reads them back. false: it did not end
    // well.
    bool run(const std::string& ptx, const std::vector<uint8_t>& with, Memory& out);

    // The tracks of a window, and the buffers after that run. false: as run.
    bool trace(const gpu::TracedKernel& kernel, const gpu::TraceWindow& window, uint64_t warps,
               Tracks& tracks, Memory& outputs);
};

// What trace() brought, or why it did not: another one may have begun since.
struct Fetched {
    bool good = false;
    Tracks tracks;
    Memory outputs;
    std::string problem;
    gpu::Ran ran;
};

}  // namespace lockwarp::validate
