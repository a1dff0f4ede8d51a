// SPDX-License-Identifier: Apache-2.0
// Which CTA of a grid has the next turn, and on which worker; and when nothing in the grid can
// change any more.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "emu/exec/cta.hpp"

namespace lockwarp::exec {

// What the workers of a grid share. A worker has CTAs that are under way; one that only waits is
// looked at again when memory has changed, which Turns::changed() says. When all CTAs of all
// workers only wait since, and no other can begin, one of them, the lowest for which there is
// something, is chosen for what may still bring it on.
class Turns {
  public:
    // CTAs [first, end); at most `resident` are under way at a time.
    Turns(uint64_t first, uint64_t end, uint64_t resident)
        : next_(first), end_(end), resident_(resident) {}

    void enter();
    void leave();
    // A CTA that has not begun and is under way now, if one can begin.
    std::optional<uint64_t> begin_next();
    bool all_begun() const { return next_ >= end_; }
    // No further CTA begins.
    void begin_no_more() { next_ = end_; }
    // A CTA has ended.
    void ended();
    // Memory is another, or a CTA has ended.
    void changed();
    uint64_t changes() const { return changes_; }

    // The lowest of a worker's CTAs, or of all workers', for each kind of turn; none: UINT64_MAX.
    struct Lowest {
        uint64_t release = UINT64_MAX;
        uint64_t timed = UINT64_MAX;
        uint64_t any = UINT64_MAX;
    };
    // All of a worker's CTAs only wait since changes() was `since`. Returns when that is over, or
    // when nothing in the grid can change and one of its own is chosen.
    struct Chosen {
        uint64_t cta = UINT64_MAX;  // UINT64_MAX: none, memory has changed
        Turn turn = Turn::ordinary;
    };
    Chosen wait(uint64_t since, const Lowest& own);

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
    std::atomic<bool> any_waits_{false};
    std::mutex lock_;  // of what follows
    std::condition_variable changed_;
    unsigned active_ = 0;  // workers between enter() and leave()
    std::vector<Waiter> waiters_;
    Chosen chosen_;
};

// The CTAs of one worker that are under way but have no turn.
class Standing {
  public:
    bool empty() const { return ctas_.empty(); }
    // It stands back after a turn that began when Turns::changes() was `seen`.
    void add(CtaRunner* runner, bool only_waits, uint64_t seen) {
        ctas_.push_back({runner, only_waits, seen});
    }
    // The longest-standing one that may go on; nullptr: all only wait, since `changes`.
    CtaRunner* take_ready(uint64_t changes);
    CtaRunner* take(uint64_t index);
    Turns::Lowest lowest() const;

  private:
    struct Cta {
        CtaRunner* runner;
        bool only_waits;
        uint64_t seen;
    };
    std::deque<Cta> ctas_;
};

}  // namespace lockwarp::exec
