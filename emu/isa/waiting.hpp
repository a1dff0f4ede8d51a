// SPDX-License-Identifier: Apache-2.0
// Whether a program may wait for what others than its grid do: the host, another launch.
#pragma once

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// It reads memory that others than the grid may change: global, also by a generic address.
constexpr bool looks_outside(const Operation& o) {
    const OpRow& r = row(o.op);
    return (r.memory == Memory::load || r.memory == Memory::update) && !r.shared_only &&
           o.written != 0 && (o.mod.space == ptx::Space::none || o.mod.space == ptx::Space::global);
}

// A loop that stores nothing looks so, by an atomic operation or a strong load; by any load, where
// the program has a fence, behind which a weak load finds what others stored. What waits otherwise
// need not see what it waits for (PTX manual, "Memory Consistency Model").
bool may_wait_outside(const Program& program);

}  // namespace lockwarp::isa
