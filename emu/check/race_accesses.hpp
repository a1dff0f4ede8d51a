// SPDX-License-Identifier: Apache-2.0
// Looks for races among the accesses of one CTA to one memory, and, where the shadow is shared,
// with those of other CTAs.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "emu/check/race_findings.hpp"

namespace lockwarp::check {

class RaceAccesses {
  public:
    RaceAccesses(const CtaClock& clock, Shadow& shadow) : clock_(clock), shadow_(shadow) {}

    // One instruction's access to that memory, after CtaClock::before and before its after.
    void accessed(const warp::Retired& e, const warp::Access& a);
    // Where copies stand: cp.async stores when it has been waited for.
    void copies(const warp::CopyEvent& e);
    // A bulk copy, with the instruction that issued it, before CtaClock::bulk: a store and a load
    // of its thread, which whoever waits for its mbarrier comes after. The source is read again
    // where the thread has waited for its group, so that a store into it before that is found.
    void bulk(const warp::Retired& e, const warp::BulkEvent& copy, ptx::Space space);
    // The CTA has ended: what copies that no thread waited for read, they may have read at the end.
    void ended();

    Races races;

  private:
    // The instruction at hand.
    struct Now {
        const warp::Retired& e;
        const isa::Operation& o;
        uint32_t warp;
        const WarpClock& clock;
        Accessor who;  // of a new writer or reader
        bool has_value = false;
    };
    struct OfWarp {
        uint32_t version = UINT32_MAX;  // of the clock, for which the rest is right
        uint32_t ordered_writer = 0;    // happened before
        uint32_t ordered_readers = 0;   // did all
        // Readers that words had, and with the instruction at hand in front of them: words of one
        // instruction have few pasts.
        struct Step {
            uint32_t from, to;
        };
        std::array<Step, 4> steps;
        uint32_t step_count = 0;  // of them; another one takes the oldest's place
        uint32_t steps_operation = UINT32_MAX;
        std::vector<uint32_t> writers;  // by operation: the last one's number
        std::vector<uint32_t> pending;  // writers: copies that have not been waited for
        uint32_t group = 0;             // that the copy at hand will be in
        struct Source {
            warp::BulkRange range;
            uint32_t group, operation;
            uint64_t step;
            std::array<uint32_t, 3> cta;
        };
        std::vector<Source> sources;  // of bulk copies whose groups nobody has waited for
    };

    Now now(const warp::Retired& e, uint32_t lanes);
    void touch(Now& n, const warp::BulkRange& r);
    // Stores by the thread itself to what its copy, issued at that step, was still reading.
    void check_source(uint32_t warp, const OfWarp::Source& s);
    // To one word of it, or one byte.
    void check_stored(uint32_t warp, const OfWarp::Source& s, const Word& word, uint64_t at,
                      uint32_t bytes);
    void load(Now& n, const warp::Access& a);
    void store(Now& n, const warp::Access& a);
    void load_word(Now& n, OfWarp& w, uint32_t lane, Word& word, uint64_t address);
    void store_word(Now& n, OfWarp& w, uint32_t lane, uint32_t number, Word& word, uint64_t address,
                    uint32_t value);
    void has_stored(const Now& n, uint32_t lane, uint32_t number, Word& word, uint64_t address,
                    uint32_t value);
    // Whether somebody wrote it who is not known to come before.
    static bool may_meet_writer(const OfWarp& w, const Word& word) {
        return (word.writer != 0 && word.writer != w.ordered_writer) ||
               (word.flags & Word::over_weak) != 0;
    }
    void check_writer(Now& n, OfWarp& w, uint32_t lane, const Word& word, uint64_t address,
                      bool stores, uint32_t value);
    // The accesses of a writer, and of the instruction at hand.
    void check_against(Now& n, OfWarp& w, uint32_t lane, uint32_t writer, uint32_t writer_lane,
                       uint64_t address, bool stores, bool same_value);
    void check_readers(Now& n, OfWarp& w, uint32_t lane, const Word& word, uint64_t address);
    uint32_t with_reader(Now& n, OfWarp& w, uint32_t readers);
    uint32_t writer_number(Now& n, OfWarp& w);
    void check_lanes(Now& n, const warp::Access& a);
    // Whether those lanes' earlier access comes before this lane's, in the manual's order.
    bool is_ordered(const Now& n, const Accessor& p, uint32_t lane, uint32_t earlier) const;
    // All of it, before whatever the warp does.
    bool is_wholly_ordered(const Now& n, const Accessor& p) const;
    // Why two warps' accesses are not ordered; nothing where they are by what was observed.
    std::optional<Unordered> why_of_warps(const Now& n, const Accessor& p) const;
    // Of a load and an atomic.
    bool is_guess(const Now& n, const Accessor& p) const;
    void found(const Now& n, const Accessor& p, Hazard hazard, uint32_t lane, uint32_t other_lane,
               uint64_t address, bool same_value);
    OfWarp& of_warp(const Now& n);

    const CtaClock& clock_;
    Shadow& shadow_;
    std::array<OfWarp, max_warps> warps_{};
    std::array<std::array<uint8_t, 32>, 32> values_;  // by lane: what the instruction stores
    std::vector<uint32_t> kept_;                      // of with_reader
    std::optional<Severity> raced_;  // of what the lane's access at hand was counted for
};

}  // namespace lockwarp::check
