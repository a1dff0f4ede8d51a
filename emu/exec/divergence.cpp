// Paths of a warp: where they part, where they meet, and where they act together.
#include <algorithm>

#include "emu/exec/cta.hpp"

namespace lockwarp::exec {

using isa::Op;
using warp::no_index;
using warp::Path;
using warp::PathState;
using warp::Reconvergence;
using warp::TrapKind;
using warp::Warp;

// Parts a path by where its lanes go. All meet again at the branch's immediate post-dominator, if
// it has one. `ways` are not empty and hold the path's lanes, each once.
void CtaRunner::branch(Warp& w, size_t path, const Operation& o, std::span<const Way> ways) {
    Path& p = w.paths[path];
    if (o.reconverge != isa::never &&
        (p.within == no_index || w.meetings[p.within].at != o.reconverge)) {
        Reconvergence m;
        m.at = m.resume = o.reconverge;
        m.expected = p.lanes;
        m.parent = p.within;
        m.frame = p.frame;
        p.within = meet(w, m);
    }
    Path other = p;
    p.pc = ways[0].pc;
    p.lanes = ways[0].lanes;
    for (const Way& way : ways.subspan(1)) {
        other.pc = way.pc;
        other.lanes = way.lanes;
        w.paths.push_back(other);
    }
}

// brx.idx: each lane goes to the target that its index names.
bool CtaRunner::branch_by_index(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    Path& p = w.paths[path];
    const isa::Program& program = *code_.program;
    const auto* index = slot<uint32_t>(context_, o.r[0]);
    std::vector<Way> ways;
    if (mask != p.lanes) ways.push_back({p.pc + 1, p.lanes & ~mask});
    for (uint32_t rest = mask; rest != 0;) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        if (index[lane] >= o.immediate) {
            set_trap(context_, o, TrapKind::bad_mask,
                     "index " + std::to_string(index[lane]) + " of a table of " +
                         std::to_string(o.immediate) + " branch targets",
                     lane, 0, ptx::Space::none);
            context_.trap->has_address = false;
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
    branch(w, path, o, ways);
    return false;
}

// The path has come to where its lanes wait for the others.
void CtaRunner::arrive(Warp& w, size_t path) {
    const Path p = w.paths[path];
    w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(path));
    w.meetings[p.within].arrived |= p.lanes;
    settle(w, p.within);
}

// Lanes that have arrived at a meeting go on behind it.
void CtaRunner::resume(Warp& w, const Reconvergence& m, uint32_t lanes) {
    Path p;
    p.pc = m.resume;
    p.lanes = lanes;
    p.within = m.parent;
    p.frame = m.frame;
    w.paths.push_back(p);
}

// A place in Warp::meetings.
uint32_t CtaRunner::meet(Warp& w, const Reconvergence& meeting) {
    const auto free = std::ranges::find(w.meetings, 0u, &Reconvergence::expected);
    const auto index = static_cast<uint32_t>(free - w.meetings.begin());
    if (free == w.meetings.end())
        w.meetings.push_back(meeting);
    else
        *free = meeting;
    return index;
}

// Lets the lanes of a meeting go on once all have arrived or exited.
void CtaRunner::settle(Warp& w, uint32_t index) {
    Reconvergence& m = w.meetings[index];
    m.expected &= w.live;
    m.arrived &= w.live;
    if (m.expected == 0 || m.arrived != m.expected) return;
    resume(w, m, m.arrived);
    m = Reconvergence{};
}

void CtaRunner::exit_lanes(Warp& w, size_t path, uint32_t lanes) {
    w.live &= ~lanes;
    w.paths[path].lanes &= ~lanes;
    if (w.paths[path].lanes == 0)
        w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(path));
    for (uint32_t i = 0; i < w.meetings.size(); ++i)
        if (w.meetings[i].expected != 0) settle(w, i);
    for (uint32_t i = 0; i < w.frames.size(); ++i) leave(w, i, lanes);
    // Who waited for the exited lanes waits no longer.
    for (Path& p : w.paths)
        if (p.state == PathState::at_collective) p.state = PathState::ready;
    release_barriers();
}

// A .sync instruction runs once for all lanes of its membermask, from whatever paths they come:
// for bar.warp.sync each may be at one of its own, else all are at the same. false: the path waits.
bool CtaRunner::collective(Warp& w, size_t path, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const auto membermask = [&](const Operation& of, uint32_t lanes) {
        const auto* members = slot<uint32_t>(context_, of.r[of.operands - 1]);
        uint32_t named = 0;
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            named |= members[lane];
            if ((members[lane] >> lane & 1) == 0)
                set_trap(context_, o, TrapKind::bad_mask,
                         "the membermask does not name its own lane", lane, members[lane],
                         ptx::Space::none);
        }
        return named;
    };
    const uint32_t asked = membermask(o, mask);
    if (context_.trap) return true;
    const auto with_us = [&](const Path& p) {
        if (p.state != PathState::at_collective) return false;
        const Operation& other = *code_.steps[p.pc].op;
        return (&other == &o || (o.op == Op::bar_warp && other.op == Op::bar_warp)) &&
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
    context_.lanes = here;
    s.run(context_, s, here);
    for (Path& p : w.paths)
        if (with_us(p)) {
            p.state = PathState::ready;
            ++p.pc;
        }
    ++w.paths[path].pc;
    join(w, path);
    return true;
}

// Makes one path of this one and those that stand at the same operation on the way to the same
// meeting.
void CtaRunner::join(Warp& w, size_t path) {
    const Path ours = w.paths[path];
    const auto same = [&](const Path& p) {
        return p.state == PathState::ready && !p.opened && p.pc == ours.pc &&
               p.within == ours.within && p.frame == ours.frame;
    };
    if (std::ranges::count_if(w.paths, same) < 2) return;
    Path joined = ours;
    for (const Path& p : w.paths)
        if (same(p)) joined.lanes |= p.lanes;
    std::erase_if(w.paths, same);
    w.paths.push_back(joined);
}

// No path of any warp can go on: names the first that waits, and what for.
warp::Trap CtaRunner::deadlock() const {
    warp::Trap t;
    t.kind = TrapKind::deadlock;
    t.cta = cta_.id;
    t.cta_index = cta_.index;
    for (const Warp& w : cta_.warps)
        for (const Path& p : w.paths) {
            const bool at_barrier = p.state == PathState::at_barrier;
            t.operation = at_barrier ? p.pc - 1 : p.pc;
            t.place = code_.program->operations[t.operation].place;
            t.warp = w.index;
            t.step = w.step;
            t.detail = at_barrier ? "waits at barrier " + std::to_string(p.barrier) +
                                        " for threads that have exited or wait elsewhere"
                       : p.state == PathState::ready
                           ? "waits for the end of a phase that the engine saw"
                           : "waits for lanes of the membermask that do not come";
            return t;
        }
    return t;
}

}  // namespace lockwarp::exec
