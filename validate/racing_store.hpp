// SPDX-License-Identifier: Apache-2.0
// Why a load differs that nothing else tells of: another warp stores to its bytes in the same
// launch.
#pragma once

#include <functional>
#include <optional>

#include "emu/warp/observer.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

// Runs the launch on the emulator with one listener.
using Listen = std::function<void(warp::Observer&)>;

// The first store, by CTA and step, of another warp to bytes of global or shared memory that the
// lane's load reads where the difference is. Whether anything orders the two is not asked. Empty:
// the difference is none of a load, or there is no such store. Copies by hardware are not looked
// at.
std::optional<RacingStore> racing_store(const isa::Program& program, const Difference& difference,
                                        const Listen& run);

}  // namespace lockwarp::validate
