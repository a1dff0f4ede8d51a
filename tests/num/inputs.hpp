// SPDX-License-Identifier: Apache-2.0
// Operands for tests and benchmarks: eight classes of inputs to a matrix product, and operands of
// scalar operations that sit where arithmetic changes its course.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "emu/num/dot.hpp"

namespace lockwarp::num::testing {

using Random = std::mt19937_64;

enum class InputClass : uint8_t {
    narrow,      // exponents within a few steps of 1
    medium,      // exponents over a third of the range
    full,        // any finite bit pattern
    cancelling,  // products in pairs of opposite sign, C small
    subnormal,   // subnormals and their neighbours
    special,     // infinities, NaNs and zeros among the rest
    overflow,    // near the largest numbers
    zeros,       // zeros of both signs, few others
    count_
};
inline constexpr int input_classes = static_cast<int>(InputClass::count_);
std::string_view name(InputClass c);

// Operands of m*n dot products, laid out as matrix_product takes them.
struct Operands {
    std::vector<uint64_t> a, b, c;
};
Operands make_operands(InputClass input, MatrixShape shape, MatrixTypes types, Random& random);

// Factors of scale: ordinary ones near 1, or of the class's sort; NaN in the class special only.
std::vector<uint8_t> make_factors(InputClass input, isa::Type scale, int count, Random& random);

// Zeros, ones, subnormals, the ends of the range, infinities, NaNs: both signs.
std::vector<uint64_t> landmarks(isa::Type t);
// A random operand: any bits, near 1, small, few fraction bits, or next to a landmark.
uint64_t random_operand(isa::Type t, Random& random);

}  // namespace lockwarp::num::testing
