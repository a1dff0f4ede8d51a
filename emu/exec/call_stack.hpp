// SPDX-License-Identifier: Apache-2.0
// Calls of functions that have not returned. Lanes that call together have one frame; the state is
// the warp's own: Warp::calls, and the frames' variables in its local memory.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// A frame for lanes of a path that call a function by operation `o`: their arguments, and its
// variables as zeros. `meeting` is where those that return go on. no_index: a trap.
uint32_t enter(Context& c, const warp::Path& caller, const Operation& o, uint32_t function,
               uint32_t lanes, uint32_t meeting);

// Lanes return from a frame: its results and the registers that were saved go to the caller.
void leave(Context& c, uint32_t frame, uint32_t lanes);

// Lanes are in the frame no longer, since they returned or exited; it is free when none is.
void drop(warp::CallStack& s, uint32_t frame, uint32_t lanes);

// The local address of a frame's variables for one lane; of the entry's where frame is no_index.
uint32_t frame_base(const warp::Warp& w, uint32_t frame, unsigned lane);

// The operations of the calls that a frame is in, innermost first; 64 at most.
std::vector<uint32_t> calls_of(const warp::CallStack& s, uint32_t frame);

}  // namespace lockwarp::exec
