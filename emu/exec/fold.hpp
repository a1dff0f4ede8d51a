// SPDX-License-Identifier: Apache-2.0
// Functions of constants in a resolved program, as NVIDIA's assembler finds and computes them.
#pragma once

#include <vector>

#include "emu/exec/context.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::exec {

// The operations of emu/isa/folds.hpp with another value than their own whose operand, or divisor,
// is the same constant whenever they run: an immediate, or a register that every path to the
// operation has given that constant, by what the assembler computes too. Branches and guards by
// constant predicates are followed, calls are not. Loops are not unrolled, which NVIDIA's assembler
// does from level 2 on: what is constant in each round alone is executed.
std::vector<warp::Folded> find_folded(const isa::Program& program);

// Has the steps give those values.
void apply_folded(const std::vector<warp::Folded>& folded, Code& code);

}  // namespace lockwarp::exec
