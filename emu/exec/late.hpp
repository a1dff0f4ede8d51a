// SPDX-License-Identifier: Apache-2.0
// The late schedule (schedule.hpp): an asynchronous instruction is kept with its operands
// where it is issued, and runs where somebody waits for it. Steps of a late launch have handlers of
// their own; those of the early schedule know nothing of it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// An instruction that was issued by lanes of a warp, and has not run.
struct PutOff {
    struct Operand {
        Ref ref;
        unsigned lane;
        uint8_t width;  // 1: a predicate
        uint64_t value;
    };
    Context* of;
    warp::Warp* warp;
    uint32_t operation;
    uint32_t lanes;
    uint64_t number;  // in the order of issue, within the cluster
    bool done = false;
    std::vector<Operand> operands;
    std::vector<std::shared_ptr<PutOff>>
        before;  // cp.async.mbarrier.arrive: copies that come first
};

// What the CTAs of a cluster have put off.
class Late {
  public:
    using Work = std::shared_ptr<PutOff>;
    // Of each thread, and of wgmma of each warp (lane 0): what its groups wait for.
    enum class Queue : uint8_t { copies, bulk, products };

    // `early`: the steps as the early schedule has them.
    explicit Late(const Step* early) : early_(early) {}
    void clear();

    const Step& early(const Context& c, const Step& s) const { return early_[&s - c.steps]; }
    Work put_off(Context& c, const Step& s, uint32_t lanes);
    void add(Queue queue, unsigned lane, Work work);
    // Everything of the thread's own that is not known to have run.
    std::vector<Work> pending(Queue queue, const warp::Warp* w, unsigned lane);
    void commit(Queue queue, const warp::Warp* w, unsigned lane);
    // Runs all groups of the thread but the youngest `rest`.
    void wait(Context& c, Queue queue, unsigned lane, uint64_t rest);
    void wait_all(Context& c, Queue queue, unsigned lane);
    // A warp has waited for all wgmma groups but the youngest `rest`, and so for those of its
    // warpgroup.
    void wait_for_products(Context& c, uint64_t rest);
    // Runs all of the warp's products.
    void run_products(Context& c);

    // What is to come to the mbarrier whose bytes are at `barrier`. arrives: as an arrival that it
    // counts; else as bytes.
    void add(const uint8_t* barrier, Work work, bool arrives);
    // Somebody looks whether the barrier's phase is over: what would end it runs.
    void look(Context& c, const uint8_t* barrier);

    // The CTA ends: what it has put off runs.
    void finish(Context& c);

  private:
    struct Groups {
        std::vector<Work> open;
        std::deque<std::vector<Work>> closed;
        uint64_t gone = 0;  // groups before those
    };
    struct Coming {
        Work work;
        bool arrives;
    };
    using OfWarp = std::array<Groups, 32>;  // by lane
    OfWarp& groups(Queue queue, const warp::Warp* w);
    OfWarp* found_groups(Queue queue, const warp::Warp* w);
    void run(Context& c, PutOff& work);
    void run_all(Context& c, const std::vector<Work>& group);

    const Step* early_;
    uint64_t issued_ = 0;
    size_t sweep_at_ = 0;  // so much work, of which some is done, is looked through
    std::map<std::pair<Queue, const warp::Warp*>, OfWarp> groups_;
    std::pair<Queue, const warp::Warp*> last_{};  // whose `last_groups_` are
    OfWarp* last_groups_ = nullptr;
    std::map<const uint8_t*, std::deque<Coming>> barriers_;
    std::vector<Work> all_;  // in the order of issue
};

// The code of a late launch: that of `early`, with other handlers. `early` must stay. `operation`:
// as in Schedule.
Code make_late(const Code& early, uint32_t operation);

}  // namespace lockwarp::exec
