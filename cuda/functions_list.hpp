// SPDX-License-Identifier: Apache-2.0
// The tables of functions without their code: for tests and documents.
#pragma once

#include <array>
#include <string_view>

#include "cuda/runtime/toolkit.hpp"

namespace lockwarp::cuda {

struct ListedFunction {
    std::string_view symbol, name;
    int since;
    std::string_view per_thread;  // "ptds", "ptsz"; empty: none
    bool done;
};

constexpr std::string_view or_empty(std::string_view per_thread) {
    return per_thread == "none" ? "" : per_thread;
}

inline constexpr std::array listed_functions{
#define DONE(symbol, name, since, per_thread) \
    ListedFunction{#symbol, #name, since, or_empty(#per_thread), true},
#define LACKING(symbol, name, since, per_thread) \
    ListedFunction{#symbol, #name, since, or_empty(#per_thread), false},
#include "cuda/functions.inc"
#undef DONE
#undef LACKING
};

struct ListedRuntimeFunction {
    std::string_view symbol;
    Toolkits toolkits;
    std::string_view per_thread;  // "ptds", "ptsz"; empty: none
    bool done;
};

inline constexpr std::array listed_runtime_functions{
#define DONE(symbol, toolkits, per_thread, implementation) \
    ListedRuntimeFunction{#symbol, Toolkits::toolkits, or_empty(#per_thread), true},
#define LACKING(symbol, toolkits, per_thread) \
    ListedRuntimeFunction{#symbol, Toolkits::toolkits, or_empty(#per_thread), false},
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING
};

}  // namespace lockwarp::cuda
