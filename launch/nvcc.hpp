// SPDX-License-Identifier: Apache-2.0
// CUDA sources, where nvcc is installed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/files.hpp"
#include "launch/unfinished.hpp"

namespace lockwarp::launch {

// What nvcc made: a file in a temporary folder, removed with the last of these unless it is kept.
struct Compiled {
    std::string ptx;   // the text
    std::string path;  // "/tmp/lockwarp.XXXXXX/kernel.ptx" of kernel.cu
    std::shared_ptr<Temporary> folder;
};

// The PTX of a .cu file for an architecture ("sm_80"; empty: nvcc's default), with line information
// (-lineinfo; not where the options have -G). options: nvcc's, further ones. nvcc is taken from
// $NVCC, $PATH, or /usr/local/cuda/bin.
[[nodiscard]] Result<Compiled> compile_cuda(const std::string& path, const std::string& arch,
                                            const std::vector<std::string>& options = {});

}  // namespace lockwarp::launch
