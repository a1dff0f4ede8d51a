// SPDX-License-Identifier: Apache-2.0
// The order that tracks tell, written by hand: which access may go on, which waits, and what is
// said where none may (validate/order.hpp).
#include <gtest/gtest.h>

#include <cstring>

#include "emu/lockwarp.hpp"
#include "validate/order.hpp"

namespace {

using namespace lockwarp;
using ptx::Space;
using validate::Order;
using Answer = Order::Answer;

constexpr const char* accesses = R"(.version 8.8
.target sm_100
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<20>; .reg .b64 %rd<4>;
ld.relaxed.gpu.global.u32 %r1, [%rd1];
ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd1];
ld.relaxed.gpu.global.v8.b32 {%r1, _, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
ld.global.u32 %r6, [%rd1];
atom.global.add.u32 %r3, [%rd1], 1;
red.global.add.u32 [%rd1], 1;
atom.shared.add.u32 %r4, [%r9], 1;
atom.add.u32 %r5, [%rd1], 1;
ld.volatile.u32 %r7, [%rd1];
st.relaxed.gpu.global.u32 [%rd1], %r6;
{ .param .b64 bytes; .param .b64 block;
st.param.b64 [bytes], %rd3;
call.uni (block), malloc, (bytes);
ld.param.b64 %rd2, [block]; }
ret;
}
)";
enum Operation : uint32_t {
    look,
    look_pair,
    look_eight,
    weak,
    add,
    red,
    add_shared,
    add_generic,
    look_generic,
    store
};

constexpr uint64_t window = 64;  // words of a track
constexpr uint64_t slack = 16;
constexpr uint64_t base = 0x10000;  // of global memory

// A record of a thread's track.
struct Told {
    uint64_t thread = 0;
    uint32_t operation = 0;
    uint64_t at = 0;
    uint64_t address = 0;
    Space space = Space::global;
    uint64_t cta = 0;  // whose shared memory it is
};

struct Access : warp::OrderedAccess {
    void after(unsigned, const uint8_t* before, uint8_t* out) const override {
        std::memcpy(out, before, 4);
        out[0] = static_cast<uint8_t>(before[0] + adds);
    }
    uint8_t adds = 1;
};

// CTAs of two warps, with tracks that tell what the test says.
class Hand {
  public:
    explicit Hand(uint64_t ctas = 4, uint64_t first_cta = 0) {
        ptx::Parsed parsed = ptx::parse(accesses);
        EXPECT_TRUE(parsed.diagnostics.empty());
        isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_100, "k");
        EXPECT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
        program_ = std::move(resolved.program);
        plan.program = &program_;
        plan.orders = gpu::choose_ordered(program_, parsed.module);
        plan.warps = 2;
        plan.clusters.grid = {static_cast<uint32_t>(first_cta + ctas), 1, 1};
        tracks.window = {0, window, first_cta, ctas};
        tracks.slack = slack;
        tracks.words.resize(ctas * plan.warps * (window + slack) * 32 * 8);
        ends_.resize(ctas * plan.warps * 32);
        shared.resize(ctas);
    }

    uint64_t* word(uint64_t thread, uint64_t at) {
        return reinterpret_cast<uint64_t*>(tracks.words.data()) +
               (thread / 32 * (window + slack) + at) * 32 + thread % 32;
    }
    Told tell(uint64_t thread, uint32_t operation, const std::vector<uint64_t>& words,
              uint64_t address, Space space = Space::global) {
        const Told t{thread, operation, ends_[thread], address, space, cta_of(thread)};
        *word(thread, t.at) = operation + 1;
        for (size_t i = 0; i < words.size(); ++i) *word(thread, t.at + 1 + i) = words[i];
        ends_[thread] += 1 + words.size();
        return t;
    }
    // An addition, and its two tickets.
    Told change(uint64_t thread, uint64_t saw, uint64_t before, uint64_t after,
                uint64_t address = base, uint32_t operation = add) {
        const uint64_t tickets = after << 32 | before;
        if (operation == red) return tell(thread, operation, {tickets, address, saw}, address);
        return tell(thread, operation, {saw, tickets, address}, address);
    }
    void took_block(uint64_t thread, uint64_t address, uint64_t ticket) {
        for (uint32_t i = 0; i < plan.orders.size(); ++i)
            if (plan.orders[i] == gpu::Ordered::result) tell(thread, i, {address, ticket}, 0);
    }
    uint64_t cta_of(uint64_t thread) const { return tracks.window.first_cta + thread / 64; }

    // Of a lane that is at a record.
    template <class F>
    auto asked(const Told& t, F f) {
        const isa::Operation& o = program_.operations[t.operation];
        const auto lane = static_cast<unsigned>(t.thread % 32);
        Access access;
        access.adds = adds;
        access.elements = o.vector[0].count;
        access.element_bytes = 4;
        access.space[lane] = t.space;
        access.address[lane] = t.address;
        access.cta[lane] = t.cta;
        access.memory[lane] = memory(t.address, t.space, t.cta);
        warp::Retired e{};
        e.program = &program_;
        e.operation = t.operation;
        e.cta_index = cta_of(t.thread);
        e.warp = static_cast<uint32_t>(t.thread / 32 % plan.warps);
        e.active = e.executed = 1u << lane;
        return f(Order::Asked{e, lane, t.thread, word(t.thread, t.at), t.at, access});
    }
    Answer ask(const Told& t) {
        return asked(t, [&](const Order::Asked& a) { return order().ask(a); });
    }
    // Does an access that goes on now.
    void access(const Told& t) {
        asked(t, [&](const Order::Asked& a) {
            if (plan.ordered(t.operation) == gpu::Ordered::change)
                *memory(t.address, t.space, t.cta) += adds;
            order().accessed(a);
        });
    }
    bool goes(const Told& t) {
        if (ask(t) != Answer::now) return false;
        access(t);
        return true;
    }
    // A store of a thread that the order does not follow.
    void put(uint64_t address, uint32_t value, uint8_t bytes = 4, Space space = Space::global,
             uint64_t cta = 0) {
        std::memcpy(memory(address, space, cta), &value, std::min<size_t>(bytes, sizeof value));
        stored(address, bytes, space, cta);
    }
    // What is heard of one.
    void stored(uint64_t address, uint8_t bytes, Space space = Space::global, uint64_t cta = 0) {
        warp::Access a;
        a.space = space;
        a.store = true;
        a.lanes = 1u << 7;
        a.address[7] = address;
        a.bytes_of_lane[7] = bytes;
        a.bytes = bytes;
        warp::Retired e{};
        e.program = &program_;
        e.cta_index = cta;
        e.executed = e.active = a.lanes;
        e.accesses = &a;
        e.access_count = 1;
        order().retired(e);
    }
    uint8_t* memory(uint64_t address, Space space = Space::global, uint64_t cta = 0) {
        return space == Space::shared ? shared.at(cta - tracks.window.first_cta).data() + address
                                      : global.data() + (address - base);
    }
    Order& order() {
        if (!order_)
            order_ = std::make_unique<Order>(plan, tracks, [&](uint64_t address, uint32_t bytes) {
                before_bytes = bytes;
                return has_before ? before.data() + (address - base) : nullptr;
            });
        return *order_;
    }

    validate::Plan plan;
    validate::Tracks tracks;
    std::array<uint8_t, 4096> global{}, before{};
    std::vector<std::array<uint8_t, 256>> shared;
    bool has_before = false;
    uint32_t before_bytes = 0;
    uint8_t adds = 1;

  private:
    isa::Program program_;
    std::vector<uint64_t> ends_;  // words of each thread's track
    std::unique_ptr<Order> order_;
};

TEST(OrderByHand, TheProgramIsWhatItIsTakenFor) {
    const Hand h;
    using gpu::Ordered;
    constexpr std::array expected{
        Ordered::load,   Ordered::load,   Ordered::load,   Ordered::weak, Ordered::change,
        Ordered::change, Ordered::change, Ordered::change, Ordered::load, Ordered::store};
    for (uint32_t i = 0; i < expected.size(); ++i) EXPECT_EQ(h.plan.ordered(i), expected[i]) << i;
}

// Which of two additions to one place, both of which saw 0, goes on.
TEST(OrderByHand, TheTicketsOfTwoChanges) {
    enum First : uint8_t { is_not_there, waits_for_its_value, finds_its_value, is_done };
    struct Row {
        uint32_t before, after;  // of the first; the second's are 10 and 20
        First first;
        bool goes;  // the second
    };
    for (const Row& row : std::initializer_list<Row>{
             {1, 9, is_not_there, false},
             {1, 9, waits_for_its_value, false},  // it came before, whatever it waits for
             {1, 9, is_done, true},
             {1, 10, is_not_there, false},
             {1, 10, waits_for_its_value, true},
             {1, 11, waits_for_its_value, true},
             {1, 19, waits_for_its_value, true},
             {1, 19, finds_its_value, false},
             {1, 19, is_not_there, false},
             {1, 21, is_not_there, true},  // it is behind the second
         }) {
        Hand h;
        const Told first =
            h.change(3, row.first == waits_for_its_value ? 7 : 0, row.before, row.after);
        const Told second = h.change(100, 0, 10, 20);
        if (row.first == waits_for_its_value) {
            EXPECT_EQ(h.ask(first), Answer::waits);
        } else if (row.first == finds_its_value) {
            h.put(base, 1);
            EXPECT_EQ(h.ask(first), Answer::waits);
            h.put(base, 0);
        } else if (row.first == is_done) {
            EXPECT_TRUE(h.goes(first));
            h.put(base, 0);
        }
        EXPECT_EQ(h.ask(second), row.goes ? Answer::now : Answer::waits)
            << row.before << " " << row.after << " " << int{row.first};
    }
}

TEST(OrderByHand, AChangeWaitsUntilMemoryHoldsWhatItSaw) {
    for (const uint32_t operation : {uint32_t{add}, uint32_t{red}}) {
        Hand h;
        const Told t = h.change(33, 0x01000005, 1, 2, base + 8, operation);
        for (const uint32_t held : {0u, 5u, 4u, 6u, 0x01000004u, 0x81000005u}) {
            h.put(base + 8, held);
            EXPECT_EQ(h.ask(t), Answer::waits) << held;
        }
        h.put(base + 8, 0x01000005);
        EXPECT_EQ(h.ask(t), Answer::now);
    }
}

// What it saw may be of long ago, as it leaves memory as it was; but not of before it looked last.
TEST(OrderByHand, AChangeThatChangesNothingIsALoad) {
    Hand h;
    h.adds = 0;
    const Told first = h.change(33, 5, 1, 2);
    const Told again = h.change(33, 0, 3, 4);
    h.put(base, 0);
    EXPECT_EQ(h.ask(first), Answer::waits);
    h.put(base, 5);
    h.put(base, 6);
    EXPECT_EQ(h.ask(first), Answer::given);
    EXPECT_EQ(h.ask(again), Answer::waits);
    h.put(base, 0);
    EXPECT_EQ(h.ask(again), Answer::now);
}

// Of changes that do not touch the same place none waits for another.
TEST(OrderByHand, PlacesThatAreNotTheSame) {
    struct Place {
        uint32_t operation;
        uint64_t address;  // in its record
        Space space;
        uint64_t thread;
        uint64_t cta;  // of whose shared memory it is
        uint64_t within;
    };
    constexpr uint64_t in_shared = gpu::change_in_shared;
    constexpr uint64_t rank = uint64_t{1} << isa::rank_bit;
    struct Row {
        Place a, b;
        bool same;
        uint32_t cluster;  // CTAs
    };
    const Place global{add, base, Space::global, 3, 0, base};
    const Place shared{add_shared, 16, Space::shared, 3, 0, 16};
    for (const Row& row : std::initializer_list<Row>{
             {global, {add, base, Space::global, 200, 0, base}, true, 1},
             {global, {red, base, Space::global, 200, 0, base}, true, 1},
             {global, {add_generic, base, Space::global, 200, 0, base}, true, 1},
             {global, {add, base + 4, Space::global, 200, 0, base + 4}, false, 1},
             {shared, {add_shared, 16, Space::shared, 40, 0, 16}, true, 1},
             {shared, {add_generic, in_shared | 16, Space::shared, 40, 0, 16}, true, 1},
             {shared, {add_shared, 20, Space::shared, 40, 0, 20}, false, 1},
             // of another CTA
             {shared, {add_shared, 16, Space::shared, 64, 1, 16}, false, 1},
             {shared, {add_generic, in_shared | 16, Space::shared, 64, 1, 16}, false, 1},
             // of a CTA of the cluster, by its rank
             {shared, {add_generic, in_shared | 16, Space::shared, 64, 0, 16}, true, 2},
             {shared, {add_generic, in_shared | rank | 16, Space::shared, 64, 1, 16}, false, 2},
             {{add_generic, in_shared | rank | 16, Space::shared, 64, 1, 16},
              {add_generic, in_shared | rank | 16, Space::shared, 3, 1, 16},
              true,
              2},
             {{add_generic, in_shared | rank | 16, Space::shared, 64, 1, 16},
              {add_generic, in_shared | rank | 16, Space::shared, 128, 3, 16},
              false,
              2},
         }) {
        Hand h;
        h.plan.clusters.shape = {row.cluster, 1, 1};
        const auto told = [&](const Place& p, uint64_t before, uint64_t after) {
            Told t = h.change(p.thread, 0, before, after, p.address, p.operation);
            t.space = p.space;
            t.cta = p.cta;
            t.address = p.within;
            return t;
        };
        const Told first = told(row.a, 1, 2);
        const Told second = told(row.b, 3, 4);
        EXPECT_EQ(h.ask(second), row.same ? Answer::waits : Answer::now)
            << row.b.operation << " at " << std::hex << row.b.address << " of CTA " << row.b.cta;
        EXPECT_EQ(h.ask(first), Answer::now);
    }
}

// The changes of a thread come in turn, those of each address by their second tickets.
TEST(OrderByHand, ChangesOfManyThreadsInTheOrderOfTheirSecondTickets) {
    Hand h;
    std::vector<Told> all;
    constexpr uint64_t count = 40;
    for (uint64_t i = 0; i < count; ++i)
        // 27 and 40 have no common divisor: each number once.
        all.push_back(h.change(i * 5, i * 27 % count, 2 * (i * 27 % count),
                               2 * (i * 27 % count) + 1, base + 0x40));
    // Two more of the first thread, at two places.
    const Told other = h.change(0, 0, 90, 91, base + 0x20);
    const Told last = h.change(0, count, 92, 93, base + 0x40);
    for (uint64_t next = 0; next < count; ++next)
        for (uint64_t i = 0; i < count; ++i) {
            if (i * 27 % count < next) continue;
            ASSERT_EQ(h.ask(all[i]), i * 27 % count == next ? Answer::now : Answer::waits) << i;
            if (i * 27 % count == next) {
                h.access(all[i]);
                break;
            }
        }
    EXPECT_TRUE(h.goes(other));
    EXPECT_TRUE(h.goes(last));
}

// A record that begins in the window is read, if its end is behind it; what stands behind is not.
TEST(OrderByHand, TheWindowsEnd) {
    for (const bool inside : {true, false}) {
        Hand h;
        uint64_t used = 0;
        while (used + 2 <= window - (inside ? 1 : 0)) {
            h.tell(0, look, {0}, base);
            used += 2;
        }
        while (used < window - (inside ? 1 : 0)) {
            h.tell(0, store, {}, base);
            ++used;
        }
        h.change(0, 0, 1, 2);
        const Told second = h.change(40, 0, 3, 4);
        EXPECT_EQ(h.ask(second), inside ? Answer::waits : Answer::now);
    }
}

// Of a place a load finds what memory holds, or has held since its lane looked last.
TEST(OrderByHand, ALoadFindsWhatWasThereSinceItLooked) {
    struct Row {
        std::vector<uint32_t> held;  // one after another, the last one now
        std::vector<uint32_t> saw;
        std::vector<Answer> answers;
    };
    constexpr Answer now = Answer::now, given = Answer::given, waits = Answer::waits;
    for (const Row& row : std::initializer_list<Row>{
             {{1}, {1}, {now}},
             {{1}, {2}, {waits}},
             {{1, 2, 3}, {1}, {given}},
             {{1, 2, 3}, {3}, {now}},
             {{1, 2, 3}, {1, 2, 3}, {given, given, now}},
             {{1, 2, 3}, {2, 2, 1}, {given, given, waits}},
             {{1, 2, 3}, {3, 2}, {now, waits}},
             // The first of several that are alike: what stood behind it is still to come.
             {{0, 5, 0}, {0, 5, 0, 5}, {now, given, now, waits}},
             {{0, 5, 0, 5}, {5, 0, 5, 0}, {now, given, now, waits}},
         })
        for (const uint32_t operation : {uint32_t{look}, uint32_t{weak}}) {
            Hand h;
            std::vector<Told> loads;
            for (const uint32_t saw : row.saw)
                loads.push_back(h.tell(9, operation, {saw}, base + 0x30));
            const Told early = h.tell(80, look, {row.held[0]}, base + 0x30);
            std::memcpy(h.memory(base + 0x30), &row.held[0], 4);
            EXPECT_EQ(h.ask(early), now);
            for (size_t i = 1; i < row.held.size(); ++i) h.put(base + 0x30, row.held[i]);
            for (size_t i = 0; i < loads.size(); ++i) {
                EXPECT_EQ(h.ask(loads[i]), row.answers[i])
                    << i << " of " << row.saw.size() << ", the first " << row.saw[0];
                if (row.answers[i] == now) h.access(loads[i]);
            }
        }
}

// A lane that waited finds what came since.
TEST(OrderByHand, ALoadThatWaits) {
    Hand h;
    const Told poll = h.tell(9, look, {5}, base);
    for (const uint32_t held : {0u, 1u, 0u, 4u}) {
        h.put(base, held);
        EXPECT_EQ(h.ask(poll), Answer::waits);
    }
    h.put(base, 5);
    h.put(base, 6);
    EXPECT_EQ(h.ask(poll), Answer::given);
}

// After its own change a lane sees nothing of before.
TEST(OrderByHand, ALaneDoesNotLookBehindItsOwnChange) {
    for (const bool changes : {true, false}) {
        Hand h;
        const Told change = h.change(changes ? 9 : 70, 3, 1, 2);
        const Told early = h.tell(9, look, {3}, base);
        const Told then = h.tell(9, look, {3}, base);
        h.put(base, 3);
        if (!changes) EXPECT_EQ(h.ask(early), Answer::now);
        EXPECT_TRUE(h.goes(change));
        EXPECT_EQ(h.ask(then), changes ? Answer::waits : Answer::given);
    }
}

// A strong store, too: it is kept from then on, and its own lane has looked.
TEST(OrderByHand, AStoreIsNoted) {
    Hand h;
    const Told stores = h.tell(9, store, {}, base);
    const Told mine = h.tell(9, look, {0}, base);
    const Told others = h.tell(70, look, {0}, base);
    h.asked(stores, [&](const Order::Asked& a) {
        h.order().stores(a);
        *h.memory(base) = 8;
        h.order().accessed(a);
    });
    EXPECT_EQ(h.ask(mine), Answer::waits);
    EXPECT_EQ(h.ask(others), Answer::given);
}

// Which stores change what a lane may see: those to a byte of its place.
TEST(OrderByHand, StoresToAnyByteOfAPlace) {
    struct Row {
        uint32_t operation;
        uint64_t at;  // where the load begins
        uint64_t address;
        uint8_t bytes;
        Space space = Space::global;
    };
    for (const Row& row : std::initializer_list<Row>{
             {look, 0x10, 0x10, 4},
             {look, 0x10, 0x10, 1},
             {look, 0x10, 0x13, 1},
             {look, 0x10, 0x0c, 8},
             {look, 0x10, 0x0d, 4},
             {look, 0x1c, 0x10, 16},
             {look, 0x1c, 0x1e, 8},
             {look_pair, 0x18, 0x18, 4},
             {look_pair, 0x18, 0x1c, 4},
             {look_pair, 0x18, 0x1f, 1},
             {look_pair, 0x18, 0x00, 32},
             {look_eight, 0x20, 0x20, 4},
             {look_eight, 0x20, 0x30, 4},  // the upper half of 32 bytes
             {look_eight, 0x20, 0x3c, 4},
             {look_eight, 0x20, 0x3f, 1},
         }) {
        Hand h;
        std::vector<uint64_t> zeros(row.operation == look_pair ? 2 : row.operation == look ? 1 : 7);
        const Told early = h.tell(9, row.operation, zeros, base + row.at);
        // What is stored stands there for a moment alone.
        const uint64_t byte = std::max(row.at, row.address) - row.at;
        std::vector<uint64_t> saw = zeros;
        const uint64_t word = byte / 4;
        if (row.operation == look_eight && word == 1) continue;  // thrown away
        saw[row.operation == look_eight && word > 0 ? word - 1 : word] = uint64_t{0x80}
                                                                         << byte % 4 * 8;
        const Told then = h.tell(9, row.operation, saw, base + row.at);
        const std::string where = std::to_string(row.at) + " and " + std::to_string(row.address);
        EXPECT_EQ(h.ask(early), Answer::now) << where;
        *h.memory(base + row.at + byte) = 0x80;
        h.stored(base + row.address, row.bytes);
        *h.memory(base + row.at + byte) = 0;
        EXPECT_EQ(h.ask(then), Answer::given) << where;
    }
}

// Bytes beside it are none of its own.
TEST(OrderByHand, StoresBesideAPlace) {
    for (const uint64_t beside : {uint64_t{0x0c}, uint64_t{0x14}, uint64_t{0x110}}) {
        Hand h;
        const Told early = h.tell(9, look, {0}, base + 0x10);
        const Told then = h.tell(9, look, {5}, base + 0x10);
        EXPECT_EQ(h.ask(early), Answer::now);
        *h.memory(base + 0x10) = 5;  // which nobody says
        h.stored(base + beside, 4);
        *h.memory(base + 0x10) = 0;
        EXPECT_EQ(h.ask(then), Answer::waits) << beside;
    }
}

// Memory that a copy wrote, of which no instruction tells.
TEST(OrderByHand, WhatMemoryHoldsNowIsSeenWhoeverWroteIt) {
    Hand h;
    const Told early = h.tell(9, look, {0}, base);
    const Told then = h.tell(9, look, {5}, base);
    EXPECT_EQ(h.ask(early), Answer::now);
    *h.memory(base) = 5;
    EXPECT_EQ(h.ask(then), Answer::now);
}

// Each element of a vector may be of another moment, but of none before the lane looked last.
TEST(OrderByHand, ElementsOfAVectorMayBeOfDifferentMoments) {
    struct Row {
        std::array<uint32_t, 2> saw;
        Answer answer;
    };
    for (const Row& row : std::initializer_list<Row>{
             {{0, 0}, Answer::given},
             {{1, 0}, Answer::given},
             {{0, 2}, Answer::given},  // never there at once
             {{1, 2}, Answer::now},
             {{2, 1}, Answer::waits},
             {{1, 3}, Answer::waits},
             {{3, 2}, Answer::waits},
             {{0, 1}, Answer::waits},
         }) {
        Hand h;
        const Told early = h.tell(70, look_pair, {0, 0}, base + 8);
        const Told t = h.tell(9, look_pair, {row.saw[0], row.saw[1]}, base + 8);
        EXPECT_EQ(h.ask(early), Answer::now);
        h.put(base + 8, 1);
        h.put(base + 12, 2);
        EXPECT_EQ(h.ask(t), row.answer) << row.saw[0] << " " << row.saw[1];
    }
    // The lane has seen the first element's 1.
    Hand h;
    const Told early = h.tell(9, look_pair, {0, 0}, base + 8);
    const Told middle = h.tell(9, look_pair, {1, 0}, base + 8);
    const Told late = h.tell(9, look_pair, {0, 2}, base + 8);
    EXPECT_EQ(h.ask(early), Answer::now);
    h.put(base + 8, 1);
    EXPECT_EQ(h.ask(middle), Answer::now);
    h.put(base + 12, 2);
    EXPECT_EQ(h.ask(late), Answer::waits);
}

// What '_' takes may be anything.
TEST(OrderByHand, ElementsThatAreThrownAway) {
    for (uint32_t wrong = 0; wrong < 8; ++wrong) {
        Hand h;
        const Told t = h.tell(9, look_eight, {1, 3, 4, 5, 6, 7, 8}, base);
        for (uint32_t i = 0; i < 8; ++i)
            *h.memory(base + uint64_t{i} * 4) = static_cast<uint8_t>(i == wrong ? 99 : i + 1);
        const bool finds = h.asked(t, [&](const Order::Asked& a) { return h.order().finds(a); });
        EXPECT_EQ(finds, wrong == 1) << wrong;
        EXPECT_EQ(h.ask(t), wrong == 1 ? Answer::now : Answer::waits) << wrong;
    }
}

// What memory held before the run, where the first to look comes when it has changed.
TEST(OrderByHand, WhatWasThereBeforeTheRun) {
    for (const bool has_before : {true, false})
        for (const bool shared : {true, false}) {
            Hand h;
            h.has_before = has_before;
            h.before[0x24] = 9;
            Told zeros = h.tell(9, look_generic, {0}, base + 0x24);
            Told nine = h.tell(70, look_generic, {9}, base + 0x24);
            for (Told* t : {&zeros, &nine})
                if (shared) t->space = Space::shared, t->address = 0x24, t->cta = 0;
            const bool is_nine = has_before && !shared;
            *h.memory(zeros.address, zeros.space) = 7;
            EXPECT_EQ(h.ask(zeros), is_nine ? Answer::waits : Answer::given);
            EXPECT_EQ(h.ask(nine), is_nine ? Answer::given : Answer::waits);
            EXPECT_EQ(h.before_bytes, shared ? 0u : 4u);
        }
}

// Shared memory of each CTA by itself, and by rank where a CTA stores to a peer's.
TEST(OrderByHand, SharedMemoryOfEachCta) {
    Hand h;
    const auto load = [&](uint64_t thread, uint32_t saw) {
        Told t = h.tell(thread, look_generic, {saw}, 0x20, Space::shared);
        return t;
    };
    const Told zero = load(0, 0), one = load(64, 1);
    const Told zero_then = load(0, 5), one_then = load(64, 5);
    *h.memory(0x20, Space::shared, 1) = 1;
    EXPECT_EQ(h.ask(zero), Answer::now);
    EXPECT_EQ(h.ask(one), Answer::now);
    h.put(0x20, 5, 4, Space::shared, 1);
    h.put(0x20, 6, 4, Space::shared, 1);
    EXPECT_EQ(h.ask(zero_then), Answer::waits);
    EXPECT_EQ(h.ask(one_then), Answer::given);
}

TEST(OrderByHand, StoresToAPeersSharedMemory) {
    for (const uint8_t rank : {uint8_t{0}, uint8_t{1}}) {
        Hand h;
        h.plan.clusters.shape = {2, 1, 1};
        const Told early = h.tell(3 * 64, look_generic, {0}, 0x20, Space::shared);  // of CTA 3
        const Told then = h.tell(3 * 64, look_generic, {5}, 0x20, Space::shared);
        EXPECT_EQ(h.ask(early), Answer::now);
        *h.memory(0x20, Space::shared, 3) = 5;
        warp::Access a;
        a.space = Space::shared;
        a.store = true;
        a.lanes = a.remote = 1;
        a.address[0] = 0x20;
        a.bytes_of_lane[0] = 4;
        a.rank[0] = rank;
        warp::Retired e{};
        e.cta_index = 2;  // of the same cluster
        e.executed = e.active = 1;
        e.accesses = &a;
        e.access_count = 1;
        h.order().retired(e);
        *h.memory(0x20, Space::shared, 3) = 0;
        EXPECT_EQ(h.ask(then), rank == 1 ? Answer::given : Answer::waits);
    }
}

TEST(OrderByHand, BlocksOfMalloc) {
    struct Row {
        std::vector<uint64_t> addresses;  // one a thread
        uint64_t first, end;              // 0: none
    };
    for (const Row& row : std::initializer_list<Row>{
             {{}, 0, 0},
             {{0}, 0, 0},  // there was no room
             {{0x1000}, 0x1000, 0x1001},
             {{0x1000, 0x2000}, 0x1000, 0x2001},
             {{0x2000, 0x1000}, 0x1000, 0x2001},
             {{0x2000, 0x1000, 0, 0x3000, 0x1800}, 0x1000, 0x3001},
         }) {
        Hand h;
        for (size_t i = 0; i < row.addresses.size(); ++i)
            h.took_block(i * 33, row.addresses[i], 100 - i);
        const auto blocks = h.order().blocks();
        ASSERT_EQ(blocks.has_value(), row.first != 0);
        if (blocks) EXPECT_EQ(*blocks, std::pair(row.first, row.end));
        // The last thread's has the lowest ticket.
        for (size_t i = row.addresses.size(); i-- > 0;) {
            for (size_t other = 0; other < row.addresses.size(); ++other)
                EXPECT_EQ(h.order().is_block_next(other * 33), other == i) << other << " " << i;
            h.order().took_block(i * 33);
        }
        EXPECT_TRUE(h.order().is_block_next(0));
    }
}

// A thread that takes its block before its turn has it, and does not hold the others.
TEST(OrderByHand, BlocksThatAreTakenOutOfTurn) {
    Hand h;
    h.took_block(0, 0x1000, 1);
    h.took_block(1, 0x2000, 2);
    h.took_block(0, 0x3000, 3);
    h.took_block(2, 0x4000, 4);
    h.order().took_block(1);
    EXPECT_TRUE(h.order().is_block_next(0));
    h.order().took_block(0);
    EXPECT_TRUE(h.order().is_block_next(0));
    h.order().took_block(0);
    EXPECT_TRUE(h.order().is_block_next(2));
    h.order().took_block(5);  // which has none
    EXPECT_TRUE(h.order().is_block_next(2));
    h.order().took_block(2);
    EXPECT_TRUE(h.order().is_block_next(9));
}

// Of a CTA that has ended nothing is waited for any more: of that CTA alone.
TEST(OrderByHand, ACtaThatHasEnded) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{6}})
        for (const uint64_t ended : {uint64_t{0}, uint64_t{1}, uint64_t{2}}) {
            Hand h(4, first);
            const Told a = h.change(64, 0, 1, 2);
            const Told b = h.change(127, 0, 3, 4);
            const Told c = h.change(255, 0, 5, 6);
            h.took_block(64, 0x1000, 7);
            h.took_block(127, 0x2000, 8);
            h.took_block(128, 0x3000, 9);
            EXPECT_EQ(h.ask(c), Answer::waits);
            EXPECT_EQ(h.ask(b), Answer::waits);
            Order::Unexplained u;
            EXPECT_TRUE(h.order().first_waiting(u));
            EXPECT_EQ(u.event.cta_index, first + 1) << ended;
            h.order().ended(first + ended);
            h.order().ended(first + ended);  // behind one that was lost, too
            EXPECT_EQ(h.ask(c), ended == 1 ? Answer::now : Answer::waits) << ended;
            EXPECT_EQ(h.order().is_block_next(128), ended == 1) << ended;
            EXPECT_EQ(h.order().is_block_next(64), ended != 1) << ended;
            EXPECT_TRUE(h.order().stuck(false));  // once
            if (ended != 1) EXPECT_EQ(h.ask(a), Answer::now);
        }
}

// Its shared memory is forgotten, and that of no other.
TEST(OrderByHand, SharedMemoryOfACtaThatHasEnded) {
    Hand h;
    const Told one = h.tell(64, look_generic, {0}, 0x20, Space::shared);
    const Told two = h.tell(128, look_generic, {0}, 0x20, Space::shared);
    const Told two_then = h.tell(128, look_generic, {0}, 0x20, Space::shared);
    EXPECT_EQ(h.ask(one), Answer::now);
    EXPECT_EQ(h.ask(two), Answer::now);
    h.put(0x20, 5, 4, Space::shared, 2);
    h.order().ended(1);
    EXPECT_EQ(h.ask(two_then), Answer::given);
}

// What goes on where nothing else does: a change whose value is there, and before which are only
// changes of other warps that its tickets do not put before it; then any whose value is there.
TEST(OrderByHand, AChangeThatIsLetGo) {
    struct Row {
        uint64_t thread;         // of the one before it; its own is 100
        uint32_t before, after;  // of that one; its own are 10 and 20
        uint32_t saw;            // memory has 0
        bool goes, goes_released;
    };
    for (const Row& row : std::initializer_list<Row>{
             {3, 1, 19, 0, true, true},
             {3, 1, 10, 0, true, true},
             {3, 1, 9, 0, false, true},
             {95, 1, 19, 0, true, true},
             {96, 1, 19, 0, false, true},  // of its own warp
             {127, 1, 19, 0, false, true},
             {128, 1, 19, 0, true, true},
             {3, 1, 19, 1, false, false},
         })
        for (const bool released : {false, true}) {
            Hand h;
            h.change(row.thread, 0, row.before, row.after);
            const Told t = h.change(100, row.saw, 10, 20);
            EXPECT_EQ(h.ask(t), Answer::waits);
            const bool goes = released ? row.goes_released : row.goes;
            const std::string where = std::to_string(row.thread) + " " + std::to_string(row.after);
            // Without a change to let go an access is forced, where that may be.
            EXPECT_EQ(h.order().stuck(released), goes || released) << where;
            EXPECT_EQ(h.ask(t), goes       ? Answer::now
                                : released ? Answer::forced
                                           : Answer::waits)
                << where << released;
        }
}

// Of several the one with the lowest second ticket, whichever thread's.
TEST(OrderByHand, TheEarliestChangeIsLetGo) {
    for (const bool turned : {false, true}) {
        Hand h;
        h.change(0, 0, 1, 29);
        const Told a = h.change(turned ? 200 : 100, 0, 20, 40);
        const Told b = h.change(turned ? 100 : 200, 0, 20, 41);
        EXPECT_EQ(h.ask(b), Answer::waits);
        EXPECT_EQ(h.ask(a), Answer::waits);
        EXPECT_TRUE(h.order().stuck(false));
        EXPECT_EQ(h.ask(b), Answer::waits);
        EXPECT_EQ(h.ask(a), Answer::now);
    }
}

TEST(OrderByHand, NothingGoesOnWhereNothingWaits) {
    Hand h;
    h.change(0, 0, 1, 2);
    EXPECT_FALSE(h.order().stuck(false));
    EXPECT_FALSE(h.order().stuck(true));
    Order::Unexplained u;
    EXPECT_FALSE(h.order().first_waiting(u));
}

// The access that is named: the first change of its address, else a load, else any change; the one
// with the lowest ticket, or thread.
TEST(OrderByHand, TheAccessThatIsForced) {
    struct Row {
        bool first, load, next;  // which are there: a place's first change, a load, its next change
        int forced;              // 0 to 2
    };
    for (const Row& row : std::initializer_list<Row>{{true, true, true, 0},
                                                     {false, true, true, 1},
                                                     {false, false, true, 2},
                                                     {true, false, true, 0},
                                                     {true, true, false, 0},
                                                     {false, true, false, 1}}) {
        Hand h;
        const std::array<Told, 3> told{h.change(140, 4, 1, 2), h.tell(70, look, {5}, base + 4),
                                       h.change(10, 6, 3, 4)};
        if (row.next) EXPECT_EQ(h.ask(told[2]), Answer::waits);
        if (row.load) EXPECT_EQ(h.ask(told[1]), Answer::waits);
        if (row.first) EXPECT_EQ(h.ask(told[0]), Answer::waits);
        h.put(base + 4, 3);
        Order::Unexplained u;
        ASSERT_TRUE(h.order().first_waiting(u));
        const Told& forced = told[static_cast<size_t>(row.forced)];
        EXPECT_EQ(u.event.operation, forced.operation);
        EXPECT_EQ(u.lane, forced.thread % 32);
        EXPECT_EQ(u.word, forced.at);
        EXPECT_EQ(u.other, 4u + static_cast<uint64_t>(row.forced));
        EXPECT_EQ(u.emulated, 0u);  // when it was asked
        EXPECT_FALSE(h.order().stuck(false));
        EXPECT_TRUE(h.order().stuck(true));
        EXPECT_FALSE(h.order().stuck(true));  // it has been told to go
        EXPECT_EQ(h.ask(forced), Answer::forced);
    }
}

TEST(OrderByHand, OfSeveralTheLowestTicketOrThreadIsForced) {
    Hand h;
    const Told late = h.change(3, 9, 5, 6, base), early = h.change(99, 9, 3, 4, base + 16);
    EXPECT_EQ(h.ask(late), Answer::waits);
    EXPECT_EQ(h.ask(early), Answer::waits);
    EXPECT_TRUE(h.order().stuck(true));
    EXPECT_EQ(h.ask(early), Answer::forced);
    EXPECT_EQ(h.ask(late), Answer::waits);
    Hand loads;
    const Told high = loads.tell(40, look, {9}, base), low = loads.tell(39, look, {9}, base + 16);
    EXPECT_EQ(loads.ask(high), Answer::waits);
    EXPECT_EQ(loads.ask(low), Answer::waits);
    EXPECT_TRUE(loads.order().stuck(true));
    EXPECT_EQ(loads.ask(high), Answer::waits);
    EXPECT_EQ(loads.ask(low), Answer::forced);
}

// Whether the tickets leave no other value than memory's to the first access that was forced.
TEST(OrderByHand, WhetherTheFirstForcedIsCertain) {
    struct Row {
        std::pair<uint32_t, uint32_t> done, next;  // tickets of others; its own are 10 and 20
        bool is_done;                              // the second of these
        bool certain;
    };
    for (const Row& row : std::initializer_list<Row>{
             {{1, 9}, {21, 22}, false, true},
             {{1, 10}, {21, 22}, false, false},  // which came first nobody knows
             {{1, 9}, {20, 22}, false, false},
             {{1, 9}, {19, 22}, false, false},
             {{1, 9}, {19, 22}, true, false},  // done, and so its second ticket is the highest
         }) {
        Hand h;
        const Told done = h.change(3, 0, row.done.first, row.done.second);
        const Told t = h.change(70, 5, 10, 20);
        const Told next = h.change(140, 1, row.next.first, row.next.second);
        EXPECT_TRUE(h.goes(done));
        EXPECT_EQ(h.ask(t), Answer::waits);
        if (row.is_done) EXPECT_EQ(h.ask(next), Answer::now);
        EXPECT_FALSE(h.order().certain());
        EXPECT_TRUE(h.order().stuck(true) &&
                    (row.is_done || h.ask(t) != Answer::waits || h.order().stuck(true)));
        EXPECT_EQ(h.order().certain(), row.certain) << row.done.second << " " << row.next.first;
    }
}

// Of those that are forced later nothing is said.
TEST(OrderByHand, TheFirstForcedDecidesWhetherItIsCertain) {
    for (const bool first_is_certain : {true, false}) {
        Hand h;
        const Told a = first_is_certain ? h.change(3, 9, 1, 2, base) : h.tell(3, look, {9}, base);
        const Told b =
            first_is_certain ? h.tell(70, look, {9}, base + 16) : h.change(70, 9, 3, 4, base + 16);
        EXPECT_EQ(h.ask(a), Answer::waits);
        EXPECT_TRUE(h.order().stuck(true));
        EXPECT_EQ(h.order().certain(), first_is_certain);
        EXPECT_EQ(h.ask(a), Answer::forced);
        EXPECT_EQ(h.ask(b), Answer::waits);
        EXPECT_TRUE(h.order().stuck(true));
        EXPECT_EQ(h.ask(b), Answer::forced);
        EXPECT_EQ(h.order().certain(), first_is_certain);
    }
}

}  // namespace
