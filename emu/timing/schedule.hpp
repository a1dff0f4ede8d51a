// SPDX-License-Identifier: Apache-2.0
// The order of a block's instructions, and the registers a program needs.
#pragma once

#include "emu/timing/lowering.hpp"

namespace lockwarp::timing {

// Fills block.order: a list schedule, in which of the instructions that are ready the one with the
// longest path of latencies behind it comes first. Loads do not pass stores to the same memory, and
// nothing passes barriers, waits, fences, atomics, clock reads and branches.
void schedule(const Lowering& l, Block& block);

// The most 32-bit registers that live at once, in the PTX's order.
unsigned live_registers(const Lowering& l);

}  // namespace lockwarp::timing
