// SPDX-License-Identifier: Apache-2.0
// Small programs cycle by cycle, as the rows of an H200 have it, and what holds of every report.
#include <gtest/gtest.h>

#include "tests/timing/small_programs.hpp"

namespace {

using namespace lockwarp;
using small_programs::timed;
using small_programs::Timed;
using small_programs::timeline;

// Code comes line by line: 20 cycles for the eight instructions that an SM sees first.
TEST(Cycles, OfOneWarp) {
    const std::pair<const char*, const char*> rows[] = {
        // A latency of 4; the stores' sector is in L2 after 297.
        {"prmt.b32 %r4, %r0, %r1, 1; prmt.b32 %r5, %r4, %r1, 1; prmt.b32 %r6, %r5, %r1, 1;"
         "st.global.u32 [%d0], %r6;",
         "prmt 20-24 no_instruction, prmt 24-28 wait, prmt 28-32 wait, st 32-329 wait, ret 33-34"},
        // One every 2 cycles; the second store waits for the port, 5 cycles behind the first.
        {"prmt.b32 %r4, %r0, %r1, 1; prmt.b32 %r5, %r0, %r2, 1; prmt.b32 %r6, %r1, %r2, 1;"
         "st.global.v2.u32 [%d0], {%r4, %r5}; st.global.u32 [%d0+8], %r6;",
         "prmt 20-24 no_instruction, prmt 22-26 math_pipe_throttle, prmt 24-28 "
         "math_pipe_throttle, st 26-323 wait, st 28-328 wait, ret 29-30"},
        // Shared memory, 23, and 2 for each further wavefront: here two, and four of 16 bytes.
        {"ld.shared.u32 %r4, [s]; prmt.b32 %r5, %r4, %r1, 1; st.shared.u32 [s+64], %r5;",
         "ld 20-43 no_instruction, prmt 43-47 short_scoreboard, st 47-70 wait, ret 48-49"},
        {"mov.u32 %r8, %tid.x; shl.b32 %r9, %r8, 3; mov.u32 %r10, s; add.u32 %r9, %r9, %r10;"
         "ld.shared.u32 %r4, [%r9]; prmt.b32 %r5, %r4, %r1, 1;"
         "st.shared.v4.u32 [s+64], {%r5, %r5, %r5, %r5};",
         "shl 20-24 no_instruction, add 24-29 wait, ld 29-54 wait, prmt 54-58 short_scoreboard, "
         "st 58-87 wait, ret 59-60"},
        // An access every 4 cycles of the port. The ninth instruction stands in the next line.
        {"ld.shared.u32 %r4, [s]; ld.shared.u32 %r5, [s+8]; ld.shared.u32 %r6, [s+16];"
         "ld.shared.u32 %r7, [s+24]; ld.shared.u32 %r8, [s+32]; ld.shared.u32 %r9, [s+40];"
         "ld.shared.u32 %r10, [s+48]; lop3.b32 %r4, %r4, %r5, %r6, 128;"
         "lop3.b32 %r7, %r7, %r8, %r9, 128; lop3.b32 %r4, %r4, %r7, %r10, 128;"
         "st.global.u32 [%d0], %r4;",
         "ld 20-43 no_instruction, ld 21-47, ld 22-51, ld 23-55, ld 24-59, ld 25-63, ld 26-67, "
         "lop3 51-55 short_scoreboard, lop3 72-76 no_instruction, lop3 76-80 wait, st 80-377 "
         "wait, ret 81-82"},
        // Special functions, one every 8 cycles through a queue.
        {"ex2.approx.ftz.f32 %f1, %f0; ex2.approx.ftz.f32 %f2, %f1; ex2.approx.ftz.f32 %f3, %f0;"
         "ex2.approx.ftz.f32 %f4, %f0; ex2.approx.ftz.f32 %f5, %f0; ex2.approx.ftz.f32 %f6, %f0;"
         "st.global.v4.f32 [%d0], {%f2, %f3, %f4, %f5}; st.global.f32 [%d0+16], %f6;",
         "ex2.approx 20-37 no_instruction, ex2.approx 21-45, ex2.approx 22-53, ex2.approx 37-61 "
         "short_scoreboard, ex2.approx 38-69, ex2.approx 39-77, st 69-366 short_scoreboard, st "
         "77-374 short_scoreboard, ret 98-99 no_instruction"},
        // L1 has the second word's sector after 30, behind the port; the third is another.
        {"ld.global.u32 %r4, [%d0]; ld.global.u32 %r5, [%d0+4]; ld.global.u32 %r6, [%d0+128];"
         "prmt.b32 %r7, %r4, %r5, %r6; st.global.u32 [%d0], %r7;",
         "ld 20-317 no_instruction, ld 21-55, ld 22-327, prmt 327-331 long_scoreboard, st 331-628 "
         "wait, ret 332-333"},
        // Fences: 271 behind what the store needs to be seen, 312; 8; 10 and 11 for the register
        // that was stored to shared memory; 153.
        {"ld.global.u32 %r4, [%d0]; st.global.u32 [%d0], %r4; membar.gl; st.shared.u32 [s], %r0;"
         "membar.cta; fence.proxy.async.shared::cta; fence.proxy.async;",
         "ld 20-317 no_instruction, st 317-614 long_scoreboard, fence 318-589, st 900-923 membar, "
         "fence 901-909, fence 909-919 membar, fence 930-1083 membar, ret 1083-1084 membar"},
        // Copies of 16 bytes: 8 cycles of the port each; a group is waited for by its number.
        {"mov.u32 %r8, s; cp.async.ca.shared.global [%r8], [%d0], 16; cp.async.commit_group;"
         "cp.async.ca.shared.global [%r8+16], [%d0+4096], 16; cp.async.commit_group;"
         "cp.async.ca.shared.global [%r8+32], [%d0+8192], 16; cp.async.wait_group 1;"
         "prmt.b32 %r5, %r0, %r1, 1; cp.async.wait_group 0; prmt.b32 %r6, %r0, %r1, 1;"
         "cp.async.wait_all; st.global.v2.u32 [%d0], {%r5, %r6};",
         "cp.async 20-325 no_instruction, cp.async.commit_group 21-25, cp.async 22-333, "
         "cp.async.commit_group 23-27, cp.async 24-341, cp.async.wait_group 325-329 "
         "long_scoreboard, prmt 326-330, cp.async.wait_group 333-337 long_scoreboard, prmt "
         "354-358 no_instruction, cp.async.wait_all 355-359, st 358-655 wait, ret 359-360"},
        // Atomics: 293 in L2, 26 in shared memory.
        {"atom.global.add.u32 %r4, [%d0], 1; prmt.b32 %r5, %r4, %r1, 1; red.global.add.u32 [%d0], "
         "%r5; atom.shared.add.u32 %r6, [s], 1; prmt.b32 %r7, %r6, %r1, 1; st.shared.u32 [s], "
         "%r7;",
         "atom 20-313 no_instruction, prmt 313-317 long_scoreboard, red 317-610 wait, atom "
         "318-344, prmt 344-348 short_scoreboard, st 348-371 wait, ret 349-350"},
    };
    for (const auto& [body, expected] : rows) EXPECT_EQ(timeline(timed(body)), expected) << body;
}

// What costs no instruction passes on when its own operands are there, and no others: not what
// the next instruction, or it itself, is about to write over.
TEST(Cycles, OfWhatCostsNothing) {
    EXPECT_EQ(timeline(timed("ld.global.u32 %r4, [%d0]; bra L; L: mov.u32 %r5, %r0;"
                             "prmt.b32 %r4, %r5, %r1, 1; st.shared.u32 [s], %r4;")),
              "ld 20-317 no_instruction, bra 21-22, prmt 29-33 branch_resolving, st 33-56 wait, "
              "ret 34-35");
    EXPECT_EQ(timeline(timed("ld.global.u32 %r5, [%d0]; bra L; L: mov.u32 %r5, %r0;"
                             "prmt.b32 %r4, %r5, %r1, 1; st.shared.u32 [s], %r4;")),
              "ld 20-317 no_instruction, bra 21-22, prmt 29-33 branch_resolving, st 33-56 wait, "
              "ret 34-35");
    EXPECT_EQ(timeline(timed("ld.global.u32 %r4, [%d0]; bra L; L: mov.u32 %r5, %r4;"
                             "prmt.b32 %r6, %r5, %r1, 1; st.shared.u32 [s], %r6;")),
              "ld 20-317 no_instruction, bra 21-22, prmt 317-321 long_scoreboard, st 321-344 wait, "
              "ret 322-323");
}

TEST(Cycles, OfWarpsOfOneSm) {
    // Warps 0 and 4 share a sub-core: the younger goes first, and the other, refused, next.
    EXPECT_EQ(timeline(timed("prmt.b32 %r4, %r0, %r1, 1; prmt.b32 %r5, %r4, %r1, 1;"
                             "st.global.u32 [%d0], %r5;",
                             {.threads = 160})),
              "4:prmt 20-24 no_instruction, 1:prmt 20-24 no_instruction, 2:prmt 20-24 "
              "no_instruction, 3:prmt 20-24 no_instruction, prmt 22-26 math_pipe_throttle, 4:prmt "
              "24-28 wait, 1:prmt 24-28 wait, 2:prmt 24-28 wait, 3:prmt 24-28 wait, prmt 26-30 "
              "wait, 4:st 28-325 wait, 1:st 28-326 wait, 2:st 28-327 wait, 3:st 28-328 wait, 4:ret "
              "29-30, 1:ret 29-30, 2:ret 29-30, 3:ret 29-30, st 30-330 wait, ret 31-32");
    // A branch takes 8 cycles. The last warp arrives behind its store, at 44, for 2 cycles; all go
    // on 12 later.
    EXPECT_EQ(timeline(timed("mov.u32 %r8, %tid.x; setp.lt.u32 %p1, %r8, 32; @%p1 bra L;"
                             "prmt.b32 %r4, %r0, %r1, 1; prmt.b32 %r5, %r4, %r1, 1;"
                             "st.shared.u32 [s], %r5; L: bar.sync 0; st.shared.u32 [s+4], %r0;",
                             {.threads = 64})),
              "setp 20-24 no_instruction, 1:setp 20-24 no_instruction, bra 24-25 wait, 1:bra 24-25 "
              "wait, bar.sync 32-33 branch_resolving, 1:prmt 32-36 branch_resolving, 1:prmt 36-40 "
              "wait, 1:st 40-63 wait, 1:bar.sync 41-42, st 58-81 barrier, 1:st 58-82 barrier, ret "
              "59-60, 1:ret 59-60");
}

// The warp that issued last goes on as long as it can. Warp 4, the younger, begins; when it waits,
// at 23, for its first product, warp 0 does, and goes on at 24, when warp 4 could as well.
TEST(Cycles, AWarpGoesOnWhileItCan) {
    const Timed run = timed(
        "fma.rn.f32 %f1, %f0, %f0, %f0; fma.rn.f32 %f2, %f1, %f1, %f1;"
        "fma.rn.f32 %f3, %f5, %f0, %f0; fma.rn.f32 %f4, %f6, %f0, %f0;"
        "st.shared.v4.f32 [s], {%f1, %f2, %f3, %f4};",
        {.threads = 160});
    std::string out;
    for (const timing::Event& e : run.report.events)
        if (e.warp % 4 == 0 && run.program.operations[e.operation].op == isa::Op::fma)
            out += std::to_string(e.warp) + ":" + std::to_string(e.issue) + " ";
    EXPECT_EQ(out, "4:20 4:21 4:22 0:23 0:24 0:25 4:26 0:27 ");
}

TEST(Cycles, OfClocks) {
    const std::string body =
        "mov.u32 %r4, %clock; prmt.b32 %r5, %r0, %r1, 1; mov.u32 %r6, %clock;"
        "sub.u32 %r7, %r6, %r4; st.global.v2.u32 [%d0], {%r5, %r7};";
    const Timed one = timed(body);
    EXPECT_EQ(timeline(one),
              "mov 20-26 no_instruction, prmt 21-25, mov 22-28, sub 28-33 wait, st "
              "33-330 wait, ret 34-35");
    EXPECT_EQ(one.report.clock_cycles, 2u);
    EXPECT_EQ(one.report.warp_clock_cycles, (std::vector<uint64_t>{2}));
    // Of the first CTA alone each warp's last two; of all the first and the last.
    const Timed two = timed(body, {.ctas = 264, .threads = 64});
    EXPECT_EQ(two.report.warp_clock_cycles, (std::vector<uint64_t>{2, 2}));
    EXPECT_EQ(two.report.clock_cycles, 2u);
    const Timed waves = timed(body, {.ctas = 528, .threads = 32, .dynamic_shared = 200000});
    EXPECT_EQ(waves.report.residency.ctas, 1u);
    EXPECT_EQ(waves.report.warp_clock_cycles, (std::vector<uint64_t>{2}));
    EXPECT_EQ(timed("prmt.b32 %r5, %r0, %r1, 1; st.global.u32 [%d0], %r5;").report.clock_cycles,
              0u);
    EXPECT_TRUE(
        timed("mov.u32 %r4, %clock; st.global.u32 [%d0], %r4;").report.warp_clock_cycles.empty());
}

// A CTA begins in the place of one that has ended, 200 cycles later, and finds its code there.
TEST(Cycles, OfCtasOneAfterAnother) {
    const std::string body = "prmt.b32 %r4, %r0, %r1, 1; st.shared.u32 [s], %r4;";
    const auto spans = [](const Timed& run) {
        std::string out;
        for (const timing::CtaReport& c : run.report.ctas)
            out += std::to_string(c.cta) + ":" + std::to_string(c.begin) + "-" +
                   std::to_string(c.end) + " ";
        return out;
    };
    const Timed run = timed(body, {.ctas = 396, .dynamic_shared = 200000});
    EXPECT_EQ(timeline(run),
              "prmt 20-24 no_instruction, st 24-47 wait, ret 25-26, "
              "1:prmt 225-229, 1:st 229-252 wait, 1:ret 230-231, "
              "2:prmt 430-434, 2:st 434-457 wait, 2:ret 435-436");
    EXPECT_EQ(spans(run), "0:0-25 132:225-230 264:430-435 ");
    EXPECT_EQ(run.report.grid_ctas, 396u);
    EXPECT_EQ(run.report.sm_ctas, 3u);
    EXPECT_EQ(run.report.simulated, 3u);
    EXPECT_EQ(run.report.cta_cycles, 5u);
    EXPECT_EQ(run.report.sm_cycles, 435u);
    EXPECT_EQ(run.report.residency.limit, timing::Limit::shared);
    EXPECT_FALSE(run.report.cut);
    // Two at a time: the third takes the place of the first.
    const Timed two = timed(body, {.ctas = 396, .dynamic_shared = 100000});
    EXPECT_EQ(two.report.residency.ctas, 2u);
    EXPECT_EQ(spans(two), "0:0-25 132:0-25 264:225-230 ");
    // Each with two warps, which go on beside each other.
    const Timed pairs =
        timed("bar.sync 0;" + body, {.ctas = 528, .threads = 64, .dynamic_shared = 100000});
    EXPECT_EQ(spans(pairs), "0:0-41 132:0-41 264:241-262 396:241-262 ");
    EXPECT_EQ(timeline(pairs),
              "bar.sync 20-21 no_instruction, 1:bar.sync 20-21 no_instruction, 2:bar.sync 20-21 "
              "no_instruction, 3:bar.sync 20-21 no_instruction, prmt 36-40 barrier, 1:prmt 36-40 "
              "barrier, 2:prmt 36-40 barrier, 3:prmt 36-40 barrier, st 40-63 wait, 1:st 40-64 "
              "wait, 2:st 40-65 wait, 3:st 40-66 wait, ret 41-42, 1:ret 41-42, 2:ret 41-42, 3:ret "
              "41-42, 4:bar.sync 241-242, 5:bar.sync 241-242, 6:bar.sync 241-242, 7:bar.sync "
              "241-242, 4:prmt 257-261 barrier, 5:prmt 257-261 barrier, 6:prmt 257-261 barrier, "
              "7:prmt 257-261 barrier, 4:st 261-284 wait, 5:st 261-285 wait, 6:st 261-286 wait, "
              "7:st 261-287 wait, 4:ret 262-263, 5:ret 262-263, 6:ret 262-263, 7:ret 262-263");
    // As many items are kept as were asked for.
    const uint64_t items = timed(body).report.retired;
    EXPECT_TRUE(timed(body, {.max_items = items}).report.cut);
    EXPECT_FALSE(timed(body, {.max_items = items + 1}).report.cut);
    // What was not heard is taken to go on at the same rate.
    const Timed cut = timed(body, {.ctas = 396, .dynamic_shared = 200000, .max_items = 5});
    EXPECT_TRUE(cut.report.cut);
    EXPECT_LT(cut.report.simulated, 3u);
    EXPECT_EQ(cut.report.sm_cycles, cut.report.ctas.back().end * 3 / cut.report.simulated);
}

// Multiply-adds are those of the whole product, of m8n8k4 of f16 on all four quad-pairs; each of a
// warpgroup's warps does a quarter.
TEST(Cycles, MultiplyAddsOfProducts) {
    struct Row {
        const char* machine;
        const char* product;
        uint64_t count;
        uint32_t threads = 32;
    };
    for (const Row& row : {
             Row{"sm_90",
                 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, "
                 "%r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
                 16 * 8 * 16},
             {"sm_90",
              "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, "
              "%r1}, {%r4}, {%f0, %f1, %f2, %f3};",
              16 * 8 * 8},
             {"sm_70",
              "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, "
              "%f7}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
              4 * 8 * 8 * 4},
             {"sm_90",
              "wmma.mma.sync.aligned.row.col.m32n8k16.f16.f16 {%r0, %r1, %r2, %r3}, {%r0, %r1, "
              "%r2, %r3, %r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r0, %r1, "
              "%r2, %r3};",
              32 * 8 * 16},
             {"sm_90",
              "mov.u64 %d1, 64; wgmma.mma_async.sync.aligned.m64n24k16.f16.f16.f16 {%r4, %r5, %r6, "
              "%r7, %r8, %r9}, %d1, %d1, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; "
              "wgmma.wait_group.sync.aligned 0;",
              64 * 24 * 16, 128},
         }) {
        const std::string twice = std::string(row.product) + row.product;
        for (const std::string& body : {std::string(row.product), twice})
            EXPECT_EQ(timed(body, {.threads = row.threads, .machine = row.machine}).report.products,
                      row.count * (body == twice ? 2 : 1))
                << body;
    }
}

}  // namespace
