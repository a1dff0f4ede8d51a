// SPDX-License-Identifier: Apache-2.0
// What a program's instructions do with memory: which buffer they touch, whose operand they carry.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "why/subject.hpp"

namespace lockwarp::why {

// What the data of an instruction are for.
enum class Role : uint8_t { none, a, b, d };

// One instruction that accesses memory; of cp.async its destination in shared memory.
struct Touch {
    uint32_t operation = 0;
    ptx::Space space = ptx::Space::none;
    bool store = false;
    Role role = Role::none;        // whose elements it moves
    bool feeds = false;            // straight into the registers of a matrix instruction
    uint64_t times = 0;            // that it ran
    uint64_t lowest = UINT64_MAX;  // address
    uint64_t highest = 0;
    uint32_t lanes = 0;                     // of the first time
    std::array<uint64_t, 32> address{};     // of the first time, by lane
    std::vector<uint64_t> first_addresses;  // of its first lane, different ones in their order
};

// By operation; those that never ran are left out.
std::vector<Touch> survey(const Subject& subject, const isa::Program& program, uint64_t first_cta,
                          uint64_t ctas, uint64_t max_steps);

}  // namespace lockwarp::why
