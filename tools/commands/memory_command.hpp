// SPDX-License-Identifier: Apache-2.0
// The questions about shared memory: banks, ldmatrix, stmatrix, movmatrix, swizzle, descriptor.
#pragma once

#include <string>
#include <vector>

#include "tools/commands/lanes_command.hpp"

namespace lockwarp::tools {

struct MemoryCommand {
    AnswerOptions answer;
    std::string access;  // banks; of ldmatrix and stmatrix "x4"
    bool trans = false;
    std::string elements;  // what .trans is wanted for: b8, b16, b32
    std::string address, swizzle, unit;
    int64_t stride = -1;
    std::vector<std::string> indices;
    std::string bits;  // descriptor decode
    int64_t start = 0, leading = 0, stride_offset = 0, base_offset = 0, swizzle_bytes = 0;
};

}  // namespace lockwarp::tools
