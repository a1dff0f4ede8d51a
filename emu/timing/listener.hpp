// SPDX-License-Identifier: Apache-2.0
// What the model needs to hear of a run: each warp's stream of instructions, with what their memory
// accesses cost.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "emu/timing/lowering.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::timing {

// Where an instruction's bytes lay. An instruction that no lane executed touches nothing.
enum class Touched : uint8_t { nothing, shared, global, both };

struct Item {
    uint32_t operation = 0;
    uint16_t wavefronts = 0;  // of shared memory
    uint16_t lines = 0;       // of 128 bytes in global memory
    uint16_t sectors = 0;     // of them, sectors of 32 bytes that L1 did not have
    uint16_t map = 0;         // its tensor map: of CtaStreams::maps, from 1; 0: none
    Touched touched = Touched::nothing;
    bool dram : 1 = false;     // sectors that L2 did not have either
    bool arrives : 1 = false;  // at a barrier or an mbarrier: the next of Stream::arrivals
    bool remote : 1 = false;   // arrives by an address of the cluster's shared memory
};

// The cluster's barrier beside those of the CTA.
inline constexpr uint8_t cluster_barrier = 16;
// A phase of an mbarrier: those arrive that its end needs, and those wait that wait for it.
inline constexpr uint8_t phase_barrier = 17;

struct Stream {
    std::vector<Item> items;         // in the order of the schedule, block by block
    std::vector<uint32_t> arrivals;  // into CtaStreams::openings, in the order of the items
};

// One opening of a barrier, as the run had it.
struct Opening {
    uint8_t barrier = 0;    // 0 to 15, cluster_barrier or phase_barrier
    bool all = true;        // it counted every warp that had not ended
    uint32_t arrivals = 0;  // items that arrived at it
    uint32_t warps = 0;     // whose, by bits
};

// Of one CTA.
struct CtaStreams {
    uint64_t cta = 0;
    std::vector<Stream> warps;
    std::vector<Opening> openings;
    std::vector<uint64_t> maps;  // addresses of the tensor maps that it used
    bool ended = false;          // without a trap, and not cut
};

// Hears the CTAs that one SM would run: those whose index is a multiple of `stride`. L1 keeps the
// lines it has seen, as far as it is large enough; L2 has everything, unless `cold`. Both hear of
// the CTAs' accesses one CTA after another.
class Listener : public warp::Observer {
  public:
    // max_items: of all CTAs; the last that is kept may go beyond it.
    Listener(const Lowering& lowering, uint64_t stride, uint64_t max_items, bool cold);
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override;

    // By index, once the run is over.
    std::vector<const CtaStreams*> ctas() const;
    bool full() const { return full_; }

  private:
    const Lowering& lowering_;
    uint64_t stride_, max_items_;
    bool cold_;
    std::map<uint64_t, std::unique_ptr<CtaStreams>> ctas_;
    uint64_t items_ = 0;
    std::atomic<bool> full_{false};
    std::unordered_set<uint64_t> l1_, l2_;  // lines, sectors
};

}  // namespace lockwarp::timing
