// SPDX-License-Identifier: Apache-2.0
// Branches by undefined values that do nothing but choose among values of registers: what is chosen
// is undefined where the ways have met, and the branch itself is not said.
#include "tests/check/said.hpp"

namespace lockwarp::check::choices_test {
namespace {

using namespace brief;

// %p1 is undefined; %r10 to %r13 are not, nor is %p2.
const std::string setup =
    "setp.eq.u32 %p1, %r20, 0; setp.eq.u32 %p2, %r2, 1; mov.u32 %r10, 0; mov.u32 %r11, 0;"
    "mov.u32 %r12, 0; mov.u32 %r13, 0;\n";
const Lines branched{"2 branched-on 1"};

Lines of(const std::string& body) {
    return said(setup + body, {.checks = "uninitialised", .block = 32});
}

// One line of ways, and then each of the registers is stored; those whose stores are found.
std::string undefined_after(const std::string& ways) {
    std::string body = ways + "\n";
    for (const char* reg : {"10", "11", "12", "13"})
        body += "st.global.u32 [%rd3+" + std::string(reg) + "00], %r" + reg + ";\n";
    std::string out;
    for (const std::string& line : of(body)) {
        if (!line.starts_with("1 stored ")) return line;
        out += (out.empty() ? "" : " ") + std::to_string(line.back() - '3' + 10);
    }
    return out;
}

TEST(Choices, MakeWhatTheirWaysWriteUndefined) {
    EXPECT_EQ(undefined_after("@%p1 bra E; mov.u32 %r10, 1; E:"), "10");
    EXPECT_EQ(undefined_after("@!%p1 bra E; mov.u32 %r10, 1; E:"), "10");
    EXPECT_EQ(undefined_after("@%p1 bra E; mov.u32 %r11, 1; mov.u32 %r13, 2; E:"), "11 13");
    EXPECT_EQ(undefined_after("@%p1 bra S; mov.u32 %r10, 1; bra E; S: mov.u32 %r12, 1; E:"),
              "10 12");
    EXPECT_EQ(undefined_after("@%p1 bra E; @%p2 mov.u32 %r10, 1; E:"), "10");
    // Choices within: their ways are part of it.
    EXPECT_EQ(undefined_after("@%p1 bra E; mov.u32 %r10, 1; @%p2 bra E; mov.u32 %r11, 1; E:"),
              "10 11");
    EXPECT_EQ(undefined_after("@%p1 bra E; @%p2 bra S; mov.u32 %r10, 1; bra E;"
                              "S: mov.u32 %r11, 1; E:"),
              "10 11");
    EXPECT_EQ(undefined_after("@%p1 bra E; @%p2 bra S; mov.u32 %r10, 1; S: mov.u32 %r12, 1; E:"),
              "10 12");
    // Ways that stand in another order.
    EXPECT_EQ(undefined_after("bra B; A: mov.u32 %r10, 1; bra E;"
                              "B: @%p1 bra A; mov.u32 %r11, 1; E:"),
              "10 11");
    // What is written behind it has a value again, and what is read before it.
    EXPECT_EQ(undefined_after("@%p1 bra E; mov.u32 %r10, 1; E: mov.u32 %r10, 2;"), "");
    EXPECT_EQ(of("@%p1 bra E;\nst.global.u32 [%rd3], %r10;\nE: mov.u32 %r10, 1;\n"), branched);
    // The ways are 64 operations at most.
    const auto adds = [](int count) {
        std::string out = "@%p1 bra E; ";
        for (int i = 0; i < count; ++i) out += "add.u32 %r10, %r10, 1; ";
        return out + "E:";
    };
    EXPECT_EQ(undefined_after(adds(64)), "10");
    EXPECT_EQ(undefined_after(adds(65)), "2 branched-on 1");
}

TEST(Choices, DoNothingElse) {
    for (const std::string line :
         {"ld.global.u32 %r10, [%rd4];", "st.global.u32 [%rd3], 1;",
          "red.global.add.u32 [%rd3], 1;", "activemask.b32 %r14; bar.warp.sync %r14;",
          "bar.arrive 1, 64;", "fence.acq_rel.gpu;", "ret;", "exit;", "@%p2 exit;",
          "M: add.u32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 3; @%p3 bra M;"}) {
        EXPECT_EQ(of("@%p1 bra E;\n" + line + "\nE: mov.u32 %r11, 1;\n"), branched) << line;
        EXPECT_EQ(of("@%p1 bra S;\nbra E;\nS: " + line + "\nE: mov.u32 %r11, 1;\n"), branched)
            << line;
        // On one way within alone.
        EXPECT_EQ(of("@%p1 bra E;\n@%p2 bra E;\n" + line + "\nE: mov.u32 %r11, 1;\n"), branched)
            << line;
        EXPECT_EQ(of("@%p1 bra E;\n@%p2 bra S;\nbra E;\nS: " + line + "\nE: mov.u32 %r11, 1;\n"),
                  branched)
            << line;
    }
    // A loop, whose ways meet behind it.
    EXPECT_EQ(of("L: @%p1 bra M;\nM: add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 3;"
                 "setp.eq.u32 %p1, %r20, 0; @%p2 bra L;\n"),
              Lines{});
    EXPECT_EQ(of("L: add.u32 %r10, %r10, 1; setp.eq.u32 %p1, %r20, %r10;\n@%p1 bra L;\n"),
              Lines{"3 branched-on 1"});
}

// Lanes by lane: those that the undefined value sends are undefined, however far the others are.
TEST(Choices, OfSomeLanes) {
    const std::string some =
        "setp.lt.u32 %p3, %r2, 4; selp.b32 %r21, %r20, 1, %p3; setp.eq.u32 %p1, %r21, 0;";
    EXPECT_EQ(said(some + "mov.u32 %r10, 0;\n@%p1 bra E;\nmov.u32 %r10, 1;\nE:\n"
                          "st.global.u32 [%rd3], %r10;\n",
                   {.checks = "uninitialised", .block = 32}, {.count = true}),
              Lines{"1 stored 5, 4 times"});
    // And where two such choices are open at a time.
    EXPECT_EQ(said(some + "setp.eq.u32 %p2, %r22, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;\n"
                          "@%p1 bra E;\n@%p2 bra F;\nmov.u32 %r11, 1;\nF: mov.u32 %r10, 1;\n"
                          "E:\nst.global.u32 [%rd3], %r10;\nst.global.u32 [%rd3+128], %r11;\n",
                   {.checks = "uninitialised", .block = 32}, {.count = true}),
              (Lines{"1 stored 7, 4 times", "1 stored 8, 32 times"}));
}

}  // namespace
}  // namespace lockwarp::check::choices_test
