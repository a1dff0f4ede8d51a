// SPDX-License-Identifier: Apache-2.0
// Which bytes of an instruction's result are undefined, where some of what it reads is.
#pragma once

#include <span>

#include "emu/check/definedness.hpp"

namespace lockwarp::check {

template <class F>
void each_lane(uint32_t lanes, F f) {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

// The registers that an instruction writes, and reads: into Program::registers.
inline std::span<const uint32_t> written(const warp::Retired& e, const isa::Operation& o) {
    return std::span(e.program->uses).subspan(o.first_use, o.written);
}

inline std::span<const uint32_t> read(const warp::Retired& e, const isa::Operation& o) {
    return std::span(e.program->uses).subspan(o.first_use + o.written, o.read);
}

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
