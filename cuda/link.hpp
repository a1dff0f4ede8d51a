// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cuda/image.hpp"
#include "cuda/jit_options.hpp"

namespace lockwarp::cuda {

// What cuLinkCreate begins.
struct Link {
    JitOptions options;
    std::vector<std::string> texts;
    std::string text;  // of all of them, once it is completed
    bool completed = false;
};

// One image, or several that are linked.
Image linked_image(const std::vector<const void*>& images);

}  // namespace lockwarp::cuda
