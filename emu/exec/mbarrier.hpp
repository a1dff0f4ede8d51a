// SPDX-License-Identifier: Apache-2.0
// What an mbarrier hears of copies and stores that go on by themselves (PTX manual, "Tracking
// asynchronous operations by the mbarrier object").
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Bytes of a lane's copy have come to the mbarrier whose eight bytes are at `barrier`, which locate
// found; its phase ends where nothing else is missing. They may come before they are expected.
// false: a trap was set, the count is beyond 2^20 - 1 either way.
bool complete_bytes(Context& c, const Operation& o, unsigned lane, uint8_t* barrier, int64_t bytes);

// cp.async.mbarrier.arrive without .noinc, as it is issued: its phase has one more arrival to wait
// for.
void expect_arrival(const Context& c, uint8_t* barrier);

// What the word at `barrier` says.
struct MbarrierCounts {
    uint32_t missing;  // arrivals of the present phase
    bool phase;        // its parity
};
MbarrierCounts mbarrier_counts(const Context& c, const uint8_t* barrier);

}  // namespace lockwarp::exec
