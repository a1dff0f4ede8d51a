// SPDX-License-Identifier: Apache-2.0
// The 32-lane operations against the soft float.
#include "emu/num/lanes.hpp"
#include "emu/num/digest.hpp"

#include <gtest/gtest.h>

#include <array>

#include "emu/num/ieee.hpp"
#include "tests/num/inputs.hpp"
#include "tests/num/targets.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Type;

constexpr Rounding rn = Rounding::rn;

template <class Word>
struct alignas(64) Register {
    std::array<Word, 32> lanes;
};

template <class Word>
Register<Word> random_register(Type t, Random& random) {
    static const std::vector<uint64_t> all = landmarks(t);
    Register<Word> r;
    for (Word& lane : r.lanes)
        lane = static_cast<Word>(random() % 4 == 0 ? all[random() % all.size()]
                                                   : random_operand(t, random));
    return r;
}

// What lies behind a register of each operand and of the result.
void keep_within_f32() {
    Random random(20);
    struct Guarded {
        Register<uint32_t> own, behind;
    };
    Guarded a, b, c, d;
    for (Guarded* g : {&a, &b, &c, &d})
        g->own = g->behind = random_register<uint32_t>(Type::f32, random);
    const Register<uint32_t> before = d.behind;
    const auto expect = [&](const char* what) { EXPECT_EQ(d.behind.lanes, before.lanes) << what; };
    add_f32(a.own.lanes.data(), b.own.lanes.data(), d.own.lanes.data());
    expect("add");
    sub_f32(a.own.lanes.data(), b.own.lanes.data(), d.own.lanes.data());
    expect("sub");
    mul_f32(a.own.lanes.data(), b.own.lanes.data(), d.own.lanes.data());
    expect("mul");
    fma_f32(a.own.lanes.data(), b.own.lanes.data(), c.own.lanes.data(), d.own.lanes.data());
    expect("fma");
}

void compare_f32() {
    Random random(19);
    for (int i = 0; i < 10000; ++i) {
        const auto a = random_register<uint32_t>(Type::f32, random);
        const auto b = random_register<uint32_t>(Type::f32, random);
        const auto c = random_register<uint32_t>(Type::f32, random);
        Register<uint32_t> sum, difference, product, fused;
        add_f32(a.lanes.data(), b.lanes.data(), sum.lanes.data());
        sub_f32(a.lanes.data(), b.lanes.data(), difference.lanes.data());
        mul_f32(a.lanes.data(), b.lanes.data(), product.lanes.data());
        fma_f32(a.lanes.data(), b.lanes.data(), c.lanes.data(), fused.lanes.data());
        for (size_t lane = 0; lane < 32; ++lane) {
            const uint32_t x = a.lanes[lane];
            const uint32_t y = b.lanes[lane];
            const uint32_t z = c.lanes[lane];
            ASSERT_EQ(sum.lanes[lane], add(Type::f32, x, y, rn)) << std::hex << x << ' ' << y;
            ASSERT_EQ(difference.lanes[lane], sub(Type::f32, x, y, rn))
                << std::hex << x << ' ' << y;
            ASSERT_EQ(product.lanes[lane], mul(Type::f32, x, y, rn)) << std::hex << x << ' ' << y;
            ASSERT_EQ(fused.lanes[lane], fma(Type::f32, x, y, z, rn))
                << std::hex << x << ' ' << y << ' ' << z;
        }
    }
}

void compare_digests() {
    Random random(29);
    Register<uint32_t> first{}, second{}, a{}, b{};
    for (int i = 0; i < 1000; ++i) {
        const auto values = random_register<uint32_t>(Type::f32, random);
        const uint32_t salt = digest_salt(static_cast<uint32_t>(random()), 1);
        digest(values.lanes.data(), salt, first.lanes.data(), second.lanes.data());
        for (size_t lane = 0; lane < 32; ++lane)
            digest_one(values.lanes[lane], salt, a.lanes[lane], b.lanes[lane]);
        ASSERT_EQ(first.lanes, a.lanes);
        ASSERT_EQ(second.lanes, b.lanes);
    }
}

TEST(Lanes, DigestsEqualTheDefinition) { each_lane_target(compare_digests); }

// Each step is one-to-one in the value and in the state, so that no single difference is lost.
TEST(Digest, NothingIsLostInAStep) {
    for (const uint32_t m : digest_multiplier) EXPECT_EQ(m & 1, 1u);
    Random random(31);
    for (int i = 0; i < 100000; ++i) {
        const auto state = static_cast<uint32_t>(random());
        const auto value = static_cast<uint32_t>(random());
        const uint32_t other = value ^ (1u << (i % 32));
        uint32_t a = state, b = state, c = state, d = state;
        digest_one(value, 0, a, b);
        digest_one(other, 0, c, d);
        ASSERT_NE(a, c);
        ASSERT_NE(b, d);
        // The same bit wrong again, as a wrong sign would be, does not undo it.
        digest_one(value, 5, a, b);
        digest_one(other, 5, c, d);
        ASSERT_FALSE(a == c && b == d);
    }
}

TEST(Lanes, F32EqualsSoftFloat) { each_lane_target(compare_f32); }
TEST(Lanes, F32StaysInItsRegister) { each_lane_target(keep_within_f32); }

void compare_f64() {
    Random random(23);
    for (int i = 0; i < 10000; ++i) {
        const auto a = random_register<uint64_t>(Type::f64, random);
        const auto b = random_register<uint64_t>(Type::f64, random);
        const auto c = random_register<uint64_t>(Type::f64, random);
        Register<uint64_t> fused;
        fma_f64(a.lanes.data(), b.lanes.data(), c.lanes.data(), fused.lanes.data());
        for (size_t lane = 0; lane < 32; ++lane)
            ASSERT_EQ(fused.lanes[lane],
                      fma(Type::f64, a.lanes[lane], b.lanes[lane], c.lanes[lane], rn));
    }
}

TEST(Lanes, F64EqualsSoftFloat) { each_lane_target(compare_f64); }

TEST(Lanes, ResultMayReplaceAnOperand) {
    Random random(29);
    auto a = random_register<uint32_t>(Type::f32, random);
    const auto b = random_register<uint32_t>(Type::f32, random);
    const auto before = a;
    fma_f32(a.lanes.data(), b.lanes.data(), a.lanes.data(), a.lanes.data());
    for (size_t lane = 0; lane < 32; ++lane) {
        const uint32_t x = before.lanes[lane];
        ASSERT_EQ(a.lanes[lane], fma(Type::f32, x, b.lanes[lane], x, rn));
    }
}

}  // namespace
}  // namespace lockwarp::num::testing
