// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/deadlock.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/call_stack.hpp"
#include "emu/exec/path.hpp"
#include "emu/exec/reconvergence.hpp"

namespace lockwarp::exec {

using ptx::Space;
using warp::Path;
using warp::PathState;
using warp::Warp;

namespace {

constexpr size_t max_listed = 8;  // waits of one report, and places that one wait looks at

std::string hex(uint64_t value) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
    return text.data();
}

// What waits of one kind at one operation have in common.
struct Wait {
    std::string what;
    uint32_t operation;
    std::vector<uint32_t> warps;
    uint64_t step;  // of the first of them
    uint32_t frame;
    bool looks;  // at memory
};

std::string shared_text(const Context& c, const Operation& o, uint64_t address) {
    if (isa::row(o.op).memory != isa::Memory::barrier) return "memory at " + hex(address);
    const uint64_t offset = address - c.program->shared_begin;
    uint64_t word = 0;
    if (offset > c.cta->shared.size() || c.cta->shared.size() - offset < sizeof word) return {};
    std::memcpy(&word, c.cta->shared.data() + offset, sizeof word);
    return "the mbarrier at " + hex(address) + " (.shared; " + mbarrier_text(c, word) + ")";
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
            const uint64_t address = a.address[static_cast<unsigned>(__builtin_ctz(rest))];
            std::string text =
                a.space == Space::global ? global_text(c, address) : shared_text(c, o, address);
            if (!text.empty() && std::ranges::find(places, text) == places.end())
                places.push_back(std::move(text));
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
    Wait wait{"", p.pc, {c.warp->index}, c.warp->step, p.frame, false};
    switch (p.state) {
        case PathState::at_barrier:
            --wait.operation;
            wait.what = "waits at barrier " + std::to_string(p.barrier) +
                        " for threads that have exited or wait elsewhere";
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
    bool held = false;
    const std::vector<std::string> places = looked_at(c, path, wait.operation, held);
    wait.looks = !places.empty();
    wait.what = held         ? "waits for the end of a phase that the engine saw"
                : wait.looks ? text_of(places)
                             : "goes round for ever without a look at memory";
    return wait;
}

std::vector<Wait> waits_of(Context& c) {
    std::vector<Wait> waits;
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
                return other.what == wait.what && other.operation == wait.operation;
            });
            if (same == waits.end())
                waits.push_back(std::move(wait));
            else if (same->warps.back() != w.index)
                same->warps.push_back(w.index);
        }
    }
    return waits;
}

std::string warps_text(const std::vector<uint32_t>& warps) {
    std::string text = warps.size() == 1 ? "warp " : "warps ";
    for (size_t i = 0; i < warps.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(warps[i]);
    return text;
}

}  // namespace

warp::Trap deadlock(Context& c) {
    warp::Trap t;
    t.kind = warp::TrapKind::deadlock;
    t.cta = c.cta->id;
    t.cta_index = c.cta->index;
    Listeners* const listeners = std::exchange(c.listeners, nullptr);
    // An oracle is asked only in CTAs with a listener.
    const bool observed = c.observed;
    c.observed |= c.launch->oracle == nullptr;
    const warp::Statistics statistics = c.statistics;
    std::vector<Wait> waits = waits_of(c);
    c.listeners = listeners;
    c.observed = observed;
    c.statistics = statistics;
    if (waits.empty()) return t;
    const auto first = std::ranges::find(waits, true, &Wait::looks);
    if (first != waits.end()) std::rotate(waits.begin(), first, first + 1);
    const Wait& shown = waits[0];
    t.operation = shown.operation;
    t.place = c.program->operations[t.operation].place;
    t.warp = shown.warps[0];
    t.step = shown.step;
    t.calls = calls_of(c.cta->warps[t.warp].calls, shown.frame);
    t.detail = shown.what;
    for (size_t i = 1; i < waits.size() && i < max_listed; ++i) {
        t.others.push_back(waits[i].operation);
        t.detail += "; " + warps_text(waits[i].warps) + " at line " +
                    std::to_string(c.program->operations[waits[i].operation].place.line) + " " +
                    waits[i].what;
    }
    if (waits.size() > max_listed)
        t.detail += "; and " + std::to_string(waits.size() - max_listed) + " more";
    return t;
}

}  // namespace lockwarp::exec
