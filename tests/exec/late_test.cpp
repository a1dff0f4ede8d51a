// SPDX-License-Identifier: Apache-2.0
// The late schedule: which copies a wait brings, lane by lane, and with which operands.
#include <algorithm>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Two words of shared memory for each of 32 threads, 0 before any copy has come: at %r2 and, 128
// bytes on, at %r3. %rd5 is in + 4 * the thread. LOOK: what the thread sees at this point, 1 for
// its first word, 2 for its second, joins the byte that is next in %r9.
std::string with_look(std::string body) {
    const std::string look =
        "ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [%r3]; setp.ne.u32 %p1, %r4, 0;\n"
        "setp.ne.u32 %p2, %r5, 0; selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2;\n"
        "or.b32 %r4, %r4, %r5; shl.b32 %r9, %r9, 8; or.b32 %r9, %r9, %r4;\n";
    for (size_t at = 0; (at = body.find("LOOK", at)) != std::string::npos;)
        body.replace(at, 4, look);
    return "mov.u32 %r2, tile; shl.b32 %r6, %r1, 2; add.u32 %r2, %r2, %r6;\n"
           "add.u32 %r3, %r2, 128; mov.u32 %r9, 0; st.shared.u32 [%r2], %r9;\n"
           "st.shared.u32 [%r3], %r9; cvt.u64.u32 %rd5, %r6; add.u64 %rd5, %rd5, %rd1;\n"
           "setp.lt.u32 %p5, %r1, 16;\n" +
           body + "st.global.u32 [%rd2], %r9; ret;\n";
}

Words seen(const std::string& body, bool late) {
    Given given;
    given.schedule = {late, UINT32_MAX};
    return results_of_text(kernel(with_look(body), ".shared .align 16 .b32 tile[64];"),
                           Words(32, 7), given);
}

constexpr const char* first_copy = "cp.async.ca.shared.global [%r2], [%rd5], 4;\n";
constexpr const char* second = "cp.async.ca.shared.global [%r3], [%rd5], 4;\n";
const std::string commit = "cp.async.commit_group;\n";

std::string wait(int rest) { return "cp.async.wait_group " + std::to_string(rest) + ";\n"; }

TEST(Late, AWaitBringsTheOldestGroups) {
    const std::string body =
        first_copy + commit + second + commit + "LOOK" + wait(1) + "LOOK" + wait(0) + "LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x000103));
    EXPECT_EQ(seen(body, false), Words(32, 0x030303));
}

TEST(Late, WhatIsNotCommittedIsWaitedForByWaitAllAlone) {
    const std::string body =
        first_copy + commit + second + wait(0) + "LOOK cp.async.wait_all;\n LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x0103));
}

TEST(Late, EachLaneHasGroupsOfItsOwn) {
    // Lanes 0 to 15 commit between their copies, the others behind them.
    const std::string body = std::string(first_copy) + "@!%p5 bra rest;\n" + commit + "rest:\n" +
                             second + commit + wait(1) + "LOOK" + wait(0) + "LOOK";
    Words expected(32, 0x0003);
    std::fill_n(expected.begin(), 16, 0x0103);
    EXPECT_EQ(seen(body, true), expected);
}

TEST(Late, AWaitBringsTheCopiesOfItsOwnLanes) {
    const std::string body = first_copy + commit + second + commit + "@!%p5 bra rest;\n" + wait(0) +
                             "rest:\n bar.warp.sync -1;\n LOOK" + wait(1) + "LOOK" + wait(0) +
                             "LOOK";
    Words expected(32, 0x000103);
    std::fill_n(expected.begin(), 16, 0x030303);
    EXPECT_EQ(seen(body, true), expected);
}

TEST(Late, AnEmptyGroupCounts) {
    const std::string body = first_copy + commit + commit + wait(1) + "LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 1));
}

// The operands are those of the issue; the registers afterwards are what they were before the copy
// came, also where one of them is two operands.
TEST(Late, TheCopyHasTheOperandsOfItsIssue) {
    const std::string body =
        "shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, 4; min.u32 %r10, %r10, 16;\n"
        "mov.u32 %r11, 16; setp.eq.u32 %p6, %r1, 0; mov.u32 %r12, tile;\n"
        // Lane 0: from in to byte 16 of the tile, with the same register as size.
        "@%p6 cp.async.cg.shared.global [%r11], [%rd5], 16, %r11;\n" +
        commit + "mov.u32 %r11, 5; add.u64 %rd5, %rd5, 1;\n" + wait(0) +
        "ld.shared.u32 %r13, [tile + 16]; mad.lo.u32 %r9, %r13, 16, %r11;\n";
    EXPECT_EQ(seen(body, true), Words(32, 7 * 16 + 5));
}

// Two warpgroups whose products read the same matrices. The second waits for its own, makes zeros
// of what both read, and lets the first go on, which waits only then: a wait brings the products of
// its own warpgroup.
TEST(Late, AWaitBringsTheProductsOfItsOwnWarpgroup) {
    const std::string text =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[2304];\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p<6>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n"
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; mov.u32 %r4, %r1;\n"
        "fill: mad.lo.u32 %r5, %r4, 4, %r2; st.shared.u32 [%r5], 0x3c003c00;\n"
        "add.u32 %r4, %r4, 256; setp.lt.u32 %p2, %r4, 576; @%p2 bra fill;\n"
        "fence.proxy.async; bar.sync 0; setp.lt.u32 %p1, %r1, 128;\n"
        "bfe.u32 %r4, %r2, 4, 14; cvt.u64.u32 %rd3, %r4;\n"
        "or.b64 %rd3, %rd3, 0x1000080000; add.u64 %rd4, %rd3, 128;\n"
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd4,"
        " 0, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n@%p1 bra first;\n"
        "wgmma.wait_group.sync.aligned 0; bar.sync 2, 128; sub.u32 %r4, %r1, 128;\n"
        "clear: mad.lo.u32 %r5, %r4, 4, %r2; st.shared.u32 [%r5], 0; add.u32 %r4, %r4, 128;\n"
        "setp.lt.u32 %p2, %r4, 576; @%p2 bra clear;\n"
        "bar.sync 1, 256; bra end;\n"
        "first: bar.sync 1, 256; wgmma.wait_group.sync.aligned 0;\n"
        "end: st.global.f32 [%rd1], %f1; ret;\n}\n";
    const auto of = [&](bool late) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 256;
        given.schedule = {late, UINT32_MAX};
        return results_of_text(text, Words(1), given);
    };
    constexpr uint32_t sixteen = 0x41800000;
    EXPECT_EQ(of(false), Words(256, sixteen));
    Words expected(256, sixteen);
    std::fill_n(expected.begin(), 128, 0);
    EXPECT_EQ(of(true), expected);
}

// What touches registers of a product's D or A waits for it, and what touches those of another
// product does not. B is cleared behind the touch, before the wait: a product that runs only then
// is 0.
TEST(Late, ATouchBringsTheProductsOfItsRegisters) {
    constexpr uint32_t sixteen = 0x41800000;
    const auto of = [](const std::string& touch, bool late) {
        const std::string product =
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4},"
            " {%r10, %r11, %r12, %r13}, %rd4, 0, 1, 1, 0;\n";
        const std::string other =
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f5, %f6, %f7, %f8},"
            " {%r14, %r15, %r16, %r17}, %rd4, 0, 1, 1, 0;\n";
        const std::string ends =
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
        std::string text =
            ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[256];\n"
            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
            ".reg .pred %p<6>; .reg .b32 %r<24>; .reg .f32 %f<12>; .reg .b64 %rd<8>;\n"
            "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n"
            "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; shl.b32 %r3, %r1, 2;\n"
            "add.u32 %r3, %r3, %r2; setp.lt.u32 %p1, %r1, 64;\n"
            "@%p1 st.shared.u32 [%r3], 0x3c003c00; bfe.u32 %r4, %r2, 4, 14;\n"
            "cvt.u64.u32 %rd4, %r4; or.b64 %rd4, %rd4, 0x1000080000;\n";
        for (int r = 10; r < 18; ++r) text += "mov.b32 %r" + std::to_string(r) + ", 0x3c003c00;\n";
        text += "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n" + product + touch +
                "\nbar.sync 0; @%p1 st.shared.u32 [%r3], 0; fence.proxy.async; bar.sync 0;\n" +
                ends + "st.global.f32 [%rd1], %f1; wgmma.fence.sync.aligned;\n" + other + ends +
                "ret;\n}\n";
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 128;
        given.schedule = {late, UINT32_MAX};
        return results_of_text(text, Words(1), given);
    };
    struct Row {
        const char* touch;
        bool waits;
    };
    for (const Row& row : std::initializer_list<Row>{{"", false},
                                                     {"mov.f32 %f9, %f4;", true},
                                                     {"mov.b32 %r13, 0;", true},
                                                     {"mov.f32 %f8, 0f00000000;", false},
                                                     {"wgmma.commit_group.sync.aligned;"
                                                      "mov.f32 %f9, %f4;",
                                                      true},
                                                     {"mov.b32 %r20, %r17;", false}}) {
        EXPECT_EQ(of(row.touch, false), Words(128, sixteen)) << row.touch;
        EXPECT_EQ(of(row.touch, true), Words(128, row.waits ? sixteen : 0)) << row.touch;
    }
}

// More of them than are kept without a look at which have come.
TEST(Late, ManyCopies) {
    std::string body =
        "mov.u32 %r10, 0; mov.u32 %r12, 0;\n"
        "L: cp.async.ca.shared.global [%r2], [%rd5], 4;\n" +
        commit + wait(3) + "add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 700; @%p6 bra L;\n" +
        std::string(second) + commit + "LOOK" + wait(0) + "LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x0103));
    // All at once.
    body =
        "mov.u32 %r10, 0;\nL: cp.async.ca.shared.global [%r2], [%rd5], 4;\n"
        "add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 700; @%p6 bra L;\n" +
        commit + second + commit + "LOOK" + wait(1) + "LOOK" + wait(0) + "LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x000103));
}

// What nobody has waited for comes when the CTA ends: from the shared memory that is then there.
TEST(Late, ACopyThatNobodyWaitsForComesWithTheEnd) {
    const std::string text = kernel(
        "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1;\n"
        "fence.proxy.async; bar.sync 0; setp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4], [tile], 128;\n"
        "@%p1 cp.async.bulk.commit_group;\nbar.sync 0; add.u32 %r1, %r1, 100;\n"
        "st.shared.u32 [%r2], %r1; ret;\n",
        ".shared .align 16 .b32 tile[32];", "sm_90");
    for (const bool late : {false, true}) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.schedule = {late, UINT32_MAX};
        Words expected(32);
        for (uint32_t i = 0; i < 32; ++i) expected[i] = i + (late ? 100 : 0);
        EXPECT_EQ(results_of_text(text, Words(1), given), expected) << late;
    }
}

// Where the mbarrier of a copy is not there, the copy traps where it stands.
TEST(Late, ACopyWithoutItsBarrierIsNotPutOff) {
    const auto run_it = [](const std::string& barrier, bool late) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.schedule = {late, UINT32_MAX};
        given.buffers = {Bytes(128), Bytes(128)};
        std::string text =
            kernel("setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, tile; add.u32 %r2, %r2, " + barrier +
                       ";\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                       "[tile], [%rd1], 16, [%r2];\nst.global.u32 [%rd2], 7;\nret;\n",
                   ".shared .align 16 .b32 tile[32];", "sm_90");
        return run(program_of(text, given.arch), std::move(given));
    };
    for (const std::string barrier : {"1048576", "-2048"}) {
        const Outcome early = run_it(barrier, false), late = run_it(barrier, true);
        EXPECT_TRUE(fault_of(early.result).starts_with("address out of bounds"))
            << fault_of(early.result);
        EXPECT_EQ(fault_of(late.result), fault_of(early.result));
        EXPECT_EQ(late.buffers[1], Bytes(128));
    }
}

// An mbarrier's phase ends when the copies before its arrivals have come. Without .noinc it waits
// for as many arrivals more.
TEST(Late, ArrivalsComeBehindTheirCopies) {
    const auto text = [](const std::string& noinc, uint32_t count) {
        return kernel(
            with_look("setp.eq.u32 %p7, %r1, 0; @%p7 mbarrier.init.shared.b64 [bar], " +
                      std::to_string(count) + ";\nbar.warp.sync -1;\n" + first_copy +
                      "cp.async.mbarrier.arrive" + noinc + ".shared.b64 [bar];\n" + second +
                      "LOOK @%p7 mbarrier.arrive.shared.b64 %rd9, [bar];\n"
                      "W: mbarrier.test_wait.parity.shared.b64 %p6, [bar], 0; @!%p6 bra W;\n"
                      "LOOK cp.async.wait_all;\nLOOK"),
            ".shared .align 16 .b32 tile[64]; .shared .align 8 .b64 bar;");
    };
    Given given;
    given.schedule = {true, UINT32_MAX};
    EXPECT_EQ(results_of_text(text("", 1), Words(32, 7), given), Words(32, 0x000103));
    EXPECT_EQ(results_of_text(text(".noinc", 33), Words(32, 7), given), Words(32, 0x000103));
}

}  // namespace

}  // namespace lockwarp::exec
