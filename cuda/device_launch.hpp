// SPDX-License-Identifier: Apache-2.0
// What kernels launch themselves (CUDA C++ programming guide, "CUDA Dynamic Parallelism"), and what
// the device's runtime tells them.
#pragma once

#include <memory>
#include <vector>

#include "cuda/state.hpp"
#include "emu/warp/device_answers.hpp"

namespace lockwarp::cuda {

// For kernels of a module, while these run.
std::unique_ptr<warp::DeviceAnswers> device_answers(const std::shared_ptr<Module>& module,
                                                    const std::shared_ptr<Context>& context);

struct DeviceGrid {
    const Function* function = nullptr;
    LaunchShape shape;
    std::vector<uint8_t> parameters;
};
// What a kernel of the module launched; copies and fills are kernels too, as they are on a GPU.
DeviceGrid device_grid(const std::shared_ptr<Module>& module,
                       const std::shared_ptr<Context>& context, warp::DeviceLaunch launch);

}  // namespace lockwarp::cuda
