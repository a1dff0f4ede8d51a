// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. Each target defines LLVMFuzzerTestOneInput, which libFuzzer calls
// with inputs of its own making, or main.cpp with files; what must never be wrong aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "emu/isa/arch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lockwarp {

inline std::string_view text_of(const uint8_t* data, size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// The input chooses the machine by its last byte, so that a PTX file is an input as it is.
inline isa::Arch arch_of_input(std::string_view text) {
    const auto last = text.empty() ? 0u : static_cast<unsigned char>(text.back());
    return isa::arch_rows[last % isa::arch_rows.size()].arch;
}

inline void must(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

}  // namespace lockwarp
