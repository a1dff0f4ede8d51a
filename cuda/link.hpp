// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cuda/jit_options.hpp"

namespace lockwarp::cuda {

// What cuLinkCreate begins.
struct Link {
    JitOptions options;
    std::vector<std::string> texts;
    std::string text;  // of all of them, once it is completed
    bool completed = false;
};

// A module of no context, whose kernels are compiled when they are needed: of one image, or of
// several that are linked. A Failure, and in `wrong` what it was.
std::shared_ptr<Module> load_linked(const std::vector<const void*>& images, std::string& wrong);

}  // namespace lockwarp::cuda
