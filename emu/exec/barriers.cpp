// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/barriers.hpp"

#include <algorithm>
#include <ranges>

#include "emu/exec/cluster.hpp"
#include "emu/exec/listeners.hpp"

namespace lockwarp::exec {

using warp::Path;
using warp::PathState;
using warp::TrapKind;
using warp::Warp;

namespace {

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

// What a bar instruction asks for.
struct Asked {
    uint32_t id = 0;
    uint32_t threads = 0;  // that it counts; 0: all that live
};

bool has_value(const Operation& o) { return o.op == isa::Op::bar_red; }

// It retires once the barrier has opened, and not when it arrives.
bool retires_late(const Operation& o) { return isa::row(o.op).step == StepKind::reduction; }

// bar.red has its result before the barrier's number and its predicate behind. Sets a trap where
// the operands are bad.
Asked asked_of(Context& c, const Operation& o, uint32_t mask) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
    const unsigned first = has_value(o) ? 1 : 0;
    Asked a;
    // barrier.cluster.wait in a launch without clusters is barrier 0, as in ptxas' code.
    if (o.operands == 0) return a;
    a.id = slot<uint32_t>(c, o.r[first])[lane];
    const bool counted = o.operands > 2 * first + 1;
    if (counted) a.threads = slot<uint32_t>(c, o.r[first + 1])[lane];
    if (a.id >= c.cta->barriers.size())
        set_trap(c, o, TrapKind::bad_mask, "barrier " + std::to_string(a.id) + ": there are 16");
    else if (counted && (a.threads == 0 || a.threads % 32 != 0))
        set_trap(
            c, o, TrapKind::bad_mask,
            "a barrier's thread count must be a multiple of 32, not " + std::to_string(a.threads));
    return a;
}

// Lets a path go on behind its barrier; from a barrier with a value it goes with that.
void open(const Context& c, Path& p, const warp::Barrier& b) {
    p.state = PathState::ready;
    const Operation& o = c.program->operations[p.pc - 1];
    if (!retires_late(o)) return;
    --p.pc;
    p.opened = true;
    if (!has_value(o)) return;
    p.value = o.mod.combine == isa::Combine::and_ ? b.yes == b.given : b.yes;
}

bool waits_at(const Path& p, uint32_t barrier) {
    return p.state == PathState::at_barrier && p.barrier == barrier;
}

bool is_complete(const warp::Cta& cta, uint32_t id) {
    const warp::Barrier& b = cta.barriers[id];
    if (b.arrived == 0) return false;
    if (b.expected != 0) return b.arrived >= b.expected;
    // The last warp is most often the last to arrive.
    return std::ranges::all_of(cta.warps | std::views::reverse, [&](const Warp& w) {
        uint32_t waiting = 0;
        for (const Path& p : w.paths)
            if (waits_at(p, id)) waiting |= p.lanes;
        return waiting == w.live;
    });
}

}  // namespace

bool barrier(Context& c, size_t path, const Operation& o, uint32_t mask) {
    Warp& w = *c.warp;
    const Asked asked = asked_of(c, o, mask);
    if (c.trap) return true;
    if (o.aligned_barrier && mask != w.live) {
        set_trap(c, o, TrapKind::diverged,
                 std::to_string(count(mask)) + " of the warp's " + std::to_string(count(w.live)) +
                     " threads are here");
        return true;
    }
    ++c.stores;
    // Only the lanes whose guard is true arrive; the others go on as a path of their own.
    if (mask != w.paths[path].lanes) {
        Path other = w.paths[path];
        other.lanes &= ~mask;
        ++other.pc;
        w.paths[path].lanes = mask;
        w.paths.push_back(other);
    }
    Path& waiting = w.paths[path];
    ++waiting.pc;
    warp::Barrier& b = c.cta->barriers[asked.id];
    // Barriers count whole warps (PTX manual, barrier): exited and missing lanes of it too.
    b.arrived += o.aligned_barrier ? 32 : count(mask);
    if (asked.threads != 0) b.expected = asked.threads;
    if (has_value(o)) {
        b.given += count(mask);
        b.yes += count(read_predicate(c, o, o.operands - 1u) & mask);
    }
    if (!o.mod.arrive) {
        waiting.state = PathState::at_barrier;
        waiting.barrier = asked.id;
    }
    if (c.listeners != nullptr)
        c.listeners->barrier_arrived({static_cast<uint32_t>(&o - c.program->operations.data()),
                                      asked.id,
                                      {w.index, mask},
                                      asked.threads,
                                      !o.mod.arrive,
                                      waiting.left_by & ~w.live});
    waiting.left_by = 0;
    release_barriers(c);
    return o.mod.arrive;
}

bool reduction(Context& c, size_t path, const Operation& o, uint32_t mask) {
    Warp& w = *c.warp;
    if (!has_value(o) && c.cluster->of.is_explicit) return cluster_wait(c, path, o, mask);
    if (!w.paths[path].opened) barrier(c, path, o, mask);
    if (c.trap) return true;
    Path& p = w.paths[path];
    if (!p.opened) return false;
    p.opened = false;
    ++p.pc;
    if (!has_value(o)) return true;
    if (o.mod.type[0] == Type::pred) {
        write_predicate(c, o.r[0], p.value != 0 ? all_lanes : 0, mask);
    } else {
        auto* d = slot<uint32_t>(c, o.r[0]);
        for_lanes(mask, [&](unsigned l) { d[l] = p.value; });
    }
    return true;
}

void release_barriers(Context& c) {
    warp::Cta& cta = *c.cta;
    for (uint32_t id = 0; id < cta.barriers.size(); ++id) {
        if (!is_complete(cta, id)) continue;
        std::vector<warp::WarpLanes> released;
        for (Warp& w : cta.warps)
            for (Path& p : w.paths) {
                if (!waits_at(p, id)) continue;
                open(c, p, cta.barriers[id]);
                if (c.listeners != nullptr) released.push_back({w.index, p.lanes});
            }
        cta.barriers[id] = {};
        if (c.listeners != nullptr) c.listeners->barrier_opened({id, released});
    }
}

}  // namespace lockwarp::exec
