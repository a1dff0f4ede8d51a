// SPDX-License-Identifier: Apache-2.0
// mbarrier, cp.async.mbarrier.arrive. PTX manual, "Parallel Synchronization and Communication
// Instructions: mbarrier": counts of arrivals and of bytes in shared memory, by phases.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/deadlock.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/mbarrier.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using ptx::Space;
using warp::TrapKind;

// The manual keeps the eight bytes to the machine. This is what ptxas' code for mbarrier.init,
// .pending_count and .test_wait.parity makes of them, so that a state that a GPU gave is
// understood: each count is kept as what it lacks to 2^width, and an arrival that finishes the
// phase carries into the bit of the phase above it. Where the bytes to come stand is our choice.
struct Layout {
    unsigned pending;   // bit of the arrivals missing in this phase; the phase is bit 63
    unsigned expected;  // bit of the arrivals of the next phase
    unsigned width;     // of both
    unsigned bytes;     // bit of the bytes to come, two's complement; where there are any
};
constexpr Layout layout_of_arrivals{32, 0, 31, 0};
constexpr Layout layout_with_bytes{43, 1, 20, 21};
constexpr unsigned bytes_width = 22;

constexpr uint32_t max_arrivals = (1u << 20) - 1;  // PTX manual, "Valid range for mbarrier counts"
constexpr int64_t max_bytes = (1 << 20) - 1;

struct State {
    uint32_t pending = 0;
    uint32_t expected = 0;
    int64_t bytes = 0;
    bool phase = false;
};

constexpr uint64_t ones(unsigned width) { return (uint64_t{1} << width) - 1; }

const Layout& layout(const Context& c) {
    return isa::row(c.program->arch).mbarrier_counts_bytes ? layout_with_bytes : layout_of_arrivals;
}

uint32_t count_at(uint64_t word, unsigned bit, unsigned width) {
    return static_cast<uint32_t>((0 - (word >> bit)) & ones(width));
}

State unpacked(const Layout& f, uint64_t word) {
    State s;
    s.pending = count_at(word, f.pending, f.width);
    s.expected = count_at(word, f.expected, f.width);
    s.phase = word >> 63 != 0;
    if (f.bytes != 0) {
        const auto bits = static_cast<int64_t>(word >> f.bytes & ones(bytes_width));
        s.bytes = bits >> (bytes_width - 1) != 0 ? bits - (int64_t{1} << bytes_width) : bits;
    }
    return s;
}

uint64_t packed(const Layout& f, const State& s) {
    uint64_t word = uint64_t{s.phase} << 63;
    word |= ((0 - uint64_t{s.pending}) & ones(f.width)) << f.pending;
    word |= ((0 - uint64_t{s.expected}) & ones(f.width)) << f.expected;
    if (f.bytes != 0) word |= (static_cast<uint64_t>(s.bytes) & ones(bytes_width)) << f.bytes;
    return word;
}

uint64_t load(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

void store(uint8_t* at, uint64_t word) { std::memcpy(at, &word, sizeof word); }

// Where each lane's barrier lies. false: a trap was set.
bool places(Context& c, const Operation& o, uint32_t mask, bool writes, LanePointers& p) {
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], mask, addresses);
    const Space space = o.mod.space;
    for (uint32_t rest = mask; rest != 0 && space == Space::none; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        if (in_window(addresses[lane], Space::shared)) continue;
        set_trap(c, o, TrapKind::wrong_space, "an mbarrier is in .shared memory", lane,
                 addresses[lane], Space::none);
        return false;
    }
    return locate(c, o, space, addresses, mask, 8, 8, writes, p);
}

// Stores the barrier. The phase ends where nothing is missing any more; the next one begins with
// its arrivals.
void settle(Context& c, uint8_t* at, State& s) {
    if (s.pending == 0 && s.bytes == 0) {
        s.phase = !s.phase;
        s.pending = s.expected;
        c.cluster->ledger.ends_phase(at);
    }
    store(at, packed(layout(c), s));
}

uint32_t index_of(const Context& c, const Operation& o) {
    return static_cast<uint32_t>(&o - c.program->operations.data());
}

// What is wrong with `count` arrivals; empty: nothing.
std::string refusal(const State& s, uint32_t count, bool no_complete) {
    const std::string text =
        std::to_string(count) + " arrivals at a barrier that misses " + std::to_string(s.pending);
    if (count == 0 || count > s.pending) return text;
    if (no_complete && count == s.pending) return text + ": .noComplete would end its phase";
    return {};
}

// Operand n of the lane; `otherwise` where it is left out.
uint32_t word_operand(Context& c, const Operation& o, unsigned n, unsigned lane,
                      uint32_t otherwise) {
    return n < o.operands ? slot<uint32_t>(c, o.r[n])[lane] : otherwise;
}

void init(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LanePointers p;
    if (!places(c, o, mask, true, p)) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const uint32_t count = slot<uint32_t>(c, o.r[0])[lane];
        if (count == 0 || count > max_arrivals) {
            set_trap(c, o, TrapKind::bad_mask,
                     "an mbarrier of " + std::to_string(count) + " arrivals: it has 1 to " +
                         std::to_string(max_arrivals),
                     lane, count, Space::none);
            return;
        }
        c.cluster->ledger.begins(p[lane]);
        store(p[lane], packed(layout(c), {count, count, 0, false}));
    }
}

// The bytes stay as they are: what they hold afterwards is not defined.
void inval(Context& c, const Step& s, uint32_t mask) {
    LanePointers p;
    places(c, *s.op, mask, true, p);
}

// Adds to the bytes to come, and stores the barrier. Too many are a trap.
void count_bytes(Context& c, const Operation& o, unsigned lane, uint8_t* barrier, int64_t bytes) {
    State state = unpacked(layout(c), load(barrier));
    state.bytes += bytes;
    if (state.bytes > max_bytes || state.bytes < -max_bytes) {
        set_trap(c, o, TrapKind::bad_mask,
                 std::to_string(state.bytes) + " bytes to come at an mbarrier: at most " +
                     std::to_string(max_bytes) + " either way",
                 lane, static_cast<uint64_t>(bytes < 0 ? -bytes : bytes), Space::none);
        return;
    }
    c.cluster->ledger.counts(barrier, index_of(c, o), bytes);
    settle(c, barrier, state);
}

// .expect_tx: more bytes are to come; .complete_tx: they have come.
void transaction(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LanePointers p;
    if (!places(c, o, mask, true, p)) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const int64_t bytes = slot<uint32_t>(c, o.r[0])[lane];
        const bool expects = o.op == Op::mbarrier_expect;
        count_bytes(c, o, lane, p[lane], expects ? bytes : -bytes);
    }
}

// The lanes arrive one after another; each is given the state before.
void arrive(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const bool copies = o.op == Op::mbarrier_copies;
    LanePointers p;
    if (!places(c, o, mask, true, p)) return;
    // Copies are complete when issued: without .noinc one more arrival is expected, and made. Late,
    // it is expected where it is issued, and made here.
    if (copies && !o.mod.no_increment && c.cluster->late == nullptr) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t before = load(p[lane]);
        State state = unpacked(layout(c), before);
        const uint32_t operand = copies ? 1 : word_operand(c, o, 1, lane, 1);
        const uint32_t count = o.mod.expect ? 1 : operand;
        std::string wrong = refusal(state, count, o.mod.no_complete);
        if (o.mod.expect) state.bytes += operand;
        if (wrong.empty() && state.bytes > max_bytes)
            wrong = std::to_string(state.bytes) + " bytes to come at an mbarrier: at most " +
                    std::to_string(max_bytes);
        if (!wrong.empty()) {
            set_trap(c, o, TrapKind::bad_mask, std::move(wrong), lane, operand, Space::none);
            return;
        }
        state.pending -= count;
        c.cluster->ledger.arrives(p[lane], index_of(c, o), count);
        if (o.mod.expect) c.cluster->ledger.counts(p[lane], index_of(c, o), operand);
        if (o.op == Op::mbarrier_drop) state.expected -= std::min(count, state.expected);
        settle(c, p[lane], state);
        if (!copies && o.r[0] != isa::scratch_register) slot<uint64_t>(c, o.r[0])[lane] = before;
    }
}

// True where the phase of the state, or the one of the parity, has ended: the present one is
// another. test_wait does not wait; try_wait may return without the phase having ended, so that
// both are one look.
void wait(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LanePointers p;
    if (!places(c, o, mask, false, p)) return;
    uint32_t out = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const bool of = o.mod.parity ? (slot<uint32_t>(c, o.r[1])[lane] & 1) != 0
                                     : slot<uint64_t>(c, o.r[1])[lane] >> 63 != 0;
        out |= uint32_t{(load(p[lane]) >> 63 != 0) != of} << lane;
    }
    write_predicate(c, o.r[0], out, mask);
    c.yields = mask & ~out;
}

// Of a state: 2^width where nothing is missing, as the assembler's code has it.
void pending_count(Context& c, const Step& s, uint32_t mask) {
    const Layout& f = layout(c);
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* state = slot<uint64_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<uint32_t>((uint64_t{1} << f.width) -
                                     (state[l] >> f.pending & ones(f.width)));
    });
}

}  // namespace

bool complete_bytes(Context& c, const Operation& o, unsigned lane, uint8_t* barrier,
                    int64_t bytes) {
    ++c.stores;  // whoever waits at the barrier looks again
    count_bytes(c, o, lane, barrier, -bytes);
    return !c.trap;
}

void expect_arrival(const Context& c, uint8_t* barrier) {
    State s = unpacked(layout(c), load(barrier));
    ++s.pending;
    store(barrier, packed(layout(c), s));
}

MbarrierCounts mbarrier_counts(const Context& c, const uint8_t* barrier) {
    const State s = unpacked(layout(c), load(barrier));
    return {s.pending, s.phase};
}

std::string mbarrier_text(const Context& c, const uint8_t* barrier) {
    const State s = unpacked(layout(c), load(barrier));
    std::string text = "phase " + std::to_string(int{s.phase}) +
                       " has not ended: " + std::to_string(s.pending) + " of " +
                       std::to_string(s.expected) + " arrivals are missing";
    if (layout(c).bytes != 0) text += ", and " + std::to_string(s.bytes) + " bytes";
    const std::string ledger = c.cluster->ledger.text(barrier, *c.program);
    return ledger.empty() ? text : text + "; " + ledger;
}

Handler mbarrier_init_handler(const Operation&) { return init; }
Handler mbarrier_inval_handler(const Operation&) { return inval; }
Handler mbarrier_transaction_handler(const Operation&) { return transaction; }
Handler mbarrier_arrive_handler(const Operation&) { return arrive; }
Handler mbarrier_wait_handler(const Operation&) { return wait; }
Handler mbarrier_pending_handler(const Operation&) { return pending_count; }

}  // namespace lockwarp::exec
