// SPDX-License-Identifier: Apache-2.0
// Listens to the emulator and compares with the tracks that a traced kernel left; gives the
// emulator the values of the tracks that it cannot know by itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "emu/warp/observer.hpp"
#include "gpu/trace.hpp"
#include "validate/lockstep.hpp"
#include "validate/order.hpp"
#include "validate/plan.hpp"
#include "validate/unwritten.hpp"

namespace lockwarp::validate {

// Values that the emulator took in earlier windows of the same tracks, by CTA, warp and lane.
using Supplied = std::vector<std::vector<uint64_t>>;

class Comparator : public warp::Observer, public warp::Oracle {
  public:
    // supplied: of earlier windows of the same CTAs; grows. before: what global memory holds.
    Comparator(const Plan& plan, const Tracks& tracks, Supplied& supplied, Order::Before before);

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override;
    bool knows(uint32_t operation) const override {
        return plan_.taken[operation] || plan_.unwritten.reads[operation] || orders(operation);
    }
    // Words of a track, with its slack.
    uint64_t window_words() const { return tracks_.window.words + tracks_.slack; }
    void supply(const warp::Retired& event, uint8_t* registers) override;
    uint32_t went_on(const warp::Retired& event) const override;
    bool orders(uint32_t operation) const override {
        const gpu::Ordered ordered = plan_.ordered(operation);
        return order_ && ordered != gpu::Ordered::none && ordered != gpu::Ordered::result;
    }
    bool together(const warp::Retired& event, const warp::OrderedAccess& access) override;
    void arrange(const warp::Retired& event, std::span<uint8_t> lanes) override;
    warp::Turn turn(const warp::Retired& event, unsigned lane,
                    const warp::OrderedAccess& access) override;
    void accessed(const warp::Retired& event, unsigned lane,
                  const warp::OrderedAccess& access) override;
    warp::GivenBlock block(const warp::Retired& event, unsigned lane) override;
    void took_block(const warp::Retired& event, unsigned lane) override;
    // As Order has them.
    std::optional<std::pair<uint64_t, uint64_t>> blocks() const {
        return order_ ? order_->blocks() : std::nullopt;
    }
    bool stuck(bool released) override { return order_->stuck(released); }

    // Some track goes on past the window.
    bool unfinished() const { return unfinished_ || passed_end_; }
    // Global memory to which the CTAs stored registers that they never wrote.
    const std::vector<Bytes>& unknown_global() const { return unknown_global_; }
    // Adds what was found to the report. true: its first difference is one of these. trapped: the
    // emulator did not run to its end.
    bool finish(Report& report, bool trapped) const;

  private:
    struct WarpState {
        std::array<uint64_t, 32> next{};  // word of the lane's track
        std::array<size_t, 32> given{};   // values supplied to the lane
        // The last conditional branch of each lane: operation, or no_index, and whether it was
        // taken.
        std::array<uint32_t, 32> branch;
        uint32_t taken = 0;
        bool together = true;  // all lanes are at next[0]
    };
    // Of a CTA that runs.
    struct CtaState : warp::CtaObserver {
        CtaState(Comparator& c, const warp::CtaPlace& cta);
        void retired(const warp::Retired& event) override;
        void bulk(const warp::BulkEvent& event) override;
        void trapped(const warp::Trap& trap) override;
        void ended() override;

        Comparator& comparator;
        warp::CtaPlace place;
        std::vector<WarpState> warps;
        std::vector<Counts> counts;  // by operation
        uint64_t records = 0;
        uint32_t supplied = 0;  // lanes, by the oracle, of the instruction that retires
        std::array<uint32_t, 32> results{};  // of these lanes, by bits: which results
        Written written;
        uint32_t given = 0;   // lanes whose access an earlier content of memory explains
        uint32_t forced = 0;  // lanes whose access no order explains
        std::array<Order::Unexplained, 32> unexplained;  // of these
        bool lost = false;  // control flow differed: nothing after it can be compared
        bool unfinished = false;
        uint64_t moment = 0;  // instructions that retired
        std::unique_ptr<Difference> first;
    };

    CtaState* state_of(const warp::Retired& e) const;  // nullptr: it has no track
    void note_remote(const warp::Retired& e);
    // These bytes of the shared memory of a CTA of that one's cluster have been written.
    void mark_shared(uint64_t cta, uint32_t rank, uint64_t address, uint64_t bytes);
    bool watches(const warp::Retired& e) const;  // its results are compared
    void compare(CtaState& state, const warp::Retired& e) const;
    void compare_ends(CtaState& state) const;
    const uint64_t* words(uint64_t cta, uint32_t warp, uint64_t word) const;
    void supply_lane(CtaState& state, WarpState& w, const warp::Retired& e, uint32_t lane,
                     uint32_t unwritten, uint8_t* registers) const;
    bool compare_together(CtaState& state, WarpState& w, const warp::Retired& e) const;
    void compare_lane(CtaState& state, WarpState& w, const warp::Retired& e, uint32_t lane) const;
    void found(CtaState& state, const WarpState& w, const warp::Retired& e, uint32_t lane,
               DifferenceKind kind, uint32_t reg, uint64_t emulated, uint64_t other,
               uint64_t word) const;
    static bool is_unwritten(const CtaState& state, unsigned lane,
                             const warp::OrderedAccess& access);
    bool blame(Report& report) const;
    void lose(CtaState& state) const;
    void pass_end(CtaState& state) const;
    bool is_over(CtaState& state, const warp::Retired& e, unsigned lane) const;
    // The lane's record of the event's operation; nullptr: its track does not go on with one.
    const uint64_t* record_of(const warp::Retired& e, unsigned lane) const;
    uint64_t thread_of(const warp::Retired& e, unsigned lane) const;
    Order::Asked asked_of(const warp::Retired& e, unsigned lane,
                          const warp::OrderedAccess& access) const;
    void supply_ordered(CtaState& state, const warp::Retired& e, uint8_t* registers);

    const Plan& plan_;
    const Tracks& tracks_;
    Supplied& supplied_;
    std::vector<CtaState*> states_;  // of the window's CTAs, for the oracle
    std::vector<Counts> counts_;     // by operation, of the CTAs that ended
    uint64_t records_ = 0;
    std::unique_ptr<Difference> first_;
    std::unique_ptr<Order> order_;  // nullptr: no record says anything about an order
    // Where there is an order, and CTAs run on one thread: of all differences the first in time.
    mutable std::unique_ptr<Difference> earliest_;
    bool unfinished_ = false;
    mutable bool passed_end_ = false;
    std::vector<Bytes> unknown_global_;
};

// The bits of a register in one lane, as a record has them.
uint64_t register_bits(const isa::Register& r, const uint8_t* registers, uint32_t lane);

}  // namespace lockwarp::validate
