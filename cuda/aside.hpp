// SPDX-License-Identifier: Apache-2.0
// Work that waits for what the program does after it has asked for it: a kernel that waits until
// the host, a copy in another stream or another kernel writes to memory. It is done on a thread of
// its own. Whoever began it waits until it has ended or waits, and goes on then; also where it has
// gone on for a while, for it may wait in a way that does not show: NCCL's kernels count how often
// they have looked.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "cuda/graph.hpp"
#include "emu/warp/launch.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

// A kernel that may wait so; a graph with one.
bool may_wait(const Work& work);
bool may_wait(GraphExec& exec);

// While one lives, the calling thread does work of streams.
class Doing {
  public:
    Doing();
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;
    // It waits and goes on, of such work as may.
    void waits();
    void goes_on();
    // Has gone on for so long, and does.
    bool is_busy(std::chrono::steady_clock::duration least) const;

  private:
    using Since = std::chrono::steady_clock::duration;
    std::atomic<Since> since_;  // it goes on; max(): it waits
};

// One piece of such work.
class Aside final : public warp::Outside, public std::enable_shared_from_this<Aside> {
  public:
    // Does it. What comes out; nullopt: it goes on, and `end` is told, once and on its own thread,
    // what has come out. Neither throws.
    std::optional<Result> run(std::function<Result()> work, std::function<void(Result)> end);
    // A kernel of it waits. false: the program waits too, for it or for others, nothing has changed
    // for LOCKWARP_EXEC_PATIENCE seconds (5 where that is not set) and nobody does anything; or it
    // ends.
    bool may_change(uint64_t progress) override;

    // Of the work that the calling thread does; nullptr: of none.
    static Aside* of_thread();
    // Wanted where the program ends: for launches of such work.
    static lockwarp_stop& stop();

  private:
    friend class Doing;
    std::mutex mutex_;
    Doing* doing_ = nullptr;
    std::condition_variable changed_;
    bool is_left_ = false;  // whoever began it has gone on
    std::optional<Result> result_;
    std::optional<uint64_t> progress_;
    std::chrono::steady_clock::time_point since_;  // what it waits for may not come any more
    std::chrono::microseconds pause_{0};
};

// While one lives, the calling thread waits for work of streams.
class Awaiting {
  public:
    Awaiting();
    ~Awaiting();
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;
};

// The program ends: nothing needs to wait any longer, nor to go on.
void end_waits();

}  // namespace lockwarp::cuda
