// SPDX-License-Identifier: Apache-2.0
// The elements of matrix fragments in the registers of a warp.
#pragma once

#include <vector>

#include "emu/exec/context.hpp"
#include "emu/isa/matrix.hpp"

namespace lockwarp::exec {

// The place of every element, by row and column (row * columns + column), instance by instance,
// from the layout's (thread, value) -> element. Of several owners of one element the first is
// taken: the lowest thread, and of its registers the first.
std::vector<Cell> cells(const isa::Fragment& f, isa::Threads threads, Type type);

// Reads n elements of `type` into the low ends of `out`.
void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type, uint64_t* out);

// Writes n elements of `type`.
void scatter(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type,
             const uint64_t* in);

}  // namespace lockwarp::exec
