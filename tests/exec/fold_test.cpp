// SPDX-License-Identifier: Apache-2.0
// Functions of constants in programs: the values and the ways of being constant are those that
// ptxas 13.0 was seen to fold at levels 1 to 3.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "emu/exec/fold.hpp"
#include "emu/isa/folds.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {
namespace {

constexpr uint32_t folded = 0x3db504f3;    // rsqrt.approx.f32 of 128, correctly rounded
constexpr uint32_t executed = 0x3db504f2;  // what the instruction gives

// What lane 0 stores of %f1, which the body makes; `in` is 1 and 0.
uint32_t result_of(const std::string& body, bool fold = true) {
    const isa::Program program =
        program_of(kernel(body + "st.global.f32 [%rd2], %f1;"), isa::Arch::sm_90, "k");
    Given given;
    given.buffers = {bytes_of({1, 0}), Bytes(128)};
    given.fold_constants = fold;
    return words_of(run_well(program, given).buffers[1])[0];
}

const std::string unknown = "ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 1;\n";
const std::string rsqrt = "rsqrt.approx.f32 %f1, %f2;\n";

TEST(Fold, AFunctionOfAnImmediate) {
    EXPECT_EQ(result_of("rsqrt.approx.f32 %f1, 0f43000000;"), folded);
    EXPECT_EQ(result_of("rsqrt.approx.f32 %f1, 0f43000000;", false), executed);
}

TEST(Fold, WaysOfBeingConstant) {
    for (const char* const way : {
             "mov.f32 %f2, 0f43000000;",
             "mov.f32 %f3, 0f43000000; mov.f32 %f2, %f3;",
             "mov.b32 %r3, 0x43000000; mov.b32 %f2, %r3;",
             "mov.f32 %f3, 0f42800000; add.f32 %f2, %f3, %f3;",
             "mov.f32 %f3, 0f42800000; mul.f32 %f2, %f3, 0f40000000;",
             "mov.u32 %r3, 128; cvt.rn.f32.u32 %f2, %r3;",
             "mov.f64 %fd1, 0d4060000000000000; cvt.rn.f32.f64 %f2, %fd1;",
             "mov.b16 %h1, 0x5800; cvt.f32.f16 %f2, %h1;",
             "mov.b64 %rd9, 0x4300000012345678; mov.b64 {%r3, %f2}, %rd9;",
             "mov.u32 %r3, 0x43; shl.b32 %r3, %r3, 24; mov.b32 %f2, %r3;",
             "max.f32 %f2, 0f42800000, 0f43000000;",
             "add.cc.u32 %r3, 0x42000000, 0x01000000; mov.b32 %f2, %r3;",
             "sub.cc.u32 %r3, 0x44000000, 0x01000000; mov.b32 %f2, %r3;",
             "mad.lo.cc.u32 %r3, 0x42000000, 1, 0x01000000; mov.b32 %f2, %r3;",
             "setp.eq.u32 %p2, 1, 1; selp.f32 %f2, 0f43000000, 0f3f800000, %p2;",
             "mov.f32 %f2, 0f43000000; @%p1 mov.f32 %f2, 0f43000000;",
             "mov.f32 %f2, 0f43000000; @%p1 bra B; st.global.u32 [%rd4], 7; B:",
             "@%p1 bra A; mov.f32 %f2, 0f43000000; bra B; A: mov.f32 %f2, 0f43000000; B:",
             "mov.f32 %f2, 0f43000000; @%p1 bra B; mov.f32 %f2, 0f40000000; ret; B:",
             "setp.eq.u32 %p2, 1, 1; mov.f32 %f2, 0f43000000; @%p2 bra B; mov.f32 %f2, 0f40000000; "
             "B:",
         })
        EXPECT_EQ(result_of(unknown + way + rsqrt), folded) << way;
}

TEST(Fold, WaysOfNotBeingConstant) {
    for (const char* const way : {
             "add.rz.f32 %f2, 0f42800000, 0f42800000;",
             "fma.rn.f32 %f2, 0f42800000, 0f40000000, 0f00000000;",
             "sqrt.rn.f32 %f2, 0f46800000;",
             "mov.u64 %rd9, 128; cvt.rn.f32.u64 %f2, %rd9;",
             "prmt.b32 %r3, 0x43, 0, 0x0555; mov.b32 %f2, %r3;",
             "lop3.b32 %r3, 0x43000000, 0x43000000, 0, 0xc0; mov.b32 %f2, %r3;",
             "add.cc.u32 %r3, -1, 2; addc.u32 %r3, 0x42000000, 0x00ffffff; mov.b32 %f2, %r3;",
             "sub.cc.u32 %r3, 2, 1; subc.u32 %r3, 0x44000000, 0x01000000; mov.b32 %f2, %r3;",
             "selp.f32 %f2, 0f43000000, 0f40000000, %p1;",
             "@%p1 mov.f32 %f2, 0f43000000;",
             "mov.f32 %f2, 0f40000000; @%p1 mov.f32 %f2, 0f43000000;",
             "@!%p1 bra A; mov.f32 %f2, 0f43000000; bra B; A: mov.f32 %f2, 0f40000000; B:",
             "cvt.rn.f32.u32 %f2, %r2; mul.f32 %f2, %f2, 0f43000000;",
         })
        EXPECT_EQ(result_of(unknown + way + rsqrt), executed) << way;
}

// What a function returns in a register is not what that held before.
TEST(Fold, ResultsOfACallVary) {
    for (const char* const call : {"call (%f2), f, ();", "@%p1 call (%f2), f, ();"}) {
        const isa::Program program =
            program_of(kernel(unknown + "mov.f32 %f2, 0f43000000;\n" + call + rsqrt +
                                  "st.global.f32 [%rd2], %f1;",
                              ".func (.reg .f32 r) f() { mov.f32 r, 0f40800000; ret; }"),
                       isa::Arch::sm_90, "k");
        EXPECT_TRUE(find_folded(program).empty()) << call;
        Given given;
        given.buffers = {bytes_of({1, 0}), Bytes(128)};
        EXPECT_EQ(words_of(run_well(program, given).buffers[1])[0], 0x3f000000u) << call;
    }
}

// One round, or many: what the loop leaves unchanged is constant in it, and a loop that has but one
// round is none.
TEST(Fold, InLoops) {
    const auto loop = [](const std::string& step, const std::string& rounds) {
        return unknown + "mov.f32 %f2, 0f43000000; mov.u32 %r3, 0;\n" + "L: " + rsqrt + step +
               "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, " + rounds + "; @%p1 bra L;\n";
    };
    EXPECT_EQ(result_of(loop("", "%r2")), folded);
    EXPECT_EQ(result_of(loop("add.f32 %f2, %f2, 0f00000000;\n", "%r2")), folded);
    EXPECT_EQ(result_of(loop("add.f32 %f2, %f2, 0f3f800000;\n", "1")), folded);
    EXPECT_EQ(result_of(loop("add.f32 %f2, %f2, 0f3f800000;\n", "%r2")), executed);
}

// Nothing is followed through it: what the function asks of is in its text, and what steers varies.
TEST(Fold, InALoopOfWhichNothingIsKnown) {
    EXPECT_EQ(result_of(unknown + "L: rsqrt.approx.f32 %f1, 0f43000000; @!%p1 bra L;\n"), folded);
}

TEST(Fold, AGuardStaysAGuard) {
    EXPECT_EQ(result_of(unknown + "mov.f32 %f1, 0f40000000; @!%p1 rsqrt.approx.f32 %f1, "
                                  "0f43000000;"),
              0x40000000u);
}

// 1 / 37: the reciprocal of 37 is 0x3cdd67c9 correctly rounded, and the instruction's one place
// less.
TEST(Fold, AQuotientByAConstantIsAProduct) {
    const std::string quotient =
        unknown + "cvt.rn.f32.u32 %f2, %r2; mov.f32 %f3, 0f42140000; div.approx.f32 %f1, %f2, %f3;";
    EXPECT_EQ(result_of(quotient), 0x3cdd67c9u);
    EXPECT_EQ(result_of(quotient, false), 0x3cdd67c8u);
}

TEST(Fold, ReportsTheLineAndBothValues) {
    const isa::Program program =
        program_of(kernel("rsqrt.approx.f32 %f1, 0f43000000;\nrsqrt.approx.f32 %f2, 0f40800000;\n"
                          "ld.global.f32 %f3, [%rd1];\ndiv.full.f32 %f3, %f3, 0f43000000;"),
                   isa::Arch::sm_90, "k");
    const std::vector<warp::Folded> found = find_folded(program);
    ASSERT_EQ(found.size(), 1u);  // the others give what they would give
    EXPECT_EQ(found[0].place.line, first_body_line);
    EXPECT_EQ(found[0].value, folded);
    EXPECT_EQ(found[0].instruction, executed);
    EXPECT_FALSE(found[0].divisor);
}

// What the assembler computes otherwise than the instruction (tests/exec/data/folded.tsv).
TEST(Fold, ExactInstructionsThatItComputesOtherwise) {
    struct Row {
        const char* body;
        uint32_t folded, executed;
    };
    for (const Row& row : {
             Row{"neg.f32 %f1, 0f7f800001;", 0xffc00001, 0x7fffffff},
             {"mov.b32 %f2, 0xffc00005; abs.f32 %f1, %f2;", 0x7fc00005, 0x7fffffff},
             {"mul.f32 %f1, 0fbf800000, 0f7fbfffff;", 0xffffffff, 0x7fffffff},
             {"mul.f32 %f1, 0f7fbfffff, 0fbf800000;", 0x7fffffff, 0x7fffffff},
             {"max.f32 %f1, 0fffbfffff, 0fffbfffff;", 0xffbfffff, 0x7fffffff},
             {"mov.b32 %r3, 0x12347e00; abs.f16x2 %r3, %r3; mov.b32 %f1, %r3;", 0x12347e00,
              0x12347fff},
             {"slct.s32.s32 %r3, 1, 2, 0x7fffffff; mov.b32 %f1, %r3;", 2, 1},
             {"slct.u32.s32 %r3, 1, 2, 0x7fffffff; mov.b32 %f1, %r3;", 1, 1},
             {"cvt.rni.u64.f64 %rd9, 0d4330000000000001; cvt.u32.u64 %r3, %rd9; mov.b32 %f1, %r3;",
              2, 1},
             {"mov.b16 %h1, 0xfe05; cvt.f64.f16 %fd1, %h1; mov.b64 {%r3, %r4}, %fd1; mov.b32 %f1, "
              "%r4;",
              0x7fffffff, 0xfff81400},
         }) {
        EXPECT_EQ(result_of(row.body), row.folded) << row.body;
        EXPECT_EQ(result_of(row.body, false), row.executed) << row.body;
    }
    EXPECT_EQ(result_of(unknown + "mov.b32 %f2, 0x7f800001; @%p1 mov.b32 %f2, %r2; neg.f32 %f1, "
                                  "%f2;"),
              0x80000001u);
}

// What is left to the instruction is no constant in what follows.
TEST(Fold, ANanThatIsLeftToTheInstructionVaries) {
    EXPECT_EQ(result_of("add.f32 %f2, 0f7f800001, 0f3f800000; neg.f32 %f1, %f2;"), 0x7fffffffu);
    EXPECT_EQ(result_of("add.rn.f32 %f2, 0f7f800001, 0f3f800000; neg.f32 %f1, %f2;"), 0xffffffffu);
}

// 1.0f / sqrtf(128), as nvcc -use_fast_math and as a division.
TEST(Fold, TheScaleOfAttention) {
    EXPECT_EQ(result_of("sqrt.approx.f32 %f2, 0f43000000; rcp.approx.f32 %f1, %f2;"), folded);
    EXPECT_EQ(result_of("sqrt.approx.f32 %f2, 0f43000000; div.full.f32 %f1, 0f3f800000, %f2;"),
              folded);
}

}  // namespace
}  // namespace lockwarp::exec
