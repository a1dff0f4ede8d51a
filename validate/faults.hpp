// SPDX-License-Identifier: Apache-2.0
// A program's fault as a machine names it, beside the emulator's traps.
#pragma once

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"
#include "gpu/engine.hpp"

namespace lockwarp::validate {

// What a GPU names a fault of the emulator's.
gpu::Fault fault_of(const warp::Trap& trap, const isa::Program& program);

// Whether a run of an engine that did not end well ended as the emulator's did.
bool same_fault(const gpu::Ran& ran, const warp::Trap& trap, const isa::Program& program);

}  // namespace lockwarp::validate
