// SPDX-License-Identifier: Apache-2.0
// What is a wait and what is not: loops that come to an end by themselves, however they count, are
// no deadlock, and loops that memory alone could end are one, whatever else they count.
#include "emu/exec/watch.hpp"

#include <random>
#include <set>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

TEST(Watch, SeenIsASet) {
    std::mt19937 random(3);
    Seen seen;
    for (uint32_t round = 0; round < 60; ++round) {
        std::set<uint32_t> model;
        // Neighbours, multiples and chance, in a table that has grown in an earlier round.
        const uint32_t step = round % 3 == 0 ? 1 : round % 3 == 1 ? 64 : 0;
        const uint32_t count = round % 5 == 0 ? 500 : 40;
        for (uint32_t i = 0; i < count; ++i) {
            const auto n = step != 0 ? i / 2 * step : static_cast<uint32_t>(random()) >> round % 32;
            ASSERT_EQ(seen.contains(n), model.contains(n)) << round << " " << n;
            ASSERT_EQ(seen.insert(n), model.insert(n).second) << round << " " << n;
            ASSERT_TRUE(seen.contains(n));
        }
        for (uint32_t n = 0; n < 2000; ++n) ASSERT_EQ(seen.contains(n), model.contains(n));
        seen.clear();
        for (const uint32_t n : model) ASSERT_FALSE(seen.contains(n)) << round;
    }
}

constexpr const char* functions =
    ".func (.reg .b32 r) next(.reg .b32 n) { add.u32 r, n, 1; ret; }\n"
    ".func (.param .b32 r) more(.param .b32 n) { .reg .b32 %q<3>; .local .b32 own[4];\n"
    " ld.param.b32 %q1, [n]; st.local.b32 [own+8], %q1; ld.local.b32 %q2, [own+8];\n"
    " add.u32 %q2, %q2, 1; st.param.b32 [r], %q2; ret; }\n"
    ".func again(.reg .b32 n) { .reg .b32 %q<2>; .reg .pred %p<2>; setp.eq.u32 %p1, n, 0;\n"
    " @%p1 bra E; sub.u32 %q1, n, 1; call.uni again, (%q1); E: ret; }\n"
    ".func (.param .align 4 .b8 r[8]) both(.param .align 4 .b8 n[8]) { .reg .b32 %q<3>;\n"
    " ld.param.b32 %q1, [n+4]; add.u32 %q1, %q1, 1; st.param.b32 [r+4], %q1;\n"
    " st.param.b32 [r], 0; mov.u32 %q1, 0; ret; }\n"
    ".func around(.reg .b32 n) { .reg .b32 %q<2>; .reg .pred %p<2>; mov.u32 %q1, n;\n"
    " A: sub.u32 %q1, %q1, 1; setp.ne.u32 %p1, %q1, 0; @%p1 bra A; ret; }\n";

// Functions d1 to d`depth`, of which each calls the one before; d0 is `around`.
std::string in_depth(uint32_t depth) {
    std::string text = functions;
    for (uint32_t d = 1; d <= depth; ++d) {
        const std::string inner = d == 1 ? "around" : "d" + std::to_string(d - 1);
        text +=
            ".func d" + std::to_string(d) + "(.reg .b32 n) { call.uni " + inner + ", (n); ret; }\n";
    }
    return text;
}

// One warp runs the loop, of which the first turns of all warps see no end: more than 20,000 steps.
std::string fault_of_loop(const std::string& before, const std::string& loop,
                          const std::string& with = functions) {
    const std::string text = kernel(
        ".local .align 8 .b32 mine[8]; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u64 %rd5, 0;\n"
        "mov.u16 %h1, 0; mov.u32 %r9, 0; st.local.b64 [mine+8], %rd5; mov.u64 %rd6, mine;\n"
        "setp.eq.u32 %p5, %r1, 31;\n" +
            before +
            "\nL:\nld.relaxed.gpu.global.u32 %r20, [%rd1]; add.u32 %r20, %r20, "
            "%r20;\n" +
            loop + "\n@%p1 bra L;\nst.global.u32 [%rd2], %r5;\nret;\n",
        with);
    Given given;
    given.buffers = {Bytes(64), Bytes(256)};
    given.max_steps = 2'000'000;
    return fault_of(run(program_of(text, given.arch), std::move(given)).result);
}

TEST(Watch, LoopsThatEndByThemselves) {
    for (const char* const loop :
         {"add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 9000;",
          "add.u64 %rd5, %rd5, 0x100000000; setp.ne.u64 %p1, %rd5, 0x232800000000;",
          "add.u16 %h1, %h1, 1; setp.ne.u16 %p1, %h1, 9000;",
          "mad.lo.u32 %r5, %r5, 5, 1; add.u32 %r6, %r6, 1; shr.u32 %r7, %r6, 3;"
          "setp.ne.u32 %p1, %r7, 900;",
          // In local memory: a word, the upper half of two, one lane's alone.
          "ld.local.u32 %r5, [mine+8]; add.u32 %r5, %r5, 1; st.local.u32 [mine+8], %r5;"
          "setp.ne.u32 %p1, %r5, 6000; mov.u32 %r5, 0;",
          "ld.local.u32 %r5, [%rd6+12]; add.u32 %r5, %r5, 1; st.local.u32 [%rd6+12], %r5;"
          "setp.ne.u32 %p1, %r5, 6000; mov.u32 %r5, 0;",
          "ld.local.u8 %r5, [mine+8]; ld.local.u8 %r6, [mine+9]; add.u32 %r5, %r5, 1;"
          "shr.u32 %r7, %r5, 8; add.u32 %r6, %r6, %r7; st.local.u8 [mine+8], %r5;"
          "st.local.u8 [mine+9], %r6; setp.ne.u32 %p1, %r6, 16; mov.u32 %r5, 0; mov.u32 %r6, 0;"
          "mov.u32 %r7, 0;",
          "ld.local.u32 %r5, [mine+8]; add.u32 %r5, %r5, 1; @%p5 st.local.u32 [mine+8], %r5;"
          "setp.eq.u32 %p2, %r5, 6000; vote.sync.any.pred %p3, %p2, -1; not.pred %p1, %p3;"
          "@%p5 mov.u32 %r5, 0;",
          // By the carry, by another lane's register, by an address.
          "add.cc.u32 %r5, %r5, 0x40000; addc.u32 %r6, %r6, 0; setp.eq.u32 %p1, %r6, 0;",
          "shfl.sync.idx.b32 %r6, %r5, 31, 31, -1; @%p5 add.u32 %r5, %r5, 1;"
          "setp.ne.u32 %p1, %r6, 9000;",
          // Through functions: in registers, in their parameters, deeper and deeper.
          "call.uni (%r5), next, (%r5); setp.ne.u32 %p1, %r5, 6000;",
          "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r5; call.uni (b), more, (a);"
          " ld.param.b32 %r5, [b]; } setp.ne.u32 %p1, %r5, 4000;",
          "add.u32 %r5, %r5, 1; and.b32 %r6, %r5, 7; call.uni again, (%r6);"
          "setp.ne.u32 %p1, %r5, 2000;",
          // The stack grows; predicates in turn.
          "mov.u64 %rd7, 16; alloca.u64 %rd8, %rd7; cvt.u32.u64 %r6, %rd8;"
          "setp.lt.u32 %p1, %r6, 100000;",
          "setp.eq.u32 %p6, %r6, 0; @%p6 not.pred %p7, %p7; add.u32 %r6, %r6, 1;"
          "and.b32 %r6, %r6, 4095; selp.u32 %r7, 1, 0, %p7; setp.eq.u32 %p6, %r6, 4095;"
          "selp.u32 %r8, 1, 0, %p6; and.b32 %r7, %r7, %r8; setp.eq.u32 %p1, %r7, 0;"})
        EXPECT_EQ(fault_of_loop("setp.ne.u32 %p7, %r1, 99;", loop), "") << loop;
    // What a call has left in memory is all that counts.
    const std::string a = ".param .align 4 .b8 a[8];", b = ".param .align 4 .b8 b[8];";
    for (const std::string& both : {a + b, b + a})
        EXPECT_EQ(fault_of_loop(both + "mov.u32 %r6, 0; st.param.b32 [a], 0; st.param.b32 [a+4], 0;"
                                       "call.uni (b), both, (a);",
                                "ld.param.b32 %r5, [b+4]; setp.ne.u32 %p1, %r5, 4000;"
                                "st.param.b32 [a+4], %r5; call.uni (b), both, (a);"
                                "st.param.b32 [a+4], 0; mov.u32 %r5, 0;"),
                  "")
            << both;
}

// A function called twice with the same argument has the same registers in both calls, and goes on
// behind another operation.
TEST(Watch, ACallFromElsewhereIsNoRound) {
    for (const uint32_t n : {3, 7, 20, 50}) {
        const std::string set = "mov.u32 %r7, " + std::to_string(n) + ";";
        for (const uint32_t depth : {0, 1, 3, 15, 16, 17, 30}) {
            const std::string call =
                "call.uni " + (depth == 0 ? "around" : "d" + std::to_string(depth)) + ", (%r7);";
            const auto fault = [&](const std::string& loop) {
                return fault_of_loop(set, loop, in_depth(depth));
            };
            EXPECT_EQ(fault(call + call + "add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 400;"), "")
                << n << " " << depth;
            // Of one lane, which parts from the others in two places.
            EXPECT_EQ(fault("@!%p5 bra B;" + call + "B: @!%p5 bra C;" + call +
                            "C: add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 400;"),
                      "")
                << n << " " << depth;
            if (depth <= 15) {
                EXPECT_TRUE(fault(call + "setp.eq.u32 %p1, %r20, 0;").starts_with("deadlock"))
                    << n << " " << depth;
            }
        }
    }
}

// A loop that came to its end before it says nothing of one: whether it called, read a clock, or
// moved the stack.
TEST(Watch, EachLoopIsWatchedByItself) {
    const std::string turns =
        "add.u32 %r6, %r6, 1; setp.ne.u32 %p1, %r6, 9000; @%p1 bra M;"
        "mov.u32 %r6, 0;";
    for (const std::string first :
         {"call.uni (%r9), next, (%r9);", "mov.u32 %r9, %clock;",
          "mov.u32 %r5, 3; call.uni again, (%r5);", "stacksave.u64 %rd8; stackrestore.u64 %rd8;",
          "ld.global.u32 %r9, [%rd1];"}) {
        const std::string before = "M: " + first + turns + " mov.u32 %r5, 0; mov.u32 %r9, 0;";
        EXPECT_EQ(fault_of_loop(before, "add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 9000;"), "")
            << first;
        EXPECT_TRUE(fault_of_loop(before, "add.u32 %r5, %r5, 1; setp.eq.u32 %p1, %r20, 0;")
                        .starts_with("deadlock"))
            << first;
    }
}

// Loops of which memory alone decides the branch, but which something that counts ends before: a
// load, where its address is none, and a vote, where its lanes are others.
TEST(Watch, LoopsThatATrapEnds) {
    const std::pair<const char*, const char*> rows[] = {
        {"add.u64 %rd5, %rd5, 4; and.b64 %rd7, %rd5, 0xffffffffffff8000; add.u64 %rd7, %rd7, %rd1;"
         "ld.global.u32 %r6, [%rd7];",
         "address out of bounds"},
        {"add.u32 %r5, %r5, 1; shr.u32 %r6, %r5, 13; shl.b32 %r6, -1, %r6;"
         "vote.sync.any.pred %p2, %p5, %r6;",
         "illegal operand"}};
    for (const auto& [loop, expected] : rows)
        EXPECT_TRUE(fault_of_loop("", std::string(loop) + " setp.eq.u32 %p1, %r20, 0;")
                        .starts_with(expected))
            << loop;
}

// What another machine found may end a loop that nothing else could, but only where somebody
// listens: else it is not asked.
TEST(Watch, LoopsThatAnotherMachineCouldEnd) {
    struct Knows : warp::Oracle {
        explicit Knows(bool all) : knows_all(all) {}
        bool knows(uint32_t) const override { return knows_all; }
        void supply(const warp::Retired&, uint8_t*) override {}
        bool knows_all;
    };
    struct Listens {
        void retired(const warp::Retired&) {}
    };
    const auto fault = [](bool listens, bool knows = true) {
        Knows oracle(knows);
        Alone<Listens> observer;
        Given given;
        given.oracle = &oracle;
        if (listens) given.observers = {&observer};
        given.buffers = {Bytes(64), Bytes(256)};
        given.max_steps = 100'000;
        const std::string text = kernel(
            "L: ld.relaxed.gpu.global.u32 %r20, [%rd1]; setp.eq.u32 %p1, %r20, 0; @%p1 bra L; "
            "ret;");
        const isa::Program program = program_of(text, given.arch);
        return fault_of(run(program, std::move(given)).result);
    };
    EXPECT_TRUE(fault(false).starts_with("deadlock")) << fault(false);
    EXPECT_TRUE(fault(true).starts_with("step limit reached")) << fault(true);
    EXPECT_TRUE(fault(true, false).starts_with("deadlock")) << fault(true, false);
}

TEST(Watch, LoopsThatMemoryAloneCouldEnd) {
    for (const char* const loop :
         {"", "add.u32 %r5, %r5, 1;",
          "add.u32 %r5, %r5, 1; mul.lo.u32 %r6, %r5, %r5; cvt.u16.u32 %h1, %r6;",
          "add.u64 %rd5, %rd5, 3; min.u64 %rd5, %rd5, 1000;",
          "mov.u32 %r6, 7; st.local.u32 [mine+8], %r6; ld.local.u32 %r5, [mine+8];",
          "call.uni (%r6), next, (%r5);", "vote.sync.any.pred %p2, %p5, -1;",
          "add.cc.u32 %r6, %r1, 1; addc.u32 %r6, %r1, 0;",
          // What counts stands beside what is stored.
          "mov.u32 %r6, 7; st.local.u32 [mine+8], %r6; mad.lo.u32 %r10, %r10, 5, 1;"
          "shr.u32 %r11, %r10, 24; mov.u32 %r12, %r11; mov.u32 %r13, %r11; mov.u32 %r5, %r11;"
          "mov.u32 %r7, %r11; mov.u32 %r8, %r11; mov.u32 %r9, %r11;",
          "mov.u64 %rd5, 7; st.local.u64 [mine+8], %rd5; mad.lo.u32 %r10, %r10, 5, 1;"
          "shr.u32 %r11, %r10, 24; cvt.u64.u32 %rd7, %r11; mov.u64 %rd8, %rd7; mov.u64 %rd9, %rd7;"
          "mov.u32 %r5, %r11; mov.u32 %r6, %r11; mov.u32 %r7, %r11;",
          // Written twice in a round, and what is read of it is the same in each.
          "mov.u32 %r6, 7; st.local.u32 [mine+8], %r6; mov.u32 %r6, 8;"
          "st.local.u32 [mine+12], %r6;"}) {
        const std::string fault =
            fault_of_loop("", std::string(loop) + " setp.eq.u32 %p1, %r20, 0;");
        EXPECT_TRUE(
            fault.starts_with("deadlock: waits for 0x10000000 (buffer 'A' + 0), which "
                              "nothing can change any more"))
            << loop << "\n"
            << fault;
    }
    // What is stored is the same in each round, and stands before a register that was another one
    // when it was written.
    for (const char* const loop :
         {"mov.u32 %r11, 2; mov.u32 %r10, 3; mov.u32 %r11, 4; st.local.u32 [mine+8], %r10;",
          "mov.u64 %rd11, 2; mov.u64 %rd10, 3; mov.u64 %rd11, 4; st.local.u64 [mine+8], %rd10;",
          "mov.u32 %r11, 2; call.uni (%r10), next, (%r5); mov.u32 %r11, 4;"}) {
        const std::string fault = fault_of_loop(
            "mov.u32 %r10, %r1; mov.u32 %r11, %r1; mov.u64 %rd10, %rd1;"
            "mov.u64 %rd11, %rd1;",
            std::string(loop) + " setp.eq.u32 %p1, %r20, 0;");
        EXPECT_TRUE(fault.starts_with("deadlock")) << loop << "\n" << fault;
    }
}

}  // namespace

}  // namespace lockwarp::exec
