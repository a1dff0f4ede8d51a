// SPDX-License-Identifier: Apache-2.0
// The host's conversions against the soft float's.
#include "emu/num/host_convert.hpp"

#include <gtest/gtest.h>

#include "emu/num/ieee.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing::host_convert_test {
namespace {

using isa::Type;

constexpr Rounding rn = Rounding::rn;
constexpr Rounding rz = Rounding::rz;

TEST(HostConvert, WidensEveryNumberOf16Bits) {
    for (uint32_t v = 0; v < 0x10000; ++v) {
        ASSERT_EQ(f32_of_f16(v), convert(Type::f16, Type::f32, v, rn)) << std::hex << v;
        ASSERT_EQ(f32_of_bf16(v), convert(Type::bf16, Type::f32, v, rn)) << std::hex << v;
    }
}

void expect_narrow(uint32_t v) {
    ASSERT_EQ(f16_of_f32(v), convert(Type::f32, Type::f16, v, rn)) << std::hex << v;
    ASSERT_EQ(bf16_of_f32(v), convert(Type::f32, Type::bf16, v, rn)) << std::hex << v;
    ASSERT_EQ(tf32_of_f32(v), convert(Type::f32, Type::tf32, v, Rounding::rna)) << std::hex << v;
}

// At each number of 16 bits, halfway to the next one, and beside both.
TEST(HostConvert, NarrowsWhereRoundingTurns) {
    for (uint32_t v = 0; v < 0x10000; ++v)
        for (const Type t : {Type::f16, Type::bf16}) {
            const auto here = static_cast<uint32_t>(convert(t, Type::f32, v, rn));
            const auto next = static_cast<uint32_t>(convert(t, Type::f32, v + 1, rn));
            for (const uint32_t at : {here, here + (next - here) / 2})
                for (const uint32_t each : {at - 1, at, at + 1}) expect_narrow(each);
            if (HasFatalFailure()) return;
        }
}

TEST(HostConvert, NarrowsAnyBits) {
    Random random(31);
    for (int i = 0; i < 300000 && !HasFatalFailure(); ++i) {
        expect_narrow(static_cast<uint32_t>(random()));
        expect_narrow(static_cast<uint32_t>(random_operand(Type::f32, random)));
    }
    for (const uint64_t v : landmarks(Type::f32)) expect_narrow(static_cast<uint32_t>(v));
}

TEST(HostConvert, TakesIntegersToFloats) {
    Random random(32);
    for (int i = 0; i < 300000; ++i) {
        // Of each length; the ends, and where a last place of f32 is 2 to 256.
        auto v = static_cast<uint32_t>(random() >> (32 + random() % 32));
        if (i % 3 == 0) v = (1u << random() % 32) + static_cast<uint32_t>(random() % 5) - 2;
        if (i % 3 == 1) v = ~v;
        ASSERT_EQ(f32_of_s32(v), from_integer(Type::f32, v, 32, true, rn)) << v;
        ASSERT_EQ(f32_of_u32(v), from_integer(Type::f32, v, 32, false, rn)) << v;
        ASSERT_EQ(f64_of_s32(v), from_integer(Type::f64, v, 32, true, rn)) << v;
        ASSERT_EQ(f64_of_u32(v), from_integer(Type::f64, v, 32, false, rn)) << v;
    }
}

TEST(HostConvert, TakesLongIntegersToFloats) {
    Random random(34);
    for (int i = 0; i < 300000; ++i) {
        // Of each length; the ends, and halfway between two numbers of 24 places and of 53.
        uint64_t v = random() >> (random() % 64);
        if (i % 3 == 0) v = (uint64_t{1} << random() % 64) + random() % 5 - 2;
        if (i % 3 == 1) {
            const uint64_t half = uint64_t{1} << random() % 40;
            v = (v & ~(2 * half - 1)) + half + random() % 3 - 1;
        }
        if (i % 2 == 1) v = ~v;
        ASSERT_EQ(f32_of_s64(v), from_integer(Type::f32, v, 64, true, rn)) << v;
        ASSERT_EQ(f32_of_u64(v), from_integer(Type::f32, v, 64, false, rn)) << v;
        ASSERT_EQ(f64_of_s64(v), from_integer(Type::f64, v, 64, true, rn)) << v;
        ASSERT_EQ(f64_of_u64(v), from_integer(Type::f64, v, 64, false, rn)) << v;
    }
}

void expect_between(uint32_t narrow, uint64_t wide) {
    const auto number = std::bit_cast<float>(narrow);
    const auto wide_number = std::bit_cast<double>(wide);
    if (is_number(number)) {
        ASSERT_EQ(f64_of(number), convert(Type::f32, Type::f64, narrow, rn)) << narrow;
    }
    if (is_number(wide_number)) {
        ASSERT_EQ(f32_of(wide_number), convert(Type::f64, Type::f32, wide, rn)) << wide;
    }
}

TEST(HostConvert, TakesF32ToF64AndBack) {
    Random random(35);
    for (int i = 0; i < 300000 && !HasFatalFailure(); ++i) {
        const auto narrow = static_cast<uint32_t>(random_operand(Type::f32, random));
        // In the range of f32, and about halfway between two of its numbers.
        const uint64_t near = convert(Type::f32, Type::f64, narrow, rn);
        const uint64_t halfway = near + (uint64_t{1} << 28) + random() % 3 - 1;
        expect_between(narrow, i % 2 == 0 ? halfway : near ^ random() >> (12 + random() % 50));
        expect_between(static_cast<uint32_t>(random()), random_operand(Type::f64, random));
    }
    for (const uint64_t v : landmarks(Type::f32)) expect_between(static_cast<uint32_t>(v), 0);
    for (const uint64_t v : landmarks(Type::f64)) expect_between(0, v);
}

template <Rounding r, class Float>
void expect_integral(Type t, uint64_t bits, Float v) {
    if (!(v == v)) return;
    using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
    ASSERT_EQ(std::bit_cast<Bits>(to_integral<r>(v)), round_to_integral(t, bits, r))
        << std::hex << bits << ' ' << static_cast<int>(r);
}

template <class Float>
void expect_integral(Type t, uint64_t bits, Float v) {
    expect_integral<Rounding::rn>(t, bits, v);
    expect_integral<Rounding::rz>(t, bits, v);
    expect_integral<Rounding::rm>(t, bits, v);
    expect_integral<Rounding::rp>(t, bits, v);
}

void expect_integral(uint32_t narrow, uint64_t wide) {
    expect_integral(Type::f32, narrow, std::bit_cast<float>(narrow));
    expect_integral(Type::f64, wide, std::bit_cast<double>(wide));
}

TEST(HostConvert, RoundsToIntegers) {
    Random random(36);
    for (int i = 0; i < 200000 && !HasFatalFailure(); ++i) {
        expect_integral(static_cast<uint32_t>(random_operand(Type::f32, random)),
                        random_operand(Type::f64, random));
        // Halves, and what lies beside them, of every size.
        const double half = static_cast<double>(random() >> (10 + random() % 54)) / 2;
        const double sign = random() % 2 == 0 ? 1 : -1;
        const auto narrow = std::bit_cast<uint32_t>(static_cast<float>(sign * half));
        const auto wide = std::bit_cast<uint64_t>(sign * half);
        for (const uint32_t beside : {0u, 1u, ~0u}) expect_integral(narrow + beside, wide + beside);
    }
    for (const uint64_t v : landmarks(Type::f32)) expect_integral(static_cast<uint32_t>(v), 0);
    for (const uint64_t v : landmarks(Type::f64)) expect_integral(0, v);
}

void expect_f8(uint32_t v) {
    constexpr Flags finite{.satfinite = true};
    ASSERT_EQ(e4m3_of_f32(v), convert(Type::f32, Type::e4m3, v, rn, finite)) << std::hex << v;
    ASSERT_EQ(e5m2_of_f32(v), convert(Type::f32, Type::e5m2, v, rn, finite)) << std::hex << v;
}

TEST(HostConvert, TakesEveryNumberOf16BitsTo8) {
    constexpr Flags finite{.satfinite = true};
    for (uint32_t v = 0; v < 0x10000; ++v) {
        ASSERT_EQ(e4m3_of_f16(v), convert(Type::f16, Type::e4m3, v, rn, finite)) << std::hex << v;
        ASSERT_EQ(e5m2_of_f16(v), convert(Type::f16, Type::e5m2, v, rn, finite)) << std::hex << v;
    }
    for (uint32_t v = 0; v < 0x100; ++v) {
        ASSERT_EQ(f16_of_e4m3(v), convert(Type::e4m3, Type::f16, v, rn)) << std::hex << v;
        ASSERT_EQ(f16_of_e5m2(v), convert(Type::e5m2, Type::f16, v, rn)) << std::hex << v;
    }
}

TEST(HostConvert, TakesF32To8Bits) {
    Random random(37);
    for (int i = 0; i < 200000 && !HasFatalFailure(); ++i) {
        expect_f8(static_cast<uint32_t>(random()));
        expect_f8(static_cast<uint32_t>(random_operand(Type::f32, random)));
    }
    // At each number of 16 bits, which has those between two of 8 bits, and beside it.
    for (uint32_t v = 0; v < 0x10000 && !HasFatalFailure(); ++v)
        for (const uint32_t beside : {0u, 1u, ~0u}) expect_f8(f32_of_f16(v) + beside);
    for (const uint64_t v : landmarks(Type::f32)) expect_f8(static_cast<uint32_t>(v));
}

void expect_truncated(Type t, uint64_t bits, double v, uint64_t& counted) {
    if (truncates_to_s32(v)) {
        ++counted;
        ASSERT_EQ(s32_of(v), to_integer(t, bits, rz, 32, true)) << std::hex << bits;
    }
    if (truncates_to_u32(v)) {
        ++counted;
        ASSERT_EQ(u32_of(v), to_integer(t, bits, rz, 32, false)) << std::hex << bits;
    }
}

TEST(HostConvert, TruncatesWhatHasAnInteger) {
    Random random(33);
    uint64_t counted = 0;
    for (int i = 0; i < 300000 && !HasFatalFailure(); ++i) {
        const auto narrow = static_cast<uint32_t>(
            i % 2 == 0 ? random_operand(Type::f32, random)
                       : random() % 2 << 31 | (120 + random() % 40) << 23 | random() % (1 << 23));
        expect_truncated(Type::f32, narrow, std::bit_cast<float>(narrow), counted);
        const uint64_t wide =
            i % 2 == 0 ? random_operand(Type::f64, random)
                       : random() % 2 << 63 | (1016 + random() % 40) << 52 | random() >> 12;
        expect_truncated(Type::f64, wide, std::bit_cast<double>(wide), counted);
    }
    EXPECT_GT(counted, 300000u);
    // The last ones at each end, and the first that are none.
    for (const double v : {2147483647.0, -2147483648.0, 4294967295.0, 4294967295.5, -0.5, -0.0,
                           -2147483648.5, 2147483647.5})
        expect_truncated(Type::f64, std::bit_cast<uint64_t>(v), v, counted);
    for (const double v : {2147483648.0, -2147483649.0, 0.0 / 0.0})
        EXPECT_FALSE(truncates_to_s32(v));
    for (const double v : {4294967296.0, -1.0, 0.0 / 0.0}) EXPECT_FALSE(truncates_to_u32(v));
}

}  // namespace
}  // namespace lockwarp::num::testing::host_convert_test
