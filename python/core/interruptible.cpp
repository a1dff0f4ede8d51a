// SPDX-License-Identifier: Apache-2.0
#include "python/core/interruptible.hpp"

#include <nanobind/nanobind.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace lockwarp::python {

namespace {

namespace nb = nanobind;

// How long a signal may wait.
constexpr std::chrono::milliseconds patience{50};

// A thread that does one piece of work after another. Waking it takes a few microseconds, making
// one several times that.
class Helper {
  public:
    Helper() {
        std::thread([this] { serve(); }).detach();
    }

    void begin(const std::function<void()>& work) {
        {
            const std::lock_guard guard(lock_);
            work_ = &work;
            busy_ = true;
        }
        changed_.notify_all();
    }

    // false: the work has not ended within this time.
    bool wait(std::chrono::milliseconds time) {
        std::unique_lock guard(lock_);
        return changed_.wait_for(guard, time, [this] { return !busy_; });
    }

  private:
    [[noreturn]] void serve() {
        std::unique_lock guard(lock_);
        for (;;) {
            changed_.wait(guard, [this] { return busy_; });
            guard.unlock();
            (*work_)();
            guard.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    const std::function<void()>* work_ = nullptr;
    bool busy_ = false;
};

// Of this process: a child of fork() does not have its parent's threads. It is never deleted, for
// its thread may wait in it when the process ends. Only the main thread comes here.
Helper& helper() {
    static Helper* one = nullptr;
    static pid_t owner = 0;
    if (owner != ::getpid()) {
        one = new Helper;
        owner = ::getpid();
    }
    return *one;
}

}  // namespace

void interruptible(const std::function<void(const std::atomic<bool>&)>& work) {
    std::atomic<bool> stop{false};
    // Signals are handled on the main thread alone. A handler may call Lockwarp in turn.
    static std::atomic<bool> under_way{false};
    if (::syscall(SYS_gettid) != ::getpid() || under_way.exchange(true)) {
        const nb::gil_scoped_release released;
        work(stop);
        return;
    }
    std::exception_ptr failed;
    const std::function<void()> whole = [&] {
        try {
            work(stop);
        } catch (...) {
            failed = std::current_exception();
        }
    };
    Helper& thread = helper();
    bool raised = false;
    {
        const nb::gil_scoped_release released;
        thread.begin(whole);
        while (!thread.wait(patience)) {
            if (raised) continue;
            const nb::gil_scoped_acquire acquired;
            if (PyErr_CheckSignals() == 0) continue;
            raised = true;
            stop = true;
            // The exception stays this thread's while the work ends.
        }
    }
    under_way = false;
    if (raised) throw nb::python_error();
    if (failed) std::rethrow_exception(failed);
}

}  // namespace lockwarp::python
