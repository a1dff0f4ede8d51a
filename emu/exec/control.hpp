// SPDX-License-Identifier: Apache-2.0
// Instructions that change which lanes run together, and where: the scheduler's own.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Runs a step of StepKind::control in the lanes `mask` of a path of Context::warp. true: the path
// goes on where it is; false: look again which paths there are.
bool control(Context& c, size_t path, const Step& s, uint32_t mask);

// A .sync instruction runs once for all lanes of its membermask, from whatever paths they come.
// false: the path waits for others. Else Context::lanes are those that it ran for.
bool collective(Context& c, size_t path, const Step& s, uint32_t mask);

// calls.cpp
bool call(Context& c, size_t path, const Operation& o, uint32_t mask);
void return_lanes(Context& c, size_t path, uint32_t lanes);

}  // namespace lockwarp::exec
