// SPDX-License-Identifier: Apache-2.0
// What a thread reads from its special registers. PTX manual, "Special Registers".
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Bytes of a CTA's shared memory: static, dynamic, and what the driver keeps for itself where the
// program asks for that.
uint64_t shared_bytes(const isa::Program& program, const warp::Launch& launch);

// The value that one lane of a warp of the CTA reads.
uint64_t special_value(isa::Special which, const Context& c, uint32_t warp, uint32_t lane);

}  // namespace lockwarp::exec
