// SPDX-License-Identifier: Apache-2.0
// A second definition of the matrix products, written another way than emu/num/dot.cpp: sums as
// wide fixed-point integers, rounding as a search among the result format's bit patterns, special
// values and the scalar routines by the host's arithmetic. Slow.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/num/dot.hpp"

namespace lockwarp::num::testing {

// One output element; a and b are k values each.
uint64_t oracle_element(const DotRow& row, MatrixTypes types, int k, const uint64_t* a,
                        const uint64_t* b, uint64_t c);

// The same of a scaled product, with as many factors for the row of A as for the column of B.
uint64_t scaled_oracle_element(const DotRow& row, MatrixTypes types, isa::Type scale, int k,
                               const uint64_t* a, const uint64_t* b,
                               const std::vector<uint8_t>& a_factors,
                               const std::vector<uint8_t>& b_factors, uint64_t c);

}  // namespace lockwarp::num::testing
