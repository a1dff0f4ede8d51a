// SPDX-License-Identifier: Apache-2.0
// Small dot products that tell the architectures apart. Sources: measured on an H200, driver 580
// (sm_90); arXiv 2511.10909 and 2512.07004 (the others); the RTX 3080's two are from one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Arch;
using isa::Type;

uint64_t bits(Type t, double value) {
    return convert(Type::f64, t, std::bit_cast<uint64_t>(value), Rounding::rn);
}

struct Pair {
    double a, b;
};

// One output of the row for type a and d, the products padded with zeros to `k`.
uint64_t dot(Arch arch, int k, Type a, Type d, std::initializer_list<Pair> pairs, uint64_t c) {
    const DotRow* row = find_dot_row(arch, 0, 0, k, a, d);
    if (row == nullptr) return ~uint64_t{0};
    std::vector<uint64_t> x(k, 0);
    std::vector<uint64_t> y(k, 0);
    size_t i = 0;
    for (const Pair& pair : pairs) {
        x[i] = bits(a, pair.a);
        y[i++] = bits(a, pair.b);
    }
    uint64_t result = 0;
    matrix_product(*row, {1, 1, k}, {a, a, d, d}, x.data(), y.data(), &c, &result);
    uint64_t fast = 0;
    matrix_product_fast(*row, {1, 1, k}, {a, a, d, d}, x.data(), y.data(), &c, &fast);
    EXPECT_EQ(result, fast);
    return result;
}

// One column per architecture: sm_70; sm_75, 80, 86 and 89; from sm_90 on.
void expect_f32(std::initializer_list<Pair> pairs, double c, uint32_t volta, uint32_t ampere,
                uint32_t hopper) {
    for (const isa::ArchRow& a : isa::arch_rows) {
        const Arch arch = a.arch;
        const uint32_t expected = a.number < 75 ? volta : a.number < 90 ? ampere : hopper;
        const int k = arch == Arch::sm_70 ? 4 : 8;
        EXPECT_EQ(dot(arch, k, Type::f16, Type::f32, pairs, bits(Type::f32, c)), expected)
            << isa::row(arch).name;
    }
}

double power(int exponent) { return std::ldexp(1.0, exponent); }

TEST(DotCases, BitsBelowTheLargestTerm) {
    const Pair large{-power(13), power(10)};
    expect_f32({large, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}}, power(23), 0, 0xBF000000, 0xBF400000);
}

TEST(DotCases, CancellationAtOne) {
    expect_f32({{1, 1}}, -(1 - power(-24)), 0x34000000, 0x33800000, 0x33800000);
    expect_f32({{1, 1}, {1, -power(-24)}}, -1 + power(-24), 0x34000000, 0, 0);
}

TEST(DotCases, SmallTermsTogether) {
    const Pair small{0.5, power(-24)};
    expect_f32({small, small, small, small}, 1, 0x3F800000, 0x3F800000, 0x3F800001);
}

TEST(DotCases, RoundsTowardZero) {
    expect_f32({{2, 1}, {1.5, power(-23)}}, 0, 0x40000000, 0x40000000, 0x40000000);
}

TEST(DotCases, FloorOfZeroTermsBf16) {
    const double tiny = power(-126);
    const auto product = [&](int exponent) {
        return dot(Arch::sm_90, 16, Type::bf16, Type::f32,
                   {{power(-23), tiny}, {-power(exponent + 126), tiny}}, 0);
    };
    for (int exponent = -150; exponent >= -158; --exponent) EXPECT_EQ(product(exponent), 0u);
    for (int exponent = -159; exponent >= -180; --exponent) EXPECT_EQ(product(exponent), 1u);
}

TEST(DotCases, FloorOfZeroTermsF16) {
    const auto product = [&](int exponent) {
        return dot(Arch::sm_90, 16, Type::f16, Type::f16,
                   {{power(-11), power(-14)}, {power(exponent), power(-24)}}, 0);
    };
    for (int exponent = -14; exponent >= -22; --exponent) EXPECT_EQ(product(exponent), 1u);
    for (int exponent = -23; exponent >= -24; --exponent) EXPECT_EQ(product(exponent), 0u);
}

// An RTX 3080 gave these.
TEST(DotCases, SubnormalTimesOne) {
    EXPECT_EQ(
        dot(Arch::sm_86, 8, Type::f16, Type::f32, {{power(-23), 1}, {0, 0}, {0, 0}, {1, 1}}, 0),
        0x3F800001u);
    EXPECT_EQ(
        dot(Arch::sm_86, 8, Type::f16, Type::f32, {{power(-24), 1}, {0, 0}, {0, 0}, {1, 1}}, 0),
        0x3F800000u);
}

TEST(DotCases, ZeroIsPositive) {
    for (const isa::ArchRow& a : isa::arch_rows)
        for (const Type d : {Type::f16, Type::f32}) {
            const uint64_t minus_zero = bits(d, -0.0);
            EXPECT_EQ(dot(a.arch, 4, Type::f16, d, {{-0.0, 1}, {-0.0, 1}, {0.0, -1}, {-1, 0.0}},
                          minus_zero),
                      0u);
            EXPECT_EQ(dot(a.arch, 4, Type::f16, d, {{1, 1}, {-1, 1}}, minus_zero), 0u);
        }
    // A negative sum that rounds to zero.
    EXPECT_EQ(dot(Arch::sm_90, 16, Type::bf16, Type::f32, {{-power(-70), power(-83)}}, 0), 0u);
}

TEST(DotCases, SpecialsAreDecidedOnInputs) {
    const double infinity = HUGE_VAL;
    const double nan = std::nan("");
    for (const isa::ArchRow& a : isa::arch_rows) {
        const Arch arch = a.arch;
        const auto f32 = [&](std::initializer_list<Pair> pairs, double c) {
            return dot(arch, 4, Type::f16, Type::f32, pairs, bits(Type::f32, c));
        };
        EXPECT_EQ(f32({{nan, 1}}, 0), 0x7FFFFFFFu);
        EXPECT_EQ(f32({{1, 1}}, -nan), 0x7FFFFFFFu);
        EXPECT_EQ(f32({{infinity, 0}}, 0), 0x7FFFFFFFu);
        EXPECT_EQ(f32({{infinity, 1}, {-infinity, 1}}, 0), 0x7FFFFFFFu);
        EXPECT_EQ(f32({{infinity, 1}}, -infinity), 0x7FFFFFFFu);
        EXPECT_EQ(f32({{infinity, -1}}, 0), 0xFF800000u);
        EXPECT_EQ(f32({{1, 1}}, infinity), 0x7F800000u);
        EXPECT_EQ(dot(arch, 4, Type::f16, Type::f16, {{nan, 1}}, 0), 0x7FFFu);
    }
    // A finite product beyond the largest f32 cancels.
    const double huge = power(100);
    EXPECT_EQ(dot(Arch::sm_90, 16, Type::bf16, Type::f32,
                  {{huge, huge}, {-huge, huge}, {huge, huge}, {-huge, huge}}, 0),
              0u);
    EXPECT_EQ(dot(Arch::sm_90, 16, Type::bf16, Type::f32, {{huge, huge}}, 0), 0x7F800000u);
}

TEST(DotCases, OverflowBegins) {
    const double largest = std::ldexp(2 - power(-23), 127);
    const auto on = [&](double product) {
        return dot(Arch::sm_90, 16, Type::bf16, Type::f32, {{product * power(-100), power(100)}},
                   bits(Type::f32, largest));
    };
    EXPECT_EQ(on(power(103)), 0x7F7FFFFFu);  // below 2^128
    EXPECT_EQ(on(power(104)), 0x7F800000u);  // 2^128
    const auto f16 = [&](double c, double product) {
        return dot(Arch::sm_90, 16, Type::f16, Type::f16, {{product, 1}}, bits(Type::f16, c));
    };
    EXPECT_EQ(f16(65504, 15), 0x7BFFu);
    EXPECT_EQ(f16(65504, 16), 0x7C00u);  // 65520
}

TEST(DotCases, Tf32DropsLowBits) {
    const DotRow* row = find_dot_row(Arch::sm_90, 16, 8, 4, Type::tf32, Type::f32);
    ASSERT_NE(row, nullptr);
    const MatrixTypes types{Type::tf32, Type::tf32, Type::f32, Type::f32};
    std::array<uint64_t, 4> a{0x7F800001, 0, 0, 0};
    const std::array<uint64_t, 4> b{0x3F801FFF, 0, 0, 0};
    const uint64_t c = 0;
    uint64_t d = 0;
    matrix_product(*row, {1, 1, 4}, types, a.data(), b.data(), &c, &d);
    EXPECT_EQ(d, 0x7F800000u);
    a[0] = 0x3F800000;
    matrix_product(*row, {1, 1, 4}, types, a.data(), b.data(), &c, &d);
    EXPECT_EQ(d, 0x3F800000u);
}

// From sm_80 on m8n8k4 is a routine of rounded operations: the small product is lost, where one
// exact sum keeps it. Measured on an H200.
TEST(DotCases, RoutineRoundsEachStep) {
    const std::array<uint64_t, 4> a{0x3C00, 0x0C00, 0, 0};  // 1, 2^-12
    const std::array<uint64_t, 4> b{0x3C00, 0x0C00, 0, 0};
    const uint64_t c = 0xBF800000;  // -1
    const auto result = [&](Arch arch) {
        const DotRow* row = find_dot_row(arch, 8, 8, 4, Type::f16, Type::f32);
        uint64_t d = ~uint64_t{0};
        if (row != nullptr)
            matrix_product(*row, {1, 1, 4}, {Type::f16, Type::f16, Type::f32, Type::f32}, a.data(),
                           b.data(), &c, &d);
        return d;
    };
    for (const isa::ArchRow& r : isa::arch_rows)
        if (r.number >= 80) {
            EXPECT_EQ(result(r.arch), 0u) << r.name;
        }
    EXPECT_EQ(result(Arch::sm_75), 0x33800000u);
}

// Measured on an H200: with an f32 result the routine's products start from +0, with an f16 result
// they do not.
TEST(DotCases, RoutineSignOfZero) {
    const std::array<uint64_t, 4> zero{0, 0, 0, 0};
    const std::array<uint64_t, 4> minus_zero{0x8000, 0x8000, 0x8000, 0x8000};
    const auto result = [&](Type d, uint64_t c) {
        const DotRow* row = find_dot_row(Arch::sm_90, 8, 8, 4, Type::f16, d);
        uint64_t bits_of_d = ~uint64_t{0};
        if (row != nullptr)
            matrix_product(*row, {1, 1, 4}, {Type::f16, Type::f16, d, d}, zero.data(),
                           minus_zero.data(), &c, &bits_of_d);
        return bits_of_d;
    };
    EXPECT_EQ(result(Type::f32, 0x80000000), 0u);
    EXPECT_EQ(result(Type::f16, 0x8000), 0x8000u);
}

TEST(DotCases, F64ChainPropagatesNan) {
    const DotRow* row = find_dot_row(Arch::sm_90, 8, 8, 4, Type::f64, Type::f64);
    ASSERT_NE(row, nullptr);
    const uint64_t one = 0x3FF0000000000000;
    const auto result = [&](uint64_t a, uint64_t b, uint64_t c) {
        const std::array<uint64_t, 4> x{a, one, one, one};
        const std::array<uint64_t, 4> y{b, one, one, one};
        uint64_t d = 0;
        const MatrixTypes types{Type::f64, Type::f64, Type::f64, Type::f64};
        matrix_product(*row, {1, 1, 4}, types, x.data(), y.data(), &c, &d);
        return d;
    };
    EXPECT_EQ(result(0x7FF0000000000123, one, one), 0x7FF8000000000123u);
    EXPECT_EQ(result(0x7FF0000000000000, 0, one), 0xFFF8000000000000u);
    // The second operand's NaN goes before the addend's, and that before the first operand's.
    EXPECT_EQ(result(0x7FF0000000000001, 0x7FF0000000000002, 0x7FF0000000000003),
              0x7FF8000000000002u);
    EXPECT_EQ(result(0x7FF0000000000001, one, 0x7FF0000000000003), 0x7FF8000000000003u);
}

}  // namespace
}  // namespace lockwarp::num::testing
