// SPDX-License-Identifier: Apache-2.0
#include "debug/machine.hpp"

#include <algorithm>

namespace lockwarp::debug {

namespace {

// Instructions between looks at whether the debugger wishes to hold the run.
constexpr uint64_t max_pace = 1 << 14;

}  // namespace

struct Machine::Listener : warp::CtaObserver {
    explicit Listener(Machine& m) : machine(m) {}
    void retired(const warp::Retired& e) override { machine.goal_->retired(e); }
    Machine& machine;
};

Machine::Machine(const exec::Ready& ready, const warp::Launch& launch, std::atomic<bool>* wish)
    : ready_(ready), launch_(launch), wish_(wish) {
    launch_.stop = &stop_;
    launch_.observers.push_back(this);
}

Machine::~Machine() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard(lock_);
        stop_ = true;
        running_ = true;
    }
    turn_.notify_all();
    thread_.join();
}

Machine::Stands Machine::go(Goal& goal) {
    if (thread_.joinable() && (stands_ == Stands::ended || stands_ == Stands::trapped))
        return stands_;
    std::unique_lock guard(lock_);
    goal_ = &goal;
    running_ = true;
    if (!thread_.joinable())
        thread_ = std::thread([this] { run(); });
    else
        turn_.notify_all();
    turn_.wait(guard, [this] { return !running_; });
    return stands_;
}

// The run's thread from here on.

void Machine::run() {
    result_ = exec::inspect(ready_, launch_, *this);
    here_ = {};
    ctas_.clear();
    const std::lock_guard guard(lock_);
    stands_ = Stands::ended;
    running_ = false;
    turn_.notify_all();
}

void Machine::hold(Stands as) {
    std::unique_lock guard(lock_);
    if (stop_) return;
    stands_ = as;
    running_ = false;
    turn_.notify_all();
    turn_.wait(guard, [this] { return running_; });
}

void Machine::begins(const warp::GlobalMemory& memory) { memory_ = &memory; }

void Machine::begins(const warp::Cta& cta) {
    if (ctas_.empty() && on_lone_cta && !stop_) on_lone_cta(cta.index);
    ctas_[cta.index] = &cta;
    attempts_[cta.index].assign(cta.warps.size(), {});
}

uint32_t Machine::attempt_of(const warp::Cta& cta, const warp::Warp& warp) {
    if (recent_cta_ != cta.index) {
        recent_ = &attempts_[cta.index];
        recent_cta_ = cta.index;
    }
    Attempts& a = (*recent_)[warp.index];
    a.count = a.step == warp.step ? a.count + 1 : 0;
    a.step = warp.step;
    return a.count;
}

exec::Pace Machine::before(const warp::Cta& cta, const warp::Warp& warp, size_t path) {
    here_ = {&cta, &warp, path, attempt_of(cta, warp), memory_};
    for (bool leaving = false; !stop_; leaving = true) {
        if (wish_ != nullptr && wish_->load(std::memory_order_relaxed)) {
            *wish_ = false;
            hold(Stands::interrupted);
            continue;
        }
        std::optional<exec::Pace> pace = goal_->before(here_, leaving);
        if (pace) {
            pace->instructions = std::clamp<uint64_t>(pace->instructions, 1, max_pace);
            return *pace;
        }
        hold(Stands::held);
    }
    return {};
}

void Machine::ended(const warp::Cta& cta, const warp::Trap* trap) {
    if (trap != nullptr && trap->kind != warp::TrapKind::stopped && !stop_) {
        trap_ = *trap;
        const warp::Warp& w = cta.warps[trap->warp];
        here_ = {&cta, &w, 0, 0, memory_};
        hold(Stands::trapped);
    }
    for (const warp::Warp& w : cta.warps) retired_ += w.step;
    ctas_.erase(cta.index);
    attempts_.erase(cta.index);
    recent_cta_ = UINT64_MAX;
}

std::unique_ptr<warp::CtaObserver> Machine::begin(const warp::CtaPlace&) {
    return std::make_unique<Listener>(*this);
}

}  // namespace lockwarp::debug
