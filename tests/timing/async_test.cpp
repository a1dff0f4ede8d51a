// SPDX-License-Identifier: Apache-2.0
// What goes on beside the warps: wgmma, bulk copies, mbarriers.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/exec/grid.hpp"
#include "emu/timing/timing.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"

namespace {

using namespace lockwarp;

// Cycles of gpu/kernels/specialized_gemm_wide, one tile of D for each CTA, by tiles of k. Those
// beyond K bring zeros, and take their time.
uint64_t cycles(int32_t tiles_of_k) {
    launch::Loaded loaded;
    launch::Memory memory;
    warp::Launch l;
    EXPECT_EQ(
        take(launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/specialized_gemm_wide.json"}, ""),
             loaded),
        "");
    EXPECT_EQ(take(launch::place_buffers(loaded.in.launch), memory), "");
    EXPECT_EQ(
        take(launch::make_launch(loaded.in.launch, loaded.in.kernel(), loaded.program, memory), l),
        "");
    const int32_t tiles_of_n = 1;
    std::memcpy(l.parameters.data() + 3 * 128 + 4, &tiles_of_n, sizeof tiles_of_n);
    std::memcpy(l.parameters.data() + 3 * 128 + 8, &tiles_of_k, sizeof tiles_of_k);
    const timing::Lowering lowering =
        timing::lower(loaded.program, *timing::machine_of(loaded.arch));
    timing::Listener listener(lowering, 132, 10'000'000, false);
    l.observers = {&listener};
    const warp::Result result = exec::launch(loaded.program, l);
    EXPECT_FALSE(result.refusal || result.trap);
    return timing::simulate(lowering, l, listener, {}).cta_cycles;
}

// 128 x 256 x 64 multiply-adds are eight products of 128 cycles, four of each warpgroup. Whatever
// brings the tiles goes on beside them.
TEST(AsyncTiming, ATileOfKTakesItsProductsTime) {
    const uint64_t more = cycles(24) - cycles(8);
    EXPECT_NEAR(static_cast<double>(more), 16 * 8 * 128.0, 0.02 * 16 * 8 * 128);
}

// The first tile's bytes come first, and the products behind them.
TEST(AsyncTiming, ProductsWaitForTheirTiles) {
    const uint64_t one = cycles(1);
    const timing::AsyncRow& row = timing::async_row(isa::Arch::sm_90);
    const uint64_t latency = timing::global_row(isa::Arch::sm_90).l2 + uint64_t{row.copy} + row.map;
    EXPECT_GT(one, latency + 8 * 128);
    EXPECT_LT(one, latency + 8 * 128 + 7000);
}

}  // namespace
