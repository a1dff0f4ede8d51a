// SPDX-License-Identifier: Apache-2.0
// Questions about a tensor map: what its 128 bytes say, what is wrong with it, and which element of
// global memory a copy puts at which byte of shared memory.
#pragma once

#include <optional>

#include "emu/isa/tensor_copy.hpp"
#include "lanes/answer.hpp"

namespace lockwarp::lanes {

struct TensorMapQuestion {
    isa::TensorCopy copy;                         // its map, coordinates and offsets
    uint32_t shared = 0;                          // address of the box, a multiple of 128
    std::optional<uint64_t> byte;                 // what lies there, counted from the box's start
    std::optional<std::vector<int64_t>> element;  // where this element lies, dimension 0 first
};

Answer ask_tensor_map(const TensorMapQuestion& question);

}  // namespace lockwarp::lanes
