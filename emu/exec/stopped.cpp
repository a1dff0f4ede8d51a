// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/stopped.hpp"

#include <algorithm>

#include "emu/exec/call_stack.hpp"

namespace lockwarp::exec {

using warp::Path;
using warp::PathState;
using warp::Warp;

namespace {

constexpr size_t max_listed = 8;  // places of one report

// Paths that stand at one line in one state.
struct Stand {
    uint32_t operation;
    PathState state;
    std::vector<uint32_t> warps;
};

std::string_view words_of(PathState state) {
    switch (state) {
        case PathState::ready:
            return "";
        case PathState::at_barrier:
            return " waiting at a barrier";
        case PathState::at_cluster:
            return " waiting at the cluster's barrier";
        case PathState::at_collective:
            return " waiting for lanes of the membermask";
        case PathState::at_aligned:
            return " waiting for the other lanes of the warp";
        case PathState::held:
            return " waiting for their turn at memory";
    }
    return "";
}

// A path at a barrier stands behind it.
uint32_t operation_of(const Path& p) {
    return p.state == PathState::at_barrier && p.pc != 0 ? p.pc - 1 : p.pc;
}

std::vector<Stand> stands_of(const Context& c) {
    const std::vector<Warp>& warps = c.cta->warps;
    const auto line = [&](uint32_t operation) {
        return c.program->operations[operation].place.line;
    };
    std::vector<Stand> out;
    for (const Warp& w : warps)
        for (const Path& p : w.paths) {
            if ((p.lanes & w.live) == 0) continue;
            const auto same = std::ranges::find_if(out, [&](const Stand& s) {
                return line(s.operation) == line(operation_of(p)) && s.state == p.state;
            });
            if (same == out.end())
                out.push_back({operation_of(p), p.state, {w.index}});
            else if (same->warps.back() != w.index)
                same->warps.push_back(w.index);
        }
    return out;
}

// "warp 3", "warps 0-2, 5"
std::string text_of(const std::vector<uint32_t>& warps) {
    std::string out = warps.size() == 1 ? "warp " : "warps ";
    for (size_t i = 0; i < warps.size();) {
        size_t end = i + 1;
        while (end < warps.size() && warps[end] == warps[end - 1] + 1) ++end;
        if (i != 0) out += ", ";
        out += std::to_string(warps[i]);
        if (end - i > 1) out += "-" + std::to_string(warps[end - 1]);
        i = end;
    }
    return out;
}

}  // namespace

warp::Trap stopped(const Context& c) {
    warp::Trap t;
    t.kind = warp::TrapKind::stopped;
    t.cta = c.cta->id;
    t.cta_index = c.cta->index;
    const std::vector<Stand> stands = stands_of(c);
    std::vector<uint32_t> ended;
    for (const Warp& w : c.cta->warps)
        if (w.live == 0) ended.push_back(w.index);
    if (!stands.empty()) {
        const Warp& first = c.cta->warps[stands[0].warps[0]];
        t.operation = stands[0].operation;
        t.warp = first.index;
        t.step = first.step;
        t.calls = calls_of(first.calls, first.paths[0].frame);
    }
    t.place = c.program->operations[t.operation].place;
    for (size_t i = 0; i < stands.size() && i < max_listed; ++i) {
        if (i != 0) t.others.push_back(stands[i].operation);
        t.detail += (i == 0 ? "" : "; ") + text_of(stands[i].warps) + " at line " +
                    std::to_string(c.program->operations[stands[i].operation].place.line) +
                    std::string(words_of(stands[i].state));
    }
    if (stands.size() > max_listed)
        t.detail += "; and " + std::to_string(stands.size() - max_listed) + " more places";
    if (!ended.empty())
        t.detail += (t.detail.empty() ? "" : "; ") + text_of(ended) +
                    (ended.size() == 1 ? " has ended" : " have ended");
    return t;
}

}  // namespace lockwarp::exec
