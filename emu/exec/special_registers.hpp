// SPDX-License-Identifier: Apache-2.0
// What a thread reads from its special registers. PTX manual, "Special Registers".
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Bytes of a CTA's shared memory: static, dynamic, and what the driver keeps for itself where the
// program asks for that, in the units in which it is given out.
uint64_t shared_bytes(const isa::Program& program, const warp::Launch& launch);

// Whether the lanes of a warp may read different values.
bool is_of_lane(isa::Special which);

// The value that one lane of a warp of the CTA reads.
uint64_t special_value(isa::Special which, const Context& c, uint32_t warp, uint32_t lane);

// Of an operation that reads clocks: puts the time there, then runs it. They count the instructions
// that the warp has retired and the nanoseconds that it slept: a value that only grows, and past
// any limit where a loop sleeps. Time is the business of emu/timing.
void after_clocks(Context& c, const Step& s, uint32_t mask);

}  // namespace lockwarp::exec
