// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/path.hpp"

#include <algorithm>

#include "emu/exec/barriers.hpp"
#include "emu/exec/call_stack.hpp"
#include "emu/exec/control.hpp"
#include "emu/exec/inspector.hpp"
#include "emu/exec/listeners.hpp"
#include "emu/exec/ordered.hpp"
#include "emu/exec/reconvergence.hpp"
#include "emu/exec/stopped.hpp"
#include "emu/exec/unneeded.hpp"

namespace lockwarp::exec {

using warp::no_index;
using warp::Path;
using warp::PathState;
using warp::TrapKind;
using warp::Warp;

namespace {

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

warp::Retired event(const Context& c, uint64_t step, uint32_t pc, uint32_t active,
                    uint32_t executed) {
    return {c.program,      pc,          c.cta->id,          c.cta->index, c.warp->index,
            step,           active,      executed,           c.registers,  c.accesses.data(),
            c.access_count, c.undefined, c.undefined_results};
}

void notify(Context& c, uint32_t pc, uint32_t active, uint32_t executed) {
    const warp::Retired retired = event(c, c.warp->step - 1, pc, active, executed);
    warp::Oracle* const oracle = c.launch->oracle;
    if (oracle != nullptr && executed != 0 && (c.undefined != 0 || oracle->knows(pc)))
        oracle->supply(retired, c.registers);
    c.undefined = 0;
    c.undefined_results = 1;
    const Operation& o = *c.steps[pc].op;
    if (executed != 0 && is_bulk(o.op)) {
        c.listeners->bulk(o, pc, {c.warp->index, executed}, c.ranges, c.arrivals);
        c.ranges.clear();
        c.arrivals.clear();
    }
    if (executed != 0 && is_of_copies(o.op))
        c.listeners->copies(o, pc, {c.warp->index, executed},
                            std::span(c.accesses).first(c.access_count));
    c.listeners->retired(retired);
}

// Whether some of the lanes that a wait would send back are known to have gone on.
bool must_wait(const Context& c, uint32_t pc, uint32_t active, uint32_t executed) {
    const warp::Oracle* const oracle = c.launch->oracle;
    if (!c.observed || oracle == nullptr || !oracle->knows(pc)) return false;
    return (oracle->went_on(event(c, c.warp->step, pc, active, executed)) & c.yields) != 0;
}

// A step that all lanes of the warp must have reached.
void run_aligned(Context& c, const Step& s, uint32_t active, uint32_t mask) {
    if (mask == all_lanes) return s.run(c, s, mask);
    if (mask == 0) return;
    const bool exited = active == c.warp->live && mask == active;
    set_trap(c, *s.op, TrapKind::diverged,
             std::to_string(count(mask)) + " of 32 lanes are here" +
                 (exited ? "; the others do not exist or have exited" : ""));
}

void trap_at_step_limit(Context& c, uint32_t pc, uint32_t frame) {
    if (c.warp->step < c.launch->max_steps) return;
    set_trap(c, *c.steps[pc].op, TrapKind::step_limit,
             "the warp has retired " + std::to_string(c.warp->step) + " instructions");
    c.trap->calls = calls_of(c.warp->calls, frame);
}

// Instructions between looks at Launch::stop: the slowest take milliseconds.
constexpr uint64_t stop_stride = 64;

// Asks the inspector how many instructions the path may retire.
uint64_t inspected(Context& c, size_t path) {
    const Pace pace = c.inspector->before(*c.cta, *c.warp, path);
    c.listeners = pace.heard ? c.heard_by : nullptr;
    c.observed = c.listeners != nullptr;
    return pace.instructions;
}

// The path has come to `limit`. true: it goes on, to a later one.
bool goes_on(Context& c, size_t path, uint64_t& limit, uint64_t end) {
    if (limit >= end) return false;
    const uint64_t stride = c.inspector != nullptr ? inspected(c, path) : stop_stride;
    if (is_stop_wanted(c)) {
        c.trap = stopped(c);
        return false;
    }
    limit += std::min(end - limit, stride);
    return true;
}

// What a step did to its path.
enum class Did : uint8_t {
    retired,
    retired_elsewhere,  // look again which paths there are
    waits,              // it has not retired
};

// Lanes whose turn it is do their access, and wait behind it for the others of the path.
Did run_ordered(Context& c, size_t path, const Step& s, uint32_t& active, uint32_t& mask) {
    Warp& w = *c.warp;
    Path& p = w.paths[path];
    const uint32_t next = p.pc + 1;
    const uint32_t done = take_turns(c, path, s, event(c, w.step, p.pc, active, mask));
    if (c.trap || done == mask) {
        p.pc = next;
        return Did::retired;
    }
    if (done == 0) {
        p.state = PathState::held;
        p.waits_since = c.stores;
        c.yields = mask;
        return Did::waits;
    }
    const uint32_t rest = mask & ~done;
    part(w, path, next, std::array{Way{next, active & ~rest}, Way{p.pc, rest}});
    active &= ~rest;
    mask = done;
    return Did::retired_elsewhere;
}

// One step of a path; `active` and `mask` become the lanes for which it retires.
inline Did run_step(Context& c, size_t path, const Step& s, uint32_t& active, uint32_t& mask) {
    Warp& w = *c.warp;
    Path& p = w.paths[path];
    switch (s.kind) {
        case StepKind::plain:
            if (mask != 0) {
                c.lanes = active;
                s.run(c, s, mask);
                if (c.yields != 0 && must_wait(c, p.pc, active, mask)) return Did::waits;
            }
            ++p.pc;
            return Did::retired;
        case StepKind::aligned:
            if (mask != w.live && awaits_warp(c, path, mask)) return Did::waits;
            run_aligned(c, s, active, mask);
            if (c.yields != 0) return Did::waits;
            ++p.pc;
            return Did::retired;
        case StepKind::collective: {
            if (mask == 0) break;
            const size_t paths = w.paths.size();
            if (!collective(c, path, s, mask)) return Did::waits;
            if (c.trap) return Did::retired;
            // It retires for all lanes that it gathered; their paths may have become one.
            active |= c.lanes;
            mask = c.lanes;
            return w.paths.size() == paths ? Did::retired : Did::retired_elsewhere;
        }
        case StepKind::reduction:
            if (mask == 0) break;
            if (mask != w.live && s.op->aligned_barrier && !p.opened && awaits_warp(c, path, mask))
                return Did::waits;
            return reduction(c, path, *s.op, mask) ? Did::retired : Did::waits;
        case StepKind::control:
            if (mask != w.live && s.op->aligned_barrier && awaits_warp(c, path, mask))
                return Did::waits;
            return control(c, path, s, mask) ? Did::retired : Did::retired_elsewhere;
        case StepKind::ordered:
            if (mask == 0) break;
            return run_ordered(c, path, s, active, mask);
    }
    ++p.pc;
    return Did::retired;
}

template <bool watched>
bool run(Context& c, size_t path, uint64_t end, Watch* watch) {
    const Step* const steps = c.steps;
    Warp& w = *c.warp;
    const uint64_t first = w.step;
    end = std::min(end, c.launch->max_steps);
    uint64_t limit = c.inspector != nullptr ? first : std::min(end, first + stop_stride);
    uint64_t lane_operations = 0;
    bool round = false;
    c.yields = 0;
    for (Did did = Did::retired; did == Did::retired && c.yields == 0;) {
        const Path& p = w.paths[path];
        if (p.within != no_index && w.meetings[p.within].at == p.pc) {
            arrive(c, path);
            break;
        }
        if constexpr (watched) {
            round = watch->came_round(c, p);
            if (round || watch->is_over(c)) break;
            watch->note(c, p.pc);
        }
        const uint32_t pc = p.pc;
        const uint32_t frame = p.frame;
        if (w.step >= limit && !goes_on(c, path, limit, end)) {
            if (!c.trap) trap_at_step_limit(c, pc, frame);
            break;
        }
        const Step& s = steps[pc];
        uint32_t active = p.lanes;
        uint32_t mask = active;
        if (s.op->guarded) {
            const uint32_t guard = predicate(c, s.op->guard);
            mask &= s.op->guard_negated ? ~guard : guard;
        }
        c.access_count = 0;
        did = run_step(c, path, s, active, mask);
        if (c.trap && c.left_out != nullptr && c.left_out->is_cause(*c.trap)) {
            c.trap.reset();
            c.access_count = 0;
        }
        if (c.trap) {
            c.trap->calls = calls_of(w.calls, frame);
            break;
        }
        // A path that waits at a collective has not retired it.
        if (did == Did::waits) break;
        ++w.step;
        lane_operations += mask == all_lanes ? 32 : count(mask);
        if (c.listeners != nullptr) notify(c, pc, active, mask);
    }
    c.statistics.instructions += w.step - first;
    c.statistics.lane_operations += lane_operations;
    return round;
}

}  // namespace

void run_path(Context& c, size_t path, uint64_t limit) { run<false>(c, path, limit, nullptr); }

bool run_path(Context& c, size_t path, uint64_t limit, Watch& watch) {
    return run<true>(c, path, limit, &watch);
}

}  // namespace lockwarp::exec
