// SPDX-License-Identifier: Apache-2.0
// The assertions of lockwarp/testing.hpp: what they let pass, and what a failure says.
#include "lockwarp/testing.hpp"

#include <gtest/gtest-spi.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using lockwarp::testing::same_bits;
using lockwarp::testing::SameBitsAs;

template <typename Expected, typename Actual>
std::string said(const SameBitsAs& as, const Expected& expected, const Actual& actual) {
    const ::testing::AssertionResult result = as("reference", "D", expected, actual);
    return result ? "same" : result.message();
}

TEST(SameBits, OfEveryElementType) {
    const std::vector<float> f32{1.0f, -0.0f, std::numeric_limits<float>::infinity()};
    EXPECT_SAME_BITS(f32, (std::array<float, 3>{1.0f, -0.0f, f32[2]}));
    const double f64[] = {0.1, 0.2};
    ASSERT_SAME_BITS(f64, (std::vector<double>{0.1, 0.2}));
    const std::vector<int8_t> s8{-1, 2};
    EXPECT_SAME_BITS(s8, s8);
    const std::vector<uint64_t> u64{~uint64_t{0}};
    EXPECT_SAME_BITS(u64, u64);
    const std::vector<uint16_t> f16{0x3c00, 0x7fff};
    EXPECT_SAME_BITS_AS("f16", f16, f16);
    ASSERT_SAME_BITS_AS("bf16", f16, f16);
    EXPECT_SAME_MATRIX_BITS("e4m3", 2, f16, f16);
    ASSERT_SAME_MATRIX_BITS("b32", 1, f16, f16);
}

TEST(SameBits, FailureNamesTheFirstWrongElement) {
    const std::vector<uint16_t> expected{0x3c00, 0xc000, 0x7c00, 0x0001};
    const std::vector<uint16_t> actual{0x3c00, 0x4000, 0x7c00, 0x8001};
    EXPECT_EQ(said({"f16", 2}, expected, actual),
              "D differs from reference in 2 of 4 elements of f16, first in [0][1] (element 1):\n"
              "  expected 0xc000 (-2)\n"
              "  actual   0x4000 (2)");
    EXPECT_EQ(said({"s16"}, expected, actual),
              "D differs from reference in 2 of 4 elements of s16, first in element 1:\n"
              "  expected 0xc000 (-16384)\n"
              "  actual   0x4000 (16384)");
    EXPECT_EQ(said({"b32"}, expected, actual),
              "D differs from reference in 2 of 2 elements of b32, first in element 0:\n"
              "  expected 0xc0003c00\n"
              "  actual   0x40003c00");
}

TEST(SameBits, ValuesAreTheTypes) {
    const auto value = [](std::string_view type, uint64_t bits) {
        return lockwarp::testing::element_text(lockwarp::testing::element_type(type), bits);
    };
    EXPECT_EQ(value("f16", 0x3c01), "0x3c01 (1.0009766)");
    EXPECT_EQ(value("bf16", 0xff80), "0xff80 (-inf)");
    EXPECT_EQ(value("f32", 0x3dcccccd), "0x3dcccccd (0.1)");
    EXPECT_EQ(value("f64", std::bit_cast<uint64_t>(0.1)), "0x3fb999999999999a (0.1)");
    EXPECT_EQ(value("e4m3", 0x7e), "0x7e (448)");
    EXPECT_EQ(value("s64", ~uint64_t{0}), "0xffffffffffffffff (-1)");
    EXPECT_EQ(value("u8", 0xff), "0xff (255)");
    EXPECT_EQ(value("b8", 0xff), "0xff");
}

TEST(SameBits, SignsOfZeroAndPayloadsOfNaNCount) {
    const std::vector<float> plus{0.0f};
    const std::vector<float> minus{-0.0f};
    EXPECT_FALSE(same_bits("a", "b", plus, minus));
    const std::vector<uint32_t> canonical{0x7fffffff};
    const std::vector<uint32_t> payload{0x7fc00001};
    EXPECT_NE(said({"f32"}, canonical, payload).find("0x7fc00001 (nan)"), std::string::npos);
}

TEST(SameBits, WhatCannotBeComparedFails) {
    const std::vector<uint16_t> two{1, 2};
    const std::vector<uint16_t> three{1, 2, 3};
    const std::vector<uint16_t> none;
    EXPECT_EQ(said({"f16"}, two, three), "reference has 4 bytes, D has 6");
    EXPECT_EQ(said({"f16"}, none, none), "reference and D are empty: nothing was compared");
    EXPECT_EQ(said({"f32"}, three, three), "6 bytes are not whole elements of f32");
    EXPECT_EQ(said({"f16", 2}, three, three), "6 bytes are not whole rows of f16");
    for (const std::string_view type : {"f16x2", "e2m1", "b1", "b128", "pred", "half", "", ".f16"})
        EXPECT_EQ(said({type}, two, two),
                  "'" + std::string(type) + "' is not a type whose arrays can be compared");
}

TEST(SameBits, TheAssertionsFail) {
    static const std::vector<float> one{1.0f};
    static const std::vector<float> two{2.0f};
    EXPECT_NONFATAL_FAILURE(EXPECT_SAME_BITS(one, two), "two differs from one in 1 of 1 elements");
    EXPECT_NONFATAL_FAILURE(EXPECT_SAME_BITS_AS("s32", one, two), "expected 0x3f800000 (");
    EXPECT_NONFATAL_FAILURE(EXPECT_SAME_MATRIX_BITS("f32", 1, one, two), "[0][0] (element 0)");
    EXPECT_FATAL_FAILURE(ASSERT_SAME_BITS(one, two), "actual   0x40000000 (2)");
    EXPECT_FATAL_FAILURE(ASSERT_SAME_BITS_AS("f32", one, two), "two differs from one");
    EXPECT_FATAL_FAILURE(ASSERT_SAME_MATRIX_BITS("f32", 1, one, two), "[0][0]");
}

}  // namespace
