// SPDX-License-Identifier: Apache-2.0
// Where the warps of a CTA give way to others in another order than the usual one
// (warp::TurnOrder). The usual order asks nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/exec/context.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::exec {

// Lanes changed memory that others may wait for. Where some do, the warp gives way to them now and
// then: one that lets go of a lock and takes it again, with barriers of its CTA in between, would
// have it whenever they look. It does so 4,096 to 12,287 instructions after the last time, a number
// that varies: after a fixed one a loop might always be at the same place.
inline void gives_way_to_them(Context& c, uint32_t mask) {
    constexpr uint32_t scatter = 0x9e3779b9;  // 2^32 / the golden ratio
    warp::Warp& w = *c.warp;
    if (!c.others_wait || w.step < w.gives_way_from) return;
    w.gives_way_from = w.step + 4096 + (static_cast<uint32_t>(w.step) * scatter >> 19);
    c.gave_way = true;
    c.yields = mask;
}

class GivesWay {
  public:
    // A CTA begins. nullptr: the usual order.
    void begin(const warp::TurnOrder* order, uint64_t cta, size_t warps);
    bool is_asked() const { return order_ != nullptr; }

    // Whether the whole CTA stands back before its first turn. It is asked once a turn.
    bool gives_way_first() { return order_ != nullptr && !begun_ && stands_back(); }

    // A warp that could go on has its turn. true: it gives way at once, which it does once a step.
    bool gives_way_at_once(uint32_t warp, uint64_t step);
    // The step, above this one, before which the warp gives way next.
    uint64_t next(uint32_t warp, uint64_t step) const;
    // It did, before this step.
    void gave_way(uint32_t warp, uint64_t step);

  private:
    bool stands_back();

    const warp::TurnOrder* order_ = nullptr;
    uint64_t cta_ = 0;
    bool begun_ = false;
    std::vector<uint64_t> last_;  // by warp: where it gave way last; UINT64_MAX: nowhere
};

}  // namespace lockwarp::exec
