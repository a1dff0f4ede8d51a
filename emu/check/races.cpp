// SPDX-License-Identifier: Apache-2.0
// Races: two accesses of the same bytes, one of them a store, that nothing orders (PTX manual,
// "Memory Consistency Model: Data-races"). Exact for the run that was made: each pair of accesses
// is compared by what the program orders, not by when they happened here.
//
// Shared memory: the warps of a CTA, and the lanes of a warp. Global memory: those and CTAs. Where
// a program has nothing by which CTAs could order one another, they run at the same time, each with
// a shadow of its own, and are compared at their ends; else they run on one thread and share one.
#include <algorithm>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/check/grid_races.hpp"
#include "emu/check/of_cluster.hpp"
#include "emu/check/race_accesses.hpp"
#include "emu/warp/cluster.hpp"
#include "emu/warp/memory.hpp"

namespace lockwarp::check {

namespace {

using ptx::Space;

// What the shadows of a launch may take beside as much as its buffers.
constexpr uint64_t spare_bytes = uint64_t{128} << 20;

struct Watched {
    Space space;
    // Where free gives blocks back malloc gives the same bytes again: they are not looked at.
    uint64_t heap_begin, heap_end;

    bool has(const warp::Access& a) const {
        if (a.space != space) return false;
        if (space != Space::global) return true;
        const auto lane = static_cast<uint32_t>(__builtin_ctz(a.lanes));
        // What a thread launches with is its own; another one may have had the memory before.
        const bool is_launchs = a.address[lane] - isa::launch_buffers < isa::launch_buffer_bytes;
        return (a.address[lane] < heap_begin || a.address[lane] >= heap_end) && !is_launchs;
    }
};

// What the CTAs of a cluster share.
struct Shared {
    std::shared_ptr<CtaClock::OfCluster> clock = std::make_shared<CtaClock::OfCluster>();
    Shadow shadow{spare_bytes};
};

class OfCta : public warp::CtaObserver {
  public:
    // places, shadow: nullptr: its own.
    OfCta(const warp::CtaPlace& cta, const Watched& watched, Places* places, Shadow* shadow,
          std::shared_ptr<Shared> shared)
        : own_shadow_(spare_bytes),
          watched_(watched),
          has_peers_(cta.cluster_ctas > 1),
          shared_(std::move(shared)),
          clock_(cta.index, places != nullptr ? *places : own_places_, shared_->clock, has_peers_),
          accesses_(clock_, shadow != nullptr                              ? *shadow
                            : has_peers_ && watched.space == Space::shared ? shared_->shadow
                                                                           : own_shadow_) {}

    void barrier_arrived(const warp::BarrierArrived& e) override { clock_.barrier_arrived(e); }
    void barrier_opened(const warp::BarrierOpened& e) override { clock_.barrier_opened(e); }
    void cluster_arrived(const warp::ClusterArrived& e) override { clock_.cluster_arrived(e); }
    void cluster_opened(const warp::ClusterOpened& e) override { clock_.cluster_opened(e); }
    void copies(const warp::CopyEvent& e) override { accesses_.copies(e); }
    void bulk(const warp::BulkEvent& e) override {
        bulk_ = e;
        ranges_.assign(e.ranges.begin(), e.ranges.end());
        for (warp::BulkRange& r : ranges_)
            if (r.space == Space::shared) r.address = place_in_cluster(r.cta, r.address);
        bulk_.ranges = ranges_;
        arrivals_.assign(e.arrivals.begin(), e.arrivals.end());
        bulk_.arrivals = arrivals_;
        is_bulk_ = true;
    }
    void retired(const warp::Retired& e) override {
        clock_.before(e);
        if (is_bulk_) {
            accesses_.bulk(e, bulk_, watched_.space);
            clock_.bulk(bulk_);
            is_bulk_ = false;
        }
        for (uint32_t i = 0; i < e.access_count; ++i)
            if (watched_.has(e.accesses[i])) accessed(e, e.accesses[i]);
        clock_.after(e);
    }

    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override {
        if (!trapped_) accesses_.ended();
    }

    const Shadow& shadow() const { return own_shadow_; }
    const Races& races() const { return accesses_.races; }

  private:
    // In a cluster's shadow of shared memory each CTA has a window of its own.
    void accessed(const warp::Retired& e, const warp::Access& a) {
        if (!has_peers_ || a.space != Space::shared) return accesses_.accessed(e, a);
        warp::Access in_cluster = a;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            in_cluster.address[lane] = place_in_cluster(a, lane);
        }
        accesses_.accessed(e, in_cluster);
    }

    Places own_places_;
    Shadow own_shadow_;
    Watched watched_;
    bool has_peers_;
    std::shared_ptr<Shared> shared_;
    CtaClock clock_;
    RaceAccesses accesses_;
    bool trapped_ = false;
    // Of the instruction that is about to retire.
    bool is_bulk_ = false;
    warp::BulkEvent bulk_{};
    std::vector<warp::BulkRange> ranges_;
    std::vector<warp::BulkArrival> arrivals_;
};

class RaceCheck : public Check {
  public:
    RaceCheck(const isa::Program& program, const warp::Launch& launch, Space space)
        : program_(program),
          grid_(launch.grid),
          watched_(watched(program, launch, space)),
          ordered_(orders_ctas(program) ||
                   warp::clusters_of(program, launch.grid, launch.cluster).size() > 1),
          shadow_(room(launch)),
          ctas_(launch.grid, room(launch)) {}

    bool wants_one_thread() const override { return ordered_; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        const bool share = ordered_ && watched_.space == Space::global;
        return std::make_unique<OfCta>(cta, watched_, ordered_ ? &places_ : nullptr,
                                       share ? &shadow_ : nullptr, shared_.of(cta));
    }
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override {
        const auto& of_cta = static_cast<const OfCta&>(*listener);
        races_.take(of_cta.races());
        incomplete_ |= of_cta.shadow().is_full();
        if (!ordered_ && watched_.space == Space::global) ctas_.take(cta.index, of_cta.shadow());
    }
    std::vector<Finding> findings() const override;

  private:
    static uint64_t room(const warp::Launch& launch) {
        uint64_t bytes = spare_bytes;
        for (const warp::Buffer* b : warp::buffers_of(launch)) bytes += b->bytes.size();
        return bytes;
    }
    static Watched watched(const isa::Program& program, const warp::Launch& launch, Space space) {
        const bool frees = std::ranges::any_of(program.calls, [](const isa::Call& c) {
            return c.system == isa::System::free || c.system == isa::System::release;
        });
        if (!frees) return {space, 0, 0};
        const uint64_t heap = launch.heap_address != 0 ? launch.heap_address : isa::heap_base;
        return {space, heap, heap + launch.heap_bytes};
    }

    const isa::Program& program_;
    warp::Dim3 grid_;
    Watched watched_;
    bool ordered_;  // CTAs may order one another
    Places places_;
    Shadow shadow_;
    OfCluster<Shared> shared_;
    GridRaces ctas_;
    Races races_;
    bool incomplete_ = false;
};

std::vector<Finding> RaceCheck::findings() const {
    Races all = races_;
    all.take(ctas_.races);
    std::vector<Finding> out = all.findings(program_, watched_.space, grid_);
    if (incomplete_ || shadow_.is_full() || ctas_.is_full()) {
        Finding f;
        f.kind = "incomplete";
        f.severity = Severity::note;
        f.message = "there was no room to follow all of the memory that the launch touches";
        out.push_back(std::move(f));
    }
    return out;
}

// Whether there are two who could race.
bool has_company(const warp::Launch& launch, Space space) {
    return launch.block.count() > 1 || (space == Space::global && launch.grid.count() > 1);
}

std::unique_ptr<Check> make(const isa::Program& program, const warp::Launch& launch, Space space) {
    if (!has_company(launch, space)) return nullptr;
    return std::make_unique<RaceCheck>(program, launch, space);
}

}  // namespace

std::unique_ptr<Check> shared_races(const isa::Program& program, const warp::Launch& launch) {
    return make(program, launch, Space::shared);
}

std::unique_ptr<Check> global_races(const isa::Program& program, const warp::Launch& launch) {
    return make(program, launch, Space::global);
}

}  // namespace lockwarp::check
