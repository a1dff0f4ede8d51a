// SPDX-License-Identifier: Apache-2.0
// The late schedule: which copies a wait brings, lane by lane, and with which operands.
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

constexpr const char* first = "cp.async.ca.shared.global [%r2], [%rd5], 4;\n";
constexpr const char* second = "cp.async.ca.shared.global [%r3], [%rd5], 4;\n";
const std::string commit = "cp.async.commit_group;\n";

std::string wait(int rest) { return "cp.async.wait_group " + std::to_string(rest) + ";\n"; }

TEST(Late, AWaitBringsTheOldestGroups) {
    const std::string body =
        first + commit + second + commit + "LOOK" + wait(1) + "LOOK" + wait(0) + "LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x000103));
    EXPECT_EQ(seen(body, false), Words(32, 0x030303));
}

TEST(Late, WhatIsNotCommittedIsWaitedForByWaitAllAlone) {
    const std::string body = first + commit + second + wait(0) + "LOOK cp.async.wait_all;\n LOOK";
    EXPECT_EQ(seen(body, true), Words(32, 0x0103));
}

TEST(Late, EachLaneHasGroupsOfItsOwn) {
    // Lanes 0 to 15 commit between their copies, the others behind them.
    const std::string body = std::string(first) + "@!%p5 bra rest;\n" + commit + "rest:\n" +
                             second + commit + wait(1) + "LOOK" + wait(0) + "LOOK";
    Words expected(32, 0x0003);
    std::fill_n(expected.begin(), 16, 0x0103);
    EXPECT_EQ(seen(body, true), expected);
}

TEST(Late, AWaitBringsTheCopiesOfItsOwnLanes) {
    const std::string body = first + commit + second + commit + "@!%p5 bra rest;\n" + wait(0) +
                             "rest:\n bar.warp.sync -1;\n LOOK" + wait(1) + "LOOK" + wait(0) +
                             "LOOK";
    Words expected(32, 0x000103);
    std::fill_n(expected.begin(), 16, 0x030303);
    EXPECT_EQ(seen(body, true), expected);
}

TEST(Late, AnEmptyGroupCounts) {
    const std::string body = first + commit + commit + wait(1) + "LOOK";
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

}  // namespace

}  // namespace lockwarp::exec
