// SPDX-License-Identifier: Apache-2.0
// What is compared, for all windows of a case.
#pragma once

#include <vector>

#include "emu/warp/cluster.hpp"
#include "gpu/trace.hpp"
#include "validate/lockstep.hpp"
#include "validate/unwritten.hpp"

namespace lockwarp::validate {

struct Plan {
    const isa::Program* program = nullptr;
    gpu::Traced traced;          // by operation: leaves a record
    bool is_share = false;       // there are further runs, in which others do
    gpu::Orders orders;          // by operation; empty: nothing depends on an order
    std::vector<bool> compared;  // by operation: its record is compared
    std::vector<bool> taken;     // by operation: its results are the engine's
    MayBeUnwritten unwritten;
    warp::Clusters clusters;     // CTAs that run together
    uint64_t warps = 0;          // of a CTA
    uint32_t watched_warps = 0;  // bit n: warp n is compared
    uint64_t first_cta = 0;      // watched CTAs
    uint64_t ctas = UINT64_MAX;

    gpu::Ordered ordered(uint32_t operation) const {
        return orders.empty() ? gpu::Ordered::none : orders[operation];
    }
    // Words of an operation's record.
    uint64_t words(uint32_t operation) const {
        return gpu::record_words(*program, orders, operation);
    }
};

}  // namespace lockwarp::validate
