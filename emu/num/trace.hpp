// SPDX-License-Identifier: Apache-2.0
// What one output element of a matrix product went through: for explanations. The results are those
// of matrix_product, which the same code computes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emu/num/dot.hpp"

namespace lockwarp::num {

// A term of a fused sum (rules 2 to 4 in dot.cpp): significand * 2^(exponent - fraction_bits), of
// which `units` * 2^(largest - fraction) are left.
struct TracedTerm {
    int k;  // of the product; -1: C, or what the block before gave
    int64_t significand;
    int32_t exponent;
    int fraction_bits;
    int64_t units;
};

// A fused sum. `special`: the inputs alone decide (rule 1), there are no terms.
struct TracedBlock {
    int first = 0, count = 0;  // products, in the order of the row's elements
    bool special = false;
    int32_t largest = 0;
    int fraction = 0;
    std::vector<TracedTerm> terms;
    int64_t sum = 0;  // of the units
    uint64_t result = 0;
};

// One rounded operation of a method that has them, in order.
struct TracedStep {
    std::string_view what;  // "a*b + z", "a*b", "add", "to f16", "add C"
    int k;                  // of the product; -1: none
    isa::Type type;         // of the result
    uint64_t result;
};

struct Trace {
    std::vector<TracedBlock> blocks;
    std::vector<TracedStep> steps;
};

// One element: k values of A's row and of B's column. Not for the scaled methods.
uint64_t traced_element(const DotRow& row, MatrixTypes types, std::span<const uint64_t> a,
                        std::span<const uint64_t> b, uint64_t c, Trace& trace);

}  // namespace lockwarp::num
