// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver, opened when asked for: libcuda.so.1 through dlopen, so that nothing of CUDA is
// needed to build and the same program runs where there is no GPU.
#pragma once

#include <memory>

#include "gpu/engine.hpp"

namespace lockwarp::gpu {

// GPU `index` of this machine; nullptr with the reason in `why`.
std::unique_ptr<Engine> open_device(unsigned index, std::string& why);

}  // namespace lockwarp::gpu
