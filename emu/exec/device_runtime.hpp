// SPDX-License-Identifier: Apache-2.0
// Launches by kernels: the functions of CUDA's device runtime (CUDA C++ programming guide, "CUDA
// Dynamic Parallelism"; their parameters are those of CUDA's header cuda_device_runtime_api.h).
// What they return where something is wrong is as an H200 answered (driver 580.159.04, 2026-11-29).
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Runs the call, of isa::is_device_runtime(), for the lanes of `mask`. Kernels, copies and fills
// are noted, not run (warp::Result::launches).
void run_device_runtime(Context& c, const Operation& o, const isa::Call& call, uint32_t mask,
                        const std::array<uint32_t, 32>& bases);

}  // namespace lockwarp::exec
