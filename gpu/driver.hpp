// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver, opened when asked for: libcuda.so.1 through dlopen, so that nothing of CUDA is
// needed to build and the same program runs where there is no GPU.
#pragma once

#include <memory>
#include <string>

#include "gpu/engine.hpp"

namespace lockwarp::gpu {

// GPU `index` of this machine; nullptr with the reason in `why`. `processes`: how many use it
// beside each other, for none of them takes memory for the stacks of all threads that the others
// need.
std::unique_ptr<Engine> open_device(unsigned index, std::string& why, unsigned processes = 1);

// The kernel module's version, "580.159.04", of the text of /proc/driver/nvidia/version: its first
// word of digits and points; empty where there is none.
std::string module_version(const std::string& text);

}  // namespace lockwarp::gpu
