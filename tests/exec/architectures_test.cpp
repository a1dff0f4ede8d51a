// SPDX-License-Identifier: Apache-2.0
// The same instructions on two architectures: where the bits are the same, where they are not, and
// why. Each case looks at D[0][0], whose operands are row 0 of A and column 0 of B in lanes 0 to 3.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using isa::Arch;

constexpr uint32_t f16_one = 0x3C00;
constexpr uint32_t f16_2_to_minus_12 = 0x0C00;
constexpr uint32_t f32_one = 0x3F800000;

// Row 0 of A or column 0 of B: sixteen f16, two in a register, lane by lane.
using Line = std::array<uint32_t, 16>;

// What lane 0 stores where each lane loads words in[8 * lane ...] as %r10 to %r17.
uint32_t first_result(const std::string& body, const Words& in, Arch arch) {
    std::string loads = "shl.b32 %r2, %r1, 5; cvt.u64.u32 %rd5, %r2; add.u64 %rd5, %rd1, %rd5;\n";
    for (int i = 0; i < 8; ++i)
        loads += "ld.global.b32 %r" + std::to_string(10 + i) + ", [%rd5+" + std::to_string(4 * i) +
                 "];\n";
    Given given;
    given.arch = arch;
    const std::string text =
        kernel(loads + body + "\nst.global.b32 [%rd2], %r20;", {}, isa::row(arch).name);
    std::string versioned = text;
    versioned.replace(versioned.find(".version"), versioned.find('\n') - versioned.find(".version"),
                      ".version 9.0");
    return results_of_text(versioned, in, given)[0];
}

// %r10 and %r11: A[0][2t] and [2t+1], A[0][2t+8] and [2t+9]; %r12 and %r13: the same of B; %r14: C.
Words f16_operands(const Line& a, const Line& b, uint32_t c) {
    Words in(8 * 32);
    for (size_t t = 0; t < 4; ++t)
        for (size_t half = 0; half < 2; ++half) {
            const size_t k = 2 * t + 8 * half;
            in[8 * t + half] = a[k] | a[k + 1] << 16;
            in[8 * t + 2 + half] = b[k] | b[k + 1] << 16;
        }
    in[4] = c;
    return in;
}

constexpr const char* one_of_k16 =
    "mov.b32 %r30, 0;\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20,%r21,%r22,%r23}, "
    "{%r10,%r30,%r11,%r30}, {%r12,%r13}, {%r14,%r30,%r30,%r30};";
constexpr const char* two_of_k8 =
    "mov.b32 %r30, 0;\n"
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r20,%r21,%r22,%r23}, {%r10,%r30}, {%r12}, "
    "{%r14,%r30,%r30,%r30};\n"
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r20,%r21,%r22,%r23}, {%r11,%r30}, {%r13}, "
    "{%r20,%r21,%r22,%r23};";

// sm_80 adds eight products at a time, so m16n8k16 is two m16n8k8. sm_90 adds sixteen at once: two
// terms of 2^-24 beside 1 are a last place together, and nothing where the sum between them is cut
// to 24 bits.
TEST(Architectures, TwoOfK8AgainstOneOfK16) {
    Line a{};
    Line b{};
    a[0] = b[0] = f16_one;
    a[1] = b[1] = a[8] = b[8] = f16_2_to_minus_12;
    const Words in = f16_operands(a, b, 0);
    EXPECT_EQ(first_result(one_of_k16, in, Arch::sm_80), f32_one);
    EXPECT_EQ(first_result(two_of_k8, in, Arch::sm_80), f32_one);
    EXPECT_EQ(first_result(one_of_k16, in, Arch::sm_90), f32_one + 1);
    EXPECT_EQ(first_result(two_of_k8, in, Arch::sm_90), f32_one);
}

TEST(Architectures, TwoOfK8AreOneOfK16OnSm80) {
    std::mt19937 engine(80);
    const auto random = [&] { return static_cast<uint32_t>(engine()); };
    unsigned differ_on_sm_90 = 0;
    for (int i = 0; i < 200; ++i) {
        Line a;
        Line b;
        for (size_t k = 0; k < a.size(); ++k) {
            a[k] = random() % 0x7800 | (random() & 0x8000);
            b[k] = random() % 0x7800 | (random() & 0x8000);
        }
        const Words in = f16_operands(a, b, random() % 0x7F000000);
        for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89})
            EXPECT_EQ(first_result(one_of_k16, in, arch), first_result(two_of_k8, in, arch));
        differ_on_sm_90 +=
            first_result(one_of_k16, in, Arch::sm_90) != first_result(two_of_k8, in, Arch::sm_90);
    }
    EXPECT_GT(differ_on_sm_90, 0u);
}

// Ada's tensor core keeps 13 bits below the largest term and 14 of the result. Hopper has none for
// fp8: the products are f16's, and C is added to their sum in f32.
TEST(Architectures, Fp8OnAdaAndHopper) {
    const char* const body =
        "mov.b32 %r30, 0;\n"
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r20,%r21,%r22,%r23}, "
        "{%r10,%r30,%r30,%r30}, {%r12,%r30}, {%r14,%r30,%r30,%r30};";
    constexpr uint32_t e4m3_one = 0x38;
    constexpr uint32_t f32_2_to_minus_20 = 0x35800000;
    Words in(8 * 32);
    in[0] = in[2] = e4m3_one;
    in[4] = f32_2_to_minus_20;
    EXPECT_EQ(first_result(body, in, Arch::sm_89), f32_one);
    EXPECT_EQ(first_result(body, in, Arch::sm_90), f32_one + 8);
}

// A tensor core until sm_75: one exact sum. From sm_80 on a routine of rounded operations, which
// loses the 2^-24 beside 1 before -1 comes.
TEST(Architectures, M8n8k4OnTuringAndAmpere) {
    const char* const body =
        "mov.b32 %r30, 0;\n"
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
        "{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, "
        "{%r10,%r30}, {%r12,%r30}, {%r14,%r30,%r30,%r30,%r30,%r30,%r30,%r30};";
    Words in(8 * 32);
    in[0] = in[2] = f16_one | f16_2_to_minus_12 << 16;
    in[4] = 0xBF800000;
    EXPECT_EQ(first_result(body, in, Arch::sm_75), 0x33800000u);
    for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90})
        EXPECT_EQ(first_result(body, in, arch), 0u);
}

}  // namespace

}  // namespace lockwarp::exec
