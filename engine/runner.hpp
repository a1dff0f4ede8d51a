// SPDX-License-Identifier: Apache-2.0
// A thread for launches that the caller watches: it does one piece of work after another. To wake
// it costs a few microseconds, to make one several times that.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockwarp::engine {

class Runner {
  public:
    Runner() : thread_([this] { serve(); }) {}
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    // Nothing is under way.
    ~Runner() {
        {
            const std::lock_guard guard(lock_);
            ends_ = true;
        }
        begun_.notify_one();
        thread_.join();
    }

    // The work throws nothing, and lives until wait() has returned true.
    void begin(const std::function<void()>& work) {
        {
            const std::lock_guard guard(lock_);
            work_ = &work;
        }
        begun_.notify_one();
    }

    // false: the work has not ended within this time.
    bool wait(std::chrono::milliseconds time) {
        std::unique_lock guard(lock_);
        return ended_.wait_for(guard, time, [this] { return work_ == nullptr; });
    }

  private:
    void serve() {
        std::unique_lock guard(lock_);
        for (;;) {
            begun_.wait(guard, [this] { return ends_ || work_ != nullptr; });
            if (work_ == nullptr) return;
            const std::function<void()>& work = *work_;
            guard.unlock();
            work();
            guard.lock();
            work_ = nullptr;
            ended_.notify_one();
        }
    }

    std::mutex lock_;
    std::condition_variable begun_, ended_;
    const std::function<void()>* work_ = nullptr;
    bool ends_ = false;
    std::thread thread_;  // last: it begins when all else is there
};

// Runners that nobody uses at the moment. A child of fork() does not have its parent's threads:
// what it finds here of these, it leaves alone.
class Runners {
  public:
    Runners() = default;
    Runners(const Runners&) = delete;
    Runners& operator=(const Runners&) = delete;
    ~Runners() {
        if (owner_ == ::getpid()) return;
        for (std::unique_ptr<Runner>& r : idle_) (void)r.release();
    }

    std::unique_ptr<Runner> take() {
        const std::lock_guard guard(lock_);
        if (owner_ != ::getpid()) {
            for (std::unique_ptr<Runner>& r : idle_) (void)r.release();
            idle_.clear();
            owner_ = ::getpid();
        }
        if (idle_.empty()) return std::make_unique<Runner>();
        std::unique_ptr<Runner> out = std::move(idle_.back());
        idle_.pop_back();
        return out;
    }
    void give(std::unique_ptr<Runner> runner) {
        const std::lock_guard guard(lock_);
        idle_.push_back(std::move(runner));
    }

  private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Runner>> idle_;
    pid_t owner_ = ::getpid();
};

}  // namespace lockwarp::engine
