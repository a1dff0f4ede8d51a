// SPDX-License-Identifier: Apache-2.0
// The 32-lane operations against the soft float.
#include "emu/num/lanes.hpp"
#include "emu/num/digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>

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
    for (const bool ftz : {false, true}) {
        const uint32_t* const x = a.own.lanes.data();
        const uint32_t* const y = b.own.lanes.data();
        uint32_t* const to = d.own.lanes.data();
        add_f32(x, y, to, ftz);
        expect("add");
        sub_f32(x, y, to, ftz);
        expect("sub");
        mul_f32(x, y, to, ftz);
        expect("mul");
        div_f32(x, y, to, ftz);
        expect("div");
        sqrt_f32(x, to, ftz);
        expect("sqrt");
        fma_f32(x, y, c.own.lanes.data(), to, ftz);
        expect("fma");
    }
}

using Soft2 = uint64_t (*)(Type, uint64_t, uint64_t, Rounding, Flags);
struct Two32 {
    const char* name;
    void (*lanes)(const uint32_t*, const uint32_t*, uint32_t*, bool);
    Soft2 soft;
};
constexpr std::array two_32{Two32{"add", add_f32, add}, Two32{"sub", sub_f32, sub},
                            Two32{"mul", mul_f32, mul}, Two32{"div", div_f32, div}};
struct Two64 {
    const char* name;
    void (*lanes)(const uint64_t*, const uint64_t*, uint64_t*);
    Soft2 soft;
};
constexpr std::array two_64{Two64{"add", add_f64, add}, Two64{"sub", sub_f64, sub},
                            Two64{"mul", mul_f64, mul}, Two64{"div", div_f64, div}};

void expect_f32(const Register<uint32_t>& a, const Register<uint32_t>& b,
                const Register<uint32_t>& c, bool ftz) {
    const Flags flags{.ftz = ftz};
    const auto which = [&](const char* name, size_t lane) {
        std::ostringstream out;
        out << name << (ftz ? ".ftz " : " ") << std::hex << a.lanes[lane] << ' ' << b.lanes[lane]
            << ' ' << c.lanes[lane];
        return out.str();
    };
    Register<uint32_t> d;
    for (const Two32& o : two_32) {
        o.lanes(a.lanes.data(), b.lanes.data(), d.lanes.data(), ftz);
        for (size_t lane = 0; lane < 32; ++lane)
            ASSERT_EQ(d.lanes[lane], o.soft(Type::f32, a.lanes[lane], b.lanes[lane], rn, flags))
                << which(o.name, lane);
    }
    sqrt_f32(a.lanes.data(), d.lanes.data(), ftz);
    for (size_t lane = 0; lane < 32; ++lane)
        ASSERT_EQ(d.lanes[lane], sqrt(Type::f32, a.lanes[lane], rn, flags)) << which("sqrt", lane);
    fma_f32(a.lanes.data(), b.lanes.data(), c.lanes.data(), d.lanes.data(), ftz);
    for (size_t lane = 0; lane < 32; ++lane)
        ASSERT_EQ(d.lanes[lane],
                  fma(Type::f32, a.lanes[lane], b.lanes[lane], c.lanes[lane], rn, flags))
            << which("fma", lane);
}

void compare_f32() {
    Random random(19);
    for (int i = 0; i < 6000 && !::testing::Test::HasFatalFailure(); ++i) {
        const auto a = random_register<uint32_t>(Type::f32, random);
        const auto b = random_register<uint32_t>(Type::f32, random);
        const auto c = random_register<uint32_t>(Type::f32, random);
        expect_f32(a, b, c, i % 2 == 0);
    }
}

// Results next to the smallest normal number, where it matters for .ftz how they are rounded.
void compare_f32_at_the_smallest() {
    Random random(24);
    const auto number = [&](int exponent) {
        return static_cast<uint32_t>((random() & 1) << 31 | uint64_t(exponent) << 23 |
                                     (random() % 3 == 0 ? random() % 4 : 0x7fffff - random() % 4));
    };
    for (int i = 0; i < 3000 && !::testing::Test::HasFatalFailure(); ++i) {
        Register<uint32_t> a, b, c;
        for (size_t lane = 0; lane < 32; ++lane) {
            const int exponent = 1 + static_cast<int>(random() % 120);
            a.lanes[lane] = number(exponent);
            // Of a product about 2^-126, of a quotient where the lane is odd.
            b.lanes[lane] = number(lane % 2 == 0 ? 127 - exponent : 126 + exponent);
            c.lanes[lane] = random() % 2 == 0 ? 0 : number(static_cast<int>(random() % 3));
        }
        expect_f32(a, b, c, i % 2 == 0);
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

// Windows of few bytes to all of 2^63, with all lanes in them, and then one lane elsewhere: before
// it, behind it, far away, or at an odd address.
void compare_places() {
    Random random(21);
    std::array<uint64_t, 32> addresses;
    std::array<uint8_t*, 32> places;
    uint8_t bytes[8];
    uint64_t inside = 0, outside = 0;
    for (int i = 0; i < 20000; ++i) {
        const uint64_t never = (uint64_t{1} << random() % 6) - 1;
        Window w{bytes, random() >> random() % 64, random() >> 1 >> random() % 63};
        w.begin &= ~never;
        w.last = std::min(w.last | never, UINT64_MAX - w.begin) & INT64_MAX;
        for (uint64_t& a : addresses)
            a = (w.begin + (random() % 4 == 0 ? w.last : random() % (w.last | 1))) & ~never;
        const auto expect = [&] {
            bool all = true;
            for (const uint64_t a : addresses)
                all &= a >= w.begin && a - w.begin <= w.last && (a & never) == 0;
            const bool are = places_in(w, addresses.data(), never, places.data());
            EXPECT_EQ(are, all) << i;
            (all ? inside : outside) += 1;
            for (size_t lane = 0; are && lane < 32; ++lane)
                EXPECT_EQ(reinterpret_cast<uintptr_t>(places[lane]),
                          reinterpret_cast<uintptr_t>(bytes) + (addresses[lane] - w.begin))
                    << i << ' ' << lane;
        };
        expect();
        uint64_t& one = addresses[random() % 32];
        const uint64_t others[] = {w.begin - 1 - never, w.begin + w.last + 1, random(), one + 1,
                                   one ^ uint64_t{1} << 63};
        one = others[random() % 5];
        expect();
    }
    EXPECT_GT(inside, 20000u);
    EXPECT_GT(outside, 10000u);
}

TEST(Lanes, PlacesAreOfAddressesThatAreAllInAWindow) { each_lane_target(compare_places); }
TEST(Lanes, F32EqualsSoftFloat) { each_lane_target(compare_f32); }
TEST(Lanes, F32EqualsSoftFloatAtTheSmallestNumber) {
    each_lane_target(compare_f32_at_the_smallest);
}
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
        for (const Two64& o : two_64) {
            Register<uint64_t> d;
            o.lanes(a.lanes.data(), b.lanes.data(), d.lanes.data());
            for (size_t lane = 0; lane < 32; ++lane)
                ASSERT_EQ(d.lanes[lane], o.soft(Type::f64, a.lanes[lane], b.lanes[lane], rn, {}))
                    << o.name << std::hex << ' ' << a.lanes[lane] << ' ' << b.lanes[lane];
        }
    }
}

TEST(Lanes, F64EqualsSoftFloat) { each_lane_target(compare_f64); }

TEST(Lanes, ResultMayReplaceAnOperand) {
    Random random(29);
    auto a = random_register<uint32_t>(Type::f32, random);
    const auto b = random_register<uint32_t>(Type::f32, random);
    const auto before = a;
    fma_f32(a.lanes.data(), b.lanes.data(), a.lanes.data(), a.lanes.data(), false);
    for (size_t lane = 0; lane < 32; ++lane) {
        const uint32_t x = before.lanes[lane];
        ASSERT_EQ(a.lanes[lane], fma(Type::f32, x, b.lanes[lane], x, rn));
    }
}

}  // namespace
}  // namespace lockwarp::num::testing
