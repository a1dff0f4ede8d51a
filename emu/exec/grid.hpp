// SPDX-License-Identifier: Apache-2.0
// A launch: every CTA of the grid, on all cores.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Runs the program in the launch's buffers. The same bytes come out on any number of cores (for a
// program without data races between CTAs).
warp::Result launch(const isa::Program& program, const warp::Launch& launch);

}  // namespace lockwarp::exec
