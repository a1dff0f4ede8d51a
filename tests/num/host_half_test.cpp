// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 arithmetic by the host's against the soft float's.
#include "emu/num/host_half.hpp"

#include <gtest/gtest.h>

#include "emu/num/ieee.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing::host_half_test {
namespace {

using isa::Type;

constexpr Rounding rn = Rounding::rn;

struct Half {
    Type type;
    decltype(&add_f16) sum, difference, product;
    decltype(&fma_f16) fused;
    decltype(&add_f16) least, most;
    decltype(&half_neg<f16_infinity>) negative, magnitude;
};

constexpr Half halves[] = {
    {Type::f16, add_f16, sub_f16, mul_f16, fma_f16, half_extremum<f16_infinity, false>,
     half_extremum<f16_infinity, true>, half_neg<f16_infinity>, half_abs<f16_infinity>},
    {Type::bf16, add_bf16, sub_bf16, mul_bf16, fma_bf16, half_extremum<bf16_infinity, false>,
     half_extremum<bf16_infinity, true>, half_neg<bf16_infinity>, half_abs<bf16_infinity>}};

void expect_two(const Half& h, uint32_t a, uint32_t b) {
    ASSERT_EQ(h.sum(a, b), add(h.type, a, b, rn)) << std::hex << a << " + " << b;
    ASSERT_EQ(h.difference(a, b), sub(h.type, a, b, rn)) << std::hex << a << " - " << b;
    ASSERT_EQ(h.product(a, b), mul(h.type, a, b, rn)) << std::hex << a << " * " << b;
    ASSERT_EQ(h.least(a, b), min(h.type, a, b)) << std::hex << a << ", " << b;
    ASSERT_EQ(h.most(a, b), max(h.type, a, b)) << std::hex << a << ", " << b;
}

// NaN is as an addition of -0 leaves it.
TEST(HostHalf, NegatesEveryNumber) {
    for (const Half& h : halves)
        for (uint32_t a = 0; a < 0x10000; ++a) {
            const bool is_nan = compare(h.type, a, a) == Order::unordered;
            const uint64_t nan = add(h.type, a, 0x8000, rn);
            ASSERT_EQ(h.negative(a), is_nan ? nan : a ^ 0x8000) << std::hex << a;
            ASSERT_EQ(h.magnitude(a), is_nan ? nan : a & 0x7fff) << std::hex << a;
        }
}

void expect_fused(const Half& h, uint32_t a, uint32_t b, uint32_t c) {
    ASSERT_EQ(h.fused(a, b, c), fma(h.type, a, b, c, rn))
        << std::hex << a << " * " << b << " + " << c;
}

// Every number with each landmark and its neighbours, and with numbers by chance.
TEST(HostHalf, AddsAndMultipliesEveryNumber) {
    Random random(51);
    for (const Half& h : halves)
        for (uint32_t a = 0; a < 0x10000 && !HasFatalFailure(); ++a) {
            if (a % 16 == 0)
                for (const uint64_t v : landmarks(h.type))
                    for (const uint64_t b : {v - 1, v, v + 1})
                        expect_two(h, a | random() % 16, static_cast<uint16_t>(b));
            for (int i = 0; i < 4; ++i) expect_two(h, a, static_cast<uint16_t>(random()));
            // Of much the same size, where digits cancel.
            expect_two(h, a, a ^ static_cast<uint32_t>(random() % 0x1000) ^ 0x8000);
        }
}

// Any c; one as large as the product, of either sign; one at half a last place of the product; and
// one of whose last place the product is about the half.
TEST(HostHalf, FusesWhereRoundingTurns) {
    Random random(52);
    for (const Half& h : halves)
        for (int i = 0; i < 400000 && !HasFatalFailure(); ++i) {
            const auto a = static_cast<uint32_t>(random_operand(h.type, random));
            const auto b = static_cast<uint32_t>(random_operand(h.type, random));
            const auto product = static_cast<uint32_t>(mul(h.type, a, b, rn));
            const uint32_t fraction = h.type == Type::f16 ? 10 : 7;
            const uint32_t sign = static_cast<uint32_t>(random() % 2) << 15;
            const uint32_t last = static_cast<uint32_t>(random() % 3);
            const uint32_t places = (fraction + last) << fraction;
            for (const auto c :
                 {static_cast<uint32_t>(random_operand(h.type, random)), product ^ sign ^ last,
                  (product ^ sign) - places, (product ^ sign) + places,
                  static_cast<uint32_t>(random() % 3) ^ sign})
                expect_fused(h, a, b, c & 0xffff);
        }
}

TEST(HostHalf, FusesEveryLandmark) {
    for (const Half& h : halves)
        for (const uint64_t a : landmarks(h.type))
            for (const uint64_t b : landmarks(h.type))
                for (const uint64_t c : landmarks(h.type)) {
                    expect_fused(h, static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                                 static_cast<uint32_t>(c));
                    if (HasFatalFailure()) return;
                }
}

// Products exactly between two numbers of 8 places, and addends far below that tip the sum.
TEST(HostHalf, FusesHalvesThatAnAddendFarBelowDecides) {
    uint64_t tipped = 0;
    for (uint32_t a = 0x3f80; a < 0x4000; ++a)
        for (uint32_t b = 0x3f80; b < 0x4000; ++b)
            for (const uint32_t c : {0x0001u, 0x8001u, 0x0080u, 0x8080u, 0x1000u, 0x9000u}) {
                expect_fused(halves[1], a, b, c);
                if (HasFatalFailure()) return;
                tipped += fma(Type::bf16, a, b, c, rn) != mul(Type::bf16, a, b, rn);
            }
    EXPECT_GT(tipped, 0u);
}

}  // namespace
}  // namespace lockwarp::num::testing::host_half_test
