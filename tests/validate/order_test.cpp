// SPDX-License-Identifier: Apache-2.0
// The order that tracks tell, written by hand: which access may go on, and which waits.
#include "tests/validate/order_by_hand.hpp"

namespace lockwarp::order_test {
namespace {

using namespace lockwarp::order_by_hand;

TEST(OrderByHand, TheProgramIsWhatItIsTakenFor) {
    const Hand h;
    using gpu::Ordered;
    constexpr std::array expected{Ordered::load,   Ordered::load,   Ordered::load,
                                  Ordered::weak,   Ordered::change, Ordered::change,
                                  Ordered::change, Ordered::change, Ordered::load,
                                  Ordered::store,  Ordered::change, Ordered::load};
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
             {shared, {add, base + 16, Space::global, 40, 0, base + 16}, false, 1},
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

// What a thread has done is not what it does next.
TEST(OrderByHand, ChangesOfOneThread) {
    Hand h;
    h.change(3, 0, 7, 8, base + 64);
    const Told first = h.change(40, 0, 1, 2), other = h.change(40, 0, 9, 10, base + 32),
               last = h.change(40, 2, 5, 6);
    const Told between = h.change(70, 1, 3, 4);
    EXPECT_TRUE(h.goes(first));
    EXPECT_TRUE(h.goes(other));
    h.put(base, 2);
    EXPECT_EQ(h.ask(last), Answer::waits);
    h.put(base, 1);
    EXPECT_TRUE(h.goes(between));
    EXPECT_TRUE(h.goes(last));
}

TEST(OrderByHand, TheTicketOfARecord) {
    Hand h;
    const auto ticket = [&](const Told& t) {
        return Order::ticket(h.plan.program->operations[t.operation], h.word(t.thread, t.at));
    };
    EXPECT_EQ(ticket(h.change(40, 1, 2, 0x12345678)), 0x12345678u);
    EXPECT_EQ(ticket(h.change(41, 1, 3, 0x2345, base, red)), 0x2345u);
}

// Of old values for which there is no register a record has all behind the address.
TEST(OrderByHand, AVectorOfChanges) {
    for (const uint32_t wrong : {0u, 1u, 2u}) {
        Hand h;
        h.adds = 1;
        const Told t = h.tell(40, add_pair, {99, uint64_t{2} << 32 | 1, base + 8, 5, 6}, base + 8);
        h.put(base + 8, wrong == 0 ? 4 : 5);
        h.put(base + 12, wrong == 1 ? 4 : 6);
        EXPECT_EQ(h.ask(t), wrong == 2 ? Answer::now : Answer::waits) << wrong;
    }
}

// What is no instruction's number ends a track.
TEST(OrderByHand, ATrackOfNonsense) {
    Hand h;
    h.tell(0, 100'000'000, {}, base);
    h.change(0, 0, 1, 2);
    EXPECT_EQ(h.ask(h.change(40, 0, 3, 4)), Answer::now);
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

// A record of which no part lies behind all that is kept of a track.
TEST(OrderByHand, TheEndOfATrack) {
    for (const bool fits : {true, false}) {
        Hand h(4, 0, 2);
        for (uint64_t used = 0; used < window - (fits ? 2 : 1); ++used) h.tell(0, store, {}, base);
        h.change(0, 0, 1, 2);
        EXPECT_EQ(h.ask(h.change(100, 0, 3, 4)), fits ? Answer::waits : Answer::now);
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
    Order::Unexplained u;
    EXPECT_TRUE(h.order().first_waiting(u));
    h.put(base, 5);
    h.put(base, 6);
    EXPECT_EQ(h.ask(poll), Answer::given);
    EXPECT_FALSE(h.order().first_waiting(u));
}

// After its own change a lane sees nothing of before.
TEST(OrderByHand, ALaneDoesNotLookBehindItsOwnChange) {
    for (const bool changes : {true, false}) {
        Hand h;
        const Told change = h.change(changes ? 9 : 70, 3, 1, 2);
        const Told early = h.tell(9, look, {3}, base);
        const Told then = h.tell(9, look, {3}, base);
        h.put(base, 3);
        if (!changes) {
            EXPECT_EQ(h.ask(early), Answer::now);
        }
        EXPECT_TRUE(h.goes(change));
        EXPECT_EQ(h.ask(then), changes ? Answer::waits : Answer::given);
    }
}

// A strong store, too: it is kept from then on, and its own lane has looked.
TEST(OrderByHand, AStoreIsNoted) {
    Hand h;
    const Told stores = h.tell(9, store, {}, base);
    const Told mine = h.tell(9, look, {0}, base);
    const Told mine_then = h.tell(9, look, {8}, base);
    const Told others = h.tell(70, look, {0}, base);
    const Told others_then = h.tell(70, look, {3}, base);
    const Told others_last = h.tell(70, look, {8}, base);
    *h.memory(base) = 3;
    h.asked(stores, [&](const Order::Asked& a) {
        h.order().stores(a);
        *h.memory(base) = 8;
        h.order().accessed(a);
    });
    EXPECT_EQ(h.ask(mine_then), Answer::now);
    EXPECT_EQ(h.ask(mine), Answer::waits);
    EXPECT_EQ(h.ask(others), Answer::given);
    EXPECT_EQ(h.ask(others_then), Answer::given);
    EXPECT_EQ(h.ask(others_last), Answer::now);
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
             {look, 0x20, 0x19, 8},
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

// Loads of other widths and places nearby have their own history.
TEST(OrderByHand, PlacesNearby) {
    Hand h;
    h.put(base, 1);
    h.put(base + 4, 2);
    const std::array<Told, 3> early{h.tell(1, look, {1}, base), h.tell(2, look, {2}, base + 4),
                                    h.tell(3, look_pair, {1, 2}, base)};
    const std::array<Told, 3> then{h.tell(1, look, {1}, base), h.tell(2, look, {2}, base + 4),
                                   h.tell(3, look_pair, {1, 2}, base)};
    const std::array<Told, 3> never{h.tell(1, look, {2}, base), h.tell(2, look, {1}, base + 4),
                                    h.tell(3, look_pair, {2, 1}, base)};
    for (const Told& t : early) EXPECT_EQ(h.ask(t), Answer::now);
    h.put(base, 3);
    h.put(base + 4, 4);
    for (const Told& t : then) EXPECT_EQ(h.ask(t), Answer::given);
    for (const Told& t : never) EXPECT_EQ(h.ask(t), Answer::waits);
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

// What was never there at once is no moment that the lane has seen: what was there before is.
TEST(OrderByHand, AWholeBehindElementsOfDifferentMoments) {
    Hand h;
    const Told early = h.tell(70, look_pair, {0, 0}, base + 8);
    const Told mixed = h.tell(9, look_pair, {0, 2}, base + 8);
    const Told whole = h.tell(9, look_wide, {0}, base + 8);
    EXPECT_EQ(h.ask(early), Answer::now);
    h.put(base + 8, 1);
    h.put(base + 12, 2);
    EXPECT_EQ(h.ask(mixed), Answer::given);
    EXPECT_EQ(h.ask(whole), Answer::given);
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
            h.before_run[0x24] = 9;
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
    struct Row {
        uint64_t cta;
        bool remote;
        uint8_t rank;
        bool reaches;  // CTA 3
    };
    for (const Row& row : std::initializer_list<Row>{{2, true, 1, true},
                                                     {2, true, 0, false},
                                                     {3, true, 0, false},
                                                     {3, false, 0, true},
                                                     {2, false, 1, false},
                                                     {1, true, 1, false}}) {
        Hand h;
        h.plan.clusters.shape = {2, 1, 1};
        const Told early = h.tell(3 * 64, look_generic, {0}, 0x20, Space::shared);  // of CTA 3
        const Told then = h.tell(3 * 64, look_generic, {5}, 0x20, Space::shared);
        EXPECT_EQ(h.ask(early), Answer::now);
        *h.memory(0x20, Space::shared, 3) = 5;
        warp::Access a;
        a.space = Space::shared;
        a.store = true;
        a.lanes = 1u << 5;
        a.remote = row.remote ? a.lanes : 0;
        a.address[5] = 0x20;
        a.bytes_of_lane[5] = 4;
        a.rank[5] = row.rank;
        warp::Retired e{};
        e.cta_index = row.cta;
        e.executed = e.active = a.lanes;
        e.accesses = &a;
        e.access_count = 1;
        h.order().retired(e);
        *h.memory(0x20, Space::shared, 3) = 0;
        EXPECT_EQ(h.ask(then), row.reaches ? Answer::given : Answer::waits) << row.cta;
    }
}

}  // namespace
}  // namespace lockwarp::order_test
