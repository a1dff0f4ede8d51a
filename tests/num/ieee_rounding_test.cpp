// SPDX-License-Identifier: Apache-2.0
// The soft float against the host's arithmetic in the directed roundings. Operands and results go
// through volatile objects between the two changes of the rounding mode, so that each operation
// happens where it stands.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "emu/num/ieee.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Type;

struct Mode {
    Rounding rounding;
    int host;
};
constexpr std::array modes{Mode{Rounding::rn, FE_TONEAREST}, Mode{Rounding::rz, FE_TOWARDZERO},
                           Mode{Rounding::rm, FE_DOWNWARD}, Mode{Rounding::rp, FE_UPWARD}};

// The host's results of five operations in one rounding mode.
template <class Float>
struct Results {
    volatile Float sum, product, quotient, root, fused;
};

template <class Float>
void compute(int host_mode, Float a, Float b, Float c, Results<Float>& results) {
    volatile Float x = a;
    volatile Float y = b;
    volatile Float z = c;
    std::fesetround(host_mode);
    results.sum = x + y;
    results.product = x * y;
    results.quotient = x / y;
    results.root = std::sqrt(x);
    results.fused = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
}

template <class Float, class Bits>
void compare_with_host(Type t) {
    const auto same = [](uint64_t actual, Float expected) {
        const Float value = std::bit_cast<Float>(static_cast<Bits>(actual));
        return std::isnan(expected) ? std::isnan(value) : actual == std::bit_cast<Bits>(expected);
    };
    const std::vector<uint64_t> all = landmarks(t);
    Random random(13);
    const auto operand = [&] {
        return random() % 4 == 0 ? all[random() % all.size()] : random_operand(t, random);
    };
    for (int i = 0; i < 300000; ++i) {
        const uint64_t a = operand();
        const uint64_t b = operand();
        const uint64_t c = operand();
        for (const Mode mode : modes) {
            const auto host = [](uint64_t x) { return std::bit_cast<Float>(static_cast<Bits>(x)); };
            Results<Float> results;
            compute(mode.host, host(a), host(b), host(c), results);
            const Rounding r = mode.rounding;
            ASSERT_TRUE(same(add(t, a, b, r), results.sum)) << std::hex << a << ' ' << b;
            ASSERT_TRUE(same(mul(t, a, b, r), results.product)) << std::hex << a << ' ' << b;
            ASSERT_TRUE(same(div(t, a, b, r), results.quotient)) << std::hex << a << ' ' << b;
            ASSERT_TRUE(same(sqrt(t, a, r), results.root)) << std::hex << a;
            ASSERT_TRUE(same(fma(t, a, b, c, r), results.fused))
                << std::hex << a << ' ' << b << ' ' << c;
        }
    }
}

TEST(IeeeRounding, F32EqualsHost) { compare_with_host<float, uint32_t>(Type::f32); }
TEST(IeeeRounding, F64EqualsHost) { compare_with_host<double, uint64_t>(Type::f64); }

TEST(IeeeRounding, ConversionsEqualHost) {
    Random random(17);
    for (int i = 0; i < 300000; ++i) {
        const uint64_t bits = random_operand(Type::f64, random);
        const uint64_t integer = random() >> (random() % 64);
        volatile double x = std::bit_cast<double>(bits);
        volatile int64_t n = static_cast<int64_t>(integer);
        for (const Mode mode : modes) {
            std::fesetround(mode.host);
            volatile float narrow = static_cast<float>(x);
            volatile float from_n = static_cast<float>(n);
            volatile double wide_n = static_cast<double>(n);
            std::fesetround(FE_TONEAREST);
            const Rounding r = mode.rounding;
            if (!std::isnan(narrow)) {
                ASSERT_EQ(convert(Type::f64, Type::f32, bits, r),
                          std::bit_cast<uint32_t>(static_cast<float>(narrow)));
            }
            ASSERT_EQ(from_integer(Type::f32, integer, 64, true, r),
                      std::bit_cast<uint32_t>(static_cast<float>(from_n)));
            ASSERT_EQ(from_integer(Type::f64, integer, 64, true, r),
                      std::bit_cast<uint64_t>(static_cast<double>(wide_n)));
        }
    }
}

}  // namespace
}  // namespace lockwarp::num::testing
