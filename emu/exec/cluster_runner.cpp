// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/cluster_runner.hpp"

#include <algorithm>
#include <utility>

#include "emu/exec/deadlock.hpp"

namespace lockwarp::exec {

namespace {

// Turns of each CTA before another cluster may have the core.
constexpr unsigned max_rounds = 16;

// Where somebody listens, a cluster that has retired no more than this goes on, so that what is
// kept of it can be let go soon.
constexpr uint64_t max_heard = 320'000;

}  // namespace

ClusterRunner::ClusterRunner(const Code& code, const warp::Launch& launch,
                             const warp::GlobalMemory& global, const Heaps& heaps,
                             Inspector* inspector, const warp::Clusters& clusters,
                             const Step* early)
    : launch_(launch), waits_since_(clusters.size()), exited_(clusters.size()) {
    cluster_.of = clusters;
    if (early != nullptr) cluster_.late = std::make_unique<Late>(early);
    for (uint32_t rank = 0; rank < clusters.size(); ++rank)
        ctas_.push_back(
            std::make_unique<CtaRunner>(code, launch, global, heaps, inspector, cluster_, rank));
}

void ClusterRunner::begin(uint64_t index) {
    cluster_.index = index;
    if (cluster_.late) cluster_.late->clear();
    for (const auto& cta : ctas_) cta->begin();
    begin_barrier(cluster_);
    std::ranges::fill(waits_since_, never);
    exited_.assign(exited_.size(), false);
}

uint64_t ClusterRunner::stores() const {
    uint64_t out = 0;
    for (const auto& cta : ctas_) out += cta->stores();
    return out;
}

// A CTA's end is a change too: its memory goes with it.
uint64_t ClusterRunner::changes() const {
    return stores() + static_cast<uint64_t>(std::ranges::count_if(
                          ctas_, [](const auto& cta) { return cta->has_ended(); }));
}

uint64_t ClusterRunner::instructions() const {
    uint64_t out = 0;
    for (const auto& cta : ctas_) out += cta->instructions();
    return out;
}

// Of a CTA that has exited neither: it has no lanes.
bool ClusterRunner::can_release() const {
    return std::ranges::any_of(ctas_, [](const auto& cta) { return cta->can_release(); });
}

bool ClusterRunner::is_timed() const {
    return std::ranges::any_of(ctas_, [](const auto& cta) { return cta->is_timed(); });
}

bool ClusterRunner::looks_outside() const {
    return std::ranges::any_of(ctas_, [](const auto& cta) { return cta->looks_outside(); });
}

const std::optional<warp::Trap>& ClusterRunner::trap() const {
    const auto found =
        std::ranges::find_if(ctas_, [](const auto& cta) { return cta->trap().has_value(); });
    return found == ctas_.end() ? ctas_.front()->trap() : (*found)->trap();
}

ClusterRunner::Stands ClusterRunner::give_up() {
    warp::Trap trap = deadlock(cluster_.ctas);
    CtaRunner& cta = *ctas_[cluster_.of.rank_of(trap.cta_index)];
    cta.give_up(std::move(trap));
    return Stands::ended;
}

ClusterRunner::Stands ClusterRunner::go_on(Turn turn, bool others_wait) {
    if (ctas_.size() == 1) return ctas_.front()->go_on(turn, true, others_wait);
    if (turn == Turn::give_up) return give_up();
    // Other clusters may have changed memory.
    std::ranges::fill(waits_since_, never);
    const bool is_heard =
        !launch_.observers.empty() && launch_.turn == 0 && launch_.oracle == nullptr;
    const uint64_t end = instructions() + (is_heard ? max_heard : 0);
    const unsigned rounds = launch_.turn == 0 ? max_rounds : 1;
    Stands stands = go_round(turn, others_wait);
    const auto gives_way = [&] {
        return others_wait &&
               std::ranges::any_of(ctas_, [](const auto& cta) { return cta->gave_way(); });
    };
    for (unsigned n = 1;
         stands == Stands::waits && (n < rounds || instructions() < end) && !gives_way(); ++n)
        stands = go_round(Turn::ordinary, others_wait);
    return stands;
}

// CTAs that have exited end once no other goes on: a peer that touches their memory as its last
// deed finds it, as it does on a GPU, where CTAs of a cluster end at nearly the same time.
bool ClusterRunner::end_exited() {
    bool any = false;
    for (size_t rank = 0; rank < ctas_.size(); ++rank) {
        if (!exited_[rank] || ctas_[rank]->has_ended()) continue;
        ctas_[rank]->end();
        any = true;
    }
    return any;
}

// Each CTA that may go on has a turn; of lanes that are let go, those of one.
ClusterRunner::Stands ClusterRunner::go_round(Turn turn, bool others_wait) {
    for (size_t rank = 0; rank < ctas_.size(); ++rank) {
        CtaRunner& cta = *ctas_[rank];
        if (exited_[rank] || waits_since_[rank] == changes()) continue;
        const bool may_release = turn == Turn::release && cta.can_release();
        const Turn own = turn == Turn::release && !may_release ? Turn::ordinary : turn;
        if (may_release) turn = Turn::ordinary;
        bool peers_wait = false;
        for (size_t peer = 0; peer < ctas_.size(); ++peer)
            peers_wait |= peer != rank && !exited_[peer] && waits_since_[peer] != never;
        const Stands stands = cta.go_on(own, false, others_wait || peers_wait);
        if (cta.trap()) {
            end_exited();
            return Stands::ended;
        }
        exited_[rank] = stands == Stands::exited;
        waits_since_[rank] = stands == Stands::only_waits ? changes() : never;
    }
    const uint64_t now = changes();
    bool runs = false;
    for (size_t rank = 0; rank < ctas_.size(); ++rank)
        runs |= !exited_[rank] && waits_since_[rank] != now;
    if (runs) return Stands::waits;
    const bool ends = end_exited();
    const auto is_done = [](const auto& cta) { return cta->has_ended(); };
    if (std::ranges::all_of(ctas_, is_done)) return Stands::ended;
    if (ends) return Stands::waits;
    const bool stuck = std::ranges::all_of(
        ctas_, [](const auto& cta) { return cta->has_ended() || cta->is_stuck(); });
    return stuck ? give_up() : Stands::only_waits;
}

}  // namespace lockwarp::exec
