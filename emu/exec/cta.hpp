// SPDX-License-Identifier: Apache-2.0
// One CTA from its first instruction to its last.
#pragma once

#include <memory>

#include "emu/exec/cluster.hpp"
#include "emu/exec/listeners.hpp"
#include "emu/exec/register_files.hpp"
#include "emu/exec/scheduler.hpp"

namespace lockwarp::exec {

// Runs CTAs one after another with the same storage.
class CtaRunner {
  public:
    // CTAs of that rank in `cluster`, which is told of the runner.
    CtaRunner(const Code& code, const warp::Launch& launch, const warp::GlobalMemory& global,
              const Heaps& heaps, Inspector* inspector, Cluster& cluster, uint32_t rank);
    CtaRunner(const CtaRunner&) = delete;
    CtaRunner& operator=(const CtaRunner&) = delete;

    // Where a CTA stands after some time.
    enum class Stands : uint8_t {
        ended,       // also where it trapped
        waits,       // it has had its time
        only_waits,  // for what only another CTA can do
        exited,      // all its threads have; its memory stays for its cluster until end()
    };
    // The next CTA, of the cluster Cluster::index, from its first instruction.
    void begin();
    // `alone`: it is all of its cluster. If not, its turn is short, and only its cluster gives up.
    Stands go_on(Turn turn, bool alone, bool others_wait);
    // Its last turn ended because others wait.
    bool gave_way() const { return context_.gave_way; }
    // Of one that has exited.
    void end() { finish(); }
    // It ends with a trap.
    void give_up(warp::Trap trap);
    bool has_ended() const { return cta_.ended; }
    // None of its paths can go on, whatever memory becomes.
    bool is_stuck() const { return Scheduler::is_stuck(context_); }
    // Instructions so far that changed what other CTAs may wait for.
    uint64_t stores() const { return context_.stores; }
    // Of a CTA that only waits: whether Turn::release and Turn::whole may bring it on.
    bool can_release() const { return Scheduler::can_release(context_); }
    bool is_timed() const { return Scheduler::is_timed(context_); }
    bool looks_outside() const { return Scheduler::looks_outside(context_); }
    uint64_t index() const { return cta_.index; }
    warp::CtaPlace place() const;
    Context& context() { return context_; }
    // Of a CTA that has ended: those who listened to it.
    CtaObservers listeners() { return listeners_.end(); }
    const std::optional<warp::Trap>& trap() const { return context_.trap; }

    uint64_t instructions() const { return context_.statistics.instructions; }
    warp::Statistics statistics() const;
    std::vector<warp::Printed>& printed() { return context_.printed; }
    std::vector<warp::DeviceLaunch>& launched() { return context_.device.launched; }
    uint64_t printed_bytes_lost() const { return context_.printed_bytes_lost; }

  private:
    void begin_warp(uint32_t index);
    void tell_retired();
    Round begin_turn(Turn turn);
    void finish();

    Context context_;
    Scheduler scheduler_;
    GivesWay way_;
    Listeners listeners_;
    warp::Cta cta_;
    RegisterFiles registers_;
    uint64_t told_ = 0;  // instructions that Launch::retired has
};

}  // namespace lockwarp::exec
