// SPDX-License-Identifier: Apache-2.0
// The plain definition of scaled_product. One output element, from k products and C:
//
// 1. NaN among the elements, the factors and C, Inf*0, or infinities of both signs among products
//    and C: the canonical NaN. Otherwise an infinity among products or C: that infinity. A factor
//    that is NaN counts also where all that it scales is zero.
// 2. Terms. scaled_block: each product, exact and not renormalised, its exponent the sum of the two
//    elements' exponent fields and the two factors' exponents; no product's exponent is clamped.
//    scaled_groups: the exact sum of each 16 products times the two factors' significands, its
//    exponent the sum of the factors' exponents alone. A subnormal element or factor has its
//    format's smallest exponent.
// 3. C is one more term, with its own exponent field.
// 4. A product that is zero, a group of products that are all zero or whose factors' product is
//    zero, and a zero C have the exponent `zero_exponent`. A group whose products cancel keeps its
//    own.
// 5. Each term is truncated toward zero to a multiple of 2^(largest exponent - fraction). The sum
// of
//    the truncated terms is exact, and rounded once, toward zero: overflow to infinity at 2^128 and
//    not before. A zero result is +0.
//
// Source: MMA-Sim (arXiv 2511.10909 and the program published with it, version 2.1.1), its models
// of block-scaled mma on sm_120. Nothing of it was measured here.
#include <array>
#include <cstdlib>
#include <optional>

#include "emu/num/dot.hpp"

namespace lockwarp::num {
namespace {

using isa::Type;

// The significand of ue8m0 is 1; that of ue4m3 has ue4m3_point places behind its binary point.
struct Factor {
    int32_t significand = 1;
    int32_t exponent = 0;
    bool nan = false;
};

constexpr int ue8m0_bias = 127;
constexpr int ue4m3_point = 3;

// Places behind the binary point in the product of two factors' significands.
constexpr int point_of_two(Type factors) { return factors == Type::ue4m3 ? 2 * ue4m3_point : 0; }

constexpr Factor unpack_factor(Type type, uint8_t bits) {
    if (type == Type::ue8m0) return {1, bits - ue8m0_bias, bits == 0xFF};
    const Number x = unpack(format(Type::e4m3), bits & 0x7F);
    // A zero's exponent plays no part.
    return {static_cast<int32_t>(x.significand), x.exponent + ue4m3_point, x.kind == Class::nan};
}

// A term of the sum before its truncation: significand * 2^(exponent - point).
struct Term {
    int64_t significand;
    int32_t exponent;
};

// Rule 5's truncation.
int64_t truncated(const Term& t, int point, int fraction, int32_t largest) {
    const int lift = fraction - point;
    const auto magnitude = static_cast<uint64_t>(std::abs(t.significand)) << lift;
    const int32_t right = largest - t.exponent;
    const auto kept = static_cast<int64_t>(magnitude >> (right < 63 ? right : 63));
    return t.significand < 0 ? -kept : kept;
}

// The sums fit, with F of 25 and 35: a product of two elements is below 4, and of two e2m1 at most
// 36, in quarters; two ue4m3 factors are at most 15 * 15, in units of 2^-6; C is below 2.
constexpr int64_t max_block_sum = (int64_t{max_block} << (25 + 2)) + (int64_t{1} << (25 + 1));
constexpr int64_t max_group = int64_t{group_products} * 36 * 4 * 15 * 15;
constexpr int64_t max_group_sum =
    (max_groups * max_group << (35 - 2 - 6)) + (int64_t{1} << (35 + 1));
static_assert(min_exponent(format(Type::e2m1)) == 0);
static_assert(max_block_sum < int64_t{1} << 40);
static_assert(max_group < int64_t{1} << 20);
static_assert(max_group_sum < int64_t{1} << 50);

constexpr int max_products = max_groups * group_products;

// One row of A or column of B, taken apart. A row's sum takes at most max_products products.
struct Line {
    std::array<int32_t, max_products> significand;  // with its sign; 0 for zero
    std::array<int32_t, max_products> exponent;     // of the field
    std::array<Number, max_products> whole;
    std::array<Factor, max_groups> factors;
    bool special = false;  // an element is infinite or NaN, or a factor is NaN

    // In groups all elements have the smallest exponent, and significands that may be larger.
    void set(const FormatRow& f, bool groups, const uint64_t* bits, int k, const Scales& scales,
             const uint8_t* factor_bits) {
        special = false;
        for (int i = 0; i < k; ++i) {
            const Number x = unpack(f, bits[i]);
            const int32_t above = x.exponent + f.fraction_bits - min_exponent(f);
            const auto magnitude = static_cast<int32_t>(x.significand << (groups ? above : 0));
            whole[i] = x;
            significand[i] = x.kind == Class::zero ? 0 : x.negative ? -magnitude : magnitude;
            exponent[i] = min_exponent(f) + (groups ? 0 : above);
            special |= x.kind == Class::infinity || x.kind == Class::nan;
        }
        for (int i = 0; i < scales.count; ++i) {
            factors[i] = unpack_factor(scales.type, factor_bits[i]);
            special |= factors[i].nan;
        }
    }
};

struct Shape {
    int k;
    int of_a_term;  // products in a term
    int point;      // of a term's significand
};

// Rule 1: the result of an element where something is special.
std::optional<uint64_t> special_element(const FormatRow& d, const Line& a, const Line& b,
                                        const Shape& shape, const Scales& scales, const Number& c) {
    bool nan = c.kind == Class::nan;
    bool positive = c.kind == Class::infinity && !c.negative;
    bool negative = c.kind == Class::infinity && c.negative;
    for (int i = 0; i < scales.count; ++i) nan |= a.factors[i].nan || b.factors[i].nan;
    for (int i = 0; i < shape.k; ++i) {
        const Number& x = a.whole[i];
        const Number& y = b.whole[i];
        nan |= x.kind == Class::nan || y.kind == Class::nan;
        if (x.kind != Class::infinity && y.kind != Class::infinity) continue;
        nan |= x.kind == Class::zero || y.kind == Class::zero;
        (x.negative != y.negative ? negative : positive) = true;
    }
    if (!nan && !positive && !negative) return std::nullopt;
    return nan || (positive && negative) ? d.nan : with_sign(d, negative, infinity_magnitude(d));
}

// Rules 2 to 5, for inputs without infinity and NaN.
uint64_t finite_element(const FusedSum& rules, const Shape& shape, const Scales& scales,
                        const Line& a, const Line& b, const FormatRow& d, const Number& c) {
    std::array<Term, max_block> terms;
    int count = 0;
    const int32_t zero_exponent = rules.zero_exponent;
    const Term addend{
        c.negative ? -static_cast<int64_t>(c.significand) : static_cast<int64_t>(c.significand),
        c.kind == Class::zero ? zero_exponent : c.exponent + d.fraction_bits};
    int32_t largest = addend.exponent;
    const int each = shape.k / scales.count;  // products that one factor scales
    for (int from = 0; from < shape.k; from += shape.of_a_term) {
        const Factor& x = a.factors[from / each];
        const Factor& y = b.factors[from / each];
        const int32_t factor = x.significand * y.significand;
        int32_t sum = 0;
        bool zero = factor == 0;
        bool products = false;
        for (int i = from; i < from + shape.of_a_term; ++i) {
            const int32_t product = a.significand[i] * b.significand[i];
            sum += product;
            products |= product != 0;
        }
        zero |= !products;
        // In a group all exponents are the same.
        const int32_t exponent = x.exponent + y.exponent + a.exponent[from] + b.exponent[from];
        const Term t{int64_t{sum} * factor, zero ? zero_exponent : exponent};
        largest = std::max(largest, t.exponent);
        terms[count++] = t;
    }
    int64_t sum = truncated(addend, d.fraction_bits, rules.fraction, largest);
    for (int i = 0; i < count; ++i)
        sum += truncated(terms[i], shape.point, rules.fraction, largest);
    const RoundTo to{
        .rounding = rules.rounding, .overflow = Overflow::infinity, .kept = rules.kept};
    const uint64_t bits =
        round_pack(d, to, sum < 0, largest - rules.fraction, static_cast<uint64_t>(std::abs(sum)));
    return bits == sign_bit(d) ? 0 : bits;
}

}  // namespace

void scaled_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const Scales& scales,
                    const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const FormatRow& a_format = format(types.a);
    const FormatRow& b_format = format(types.b);
    const FormatRow& d_format = format(types.d);
    const bool groups = row.method == Method::scaled_groups;
    const Shape inner{shape.k, groups ? group_products : 1,
                      a_format.fraction_bits + b_format.fraction_bits + point_of_two(scales.type)};
    // Columns are taken apart a few at a time, and each row of A once for all of them.
    constexpr int tile = 8;
    std::array<Line, tile> columns;
    Line line;
    for (int first = 0; first < shape.n; first += tile) {
        const int count = std::min(tile, shape.n - first);
        for (int j = 0; j < count; ++j)
            columns[j].set(b_format, groups, b + (first + j) * shape.k, shape.k, scales,
                           scales.b + (first + j) * scales.count);
        for (int i = 0; i < shape.m; ++i) {
            line.set(a_format, groups, a + i * shape.k, shape.k, scales,
                     scales.a + i * scales.count);
            for (int j = 0; j < count; ++j) {
                const int at = i * shape.n + first + j;
                const Number addend = unpack(d_format, c[at]);
                const bool special = line.special || columns[j].special ||
                                     addend.kind == Class::infinity || addend.kind == Class::nan;
                std::optional<uint64_t> bits;
                if (special)
                    bits = special_element(d_format, line, columns[j], inner, scales, addend);
                d[at] = bits ? *bits
                             : finite_element(row.sum, inner, scales, line, columns[j], d_format,
                                              addend);
            }
        }
    }
}

}  // namespace lockwarp::num
