// SPDX-License-Identifier: Apache-2.0
// What a result says of a trap.
#pragma once

#include <vector>

#include "engine/handles.hpp"

namespace lockwarp::engine {

// Fills all of `result` that is about its trap, which it has. ranges: of the launch.
void report_trap(lockwarp_result& result, const lockwarp_kernel& kernel,
                 const std::vector<Range>& ranges);

}  // namespace lockwarp::engine
