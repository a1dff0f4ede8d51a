// SPDX-License-Identifier: Apache-2.0
// Which warp of a CTA runs next, which of its paths, and for how long.
#pragma once

#include "emu/exec/watch.hpp"

namespace lockwarp::exec {

// Where a CTA stands after each of its warps has had a turn.
enum class Round : uint8_t {
    goes_on,
    only_waits,  // until memory changes, which only another CTA can do now
    ended,       // also by a trap: Context::trap
};

// Warps have their turns in order, the paths of a warp youngest first. Every path goes on, whatever
// another waits for (independent thread scheduling, CUDA C++ programming guide, "Compute Capability
// 7.x"); one that only waits (watch.hpp) has its next turn when something was stored. The order
// depends on nothing but the program and its data.
class Scheduler {
  public:
    // The CTA goes on after others had the core, and may have changed memory.
    void wake(Context& c);
    // whole: paths that only wait have their turns nevertheless, so that an endless wait comes to
    // the limit of its steps.
    Round round(Context& c, bool whole);

  private:
    bool run_warp(Context& c, bool whole);
    bool run_turn(Context& c, size_t path, uint64_t end, bool whole);
    bool run_watched(Context& c, size_t path, uint64_t end);

    Watch watch_;
};

}  // namespace lockwarp::exec
