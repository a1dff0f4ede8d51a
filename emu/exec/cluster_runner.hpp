// SPDX-License-Identifier: Apache-2.0
// One cluster from its first instruction to its last: the unit that workers of a grid share out.
#pragma once

#include <memory>

#include "emu/exec/cta.hpp"

namespace lockwarp::exec {

// Runs clusters one after another with the same storage. The CTAs of one have their turns by rank,
// each until it has had a short time or waits for the others; what they do depends on nothing else.
class ClusterRunner {
  public:
    // early: of the late schedule, the steps of the early one (late.hpp); else nullptr.
    ClusterRunner(const Code& code, const warp::Launch& launch, const warp::GlobalMemory& global,
                  const Heaps& heaps, Inspector* inspector, const warp::Clusters& clusters,
                  const Step* early);

    using Stands = CtaRunner::Stands;
    // The next cluster, from its first instruction.
    void begin(uint64_t index);
    Stands go_on(Turn turn, bool others_wait);
    // Grows with each instruction that changes what others may wait for.
    uint64_t stores() const;
    uint64_t instructions() const;
    // Of a cluster that only waits: whether Turn::release and Turn::whole may bring it on.
    bool can_release() const;
    bool is_timed() const;
    // Likewise: others than the grid may.
    bool looks_outside() const;
    uint64_t index() const { return cluster_.index; }
    // Of the first of its CTAs that trapped.
    const std::optional<warp::Trap>& trap() const;
    // By rank.
    const std::vector<std::unique_ptr<CtaRunner>>& ctas() const { return ctas_; }

  private:
    Stands go_round(Turn turn, bool others_wait);
    bool end_exited();
    Stands give_up();
    uint64_t changes() const;

    const warp::Launch& launch_;
    Cluster cluster_;
    std::vector<std::unique_ptr<CtaRunner>> ctas_;
    // By rank: changes() when the CTA was found only to wait; never: it may go on.
    static constexpr uint64_t never = UINT64_MAX;
    std::vector<uint64_t> waits_since_;
    std::vector<bool> exited_;  // by rank: Stands::exited
};

}  // namespace lockwarp::exec
