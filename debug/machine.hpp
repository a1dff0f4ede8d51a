// SPDX-License-Identifier: Apache-2.0
// A launch under way that stands still whenever it is looked at: it runs on a thread of its own,
// which waits while the debugger has its turn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "emu/exec/inspector.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::debug {

// Where a run may stand: a path of a warp is about to run an instruction, for the `attempt`-th time
// since the warp has retired `step` instructions. Attempts beyond the first are of paths that came
// to wait. A run being deterministic, the same time is the same state.
struct Time {
    size_t launch = 0;  // of the launch file
    uint64_t cta = 0;
    uint32_t warp = 0;
    uint64_t step = 0;
    uint32_t attempt = 0;
    friend bool operator==(const Time&, const Time&) = default;
};

// Where the run is: `path` of `warp` is about to run its next operation.
struct Here {
    const warp::Cta* cta = nullptr;
    const warp::Warp* warp = nullptr;
    size_t path = 0;
    uint32_t attempt = 0;
    const warp::GlobalMemory* memory = nullptr;

    uint32_t pc() const { return warp->paths[path].pc; }
    uint32_t lanes() const { return warp->paths[path].lanes; }
};

// What the debugger runs for. Called on the run's thread.
class Goal {
  public:
    virtual ~Goal() = default;
    // None: the run is to be held here. leaving: it was held here, and goes on now.
    virtual std::optional<exec::Pace> before(const Here& here, bool leaving) = 0;
    // An instruction has retired whose pace was heard.
    virtual void retired(const warp::Retired&) {}
};

class Machine : private exec::Inspector, private warp::Observer {
  public:
    enum class Stands : uint8_t {
        held,
        interrupted,
        trapped,  // the CTA's state is still there; nothing goes on from here
        ended,
    };

    // What is given must outlive it. A wish to hold is taken back when it is met.
    Machine(const exec::Ready& ready, const warp::Launch& launch, std::atomic<bool>* wish);
    ~Machine() override;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Runs on until the goal holds it, a CTA traps, or the launch is over.
    Stands go(Goal& goal);

    // While it stands: valid until the next go().
    const Here& here() const { return here_; }  // cta nullptr: nothing has run, or it is over
    // The CTAs that are under way, or trapped, by index.
    const std::map<uint64_t, const warp::Cta*>& ctas() const { return ctas_; }
    // nullptr: nothing has run.
    const warp::GlobalMemory* memory() const { return memory_; }
    const std::optional<warp::Trap>& trap() const { return trap_; }
    // Instructions that the CTAs which have ended retired.
    uint64_t retired() const { return retired_; }
    // Once it has ended.
    const warp::Result& result() const { return result_; }
    // Called on the run's thread when a CTA begins while no other is under way.
    std::function<void(uint64_t cta)> on_lone_cta;

  private:
    struct Listener;
    struct Attempts {
        uint64_t step = UINT64_MAX;
        uint32_t count = 0;
    };

    void begins(const warp::GlobalMemory& memory) override;
    void begins(const warp::Cta& cta) override;
    exec::Pace before(const warp::Cta& cta, const warp::Warp& warp, size_t path) override;
    void ended(const warp::Cta& cta, const warp::Trap* trap) override;
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;

    uint32_t attempt_of(const warp::Cta& cta, const warp::Warp& warp);
    void hold(Stands as);
    void run();

    const exec::Ready& ready_;
    warp::Launch launch_;
    std::atomic<bool>* wish_;
    std::atomic<bool> stop_{false};

    std::mutex lock_;
    std::condition_variable turn_;
    bool running_ = false;  // whose turn it is: the run's, or the debugger's
    Stands stands_ = Stands::held;
    Goal* goal_ = nullptr;
    std::thread thread_;

    Here here_;
    std::map<uint64_t, const warp::Cta*> ctas_;
    std::map<uint64_t, std::vector<Attempts>> attempts_;
    std::vector<Attempts>* recent_ = nullptr;
    uint64_t recent_cta_ = UINT64_MAX;
    const warp::GlobalMemory* memory_ = nullptr;
    uint64_t retired_ = 0;
    std::optional<warp::Trap> trap_;
    warp::Result result_;
};

}  // namespace lockwarp::debug
