// SPDX-License-Identifier: Apache-2.0
// Kernels of which no two runs need be alike: the tracks that the emulator runs beside are of one
// run, whole, with all its CTAs. Where they do not fit, several runs are compared, each whole, with
// the records that the emulator needs and a share of the others.
#pragma once

#include "validate/live.hpp"

namespace lockwarp::validate {

// The registers. outputs: what the plain kernel left, and afterwards the traced one.
bool compare_one_run(Side& side, Live& live, const ptx::Module& module, Memory& outputs,
                     Memory& emulated, Answer* keep);

// A difference of which the engine differs from itself, in runs of the same kernel, is none: it
// makes the report's problem of it. outputs: those that the difference was found beside.
void judge(Side& side, Live& live, const ptx::Module& module, const Memory& outputs);

}  // namespace lockwarp::validate
