// SPDX-License-Identifier: Apache-2.0
// A program's fault as a machine names it, beside the emulator's traps.
#pragma once

#include "emu/warp/launch.hpp"
#include "gpu/engine.hpp"

namespace lockwarp::validate {

// What a GPU names the fault that the emulator calls `kind`.
gpu::Fault fault_of(warp::TrapKind kind);

// Whether a run of an engine that did not end well ended as the emulator's did.
bool same_fault(const gpu::Ran& ran, warp::TrapKind kind);

}  // namespace lockwarp::validate
