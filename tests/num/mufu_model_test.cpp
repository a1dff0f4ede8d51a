// SPDX-License-Identifier: Apache-2.0
// The arithmetic around the special function unit, written for host and GPU alike, against the soft
// float of ieee.hpp; and the tables, which are values when compiled.
#include "emu/num/mufu_model.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "emu/num/ieee.hpp"

namespace lockwarp::num {
namespace {

using isa::Type;

uint64_t next(uint64_t& state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16 ^ state << 21;
}

// f32 of every sign and exponent, with none, one, all and random bits of fraction.
uint32_t structured(uint64_t random) {
    const auto bits = static_cast<uint32_t>(random >> 8);
    constexpr uint32_t fractions[]{0, 1, 0x7fffff, 0x400000};
    const uint32_t fraction = random % 8 < 4 ? fractions[random % 4] : bits & 0x7fffff;
    return (bits & 0xff800000) | fraction;
}

// Evaluated by the compiler: nothing of the model depends on the machine that runs it.
static_assert(special_function(mufu_tables, Special::rcp, Type::f32, true, 0x40000000) ==
              0x3f000000);
static_assert(special_function(mufu_tables, Special::ex2, Type::f16x2, false, 0x40003c00) ==
              0x44004000);

TEST(MufuModel, MultipliesAsTheSoftFloat) {
    constexpr int pairs = 4'000'000;
    uint64_t state = 1;
    for (int i = 0; i < pairs; ++i) {
        const uint32_t a = structured(next(state));
        uint32_t b = structured(next(state));
        // Half of the products are near the smallest normal number.
        if (i % 2 == 0)
            b = (b & 0x807fffff) | (((381 - (a >> 23 & 0xff) - i / 2 % 32) & 0xff) << 23);
        ASSERT_EQ(mufu::multiply(a, b), mul(Type::f32, a, b, Rounding::rn)) << a << ' ' << b;
        ASSERT_EQ(mufu::multiply(a, b, mufu::Product::toward_zero),
                  mul(Type::f32, a, b, Rounding::rz))
            << a << ' ' << b;
        ASSERT_EQ(mufu::multiply(a, b, mufu::Product::nearest_ftz),
                  mul(Type::f32, a, b, Rounding::rn, {.ftz = true}))
            << a << ' ' << b;
    }
}

TEST(MufuModel, Subtracts24AsTheSoftFloat) {
    constexpr uint32_t minus_24 = 0xc1c00000;
    for (uint32_t y = 0xc2cc0000; y <= 0xc2fa0000; ++y)  // -102 to -125
        ASSERT_EQ(mufu::minus_24(y), add(Type::f32, y, minus_24, Rounding::rn)) << y;
    for (const uint32_t y : {0xff800000u, 0x7fffffffu})
        EXPECT_EQ(mufu::minus_24(y), add(Type::f32, y, minus_24, Rounding::rn));
}

TEST(MufuModel, ConvertsF16AsTheSoftFloat) {
    for (uint32_t a = 0; a < 0x10000; ++a)
        ASSERT_EQ(mufu::f32_of_f16(a), convert(Type::f16, Type::f32, a, Rounding::rn)) << a;
    // What the unit gives is below infinity where it is finite, and from 2^16 on infinity.
    for (uint64_t y = 0; y < uint64_t{1} << 32; y += 997) {
        const auto bits = static_cast<uint32_t>(y);
        const uint32_t expected =
            (bits & 0x7fffffff) >= 0x47800000 && (bits & 0x7fffffff) <= 0x7f800000
                ? (bits >> 16 & 0x8000) | 0x7c00
                : static_cast<uint32_t>(convert(Type::f32, Type::f16, bits, Rounding::rz));
        ASSERT_EQ(mufu::f16_of_f32(bits), expected) << bits;
    }
}

TEST(MufuModel, FusesAsTheSoftFloat) {
    constexpr int triples = 1'000'000;
    uint64_t state = 1;
    const auto near_one = [&](unsigned spread) {
        const uint64_t r = next(state);
        const uint64_t field = 1023 - spread / 2 + r % spread;
        const uint64_t fraction = (r >> 8 & 3) == 0 ? 0 : next(state) << 12 >> 12;
        return (r >> 20 & 1) << 63 | field << 52 | fraction;
    };
    for (int i = 0; i < triples; ++i) {
        const uint64_t a = near_one(i % 2 == 0 ? 60 : 900);
        const uint64_t b = i % 5 == 0 ? 0 : near_one(i % 2 == 0 ? 60 : 900);
        const uint64_t c = i % 7 == 0   ? 0
                           : i % 3 == 0 ? mul(Type::f64, a, b, Rounding::rn) ^ uint64_t { 1 } << 63
                                        : near_one(120);
        ASSERT_EQ(mufu::fused_f64(a, b, c), fma(Type::f64, a, b, c, Rounding::rn))
            << std::hex << a << ' ' << b << ' ' << c;
    }
}

// The whole way of rsqrt.approx.f64 on the soft float, as ptxas writes it.
TEST(MufuModel, RefinesAsTheSoftFloat) {
    constexpr uint64_t one = 0x3ff0000000000000;
    constexpr uint64_t half = 0x3fe0000000000000;
    constexpr uint64_t three_eighths = 0x3fd8000000000000;
    constexpr uint64_t negative = uint64_t{1} << 63;
    const auto fused = [](uint64_t a, uint64_t b, uint64_t c) {
        return fma(Type::f64, a, b, c, Rounding::rn);
    };
    const auto product = [](uint64_t a, uint64_t b) { return mul(Type::f64, a, b, Rounding::rn); };
    uint64_t state = 1;
    for (int i = 0; i < 300'000; ++i) {
        const uint64_t x = (1 + next(state) % 2046) << 52 | next(state) << 12 >> 12;
        const uint64_t y = special_function(mufu_tables, Special::rsqrt, Type::f64, true, x);
        const uint64_t error = fused(x, product(y, y) ^ negative, one);
        ASSERT_EQ(special_function(mufu_tables, Special::rsqrt, Type::f64, false, x),
                  fused(fused(error, three_eighths, half), product(y, error), y))
            << std::hex << x;
        // A subnormal number's root is that of 2^54 times it, scaled back.
        const uint64_t small = x >> 12 >> i % 52;
        if (small == 0) continue;
        const uint64_t scaled = product(small, uint64_t{1023 + 54} << 52);
        ASSERT_EQ(special_function(mufu_tables, Special::rsqrt, Type::f64, false, small),
                  product(special_function(mufu_tables, Special::rsqrt, Type::f64, false, scaled),
                          uint64_t{1023 + 27} << 52))
            << std::hex << small;
    }
}

TEST(MufuModel, PackedValuesAreTwoSingleOnes) {
    for (const auto& [packed, element] :
         {std::pair{Type::f16x2, Type::f16}, std::pair{Type::bf16x2, Type::bf16}})
        for (const Special f : {Special::ex2, Special::tanh})
            for (uint32_t a = 0; a < 0x10000; a += 7) {
                const uint32_t b = a * 40503 & 0xffff;
                ASSERT_EQ(special_function(mufu_tables, f, packed, true, a << 16 | b),
                          special_function(mufu_tables, f, element, true, a) << 16 |
                              special_function(mufu_tables, f, element, true, b));
            }
}

}  // namespace
}  // namespace lockwarp::num
