// SPDX-License-Identifier: Apache-2.0
// The approximate functions as instructions: that each form takes its function, lane by lane, half
// by half, under a guard too. What the functions give is tests/num/mufu_test.cpp's.
#include <bit>

#include "emu/num/mufu.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::special_functions_test {

namespace {

using isa::Type;

Words operands(uint64_t seed) {
    std::mt19937_64 random(seed);
    Words out{0,          0x80000000, 0x7f800000, 0xff800000,
              0x7fc00001, 0x00000001, 0x807fffff, 0x3f800000};
    while (out.size() < 64) out.push_back(static_cast<uint32_t>(random()));
    return out;
}

Given on_sm_90() {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 64;
    return given;
}

// Each thread's word of `in` (and the one after it, cyclically) goes through the instruction.
Words through(const std::string& body, const Words& in) {
    Words twice = in;
    twice.insert(twice.end(), in.begin(), in.end());
    const std::string load =
        "mul.wide.u32 %rd8, %r0, 4; add.u64 %rd8, %rd1, %rd8;\n"
        "ld.global.b32 %r2, [%rd8]; ld.global.b32 %r3, [%rd8+4]; mov.b32 %f1, %r2;\n"
        "mov.b32 %f2, %r3; cvt.u16.u32 %h1, %r2; mov.b64 %fd1, {%r3, %r2};\n";
    const std::string text = kernel(load + body, {}, "sm_90");
    return results_of_text(text, twice, on_sm_90());
}

struct OneOperand {
    const char* name;
    uint64_t (*function)(Type, uint64_t, bool);
    Type type;
    bool ftz;
};

constexpr OneOperand one_operand[]{
    {"ex2.approx.f32", num::ex2_approx, Type::f32, false},
    {"ex2.approx.ftz.f32", num::ex2_approx, Type::f32, true},
    {"ex2.approx.f16", num::ex2_approx, Type::f16, false},
    {"ex2.approx.f16x2", num::ex2_approx, Type::f16x2, false},
    {"ex2.approx.ftz.bf16", num::ex2_approx, Type::bf16, true},
    {"ex2.approx.ftz.bf16x2", num::ex2_approx, Type::bf16x2, true},
    {"lg2.approx.f32", num::lg2_approx, Type::f32, false},
    {"lg2.approx.ftz.f32", num::lg2_approx, Type::f32, true},
    {"rcp.approx.f32", num::rcp_approx, Type::f32, false},
    {"rcp.approx.ftz.f32", num::rcp_approx, Type::f32, true},
    {"rcp.approx.ftz.f64", num::rcp_approx, Type::f64, true},
    {"rsqrt.approx.f32", num::rsqrt_approx, Type::f32, false},
    {"rsqrt.approx.ftz.f32", num::rsqrt_approx, Type::f32, true},
    {"rsqrt.approx.f64", num::rsqrt_approx, Type::f64, false},
    {"rsqrt.approx.ftz.f64", num::rsqrt_approx, Type::f64, true},
    {"sqrt.approx.f32", num::sqrt_approx, Type::f32, false},
    {"sqrt.approx.ftz.f32", num::sqrt_approx, Type::f32, true},
    {"sin.approx.f32", num::sin_approx, Type::f32, false},
    {"sin.approx.ftz.f32", num::sin_approx, Type::f32, true},
    {"cos.approx.f32", num::cos_approx, Type::f32, false},
    {"cos.approx.ftz.f32", num::cos_approx, Type::f32, true},
    {"tanh.approx.f32", num::tanh_approx, Type::f32, false},
    {"tanh.approx.f16", num::tanh_approx, Type::f16, false},
    {"tanh.approx.f16x2", num::tanh_approx, Type::f16x2, false},
    {"tanh.approx.bf16", num::tanh_approx, Type::bf16, false},
    {"tanh.approx.bf16x2", num::tanh_approx, Type::bf16x2, false},
};

// A word that tells the results of a form apart: f64 as the two words' exclusive or.
uint32_t expected(const OneOperand& i, uint32_t word, uint32_t next) {
    const auto call = [&](Type t, uint64_t a) { return i.function(t, a, i.ftz); };
    switch (i.type) {
        case Type::f64: {
            const uint64_t d = call(Type::f64, uint64_t{word} << 32 | next);
            return static_cast<uint32_t>(d ^ d >> 32);
        }
        case Type::f16x2:
        case Type::bf16x2: {
            const Type half = i.type == Type::f16x2 ? Type::f16 : Type::bf16;
            return static_cast<uint32_t>(call(half, word >> 16) << 16 | call(half, word & 0xffff));
        }
        case Type::f32:
            return static_cast<uint32_t>(call(i.type, word));
        default:
            return static_cast<uint32_t>(call(i.type, word & 0xffff));
    }
}

std::string instruction(const OneOperand& i) {
    const std::string name = i.name;
    switch (i.type) {
        case Type::f64:
            return name + " %fd2, %fd1; mov.b64 {%r4, %r5}, %fd2; xor.b32 %r4, %r4, %r5;";
        case Type::f16x2:
        case Type::bf16x2:
            return name + " %r4, %r2;";
        case Type::f32:
            return name + " %f3, %f1; mov.b32 %r4, %f3;";
        default:
            return name + " %h2, %h1; cvt.u32.u16 %r4, %h2;";
    }
}

TEST(SpecialFunctions, OfOneOperand) {
    const Words in = operands(1);
    for (const OneOperand& i : one_operand) {
        SCOPED_TRACE(i.name);
        const Words out = through(instruction(i) + "\nst.global.b32 [%rd2], %r4;\n", in);
        ASSERT_EQ(out.size(), in.size());
        for (size_t t = 0; t < in.size(); ++t)
            EXPECT_EQ(out[t], expected(i, in[t], in[(t + 1) % in.size()])) << t;
    }
}

TEST(SpecialFunctions, Quotients) {
    const Words in = operands(2);
    struct Row {
        const char* name;
        uint64_t (*function)(uint64_t, uint64_t, bool);
        bool ftz;
    };
    for (const Row& row : {Row{"div.approx.f32", num::div_approx, false},
                           Row{"div.approx.ftz.f32", num::div_approx, true},
                           Row{"div.full.f32", num::div_full, false},
                           Row{"div.full.ftz.f32", num::div_full, true}}) {
        SCOPED_TRACE(row.name);
        const Words out =
            through(std::string(row.name) + " %f3, %f1, %f2; st.global.f32 [%rd2], %f3;\n", in);
        ASSERT_EQ(out.size(), in.size());
        for (size_t t = 0; t < in.size(); ++t)
            EXPECT_EQ(out[t], row.function(in[t], in[(t + 1) % in.size()], row.ftz)) << t;
    }
}

TEST(SpecialFunctions, UnderAGuardOtherLanesStay) {
    const Words in = operands(3);
    const Words out = through(
        "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 1; mov.f32 %f3, 0f40000000;\n"
        "@%p1 lg2.approx.f32 %f3, %f1; st.global.f32 [%rd2], %f3;\n",
        in);
    ASSERT_EQ(out.size(), in.size());
    for (size_t t = 0; t < in.size(); ++t)
        EXPECT_EQ(out[t], t % 2 == 0 ? 0x40000000 : num::lg2_approx(Type::f32, in[t], false)) << t;
}

// What NVIDIA's assembler refuses, in its words.
TEST(SpecialFunctions, LeastTargetsAndSpellings) {
    const auto errors = [](const std::string& body, const char* target) {
        return diagnostics_of(kernel(body, {}, target), isa::Arch::sm_90);
    };
    EXPECT_EQ(errors("ex2.approx.f32 %f1, %f2; rsqrt.approx.f64 %fd1, %fd2;\n", "sm_70"), "");
    EXPECT_NE(errors("ex2.approx.f16 %h1, %h2;\n", "sm_70")
                  .find("Feature 'ex2.f16/f16x2' requires .target sm_75 or higher"),
              std::string::npos);
    EXPECT_NE(errors("tanh.approx.f32 %f1, %f2;\n", "sm_70")
                  .find("Feature 'tanh' requires .target sm_75 or higher"),
              std::string::npos);
    EXPECT_NE(errors("tanh.approx.bf16 %h1, %h2;\n", "sm_80")
                  .find("Feature 'tanh.bf16' requires .target sm_90 or higher"),
              std::string::npos);
    for (const char* wrong : {"ex2.f32 %f1, %f2;\n", "ex2.approx.bf16 %h1, %h2;\n",
                              "ex2.approx.ftz.f16 %h1, %h2;\n", "rcp.approx.f64 %fd1, %fd2;\n",
                              "sqrt.approx.f64 %fd1, %fd2;\n", "tanh.approx.ftz.f32 %f1, %f2;\n",
                              "sin.f32 %f1, %f2;\n", "div.full.f64 %fd1, %fd2, %fd3;\n"})
        EXPECT_NE(errors(wrong, "sm_90"), "") << wrong;
}

}  // namespace

}  // namespace lockwarp::exec::special_functions_test
