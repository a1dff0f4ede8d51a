// SPDX-License-Identifier: Apache-2.0
// The special function unit: single results and counts that were measured on an H200, driver 580,
// and the errors that the PTX manual allows. The host's floating point serves as the reference
// only.
#include "emu/num/mufu.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "emu/num/ieee.hpp"

namespace lockwarp::num {
namespace {

using isa::Type;
using Function = uint64_t (*)(Type, uint64_t, bool);

constexpr uint32_t infinity = 0x7f800000;
constexpr uint32_t negative = 0x80000000;
constexpr uint32_t nan_result = 0x7fffffff;

uint32_t f32(Function f, uint32_t x, bool ftz = false) {
    return static_cast<uint32_t>(f(Type::f32, x, ftz));
}
float value(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

struct Error {
    double absolute = 0;
    double relative = 0;
    long right = 0;  // correctly rounded
    long count = 0;
};

// Every `step`-th f32 of [from, to).
template <class F, class Reference>
Error error_of(F f, Reference reference, float from, float to, uint32_t step = 1) {
    Error out;
    for (uint32_t x = bits(from); x < bits(to); x += step) {
        const double truth = reference(static_cast<double>(value(x)));
        const float result = value(f(x));
        const double error = std::fabs(static_cast<double>(result) - truth);
        out.absolute = std::max(out.absolute, error);
        out.relative = std::max(out.relative, error / std::fabs(truth));
        out.right += result == static_cast<float>(truth);
        ++out.count;
    }
    return out;
}

double power(double exponent) { return std::exp2(exponent); }

// How often these tables are correctly rounded, which pins them. The tables proven equal to an H200
// had these shares, to the two decimals that were noted.
TEST(Mufu, CorrectlyRoundedAsOftenAsTheProvenTables) {
    const Error rcp = error_of([](uint32_t x) { return f32(rcp_approx, x, true); },
                               [](double x) { return 1 / x; }, 1.0f, 2.0f);
    EXPECT_EQ(rcp.right, 7280086);  // 86.79 % of 2^23
    EXPECT_LE(rcp.relative, power(-23));
    const Error rsqrt = error_of([](uint32_t x) { return f32(rsqrt_approx, x, true); },
                                 [](double x) { return 1 / std::sqrt(x); }, 1.0f, 4.0f);
    EXPECT_EQ(rsqrt.right, 13143086);  // 78.34 % of 2^24
    EXPECT_LE(rsqrt.relative, power(-22.9));
    const Error sqrt = error_of([](uint32_t x) { return f32(sqrt_approx, x, true); },
                                [](double x) { return std::sqrt(x); }, 1.0f, 4.0f);
    EXPECT_EQ(sqrt.right, 13947413);  // 83.13 % of 2^24
    EXPECT_LE(sqrt.relative, power(-23));
}

// The manual's bounds. tanh is closer than its 2^-11; cosine is a little over the 2^-20.5 that the
// manual gives for sine, on an H200 too.
TEST(Mufu, ErrorsAreWithinTheManuals) {
    constexpr uint32_t step = 67;
    const Error ex2 = error_of([](uint32_t x) { return f32(ex2_approx, x); },
                               [](double x) { return std::exp2(x); }, 0x1p-20f, 128.0f, step);
    EXPECT_LE(ex2.relative, power(-22));
    const Error lower = error_of([](uint32_t x) { return f32(ex2_approx, x | negative); },
                                 [](double x) { return std::exp2(-x); }, 0x1p-20f, 126.0f, step);
    EXPECT_LE(lower.relative, power(-22));
    const Error near = error_of([](uint32_t x) { return f32(lg2_approx, x); },
                                [](double x) { return std::log2(x); }, 0.5f, 2.0f, step);
    EXPECT_LE(near.absolute, power(-22));
    const Error far = error_of([](uint32_t x) { return f32(lg2_approx, x); },
                               [](double x) { return std::log2(x); }, 2.0f, 0x1p120f, 101);
    EXPECT_LE(far.relative, power(-22));
    constexpr auto two_pi = 6.2831853f;
    for (const uint32_t sign : {0u, negative}) {
        const double s = sign != 0 ? -1 : 1;
        const Error sine =
            error_of([&](uint32_t x) { return f32(sin_approx, x | sign); },
                     [&](double x) { return s * std::sin(x); }, 0x1p-20f, two_pi, step);
        EXPECT_LE(sine.absolute, power(-20.5));
        const Error cosine = error_of([&](uint32_t x) { return f32(cos_approx, x | sign); },
                                      [](double x) { return std::cos(x); }, 0x1p-20f, two_pi, step);
        EXPECT_LE(cosine.absolute, power(-20.4));
        const Error tangent =
            error_of([&](uint32_t x) { return f32(tanh_approx, x | sign); },
                     [&](double x) { return s * std::tanh(x); }, 0x1p-12f, 16.0f, step);
        EXPECT_LE(tangent.relative, power(-15));
    }
}

TEST(Mufu, SpecialOperands) {
    struct Row {
        Function function;
        uint32_t of_zero, of_minus_zero, of_infinity, of_minus_infinity, of_minus_one;
    };
    constexpr uint32_t one = 0x3f800000;
    const Row rows[]{
        {ex2_approx, one, one, infinity, 0, 0x3f000000},
        {lg2_approx, infinity | negative, infinity | negative, infinity, nan_result, nan_result},
        {rcp_approx, infinity, infinity | negative, 0, negative, one | negative},
        {rsqrt_approx, infinity, infinity | negative, 0, nan_result, nan_result},
        {sqrt_approx, 0, negative, infinity, nan_result, nan_result},
        {sin_approx, 0, negative, nan_result, nan_result, f32(sin_approx, one) | negative},
        {cos_approx, one, one, nan_result, nan_result, f32(cos_approx, one)},
        {tanh_approx, 0, negative, one, one | negative, f32(tanh_approx, one) | negative},
    };
    for (size_t i = 0; i < std::size(rows); ++i)
        for (const bool ftz : {false, true}) {
            SCOPED_TRACE(i);
            const Row& r = rows[i];
            EXPECT_EQ(f32(r.function, 0, ftz), r.of_zero);
            EXPECT_EQ(f32(r.function, negative, ftz), r.of_minus_zero);
            EXPECT_EQ(f32(r.function, infinity, ftz), r.of_infinity);
            EXPECT_EQ(f32(r.function, infinity | negative, ftz), r.of_minus_infinity);
            EXPECT_EQ(f32(r.function, one | negative, ftz), r.of_minus_one);
            for (const uint32_t nan : {0x7fc00000u, 0xffc12345u, 0x7f800001u, 0xffffffffu})
                EXPECT_EQ(f32(r.function, nan, ftz), nan_result);
        }
}

TEST(Mufu, ExactAndInexactPowersOfTwo) {
    EXPECT_EQ(f32(lg2_approx, bits(1.0f)), 0u);
    EXPECT_EQ(f32(lg2_approx, bits(2.0f)), bits(1.0f));
    EXPECT_EQ(f32(lg2_approx, bits(0.5f)), 0xbf7ffffeu);
    EXPECT_EQ(f32(lg2_approx, bits(0x1p-126f)), 0xc2fbffffu);
    for (int e = -60; e <= 60; ++e) {
        EXPECT_EQ(f32(rsqrt_approx, bits(std::ldexp(1.0f, 2 * e))), bits(std::ldexp(1.0f, -e)));
        EXPECT_EQ(f32(sqrt_approx, bits(std::ldexp(1.0f, 2 * e))), bits(std::ldexp(1.0f, e)));
        EXPECT_EQ(f32(rcp_approx, bits(std::ldexp(1.0f, e))), bits(std::ldexp(1.0f, -e)));
        EXPECT_EQ(f32(ex2_approx, bits(static_cast<float>(e))), bits(std::ldexp(1.0f, e)));
    }
    // Below 2^-8 tanh is its operand, subnormal ones too; from 8 on it is 1.
    for (const uint32_t x : {0u, 1u, 0x807fffffu, 0x3b7fffffu, 0xbb7fffffu})
        EXPECT_EQ(f32(tanh_approx, x), x);
    EXPECT_NE(f32(tanh_approx, bits(0.5f)), bits(0.5f));
    EXPECT_EQ(f32(tanh_approx, bits(8.0f)), bits(1.0f));
    EXPECT_EQ(f32(tanh_approx, bits(-8.0f)), bits(-1.0f));
    // Where the operand has no fraction of a turn left.
    EXPECT_EQ(f32(sin_approx, bits(-0x1p60f)), negative);
    EXPECT_EQ(f32(cos_approx, bits(-0x1p60f)), bits(1.0f));
}

TEST(Mufu, SubnormalsAreFlushedWithFtzOnly) {
    const uint32_t small = 0x00400000;  // 2^-127
    EXPECT_EQ(f32(rcp_approx, small, true), infinity);
    EXPECT_EQ(f32(rcp_approx, small), bits(0x1p127f));
    EXPECT_EQ(f32(rcp_approx, bits(-0x1p127f), true), negative);
    EXPECT_EQ(f32(rcp_approx, bits(-0x1p127f)), small | negative);
    EXPECT_EQ(f32(rcp_approx, 0x00100000u), infinity);  // 2^-129: the result is too large
    EXPECT_EQ(f32(rsqrt_approx, 0x00100000u | negative), nan_result);
    EXPECT_EQ(f32(rsqrt_approx, 0x00200000u, true), infinity);
    EXPECT_EQ(f32(rsqrt_approx, 0x00200000u), bits(0x1p64f));
    EXPECT_EQ(f32(sqrt_approx, 0x00200000u, true), 0u);
    EXPECT_EQ(f32(sqrt_approx, 0x00200000u), bits(0x1p-64f));
    EXPECT_EQ(f32(lg2_approx, small, true), infinity | negative);
    EXPECT_NEAR(value(f32(lg2_approx, small)), -127.0f, 1e-5f);
    EXPECT_EQ(f32(ex2_approx, bits(-127.0f), true), 0u);
    EXPECT_EQ(f32(ex2_approx, bits(-128.0f)), 0x00200000u);
    EXPECT_EQ(f32(ex2_approx, bits(-148.0f)), 2u);
}

// Of the operands of f16 and bf16, so many would be another if the unit's result were rounded to
// nearest; an H200 truncates it.
TEST(Mufu, NarrowResultsAreTruncated) {
    struct Row {
        Function function;
        Type type;
        uint32_t infinity;
        int others;
    };
    for (const Row& r :
         {Row{tanh_approx, Type::f16, 0x7c00, 14730}, Row{ex2_approx, Type::f16, 0x7c00, 19415},
          Row{tanh_approx, Type::bf16, 0x7f80, 2086}, Row{ex2_approx, Type::bf16, 0x7f80, 3496}}) {
        int others = 0;
        for (uint32_t x = 0; x < 0x10000; ++x) {
            const uint64_t result = r.function(r.type, x, true);
            if ((x & 0x7fff) > r.infinity) {
                EXPECT_EQ(result, 0x7fffu);
                continue;
            }
            const uint64_t wide = convert(r.type, Type::f32, x, Rounding::rn);
            const uint64_t unit = r.function(Type::f32, wide, true);
            others += result != convert(Type::f32, r.type, unit, Rounding::rn);
        }
        EXPECT_EQ(others, r.others);
    }
    EXPECT_EQ(ex2_approx(Type::f16, 0x4c00, false), 0x7c00u);  // 2^16
    EXPECT_EQ(ex2_approx(Type::f16, 0xce00, false), 0x0001u);  // 2^-24
    EXPECT_EQ(ex2_approx(Type::f16, 0xce40, false), 0x0000u);  // 2^-25
    EXPECT_EQ(tanh_approx(Type::f16, 0x8001, false), 0x8001u);
}

uint64_t f64_bits(double value) { return std::bit_cast<uint64_t>(value); }

TEST(Mufu, F64FromItsHighWord) {
    for (const double x : {1.0, 1.1, 3.7, -12345.678, 0x1.8p-1000, 0x1.23456p+900}) {
        const uint64_t rcp = rcp_approx(Type::f64, f64_bits(x), true);
        EXPECT_EQ(rcp & 0xffffffff, 0u);
        EXPECT_NEAR(std::bit_cast<double>(rcp) * x, 1, 2e-6) << x;
        EXPECT_EQ(rcp_approx(Type::f64, f64_bits(x) | 0xffffffff, true),
                  rcp_approx(Type::f64, f64_bits(x) & ~uint64_t{0xffffffff}, true));
        if (x < 0) continue;
        const uint64_t seed = rsqrt_approx(Type::f64, f64_bits(x), true);
        EXPECT_EQ(seed & 0xffffffff, 0u);
        EXPECT_NEAR(std::bit_cast<double>(seed) * std::sqrt(x), 1, 2e-6) << x;
        const double refined = std::bit_cast<double>(rsqrt_approx(Type::f64, f64_bits(x), false));
        EXPECT_NEAR(refined * std::sqrt(x), 1, 1e-15) << x;
    }
    constexpr uint64_t inf = uint64_t{0x7ff00000} << 32;
    constexpr uint64_t minus = uint64_t{1} << 63;
    constexpr uint64_t unit_nan = uint64_t{0x7fffffff} << 32;
    for (const Function f : {rcp_approx, rsqrt_approx}) {
        EXPECT_EQ(f(Type::f64, 0, true), inf);
        EXPECT_EQ(f(Type::f64, 5 | minus, true), inf | minus);
        EXPECT_EQ(f(Type::f64, inf, true), 0u);
        EXPECT_EQ(f(Type::f64, inf | 1, true), 0u) << "the low word is not read";
        EXPECT_EQ(f(Type::f64, inf | uint64_t{1} << 32, true), unit_nan);
    }
    EXPECT_EQ(rcp_approx(Type::f64, f64_bits(-0x1p1023), true), minus);
    EXPECT_EQ(rsqrt_approx(Type::f64, f64_bits(-1), true), unit_nan);
    EXPECT_EQ(rsqrt_approx(Type::f64, f64_bits(4), true), f64_bits(0.5));
    // Without ftz.
    EXPECT_EQ(rsqrt_approx(Type::f64, minus, false), inf | minus);
    EXPECT_EQ(rsqrt_approx(Type::f64, inf, false), 0u);
    EXPECT_EQ(rsqrt_approx(Type::f64, f64_bits(-1), false), 0xfff8000000000000u);
    EXPECT_EQ(rsqrt_approx(Type::f64, inf | 1, false), inf | uint64_t{1} << 51 | 1);
    EXPECT_EQ(rsqrt_approx(Type::f64, uint64_t{1} << 50, false), f64_bits(0x1p512));  // 2^-1024
}

TEST(Mufu, Quotients) {
    const auto approx = [](float a, float b, bool ftz = false) {
        return value(static_cast<uint32_t>(div_approx(bits(a), bits(b), ftz)));
    };
    const auto full = [](float a, float b, bool ftz = false) {
        return value(static_cast<uint32_t>(div_full(bits(a), bits(b), ftz)));
    };
    EXPECT_EQ(approx(6, 4), 1.5f);
    EXPECT_EQ(full(6, 4), 1.5f);
    // Large divisors: 0 with .approx, as the manual has it, and right with .full.
    EXPECT_EQ(approx(0x1p127f, 0x1p127f), 0.0f);
    EXPECT_EQ(full(0x1p127f, 0x1p127f), 1.0f);
    EXPECT_EQ(full(0x1p127f, 0x1p127f, true), 1.0f);
    EXPECT_EQ(approx(0x1p-130f, 0x1p-130f), 1.0f);
    EXPECT_EQ(full(0x1p-130f, 0x1p-130f), 1.0f);
    EXPECT_TRUE(std::isnan(approx(0x1p-130f, 0x1p-130f, true)));  // 0 / 0
    EXPECT_EQ(div_full(bits(0.0f), bits(0.0f), false), nan_result);
    EXPECT_EQ(div_full(bits(1.0f), 0xffc00000, false), nan_result);
    EXPECT_EQ(full(1, 0x1p127f), 0x1p-127f);
    EXPECT_EQ(full(1, 0x1p127f, true), 0.0f);
}

}  // namespace
}  // namespace lockwarp::num
