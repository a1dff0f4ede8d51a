// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's runtime, as one table: what stands in their place in a program, and what
// the documents list.
#pragma once

#include <span>
#include <string_view>

#include "cuda/runtime/toolkit.hpp"

namespace lockwarp::cuda {

using RuntimeEntry = void (*)();  // to be called by the function's own type

struct RuntimeRow {
    std::string_view symbol;
    Toolkits toolkits;
    bool done;  // else it says its name once and is not supported
    RuntimeEntry entry;
};

std::span<const RuntimeRow> runtime_rows();

}  // namespace lockwarp::cuda

// The function of that name, which may end with _ptds or _ptsz, of a program of toolkit 12 or 13;
// nullptr. It is what liblockwarp_start.so and libcudart.so ask for.
extern "C" void* lockwarp_runtime_function(const char* symbol, int toolkit);
