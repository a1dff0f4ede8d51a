// SPDX-License-Identifier: Apache-2.0
// What memory, fences, barriers and mbarriers cost small programs, reckoned from an H200's rows.
#include "emu/isa/tensor_copy.hpp"
#include "tests/timing/small_programs.hpp"

namespace {

using namespace lockwarp;
using small_programs::How;
using small_programs::timed;
using small_programs::Timed;
using small_programs::timeline;

struct Row {
    std::string body, expected;
    How how{};
};

void expect_each(const std::vector<Row>& rows) {
    for (const Row& r : rows) EXPECT_EQ(timeline(timed(r.body, r.how)), r.expected) << r.body;
}

// %r18: of each lane, 64 bytes apart in shared memory, so that 16 want the same bank.
const std::string apart_in_shared =
    "mov.u32 %r8, %tid.x; shl.b32 %r9, %r8, 6; mov.u32 %r10, s; add.u32 %r18, %r9, %r10;";
// %d4: of each lane, so many bytes apart in the buffer.
std::string apart_in_global(unsigned bytes) {
    return "mov.u32 %r8, %tid.x; mul.wide.u32 %d3, %r8, " + std::to_string(bytes) +
           "; add.u64 %d4, %d3, %d0;";
}

std::string loads(const std::string& space, const std::string& base, unsigned count,
                  unsigned apart) {
    std::string out;
    for (unsigned i = 0; i < count; ++i)
        out += "ld." + space + ".u32 %r" + std::to_string(4 + i) + ", [" + base + "+" +
               std::to_string(i * apart) + "];";
    return out;
}

// Latency 23 and 2 for each further wavefront; the port is taken 2 cycles for each, at least 4, and
// by a store 2.5 for each register.
TEST(MemoryCycles, OfSharedMemory) {
    expect_each({
        // Four wavefronts of 16 bytes: 6 more. Four registers hold the port for 10.
        {"st.shared.v4.u32 [s], {%r0, %r1, %r2, %r3}; st.shared.v4.u32 [s+16], {%r0, %r1, %r2, "
         "%r3}; st.shared.u32 [s+32], %r0; st.shared.u32 [s+40], %r0;",
         "st 20-49 no_instruction, st 21-59, st 22-63, st 23-67, ret 24-25"},
        // A wavefront for each matrix; of stmatrix.x2 two registers, 5 cycles of the port.
        {"mov.u32 %r8, %tid.x; shl.b32 %r9, %r8, 4; mov.u32 %r10, s; add.u32 %r9, %r9, %r10;"
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r9];"
         "prmt.b32 %r11, %r4, %r5, 1;"
         "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r9], {%r11, %r6}; st.shared.u32 [s], %r7;",
         "shl 20-24 no_instruction, add 24-29 wait, ldmatrix 29-58 wait, prmt 58-62 "
         "short_scoreboard, stmatrix 62-87 wait, st 63-90, ret 64-65"},
        // 16 wavefronts hold the port for 32 cycles; five wait in the queue.
        {apart_in_shared + loads("shared", "%r18", 8, 8) + "st.shared.u32 [s], %r11;",
         "shl 20-24 no_instruction, add 24-29 wait, ld 45-98 no_instruction, ld 46-130, ld 47-162, "
         "ld 48-194, ld 49-226, ld 50-258, ld 77-290 mio_throttle, ld 109-322 mio_throttle, st "
         "141-324 mio_throttle, ret 142-143"},
        // Shuffles go through the same port, with a latency of their own.
        {"shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1; shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;"
         "prmt.b32 %r6, %r4, %r5, 1; st.shared.u32 [s], %r6;",
         "shfl.sync 20-44 no_instruction, shfl.sync 21-48, prmt 48-52 short_scoreboard, st 52-75 "
         "wait, ret 53-54"},
        // Atomics: 26, whether the result is wanted or not.
        {"atom.shared.add.u32 %r4, [s], 1; atom.shared.add.u32 %r5, [s+4], 1;"
         "red.shared.add.u32 [s+8], 1; st.shared.v2.u32 [s+16], {%r4, %r5};",
         "atom 20-46 no_instruction, atom 21-50, red 22-54, st 50-75 short_scoreboard, ret 51-52"},
        {apart_in_shared + "atom.shared.add.u32 %r4, [%r18], 1; st.shared.u32 [s], %r4;",
         "add 20-25 no_instruction, atom 25-81 wait, st 81-104 short_scoreboard, ret 82-83"},
    });
}

// A constant at a place of its own is an operand, as a parameter is; at an address in a register
// it is loaded.
TEST(MemoryCycles, OfConstants) {
    const How constant{.outside = ".const .align 4 .b8 c[64];"};
    expect_each({
        {"ld.const.u32 %r4, [c]; add.u32 %r5, %r4, %r0; st.shared.u32 [s], %r5;",
         "add 20-25 no_instruction, st 25-48 wait, ret 26-27", constant},
        {"mul.wide.u32 %d1, %r1, 0; mov.u64 %d2, c; add.u64 %d1, %d1, %d2;"
         "ld.const.u32 %r4, [%d1]; add.u32 %r5, %r4, %r0; st.shared.u32 [s], %r5;",
         "mul 20-25 no_instruction, add 25-29 wait, ld 29-58 wait, add 58-63 wait, st 63-86 wait, "
         "ret 64-65",
         constant},
    });
}

// What a load or an atomic that no lane executes would have given is waited for as theirs.
TEST(MemoryCycles, OfWhatNoLaneExecutes) {
    expect_each({
        {"setp.ne.u32 %p0, %r0, %r0; @%p0 ld.global.u32 %r4, [%d0]; st.shared.u32 [s], %r4;",
         "setp 20-24 no_instruction, ld 24-53 wait, st 53-76 long_scoreboard, ret 54-55"},
        {"setp.ne.u32 %p0, %r0, %r0; @%p0 atom.global.add.u32 %r4, [%d0], 1;"
         "st.shared.u32 [s], %r4;",
         "setp 20-24 no_instruction, atom 24-28 wait, st 28-51 long_scoreboard, ret 29-30"},
        {"setp.ne.u32 %p0, %r0, %r0; @%p0 ld.shared.u32 %r4, [s]; st.shared.u32 [s], %r4;",
         "setp 20-24 no_instruction, ld 24-53 wait, st 53-76 long_scoreboard, ret 54-55"},
    });
}

// L2 has it after 295 and 2 of its share of the load; L1 after 30. A sector takes 0.29 cycles on
// the way to L1 and half a cycle of shared memory's pipe to be put there, 0.98 on the way to L2; a
// line a cycle, and an access at least 5.
TEST(MemoryCycles, OfGlobalMemory) {
    expect_each({
        // L1 has what was loaded, and has not what was stored.
        {"ld.global.u32 %r4, [%d0]; prmt.b32 %r5, %r4, %r0, 1; st.global.u32 [%d0+4], %r5;"
         "membar.cta; ld.global.u32 %r6, [%d0+8]; st.global.u32 [%d0+64], %r6; membar.cta;"
         "ld.global.u32 %r7, [%d0+64]; st.shared.u32 [s], %r7;",
         "ld 20-317 no_instruction, prmt 317-321 long_scoreboard, st 321-618 wait, fence 322-330, "
         "ld 330-360 membar, st 360-657 long_scoreboard, fence 361-369, ld 369-666 membar, st "
         "666-689 long_scoreboard, ret 667-668"},
        // Nor what an atomic changed, which is at L2 for 293.
        {"atom.global.add.u32 %r4, [%d0], 1; membar.cta; ld.global.u32 %r5, [%d0];"
         "st.shared.v2.u32 [s], {%r4, %r5};",
         "atom 20-313 no_instruction, fence 21-29, ld 29-326 membar, st 326-351 long_scoreboard, "
         "ret 327-328"},
        // The stack is in L1.
        {".local .b8 q[64]; mov.u64 %d3, q; st.local.u32 [%d3], %r0; membar.cta;"
         "ld.local.u32 %r4, [%d3]; st.shared.u32 [s], %r4;",
         "st 20-50 no_instruction, fence 21-29, ld 29-59 membar, st 59-82 long_scoreboard, "
         "ret 60-61"},
        // 32 lines with a sector each: 9 and 16 cycles more; to store them 31.
        {apart_in_global(128) +
             "ld.global.u32 %r4, [%d4]; st.global.u32 [%d4+32], %r4; st.shared.u32 [s], %r4;",
         "add 20-25 no_instruction, ld 25-347 wait, st 347-675 long_scoreboard, st 348-371, "
         "ret 349-350"},
        // 16 lines of two sectors: L1 has them behind the 16 of the access before, and then takes
        // 16 itself.
        {apart_in_global(64) + "ld.global.v2.u32 {%r4, %r5}, [%d4]; ld.global.u32 %r6, [%d4+4];"
                               "st.shared.v2.u32 [s], {%r4, %r6};",
         "add 20-25 no_instruction, ld 25-347 wait, ld 26-86, st 347-372 long_scoreboard, "
         "ret 348-349"},
        // What L1 has is not put there: it does not wait for the 32 wavefronts of another warp.
        {"mov.u32 %r8, %tid.x; and.b32 %r9, %r8, 31; mov.u32 %r10, s; mad.lo.u32 %r18, %r9, 128, "
         "%r10;"
         "ld.global.u32 %r4, [%d0]; prmt.b32 %r5, %r4, %r0, 1; setp.gt.u32 %p1, %r8, 31;"
         "bar.sync 0; prmt.b32 %r11, %r8, %r0, 1; @%p1 ld.shared.u32 %r6, [%r18];"
         "mul.wide.u32 %d1, %r11, 0; add.u64 %d1, %d1, %d0;"
         "@!%p1 ld.global.u32 %r7, [%d1];"
         "prmt.b32 %r4, %r6, %r7, %r5;",
         "ld 20-317 no_instruction, 1:ld 20-51 no_instruction, and 21-25, 1:and 21-25, setp 23-27 "
         "math_pipe_throttle, 1:setp 23-27 math_pipe_throttle, mad 25-29 wait, 1:mad 25-29 wait, "
         "1:prmt 51-55 long_scoreboard, 1:bar.sync 52-53, prmt 317-321 long_scoreboard, bar.sync "
         "318-319, prmt 332-336 barrier, 1:prmt 332-336 barrier, ld 333-362, 1:ld 333-418, mul "
         "354-359 no_instruction, 1:mul 354-359 no_instruction, add 359-363 wait, 1:add 359-363 "
         "wait, ld 363-393 wait, 1:ld 363-392 wait, prmt 393-397 long_scoreboard, ret 394-395, "
         "1:prmt 418-422 short_scoreboard, 1:ret 419-420",
         {.threads = 64}},
        // What an atomic does not bring to L1 takes no time there.
        {apart_in_global(1024) + "red.global.add.u32 [%d4], 1; atom.global.add.u32 %r4, [%d4], 1;"
                                 "ld.global.u32 %r5, [%d4]; st.shared.v2.u32 [s+8], {%r4, %r5};",
         "add 20-25 no_instruction, red 25-349 wait, atom 26-359, ld 27-411, st 411-436 "
         "long_scoreboard, ret 412-413"},
        // 32 lines each, and twelve wait in the queue. The load that the store needs goes first.
        {apart_in_global(1024) + loads("global", "%d4", 16, 32) + "st.shared.u32 [s], %r19;",
         "add 20-25 no_instruction, ld 41-363 no_instruction, ld 42-395, ld 43-427, ld 44-459, ld "
         "45-491, ld 46-523, ld 47-555, ld 48-587, ld 69-619 no_instruction, ld 70-651, ld 71-683, "
         "ld 72-715, ld 73-747, ld 74-779, ld 105-811 lg_throttle, ld 137-843 lg_throttle, st "
         "363-386 long_scoreboard, ret 364-365"},
        // DRAM: 622, for lines of 128 bytes that L2 has not seen.
        {"ld.global.u32 %r4, [%d0]; ld.global.u32 %r5, [%d0+32]; ld.global.u32 %r6, [%d0+256];"
         "prmt.b32 %r7, %r4, %r5, %r6; st.shared.u32 [s], %r7;",
         "ld 20-642 no_instruction, ld 21-322, ld 22-652, prmt 652-656 long_scoreboard, st 656-679 "
         "wait, ret 657-658",
         {.cold = true}},
        // All SMs at work: 300 cycles more, and 0.88 for a sector.
        {"ld.global.u32 %r4, [%d0]; ld.global.u32 %r5, [%d0+32]; prmt.b32 %r7, %r4, %r5, 1;"
         "st.shared.u32 [s], %r7;",
         "ld 20-615 no_instruction, ld 21-620, prmt 620-624 long_scoreboard, st 624-647 wait, "
         "ret 625-626",
         {.ctas = 132}},
        // 100 of them: 227 more, and 0.66, which of 32 sectors is 21; L1 has them 16 later.
        {apart_in_global(128) + "ld.global.u32 %r4, [%d4]; st.shared.u32 [s], %r4;",
         "add 20-25 no_instruction, ld 25-584 wait, st 584-607 long_scoreboard, ret 585-586",
         {.ctas = 100}},
    });
}

// L1 of 256 KiB has the first sector until as many others have come.
TEST(MemoryCycles, L1KeepsAsMuchAsItHolds) {
    const auto again = [](unsigned bytes) {
        const Timed run = timed(
            "mov.u32 %r8, %tid.x; mul.wide.u32 %d3, %r8, 32; add.u64 %d4, %d3, %d0; mov.u32 %r5, 0;"
            "L: ld.global.u32 %r4, [%d4]; add.u64 %d4, %d4, 1024; add.u32 %r5, %r5, 1024;"
            "setp.lt.u32 %p1, %r5, " +
                std::to_string(bytes) +
                "; @%p1 bra L; ld.global.u32 %r6, [%d0]; st.shared.v2.u32 [s], {%r4, %r6};",
            {.bytes = 1u << 19});
        uint64_t misses = 0, issues = 0;
        for (const timing::OperationReport& o : run.report.operations) {
            misses += o.sectors;
            issues += o.sectors != 0 ? o.issues : 0;
        }
        EXPECT_GE(misses, bytes / 32);
        EXPECT_GE(issues, bytes / 1024);
        return misses - bytes / 32;
    };
    EXPECT_EQ(again(1024), 0u);
    EXPECT_EQ(again(262144 - 1024), 0u);
    EXPECT_EQ(again(262144 + 1024), 1u);
}

// wmma's fragments, 16 rows of 32 bytes: from shared memory as ldmatrix has them, from global
// memory with a movmatrix for each 8x8 that stands the other way.
TEST(MemoryCycles, OfFragments) {
    const auto load = [](const std::string& what, const std::string& stride = "") {
        return "wmma.load." + what + " {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, " +
               (what.find("shared") != std::string::npos ? "[s]" : "[%d0]") + stride +
               "; prmt.b32 %r12, %r4, %r5, 1; st.shared.u32 [s], %r12;";
    };
    expect_each({
        // Two columns of 16 rows: 8 rows lie in 256 bytes, so each phase is two wavefronts of
        // eight. At 128 bytes all of a phase are in the same banks: 32.
        {load("a.sync.aligned.row.m16n16k16.shared.f16"),
         "wmma.load 20-57 no_instruction, prmt 57-61 short_scoreboard, st 61-84 wait, ret 62-63"},
        {load("a.sync.aligned.col.m16n16k16.shared.f16"),
         "wmma.load 20-57 no_instruction, prmt 57-61 short_scoreboard, st 61-84 wait, ret 62-63"},
        {load("a.sync.aligned.row.m16n16k16.shared.f16", ", 64"),
         "wmma.load 20-105 no_instruction, prmt 105-109 short_scoreboard, st 109-132 wait, ret "
         "110-111"},
        // 8 columns of 32 bytes: four. 16 columns of 16 bytes, side by side: two.
        {load("b.sync.aligned.col.m32n8k16.shared.f16"),
         "wmma.load 20-49 no_instruction, prmt 49-53 short_scoreboard, st 53-76 wait, ret 54-55"},
        {load("a.sync.aligned.col.m8n32k16.shared.f16"),
         "wmma.load 20-45 no_instruction, prmt 45-49 short_scoreboard, st 49-72 wait, ret 50-51"},
        // 32 sectors of four accesses: 9 and 16 cycles; four movmatrix of 4 cycles behind 24.
        {load("a.sync.aligned.row.m16n16k16.global.f16"),
         "wmma.load 20-342 no_instruction, prmt 342-346 long_scoreboard, st 346-369 wait, ret "
         "347-348"},
        {load("a.sync.aligned.col.m16n16k16.global.f16"),
         "wmma.load 20-382 no_instruction, prmt 382-386 long_scoreboard, st 386-409 wait, ret "
         "387-388"},
        // Of f32 as any access of 8 bytes: 4 rows of 32 bytes to a phase, 64 apart.
        {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [s], {%f1, %f2, %f3, %f4, %f5, %f6, "
         "%f7, %f8};",
         "wmma.store 20-73 no_instruction, ret 21-22"},
    });
}

TEST(MemoryCycles, OfPipesInQueues) {
    expect_each({
        {"ex2.approx.f32 %f1, %f0; ex2.approx.f32 %f2, %f0; st.shared.f32 [s], %f1;"
         "st.shared.f32 [s+64], %f2;",
         "ex2.approx 20-43 no_instruction, ex2.approx 21-51, st 43-66 short_scoreboard, st 51-74 "
         "short_scoreboard, ret 52-53"},
        {"redux.sync.add.u32 %r4, %r0, -1; match.any.sync.b32 %r5, %r1, -1;"
         "st.shared.v2.u32 [s], {%r4, %r5};",
         "redux.sync 20-62 no_instruction, match 21-55, st 62-87 short_scoreboard, ret 63-64"},
        // Eight instructions each: the second stands in the next line.
        {"div.approx.f32 %f1, %f2, %f3; div.approx.f32 %f4, %f5, %f6;"
         "st.shared.v2.f32 [s], {%f1, %f4};",
         "div.approx 20-65 no_instruction, div.approx 48-93 no_instruction, st 93-118 wait, ret "
         "94-95"},
        // What costs nothing passes on the later of its operands, and why.
        {"ld.global.u32 %r4, [%d0]; ld.shared.u32 %r5, [s]; mul.lo.u32 %r6, %r4, %r5;"
         "add.u32 %r7, %r6, %r0; st.shared.u32 [s+8], %r7;",
         "ld 20-317 no_instruction, ld 21-44, add 317-322 long_scoreboard, st 322-345 wait, ret "
         "323-324"},
        {"ld.shared.u32 %r4, [s]; prmt.b32 %r5, %r0, %r1, 1; mul.lo.u32 %r6, %r5, %r4;"
         "add.u32 %r7, %r6, %r0; st.shared.u32 [s+8], %r7;",
         "ld 20-43 no_instruction, prmt 21-25, add 43-48 short_scoreboard, st 48-71 wait, ret "
         "49-50"},
        // setmaxnreg: 130.
        {"setmaxnreg.dec.sync.aligned.u32 40; st.shared.u32 [s], %r0;",
         "setmaxnreg 20-150 no_instruction, 1:setmaxnreg 20-150 no_instruction, 2:setmaxnreg "
         "20-150 no_instruction, 3:setmaxnreg 20-150 no_instruction, st 150-173 wait, 1:st 150-174 "
         "wait, 2:st 150-175 wait, 3:st 150-176 wait, ret 151-152, 1:ret 151-152, 2:ret 151-152, "
         "3:ret 151-152",
         {.threads = 128, .directives = ".maxntid 128"}},
    });
}

// One special function behind another, for as long as there are any.
TEST(MemoryCycles, OfManySpecialFunctions) {
    std::string body, sum;
    for (int i = 1; i < 19; ++i) {
        const std::string f = "%f" + std::to_string(i);
        body += "ex2.approx.f32 " + f + ", %f0;";
        sum += "st.shared.f32 [s], " + f + ";";
    }
    const Timed run = timed(body + sum, {.threads = 1024});
    std::vector<uint64_t> done;  // of a sub-core
    uint64_t interval = 0;
    for (const timing::Event& e : run.report.events) {
        if (run.program.operations[e.operation].op != isa::Op::ex2) continue;
        if (e.warp % timing::sub_cores == 0) done.push_back(e.done);
        interval = run.lowering.operations[e.operation].interval;
    }
    std::ranges::sort(done);
    ASSERT_EQ(done.size(), 18u * 1024 / 32 / timing::sub_cores);
    EXPECT_EQ((done.back() - done.front()) * 100, (done.size() - 1) * interval);
}

// Code that is far from all that the SM has comes after 180 cycles, what lies next to it after 20,
// and what it has at once.
TEST(MemoryCycles, OfCodeFarAway) {
    std::string far;
    for (int i = 0; i < 200; ++i) far += "xor.b32 %r5, %r5, %r6;";
    EXPECT_EQ(
        timeline(timed("bra L; M: prmt.b32 %r4, %r0, %r1, 1; st.shared.u32 [s], %r4; bra N;" + far +
                       "st.shared.u32 [s], %r5; L: prmt.b32 %r7, %r0, %r1, 2;"
                       "st.shared.u32 [s], %r7; bra M; N:")),
        "bra 20-21 no_instruction, prmt 208-212 no_instruction, st 212-235 wait, bra "
        "213-214, prmt 221-225 branch_resolving, st 225-248 wait, bra 226-227, ret 254-255 "
        "no_instruction");
}

// A store to global memory is seen after 312. A wide fence takes 271 more, that of all proxies 153
// and 11 for each register stored to shared memory, that of shared memory 10.
TEST(MemoryCycles, OfFences) {
    expect_each({
        {"st.shared.u32 [s], %r0; st.shared.v4.u32 [s+16], {%r0, %r1, %r2, %r3};"
         "fence.proxy.async; st.global.u32 [%d0], %r0; fence.proxy.async; fence.acq_rel.cluster;"
         "fence.proxy.async.shared::cta;",
         "st 20-43 no_instruction, st 21-53, fence 22-175, st 230-527 membar, fence 231-384, fence "
         "695-966 membar, fence 966-976 membar, ret 976-977 membar"},
        // An atomic of global memory is a store too, one of shared memory not.
        {"atom.global.add.u32 %r4, [%d0], 1; membar.gl; red.shared.add.u32 [s], 1; membar.gl;"
         "st.shared.u32 [s+8], %r4;",
         "atom 20-313 no_instruction, fence 21-292, red 603-629 membar, fence 604-875, st 875-898 "
         "membar, ret 876-877"},
        // What releases to the GPU begins with one.
        {"atom.acq_rel.gpu.global.add.u32 %r5, [%d0], 1; st.shared.u32 [s+8], %r0;",
         "atom 20-313 no_instruction, st 292-315 membar, ret 293-294"},
        {"atom.acquire.gpu.global.add.u32 %r5, [%d0], 1; st.shared.u32 [s+8], %r0;",
         "atom 20-313 no_instruction, st 21-44, ret 22-23"},
        {"atom.acq_rel.cta.global.add.u32 %r5, [%d0], 1; st.shared.u32 [s+8], %r0;",
         "atom 20-313 no_instruction, st 21-44, ret 22-23"},
    });
}

// An arrival takes 2 cycles of the barrier, behind the sub-core's accesses; all go on 12 after the
// last, or 120 from a cluster's.
TEST(MemoryCycles, OfBarriers) {
    const std::string cluster =
        "barrier.cluster.arrive; prmt.b32 %r4, %r0, %r1, 1; barrier.cluster.wait;"
        "st.shared.u32 [s], %r4;";
    expect_each({
        // Two have come by 36 when the third ends at 41.
        {"mov.u32 %r8, %tid.x; setp.lt.u32 %p1, %r8, 64; @%p1 bra L; prmt.b32 %r4, %r0, %r1, 1;"
         "prmt.b32 %r5, %r4, %r1, 1; st.shared.u32 [s], %r5; ret; L: bar.sync 0;"
         "st.shared.u32 [s+4], %r0;",
         "setp 20-24 no_instruction, 1:setp 20-24 no_instruction, 2:setp 20-24 no_instruction, bra "
         "24-25 wait, 1:bra 24-25 wait, 2:bra 24-25 wait, bar.sync 32-33 branch_resolving, "
         "1:bar.sync 32-33 branch_resolving, 2:prmt 32-36 branch_resolving, 2:prmt 36-40 wait, "
         "2:st 40-63 wait, 2:ret 41-42, st 48-71 barrier, 1:st 48-72 barrier, ret 69-70 "
         "no_instruction, 1:ret 69-70 no_instruction",
         {.threads = 96}},
        // Warp 1 arrives at barrier 1 behind its store, at 40; warp 0 at barrier 2 at 74.
        {"mov.u32 %r8, %tid.x; setp.lt.u32 %p1, %r8, 32; @%p1 bra L; prmt.b32 %r4, %r0, %r1, 1;"
         "st.shared.u32 [s], %r4; bar.arrive 1, 64; bar.sync 2, 64; ret; L: bar.sync 1, 64;"
         "bar.arrive 2, 64; st.shared.u32 [s+4], %r0;",
         "setp 20-24 no_instruction, 1:setp 20-24 no_instruction, bra 24-25 wait, 1:bra 24-25 "
         "wait, bar.sync 32-33 branch_resolving, 1:prmt 32-36 branch_resolving, 1:st 36-59 wait, "
         "1:bar.sync 37-38, 1:bar.sync 39-40 math_pipe_throttle, bar.sync 74-75 no_instruction, st "
         "75-98, ret 76-77, 1:ret 88-89 barrier",
         {.threads = 64}},
        // Behind its arrival a warp waits for what it loaded.
        {"mov.u32 %r8, %tid.x; setp.lt.u32 %p1, %r8, 32; @%p1 bra L; bar.sync 1, 64; ret;"
         "L: ld.shared.u32 %r4, [s]; bar.arrive 1, 64; prmt.b32 %r5, %r4, %r1, 1;"
         "st.shared.u32 [s+32], %r5;",
         "setp 20-24 no_instruction, 1:setp 20-24 no_instruction, bra 24-25 wait, 1:bra 24-25 "
         "wait, ld 32-55 branch_resolving, 1:bar.sync 32-33 branch_resolving, bar.sync 33-34, "
         "1:ret 50-51 barrier, prmt 55-59 short_scoreboard, st 59-82 wait, ret 80-81 "
         "no_instruction",
         {.threads = 64}},
        // The cluster's: with a fence of 271 before it, but where the CTA is alone or it is
        // relaxed.
        {cluster,
         "barrier.cluster.arrive 20-295 no_instruction, prmt 292-296 membar, barrier.cluster.wait "
         "293-294, st 415-438 barrier, ret 416-417",
         {.ctas = 2, .cluster = 2}},
        {"barrier.cluster.arrive.relaxed; prmt.b32 %r4, %r0, %r1, 1; barrier.cluster.wait;"
         "st.shared.u32 [s], %r4;",
         "prmt 20-24 no_instruction, barrier.cluster.arrive 22-26 math_pipe_throttle, "
         "barrier.cluster.wait 23-24, st 145-168 barrier, ret 146-147",
         {.ctas = 2, .cluster = 2}},
        {"st.global.u32 [%d0], %r0; barrier.cluster.arrive; barrier.cluster.wait;"
         "st.shared.u32 [s], %r4;",
         "st 20-319 no_instruction, barrier.cluster.arrive 21-607, barrier.cluster.wait 604-605 "
         "membar, st 726-749 barrier, ret 727-728",
         {.ctas = 2, .cluster = 2}},
    });
}

// Whoever waits asks for 50 cycles, and goes on 2 behind the last arrival, 200 where that came by
// the cluster's address.
TEST(MemoryCycles, OfMbarriers) {
    const std::string made =
        "mov.u32 %r8, %tid.x; mov.u32 %r10, s; setp.eq.u32 %p1, %r8, 0; setp.lt.u32 %p2, %r8, 32;"
        "@%p1 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;";
    const std::string wait = "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra W;";
    const std::string began =
        "setp 20-24 no_instruction, 1:setp 20-24 no_instruction, setp 22-26 math_pipe_throttle, "
        "1:setp 22-26 math_pipe_throttle, mbarrier.init 24-47 wait, 1:mbarrier.init 24-28 wait, "
        "bar.sync 25-26, 1:bar.sync 25-26, ";
    expect_each({
        // The arrival stands behind the store at the port, at 357, and takes 26.
        {made +
             "@!%p2 bra W; ld.global.u32 %r4, [%d0]; prmt.b32 %r5, %r4, %r1, 1;"
             "st.shared.u32 [s+64], %r5; @%p1 mbarrier.arrive.shared.b64 %d5, [%r10]; ret;" +
             wait + "st.shared.u32 [s+32], %r0;",
         began + "bra 44-45 barrier, 1:bra 44-45 barrier, ld 52-349 branch_resolving, 1:bra 72-73 "
                 "no_instruction, 1:mbarrier.test_wait 80-84 branch_resolving, prmt 349-353 "
                 "long_scoreboard, st 353-376 wait, mbarrier.arrive 354-383, ret 355-356, 1:bra "
                 "385-386 barrier, 1:st 393-416 branch_resolving, 1:ret 394-395",
         {.threads = 64}},
        {made +
             "barrier.cluster.arrive.relaxed; barrier.cluster.wait; mov.u32 %r11, %cluster_ctarank;"
             "mapa.shared::cluster.u32 %r12, %r10, %r11; @!%p2 bra W; ld.global.u32 %r4, [%d0];"
             "prmt.b32 %r5, %r4, %r1, 1; st.shared.u32 [s+64], %r5;"
             "@%p1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r12]; bra E;" +
             wait + "st.shared.u32 [s+32], %r0; E:",
         began +
             "barrier.cluster.arrive 44-48 barrier, 1:barrier.cluster.arrive 44-48 barrier, "
             "barrier.cluster.wait 45-46, 1:barrier.cluster.wait 45-46, bra 169-170 barrier, 1:bra "
             "169-170 barrier, ld 177-476 branch_resolving, 1:mbarrier.test_wait 197-201 "
             "no_instruction, prmt 476-480 long_scoreboard, st 480-503 wait, mbarrier.arrive "
             "481-510, bra 482-483, ret 490-491 branch_resolving, 1:bra 710-711 barrier, 1:st "
             "718-741 branch_resolving, 1:ret 719-720",
         {.ctas = 2, .threads = 64, .cluster = 2}},
        // Phase after phase; who asks about one that is over waits for its end all the same.
        {"mov.u32 %r8, %tid.x; mov.u32 %r10, s; setp.eq.u32 %p1, %r8, 0;"
         "@%p1 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;"
         "@%p1 mbarrier.arrive.shared.b64 %d5, [%r10];" +
             wait +
             "@%p1 mbarrier.arrive.shared.b64 %d5, [%r10];"
             "V: mbarrier.test_wait.parity.shared.b64 %p3, [%r10], 1; @!%p3 bra V;"
             "mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 1; st.shared.u32 [s+32], %r0;",
         "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, mbarrier.arrive "
         "42-68 barrier, mbarrier.test_wait 43-47, bra 93-94 barrier, mbarrier.arrive 101-127 "
         "branch_resolving, mbarrier.test_wait 102-106, bra 172-173 no_instruction, "
         "mbarrier.test_wait 180-184 branch_resolving, st 230-253 barrier, ret 231-232"},
        // By the state that the arrival gave.
        {"mov.u32 %r8, %tid.x; mov.u32 %r10, s; setp.eq.u32 %p1, %r8, 0;"
         "@%p1 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;"
         "@%p1 mbarrier.arrive.shared.b64 %d5, [%r10]; W: @!%p1 bra E;"
         "mbarrier.try_wait.shared.b64 %p3, [%r10], %d5; @!%p3 bra W; st.shared.u32 [s+32], %r0; "
         "E:",
         "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, mbarrier.arrive "
         "42-68 barrier, bra 43-44, ret 71-72 no_instruction, mbarrier.test_wait 79-83 "
         "branch_resolving, bra 129-130 barrier, st 137-160 branch_resolving, ret 138-139"},
    });
}

// A bulk copy: 24 beyond L2, and 2.32 for 8 sectors. To global memory 0.98 for a sector; what waits
// for its group goes on 38 behind.
TEST(MemoryCycles, OfBulkCopies) {
    const std::string made =
        "mov.u32 %r8, %tid.x; mov.u32 %r10, s; setp.eq.u32 %p1, %r8, 0;"
        "@%p1 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;";
    expect_each({
        {made + "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d5, [%r10], 256;"
                "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+1024], "
                "[%d0], 256, [%r10]; W: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 "
                "bra W; ld.shared.u32 %r4, [s+1024]; prmt.b32 %r5, %r4, %r1, 1;"
                "st.shared.u32 [s+32], %r5;",
         "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, mbarrier.arrive "
         "42-68 barrier, cp.async.bulk.shared::cluster.global 43-366, mbarrier.test_wait 44-48, "
         "bra 368-369 barrier, ld 376-399 branch_resolving, prmt 399-403 short_scoreboard, st "
         "403-426 wait, ret 404-405"},
        {made + "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10+1024], 1024;"
                "@%p1 cp.async.bulk.commit_group;"
                "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0+1024], [%r10+1024], 2048;"
                "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 1;"
                "st.shared.u32 [s+32], %r0; @%p1 cp.async.bulk.wait_group 0;"
                "st.shared.u32 [s+36], %r0;",
         "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, "
         "cp.async.bulk.global.shared::cta 42-46 barrier, cp.async.bulk.commit_group 43-47, "
         "cp.async.bulk.global.shared::cta 44-48, cp.async.bulk.commit_group 45-49, "
         "cp.async.bulk.wait_group 73-77 long_scoreboard, st 131-154 no_instruction, "
         "cp.async.bulk.wait_group 136-140 long_scoreboard, st 174-197 wait, ret 175-176"},
        // Groups of others are none of theirs.
        {made + "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10+1024], 1024;"
                "@%p1 cp.async.bulk.commit_group; cp.async.commit_group;"
                "@%p1 cp.async.bulk.wait_group 1; st.shared.u32 [s+32], %r0;",
         "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, "
         "cp.async.bulk.global.shared::cta 42-46 barrier, cp.async.bulk.commit_group 43-47, "
         "cp.async.commit_group 45-49 math_pipe_throttle, cp.async.bulk.wait_group 47-51 "
         "math_pipe_throttle, st 85-108 wait, ret 106-107 no_instruction"},
    });
}

// A wgmma of n columns keeps the tensor pipe for half a cycle of each, or as long as it reads A and
// B from shared memory: 16 cycles and a quarter for each. A group is over 50 behind its last
// product.
TEST(MemoryCycles, OfProducts) {
    const auto product = [](unsigned n, bool a_in_registers) {
        std::string d;
        for (unsigned i = 0; i < n / 2; ++i) d += (i == 0 ? "%g" : ", %g") + std::to_string(i);
        return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32.f16.f16 {" + d +
               "}, " + (a_in_registers ? "{%r4, %r5, %r6, %r7}" : "%d1") + ", %d2, 1, 1, 1" +
               (a_in_registers ? ", 0;" : ", 0, 0;");
    };
    const std::string commit = "wgmma.commit_group.sync.aligned;";
    const auto wait = [](unsigned n) {
        return "wgmma.wait_group.sync.aligned " + std::to_string(n) + ";";
    };
    const std::string keep = "st.shared.u32 [s], %r0;";
    const auto of = [&](const std::string& body) {
        std::string out;
        Timed run = timed(
            ".reg .f32 %g<128>; mov.u64 %d1, 64; mov.u64 %d2, 64; mov.u32 %r4, 0;"
            "mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;" +
                body,
            {.threads = 128});
        std::erase_if(run.report.events, [](const timing::Event& e) { return e.warp != 0; });
        return timeline(run);
    };
    const auto one = [](unsigned over) {
        return "wgmma.mma_async 20-21 no_instruction, wgmma.commit_group 21-25, wgmma.wait_group " +
               std::to_string(over) + "-" + std::to_string(over + 4) + " math_pipe_throttle, st " +
               std::to_string(over + 1) + "-" + std::to_string(over + 24) + ", ret " +
               std::to_string(over + 2) + "-" + std::to_string(over + 3);
    };
    EXPECT_EQ(of(product(8, false) + commit + wait(0) + keep), one(20 + 18 + 50));
    EXPECT_EQ(of(product(64, false) + commit + wait(0) + keep), one(20 + 32 + 50));
    EXPECT_EQ(of(product(128, false) + commit + wait(0) + keep), one(20 + 64 + 50));
    EXPECT_EQ(of(product(8, true) + commit + wait(0) + keep), one(20 + 4 + 50));
    // The second begins when the pipe is free, at 84, and is over at 148.
    const std::string two = product(128, false) + commit + product(128, false) + commit;
    const std::string began =
        "wgmma.mma_async 20-21 no_instruction, wgmma.commit_group 21-25, wgmma.mma_async 84-85 "
        "math_pipe_throttle, wgmma.commit_group 85-89, ";
    EXPECT_EQ(of(two + wait(1) + keep + wait(0) + keep),
              began +
                  "wgmma.wait_group 134-138 math_pipe_throttle, st 135-158, wgmma.wait_group "
                  "198-202 math_pipe_throttle, st 199-222, ret 220-221 no_instruction");
    EXPECT_EQ(of(two + wait(2) + keep + wait(1) + keep),
              began +
                  "wgmma.wait_group 86-90, st 87-110, wgmma.wait_group 134-138 "
                  "math_pipe_throttle, st 135-158, ret 156-157 no_instruction");
    // Both in one group, and none in the next.
    EXPECT_EQ(of(product(128, false) + product(128, false) + commit + commit + wait(1) + keep +
                 wait(0) + keep),
              "wgmma.mma_async 20-21 no_instruction, wgmma.mma_async 84-85 math_pipe_throttle, "
              "wgmma.commit_group 85-89, wgmma.commit_group 87-91 math_pipe_throttle, "
              "wgmma.wait_group 198-202 math_pipe_throttle, st 199-222, wgmma.wait_group 200-204, "
              "st 201-226, ret 222-223 no_instruction");
    // Groups of copies are none of products.
    EXPECT_EQ(of(product(128, false) + commit +
                 "cp.async.commit_group; cp.async.bulk.commit_group;" + wait(1) + keep),
              "wgmma.mma_async 20-21 no_instruction, wgmma.commit_group 21-25, "
              "cp.async.commit_group 22-26, cp.async.bulk.commit_group 24-28 math_pipe_throttle, "
              "wgmma.wait_group 26-30 math_pipe_throttle, st 27-50, ret 28-29");
    // A wide fence waits for the product, and takes 271.
    EXPECT_EQ(of(product(128, false) + commit + "membar.gl;" + keep),
              "wgmma.mma_async 20-21 no_instruction, wgmma.commit_group 21-25, fence 22-293, st "
              "355-378 membar, ret 356-357");
}

// A copy by a tensor map that the SM has not takes 260 more; a prefetch, or the copy itself, brings
// the map. To store one keeps its warp for 120 cycles.
TEST(MemoryCycles, OfTensorMaps) {
    isa::TensorMap map;
    map.type = isa::TensorType::u32;
    map.rank = 1;
    map.address = 0x10000000 + 4096;
    map.dim = {1024, 1, 1, 1, 1};
    map.box = {32, 1, 1, 1, 1};
    const isa::TensorMapBytes bytes = isa::encode(map);
    const auto of = [&](const std::string& body) {
        How how;
        how.content.assign(bytes.begin(), bytes.end());
        return timeline(
            timed("mov.u32 %r8, %tid.x; mov.u32 %r10, s; setp.eq.u32 %p1, %r8, 0; mov.u32 %r4, 0;"
                  "@%p1 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;" +
                      body,
                  how));
    };
    const std::string began =
        "setp 20-24 no_instruction, mbarrier.init 24-47 wait, bar.sync 25-26, ";
    const std::string load =
        "@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[s+1024], [%d0, {%r4}], [%r10];";
    const auto expect_tx = [](unsigned n) {
        return "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d5, [%r10], " + std::to_string(n) + ";";
    };
    const std::string wait =
        "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra W;"
        "st.shared.u32 [s+32], %r0;";
    const std::string store =
        "@%p1 cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%d0, {%r4}], [s+1024];";
    const std::string sent =
        "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"
        "st.shared.u32 [s+32], %r0;";
    const std::string bring = "cp.async.bulk.tensor.Nd.shared::cluster.global";
    const std::string send = "cp.async.bulk.tensor.Nd.global.shared::cta";
    // 4 sectors of 0.29 cycles, 297 of L2, 24 of the copy, 260 of the map.
    EXPECT_EQ(of(expect_tx(128) + load + wait),
              began + "mbarrier.arrive 42-68 barrier, " + bring +
                  " 43-625, "
                  "mbarrier.test_wait 44-48, bra 627-628 barrier, st 635-658 "
                  "branch_resolving, ret 656-657 no_instruction");
    EXPECT_EQ(of("prefetch.tensormap [%d0];" + expect_tx(128) + load + wait),
              began + "prefetch 42-43 barrier, mbarrier.arrive 43-69, " + bring +
                  " 44-366, "
                  "mbarrier.test_wait 45-49, bra 368-369 barrier, st 396-419 "
                  "no_instruction, ret 397-398");
    EXPECT_EQ(of(expect_tx(256) + load + load + wait),
              began + "mbarrier.arrive 42-68 barrier, " + bring + " 43-625, " + bring +
                  " 45-367 math_pipe_throttle, mbarrier.test_wait 46-50, bra 627-628 barrier, st "
                  "655-678 no_instruction, ret 656-657");
    // 4 sectors of 0.98 cycles behind the map; the wait takes 38.
    EXPECT_EQ(of(store + sent),
              began + "" + send +
                  " 42-46 barrier, cp.async.bulk.commit_group 162-166 wait, "
                  "cp.async.bulk.wait_group 305-309 long_scoreboard, st 343-366 wait, ret "
                  "344-345");
    EXPECT_EQ(of(store + store + sent),
              began + send + " 42-46 barrier, " + send +
                  " 162-166 wait, cp.async.bulk.commit_group 282-286 wait, "
                  "cp.async.bulk.wait_group 309-313 long_scoreboard, st 347-370 wait, ret 368-369 "
                  "no_instruction");
    EXPECT_EQ(of("prefetch.tensormap [%d0];" + store + sent),
              began + "prefetch 42-43 barrier, " + send +
                  " 43-47, cp.async.bulk.commit_group 163-167 wait, cp.async.bulk.wait_group "
                  "165-169 math_pipe_throttle, st 203-226 wait, ret 224-225 no_instruction");
}

// Wavefronts, and how many they would be without conflicts: one for each matrix and for each phase.
TEST(MemoryCycles, WavefrontsWithoutConflicts) {
    const auto of = [](const std::string& body) {
        const Timed run = timed(body + "st.global.u32 [%d0], %r4;");
        uint64_t ideal = 0, wavefronts = 0;
        for (const timing::OperationReport& o : run.report.operations) {
            ideal += o.ideal;
            wavefronts += o.wavefronts;
        }
        return std::to_string(ideal) + " of " + std::to_string(wavefronts);
    };
    const std::string rows =
        "mov.u32 %r8, %tid.x; shl.b32 %r9, %r8, 4; mov.u32 %r10, s; add.u32 %r9, %r9, %r10;"
        "ldmatrix.sync.aligned.m8n8.";
    EXPECT_EQ(of(rows + "x1.shared.b16 {%r4}, [%r9];"), "1 of 1");
    EXPECT_EQ(of(rows + "x2.shared.b16 {%r4, %r5}, [%r9];"), "2 of 2");
    EXPECT_EQ(of(rows + "x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r9];"), "4 of 4");
    EXPECT_EQ(of("ld.shared.u32 %r4, [s];"), "1 of 1");
    EXPECT_EQ(of("ld.shared.v2.u32 {%r4, %r5}, [s];"), "2 of 2");
    EXPECT_EQ(of("ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [s];"), "4 of 4");
    EXPECT_EQ(of(apart_in_shared + "ld.shared.u32 %r4, [%r18];"), "1 of 16");
    EXPECT_EQ(of(apart_in_shared + "atom.shared.add.u32 %r4, [%r18], 1;"), "16 of 16");
}

}  // namespace
