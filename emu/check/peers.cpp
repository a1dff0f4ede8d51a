// SPDX-License-Identifier: Apache-2.0
// Uses of a peer's shared memory that its CTA need not live to see: nothing that the CTA waits for
// comes after them by the manual's order, in which a .relaxed arrival at the cluster's barrier says
// nothing of what was done before. CUDA C++ programming guide, "Distributed Shared Memory": a CTA
// may not exit before all operations on its shared memory are complete.
//
// What an mbarrier of that CTA counts (an arrival, complete_tx, a bulk copy) is complete when its
// phase is, whatever its order: where a thread of the CTA has waited for the phase, it lived to see
// it.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/check/clocks.hpp"
#include "emu/check/of_cluster.hpp"
#include "emu/warp/cluster.hpp"

namespace lockwarp::check {

namespace {

// The last use that a warp made of a CTA's memory, with the time of its clock.
struct Use {
    Site site;
    uint32_t time = 0;
    uint64_t address = 0;
    // The mbarrier that counts it, in the cluster, and its phase.
    std::optional<uint64_t> counted_by;
    uint64_t phase = 0;
};

// What the CTAs of a cluster share.
struct Shared {
    struct User {
        uint64_t cta;
        uint32_t warp;
        std::optional<uint64_t> counted_by;
        auto operator<=>(const User&) const = default;
    };
    std::shared_ptr<CtaClock::OfCluster> clock = std::make_shared<CtaClock::OfCluster>();
    std::map<uint32_t, std::map<User, Use>> uses;  // by the rank of the CTA whose memory it is
    // Of an mbarrier, how many phases a thread of its CTA knows to have ended.
    std::unordered_map<uint64_t, uint64_t> awaited;
};

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const warp::CtaPlace& place, std::shared_ptr<Shared> shared)
        : place_(place),
          shared_(std::move(shared)),
          clock_(place.index, places_, shared_->clock, true) {}

    void barrier_arrived(const warp::BarrierArrived& e) override { clock_.barrier_arrived(e); }
    void barrier_opened(const warp::BarrierOpened& e) override { clock_.barrier_opened(e); }
    void cluster_arrived(const warp::ClusterArrived& e) override { clock_.cluster_arrived(e); }
    void cluster_opened(const warp::ClusterOpened& e) override { clock_.cluster_opened(e); }
    // Comes before the instruction retires.
    void bulk(const warp::BulkEvent& e) override;
    void retired(const warp::Retired& e) override;
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override;

    Collection found;

  private:
    void use(uint32_t rank, uint64_t address, uint32_t operation, warp::WarpLanes who,
             uint64_t step, std::optional<uint64_t> counted_by);
    void wait(const warp::Retired& e);
    bool is_over(const Shared::User& user, const Use& use) const;

    warp::CtaPlace place_;
    std::shared_ptr<Shared> shared_;
    Places places_;
    CtaClock clock_;
    uint32_t warps_ = 0;
    bool trapped_ = false;
};

void OfCta::use(uint32_t rank, uint64_t address, uint32_t operation, warp::WarpLanes who,
                uint64_t step, std::optional<uint64_t> counted_by) {
    if (rank == place_.rank) return;
    shared_->uses[rank][{place_.index, who.warp, counted_by}] = {
        {operation, place_.id, who.warp, who.lanes, step},
        clock_.warp(who.warp % max_warps).time(),
        address,
        counted_by,
        counted_by ? clock_.phases(*counted_by) : 0};
}

void OfCta::bulk(const warp::BulkEvent& e) {
    for (const warp::BulkRange& r : e.ranges) {
        if (r.space != ptx::Space::shared) continue;
        // Of a multicast copy each CTA has an mbarrier.
        const auto counts = std::ranges::find_if(e.arrivals, [&](const warp::BulkArrival& a) {
            return a.lane == r.lane && a.cta == r.cta;
        });
        std::optional<uint64_t> counted_by;
        if (counts != e.arrivals.end()) counted_by = place_in_cluster(counts->cta, counts->address);
        use(r.cta, r.address, e.operation, {e.who.warp, 1u << r.lane}, 0, counted_by);
    }
    clock_.bulk(e);
}

void OfCta::wait(const warp::Retired& e) {
    const warp::Access& a = e.accesses[0];
    const isa::Operation& o = e.program->operations[e.operation];
    uint32_t over = 0;
    std::memcpy(&over, e.registers + o.r[0], sizeof over);
    for (uint32_t rest = a.lanes & e.executed & over; rest != 0; rest &= rest - 1) {
        const uint64_t at = place_in_cluster(a, static_cast<uint32_t>(__builtin_ctz(rest)));
        shared_->awaited[at] = clock_.phases(at);
    }
}

void OfCta::retired(const warp::Retired& e) {
    warps_ = std::max(warps_, e.warp + 1);
    clock_.before(e);
    const isa::Operation& o = e.program->operations[e.operation];
    const bool is_barrier = isa::row(o.op).memory == isa::Memory::barrier;
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        if (a.space != ptx::Space::shared) continue;
        for (uint32_t rest = a.remote; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            std::optional<uint64_t> counted_by;
            if (is_barrier) counted_by = place_in_cluster(a, lane);
            use(a.rank[lane], a.address[lane], e.operation, {e.warp, 1u << lane}, e.step,
                counted_by);
        }
    }
    if (o.op == isa::Op::mbarrier_wait && e.access_count != 0) wait(e);
    clock_.after(e);
}

bool OfCta::is_over(const Shared::User& user, const Use& use) const {
    if (use.counted_by)
        if (const auto at = shared_->awaited.find(*use.counted_by);
            at != shared_->awaited.end() && use.phase < at->second)
            return true;
    for (uint32_t w = 0; w < std::min(warps_, max_warps); ++w)
        if (clock_.warp(w).knowledge().model.has(place_.index, user.cta, user.warp % max_warps,
                                                 use.time, use.site.lanes))
            return true;
    return false;
}

void OfCta::ended() {
    if (trapped_) return;
    for (const auto& [user, use] : shared_->uses[place_.rank]) {
        if (is_over(user, use) || found.again("peer-ended", use.site.operation, std::nullopt))
            continue;
        Finding f;
        f.kind = "peer-ended";
        f.here = use.site;
        f.space = ptx::Space::shared;
        f.address = use.address;
        f.message = "uses shared memory of the CTA of rank " + std::to_string(place_.rank) +
                    ", which may have ended: nothing that it waits for comes after this";
        f.hint =
            use.counted_by
                ? "that CTA waits for this phase of its mbarrier before it exits, or the threads "
                  "of both meet at the cluster's barrier (barrier.cluster.arrive, not .relaxed, "
                  "and .wait)"
                : "the threads of both CTAs meet at the cluster's barrier before they exit "
                  "(barrier.cluster.arrive, not .relaxed, and .wait)";
        found.add(std::move(f));
    }
}

class Peers : public Check {
  public:
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(place, shared_.of(place));
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    OfCluster<Shared> shared_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> ended_peers(const isa::Program& program, const warp::Launch& launch) {
    if (warp::clusters_of(program, launch.grid, launch.cluster).size() <= 1) return nullptr;
    return std::make_unique<Peers>();
}

}  // namespace lockwarp::check
