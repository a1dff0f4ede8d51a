// SPDX-License-Identifier: Apache-2.0
// A machine that runs PTX beside the emulator: a GPU through its driver, or, in tests, the emulator
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/tensor_map.hpp"
#include "emu/warp/launch.hpp"
#include "launch/result.hpp"

namespace lockwarp::gpu {

struct Device {
    std::string name;     // "NVIDIA H200"
    std::string driver;   // "580.159.04" or the CUDA version the driver speaks, "13.0"
    uint32_t number = 0;  // compute capability, 90 for 9.0
    uint32_t clock_mhz = 0;
    uint64_t memory = 0;  // bytes

    bool operator==(const Device&) const = default;
};

// One launch of one kernel. Buffers were allocated by the engine that runs it.
struct Job {
    std::string_view ptx;
    std::string_view entry;
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    std::vector<uint8_t> parameters;
    uint32_t optimization = 4;  // of the machine's compiler, 0 to 4
    uint32_t stack_bytes = 0;   // wished for the calls of a thread; 0: what the machine gives
    bool fresh = false;         // the module has variables: they begin with their first values
    std::optional<warp::Dim3> cluster = {};  // as warp::Launch, and so the next two
    bool non_portable_cluster = false;
    bool cooperative = false;
};

enum class Outcome : uint8_t {
    done,
    refused,     // the compiler or the launch refused it: `what` says why
    faulted,     // the kernel faulted; what was allocated is lost
    hung,        // the kernel did not end within the engine's limit; what was allocated is lost
    uncompiled,  // the compiler did not end within its own limit; what was allocated is lost
};

// What kind of fault a machine names.
enum class Fault : uint8_t {
    none,
    illegal_address,
    misaligned_address,
    address_space,
    illegal_instruction,
    launch_failed,  // trap, brkpt, a failed assertion, and whatever has no name of its own
};

struct Ran {
    Outcome outcome = Outcome::done;
    std::string what;
    Fault fault = Fault::none;
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual const Device& device() const = 0;
    // The address of `bytes` new bytes; 0 where there is no room.
    virtual uint64_t allocate(uint64_t bytes) = 0;
    // Whether there are `bytes` new bytes at that address now; release() ends them.
    virtual bool allocate_at(uint64_t address, uint64_t bytes) {
        (void)address;
        (void)bytes;
        return false;
    }
    virtual void release(uint64_t address) = 0;
    [[nodiscard]] virtual launch::Result<void> write(uint64_t address,
                                                     std::span<const uint8_t> bytes) = 0;
    // Sets `bytes` bytes to zero.
    [[nodiscard]] virtual launch::Result<void> clear(uint64_t address, uint64_t bytes) = 0;
    [[nodiscard]] virtual launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) = 0;
    // Compiles the job's text; run() of the same job then does not. An engine without a compiler
    // has nothing to do.
    virtual Ran compile(const Job& job) {
        (void)job;
        return {};
    }
    virtual Ran run(const Job& job) = 0;
    // A tensor map's 128 bytes as the machine's driver encodes them; none where it has no driver.
    [[nodiscard]] virtual launch::Result<std::vector<uint8_t>> encode(const isa::TensorMap& map) {
        (void)map;
        return std::vector<uint8_t>();
    }
};

}  // namespace lockwarp::gpu
