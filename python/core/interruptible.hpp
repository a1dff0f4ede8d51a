// SPDX-License-Identifier: Apache-2.0
// Work that ctrl-C ends.
#pragma once

#include <atomic>
#include <functional>

namespace lockwarp::python {

// Does the work without the interpreter's lock, which the caller holds before and after. On the
// process's main thread, where Python handles signals, it is done on another thread while this one
// looks for signals; `stop` becomes true where a handler raised, and its exception is thrown once
// the work has ended.
void interruptible(const std::function<void(const std::atomic<bool>& stop)>& work);

}  // namespace lockwarp::python
