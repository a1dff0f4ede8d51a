// SPDX-License-Identifier: Apache-2.0
// Which warp of a CTA runs next, which of its paths, and for how long.
#pragma once

#include "emu/exec/gives_way.hpp"
#include "emu/exec/watch.hpp"

namespace lockwarp::exec {

// Where a CTA stands after each of its warps has had a turn.
enum class Round : uint8_t {
    goes_on,
    only_waits,  // until memory or the cluster's barrier changes, which only another CTA can do now
    ended,       // also by a trap: Context::trap
};

// What a CTA is to do with its time.
enum class Turn : uint8_t {
    ordinary,
    // Nothing in the grid can change memory any more. One of:
    release,  // lanes go on that wait where they should meet others
    whole,    // paths that only wait have a turn nevertheless: the clock may end their wait
    give_up,  // a deadlock: it traps
};

// Warps have their turns in order, the paths of a warp youngest first. Every path goes on, whatever
// another waits for (independent thread scheduling, CUDA C++ programming guide, "Compute Capability
// 7.x"); one that only waits (watch.hpp) has its next turn when something was stored. Lanes that
// have come to where they meet others stay there as long as anything in the grid can bring those.
// The order depends on nothing but the program and its data.
class Scheduler {
  public:
    // Other CTAs may have changed memory: no path is known to wait.
    static void wake(Context& c);
    // others_wait: CTAs do that only wait.
    Round round(Context& c, GivesWay& way, bool whole, bool others_wait);
    // Lanes of one warp go on that wait where they meet others. false: there are none.
    static bool release(Context& c);
    static bool can_release(const Context& c);
    // None of its paths runs, or could if memory changed.
    static bool is_stuck(const Context& c);
    // Of a CTA that only waits: the clock may end the wait of one of its paths.
    static bool is_timed(const Context& c);
    // Likewise, who is not in the grid.
    static bool looks_outside(const Context& c);

  private:
    bool run_warp(Context& c, uint64_t end, bool whole);
    bool run_warp_in_order(Context& c, GivesWay& way, uint64_t end, bool whole);
    bool run_turn(Context& c, size_t path, uint64_t end, bool whole);
    bool run_watched(Context& c, size_t path, uint64_t end);

    Watch watch_;
};

}  // namespace lockwarp::exec
