// SPDX-License-Identifier: Apache-2.0
// Where the paths of a branch meet again: the immediate post-dominator.
#pragma once

#include <span>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// Fills Operation::reconverge of every branch of one function. `operations` are the function's,
// the first of them the program's operation `first`; they must end with an unguarded exit or
// return, and branch only among themselves. `branch_targets` is the program's.
void find_reconvergence(std::span<Operation> operations, uint32_t first = 0,
                        std::span<const uint32_t> branch_targets = {});

}  // namespace lockwarp::isa
