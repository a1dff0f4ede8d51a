// SPDX-License-Identifier: Apache-2.0
#include "python/core/interruptible.hpp"

#include <nanobind/nanobind.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <exception>

#include "engine/runner.hpp"

namespace lockwarp::python {

namespace {

namespace nb = nanobind;

// How long a signal may wait.
constexpr std::chrono::milliseconds patience{50};

// Of this process: a child of fork() does not have its parent's threads. It is never deleted, for
// its thread may wait in it when the process ends. Only the main thread comes here.
engine::Runner& runner() {
    static engine::Runner* one = nullptr;
    static pid_t owner = 0;
    if (owner != ::getpid()) {
        one = new engine::Runner;
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
    engine::Runner& thread = runner();
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
