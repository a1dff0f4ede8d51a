// SPDX-License-Identifier: Apache-2.0
// Elements of arrays as operands: "ld.global.u64 %rd1, table[%r1+2];". PTX manual, "Arrays as
// Operands". What the manual does not say is as ptxas 13.0 has it: the index counts elements of the
// declared type, of vectors their components and of several dimensions the last; of a register its
// low 32 bits count, and the sum with the constant is one of 32 bits without a sign.
#pragma once

#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

// Puts addresses in their place: names with an offset where the index is constant, else a block
// that computes the address in a register of its own before the instruction. An element is an
// operand of ld, ldu, st, mov and cvta; of others, the first of an array.
void lower_elements(Module& module, std::vector<Diagnostic>& diagnostics);

}  // namespace lockwarp::ptx
