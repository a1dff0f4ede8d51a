// SPDX-License-Identifier: Apache-2.0
// scaled_product against the second definition, and small products whose results the rules give.
#include <gtest/gtest.h>

#include <cmath>

#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "tests/num/dot_oracle.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Arch;
using isa::MmaKind;
using isa::Type;

struct Form {
    MmaKind kind;
    int k;
    int count;  // factors of a row or column
    Type scale;
};

constexpr Form mx{MmaKind::mxf8f6f4, 32, 1, Type::ue8m0};
constexpr Form fp4_halves{MmaKind::mxf4, 64, 2, Type::ue8m0};
constexpr Form fp4_groups{MmaKind::mxf4nvf4, 64, 4, Type::ue4m3};

const DotRow& row_of(const Form& f) {
    const Type a = f.kind == MmaKind::mxf8f6f4 ? Type::e4m3 : Type::e2m1;
    const DotRow* row = find_dot_row(Arch::sm_120, 16, 8, f.k, a, Type::f32, f.kind);
    EXPECT_NE(row, nullptr);
    return *row;
}

std::vector<std::pair<Type, Type>> pairs_of(const Form& f) {
    if (f.kind != MmaKind::mxf8f6f4) return {{Type::e2m1, Type::e2m1}};
    const std::array types{Type::e4m3, Type::e5m2, Type::e3m2, Type::e2m3, Type::e2m1};
    std::vector<std::pair<Type, Type>> out;
    for (const Type a : types)
        for (const Type b : types) out.emplace_back(a, b);
    return out;
}

TEST(DotScaled, EqualsTheSecondDefinition) {
    Random random(20261121);
    size_t compared = 0;
    size_t not_a_number = 0;
    size_t zero = 0;
    const size_t m = 16;
    const size_t n = 8;
    for (const Form& f : {mx, fp4_halves, fp4_groups})
        for (const auto& [a, b] : pairs_of(f))
            for (int input = 0; input < input_classes * input_classes; ++input) {
                const auto of_elements = static_cast<InputClass>(input % input_classes);
                const auto of_factors = static_cast<InputClass>(input / input_classes);
                const MatrixTypes types{a, b, Type::f32, Type::f32};
                const MatrixShape shape{m, n, f.k};
                const Operands x = make_operands(of_elements, shape, types, random);
                const auto count = static_cast<size_t>(f.count);
                const auto k = static_cast<size_t>(f.k);
                const auto fa = make_factors(of_factors, f.scale, int{m} * f.count, random);
                const auto fb = make_factors(of_factors, f.scale, int{n} * f.count, random);
                std::vector<uint64_t> d(m * n);
                scaled_product(row_of(f), shape, types, {f.scale, f.count, fa.data(), fb.data()},
                               x.a.data(), x.b.data(), x.c.data(), d.data());
                size_t different = 0;
                for (size_t i = 0; i < m; ++i)
                    for (size_t j = 0; j < n; ++j) {
                        const uint64_t expected = scaled_oracle_element(
                            row_of(f), types, f.scale, f.k, &x.a[i * k], &x.b[j * k],
                            {&fa[i * count], &fa[i * count] + count},
                            {&fb[j * count], &fb[j * count] + count}, x.c[i * n + j]);
                        different += d[i * n + j] != expected;
                        not_a_number += expected == 0x7FFFFFFF;
                        zero += expected == 0;
                        ++compared;
                    }
                ASSERT_EQ(different, 0u)
                    << isa::text_of(f.kind) << isa::row(a).name << isa::row(b).name << ", "
                    << name(of_elements) << ", factors " << name(of_factors);
            }
    EXPECT_GT(compared, 200000u);
    EXPECT_GT(not_a_number, compared / 100);
    EXPECT_LT(not_a_number, compared / 2);
    EXPECT_GT(zero, 100u);
}

// One output element; products and factors that are not given are zero and one.
struct One {
    Form f;
    Type type;
    std::vector<uint64_t> a, b;
    std::vector<uint8_t> fa, fb;

    One(const Form& form, Type t)
        : f(form), type(t), a(static_cast<size_t>(f.k)), b(static_cast<size_t>(f.k)) {
        const uint8_t one = f.scale == Type::ue8m0 ? 127 : 7 << 3;
        fa.assign(static_cast<size_t>(f.count), one);
        fb = fa;
    }
    void set(size_t k, double x, double y) {
        a[k] = convert(Type::f64, type, std::bit_cast<uint64_t>(x), Rounding::rn);
        b[k] = convert(Type::f64, type, std::bit_cast<uint64_t>(y), Rounding::rn);
    }
    uint32_t plus(uint64_t c) const {
        uint64_t d = 0;
        scaled_product(row_of(f), {1, 1, f.k}, {type, type, Type::f32, Type::f32},
                       {f.scale, f.count, fa.data(), fb.data()}, a.data(), b.data(), &c, &d);
        return static_cast<uint32_t>(d);
    }
};

uint32_t f32(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }

TEST(DotScaled, FactorsScale) {
    One x(mx, Type::e4m3);
    x.set(0, 1.5, 2);
    x.set(31, -1, 1);
    x.fa[0] = 127 + 5;
    x.fb[0] = 127 - 2;
    EXPECT_EQ(x.plus(f32(0.5)), f32(2.0 * 8 + 0.5));
    One y(fp4_halves, Type::e2m1);
    y.set(0, 6, 6);
    y.set(63, -0.5, 0.5);
    y.fa = {127 + 1, 127 + 3};
    y.fb = {127, 127 - 1};
    EXPECT_EQ(y.plus(0), f32(72.0 - 1));
    One z(fp4_groups, Type::e2m1);
    for (size_t g = 0; g < 4; ++g) z.set(16 * g + g, 3, 1);
    z.fa = {0x38, 0x40, 0x3C, 0x01};  // 1, 2, 1.5, 2^-9
    z.fb = {0xB8, 0x38, 0x7E, 0x38};  // 1 (the sign is not looked at), 1, 448, 1
    EXPECT_EQ(z.plus(f32(1)), f32(1 + 3.0 * (1 + 2 + 1.5 * 448 + std::ldexp(1, -9))));
}

TEST(DotScaled, ExponentsOfFactorsAreNotClamped) {
    One x(mx, Type::e5m2);
    x.set(0, std::ldexp(1, -14), std::ldexp(1, -14));
    x.fa[0] = 254;
    x.fb[0] = 127 + 28;
    EXPECT_EQ(x.plus(0), 0x7F000000u);  // 2^127
    x.fb[0] = 127 + 29;
    EXPECT_EQ(x.plus(0), 0x7F800000u);
    x.set(1, -std::ldexp(1, -14), std::ldexp(1, -14));
    EXPECT_EQ(x.plus(f32(0)), 0u);
    x.fa[0] = x.fb[0] = 0;
    EXPECT_EQ(x.plus(f32(3)), f32(3));
}

// The factors, not the products, say how far the others are cut: a group that cancels still cuts.
TEST(DotScaled, AGroupThatCancelsKeepsItsExponent) {
    One x(fp4_groups, Type::e2m1);
    x.set(0, 1, 1);
    x.set(1, -1, 1);
    x.fa[0] = x.fb[0] = 0x7E;  // 448: exponent 8
    const uint32_t small = f32(std::ldexp(1.5, 16 - 35));
    EXPECT_EQ(x.plus(small), f32(std::ldexp(1, 16 - 35)));
    x.set(1, 0, 0);
    x.set(0, 0, 1);  // all products are zero
    EXPECT_EQ(x.plus(small), small);
    x.set(0, 1, 1);
    x.fa[0] = 0;  // a factor that is zero
    EXPECT_EQ(x.plus(small), small);
}

// The floor that zero terms put under a sum, and the bits kept below the largest exponent.
TEST(DotScaled, FloorOfZeroTerms) {
    One x(mx, Type::e5m2);
    x.fa[0] = 0;         // 2^-127
    x.fb[0] = 127 - 22;  // 2^-22
    x.set(0, 1, 1);
    x.set(1, -std::ldexp(1, -9), 1);
    EXPECT_EQ(x.plus(0), 0u);
    x.set(1, -std::ldexp(1, -10), 1);
    EXPECT_EQ(x.plus(0), 1u);
    One y(fp4_halves, Type::e2m1);
    y.set(0, 1, 1);
    y.set(32, -1, 1);
    y.fa = {0, 0};
    y.fb = {127 - 22, 127 - 47};
    EXPECT_EQ(y.plus(0), 0u);
    y.fb[1] = 127 - 48;
    EXPECT_EQ(y.plus(0), 1u);
}

TEST(DotScaled, BitsBelowTheLargestTerm) {
    One x(mx, Type::e4m3);
    x.set(0, 1, 1);
    x.set(31, -1, 1);
    x.fa[0] = 127 + 40;
    EXPECT_EQ(x.plus(f32(std::ldexp(1.5, 15))), f32(std::ldexp(1, 15)));
    EXPECT_EQ(x.plus(f32(std::ldexp(1.5, 14))), 0u);
    One y(fp4_halves, Type::e2m1);
    y.set(0, 6, 6);
    y.set(63, -6, 6);
    y.fa = {127 + 40, 127 + 40};
    EXPECT_EQ(y.plus(f32(std::ldexp(1.5, 5))), f32(std::ldexp(1, 5)));
    EXPECT_EQ(y.plus(f32(std::ldexp(1.5, 4))), 0u);
}

TEST(DotScaled, NotANumber) {
    for (const Form& f : {mx, fp4_halves, fp4_groups}) {
        One x(f, f.kind == MmaKind::mxf8f6f4 ? Type::e4m3 : Type::e2m1);
        EXPECT_EQ(x.plus(0x80000000), 0u);
        EXPECT_EQ(x.plus(0x7F800001), 0x7FFFFFFFu);
        EXPECT_EQ(x.plus(0xFF800000), 0xFF800000u);
        const uint8_t nan = f.scale == Type::ue8m0 ? 0xFF : 0x7F;
        One y = x;
        y.fa.back() = nan;
        EXPECT_EQ(y.plus(0x7F800000), 0x7FFFFFFFu);
        y = x;
        y.fb.front() = nan;
        EXPECT_EQ(y.plus(0), 0x7FFFFFFFu);
        if (f.scale != Type::ue4m3) continue;
        y.fb.front() = 0xFF;
        EXPECT_EQ(y.plus(0), 0x7FFFFFFFu);
    }
    One x(mx, Type::e4m3);
    x.a[3] = 0x7F;
    EXPECT_EQ(x.plus(0), 0x7FFFFFFFu);
    One y(mx, Type::e5m2);
    y.a[3] = 0xFC;
    EXPECT_EQ(y.plus(0), 0x7FFFFFFFu);  // Inf*0
    y.b[3] = 0x3C;
    EXPECT_EQ(y.plus(0), 0xFF800000u);
    EXPECT_EQ(y.plus(0x7F800000), 0x7FFFFFFFu);
}

// The comparison can fail: each parameter changes results.
TEST(DotScaled, SecondDefinitionNoticesOtherParameters) {
    One x(fp4_groups, Type::e2m1);
    x.set(0, 1, 1);
    x.set(16, -1.5, 0.5);
    x.fa = {0x7E, 0x01, 0x38, 0x38};
    x.fb = {0x7E, 0x01, 0x38, 0x38};
    const MatrixTypes types{x.type, x.type, Type::f32, Type::f32};
    const auto oracle = [&](const DotRow& row) {
        return scaled_oracle_element(row, types, x.f.scale, x.f.k, x.a.data(), x.b.data(), x.fa,
                                     x.fb, 0);
    };
    DotRow other = row_of(x.f);
    EXPECT_EQ(oracle(other), x.plus(0));
    other.sum.fraction = 30;
    EXPECT_NE(oracle(other), x.plus(0));
}

}  // namespace
}  // namespace lockwarp::num::testing
