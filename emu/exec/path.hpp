// SPDX-License-Identifier: Apache-2.0
// The run of one path: the executor's inner loop.
#pragma once

#include "emu/exec/watch.hpp"

namespace lockwarp::exec {

// Runs a path of Context::warp until it ends, parts, waits, gives way (Context::yields), or the
// warp has retired `limit` instructions. A trap is in Context::trap.
void run_path(Context& c, size_t path, uint64_t limit);

// The same with an eye on whether the path only waits. true: it does, and stands where the watch
// began. It stops there, and as soon as the watch is over.
bool run_path(Context& c, size_t path, uint64_t limit, Watch& watch);

}  // namespace lockwarp::exec
