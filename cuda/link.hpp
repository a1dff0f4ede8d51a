// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cuda/jit_options.hpp"

namespace lockwarp::cuda {

// What cuLinkCreate begins: one text of PTX.
struct Link {
    JitOptions options;
    std::string text;
    bool completed = false;
};

}  // namespace lockwarp::cuda
