// SPDX-License-Identifier: Apache-2.0
// The elements of matrix fragments in the registers of a warp.
#pragma once

#include <vector>

#include "emu/exec/context.hpp"
#include "emu/isa/elements.hpp"

namespace lockwarp::exec {

// The place of every element, as isa::first_owners has them: (matrix * rows + row) * columns +
// column.
std::vector<Cell> cells(const isa::Elements& elements);

// Reads n elements of `type` into the low ends of `out`.
void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type, uint64_t* out);

// Writes n elements of `type`.
void scatter(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type,
             const uint64_t* in);

}  // namespace lockwarp::exec
