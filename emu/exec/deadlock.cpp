// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/deadlock.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/call_stack.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/listeners.hpp"
#include "emu/exec/path.hpp"
#include "emu/exec/reconvergence.hpp"
#include "emu/exec/warpgroup.hpp"

namespace lockwarp::exec {

using ptx::Space;
using warp::Path;
using warp::PathState;
using warp::Warp;

namespace {

constexpr size_t max_listed = 8;  // waits of one report, and places that one wait looks at
constexpr size_t max_listed_of_cluster = 32;

std::string hex(uint64_t value) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
    return text.data();
}

// What waits of one kind at one operation of a CTA have in common.
struct Wait {
    const Context* of;
    std::string what;
    uint32_t operation;
    std::vector<uint32_t> warps;
    uint64_t step;  // of the first of them
    uint32_t frame;
    bool looks;  // at memory
};

std::string shared_text(const Context& c, const Operation& o, uint32_t rank, uint64_t address) {
    address = in_window_of(rank, address);
    const uint8_t* const at = isa::row(o.op).memory == isa::Memory::barrier
                                  ? find_in_cluster(c, address, sizeof(uint64_t))
                                  : nullptr;
    if (at == nullptr) return "memory at " + hex(address);
    return "the mbarrier at " + hex(address) + " (.shared; " + mbarrier_text(c, at) + ")";
}

std::string global_text(const Context& c, uint64_t address) {
    const warp::Buffer* const b = c.global->find(address, 1);
    if (b == nullptr) return hex(address);
    return hex(address) + " (buffer '" + b->name + "' + " + std::to_string(address - b->address) +
           ")";
}

// What the step that just ran looked at, each place once.
void add_places(const Context& c, const Operation& o, std::vector<std::string>& places) {
    for (uint32_t i = 0; i < c.access_count; ++i) {
        const warp::Access& a = c.accesses[i];
        if (a.store || (a.space != Space::global && a.space != Space::shared)) continue;
        for (uint32_t rest = a.lanes; rest != 0 && places.size() < max_listed; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            const uint64_t address = a.address[lane];
            std::string text = a.space == Space::global ? global_text(c, address)
                                                        : shared_text(c, o, a.rank[lane], address);
            if (std::ranges::find(places, text) == places.end()) places.push_back(std::move(text));
        }
    }
}

// Runs a path that waits once more round, and lists what it looks at. `operation` becomes the last
// that does.
std::vector<std::string> looked_at(Context& c, size_t path, uint32_t& operation, bool& held) {
    Warp& w = *c.warp;
    const uint32_t lanes = w.paths[path].lanes;
    const uint32_t first = w.paths[path].pc;
    std::vector<std::string> places;
    held = false;
    for (uint64_t n = 0; n < Watch::longest_loop && path < w.paths.size(); ++n) {
        const uint32_t pc = w.paths[path].pc;
        if (n != 0 && pc == first && w.paths[path].lanes == lanes) break;
        const uint64_t before = w.step;
        c.access_count = 0;
        run_path(c, path, w.step + 1);
        const bool gave_way = std::exchange(c.yields, 0) != 0;
        if (c.trap) break;
        held |= gave_way && w.step == before;
        const size_t known = places.size();
        add_places(c, c.program->operations[pc], places);
        if (places.size() != known || held) operation = pc;
        if (held) break;
        path = youngest_of(w, lanes);
    }
    c.trap.reset();
    return places;
}

std::string text_of(const std::vector<std::string>& places) {
    std::string text = "waits for ";
    for (size_t i = 0; i < places.size(); ++i) text += (i == 0 ? "" : ", ") + places[i];
    return text + ", which nothing can change any more";
}

Wait wait_of(Context& c, size_t path) {
    const Path p = c.warp->paths[path];
    Wait wait{&c, "", p.pc, {c.warp->index}, c.warp->step, p.frame, false};
    switch (p.state) {
        case PathState::at_barrier:
            --wait.operation;
            wait.what = "waits at barrier " + std::to_string(p.barrier) +
                        " for threads that have exited or wait elsewhere";
            return wait;
        case PathState::at_cluster:
            wait.what = "waits at the cluster's barrier for " + std::to_string(c.cluster->missing) +
                        " of its threads";
            return wait;
        case PathState::at_collective:
            wait.what = "waits for lanes of the membermask that do not come";
            return wait;
        case PathState::at_aligned:
            wait.what = "waits for the other lanes of its warp, which do not come";
            return wait;
        case PathState::held:
            wait.what = "waits for its turn at memory";
            return wait;
        case PathState::ready:
            break;
    }
    const Operation& o = c.program->operations[p.pc];
    if (o.op == isa::Op::wgmma_wait && lags_behind(c, o.immediate) != no_warp) {
        wait.what = "waits for products of its warpgroup that warp " +
                    std::to_string(lags_behind(c, o.immediate)) + " has not committed";
        return wait;
    }
    bool held = false;
    const std::vector<std::string> places = looked_at(c, path, wait.operation, held);
    wait.looks = !places.empty();
    wait.what = held         ? "waits for the end of a phase that the engine saw"
                : wait.looks ? text_of(places)
                             : "goes round for ever without a look at memory";
    return wait;
}

// Adds those of a CTA.
void add_waits(Context& c, std::vector<Wait>& waits) {
    for (Warp& w : c.cta->warps) {
        c.warp = &w;
        c.registers = w.registers;
        // A look may change the order of paths, and part them: of each lane once.
        for (uint32_t rest = w.live; rest != 0;) {
            const auto at =
                std::ranges::find_if(w.paths, [&](const Path& p) { return (p.lanes & rest) != 0; });
            if (at == w.paths.end()) break;
            rest &= ~at->lanes;
            Wait wait = wait_of(c, static_cast<size_t>(at - w.paths.begin()));
            const auto same = std::ranges::find_if(waits, [&](const Wait& other) {
                return other.of == &c && other.what == wait.what &&
                       other.operation == wait.operation;
            });
            if (same == waits.end())
                waits.push_back(std::move(wait));
            else if (same->warps.back() != w.index)
                same->warps.push_back(w.index);
        }
    }
}

// As add_waits; what the looks leave in the context is as before.
void add_waits_quietly(Context& c, std::vector<Wait>& waits) {
    Listeners* const listeners = std::exchange(c.listeners, nullptr);
    // Nor is an inspector asked, which would say who hears.
    Inspector* const inspector = std::exchange(c.inspector, nullptr);
    // An oracle is asked only in CTAs with a listener.
    const bool observed = c.observed;
    c.observed |= c.launch->oracle == nullptr;
    const warp::Statistics statistics = c.statistics;
    add_waits(c, waits);
    c.listeners = listeners;
    c.inspector = inspector;
    c.observed = observed;
    c.statistics = statistics;
}

std::string warps_text(const std::vector<uint32_t>& warps) {
    std::string text = warps.size() == 1 ? "warp " : "warps ";
    for (size_t i = 0; i < warps.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(warps[i]);
    return text;
}

}  // namespace

warp::Trap deadlock(std::span<Context* const> ctas) {
    warp::Trap t;
    t.kind = warp::TrapKind::deadlock;
    std::vector<Wait> waits;
    for (Context* const c : ctas)
        if (!c->cta->ended) add_waits_quietly(*c, waits);
    if (waits.empty()) {
        t.cta = ctas.front()->cta->id;
        t.cta_index = ctas.front()->cta->index;
        return t;
    }
    const auto first = std::ranges::find(waits, true, &Wait::looks);
    if (first != waits.end()) std::rotate(waits.begin(), first, first + 1);
    const isa::Program& program = *ctas.front()->program;
    const Wait& shown = waits[0];
    t.cta = shown.of->cta->id;
    t.cta_index = shown.of->cta->index;
    t.operation = shown.operation;
    t.place = program.operations[t.operation].place;
    t.warp = shown.warps[0];
    t.step = shown.step;
    t.calls = calls_of(shown.of->cta->warps[t.warp].calls, shown.frame);
    t.detail = shown.what;
    const size_t listed = ctas.size() == 1 ? max_listed : max_listed_of_cluster;
    for (size_t i = 1; i < waits.size() && i < listed; ++i) {
        t.others.push_back(waits[i].operation);
        if (ctas.size() > 1)
            t.detail += "; in the CTA of rank " + std::to_string(waits[i].of->cta->rank) + ' ';
        else
            t.detail += "; ";
        t.detail += warps_text(waits[i].warps) + " at line " +
                    std::to_string(program.operations[waits[i].operation].place.line) + " " +
                    waits[i].what;
    }
    if (waits.size() > listed)
        t.detail += "; and " + std::to_string(waits.size() - listed) + " more";
    return t;
}

}  // namespace lockwarp::exec
