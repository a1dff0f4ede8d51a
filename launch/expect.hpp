// SPDX-License-Identifier: Apache-2.0
// What a launch file expects of its buffers and variables after the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emu/isa/types.hpp"
#include "emu/ptx/tree.hpp"
#include "launch/init.hpp"

namespace lockwarp::launch {

// A value is right where one of those that are given holds; none given: its bits are equal.
struct Tolerance {
    std::optional<double> ulp;       // of the type, at the expected value
    std::optional<double> absolute;  // difference
    std::optional<double> relative;  // difference by the expected value's magnitude
    bool exact() const { return !ulp && !absolute && !relative; }
};

// D = A*B + C: row-major, of the sizes m x k, k x n and m x n; a transposed factor is stored k x m
// or n x k. A, B and C are as they were before the run.
struct Product {
    std::string d, a, b, c;  // c empty: none
    bool a_transposed = false, b_transposed = false;
    uint64_t m = 0, n = 0, k = 0;
    isa::Type type_a = isa::Type::none, type_b = isa::Type::none;
    isa::Type type_c = isa::Type::none, type_d = isa::Type::none;
};

struct Expectation {
    ptx::Place place;
    std::string name;     // of a buffer, else of a variable
    uint64_t offset = 0;  // of the first byte
    uint64_t bytes = 0;   // 0: all from there on
    isa::Type type = isa::Type::b8;
    Init init;  // the bytes that are expected
    std::optional<Product> product;
    Tolerance tolerance;
};

}  // namespace lockwarp::launch
