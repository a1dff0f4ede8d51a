// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream waits until a word of memory has a value, or writes one.
#pragma once

#include "cuda/graph.hpp"

namespace lockwarp::cuda {

// A Failure where one of them is none.
MemoryWork memory_work(const BatchMemoryNode& node);
bool waits(const MemoryWork& work);
void run_memory(const MemoryWork& work);

}  // namespace lockwarp::cuda
