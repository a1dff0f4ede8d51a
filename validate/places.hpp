// SPDX-License-Identifier: Apache-2.0
// Values that depend on where memory lies: addresses of local, shared and constant memory as
// generic ones, of a module's variables, of functions and of the stack, and what is computed from
// them. An engine has its own; what is loaded and stored through them is compared, they are not.
#pragma once

#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::validate {

// By operation: whether what it writes may depend on that. Registers are followed by name, memory
// by state space, whatever the order of the instructions, so that some that do not depend on it
// may be named too.
std::vector<bool> depends_on_place(const isa::Program& program, const ptx::Module& module);

}  // namespace lockwarp::validate
