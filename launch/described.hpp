// SPDX-License-Identifier: Apache-2.0
// What a launch file says of its buffers beside their bytes, for those who look at a run.
#pragma once

#include "emu/check/described.hpp"
#include "launch/launch_file.hpp"

namespace lockwarp::launch {

// Of buffers that lie in `memory`: those that nobody gave a value, and what their elements are. A
// buffer's elements are those of its own "shape"; else those of a product that it is part of; else
// numbers of the type that it is expected to have, or begins with, one after another.
check::Described described(const LaunchFile& file, const Memory& memory);

}  // namespace lockwarp::launch
