// SPDX-License-Identifier: Apache-2.0
// Uses of a peer's shared memory that its CTA need not live to see: nothing that the CTA waits for
// comes after them by the manual's order, in which a .relaxed arrival at the cluster's barrier says
// nothing of what was done before. CUDA C++ programming guide, "Distributed Shared Memory": a CTA
// may not exit before all operations on its shared memory are complete.
#include <algorithm>
#include <map>
#include <string>
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
};

// What the CTAs of a cluster share.
struct Shared {
    using User = std::pair<uint64_t, uint32_t>;  // CTA, warp
    std::shared_ptr<CtaClock::OfCluster> clock = std::make_shared<CtaClock::OfCluster>();
    std::map<uint32_t, std::map<User, Use>> uses;  // by the rank of the CTA whose memory it is
};

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const warp::CtaPlace& place, std::shared_ptr<Shared> shared)
        : place_(place), shared_(std::move(shared)), clock_(place.index, places_, shared_->clock) {}

    void barrier_arrived(const warp::BarrierArrived& e) override { clock_.barrier_arrived(e); }
    void barrier_opened(const warp::BarrierOpened& e) override { clock_.barrier_opened(e); }
    void cluster_arrived(const warp::ClusterArrived& e) override { clock_.cluster_arrived(e); }
    void cluster_opened(const warp::ClusterOpened& e) override { clock_.cluster_opened(e); }
    // Comes before the instruction retires.
    void bulk(const warp::BulkEvent& e) override {
        for (const warp::BulkRange& r : e.ranges)
            if (r.space == ptx::Space::shared) use(r.cta, r.address, e.operation, e.who, 0);
        clock_.bulk(e);
    }
    void retired(const warp::Retired& e) override;
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override;

    Collection found;

  private:
    void use(uint32_t rank, uint64_t address, uint32_t operation, warp::WarpLanes who,
             uint64_t step) {
        if (rank == place_.rank) return;
        shared_->uses[rank][{place_.index, who.warp}] = {
            {operation, place_.id, who.warp, who.lanes, step},
            clock_.warp(who.warp % max_warps).time(),
            address};
    }

    warp::CtaPlace place_;
    std::shared_ptr<Shared> shared_;
    Places places_;
    CtaClock clock_;
    uint32_t warps_ = 0;
    bool trapped_ = false;
};

void OfCta::retired(const warp::Retired& e) {
    warps_ = std::max(warps_, e.warp + 1);
    clock_.before(e);
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        if (a.space != ptx::Space::shared) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            use(a.rank[lane], a.address[lane], e.operation, {e.warp, 1u << lane}, e.step);
        }
    }
    clock_.after(e);
}

void OfCta::ended() {
    if (trapped_) return;
    for (const auto& [user, use] : shared_->uses[place_.rank]) {
        bool is_before = false;
        for (uint32_t w = 0; w < std::min(warps_, max_warps) && !is_before; ++w)
            is_before = clock_.warp(w).knowledge().model.has(
                place_.index, user.first, user.second % max_warps, use.time, use.site.lanes);
        if (is_before || found.again("peer-ended", use.site.operation, std::nullopt)) continue;
        Finding f;
        f.kind = "peer-ended";
        f.here = use.site;
        f.space = ptx::Space::shared;
        f.address = use.address;
        f.message = "uses shared memory of the CTA of rank " + std::to_string(place_.rank) +
                    ", which may have ended: nothing that it waits for comes after this";
        f.hint =
            "the threads of both CTAs meet at the cluster's barrier before they exit "
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
