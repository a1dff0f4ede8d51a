// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/reconvergence.hpp"

#include <algorithm>

#include "emu/exec/listeners.hpp"

namespace lockwarp::exec {

using warp::no_index;
using warp::Path;
using warp::PathState;
using warp::Reconvergence;
using warp::Warp;

namespace {

// Lanes that have arrived at a meeting go on behind it.
void resume(Context& c, Warp& w, const Reconvergence& m, uint32_t lanes) {
    Path p;
    p.pc = m.resume;
    p.lanes = lanes;
    p.within = m.parent;
    p.frame = m.frame;
    p.apart = m.broken;
    w.paths.push_back(p);
    if (c.listeners != nullptr) c.listeners->reconverged({p.pc, {w.index, lanes}});
}

// Whether lanes that go on behind the meeting only have their end before them.
bool is_at_the_end(const Context& c, const Reconvergence& m) {
    const Operation& o = c.program->operations[m.resume];
    return !o.guarded && (o.op == isa::Op::exit || (o.op == isa::Op::ret && m.frame == no_index));
}

// Has lanes exit that wait for others only to exit with them, as a GPU's do, whose compiler has no
// meeting there: an aligned instruction needs those that live. false: there are none.
bool exit_arrived(Context& c, Warp& w) {
    const auto m = std::ranges::find_if(w.meetings, [&](const Reconvergence& meeting) {
        return meeting.arrived != 0 && is_at_the_end(c, meeting);
    });
    if (m == w.meetings.end()) return false;
    resume(c, w, *m, m->arrived);
    m->expected &= ~m->arrived;
    m->arrived = 0;
    return true;
}

// Lanes wait at an aligned barrier (`stand_there`) and no other path goes on: those that stand
// where they would meet them go on, and when these have exited, the barrier is for the lanes that
// live. So does an H100 (driver 580.159.04), whatever they do before they exit; where they come to
// another barrier it hangs. false: none stand there.
bool leave_barrier(Context& c, Warp& w, uint32_t left, const auto& stand_there) {
    if (!can_release(w)) return false;
    for (Path& p : w.paths)
        if (stand_there(p)) p.left_by = left;
    return release_arrived(c, w);
}

}  // namespace

void part(Warp& w, size_t path, uint32_t at, std::span<const Way> ways) {
    Path& p = w.paths[path];
    if (at != isa::never && (p.within == no_index || w.meetings[p.within].at != at)) {
        Reconvergence m;
        m.at = m.resume = at;
        m.expected = p.lanes;
        m.parent = p.within;
        m.frame = p.frame;
        p.within = add_meeting(w, m);
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

uint32_t add_meeting(Warp& w, const Reconvergence& meeting) {
    const auto free = std::ranges::find(w.meetings, 0u, &Reconvergence::expected);
    const auto index = static_cast<uint32_t>(free - w.meetings.begin());
    if (free == w.meetings.end())
        w.meetings.push_back(meeting);
    else
        *free = meeting;
    w.meetings[index].number = w.met++;
    return index;
}

void arrive(Context& c, size_t path) {
    Warp& w = *c.warp;
    const Path p = w.paths[path];
    w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(path));
    w.meetings[p.within].arrived |= p.lanes;
    settle(c, w, p.within);
}

void settle(Context& c, Warp& w, uint32_t meeting) {
    Reconvergence& m = w.meetings[meeting];
    m.expected &= w.live;
    m.arrived &= w.live;
    if (m.expected == 0 || m.arrived != m.expected) return;
    resume(c, w, m, m.arrived);
    m = Reconvergence{};
}

bool release_arrived(Context& c, Warp& w) {
    const auto m = std::ranges::find_if(
        w.meetings, [](const Reconvergence& meeting) { return meeting.arrived != 0; });
    if (m == w.meetings.end()) return false;
    m->broken = true;
    resume(c, w, *m, m->arrived);
    m->expected &= ~m->arrived;
    m->arrived = 0;
    return true;
}

bool can_release(const Warp& w) {
    return std::ranges::any_of(w.meetings, [](const Reconvergence& m) { return m.arrived != 0; });
}

bool awaits_warp(Context& c, size_t path, uint32_t mask) {
    Warp& w = *c.warp;
    Path& ours = w.paths[path];
    if (mask != ours.lanes) return false;
    const auto goes_on = [&](const Path& p) {
        return &p != &ours && (p.state == PathState::ready || p.state == PathState::held);
    };
    const auto here = [&](const Path& p) {
        return p.state == PathState::at_aligned && p.pc == ours.pc && p.within == ours.within &&
               p.frame == ours.frame;
    };
    ours.state = PathState::at_aligned;
    uint32_t lanes = 0;
    for (const Path& p : w.paths)
        if (here(p)) lanes |= p.lanes;
    if (lanes != w.live) {
        if (ours.apart || std::ranges::any_of(w.paths, goes_on) || exit_arrived(c, w)) return true;
        const bool is_barrier = c.program->operations[ours.pc].aligned_barrier;
        if (is_barrier && leave_barrier(c, w, w.live & ~lanes, here)) return true;
        ours.state = PathState::ready;
        return false;
    }
    for (Path& p : w.paths)
        if (here(p)) {
            p.state = PathState::ready;
            p.apart = false;
        }
    join(w, path);
    return true;
}

bool ask_aligned(Warp& w) {
    const auto alone = std::ranges::find_if(
        w.paths, [](const Path& p) { return p.state == PathState::at_aligned && !p.apart; });
    if (alone == w.paths.end()) return false;
    alone->state = PathState::ready;
    return true;
}

void remove_lanes(Warp& w, size_t path, uint32_t lanes) {
    w.paths[path].lanes &= ~lanes;
    if (w.paths[path].lanes == 0)
        w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(path));
}

size_t youngest_of(const Warp& w, uint32_t lanes) {
    for (size_t i = w.paths.size(); i-- > 0;)
        if (w.paths[i].state == PathState::ready && (w.paths[i].lanes & ~lanes) == 0) return i;
    return w.paths.size();
}

void join(Warp& w, size_t path) {
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

}  // namespace lockwarp::exec
