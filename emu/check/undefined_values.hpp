// SPDX-License-Identifier: Apache-2.0
// Which bytes of an instruction's result are undefined, where some of what it reads is.
#pragma once

#include "emu/check/definedness.hpp"

namespace lockwarp::check {

// What instructions on registers make of undefined bytes, byte by byte where that is cheap: moves,
// packing, selections, bits, shifts by whole bytes, halves of packed numbers, shuffles, and rows
// and columns of matrix products; sums of integers in which the undefined parts cancel are defined.
// Of others each result is undefined in the lanes in which an operand is.
void pass_on(const warp::Retired& e, const Registers& registers, WarpRegisters& w,
             Origins& origins);

// Whether integers of so many bytes are followed through sums.
constexpr bool follows_sums(uint32_t bytes) { return bytes == 4 || bytes == 8; }

// Whether an instruction passes its operands' bytes on as they are, and does not work with them.
bool only_moves(isa::Op op);

// What fragments of ldmatrix get: undefined bytes of the rows, by lane.
using RowBytes = std::array<uint32_t, 32>;
LanesByByte lanes_of_matrix(const RowBytes& rows, unsigned matrix, bool transposed);
// And what rows get of the register of a fragment.
void add_rows(const LanesByByte& fragment, unsigned matrix, bool transposed, RowBytes& rows);

}  // namespace lockwarp::check
