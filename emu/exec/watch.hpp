// SPDX-License-Identifier: Apache-2.0
// Whether a path only waits: what is seen of it while it runs.
#pragma once

#include <vector>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Numbers that were seen before; emptied in no time.
class Seen {
  public:
    // false: it was there.
    bool insert(uint32_t number);
    bool contains(uint32_t number) const;
    void clear();

  private:
    void grow();

    std::vector<uint64_t> table_ = std::vector<uint64_t>(64);  // round_ and the number, by hash
    size_t count_ = 0;
    uint32_t round_ = 1;
};

// A path only waits if, within longest_loop steps, its lanes come round to the operation where the
// watch began, without having stored anything that others see, and would do the same again while
// memory stays as it is: what differs in their registers decides neither where they go nor what
// they touch. What such a path does next, memory alone decides: until something is stored
// (Context::stores) it need not run. Where a loop looks at memory and at the clock, as a wait with
// a growing pause does, the clock may decide too; a loop with the clock alone is a pause.
//
// It costs what the loop touches: before a register or local memory is written for the first time,
// its content is kept.
class Watch {
  public:
    static constexpr uint64_t longest_loop = 500;  // steps

    void begin(const Context& c, size_t path);
    uint32_t lanes() const { return lanes_; }
    // Before each step: what it will do.
    void note(const Context& c, uint32_t pc);
    // Before local memory of a lane is written.
    void note_local(const warp::Warp& w, unsigned lane, uint64_t begin, uint64_t bytes);
    // Before the path's next step.
    bool came_round(const Context& c, const warp::Path& now);
    // Something was stored: the path does not only wait.
    bool is_over(const Context& c) const { return c.stores != stores_ || lost_; }
    // Of a path that came round: the clock may end its wait.
    bool is_timed() const { return timed_; }
    // It looks at memory that others than the grid may change.
    bool looks_outside() const { return looks_outside_; }

  private:
    // What was in a register or in local memory before it was written.
    struct Kept {
        uint32_t place;  // a slot; a byte of the lane's local memory
        uint32_t bytes;
        uint32_t at;     // where its content stands in kept_bytes_
        uint32_t named;  // register: index into Program::registers, or not_named; local: the lane
    };
    // A call or a meeting that the path is in.
    struct Level {
        uint64_t number;  // Frame::number, Reconvergence::number
        uint64_t what;    // where it goes on behind it
    };
    static constexpr uint32_t not_named = UINT32_MAX;

    void keep(const Context& c, uint32_t slot, uint32_t bytes, uint32_t named);
    void keep_passed(const Context& c, const isa::Passed& p);
    void note_call(const Context& c, const Operation& o);
    static void calls_of(const warp::Warp& w, uint32_t frame, std::vector<Level>& out);
    static void meetings_of(const warp::Warp& w, uint32_t within, std::vector<Level>& out);
    static bool same_levels(const std::vector<Level>& then, const std::vector<Level>& now);
    bool same_place(const warp::Warp& w, const warp::Path& now);
    bool same_local(const Context& c) const;
    bool same_registers(const Context& c);
    bool decides(const Context& c);

    std::vector<Kept> registers_;
    std::vector<Kept> local_;
    std::vector<uint8_t> kept_bytes_;
    std::vector<uint32_t> operations_;     // that ran, each once
    std::vector<Level> calls_, meetings_;  // innermost first
    std::vector<Level> levels_;            // of now
    Seen seen_operations_, seen_slots_, seen_local_;
    Seen differing_;  // registers
    uint32_t pc_ = 0;
    uint32_t lanes_ = 0;
    uint32_t frame_ = 0;
    uint32_t within_ = 0;
    std::array<uint32_t, 32> top_{};  // of the lanes' local memory
    uint64_t stores_ = 0;
    uint32_t rounds_ = 0;
    bool begun_ = false;
    bool loaded_ = false;
    bool looks_outside_ = false;
    bool timed_ = false;
    bool called_ = false;
    bool lost_ = false;  // it did what the watch does not follow
};

// Before local memory of a lane is written.
inline void note_local(const Context& c, unsigned lane, uint64_t begin, uint64_t bytes) {
    if (c.watch != nullptr) c.watch->note_local(*c.warp, lane, begin, bytes);
}

}  // namespace lockwarp::exec
