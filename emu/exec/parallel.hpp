// SPDX-License-Identifier: Apache-2.0
// The one place that knows threads (oneTBB): work on all cores or one.
#pragma once

#include <cstdint>
#include <functional>

namespace lockwarp::exec {

// Calls work(worker) for every worker in [0, workers), each once: some at a time, and in any case
// one after another where there is no core for more. They have the host's floating-point
// environment as a program starts with it.
void for_each_worker(unsigned workers, const std::function<void(unsigned worker)>& work);

// The workers that `threads` (0: all cores) is good for.
unsigned worker_count(unsigned threads);

}  // namespace lockwarp::exec
