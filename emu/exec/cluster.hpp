// SPDX-License-Identifier: Apache-2.0
// What the CTAs of a cluster have in common: their shared memories, which each of them may touch,
// and their barrier. They run interleaved on one thread.
#pragma once

#include <span>

#include "emu/exec/context.hpp"
#include "emu/exec/late.hpp"
#include "emu/exec/ledger.hpp"
#include "emu/warp/cluster.hpp"

namespace lockwarp::exec {

struct Cluster {
    warp::Clusters of;           // those of the launch
    uint64_t index = 0;          // which of them
    std::vector<Context*> ctas;  // by rank
    // The barrier: threads that have neither arrived in its present phase nor exited, and how many
    // phases have ended.
    uint64_t missing = 0;
    uint64_t phase = 0;
    Ledger ledger;               // of its mbarriers
    std::unique_ptr<Late> late;  // nullptr: asynchronous instructions run where they are issued
};

// The shared memory of the CTA of that rank, of which an address in the window of its rank,
// isa::within_cta(address) - Program::shared_begin, is a byte. Empty: there is no such CTA, or it
// has ended, as why_no_peer() says.
std::span<uint8_t> shared_of(const Context& c, uint32_t rank);
std::string why_no_peer(const Context& c, uint32_t rank);

// Where `bytes` bytes at an address of any CTA's window lie; nullptr where they do not.
uint8_t* find_in_cluster(const Context& c, uint64_t address, uint64_t bytes);

// f(rank) for each CTA that the mask of a multicast names (PTX manual, cp.async.bulk:
// ".multicast::cluster": bit i is %cluster_ctarank i), lowest first.
template <class F>
void each_rank(uint32_t mask, F f) {
    for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(__builtin_ctz(mask)));
}

// The same address in the window of another CTA.
constexpr uint64_t in_window_of(uint32_t rank, uint64_t address) {
    return (address & ~uint64_t{0xff000000}) | uint64_t{rank} << isa::rank_bit;
}

// All threads of the cluster are there, and none has arrived at its barrier.
void begin_barrier(Cluster& cluster);

// The lanes `mask` of a path arrive at the cluster's barrier.
void cluster_arrive(Context& c, const Operation& o, uint32_t mask);

// They wait until it has opened since. false: it has not.
bool cluster_wait(Context& c, size_t path, const Operation& o, uint32_t mask);

// Lanes of a warp have exited.
void leave_cluster(Context& c, warp::Warp& w, uint32_t lanes);

}  // namespace lockwarp::exec
