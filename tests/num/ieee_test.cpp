// SPDX-License-Identifier: Apache-2.0
// The soft float against the host's arithmetic, in round to nearest, and by cases.
#include "emu/num/ieee.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Type;

constexpr Rounding rn = Rounding::rn;
constexpr std::array all_roundings{Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp,
                                   Rounding::rna};
constexpr int random_count = 300000;

float f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double f64(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t bits(float x) { return std::isnan(x) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(x); }
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }

// NaNs of f64 carry payloads, which the host chooses in its own way.
bool same_f64(uint64_t actual, double expected) {
    return std::isnan(expected) ? std::isnan(f64(actual)) : actual == bits(expected);
}

// Every pair of landmarks, then random operands.
template <class Visit>
void each_triple(Type t, Visit visit) {
    const std::vector<uint64_t> all = landmarks(t);
    for (const uint64_t a : all)
        for (const uint64_t b : all)
            for (const uint64_t c : all) visit(a, b, c);
    Random random(11);
    for (int i = 0; i < random_count; ++i)
        visit(random_operand(t, random), random_operand(t, random), random_operand(t, random));
}

TEST(Ieee, F32EqualsHost) {
    each_triple(Type::f32, [](uint64_t a, uint64_t b, uint64_t c) {
        const float x = f32(a);
        const float y = f32(b);
        ASSERT_EQ(add(Type::f32, a, b, rn), bits(x + y)) << std::hex << a << ' ' << b;
        ASSERT_EQ(sub(Type::f32, a, b, rn), bits(x - y)) << std::hex << a << ' ' << b;
        ASSERT_EQ(mul(Type::f32, a, b, rn), bits(x * y)) << std::hex << a << ' ' << b;
        ASSERT_EQ(div(Type::f32, a, b, rn), bits(x / y)) << std::hex << a << ' ' << b;
        ASSERT_EQ(sqrt(Type::f32, a, rn), bits(std::sqrt(x))) << std::hex << a;
        ASSERT_EQ(fma(Type::f32, a, b, c, rn), bits(std::fma(x, y, f32(c))))
            << std::hex << a << ' ' << b << ' ' << c;
    });
}

TEST(Ieee, F64EqualsHost) {
    each_triple(Type::f64, [](uint64_t a, uint64_t b, uint64_t c) {
        const double x = f64(a);
        const double y = f64(b);
        ASSERT_TRUE(same_f64(add(Type::f64, a, b, rn), x + y)) << std::hex << a << ' ' << b;
        ASSERT_TRUE(same_f64(sub(Type::f64, a, b, rn), x - y)) << std::hex << a << ' ' << b;
        ASSERT_TRUE(same_f64(mul(Type::f64, a, b, rn), x * y)) << std::hex << a << ' ' << b;
        ASSERT_TRUE(same_f64(div(Type::f64, a, b, rn), x / y)) << std::hex << a << ' ' << b;
        ASSERT_TRUE(same_f64(sqrt(Type::f64, a, rn), std::sqrt(x))) << std::hex << a;
        ASSERT_TRUE(same_f64(fma(Type::f64, a, b, c, rn), std::fma(x, y, f64(c))))
            << std::hex << a << ' ' << b << ' ' << c;
    });
}

// A sum of doubles whose lowest bit says whether it is inexact, so that rounding it to fewer bits
// gives what rounding the exact sum gives.
double sum_to_odd(double x, double y) {
    const double sum = x + y;
    const double of_y = sum - x;
    const double error = (x - (sum - of_y)) + (y - of_y);
    if (error == 0 || !std::isfinite(sum) || (bits(sum) & 1) != 0) return sum;
    return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

TEST(Ieee, SixteenBitsEqualHostDoubles) {
    for (const Type t : {Type::f16, Type::bf16}) {
        const auto host = [t](uint64_t x) { return f64(convert(t, Type::f64, x, rn)); };
        const auto narrow = [t](double x) { return convert(Type::f64, t, bits(x), rn); };
        const uint64_t nan = format(t).nan;
        const auto canonical = [&](double x) { return std::isnan(x) ? nan : narrow(x); };
        each_triple(t, [&](uint64_t a, uint64_t b, uint64_t c) {
            const double x = host(a);
            const double y = host(b);
            ASSERT_EQ(add(t, a, b, rn), canonical(sum_to_odd(x, y))) << std::hex << a << ' ' << b;
            ASSERT_EQ(mul(t, a, b, rn), canonical(x * y)) << std::hex << a << ' ' << b;
            ASSERT_EQ(fma(t, a, b, c, rn), canonical(sum_to_odd(x * y, host(c))))
                << std::hex << a << ' ' << b << ' ' << c;
        });
        // A double's square root has so many more bits than these that rounding it again is exact.
        for (uint64_t a = 0; a < 65536; ++a)
            ASSERT_EQ(sqrt(t, a, rn), canonical(std::sqrt(host(a)))) << std::hex << a;
    }
}

TEST(Ieee, WideningIsExact) {
    for (const Type t : {Type::f16, Type::bf16, Type::e4m3, Type::e5m2}) {
        const FormatRow& f = format(t);
        for (uint64_t x = 0; x < uint64_t{1} << isa::bits(t); ++x) {
            const uint64_t magnitude = x & (sign_bit(f) - 1);
            const int field = static_cast<int>(magnitude >> f.fraction_bits);
            const double fraction =
                std::ldexp(static_cast<double>(magnitude & ((uint64_t{1} << f.fraction_bits) - 1)),
                           -f.fraction_bits);
            double expected = field == 0 ? std::ldexp(fraction, 1 - bias(f))
                                         : std::ldexp(1 + fraction, field - bias(f));
            if (magnitude > largest_magnitude(f))
                expected = f.has_infinity && magnitude == infinity_magnitude(f) ? INFINITY : NAN;
            if (x != magnitude) expected = -expected;
            const uint64_t wide = convert(t, Type::f64, x, rn);
            ASSERT_TRUE(same_f64(wide, expected)) << std::hex << x;
            if (!std::isnan(expected)) {
                ASSERT_EQ(convert(t, Type::f32, x, rn), bits(static_cast<float>(expected)));
                ASSERT_EQ(convert(Type::f64, t, wide, rn), x) << "there and back";
            }
        }
    }
}

// Between each number of a small format and the next, what each rounding makes of the points at
// and near the ends and the middle.
TEST(Ieee, NarrowingEverywhere) {
    for (const Type t : {Type::f16, Type::bf16, Type::tf32, Type::e5m2, Type::e4m3}) {
        const FormatRow& f = format(t);
        const auto value = [&](uint64_t magnitude) {
            return f64(convert(t, Type::f64, with_sign(f, false, magnitude), rn));
        };
        for (uint64_t low = 0; low < largest_magnitude(f); ++low) {
            const double below = value(low);
            const double above = value(low + 1);
            const double middle = below + (above - below) / 2;
            struct Point {
                double x;
                bool exact, nearer_above, tie;
            };
            const std::array points{
                Point{below, true, false, false},
                Point{std::nextafter(below, above), false, false, false},
                Point{std::nextafter(middle, below), false, false, false},
                Point{middle, false, false, true},
                Point{std::nextafter(middle, above), false, true, false},
                Point{std::nextafter(above, below), false, true, false},
            };
            for (const Point& p : points)
                for (const bool negative : {false, true})
                    for (const Rounding r : all_roundings) {
                        bool up = false;
                        switch (r) {
                            case Rounding::rn:
                                up = p.nearer_above || (p.tie && low % 2 == 1);
                                break;
                            case Rounding::rz:
                                break;
                            case Rounding::rm:
                                up = negative && !p.exact;
                                break;
                            case Rounding::rp:
                                up = !negative && !p.exact;
                                break;
                            case Rounding::rna:
                                up = p.nearer_above || p.tie;
                                break;
                        }
                        const uint64_t expected = with_sign(f, negative, low + up);
                        const double x = negative ? -p.x : p.x;
                        ASSERT_EQ(convert(Type::f64, t, bits(x), r), expected)
                            << isa::row(t).name << ' ' << x << ' ' << static_cast<int>(r);
                    }
        }
    }
}

TEST(Ieee, NarrowingF64EqualsHost) {
    Random random(3);
    for (int i = 0; i < random_count; ++i) {
        uint64_t x = random_operand(Type::f64, random);
        if (i % 2 == 0)
            x = convert(Type::f32, Type::f64, random_operand(Type::f32, random), rn) + i % 3;
        if (std::isnan(f64(x))) continue;
        ASSERT_EQ(convert(Type::f64, Type::f32, x, rn), bits(static_cast<float>(f64(x))));
    }
}

TEST(Ieee, OverflowByRounding) {
    const auto f16 = [](double x, Rounding r, Flags flags = {}) {
        return convert(Type::f64, Type::f16, bits(x), r, flags);
    };
    EXPECT_EQ(f16(65519, rn), 0x7BFFu);
    EXPECT_EQ(f16(65520, rn), 0x7C00u);
    EXPECT_EQ(f16(1e9, Rounding::rz), 0x7BFFu);
    EXPECT_EQ(f16(-1e9, Rounding::rz), 0xFBFFu);
    EXPECT_EQ(f16(1e9, Rounding::rm), 0x7BFFu);
    EXPECT_EQ(f16(-1e9, Rounding::rm), 0xFC00u);
    EXPECT_EQ(f16(1e9, Rounding::rp), 0x7C00u);
    EXPECT_EQ(f16(-1e9, Rounding::rp), 0xFBFFu);
    EXPECT_EQ(f16(1e9, rn, {.satfinite = true}), 0x7BFFu);
    EXPECT_EQ(f16(HUGE_VAL, rn, {.satfinite = true}), 0x7BFFu);
    EXPECT_EQ(convert(Type::f64, Type::e4m3, bits(1e9), rn, {.satfinite = true}), 0x7Eu);
    EXPECT_EQ(convert(Type::f64, Type::e4m3, bits(1e9), rn), 0x7Fu);
}

TEST(Ieee, IntegersEqualHost) {
    Random random(5);
    for (const Type t : {Type::f32, Type::f64})
        for (int i = 0; i < random_count / 4; ++i) {
            const uint64_t x = random_operand(t, random);
            const double value = t == Type::f32 ? f32(x) : f64(x);
            for (const Rounding r : all_roundings) {
                const double whole = r == Rounding::rn   ? std::nearbyint(value)
                                     : r == Rounding::rz ? std::trunc(value)
                                     : r == Rounding::rm ? std::floor(value)
                                     : r == Rounding::rp ? std::ceil(value)
                                                         : std::round(value);
                const uint64_t integral = round_to_integral(t, x, r);
                if (t == Type::f32) {
                    ASSERT_EQ(integral, bits(static_cast<float>(whole))) << std::hex << x;
                } else {
                    ASSERT_TRUE(same_f64(integral, whole)) << std::hex << x;
                }
                for (const unsigned width : {8u, 16u, 32u, 64u})
                    for (const bool is_signed : {false, true}) {
                        const double limit = std::ldexp(1.0, static_cast<int>(width) - is_signed);
                        const uint64_t top = uint64_t{1} << (width - 1);
                        const uint64_t all = top | (top - 1);
                        uint64_t expected;
                        if (std::isnan(value))
                            expected = width == 64 || t == Type::f64 ? top : 0;
                        else if (whole >= limit)
                            expected = is_signed ? top - 1 : all;
                        else if (is_signed && whole < -limit)
                            expected = top;
                        else if (is_signed)
                            expected = static_cast<uint64_t>(static_cast<int64_t>(whole)) & all;
                        else
                            expected = whole < 0 ? 0 : static_cast<uint64_t>(whole);
                        ASSERT_EQ(to_integer(t, x, r, width, is_signed), expected)
                            << std::hex << x << std::dec << ' ' << width << is_signed;
                    }
            }
            const uint64_t integer = random() >> (random() % 64);
            const auto as_signed = static_cast<int64_t>(integer);
            ASSERT_EQ(from_integer(Type::f32, integer, 64, false, rn),
                      bits(static_cast<float>(integer)));
            ASSERT_EQ(from_integer(Type::f32, integer, 64, true, rn),
                      bits(static_cast<float>(as_signed)));
            ASSERT_EQ(from_integer(Type::f64, integer, 64, true, rn),
                      bits(static_cast<double>(as_signed)));
            ASSERT_EQ(from_integer(Type::f64, integer, 32, true, rn),
                      bits(static_cast<double>(static_cast<int32_t>(integer))));
            ASSERT_EQ(from_integer(Type::f32, integer, 8, false, rn),
                      bits(static_cast<float>(static_cast<uint8_t>(integer))));
        }
}

TEST(Ieee, ComparisonEqualsHost) {
    each_triple(Type::f32, [](uint64_t a, uint64_t b, uint64_t) {
        const float x = f32(a);
        const float y = f32(b);
        const Order expected = x < y    ? Order::less
                               : x == y ? Order::equal
                               : x > y  ? Order::greater
                                        : Order::unordered;
        ASSERT_EQ(compare(Type::f32, a, b), expected) << std::hex << a << ' ' << b;
    });
    EXPECT_EQ(compare(Type::f32, 0x00000001, 0x80000001), Order::greater);
    EXPECT_EQ(compare(Type::f32, 0x00000001, 0x80000001, true), Order::equal);
}

TEST(Ieee, MinAndMax) {
    const uint64_t nan = 0x7F800001;
    const uint64_t one = 0x3F800000;
    const uint64_t minus_two = 0xC0000000;
    EXPECT_EQ(min(Type::f32, one, minus_two), minus_two);
    EXPECT_EQ(max(Type::f32, one, minus_two), one);
    EXPECT_EQ(min(Type::f32, 0, 0x80000000), 0x80000000u);
    EXPECT_EQ(max(Type::f32, 0x80000000, 0), 0u);
    EXPECT_EQ(max(Type::f32, nan, minus_two), minus_two);
    EXPECT_EQ(min(Type::f32, one, nan), one);
    EXPECT_EQ(min(Type::f32, nan, nan), 0x7FFFFFFFu);
    EXPECT_EQ(min(Type::f32, one, nan, {.nan = true}), 0x7FFFFFFFu);
    EXPECT_EQ(min(Type::f32, one, minus_two, {.xorsign = true}), 0xBF800000u);
    EXPECT_EQ(max(Type::f32, one, minus_two, {.xorsign = true}), 0xC0000000u);
    EXPECT_EQ(max(Type::f32, 0x80000001, 0x80000002, {.ftz = true}), 0x80000000u);
    EXPECT_EQ(max(Type::f16, 0x7FFF, 0x7FFF), 0x7FFFu);
}

// Measured on an H200, driver 580.
TEST(Ieee, F64NansKeepTheirPayload) {
    const uint64_t one = 0x3FF0000000000000;
    const uint64_t infinity = 0x7FF0000000000000;
    const uint64_t first = 0x7FF0000000000001;
    const uint64_t second = 0xFFF0000000000002;
    const uint64_t third = 0x7FF0000000000003;
    const uint64_t quiet = uint64_t{1} << 51;
    EXPECT_EQ(add(Type::f64, first, one, rn), first | quiet);
    EXPECT_EQ(add(Type::f64, first, second, rn), second | quiet);
    EXPECT_EQ(sub(Type::f64, first, second, rn), second | quiet);
    EXPECT_EQ(mul(Type::f64, first, second, rn), second | quiet);
    EXPECT_EQ(div(Type::f64, first, second, rn), first | quiet);
    EXPECT_EQ(max(Type::f64, first, second), second | quiet);
    EXPECT_EQ(fma(Type::f64, first, second, third, rn), second | quiet);
    EXPECT_EQ(fma(Type::f64, first, one, third, rn), third | quiet);
    EXPECT_EQ(fma(Type::f64, infinity, 0, third, rn), third | quiet);
    EXPECT_EQ(fma(Type::f64, infinity, 0, one, rn), 0xFFF8000000000000u);
    EXPECT_EQ(add(Type::f64, infinity, infinity | uint64_t{1} << 63, rn), 0xFFF8000000000000u);
}

// Measured on an H200, driver 580.
TEST(Ieee, ConversionsOfNan) {
    EXPECT_EQ(convert(Type::f32, Type::f16, 0xFF800001, rn), 0x7FFFu);
    EXPECT_EQ(convert(Type::f16, Type::f32, 0xFC01, rn), 0x7FFFFFFFu);
    EXPECT_EQ(convert(Type::f64, Type::f32, 0xFFF0000000000001, rn), 0xFFC00000u);
    EXPECT_EQ(convert(Type::f64, Type::f16, 0x7FFC000000000005, rn), 0x7F00u);
    EXPECT_EQ(convert(Type::f32, Type::f64, 0x7F800001, rn), 0x7FF8000020000000u);
    EXPECT_EQ(convert(Type::f32, Type::f64, 0xFF800001, rn, {.ftz = true}), 0x7FFFFFFFE0000000u);
    EXPECT_EQ(convert(Type::bf16, Type::f32, 0xFF81, rn), 0xFF810000u);
    EXPECT_EQ(convert(Type::f32, Type::tf32, 0xFF800001, rn), 0x7FFFE000u);
    EXPECT_EQ(convert(Type::f32, Type::tf32, 0xFF800001, Rounding::rna), 0xFF800000u);
    EXPECT_EQ(convert(Type::f32, Type::tf32, 0x7FD79140, Rounding::rna), 0x7FD78000u);
    // A tf32's 10 bits of fraction stand above 13 zeros.
    EXPECT_EQ(convert(Type::tf32, Type::f64, 0x7F802000, rn), 0x7FF8040000000000u);
    EXPECT_EQ(convert(Type::tf32, Type::f64, 0xFFBFE000, rn), 0xFFFFFC0000000000u);
}

TEST(Ieee, Modifiers) {
    const uint64_t one = 0x3F800000;
    const uint64_t nan = 0x7FFFFFFF;
    EXPECT_EQ(add(Type::f32, one, one, rn, {.sat = true}), one);
    EXPECT_EQ(sub(Type::f32, 0, one, rn, {.sat = true}), 0u);
    EXPECT_EQ(add(Type::f32, nan, one, rn, {.sat = true}), 0u);
    EXPECT_EQ(mul(Type::f32, 0x80000000, one, rn, {.sat = true}), 0u);
    EXPECT_EQ(fma(Type::f16, 0xBC00, 0x3C00, 0, rn, {.relu = true}), 0u);
    EXPECT_EQ(fma(Type::f16, 0x7FFF, 0x3C00, 0, rn, {.relu = true}), 0x7FFFu);
    // Flushing: operands, results, and a product that only rounding brings to the smallest normal.
    EXPECT_EQ(add(Type::f32, 0x807FFFFF, 0, rn, {.ftz = true}), 0u);
    EXPECT_EQ(mul(Type::f32, 0x807FFFFF, one, rn, {.ftz = true}), 0x80000000u);
    EXPECT_EQ(mul(Type::f32, 0x3F7FFFFF, 0x00800000, rn, {.ftz = true}), 0u);
    EXPECT_EQ(mul(Type::f32, 0x3F7FF800, 0x00800400, rn, {.ftz = true}), 0x00800000u);
    EXPECT_EQ(mul(Type::f32, 0xBF7FFFFF, 0x00800000, rn), 0x80800000u);
    // f32 to f16 does not flush its operand.
    EXPECT_EQ(convert(Type::f32, Type::f16, 0x00000001, Rounding::rp, {.ftz = true}), 1u);
}

}  // namespace
}  // namespace lockwarp::num::testing
