// SPDX-License-Identifier: Apache-2.0
// The arithmetic of tensor cores once more, in a few lines of double: slow, and apart from the
// project's own. Good for finite operands whose exponents are near each other, so that the sums
// below are exact in double.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/isa/arch.hpp"

namespace lockwarp::exec {

// How a tensor core adds: `block` products at once, each term truncated to `kept` bits below the
// largest exponent.
struct Block {
    size_t block;
    int kept;
};

// m16n8k16 and m16n8k8 of f16.
Block f16_block(isa::Arch arch);

// f32: c + a[0] * b[0] + ..., block by block, each block's sum truncated to 24 bits.
float dot_f32(Block how, const std::vector<double>& a, const std::vector<double>& b, double c);

// The same with the sum of every block rounded to f16.
double dot_f16(Block how, const std::vector<double>& a, const std::vector<double>& b, double c);

}  // namespace lockwarp::exec
