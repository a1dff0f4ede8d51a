// SPDX-License-Identifier: Apache-2.0
// Whether a program holds CUDA's own runtime.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace lockwarp::tools {

// What of CUDA's runtime an executable has: "libcudart.so.12", which it needs, or ".nv_fatbin", the
// section of kernels that the runtime launches. Empty: nothing, or no executable for 64-bit Linux.
std::string cuda_runtime_in(std::span<const char> elf);
std::string cuda_runtime_in_file(const std::filesystem::path& program);

}  // namespace lockwarp::tools
