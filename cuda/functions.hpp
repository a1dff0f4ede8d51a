// SPDX-License-Identifier: Apache-2.0
// The functions of the public driver API, as one table: what is exported, what cuGetProcAddress
// gives, and what the documents list.
#pragma once

#include <span>
#include <string_view>

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

using EntryPoint = Result (*)();  // to be called by the function's own type

// Whether a program in which each thread has a default stream of its own calls another symbol: the
// same with this ending.
enum class PerThread : unsigned char { none, ptds, ptsz };

struct FunctionRow {
    std::string_view symbol;  // as it is exported: "cuMemAlloc_v2"
    std::string_view name;    // as cuGetProcAddress is asked for it: "cuMemAlloc"
    int since;                // CUDA version of this form * 1000: 3020
    PerThread per_thread;
    bool done;  // else it says its name once and is not supported
    EntryPoint entry;
};

std::span<const FunctionRow> function_rows();
// The newest form up to that version; nullptr. `known`: whether there is one of a later version.
const FunctionRow* find_function(std::string_view name, int version, bool& known);

}  // namespace lockwarp::cuda
