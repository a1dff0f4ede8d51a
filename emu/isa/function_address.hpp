// SPDX-License-Identifier: Apache-2.0
// Addresses of functions, as the emulator has them.
#pragma once

#include <optional>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// The number of the function at that address in its module (Function::number); nullopt: it is no
// address of a function.
inline std::optional<uint32_t> function_number(uint64_t address) {
    const uint64_t offset = address - code_window;
    if (offset % code_stride != 0 || offset / code_stride > UINT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(offset / code_stride);
}

// The program's function of that number, by Program::functions; 0: it has none.
inline uint32_t function_index(const Program& program, uint32_t number) {
    return number < program.function_numbered.size() ? program.function_numbered[number] : 0;
}

}  // namespace lockwarp::isa
