// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "emu/exec/cluster.hpp"
#include "emu/exec/deadlock.hpp"
#include "emu/exec/path.hpp"
#include "emu/exec/reconvergence.hpp"

namespace lockwarp::exec {

using warp::Path;
using warp::PathState;
using warp::Warp;

namespace {

// Instructions that a warp retires in its turn. Of several paths of a warp each has an eighth, and
// so one for which others wait where they meet: it may be the one that waits for another CTA.
constexpr uint64_t turn = 20000;
constexpr uint64_t turn_of_many = turn / 8;

// How long a look is at a path that has used up such a part: as long as the loop of most waits. Of
// eight looks one is of Watch::longest_loop.
constexpr uint64_t short_look = 64;

constexpr uint64_t never = UINT64_MAX;

bool only_waits(const Context& c, const Path& p) { return p.waits_since == c.stores; }

// watch: of its way round; nullptr: it stands where it is.
void wait(const Context& c, Path& p, const Watch* watch) {
    p.waits_since = c.stores;
    p.waits_timed = watch != nullptr && watch->is_timed();
    p.waits_outside = watch != nullptr && watch->looks_outside();
}

bool is_held(const Path& p) { return p.state == PathState::held; }

bool is_at_cluster(const Path& p) { return p.state == PathState::at_cluster; }

bool goes_on(const Path& p) { return p.state == PathState::ready || is_held(p); }

// Whose turn it was not is asked again.
void ask_again(Path& p) {
    if (is_held(p)) p.state = PathState::ready;
}

// The other paths of the warp come before this one.
void put_last(Warp& w, size_t path) {
    const auto at = w.paths.begin() + static_cast<std::ptrdiff_t>(path);
    std::rotate(w.paths.begin(), at, at + 1);
}

bool any_path(const warp::Cta& cta, const auto& is) {
    return std::ranges::any_of(cta.warps,
                               [&](const Warp& w) { return std::ranges::any_of(w.paths, is); });
}

// The order is the usual one, and nobody else's.
bool may_give_way(const Context& c) {
    return c.launch->turn == 0 && c.launch->order == nullptr && c.launch->oracle == nullptr;
}

// It waits for lanes of its own warp alone: what other warps do changes nothing for it.
bool awaits_own_lanes(const Warp& w) {
    return std::ranges::all_of(w.paths, [](const Path& p) {
        return p.state == PathState::at_collective || p.state == PathState::at_aligned;
    });
}

}  // namespace

void Scheduler::wake(Context& c) {
    for (Warp& w : c.cta->warps)
        for (Path& p : w.paths) {
            p.waits_since = never;
            ask_again(p);
        }
}

Round Scheduler::round(Context& c, GivesWay& way, bool whole, bool others_wait) {
    bool running = false;
    bool advanced = false;
    const auto waited = [](const Path& p) { return p.waits_since != never; };
    c.others_wait = may_give_way(c) && (others_wait || any_path(*c.cta, waited));
    for (Warp& w : c.cta->warps) {
        if (w.live == 0) continue;
        c.warp = &w;
        c.registers = w.registers;
        for (Path& p : w.paths)
            if (!only_waits(c, p)) ask_again(p);
        const uint64_t end = w.step + (c.launch->turn == 0 ? turn : c.launch->turn);
        advanced |=
            way.is_asked() ? run_warp_in_order(c, way, end, whole) : run_warp(c, end, whole);
        if (c.trap) return Round::ended;
        running |= w.live != 0;
    }
    if (!running) return Round::ended;
    const bool held = any_path(*c.cta, is_held) || any_path(*c.cta, is_at_cluster);
    if (!advanced && !held) {
        c.trap = deadlock({&c.cluster->ctas[c.cta->rank], 1});
        return Round::ended;
    }
    const auto ready = [](const Path& p) { return p.state == PathState::ready; };
    if (any_path(*c.cta, [&](const Path& p) { return ready(p) && !only_waits(c, p); }))
        return Round::goes_on;
    // Lanes may be waited for that stand where they meet others. Where no other CTA can end that,
    // those go on by themselves.
    const bool waits = held || any_path(*c.cta, ready);
    for (Warp& w : c.cta->warps)
        if ((!waits || awaits_own_lanes(w)) && release_arrived(c, w)) return Round::goes_on;
    return waits ? Round::only_waits : Round::goes_on;
}

bool Scheduler::release(Context& c) {
    return std::ranges::any_of(c.cta->warps, [&](Warp& w) { return release_arrived(c, w); });
}

bool Scheduler::can_release(const Context& c) {
    return std::ranges::any_of(c.cta->warps, [](const Warp& w) { return exec::can_release(w); });
}

bool Scheduler::is_stuck(const Context& c) { return !any_path(*c.cta, goes_on) && !can_release(c); }

bool Scheduler::is_timed(const Context& c) {
    return any_path(*c.cta, [&](const Path& p) {
        return p.state == PathState::ready && only_waits(c, p) && p.waits_timed;
    });
}

bool Scheduler::looks_outside(const Context& c) {
    return any_path(*c.cta, [&](const Path& p) {
        return p.state == PathState::ready && only_waits(c, p) && p.waits_outside;
    });
}

// A turn that ends where the launch's order says.
bool Scheduler::run_warp_in_order(Context& c, GivesWay& way, uint64_t end, bool whole) {
    const Warp& w = *c.warp;
    const auto can_go_on = [&] {
        return std::ranges::any_of(w.paths,
                                   [](const Path& p) { return p.state == PathState::ready; });
    };
    if (!can_go_on()) return run_warp(c, end, whole);
    if (way.gives_way_at_once(w.index, w.step)) return true;
    const uint64_t place = way.next(w.index, w.step);
    const bool advanced = run_warp(c, std::min(end, place), whole);
    if (!c.trap && w.step >= place && can_go_on()) way.gave_way(w.index, w.step);
    return advanced;
}

// Gives the warp's paths their turns. false: none can go on.
bool Scheduler::run_warp(Context& c, uint64_t end, bool whole) {
    Warp& w = *c.warp;
    bool advanced = false;
    while (w.live != 0 && w.step < end) {
        const auto ready = std::find_if(w.paths.rbegin(), w.paths.rend(), [&](const Path& p) {
            return p.state == PathState::ready && (whole || !only_waits(c, p));
        });
        if (ready == w.paths.rend()) {
            if (std::ranges::none_of(w.paths, goes_on) && ask_aligned(w)) continue;
            break;
        }
        const auto path = static_cast<size_t>(w.paths.rend() - ready - 1);
        const uint64_t before = w.step;
        const bool gave_way = run_turn(c, path, end, whole);
        if (c.trap) return true;
        advanced |= !gave_way || w.step != before;
        if (gave_way) break;
    }
    // One that only waits could go on, to no end.
    return advanced || std::ranges::any_of(w.paths, [&](const Path& p) {
               return p.state == PathState::ready && only_waits(c, p);
           });
}

// One path's turn. true: it found nothing to go on with, and other warps come first.
bool Scheduler::run_turn(Context& c, size_t path, uint64_t end, bool whole) {
    Warp& w = *c.warp;
    if (w.paths[path].used_its_turn && !whole) return run_watched(c, path, end);
    const uint64_t before = w.step;
    if (w.paths.size() > 1 || exec::can_release(w)) end = std::min(end, w.step + turn_of_many);
    run_path(c, path, end);
    if (c.trap) return false;
    const bool gave_way = std::exchange(c.yields, 0) != 0;
    if ((gave_way || w.step >= end) && path < w.paths.size()) {
        w.paths[path].used_its_turn = true;
        // What it stands at waits until memory is another.
        if (gave_way && w.step == before) wait(c, w.paths[path], nullptr);
        put_last(w, path);
    }
    return gave_way;
}

// A path that has used up its turn may only wait: a look, as long as a loop may be. Its lanes may
// part and meet on the way.
bool Scheduler::run_watched(Context& c, size_t path, uint64_t end) {
    Warp& w = *c.warp;
    const bool in_parts = w.paths.size() > 1 || exec::can_release(w);
    const bool is_short = in_parts && w.step / turn_of_many % 8 != 0;
    end = std::min(end, w.step + (is_short ? short_look : Watch::longest_loop));
    w.paths[path].used_its_turn = false;
    watch_.begin(c, path);
    c.watch = &watch_;
    uint64_t before = 0;
    bool gave_way = false;
    bool came_round = false;
    while (path < w.paths.size()) {
        before = w.step;
        came_round = run_path(c, path, end, watch_);
        gave_way = std::exchange(c.yields, 0) != 0;
        if (c.trap || came_round || watch_.is_over(c) || w.step >= end) break;
        if (gave_way && w.step == before) break;
        path = youngest_of(w, watch_.lanes());
    }
    c.watch = nullptr;
    if (c.trap || (!came_round && !gave_way) || path >= w.paths.size()) return false;
    w.paths[path].used_its_turn = true;
    if (came_round || w.step == before) wait(c, w.paths[path], came_round ? &watch_ : nullptr);
    put_last(w, path);
    return gave_way;
}

}  // namespace lockwarp::exec
