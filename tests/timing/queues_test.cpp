// SPDX-License-Identifier: Apache-2.0
// Queues, the calendar of a pipe, wavefronts and sectors beside their plain definitions.
#include "emu/timing/queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "emu/timing/wavefronts.hpp"

namespace {

using namespace lockwarp;

TEST(Queue, HasRoomWhenOneLongAgoHasBegun) {
    for (const unsigned places : {1u, 3u, 5u, 12u, 16u}) {
        timing::Queue q;
        std::vector<uint64_t> begun;
        for (uint64_t n = 0; n < 50; ++n) {
            EXPECT_EQ(q.free_at(places), n < places ? 0 : begun[n - places]) << places << " " << n;
            begun.push_back(7 + 3 * n);
            q.put(begun.back());
        }
    }
}

// Takes the cycles from `from` on that are free, one by one.
uint64_t take_slowly(std::set<uint64_t>& taken, uint64_t from, uint64_t length) {
    while (length != 0) {
        if (taken.insert(from).second) --length;
        ++from;
    }
    return from;
}

TEST(Calendar, TakesWhatIsFree) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        timing::Calendar calendar;
        std::set<uint64_t> taken;
        uint64_t forgotten = 0;
        for (int n = 0; n < 60; ++n) {
            const uint64_t from = forgotten + random() % 80, length = 1 + random() % 9;
            ASSERT_EQ(calendar.take(from, length), take_slowly(taken, from, length))
                << round << " " << n;
            // What lies behind is never asked for again.
            if (random() % 8 == 0) {
                forgotten += random() % 20;
                calendar.forget(forgotten);
            }
        }
    }
}

TEST(Calendar, WhatIsForgottenIsFree) {
    timing::Calendar calendar;
    EXPECT_EQ(calendar.take(0, 10), 10u);
    EXPECT_EQ(calendar.take(20, 10), 30u);
    calendar.forget(10);
    EXPECT_EQ(calendar.take(5, 1), 11u) << "it ends where it is asked for: it is kept";
    calendar.forget(12);
    EXPECT_EQ(calendar.take(5, 1), 6u);
    EXPECT_EQ(calendar.take(20, 1), 31u);
    calendar.forget(100);
    EXPECT_EQ(calendar.take(20, 1), 21u);
}

warp::Access random_access(std::mt19937& random, unsigned bytes) {
    warp::Access a;
    a.bytes = bytes;
    a.bytes_of_lane.fill(static_cast<uint8_t>(bytes));
    a.lanes = random() % 4 == 0 ? 0xffffffff : static_cast<uint32_t>(random() & random());
    const uint64_t span = uint64_t{1} << (random() % 13);
    for (uint64_t& at : a.address) at = random() % span * bytes;
    return a;
}

TEST(Wavefronts, OfAnyAccess) {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        const unsigned bytes = 1u << (random() % 5);
        const warp::Access a = random_access(random, bytes);
        const unsigned lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
        unsigned expected = 0;
        for (unsigned first = 0; first < 32; first += lanes) {
            std::map<uint64_t, std::set<uint64_t>> words;  // by bank
            for (unsigned l = first; l < first + lanes; ++l)
                if ((a.lanes >> l & 1) != 0)
                    for (uint64_t b = 0; b < bytes; ++b) {
                        const uint64_t word = (a.address[l] + b) / 4;
                        words[word % 32].insert(word);
                    }
            size_t most = 0;
            for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
            expected += static_cast<unsigned>(most);
        }
        EXPECT_EQ(timing::wavefronts(a.address, a.lanes, bytes, timing::phase_lanes(bytes)),
                  expected);
        EXPECT_EQ(timing::wavefronts(a), std::max(1u, expected));
    }
}

TEST(Sectors, OfAnyAccess) {
    std::mt19937 random(6);
    for (int round = 0; round < 2000; ++round) {
        warp::Access a = random_access(random, 1u << (random() % 5));
        std::set<uint64_t> sectors, lines;
        for (unsigned l = 0; l < 32; ++l) {
            if (random() % 4 == 0) a.bytes_of_lane[l] = static_cast<uint8_t>(1 + random() % 16);
            if ((a.lanes >> l & 1) == 0) continue;
            for (uint64_t b = 0; b < a.bytes_of_lane[l]; ++b) {
                sectors.insert((a.address[l] + b) / 32);
                lines.insert((a.address[l] + b) / 128);
            }
        }
        std::array<uint64_t, 64> out{};
        const size_t n = timing::sectors_of(a, out);
        EXPECT_EQ(std::vector(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n)),
                  std::vector(sectors.begin(), sectors.end()));
        EXPECT_EQ(timing::lines_of(a).sectors, sectors.size());
        EXPECT_EQ(timing::lines_of(a).lines, lines.size());
    }
}

// A tile of 16-byte rows: `across` of them side by side make a line of the tile, and 8 of one
// column are a phase.
TEST(Wavefronts, OfTilesOfMatrices) {
    const auto tile = [](unsigned across, unsigned down, uint64_t stride, unsigned widest = 0) {
        std::vector<warp::Access> out;
        unsigned n = 32;
        for (unsigned y = 0; y < down; ++y)
            for (unsigned x = 0; x < across; ++x)
                for (unsigned half = 0; half < 2; ++half) {
                    if (n == 32) {
                        out.emplace_back();
                        out.back().bytes = 8;
                        out.back().bytes_of_lane.fill(8);
                        out.back().lanes = 0;
                        n = 0;
                    }
                    out.back().address[n] = 4096 + y * stride + 16 * x + 8 * half;
                    out.back().lanes |= 1u << n++;
                }
        return timing::matrix_wavefronts(out, widest == 0 ? across : widest);
    };
    // Rows of 32 bytes follow each other: 8 of one column lie in 256 bytes, each bank twice.
    EXPECT_EQ(tile(2, 16, 32), 2 * 2 * 2u);
    // 16 bytes more, and no two rows of a phase are in one bank.
    EXPECT_EQ(tile(2, 16, 48), 2 * 2u);
    // 128 bytes apart all are in the same four banks.
    EXPECT_EQ(tile(2, 16, 128), 2 * 2 * 8u);
    EXPECT_EQ(tile(2, 8, 144), 2 * 1u);
    EXPECT_EQ(tile(1, 8, 128), 8u);
    EXPECT_EQ(tile(1, 12, 144), 2u);
    EXPECT_EQ(tile(4, 8, 144), 4u);
    // Rows with a gap between them are no neighbours, however wide a line might be.
    EXPECT_EQ(tile(1, 8, 32, 2), 2u);
    EXPECT_EQ(tile(2, 8, 48, 4), 2u);
    EXPECT_EQ(timing::matrix_wavefronts({}, 2), 1u);
}

}  // namespace
