// SPDX-License-Identifier: Apache-2.0
// Listens to the emulator and compares with the tracks that a traced kernel left; gives the
// emulator the values of the tracks that it cannot know by itself.
#pragma once

#include <memory>
#include <vector>

#include "emu/warp/observer.hpp"
#include "gpu/trace.hpp"
#include "validate/lockstep.hpp"
#include "validate/unwritten.hpp"

namespace lockwarp::validate {

// What is compared, for all windows of a case.
struct Plan {
    const isa::Program* program = nullptr;
    gpu::Traced traced;          // by operation: leaves a record
    std::vector<bool> compared;  // by operation: its record is compared
    std::vector<bool> taken;     // by operation: its results are the engine's
    MayBeUnwritten unwritten;
    uint64_t warps = 0;          // of a CTA
    uint32_t watched_warps = 0;  // bit n: warp n is compared
    uint64_t first_cta = 0;      // watched CTAs
    uint64_t ctas = UINT64_MAX;
};

// Values that the emulator took in earlier windows of the same tracks, by CTA, warp and lane.
using Supplied = std::vector<std::vector<uint64_t>>;

class Comparator : public warp::Observer, public warp::Oracle {
  public:
    // supplied: of earlier windows of the same CTAs; grows.
    Comparator(const Plan& plan, const Tracks& tracks, Supplied& supplied);

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override;
    bool knows(uint32_t operation) const override {
        return plan_.taken[operation] || plan_.unwritten.reads[operation];
    }
    void supply(const warp::Retired& event, uint8_t* registers) override;
    uint32_t went_on(const warp::Retired& event) const override;

    // Some track goes on past the window.
    bool unfinished() const { return unfinished_; }
    // Global memory to which the CTAs stored registers that they never wrote.
    const std::vector<Bytes>& unknown_global() const { return unknown_global_; }
    // Adds what was found to the report. true: its first difference is one of these.
    bool finish(Report& report) const;

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
        CtaState(const Comparator& c, const warp::CtaPlace& cta);
        void retired(const warp::Retired& event) override {
            comparator.compare(*this, event);
            written.note(event);
        }
        void ended() override { comparator.compare_ends(*this); }

        const Comparator& comparator;
        warp::CtaPlace place;
        std::vector<WarpState> warps;
        std::vector<Counts> counts;  // by operation
        uint64_t records = 0;
        uint32_t supplied = 0;  // lanes, by the oracle, of the instruction that retires
        std::array<uint32_t, 32> results{};  // of these lanes, by bits: which results
        Written written;
        bool lost = false;  // control flow differed: nothing after it can be compared
        bool unfinished = false;
        std::unique_ptr<Difference> first;
    };

    CtaState* state_of(const warp::Retired& e) const;  // nullptr: it has no track
    bool watches(const warp::Retired& e) const;        // its results are compared
    void compare(CtaState& state, const warp::Retired& e) const;
    void compare_ends(CtaState& state) const;
    const uint64_t* words(uint64_t cta, uint32_t warp, uint64_t word) const;
    void supply_lane(CtaState& state, WarpState& w, const warp::Retired& e, uint32_t lane,
                     uint32_t unwritten, uint8_t* registers) const;
    bool compare_together(CtaState& state, WarpState& w, const warp::Retired& e) const;
    void compare_lane(CtaState& state, WarpState& w, const warp::Retired& e, uint32_t lane) const;
    static void found(CtaState& state, const WarpState& w, const warp::Retired& e, uint32_t lane,
                      DifferenceKind kind, uint32_t reg, uint64_t emulated, uint64_t other);

    const Plan& plan_;
    const Tracks& tracks_;
    Supplied& supplied_;
    std::vector<CtaState*> states_;  // of the window's CTAs, for the oracle
    std::vector<Counts> counts_;     // by operation, of the CTAs that ended
    uint64_t records_ = 0;
    std::unique_ptr<Difference> first_;
    bool unfinished_ = false;
    std::vector<Bytes> unknown_global_;
};

// The bits of a register in one lane, as a record has them.
uint64_t register_bits(const isa::Register& r, const uint8_t* registers, uint32_t lane);

}  // namespace lockwarp::validate
