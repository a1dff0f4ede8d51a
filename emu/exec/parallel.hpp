// The one place that knows threads (oneTBB): work by index, on all cores or one.
#pragma once

#include <cstdint>
#include <functional>

namespace lockwarp::exec {

// Calls work(worker, index) for every index in [0, count), each once. Calls with one worker number
// never overlap; workers count from 0 to below worker_count(threads). `threads` 0: all cores; 1:
// in ascending order on the calling thread.
void for_each_index(uint64_t count, unsigned threads,
                    const std::function<void(unsigned worker, uint64_t index)>& work);

unsigned worker_count(unsigned threads);

}  // namespace lockwarp::exec
