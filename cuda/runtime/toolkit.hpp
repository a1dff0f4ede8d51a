// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockwarp::cuda {

// Which of CUDA's toolkits has a function in that form.
enum class Toolkits : unsigned char { of_12 = 1, of_13 = 2, both = 3 };

constexpr bool has(Toolkits t, int toolkit) {
    return (static_cast<int>(t) & (toolkit == 12 ? 1 : 2)) != 0;
}

}  // namespace lockwarp::cuda
