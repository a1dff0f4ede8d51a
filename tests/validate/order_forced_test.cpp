// SPDX-License-Identifier: Apache-2.0
// What the order lets go where nothing goes on by itself, what it forces, and what of a CTA that
// has ended.
#include "tests/validate/order_by_hand.hpp"

namespace lockwarp::order_forced_test {
namespace {

using namespace lockwarp::order_by_hand;

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
        h.tell(250, weak, {0x9999}, base);  // which is no block
        const auto blocks = h.order().blocks();
        ASSERT_EQ(blocks.has_value(), row.first != 0);
        if (blocks) {
            EXPECT_EQ(*blocks, std::pair(row.first, row.end));
        }
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
    h.took_block(1, 0x5000, 5);
    h.order().took_block(1);
    EXPECT_TRUE(h.order().is_block_next(0));
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
            const Told done = h.change(64, 0, 1, 2, base + 32);
            h.change(63, 0, 3, 4, base + 48);
            const Told behind_it = h.change(180, 0, 5, 6, base + 48);
            h.change(128, 0, 3, 4, base + 64);
            const Told behind_that = h.change(190, 0, 5, 6, base + 64);
            const Told a = h.change(64, 0, 1, 2);
            const Told b = h.change(127, 0, 3, 4);
            const Told c = h.change(255, 0, 5, 6);
            h.took_block(64, 0x1000, 7);
            h.took_block(127, 0x2000, 8);
            h.took_block(128, 0x3000, 9);
            EXPECT_TRUE(h.goes(done));
            EXPECT_EQ(h.ask(c), Answer::waits);
            EXPECT_EQ(h.ask(b), Answer::waits);
            Order::Unexplained u;
            EXPECT_TRUE(h.order().first_waiting(u));
            EXPECT_EQ(u.event.cta_index, first + 1) << ended;
            h.order().ended(first + ended);
            h.order().ended(first + ended);  // behind one that was lost, too
            EXPECT_EQ(h.ask(c), ended == 1 ? Answer::now : Answer::waits) << ended;
            EXPECT_EQ(h.order().first_waiting(u), ended != 1);
            // Those of its neighbours are not done.
            EXPECT_EQ(h.ask(behind_it), ended == 0 ? Answer::now : Answer::waits) << ended;
            EXPECT_EQ(h.ask(behind_that), ended == 2 ? Answer::now : Answer::waits) << ended;
            EXPECT_EQ(h.order().is_block_next(128), ended == 1) << ended;
            EXPECT_EQ(h.order().is_block_next(64), ended != 1) << ended;
            EXPECT_TRUE(h.order().stuck(false));  // once
            if (ended != 1) {
                EXPECT_EQ(h.ask(a), Answer::now);
            }
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

// What is kept of global memory stays.
TEST(OrderByHand, GlobalMemoryWhenACtaHasEnded) {
    Hand h;
    const Told early = h.tell(128, look, {0}, base), then = h.tell(128, look, {5}, base);
    EXPECT_EQ(h.ask(early), Answer::now);
    h.put(base, 5);
    h.put(base, 6);
    h.order().ended(0);
    h.order().ended(1);
    EXPECT_EQ(h.ask(then), Answer::given);
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

TEST(OrderByHand, TheEarliestOfThreeIsLetGo) {
    std::array<int, 3> turns{0, 1, 2};
    do {
        Hand h;
        h.change(0, 0, 1, 29);
        const std::array<Told, 3> told{h.change(40, 0, 20, 41), h.change(70, 0, 20, 40),
                                       h.change(100, 0, 20, 42)};
        for (const int i : turns) EXPECT_EQ(h.ask(told[static_cast<size_t>(i)]), Answer::waits);
        EXPECT_TRUE(h.order().stuck(false));
        EXPECT_EQ(h.ask(told[0]), Answer::waits);
        EXPECT_EQ(h.ask(told[2]), Answer::waits);
        EXPECT_EQ(h.ask(told[1]), Answer::now);
    } while (std::ranges::next_permutation(turns).found);
}

// One that may go on is not told so again.
TEST(OrderByHand, OneAfterAnotherIsLetGo) {
    Hand h;
    h.change(0, 0, 1, 29);
    h.change(0, 0, 1, 29, base + 32);
    const Told a = h.change(100, 0, 20, 40), b = h.change(200, 0, 20, 41, base + 32);
    EXPECT_EQ(h.ask(a), Answer::waits);
    EXPECT_EQ(h.ask(b), Answer::waits);
    EXPECT_TRUE(h.order().stuck(false));
    EXPECT_TRUE(h.order().stuck(false));
    EXPECT_FALSE(h.order().stuck(false));
    EXPECT_EQ(h.ask(a), Answer::now);
    EXPECT_EQ(h.ask(b), Answer::now);
}

// First those that the tickets let, whatever others' tickets are.
TEST(OrderByHand, WhatTheTicketsLetComesFirst) {
    Hand h;
    h.change(0, 0, 1, 2);
    const Told not_let = h.change(40, 0, 3, 4);
    h.change(70, 0, 5, 9, base + 32);
    const Told let = h.change(100, 0, 8, 10, base + 32);
    EXPECT_EQ(h.ask(not_let), Answer::waits);
    EXPECT_EQ(h.ask(let), Answer::waits);
    EXPECT_TRUE(h.order().stuck(true));
    EXPECT_EQ(h.ask(not_let), Answer::waits);
    EXPECT_EQ(h.ask(let), Answer::now);
}

// A change of the own warp that is done is in nobody's way.
TEST(OrderByHand, AChangeOfTheOwnWarpThatIsDone) {
    Hand h;
    h.change(3, 0, 1, 12);
    const Told done = h.change(101, 0, 1, 15);
    const Told t = h.change(100, 1, 10, 20);
    EXPECT_EQ(h.ask(done), Answer::waits);
    EXPECT_TRUE(h.order().stuck(false));
    EXPECT_TRUE(h.goes(done));
    EXPECT_EQ(h.ask(t), Answer::waits);
    EXPECT_TRUE(h.order().stuck(false));
    EXPECT_EQ(h.ask(t), Answer::now);
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
        for (const uint64_t thread : {140u, 70u, 10u}) h.tell(thread, store, {}, base + 64);
        *h.memory(base) = *h.memory(base + 4) = 2;
        const std::array<Told, 3> told{h.change(140, 4, 1, 2), h.tell(70, look, {5}, base + 4),
                                       h.change(10, 6, 3, 4)};
        if (row.next) {
            EXPECT_EQ(h.ask(told[2]), Answer::waits);
        }
        if (row.load) {
            EXPECT_EQ(h.ask(told[1]), Answer::waits);
        }
        if (row.first) {
            EXPECT_EQ(h.ask(told[0]), Answer::waits);
        }
        h.put(base, 3);
        h.put(base + 4, 3);
        Order::Unexplained u;
        ASSERT_TRUE(h.order().first_waiting(u));
        const Told& forced = told[static_cast<size_t>(row.forced)];
        EXPECT_EQ(u.event.operation, forced.operation);
        EXPECT_EQ(u.lane, forced.thread % 32);
        EXPECT_EQ(u.word, forced.at);
        EXPECT_EQ(u.other, 4u + static_cast<uint64_t>(row.forced));
        EXPECT_EQ(u.emulated, 2u);  // when it was asked
        EXPECT_FALSE(h.order().stuck(false));
        EXPECT_TRUE(h.order().stuck(true));
        EXPECT_EQ(h.order().certain(), row.forced == 0);
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
        if (row.is_done) {
            EXPECT_EQ(h.ask(next), Answer::now);
        }
        EXPECT_FALSE(h.order().certain());
        EXPECT_TRUE(h.order().stuck(true) &&
                    (row.is_done || h.ask(t) != Answer::waits || h.order().stuck(true)));
        EXPECT_EQ(h.order().certain(), row.certain) << row.done.second << " " << row.next.first;
    }
}

// Changes of other places say nothing about it.
TEST(OrderByHand, OtherPlacesDoNotMakeItUncertain) {
    Hand h;
    h.change(40, 0, 1, 2, base - 16);
    const Told t = h.change(70, 5, 1, 20);
    h.change(100, 0, 1, 2, base + 16);
    EXPECT_EQ(h.ask(t), Answer::waits);
    EXPECT_TRUE(h.order().stuck(true));
    EXPECT_TRUE(h.order().certain());
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
}  // namespace lockwarp::order_forced_test
