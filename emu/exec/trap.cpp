// SPDX-License-Identifier: Apache-2.0
// A program's own fault, where it happens.
#include "emu/exec/context.hpp"

namespace lockwarp::exec {

using warp::TrapKind;

void set_trap(Context& c, const Operation& o, TrapKind kind, std::string detail) {
    if (c.trap) return;
    warp::Trap t;
    t.kind = kind;
    t.detail = std::move(detail);
    t.operation = static_cast<uint32_t>(&o - c.program->operations.data());
    t.place = o.place;
    t.cta = c.cta->id;
    t.cta_index = c.cta->index;
    t.warp = c.warp->index;
    t.step = c.warp->step;
    c.trap = std::move(t);
}

void set_trap(Context& c, const Operation& o, TrapKind kind, std::string detail, unsigned lane,
              uint64_t address, ptx::Space space) {
    if (c.trap) return;
    set_trap(c, o, kind, std::move(detail));
    c.trap->has_lane = true;
    c.trap->lane = lane;
    c.trap->has_address = true;
    c.trap->address = address;
    c.trap->space = space;
}

}  // namespace lockwarp::exec
