// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/cluster.hpp"

#include <algorithm>

#include "emu/exec/listeners.hpp"

namespace lockwarp::exec {

using warp::Path;
using warp::PathState;
using warp::TrapKind;
using warp::Warp;

namespace {

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

std::string threads_text(uint32_t lanes) {
    return count(lanes) == 1 ? "a thread" : std::to_string(count(lanes)) + " threads";
}

// An .aligned instruction is of the whole warp. true: a trap was set.
bool is_diverged(Context& c, const Operation& o, uint32_t mask) {
    if (!o.aligned_barrier || mask == c.warp->live) return false;
    set_trap(c, o, TrapKind::diverged,
             std::to_string(count(mask)) + " of the warp's " + std::to_string(count(c.warp->live)) +
                 " threads are here");
    return true;
}

bool any_arrived(const Cluster& cluster) {
    return std::ranges::any_of(cluster.ctas, [](const Context* of) {
        return std::ranges::any_of(of->cta->warps,
                                   [](const Warp& w) { return w.cluster_arrived != 0; });
    });
}

// Whoever waits goes on; the next phase begins with all that live.
void open(Context& c) {
    Cluster& cluster = *c.cluster;
    for (Context* const of : cluster.ctas)
        for (Warp& w : of->cta->warps) {
            w.cluster_opened |= w.cluster_arrived & w.live;
            w.cluster_arrived = 0;
            cluster.missing += count(w.live);
            for (Path& p : w.paths)
                if (p.state == PathState::at_cluster) p.state = PathState::ready;
        }
    const warp::ClusterOpened opened{cluster.phase++};
    for (Context* const of : cluster.ctas)
        if (of->listeners != nullptr && !of->cta->ended) of->listeners->cluster_opened(opened);
    ++c.stores;
}

}  // namespace

std::span<uint8_t> shared_of(const Context& c, uint32_t rank) {
    if (rank >= c.cluster->ctas.size()) return {};
    warp::Cta& cta = *c.cluster->ctas[rank]->cta;
    return cta.ended ? std::span<uint8_t>{} : std::span(cta.shared);
}

std::string why_no_peer(const Context& c, uint32_t rank) {
    const size_t ctas = c.cluster->ctas.size();
    const std::string name = "the CTA of rank " + std::to_string(rank);
    if (rank >= ctas)
        return "there is no CTA of rank " + std::to_string(rank) + ": the cluster has " +
               std::to_string(ctas);
    return c.cluster->ctas[rank]->cta->ended ? name + " has ended, and its shared memory with it"
                                             : "";
}

uint8_t* find_in_cluster(const Context& c, uint64_t address, uint64_t bytes) {
    if (address >= isa::cluster_window_bytes) return nullptr;
    const std::span<uint8_t> shared = shared_of(c, isa::rank_of(address));
    const uint64_t offset = isa::within_cta(address) - c.program->shared_begin;
    return offset < shared.size() && shared.size() - offset >= bytes ? shared.data() + offset
                                                                     : nullptr;
}

void begin_barrier(Cluster& cluster) {
    cluster.missing = 0;
    cluster.phase = 0;
    cluster.ledger.clear();
    for (const Context* const of : cluster.ctas)
        for (const Warp& w : of->cta->warps) cluster.missing += count(w.live);
}

void cluster_arrive(Context& c, const Operation& o, uint32_t mask) {
    // ptxas' code for a launch without clusters leaves it out.
    if (!c.cluster->of.is_explicit || is_diverged(c, o, mask)) return;
    Warp& w = *c.warp;
    if (const uint32_t again = w.cluster_arrived & mask; again != 0) {
        set_trap(c, o, TrapKind::bad_mask,
                 threads_text(again) +
                     " of the warp had arrived at the cluster's barrier before, "
                     "and not waited since");
        return;
    }
    ++c.stores;
    w.cluster_opened &= ~mask;
    w.cluster_arrived |= mask;
    c.cluster->missing -= count(mask);
    if (c.listeners != nullptr)
        c.listeners->cluster_arrived({static_cast<uint32_t>(&o - c.program->operations.data()),
                                      {w.index, mask},
                                      o.mod.memory_order != isa::MemoryOrder::relaxed});
    if (c.cluster->missing == 0) open(c);
}

bool cluster_wait(Context& c, size_t path, const Operation& o, uint32_t mask) {
    Warp& w = *c.warp;
    if (is_diverged(c, o, mask)) return true;
    if (const uint32_t never = mask & ~(w.cluster_arrived | w.cluster_opened); never != 0) {
        set_trap(c, o, TrapKind::deadlock,
                 threads_text(never) + " of the warp wait" + (count(never) == 1 ? "s" : "") +
                     " at the cluster's barrier without having arrived there");
        return true;
    }
    Path& p = w.paths[path];
    if ((mask & ~w.cluster_opened) != 0) {
        p.state = PathState::at_cluster;
        return false;
    }
    w.cluster_opened &= ~mask;
    ++p.pc;
    return true;
}

void leave_cluster(Context& c, Warp& w, uint32_t lanes) {
    Cluster& cluster = *c.cluster;
    if (!cluster.of.is_explicit) return;
    const uint32_t missed = lanes & ~w.cluster_arrived;
    w.cluster_arrived &= ~lanes;
    cluster.missing -= count(missed);
    if (missed != 0 && cluster.missing == 0 && any_arrived(cluster)) open(c);
}

}  // namespace lockwarp::exec
