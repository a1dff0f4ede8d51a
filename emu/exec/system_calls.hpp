// SPDX-License-Identifier: Apache-2.0
// Functions that the machine itself has.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Runs the call for the lanes of `mask`, one after the other. bases: where each lane's frame of
// the calling function begins.
void run_system_call(Context& c, const Operation& o, const isa::Call& call, uint32_t mask,
                     const std::array<uint32_t, 32>& bases);

// A block of malloc's heap, 0 where none is left, for a lane's call `o`; and its end. An address
// that is no block's is a trap.
uint64_t allocate_block(Context& c, const Operation& o, unsigned lane, uint64_t bytes);
void release_block(Context& c, const Operation& o, unsigned lane, uint64_t address);

// Lanes take the blocks that the oracle says this call of malloc gave them, as far as these are
// free. Returns those that have theirs.
uint32_t take_blocks(Context& c, const isa::Call& call, const warp::Retired& before,
                     const std::array<uint32_t, 32>& bases);

}  // namespace lockwarp::exec
