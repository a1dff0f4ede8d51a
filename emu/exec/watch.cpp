// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/watch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/isa/waiting.hpp"

namespace lockwarp::exec {

using isa::Flow;
using isa::Memory;

namespace {

size_t hash(uint32_t number, size_t size) {
    return static_cast<size_t>(number * 0x9e3779b1u >> 8) & (size - 1);
}

// Of a register of `width` bits.
uint32_t slot_bytes(uint32_t width) {
    if (width == 1) return 4;
    return width > 32 ? 256 : 128;
}

// Its results depend on the registers that it names alone, and it does nothing else.
bool is_value(const Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.step == StepKind::plain && row.memory == Memory::none && !uses_carry(o);
}

// Calls and meetings, each, that a loop leaves and comes to again: more are not followed.
constexpr size_t most_left = 16;

// It moves the top of a lane's local memory.
bool moves_top(isa::Op op) { return op == isa::Op::alloca_ || op == isa::Op::stackrestore; }

}  // namespace

bool Seen::insert(uint32_t number) {
    const uint64_t entry = uint64_t{round_} << 32 | number;
    size_t at = hash(number, table_.size());
    for (; table_[at] >> 32 == round_; at = (at + 1) & (table_.size() - 1))
        if (table_[at] == entry) return false;
    table_[at] = entry;
    if (++count_ * 2 > table_.size()) grow();
    return true;
}

bool Seen::contains(uint32_t number) const {
    const uint64_t entry = uint64_t{round_} << 32 | number;
    size_t at = hash(number, table_.size());
    for (; table_[at] >> 32 == round_; at = (at + 1) & (table_.size() - 1))
        if (table_[at] == entry) return true;
    return false;
}

void Seen::clear() {
    count_ = 0;
    if (++round_ != 0) return;
    std::ranges::fill(table_, 0);
    round_ = 1;
}

void Seen::grow() {
    std::vector<uint64_t> old(2 * table_.size());
    old.swap(table_);
    count_ = 0;
    for (const uint64_t entry : old)
        if (entry >> 32 == round_) insert(static_cast<uint32_t>(entry));
}

void Watch::begin(const Context& c, size_t path) {
    const warp::Path& p = c.warp->paths[path];
    registers_.clear();
    local_.clear();
    kept_bytes_.clear();
    operations_.clear();
    seen_operations_.clear();
    seen_slots_.clear();
    seen_local_.clear();
    pc_ = p.pc;
    lanes_ = p.lanes;
    frame_ = p.frame;
    within_ = p.within;
    calls_of(*c.warp, frame_, calls_);
    meetings_of(*c.warp, within_, meetings_);
    top_ = c.warp->top;
    stores_ = c.stores;
    rounds_ = 0;
    begun_ = loaded_ = looks_outside_ = timed_ = called_ = lost_ = false;
}

void Watch::note(const Context& c, uint32_t pc) {
    // What another machine found decides, not memory; of ordered accesses memory decides both.
    const warp::Oracle* const oracle = c.launch->oracle;
    if (c.listeners != nullptr && oracle != nullptr && oracle->knows(pc) && !oracle->orders(pc))
        lost_ = true;
    begun_ = true;
    if (!seen_operations_.insert(pc)) return;
    operations_.push_back(pc);
    const isa::Program& program = *c.program;
    const Operation& o = program.operations[pc];
    const isa::OpRow& row = isa::row(o.op);
    loaded_ |= row.memory != Memory::none;
    looks_outside_ |= isa::looks_outside(o);
    timed_ |= o.reads_clock;
    lost_ |= moves_top(o.op);
    for (uint32_t n = 0; n < o.written; ++n) {
        const uint32_t index = program.uses[o.first_use + n];
        const isa::Register& reg = program.registers[index];
        keep(c, reg.ref, slot_bytes(isa::bits(reg.type)), index);
    }
    if (uses_carry(o)) keep(c, program.carry, 4, not_named);
    if (row.flow == Flow::call) note_call(c, o);
}

// By units, which are kept whole: stores of several sizes may overlap.
void Watch::note_local(const warp::Warp& w, unsigned lane, uint64_t begin, uint64_t bytes) {
    constexpr uint64_t unit = 8;
    static_assert(32 * isa::max_local_bytes / unit <= UINT32_MAX);
    // Behind the top are calls that end before the path comes round.
    const uint64_t end = std::min<uint64_t>(begin + bytes, top_[lane]);
    const uint8_t* const local = w.local.data() + uint64_t{lane} * w.local_stride;
    for (uint64_t at = begin / unit * unit; at < end; at += unit) {
        if (!seen_local_.insert(static_cast<uint32_t>((lane * isa::max_local_bytes + at) / unit)))
            continue;
        const auto size = static_cast<uint32_t>(std::min<uint64_t>(unit, top_[lane] - at));
        local_.push_back(
            {static_cast<uint32_t>(at), size, static_cast<uint32_t>(kept_bytes_.size()), lane});
        kept_bytes_.insert(kept_bytes_.end(), local + at, local + at + size);
    }
}

void Watch::keep(const Context& c, uint32_t slot, uint32_t bytes, uint32_t named) {
    if (slot == isa::no_ref || !seen_slots_.insert(slot)) return;
    registers_.push_back({slot, bytes, static_cast<uint32_t>(kept_bytes_.size()), named});
    kept_bytes_.insert(kept_bytes_.end(), c.registers + slot, c.registers + slot + bytes);
}

void Watch::keep_passed(const Context& c, const isa::Passed& p) {
    keep(c, p.ref, slot_bytes(8 * p.bytes), not_named);
}

// What calls and returns write beside what their operations name.
void Watch::note_call(const Context& c, const Operation& o) {
    called_ = true;
    const isa::Call& call = c.program->calls[o.target];
    for (const isa::Passed& p : call.results) keep_passed(c, p);
    if (call.system != isa::System::none) return;
    // By a pointer: any function. Of one that may come back, registers are saved and restored.
    lost_ |= call.recursive || call.function == UINT32_MAX;
    if (lost_) return;
    const isa::Function& f = c.program->functions[call.function];
    for (const isa::Passed& p : f.parameters) keep_passed(c, p);
    for (const isa::FrameSlot& s : f.frame_slots) keep(c, s.ref, slot_bytes(s.width), not_named);
}

void Watch::calls_of(const warp::Warp& w, uint32_t frame, std::vector<Level>& out) {
    out.clear();
    for (; frame != warp::no_index && out.size() <= most_left; frame = w.calls.frames[frame].caller)
        out.push_back({w.calls.frames[frame].number, w.calls.frames[frame].call});
}

void Watch::meetings_of(const warp::Warp& w, uint32_t within, std::vector<Level>& out) {
    out.clear();
    for (; within != warp::no_index && out.size() <= most_left; within = w.meetings[within].parent)
        out.push_back({w.meetings[within].number,
                       uint64_t{w.meetings[within].at} << 32 | w.meetings[within].resume});
}

// A call or a meeting with the same number is the same one, and so are all around it. Others are
// as the ones before where they end at the same operation.
bool Watch::same_levels(const std::vector<Level>& then, const std::vector<Level>& now) {
    for (size_t i = 0; i < std::min(then.size(), now.size()); ++i) {
        if (then[i].number == now[i].number) return true;
        if (i == most_left || then[i].what != now[i].what) return false;
    }
    return then.size() == now.size();
}

// Frames and meetings have places that others had before: a function called from two operations
// may have the same registers in both calls, and goes on elsewhere.
bool Watch::same_place(const warp::Warp& w, const warp::Path& now) {
    if (now.lanes != lanes_ || now.frame != frame_ || now.within != within_) return false;
    calls_of(w, now.frame, levels_);
    if (!same_levels(calls_, levels_)) return false;
    meetings_of(w, now.within, levels_);
    return same_levels(meetings_, levels_);
}

bool Watch::came_round(const Context& c, const warp::Path& now) {
    if (now.pc != pc_ || !begun_ || is_over(c)) return false;
    if (!same_place(*c.warp, now) || !same_local(c)) return false;
    ++rounds_;
    if (same_registers(c)) return !timed_ || loaded_;
    if (timed_) return loaded_;
    // It is asked in few of the rounds: the answer is mostly no.
    return std::has_single_bit(rounds_) && !decides(c);
}

bool Watch::same_local(const Context& c) const {
    const warp::Warp& w = *c.warp;
    return std::ranges::all_of(local_, [&](const Kept& k) {
        const uint8_t* now = w.local.data() + uint64_t{k.named} * w.local_stride + k.place;
        return std::memcmp(kept_bytes_.data() + k.at, now, k.bytes) == 0;
    });
}

// Registers that count rounds differ where they did in the last one: that comes first.
bool Watch::same_registers(const Context& c) {
    const auto differs = [&](const Kept& k) {
        return std::memcmp(kept_bytes_.data() + k.at, c.registers + k.place, k.bytes) != 0;
    };
    const auto found = std::ranges::find_if(registers_, differs);
    if (found == registers_.end()) return true;
    std::iter_swap(registers_.begin(), found);
    return false;
}

// Whether what differs since the watch began reaches anything but registers.
bool Watch::decides(const Context& c) {
    if (called_) return true;
    const isa::Program& program = *c.program;
    differing_.clear();
    for (const Kept& k : registers_) {
        if (std::memcmp(kept_bytes_.data() + k.at, c.registers + k.place, k.bytes) == 0) continue;
        if (k.named == not_named) return true;
        differing_.insert(k.named);
    }
    for (bool grown = true; grown;) {
        grown = false;
        for (const uint32_t pc : operations_) {
            const Operation& o = program.operations[pc];
            const uint32_t* const uses = program.uses.data() + o.first_use;
            const auto reads = [&](uint32_t n) { return differing_.contains(uses[o.written + n]); };
            bool any = false;
            for (uint32_t n = 0; n < o.read && !any; ++n) any = reads(n);
            if (!any) continue;
            if (!is_value(o)) return true;
            for (uint32_t n = 0; n < o.written; ++n) grown |= differing_.insert(uses[n]);
        }
    }
    return false;
}

}  // namespace lockwarp::exec
