// SPDX-License-Identifier: Apache-2.0
// Which cluster of a grid has the next turn, and on which worker; and when nothing in the grid can
// change any more. A CTA that is of no cluster is one by itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "emu/exec/cluster_runner.hpp"

namespace lockwarp::exec {

// What the workers of a grid share. A worker has clusters that are under way; one that only waits
// is looked at again when memory has changed, which Turns::changed() says. When all clusters of all
// workers only wait since, and no other can begin, one of them, the lowest for which there is
// something, is chosen for what may still bring it on.
class Turns {
  public:
    // Clusters [first, end); at most `resident` are under way at a time.
    Turns(uint64_t first, uint64_t end, uint64_t resident)
        : next_(first), end_(end), resident_(resident) {}

    void enter();
    void leave();
    // A cluster that has not begun and is under way now, if one can begin.
    std::optional<uint64_t> begin_next();
    bool all_begun() const { return next_ >= end_; }
    // No further cluster begins.
    void begin_no_more() { next_ = end_; }
    // A cluster has ended.
    void ended();
    // Memory is another, or a cluster has ended.
    void changed();
    uint64_t changes() const { return changes_; }
    // Who is not in the grid may have changed memory.
    void look_again();
    // Changes that the grid made itself.
    uint64_t progress() const { return changes_ - looks_; }

    // The lowest of a worker's clusters, or of all workers', for each kind of turn; none:
    // UINT64_MAX.
    struct Lowest {
        uint64_t release = UINT64_MAX;
        uint64_t timed = UINT64_MAX;
        uint64_t any = UINT64_MAX;
        bool outside = false;  // for one of them, who is not in the grid may do something
    };
    // All of a worker's clusters only wait since changes() was `since`. Returns when that is over,
    // or when nothing in the grid can change and one of its own is chosen.
    struct Chosen {
        uint64_t cluster = UINT64_MAX;  // UINT64_MAX: none, memory has changed
        Turn turn = Turn::ordinary;
        bool outside = false;  // Lowest's, of all workers
    };
    Chosen wait(uint64_t since, const Lowest& own);
    // One that only waits had the time to go on by the clock, and changed nothing.
    void in_vain(uint64_t instructions);

  private:
    struct Waiter {
        uint64_t since;
        const Lowest* own;
    };
    bool nothing_can_change() const;
    void choose();

    std::atomic<uint64_t> next_;
    uint64_t end_;
    uint64_t resident_;
    std::atomic<uint64_t> under_way_{0};
    std::atomic<uint64_t> changes_{0};
    std::atomic<uint64_t> looks_{0};  // of those changes, look_again()'s
    std::atomic<bool> any_waits_{false};
    std::mutex lock_;  // of what follows
    std::condition_variable changed_;
    unsigned active_ = 0;  // workers between enter() and leave()
    std::vector<Waiter> waiters_;
    uint64_t vain_since_ = 0;  // changes()
    uint64_t vain_ = 0;        // instructions since, of those whom the clock might let go on
    Chosen chosen_;
};

// The clusters of one worker that are under way but have no turn.
class Standing {
  public:
    bool empty() const { return clusters_.empty(); }
    // It stands back after a turn that began when Turns::changes() was `seen`.
    void add(ClusterRunner* runner, bool only_waits, uint64_t seen) {
        clusters_.push_back({runner, only_waits, seen});
    }
    // The longest-standing one that may go on; nullptr: all only wait, since `changes`.
    ClusterRunner* take_ready(uint64_t changes);
    ClusterRunner* take(uint64_t index);
    bool any_waits() const;
    Turns::Lowest lowest() const;

  private:
    struct Waiting {
        ClusterRunner* runner;
        bool only_waits;
        uint64_t seen;
    };
    std::deque<Waiting> clusters_;
};

}  // namespace lockwarp::exec
