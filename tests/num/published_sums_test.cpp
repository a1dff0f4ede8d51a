// SPDX-License-Identifier: Apache-2.0
// What was published of the tensor cores that are not at hand, told apart by sums of a few terms:
// products in one sum, bits below its largest term, rounding (arXiv 2512.07004, measured on V100,
// A100, A2, L40S and H200; arXiv 2511.10909).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "tests/print.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Arch;
using isa::Type;

struct Published {
    Arch arch;
    Type a, d;
    int block;     // products in one sum
    int fraction;  // bits kept below the first bit of the largest term
};

constexpr Published published[] = {
    {Arch::sm_70, Type::f16, Type::f32, 4, 23},   {Arch::sm_70, Type::f16, Type::f16, 4, 23},
    {Arch::sm_75, Type::f16, Type::f32, 8, 24},   {Arch::sm_75, Type::f16, Type::f16, 8, 24},
    {Arch::sm_80, Type::f16, Type::f32, 8, 24},   {Arch::sm_80, Type::f16, Type::f16, 8, 24},
    {Arch::sm_80, Type::bf16, Type::f32, 8, 24},  {Arch::sm_80, Type::tf32, Type::f32, 4, 24},
    {Arch::sm_86, Type::f16, Type::f32, 8, 24},   {Arch::sm_86, Type::f16, Type::f16, 8, 24},
    {Arch::sm_86, Type::bf16, Type::f32, 8, 24},  {Arch::sm_86, Type::tf32, Type::f32, 4, 24},
    {Arch::sm_89, Type::f16, Type::f32, 8, 24},   {Arch::sm_89, Type::f16, Type::f16, 8, 24},
    {Arch::sm_89, Type::bf16, Type::f32, 8, 24},  {Arch::sm_89, Type::tf32, Type::f32, 4, 24},
    {Arch::sm_89, Type::e4m3, Type::f32, 16, 13}, {Arch::sm_89, Type::e4m3, Type::f16, 16, 13},
    {Arch::sm_90, Type::f16, Type::f32, 16, 25},  {Arch::sm_90, Type::f16, Type::f16, 16, 25},
    {Arch::sm_90, Type::bf16, Type::f32, 16, 25}, {Arch::sm_90, Type::tf32, Type::f32, 8, 25},
};

void PrintTo(const Published& p, std::ostream* out) {
    *out << isa::row(p.arch).name << isa::row(p.a).name << isa::row(p.d).name;
}

double power(int exponent) { return std::ldexp(1.0, exponent); }

uint64_t bits(Type t, double value) {
    return convert(Type::f64, t, std::bit_cast<uint64_t>(value), Rounding::rn);
}

class PublishedSums : public ::testing::TestWithParam<Published> {
  protected:
    // The sum of products, by place, and c; the plain path, and the fast one beside it.
    static double sum(int k, const std::map<int, double>& products, double c = 0) {
        const Published& p = GetParam();
        const DotRow* row = find_dot_row(p.arch, 16, 8, k, p.a, p.d);
        if (row == nullptr) {
            ADD_FAILURE() << "no row";
            return 0;
        }
        std::vector<uint64_t> x(static_cast<size_t>(k), 0);
        std::vector<uint64_t> y(static_cast<size_t>(k), 0);
        for (const auto& [place, product] : products) {
            int exponent = 0;
            const double significand = std::frexp(product, &exponent);
            const int half = exponent / 2;
            x[static_cast<size_t>(place)] = bits(p.a, std::ldexp(significand, half));
            y[static_cast<size_t>(place)] = bits(p.a, power(exponent - half));
        }
        const uint64_t addend = bits(p.d, c);
        uint64_t plain = 0;
        uint64_t fast = 0;
        const MatrixTypes types{p.a, p.a, p.d, p.d};
        matrix_product(*row, {1, 1, k}, types, x.data(), y.data(), &addend, &plain);
        matrix_product_fast(*row, {1, 1, k}, types, x.data(), y.data(), &addend, &fast);
        EXPECT_EQ(plain, fast);
        return std::bit_cast<double>(convert(p.d, Type::f64, plain, Rounding::rn));
    }
};

// The largest terms cancel; what is left is the third term, if it was kept.
TEST_P(PublishedSums, KeepTheseBits) {
    const Published& p = GetParam();
    const int large = 8;
    const double last = power(large - p.fraction);
    const int k = p.block;
    for (const double sign : {1.0, -1.0}) {
        EXPECT_EQ(sum(k, {{0, power(large)}, {1, -power(large)}, {2, sign * last}}), sign * last);
        EXPECT_EQ(sum(k, {{0, power(large)}, {1, -power(large)}, {2, sign * last / 2}}), 0);
    }
}

// A small term is lost beside large ones in its own sum, and kept in the next.
TEST_P(PublishedSums, HaveThisManyProducts) {
    const Published& p = GetParam();
    const int large = 8;
    const double small = power(large - p.fraction - 1);
    EXPECT_EQ(sum(p.block, {{0, power(large)}, {1, -power(large)}, {p.block - 1, small}}), 0);
    EXPECT_EQ(sum(2 * p.block, {{0, power(large)}, {1, -power(large)}, {p.block, small}}), small);
}

// To f32 toward zero; to f16 to the nearest.
TEST_P(PublishedSums, AreRounded) {
    const Published& p = GetParam();
    // 2 and one and a half of its last bits.
    const int digits = p.d == Type::f16 ? 11 : p.fraction < 23 ? 14 : 24;
    const double ulp = power(2 - digits);
    const double expected = p.d == Type::f16 ? 2 + 2 * ulp : 2 + ulp;
    EXPECT_EQ(sum(p.block, {{0, 1}, {1, 1}, {2, 1.5 * ulp}}), expected);
    EXPECT_EQ(sum(p.block, {{0, -1}, {1, -1}, {2, -1.5 * ulp}}), -expected);
}

INSTANTIATE_TEST_SUITE_P(Literature, PublishedSums, ::testing::ValuesIn(published),
                         [](const auto& tested) {
                             std::string name = ::testing::PrintToString(tested.param);
                             for (char& letter : name)
                                 if (letter == '.') letter = '_';
                             return name;
                         });

}  // namespace
}  // namespace lockwarp::num::testing
