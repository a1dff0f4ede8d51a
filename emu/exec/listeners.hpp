// SPDX-License-Identifier: Apache-2.0
// Those who listen to one CTA, and to whom they go back.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::exec {

using Observers = std::span<warp::Observer* const>;
using CtaObservers = std::vector<std::unique_ptr<warp::CtaObserver>>;  // by observer; may be empty

// The listeners of a CTA; each event goes to all of them, in the order of the observers.
class Listeners {
  public:
    // Of a CTA that begins. false: nobody listens.
    bool begin(Observers observers, const warp::CtaPlace& cta, size_t warps);
    CtaObservers end();

    void retired(const warp::Retired& e) {
        for (warp::CtaObserver* l : listening_) l->retired(e);
    }
    void barrier_arrived(const warp::BarrierArrived& e) {
        for (warp::CtaObserver* l : listening_) l->barrier_arrived(e);
    }
    void barrier_opened(const warp::BarrierOpened& e) {
        for (warp::CtaObserver* l : listening_) l->barrier_opened(e);
    }
    void cluster_arrived(const warp::ClusterArrived& e) {
        for (warp::CtaObserver* l : listening_) l->cluster_arrived(e);
    }
    void cluster_opened(const warp::ClusterOpened& e) {
        for (warp::CtaObserver* l : listening_) l->cluster_opened(e);
    }
    void heap(const warp::HeapEvent& e) {
        for (warp::CtaObserver* l : listening_) l->heap(e);
    }
    void reconverged(const warp::Reconverged& e) {
        for (warp::CtaObserver* l : listening_) l->reconverged(e);
    }
    void trapped(const warp::Trap& trap) {
        for (warp::CtaObserver* l : listening_) l->trapped(trap);
    }
    // Lanes executed one of the instructions of cp.async, and touched this.
    void copies(const isa::Operation& o, uint32_t operation, warp::WarpLanes who,
                std::span<const warp::Access> accesses);
    // Lanes executed a bulk copy, or what commits or awaits such.
    void bulk(const isa::Operation& o, uint32_t operation, warp::WarpLanes who,
              std::span<const warp::BulkRange> ranges, std::span<const warp::BulkArrival> arrivals);

  private:
    CtaObservers all_;
    std::vector<warp::CtaObserver*> listening_;
    std::vector<std::array<uint32_t, 32>> groups_;  // by warp and lane: groups committed
    std::vector<std::array<uint32_t, 32>> bulk_groups_;
};

// Whether Listeners::copies is to hear of an operation.
bool is_of_copies(isa::Op op);
bool is_bulk(isa::Op op);  // Listeners::bulk

// Gives CTAs' listeners back to their observers in the order of the CTAs, of clusters and by rank
// in each, whatever the order in which they end.
class Handover {
  public:
    Handover(Observers observers, uint64_t first_cta) : observers_(observers), next_(first_cta) {}
    // A CTA has ended; `last`: one of its cluster trapped, none behind it is handed over.
    void put(const warp::CtaPlace& cta, CtaObservers listeners, bool last);

  private:
    struct Ended {
        warp::CtaPlace cta;
        CtaObservers listeners;
        bool last = false;
    };
    Observers observers_;
    std::mutex lock_;  // taken once a CTA
    std::map<uint64_t, Ended> waiting_;
    uint64_t next_;
};

}  // namespace lockwarp::exec
