// SPDX-License-Identifier: Apache-2.0
// A kernel that also says when its threads began and ended, by the clock register of the
// multiprocessor that each ran on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::gpu {

// What a thread leaves. Thread t of CTA c (both x fastest) has its slot at
// (c * threads of a CTA + t) * slot_bytes of the buffer.
struct Clocked {
    uint64_t begin, end;  // %clock64: the first thing it did, and the last
    uint64_t place;       // %smid + 1; 0: the thread never ended
    uint64_t unused;
};
inline constexpr uint64_t slot_bytes = sizeof(Clocked);

// The entry alone, with what it calls, as an engine compiles it: without "debug" among its targets,
// whose sections the tree does not hold and the assembler demands.
std::string plain_kernel(const ptx::Module& module, const isa::Program& program);

// The same, clocked, with one parameter more. It keeps its first clock in a register and stores its
// slot at its end: every ret and exit of the entry, its last line, and exits of functions.
std::string clocked_kernel(const ptx::Module& module, const isa::Program& program);

std::vector<uint8_t> clocked_parameters(const std::vector<uint8_t>& parameters, uint64_t buffer);

// The bytes of a buffer that was read back, in their order.
std::vector<Clocked> clocked_slots(std::span<const uint8_t> bytes);

}  // namespace lockwarp::gpu
