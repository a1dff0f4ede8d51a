// SPDX-License-Identifier: Apache-2.0
// CUDA's limits of a launch (CUDA C++ programming guide, "Technical Specifications").
#pragma once

#include "emu/warp/launch.hpp"

namespace lockwarp::exec {

inline constexpr uint32_t max_threads = 1024;
inline constexpr uint32_t max_block_z = 64;
inline constexpr uint32_t max_grid_yz = 65535;
inline constexpr uint32_t max_grid_x = 0x7fffffff;

constexpr bool is_block(const warp::Dim3& b) {
    return b.x != 0 && b.y != 0 && b.z != 0 && b.x <= max_threads && b.y <= max_threads &&
           b.z <= max_block_z && b.count() <= max_threads;
}

constexpr bool is_grid(const warp::Dim3& g) {
    return g.x != 0 && g.y != 0 && g.z != 0 && g.x <= max_grid_x && g.y <= max_grid_yz &&
           g.z <= max_grid_yz;
}

}  // namespace lockwarp::exec
