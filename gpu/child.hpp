// SPDX-License-Identifier: Apache-2.0
// An engine in a process of its own: a kernel that faults, or does not end, costs only that
// process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "gpu/engine.hpp"

namespace lockwarp::gpu {

// Makes the engine. Called in the child only, so that the parent never touches a driver; nullptr
// with the reason in `why`. It runs after fork(): it must not need threads that the parent has.
using Opener = std::function<std::unique_ptr<Engine>(std::string& why)>;

struct ChildOptions {
    double limit_seconds = 60;                // one run of a kernel; 0: none
    double compile_seconds = 300;             // compiling it before; 0: any
    const std::atomic<bool>* stop = nullptr;  // a wish to end a run that is under way
};

// The engine that `open` makes, in a child process; nullptr with the reason in `why`.
//
// run() compiles first, where that has not been done. A compilation that reaches its limit is
// `uncompiled`, a run that reaches its own is `hung`, a child that dies in it is `faulted`. After
// these, and after a fault that the engine itself reports, the child is ended, and the next
// allocate() or run() starts another. What was allocated is gone then: release() of such an address
// does nothing, and write(), clear() and read() of it are errors. A later child may give the same
// address again, so release what is gone before allocating anew.
//
// The child ends when the parent does, however the parent ends, and takes no notice of SIGINT and
// SIGTERM. Several such engines may be used at once, each from one thread at a time.
// (Under address sanitizer no other thread may allocate at the moment of a fork: the sanitizer's
// allocator, unlike glibc's, leaves its locks as they are, and the child may wait for one.)
std::unique_ptr<Engine> open_in_child(Opener open, const ChildOptions& options, std::string& why);

}  // namespace lockwarp::gpu
