// Where the paths of a branch meet again: the immediate post-dominator.
#pragma once

#include <vector>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// Fills Operation::reconverge of every branch. Operations must end with an unguarded exit.
void find_reconvergence(std::vector<Operation>& operations);

}  // namespace lockwarp::isa
