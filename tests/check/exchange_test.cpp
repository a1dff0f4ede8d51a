// SPDX-License-Identifier: Apache-2.0
// Values that lanes take from lanes that do not take part, and masks that name such lanes: PTX
// manual, "shfl.sync".
#include "tests/check/said.hpp"

namespace lockwarp::check::exchange_test {
namespace {

using namespace brief;

// Lane 3 takes its value from lane 5, which does not take part; all others have one of their own.
const std::string taken =
    "mov.u32 %r10, %r2; setp.eq.u32 %p1, %r2, 3;\n@%p1 shfl.sync.idx.b32 %r10, %r1, 5, 31, 8;\n";

Lines of(const std::string& body, const Shown& shown = {}, uint32_t block = 32) {
    return brief::said(body, {.checks = "sync", .block = block}, shown);
}

TEST(Exchange, WhatUsesSuchAValue) {
    const std::string store = "st.global.u32 [%rd3], %r11;\n";
    const Lines none;
    for (const auto& [uses, said] : std::initializer_list<std::pair<std::string, Lines>>{
             {"", none},
             {"st.global.u32 [%rd3], %r10;\n", {"2 shfl-source 3"}},
             {"st.shared.u32 [%r6], %r10;\n", {"2 shfl-source 3"}},
             {"shl.b32 %r11, %r10, 2;\nld.shared.u32 %r11, [%r11+1024];\n", {"2 shfl-source 4"}},
             {"add.u32 %r11, %r1, 1;\n" + store, none},
             {"add.u32 %r11, %r10, 1;\n", none},
             {"add.u32 %r11, %r10, 1;\n" + store, {"2 shfl-source 4"}},
             {"add.u32 %r11, %r10, 1;\nmov.u32 %r11, 1;\n" + store, none},
             {"add.u32 %r12, %r10, 1;\nadd.u32 %r11, %r12, %r1;\n" + store, {"2 shfl-source 5"}},
             // Said once: what is made of it is not said again.
             {"st.global.u32 [%rd3], %r10;\nst.global.u32 [%rd3], %r10;\n",
              {"2 shfl-source 3", "2 shfl-source 4"}},
             {"vote.sync.ballot.b32 %r11, %p1, -1;\n" + store, none},
             // Predicates steer branches, and let lanes through.
             {"setp.eq.u32 %p2, %r10, 9;\n@%p2 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n",
              {"2 shfl-source 4"}},
             {"setp.eq.u32 %p2, %r10, 9;\n@%p2 st.global.u32 [%rd3], %r1;\n", {"2 shfl-source 4"}},
             {"setp.eq.u32 %p2, %r10, 9;\n@%p2 add.u32 %r11, %r1, 1;\n", none},
             {"setp.eq.u32 %p2, %r10, 9;\nvote.sync.ballot.b32 %r11, %p2, -1;\n",
              {"2 shfl-source 4"}},
             {"redux.sync.add.u32 %r11, %r10, -1;\n", {"2 shfl-source 3"}},
             {"redux.sync.add.u32 %r11, %r10, -1;\n" + store, {"2 shfl-source 3"}},
             {"movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;\n" + store, {"2 shfl-source 3"}},
             {"and.b32 %r12, %r10, 1;\ntable: .branchtargets A, B;\nbrx.idx %r12, table;\nA:\nB:\n",
              {"2 shfl-source 5"}},
             // A lane that a guard kept out has what it had.
             {"mov.u32 %r11, 0; setp.eq.u32 %p2, %r10, 9;\n@%p2 add.u32 %r11, %r1, 1;\n" + store,
              none},
             {"mov.u32 %r11, 0; setp.ne.u32 %p2, %r10, 9;\n@%p2 add.u32 %r11, %r1, 1;\n" + store,
              {"2 shfl-source 5"}},
             // A choice has what it chooses, as of the last warp of a block that is not whole.
             {"setp.ne.u32 %p2, %r2, 3;\nselp.b32 %r11, %r10, 0, %p2;\n" + store, none},
             {"setp.eq.u32 %p2, %r2, 3;\nselp.b32 %r11, 0, %r10, %p2;\n" + store, none},
             {"setp.eq.u32 %p2, %r2, 3;\nselp.b32 %r11, %r10, 0, %p2;\n" + store,
              {"2 shfl-source 5"}},
             {"setp.ne.u32 %p2, %r2, 3;\nselp.b32 %r11, %r1, %r10, %p2;\n" + store,
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r10, 9;\nselp.b32 %r11, %r1, %r2, %p2;\n" + store,
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r2, 3;\nselp.b32 %r10, %r10, %r10, %p2;\n"
              "st.global.u32 [%rd3], %r10;\n",
              {"2 shfl-source 5"}},
             // One side of an and, an or may decide.
             {"setp.eq.u32 %p2, %r10, 9; setp.ne.u32 %p3, %r2, 3;\nand.pred %p3, %p2, %p3;\n"
              "@%p3 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n",
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r10, 9; setp.ne.u32 %p3, %r2, 3;\nand.pred %p4, %p2, %p3;\n"
              "@%p4 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n",
              none},
             {"setp.eq.u32 %p2, %r10, 9; setp.eq.u32 %p3, %r2, 3;\nor.pred %p4, %p3, %p2;\n"
              "@%p4 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n",
              none},
             {"setp.eq.u32 %p2, %r10, 9; setp.eq.u32 %p3, %r2, 3;\nand.pred %p4, %p3, %p2;\n"
              "@%p4 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n",
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r10, 9;\nand.pred %p4, %p2, %p2;\n@%p4 bra END;\n"
              "add.u32 %r11, %r1, 1;\nEND:\n",
              {"2 shfl-source 5"}},
             {"setp.ne.u32 %p2, %r2, 3; selp.b32 %r12, -1, 0, %p2;\n"
              "and.b32 %r11, %r10, %r12;\n" +
                  store,
              none},
             {"setp.ne.u32 %p2, %r2, 3; selp.b32 %r12, -1, 1, %p2;\n"
              "and.b32 %r11, %r10, %r12;\n" +
                  store,
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r2, 3; selp.b32 %r12, -1, 0, %p2;\n"
              "or.b32 %r11, %r12, %r10;\n" +
                  store,
              none},
             {"setp.eq.u32 %p2, %r2, 3; selp.b32 %r12, -2, 0, %p2;\n"
              "or.b32 %r11, %r12, %r10;\n" +
                  store,
              {"2 shfl-source 5"}},
             {"setp.eq.u32 %p2, %r2, 3; selp.b64 %rd8, -1, 0, %p2; cvt.u64.u32 %rd9, %r10;\n"
              "or.b64 %rd9, %rd9, %rd8;\ncvt.u32.u64 %r11, %rd9;\n" +
                  store,
              none},
             {"setp.eq.u32 %p2, %r2, 3; selp.b64 %rd8, -2, 0, %p2; cvt.u64.u32 %rd9, %r10;\n"
              "or.b64 %rd9, %rd9, %rd8;\ncvt.u32.u64 %r11, %rd9;\n" +
                  store,
              {"2 shfl-source 6"}},
             // Bytes and halves are followed, and sums in which it cancels.
             {"prmt.b32 %r11, %r10, %r1, 0x7654;\n" + store, none},
             {"prmt.b32 %r11, %r10, %r1, 0x7650;\n" + store, {"2 shfl-source 4"}},
             {"mov.b64 %rd8, {%r10, %r1};\nmov.b64 {%r12, %r11}, %rd8;\n" + store, none},
             {"mov.b64 %rd8, {%r1, %r10};\nmov.b64 {%r12, %r11}, %rd8;\n" + store,
              {"2 shfl-source 5"}},
             {"add.u32 %r11, %r10, %r1;\nsub.u32 %r11, %r11, %r10;\n" + store, none},
             {"add.u32 %r11, %r10, %r1;\nsub.u32 %r11, %r11, %r1;\n" + store, {"2 shfl-source 5"}},
             {"xor.b32 %r11, %r10, %r10;\n" + store, none},
             // Lanes that have a value.
             {"setp.ne.u32 %p2, %r2, 3;\n@%p2 st.global.u32 [%rd3], %r10;\n", none},
             {"setp.eq.u32 %p2, %r2, 3;\n@%p2 st.global.u32 [%rd3], %r10;\n", {"2 shfl-source 4"}},
             {"setp.eq.u32 %p2, %r2, 3;\n@%p2 mov.u32 %r10, 1;\nst.global.u32 [%rd3], %r10;\n",
              none},
             {"setp.ne.u32 %p2, %r2, 3;\n@%p2 mov.u32 %r10, 1;\nst.global.u32 [%rd3], %r10;\n",
              {"2 shfl-source 5"}},
         })
        EXPECT_EQ(of(taken + uses), said) << uses;
    EXPECT_EQ(of(taken + "st.global.u32 [%rd3], %r10;\n", {.lanes = true, .message = true}),
              Lines{"2 shfl-source 3, 8 8: takes values from lanes that do not take part, and "
                    "line 4 uses them"});
}

// Whether a lane is in range is known, whatever it takes.
TEST(Exchange, ThePredicateIsKnown) {
    const std::string both =
        "mov.u32 %r10, %r2; setp.eq.u32 %p1, %r2, 3; setp.eq.u32 %p3, %r2, 99;\n"
        "@%p1 shfl.sync.idx.b32 %r10|%p3, %r1, 5, 31, 8;\n";
    EXPECT_EQ(of(both + "@%p3 bra END;\nadd.u32 %r11, %r1, 1;\nEND:\n"), Lines{});
    EXPECT_EQ(of(both + "st.global.u32 [%rd3], %r10;\n"), Lines{"2 shfl-source 3"});
}

// The lane that another one takes its value from; the manual's words.
uint32_t source_of(const std::string& mode, uint32_t lane, uint32_t b, uint32_t c) {
    const int bval = b & 31, cval = c & 31, mask = c >> 8 & 31, l = static_cast<int>(lane);
    const int max_lane = (l & mask) | (cval & ~mask), min_lane = l & mask;
    int j = 0;
    bool p = false;
    if (mode == "up") j = l - bval, p = j >= max_lane;
    if (mode == "down") j = l + bval, p = j <= max_lane;
    if (mode == "bfly") j = l ^ bval, p = j <= max_lane;
    if (mode == "idx") j = min_lane | (bval & ~mask), p = j <= max_lane;
    return static_cast<uint32_t>(p ? j : l);
}

TEST(Exchange, WhoTakesItFromALaneThatHasNone) {
    for (const std::string mode : {"up", "down", "bfly", "idx"})
        for (const uint32_t c : {31u, 0u, 7u, 0x1000u, 0x181fu, 0x1c03u, 0x1800u, 0x1f1fu})
            for (const uint32_t b : {0u, 1u, 2u, 3u, 4u, 7u, 16u, 31u, 35u}) {
                uint32_t lanes = 0;
                for (uint32_t l = 0; l < 32; ++l)
                    if (source_of(mode, l, b, c) == 3) lanes |= 1u << l;
                const std::string body = taken + "shfl.sync." + mode + ".b32 %r11, %r10, " +
                                         std::to_string(b) + ", " + std::to_string(c) +
                                         ", -1;\nst.global.u32 [%rd3], %r11;\n";
                EXPECT_EQ(of(body, {.lanes = true}),
                          lanes == 0 ? Lines{} : Lines{"2 shfl-source 4, 8 " + hex(lanes)})
                    << body;
            }
    // Each lane has its own.
    EXPECT_EQ(of(taken + "xor.b32 %r12, %r2, 1;\nshfl.sync.idx.b32 %r11, %r10, %r12, 31, -1;\n"
                         "st.global.u32 [%rd3], %r11;\n",
                 {.lanes = true}),
              Lines{"2 shfl-source 5, 8 4"});
    // Behind a guard.
    EXPECT_EQ(of(taken + "setp.lt.u32 %p2, %r2, 8;\n"
                         "@%p2 shfl.sync.bfly.b32 %r11, %r10, 1, 31, 255;\n"
                         "@%p2 st.global.u32 [%rd3], %r11;\n",
                 {.lanes = true}),
              Lines{"2 shfl-source 5, 8 4"});
}

TEST(Exchange, MasksThatNameMore) {
    const std::string vote = "vote.sync.ballot.b32 %r10, %p1, -1;\n";
    const auto said = [&](uint32_t block, uint32_t leave_from) {
        return of("setp.ge.u32 %p1, %r2, " + std::to_string(leave_from) + ";\n@%p1 exit;\n" + vote,
                  {.lanes = true, .message = true}, block);
    };
    const std::string names = ": its membermask names ", exited = " lanes that have exited",
                      none = " lanes that the block does not have";
    EXPECT_EQ(said(32, 32), Lines{});
    EXPECT_EQ(said(32, 20), Lines{"~3 mask-absent, fffff" + names + "12" + exited});
    EXPECT_EQ(said(31, 32), Lines{"~3 mask-absent, 7fffffff" + names + "1" + none});
    EXPECT_EQ(said(72, 32), Lines{"~3 mask-absent, ff" + names + "24" + none});
    EXPECT_EQ(said(8, 7), Lines{"~3 mask-absent, 7f" + names + "25" + exited});
    // Of the last warp alone one lane leaves: it is of the block.
    EXPECT_EQ(of("setp.eq.u32 %p1, %r1, 71;\n@%p1 exit;\nsetp.ge.u32 %p2, %r1, 64;\n@%p2 " + vote,
                 {.lanes = true, .message = true}, 72),
              Lines{"~4 mask-absent, 7f" + names + "25" + exited});
    EXPECT_EQ(of("setp.lt.u32 %p1, %r2, 4;\n@%p1 vote.sync.ballot.b32 %r10, %p1, 15;\n"), Lines{});
    EXPECT_EQ(of("match.any.sync.b32 %r10, %r1, -1;\n", {}, 40), Lines{"~1 mask-absent"});
    EXPECT_EQ(of("bar.warp.sync -1;\n", {}, 40), Lines{"~1 mask-absent"});
}

}  // namespace
}  // namespace lockwarp::check::exchange_test
