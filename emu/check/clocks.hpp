// SPDX-License-Identifier: Apache-2.0
// What happened before what, between the warps of a grid: vector clocks. PTX manual, "Memory
// Consistency Model: Causality order".
//
// A warp's accesses between two of its releases (arrivals at barriers, fences, releasing stores)
// share a time, a number that grows in its CTA. What a warp knows is, for each other warp, up to
// which time that warp's accesses happened before its own next one.
//
// Of a warp whose lanes have gone apart a release lets go, in the manual's order, what the
// releasing lanes did, and others that they met (bar.warp.sync) since; and what an acquire finds is
// known to the acquiring lanes and those that they meet.
//
// Beside that order there is one by convention: flags that are strong (volatile, relaxed) without
// the fences that the manual asks for, and atomics behind which no fence comes, as much code has
// them. An atomic on global memory that no fence comes before is no convention: the counter of a
// grid's last CTA without __threadfence (CUDA C++ programming guide, "Memory Fence Functions"). It
// is convention too that a barrier of the whole CTA comes after what threads did that have exited.
// It contains the other order.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "emu/check/known.hpp"
#include "emu/isa/modifiers.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::check {

// Which threads a release or a fence reaches: those of its CTA, or all. A cluster's are taken for
// all.
enum class Reach : uint8_t { cta, grid };

// What strong writes left for those who read the place: those of one CTA for its own, or those of
// every CTA.
struct Left {
    uint64_t cta = every_cta;
    bool by_model = true;  // false: by convention alone, and nothing is known of the model's
    std::shared_ptr<const Knowledge> knowledge;
};

// A place that strong operations touch.
struct Place {
    std::vector<Left> for_all;
    uint64_t version = 0;  // another with each write
    uint64_t stores = 0;   // each leaves nothing of what was before
};
using Places = std::unordered_map<uint64_t, Place>;  // by the address of a word

// One warp.
class WarpClock {
  public:
    uint32_t time() const { return time_; }
    // From when on its lanes' accesses may be unordered among themselves: all of its lanes met at
    // that time.
    uint32_t met() const { return met_; }
    // Changes whenever what it knows or its time does.
    uint32_t version() const { return version_; }
    const Knowledge& knowledge() const { return now_; }
    // What of it, in the manual's order, a lane knows that has or has not met those that learned it
    // last (by an acquire); and whether that is the same for all lanes.
    const Known& model(uint32_t lane) const {
        return base_ == nullptr || (knowing_ >> lane & 1) != 0 ? now_.model : *base_;
    }
    bool lanes_agree() const { return base_ == nullptr; }

  private:
    friend class CtaClock;

    Knowledge now_;
    std::shared_ptr<const Known> base_;  // of lanes that are not `knowing_`; nullptr: none
    uint32_t knowing_ = 0;
    uint32_t live_ = 0;  // lanes that have retired something
    uint32_t time_ = 1;
    uint32_t met_ = 1;
    uint32_t version_ = 0;
    // By Reach: what the last fence that reaches so far let go.
    std::array<std::shared_ptr<const Knowledge>, 2> fenced_;
    bool fenced_since_write_ = false;
    Reach last_fence_ = Reach::cta;
    // What strong reads found, until a fence acquires it.
    std::vector<Left> found_;
    // What it learnt last of places.
    struct Learnt {
        std::shared_ptr<const Knowledge> knowledge;
        bool by_model = false;
        bool operator==(const Learnt&) const = default;
    };
    std::array<Learnt, 4> learnt_;
    const Place* read_ = nullptr;  // the place that it read last, to poll without work
    uint64_t read_version_ = 0;
    std::shared_ptr<const Knowledge> kept_;  // a copy of now_ of this version
    uint32_t kept_version_ = UINT32_MAX;
    uint32_t kept_lanes_ = 0;

    // How lanes of the warp came together since all of them met.
    struct Meeting {
        uint32_t time;  // accesses of earlier times come before it
        uint32_t lanes;
        enum Kind : uint8_t { sync, together, order } kind;
    };
    std::vector<Meeting> meetings_;
    uint32_t active_ = 0;

    // What it knew at each of its wgmma groups, but for the oldest, which its warpgroup waited for.
    std::deque<std::shared_ptr<const Knowledge>> products_;
    uint64_t products_gone_ = 0;
    uint64_t products_waited_ = 0;  // groups that it has waited for
};

// How two accesses by lanes of one warp are ordered.
enum class LaneOrder : uint8_t {
    ordered,   // by a barrier of the warp, or by a release and an acquire
    together,  // the lanes ran together between: by convention
    none,      // they are on paths of their own
};

// The warps of one CTA: what it hears of its run.
class CtaClock {
  public:
    struct OfCluster;
    // `places` of global memory: shared with other CTAs only where all run on one thread.
    // `of_cluster`: shared with those of its cluster, if it has peers in one; nullptr: its own.
    CtaClock(uint64_t cta, Places& places, std::shared_ptr<OfCluster> of_cluster, bool has_peers);

    void cluster_arrived(const warp::ClusterArrived& e);
    void cluster_opened(const warp::ClusterOpened& e);

    void barrier_arrived(const warp::BarrierArrived& e);
    void barrier_opened(const warp::BarrierOpened& e);
    // Before the accesses of the instruction are looked at, and after that.
    void before(const warp::Retired& e);
    void after(const warp::Retired& e);
    // Bulk copies have brought their bytes to mbarriers: who waits for those comes after them.
    void bulk(const warp::BulkEvent& e);

    uint64_t cta() const { return cta_; }
    // Whether a barrier of the whole CTA has opened that the warp had exited before.
    bool exited(uint32_t warp) const { return (exited_ >> warp & 1) != 0; }
    const WarpClock& warp(uint32_t index) const { return warps_[index]; }
    // How many phases of the mbarrier at that place in the cluster have ended.
    uint64_t phases(uint64_t place) const;
    LaneOrder order(uint32_t warp, uint32_t time, uint32_t earlier_lanes, uint32_t lane) const;

  private:
    struct Barrier {
        Knowledge arrived;
        std::array<Knowledge, 2> fenced;  // by Reach: what fences before the arrivals let go
        bool any_fenced = false;
        bool of_all = false;  // it waits for all threads that have not exited
    };
    // An mbarrier, in shared memory.
    struct Phases {
        uint32_t expected = 0, pending = 0;
        int64_t bytes = 0;
        Knowledge arrived, ended;  // in this phase, in the last one that ended
        uint64_t number = 0;       // of this phase: how many ended before it
    };

    // What its own strong writes left at a place since a store to it.
    struct OwnLeft {
        uint64_t stores = 0;
        std::vector<Left> left;
    };

    void join_exited(Barrier& b, std::span<const warp::WarpLanes> released);
    void advance(WarpClock& w);
    void all_met(WarpClock& w);
    void note_meeting(WarpClock& w, uint32_t lanes, WarpClock::Meeting::Kind kind);
    void note_active(WarpClock& w, const warp::Retired& e);
    // What lanes of the warp let go now.
    std::shared_ptr<const Knowledge> kept(WarpClock& w, uint32_t index, uint32_t lanes);
    // One of each CTA, which has all that was left.
    void keep(std::vector<Left>& all, const Left& more);
    void learn(WarpClock& w, const Left& left, bool by_model, uint32_t lanes);
    void begin_learning(WarpClock& w, uint32_t lanes);
    void meet(WarpClock& w, const warp::Retired& e, const isa::Operation& o);
    void fence(WarpClock& w, uint32_t index, const isa::Operation& o, uint32_t lanes);
    Place& place(const warp::Access& a, uint32_t lane);
    void read_place(WarpClock& w, const isa::Operation& o, Place& p, uint32_t lanes);
    void write_place(WarpClock& w, uint32_t index, const isa::Operation& o, const warp::Access& a,
                     Place& p, uint32_t lanes);
    // Whether it has ended.
    static bool end_phase(Phases& p);
    void arrive(WarpClock& w, uint32_t index, const warp::Retired& e, const isa::Operation& o);
    void wait(WarpClock& w, const warp::Retired& e, const isa::Operation& o);
    void commit_products(WarpClock& w, uint32_t index);
    void wait_for_products(WarpClock& w, uint32_t index, uint64_t pending);

    uint64_t cta_;
    Places& places_;
    bool has_peers_;
    std::unordered_map<const Place*, OwnLeft> left_;
    // What it told last at places, for its own and for every CTA; by whether the manual orders it.
    struct Told {
        std::shared_ptr<const Knowledge> knowledge, own, every;
    };
    std::array<Told, 2> told_;
    // What keep() made last: as a rule many places are left the same.
    struct Kept {
        std::shared_ptr<const Knowledge> before, more, after;
    };
    std::array<Kept, 4> kept_;
    uint32_t now_ = 1;
    std::array<WarpClock, max_warps> warps_{};
    std::array<Barrier, 16> barriers_{};
    uint32_t exited_ = 0;  // warps, by bits
    std::shared_ptr<OfCluster> shared_;
};

// What the warps of a cluster's CTAs, or of a CTA alone, tell one another in shared memory and at
// the cluster's barrier. Knowledge in it is told as that of CTA `owner`.
struct CtaClock::OfCluster {
    uint64_t owner = UINT64_MAX;                     // of those that share it: the first
    std::unordered_map<uint64_t, Phases> mbarriers;  // by place_in_cluster()
    Places places;                                   // likewise
    Knowledge arriving, opened;  // at the barrier: in its present phase, in the last that ended
    uint64_t phases = 0;         // that have ended
};

// How far an operation's scope reaches; where it says none, that of its kind (PTX manual: .gpu of
// atom and red, .sys of ld.volatile, .cta of mbarrier).
Reach reach_of(const isa::Operation& o);

// Whether it is a strong operation on memory: PTX manual, "Operation Types".
bool is_strong(const isa::Operation& o);

// Whether operations of the program may order CTAs: strong ones on memory that CTAs share.
bool orders_ctas(const isa::Program& program);

}  // namespace lockwarp::check
