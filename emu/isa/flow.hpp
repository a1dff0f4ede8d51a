// SPDX-License-Identifier: Apache-2.0
// Where the paths of a branch meet again: the immediate post-dominator.
#pragma once

#include <span>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// Of each of the program's calls, 1: nobody comes back from it. __assertfail does not return, nor a
// function all of whose ways end in a trap, an exit or such a call.
std::vector<uint8_t> find_lost_calls(const Program& program);

// Fills Operation::reconverge of every branch of one function. `operations` are the function's,
// the first of them the program's operation `first`; they must end with an unguarded exit or
// return, and branch only among themselves. `branch_targets` is the program's, `lost_calls` what
// find_lost_calls gives for it. Lanes that end on the way, or fail, are not waited for.
void find_reconvergence(std::span<Operation> operations, uint32_t first = 0,
                        std::span<const uint32_t> branch_targets = {},
                        std::span<const uint8_t> lost_calls = {});

}  // namespace lockwarp::isa
