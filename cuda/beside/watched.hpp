// SPDX-License-Identifier: Apache-2.0
// A launch on the GPU, with what its parameters lead to before and after it.
#pragma once

#include <functional>

#include "cuda/beside/kernels.hpp"

namespace lockwarp::beside {

using cuda::Address;
using cuda::Result;
using cuda::Stream;

struct Shape {
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared = 0;
    bool cooperative = false;
    uint32_t cluster[3] = {};
};

// The launch itself is `launch`, of this kernel or of one in its place; before and after it what
// the settings ask for is done. Settings are environment variables: LOCKWARP_BESIDE (validate or
// capture), LOCKWARP_BESIDE_OUT (a folder for launch files), LOCKWARP_BESIDE_KERNEL (a part of a
// name), LOCKWARP_BESIDE_LAUNCH (a number), LOCKWARP_BESIDE_LIMIT (bytes of memory of a launch),
// LOCKWARP_BESIDE_REPORT (a file: a line for each launch, "identical", "fused", "differs",
// "captured" or "not compared").
Result watched(Function* function, const Shape& shape, Stream* stream, void** parameters,
               void** extra, const std::function<Result(Function*)>& launch);
bool is_capturing(Stream* stream);

// The launches of a graph that has other nodes than those that can be launched alone are not seen:
// said once.
void graph_launched();

}  // namespace lockwarp::beside
