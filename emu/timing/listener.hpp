// What the model needs to hear of a run: each warp's stream of instructions, with what their memory
// accesses cost.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "emu/timing/lowering.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::timing {

// Where an instruction's bytes lay. An instruction that no lane executed touches nothing.
enum class Touched : uint8_t { nothing, shared, global, both };

struct Item {
    uint32_t operation = 0;
    uint16_t wavefronts = 0;  // of shared memory; of a barrier: its number
    uint16_t lines = 0;       // of 128 bytes in global memory; of a barrier: warps, 0 for all
    uint16_t sectors = 0;     // of them, sectors of 32 bytes that L1 did not have
    Touched touched = Touched::nothing;
    bool dram = false;  // sectors that L2 did not have either
};

struct Stream {
    std::vector<Item> items;  // in the order of the schedule, block by block
    size_t pending = 0;       // the last so many are of a block that has not ended
};

// Of one CTA.
struct CtaStreams {
    uint64_t cta = 0;
    std::vector<Stream> warps;
    bool ended = false;
};

// Hears the CTAs that one SM would run: those whose index is a multiple of `stride`. L1 keeps the
// lines it has seen, as far as it is large enough; L2 has everything, unless `cold`.
class Listener : public warp::Observer {
  public:
    Listener(const Lowering& lowering, uint64_t stride, uint64_t most_items, bool cold);
    void retired(const warp::Retired& event) override;
    void cta_ended(uint64_t cta_index) override;

    // By index, once the run is over.
    std::vector<const CtaStreams*> ctas() const;
    bool full() const { return full_; }

  private:
    void access(const warp::Retired& event, Item& item);
    void finish_block(Stream& stream) const;

    const Lowering& lowering_;
    uint64_t stride_, most_items_;
    bool cold_;
    mutable std::mutex mutex_;
    std::map<uint64_t, std::unique_ptr<CtaStreams>> ctas_;
    uint64_t items_ = 0;
    bool full_ = false;
    std::unordered_set<uint64_t> l1_, l2_;  // lines, sectors
};

}  // namespace lockwarp::timing
