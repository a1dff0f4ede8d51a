// SPDX-License-Identifier: Apache-2.0
// Accesses to memory whose results depend on an order that an oracle knows (warp::Oracle::turn).
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Makes the steps of operations that the launch's oracle orders wait for their turns. false: it
// orders none.
bool make_ordered(Code& code, const warp::Launch& launch);

// Lanes of `before.executed` whose turn it is do the access of a step of a path, or take the block
// that its call of malloc gives, one after another. Returns those that are done with it.
uint32_t take_turns(Context& c, size_t path, const Step& s, const warp::Retired& before);

}  // namespace lockwarp::exec
