// The barriers of a CTA.
#include "emu/exec/cta.hpp"

namespace lockwarp::exec {

using isa::Op;
using warp::Path;
using warp::PathState;
using warp::TrapKind;
using warp::Warp;

namespace {

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

}  // namespace

bool CtaRunner::barrier(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    Path& p = w.paths[path];
    const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
    // bar.red has its result before them and its predicate behind.
    const unsigned first = o.op == Op::bar_red ? 1 : 0;
    const uint32_t id = slot<uint32_t>(context_, o.r[first])[lane];
    const bool counted = o.operands > 2 * first + 1;
    const uint32_t threads = counted ? slot<uint32_t>(context_, o.r[first + 1])[lane] : 0;
    const auto refuse = [&](TrapKind kind, std::string detail) {
        set_trap(context_, o, kind, std::move(detail));
        return true;
    };
    if (id >= cta_.barriers.size())
        return refuse(TrapKind::bad_mask, "barrier " + std::to_string(id) + ": there are 16");
    if (counted && (threads == 0 || threads % 32 != 0))
        return refuse(
            TrapKind::bad_mask,
            "a barrier's thread count must be a multiple of 32, not " + std::to_string(threads));
    if (o.aligned_barrier && mask != w.live)
        return refuse(TrapKind::diverged, std::to_string(count(mask)) + " of the warp's " +
                                              std::to_string(count(w.live)) + " threads are here");
    ++context_.stores;
    // Only the lanes whose guard is true arrive; the others go on as a path of their own.
    if (mask != p.lanes) {
        Path other = p;
        other.lanes = p.lanes & ~mask;
        ++other.pc;
        p.lanes = mask;
        w.paths.push_back(other);
    }
    Path& waiting = w.paths[path];
    ++waiting.pc;
    warp::Barrier& b = cta_.barriers[id];
    // Barriers count whole warps (PTX manual, barrier): exited and missing lanes of it too.
    b.arrived += o.aligned_barrier ? 32 : count(mask);
    if (counted) b.expected = threads;
    if (o.op == Op::bar_red) {
        b.given += count(mask);
        b.yes += count(read_predicate(context_, o, o.operands - 1u) & mask);
    }
    if (o.mod.arrive) {
        release_barriers();
        return true;
    }
    waiting.state = PathState::at_barrier;
    waiting.barrier = id;
    release_barriers();
    return false;
}

// A barrier with a value: the path arrives, and retires it when it has opened. false: it waits.
bool CtaRunner::reduction(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    if (!w.paths[path].opened) barrier(w, path, o, mask);
    if (context_.trap) return true;
    Path& p = w.paths[path];
    if (!p.opened) return false;
    p.opened = false;
    ++p.pc;
    if (o.mod.type[0] == Type::pred) {
        write_predicate(context_, o.r[0], p.value != 0 ? all_lanes : 0, mask);
    } else {
        auto* d = slot<uint32_t>(context_, o.r[0]);
        for_lanes(mask, [&](unsigned l) { d[l] = p.value; });
    }
    return true;
}

// Lets a path go on behind its barrier; from a barrier with a value it goes with that.
void CtaRunner::open(Path& p, const warp::Barrier& b) {
    p.state = PathState::ready;
    const Operation& o = *code_.steps[p.pc - 1].op;
    if (o.op != Op::bar_red) return;
    --p.pc;
    p.opened = true;
    p.value = o.mod.combine == isa::Combine::and_ ? b.yes == b.given : b.yes;
}

// Opens every barrier whose threads have all arrived: those it counts, or all that still live.
void CtaRunner::release_barriers() {
    for (uint32_t id = 0; id < cta_.barriers.size(); ++id) {
        warp::Barrier& b = cta_.barriers[id];
        if (b.arrived == 0) continue;
        uint32_t expected = b.expected;
        uint32_t arrived = b.arrived;
        if (expected == 0) {
            arrived = 0;
            for (const Warp& w : cta_.warps) {
                expected += count(w.live);
                for (const Path& p : w.paths)
                    if (p.state == PathState::at_barrier && p.barrier == id)
                        arrived += count(p.lanes);
            }
        }
        if (arrived < expected) continue;
        for (Warp& w : cta_.warps)
            for (Path& p : w.paths)
                if (p.state == PathState::at_barrier && p.barrier == id) open(p, b);
        b = {};
    }
}

}  // namespace lockwarp::exec
