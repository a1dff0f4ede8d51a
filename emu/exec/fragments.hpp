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

// A product by words. Not good where an operand's words have no place in one tile, or where `row`
// has no such products.
TiledProduct tiled_product(const num::DotRow& row, num::MatrixTypes types, const isa::Elements& a,
                           const isa::Elements& b, const isa::Elements& c, const isa::Elements& d);

// D = A*B + C with the operands in o.vector, by num::fused_tile. false: it is not for these
// numbers, and D is as it was.
bool multiply_tile(Context& c, const Operation& o, const TiledProduct& t, const num::DotRow& row,
                   num::MatrixTypes types);

}  // namespace lockwarp::exec
