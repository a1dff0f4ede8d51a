// SPDX-License-Identifier: Apache-2.0
// CUDA sources, where nvcc is installed.
#pragma once

#include <string>

#include "launch/files.hpp"

namespace lockwarp::launch {

// The PTX that nvcc makes of a .cu file for an architecture ("sm_80"; empty: nvcc's default). nvcc
// is taken from $NVCC, $PATH, or /usr/local/cuda/bin.
[[nodiscard]] Result<std::string> compile_cuda(const std::string& path, const std::string& arch);

}  // namespace lockwarp::launch
