// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/control.hpp"

#include <algorithm>

#include "emu/exec/barriers.hpp"
#include "emu/exec/call_stack.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/reconvergence.hpp"

namespace lockwarp::exec {

using isa::Flow;
using warp::no_index;
using warp::Path;
using warp::PathState;
using warp::TrapKind;
using warp::Warp;

namespace {

void trap_of_lane(Context& c, const Operation& o, TrapKind kind, std::string detail,
                  unsigned lane) {
    set_trap(c, o, kind, std::move(detail), lane, 0, ptx::Space::none);
    c.trap->has_address = false;
}

// bra, whose lanes `mask` go to its target.
bool branch(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    Path& p = w.paths[path];
    if (mask == p.lanes) {
        p.pc = o.target;
        return true;
    }
    if (mask == 0) {
        ++p.pc;
        return true;
    }
    // All meet again at the branch's immediate post-dominator.
    part(w, path, o.reconverge, std::array{Way{p.pc + 1, p.lanes & ~mask}, Way{o.target, mask}});
    return false;
}

// brx.idx: each lane goes to the target that its index names.
bool branch_by_index(Context& c, size_t path, const Operation& o, uint32_t mask) {
    Path& p = c.warp->paths[path];
    const isa::Program& program = *c.program;
    const auto* index = slot<uint32_t>(c, o.r[0]);
    std::vector<Way> ways;
    if (mask != p.lanes) ways.push_back({p.pc + 1, p.lanes & ~mask});
    for (uint32_t rest = mask; rest != 0;) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        if (index[lane] >= o.immediate) {
            trap_of_lane(c, o, TrapKind::bad_mask,
                         "index " + std::to_string(index[lane]) + " of a table of " +
                             std::to_string(o.immediate) + " branch targets",
                         lane);
            return true;
        }
        uint32_t same = 0;
        for (uint32_t l = rest; l != 0; l &= l - 1)
            if (const auto other = static_cast<unsigned>(__builtin_ctz(l));
                index[other] == index[lane])
                same |= 1u << other;
        ways.push_back({program.branch_targets[o.target + index[lane]], same});
        rest &= ~same;
    }
    if (ways.size() == 1) {
        p.pc = ways[0].pc;
        return true;
    }
    part(*c.warp, path, o.reconverge, ways);
    return false;
}

void exit_lanes(Context& c, size_t path, uint32_t lanes) {
    Warp& w = *c.warp;
    w.live &= ~lanes;
    remove_lanes(w, path, lanes);
    for (uint32_t i = 0; i < w.meetings.size(); ++i) settle(c, w, i);
    for (uint32_t i = 0; i < w.calls.frames.size(); ++i) drop(w.calls, i, lanes);
    // Who waited for the exited lanes waits no longer.
    for (Path& p : w.paths)
        if (p.state == PathState::at_collective || p.state == PathState::at_aligned)
            p.state = PathState::ready;
    release_barriers(c);
    leave_cluster(c, w, lanes);
}

// Cooperative groups' barriers of the grid trap where there is none.
bool misses_workspace(const Context& c) {
    return !c.launch->cooperative &&
           std::ranges::find(c.program->specials, isa::Special::workspace_low,
                             &isa::SpecialUse::special) != c.program->specials.end();
}

bool is_warp_barrier(const Operation& o) { return isa::row(o.op).sync == isa::Sync::warp; }

void stop(Context& c, const Operation& o, TrapKind kind, uint32_t mask) {
    trap_of_lane(c, o, kind,
                 misses_workspace(c) ? "the kernel asks for the workspace of a cooperative launch "
                                       "(%envreg1, %envreg2), which this is not"
                                     : "",
                 static_cast<unsigned>(__builtin_ctz(mask)));
}

}  // namespace

bool control(Context& c, size_t path, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    Warp& w = *c.warp;
    Path& p = w.paths[path];
    if (s.flow == Flow::branch) return branch(w, path, o, mask);
    if (mask == 0) {
        ++p.pc;
        return true;
    }
    switch (s.flow) {
        case Flow::index:
            return branch_by_index(c, path, o, mask);
        case Flow::call:
            return call(c, path, o, mask);
        case Flow::ret:
            if (p.frame == no_index) break;
            ++p.pc;
            return_lanes(c, path, mask);
            return false;
        case Flow::exit:
            break;
        case Flow::wait:
            if (o.op == isa::Op::bar) return barrier(c, path, o, mask);
            cluster_arrive(c, o, mask);
            ++p.pc;
            return true;
        case Flow::trap:
            stop(c, o, TrapKind::trap, mask);
            return true;
        case Flow::brkpt:
            stop(c, o, TrapKind::breakpoint, mask);
            return true;
        case Flow::next:    // not StepKind::control
        case Flow::branch:  // above
            return true;
    }
    ++p.pc;
    exit_lanes(c, path, mask);
    return false;
}

// For bar.warp.sync each path may be at one of its own, else all are at the same.
bool collective(Context& c, size_t path, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    Warp& w = *c.warp;
    const auto membermask = [&](const Operation& of, uint32_t lanes) {
        const auto* members = slot<uint32_t>(c, of.r[of.operands - 1]);
        uint32_t named = 0;
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            named |= members[lane];
            if ((members[lane] >> lane & 1) == 0)
                set_trap(c, o, TrapKind::bad_mask, "the membermask does not name its own lane",
                         lane, members[lane], ptx::Space::none);
        }
        return named;
    };
    const uint32_t asked = membermask(o, mask);
    if (c.trap) return true;
    const auto with_us = [&](const Path& p) {
        if (p.state != PathState::at_collective) return false;
        const Operation& other = c.program->operations[p.pc];
        return (&other == &o || (is_warp_barrier(o) && is_warp_barrier(other))) &&
               membermask(other, p.members) == asked;
    };
    uint32_t here = mask;
    for (const Path& p : w.paths)
        if (with_us(p)) here |= p.members;
    if ((asked & w.live & ~here) != 0) {
        w.paths[path].state = PathState::at_collective;
        w.paths[path].members = mask;
        return false;
    }
    // Before it runs: its result may be where its membermask was.
    for (Path& p : w.paths)
        if (with_us(p)) {
            p.state = PathState::ready;
            ++p.pc;
        }
    c.lanes = here;
    s.run(c, s, here);
    ++w.paths[path].pc;
    join(w, path);
    return true;
}

}  // namespace lockwarp::exec
