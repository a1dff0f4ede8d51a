// SPDX-License-Identifier: Apache-2.0
// The PTX of gpu/kernels/special_check.cu, kept in the program (gpu/special_ptx.cpp.in).
#pragma once

#include <cstdint>
#include <string_view>

namespace lockwarp::gpu {

// The kernels of the forms with this least target; empty where there are none.
std::string_view special_ptx(uint16_t target);

}  // namespace lockwarp::gpu
