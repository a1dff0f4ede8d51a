// SPDX-License-Identifier: Apache-2.0
// Closed formulas of a fragment, in both directions, worked out from its layout: the row and column
// that lane and index hold, and the lane and index that hold a row and column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanes/instruction.hpp"

namespace lockwarp::lanes {

// What a term takes its digit from: 'l' the lane (of a warpgroup: the thread), 'i' the index of the
// value, 'r' the row, 'c' the column, 'p' the part; '*' any digit: each gives an owner.
struct Term {
    char source;
    uint32_t divisor;  // term = source / divisor % modulus * scale
    uint32_t modulus;  // 0: none, the digit is the highest
    uint32_t scale;
};

struct Formula {
    char result;  // 'r', 'c', 'p' forwards; 'l', 'i' backwards
    std::vector<Term> terms;
};

struct Formulas {
    std::vector<Formula> forward;   // row, column and, of several parts, part
    std::vector<Formula> backward;  // lane, index
};

// Of scale factors, which have no layout: empty. Of metadata for selector 0.
Formulas formulas(const Operand& o);

struct Sources {
    uint32_t lane = 0, index = 0, row = 0, column = 0, part = 0;
    uint32_t any = 0;  // which of several owners: its digits in the order of the '*' terms
};
uint32_t evaluate(const Formula& f, const Sources& s);

// "row = lane/4 + 8*(i/2%2)", with the names that the operand's coordinates have: m, n or k.
std::string text_of(const Formula& f, const Operand& o);

// Of an operand's row and column: "row" and "col".
std::string_view name_of(char source);

}  // namespace lockwarp::lanes
