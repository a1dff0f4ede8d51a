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

struct PutOff;

// What lanes of a warp have put off.
struct PartOfWork {
    std::shared_ptr<PutOff> work;
    uint32_t lanes;
};

// An instruction that was issued by lanes of a warp, and that not all of them have run.
struct PutOff {
    // A register of all lanes, or a predicate.
    struct Operand {
        Ref ref;
        uint32_t bytes;
        std::array<uint8_t, 32 * sizeof(uint64_t)> values;
    };
    Context* of;
    warp::Warp* warp;
    uint32_t operation;
    uint32_t left;  // lanes that have not run it
    std::vector<Operand> operands;
    std::vector<PartOfWork> before;  // cp.async.mbarrier.arrive: copies that come first
};

// What the CTAs of a cluster have put off.
class Late {
  public:
    using Work = std::shared_ptr<PutOff>;
    // What groups wait for.
    enum class Queue : uint8_t { copies, bulk, products };

    // `early`: the steps as the early schedule has them.
    explicit Late(const Step* early) : early_(early) {}
    void clear();

    const Step& early(const Context& c, const Step& s) const { return early_[&s - c.steps]; }
    Work put_off(Context& c, const Step& s, uint32_t lanes);
    void add(Queue queue, const Work& work, uint32_t lanes);
    // Everything of those threads' own that is not known to have run.
    std::vector<PartOfWork> pending(Queue queue, const warp::Warp* w, uint32_t lanes);
    void commit(Queue queue, const warp::Warp* w, uint32_t lanes);
    // Runs all groups of those threads but the youngest `rest` of each.
    void wait(Context& c, Queue queue, uint32_t lanes, uint64_t rest);
    void wait_all(Context& c, Queue queue, uint32_t lanes);
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
    // Instructions that were committed together. What some lanes alone commit is a group of theirs.
    struct Group {
        uint32_t lanes;  // that have not waited for it
        std::vector<PartOfWork> parts;
    };
    struct OfWarp {
        std::vector<PartOfWork> open;
        std::deque<Group> closed;              // in the order of their commits
        std::array<uint64_t, 32> groups = {};  // of `closed`, by lane
        uint64_t gone = 0;                     // products: groups before those
    };
    struct Coming {
        Work work;
        bool arrives;
    };
    OfWarp& groups(Queue queue, const warp::Warp* w);
    OfWarp* found_groups(Queue queue, const warp::Warp* w);
    void run(Context& c, PutOff& work, uint32_t lanes);
    void run_all(Context& c, const std::vector<PartOfWork>& parts);

    const Step* early_;
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
