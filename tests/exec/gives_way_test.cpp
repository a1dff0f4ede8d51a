// SPDX-License-Identifier: Apache-2.0
// Where CTAs and warps give way: as a seed says, the same for ever, or as a list does.
#include "emu/exec/gives_way.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockwarp::exec {

namespace {

// splitmix64's finalizer (Steele, Lea, Flood 2014) over the numbers of a place, one after another.
uint64_t mixed(std::initializer_list<uint64_t> numbers) {
    uint64_t x = 0;
    bool is_seed = true;
    for (const uint64_t n : numbers) {
        if (is_seed) {
            x = n;
            is_seed = false;
            continue;
        }
        x = x + n + 0x9e3779b97f4a7c15;
        x ^= x >> 30;
        x *= 0xbf58476d1ce4e5b9;
        x ^= x >> 27;
        x *= 0x94d049bb133111eb;
        x ^= x >> 31;
    }
    return x;
}

TEST(GivesWay, WhereASeedSays) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0x123456789abcdef0}}) {
        std::vector<warp::GiveWay> made;
        warp::TurnOrder order;
        order.seed = seed;
        order.made = &made;
        std::vector<warp::GiveWay> expected;
        GivesWay way;
        for (const uint64_t cta : {uint64_t{0}, uint64_t{7}}) {
            way.begin(&order, cta, 3);
            EXPECT_TRUE(way.is_asked());
            const bool first = mixed({seed, cta, warp::GiveWay::no_warp, 0, 0}) % 2 == 0;
            EXPECT_EQ(way.gives_way_first(), first);
            EXPECT_FALSE(way.gives_way_first()) << "it has begun";
            if (first) expected.push_back({cta, warp::GiveWay::no_warp, 0});
            for (uint32_t warp = 0; warp < 3; ++warp)
                for (uint64_t step = 0; step < 40; ++step) {
                    const bool yes = mixed({seed, cta, warp, step, 0}) % 2 == 0;
                    EXPECT_EQ(way.gives_way_at_once(warp, step), yes) << warp << " " << step;
                    EXPECT_FALSE(yes && way.gives_way_at_once(warp, step)) << "once a step";
                    if (yes) expected.push_back({cta, warp, step});
                }
            // Of each run of 64 steps one at most, at a place that is drawn of 128.
            for (uint32_t warp = 0; warp < 3; ++warp)
                for (uint64_t step = 0; step < 300; ++step) {
                    uint64_t next = 0;
                    for (uint64_t run = 0; next <= step; run += 64) {
                        const uint64_t at = mixed({seed, cta, warp, run, 1}) % 128;
                        if (at < 64) next = run + at;
                    }
                    EXPECT_EQ(way.next(warp, step), next) << warp << " " << step;
                }
        }
        EXPECT_EQ(made, expected);
    }
}

TEST(GivesWay, WhereAListSays) {
    warp::TurnOrder order;
    order.seed = 5;
    order.listed = true;
    order.places = {{1, 0, 9}, {1, 1, 4}, {1, 1, 70}, {2, 0, 3}, {2, warp::GiveWay::no_warp, 0}};
    ASSERT_TRUE(std::ranges::is_sorted(order.places));
    GivesWay way;
    way.begin(&order, 1, 2);
    EXPECT_FALSE(way.gives_way_first());
    for (uint64_t step = 0; step < 100; ++step) {
        EXPECT_EQ(way.next(0, step), step < 9 ? 9 : UINT64_MAX) << step;
        EXPECT_EQ(way.next(1, step), step < 4 ? 4 : step < 70 ? 70 : UINT64_MAX) << step;
        EXPECT_EQ(way.gives_way_at_once(0, step), step == 9);
        EXPECT_EQ(way.gives_way_at_once(1, step), step == 4 || step == 70);
    }
    way.begin(&order, 2, 2);
    EXPECT_TRUE(way.gives_way_first());
    EXPECT_EQ(way.next(0, 0), 3u);
    EXPECT_EQ(way.next(1, 0), UINT64_MAX);
    way.gave_way(0, 3);
    EXPECT_FALSE(way.gives_way_at_once(0, 3)) << "it has";
    way.begin(nullptr, 2, 2);
    EXPECT_FALSE(way.is_asked());
    EXPECT_FALSE(way.gives_way_first());
}

}  // namespace

}  // namespace lockwarp::exec
