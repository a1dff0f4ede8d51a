// SPDX-License-Identifier: Apache-2.0
#include "tests/num/dot_oracle.hpp"

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace lockwarp::num::testing {
namespace {

using isa::Type;

// A two's complement number of 1024 bits whose lowest bit is worth 2^-lowest_place.
constexpr int lowest_place = 420;
constexpr size_t wide_words = 16;

struct Wide {
    std::array<uint64_t, wide_words> words{};

    static Wide of(uint64_t significand, int exponent) {
        Wide x;
        if (significand == 0) return x;
        int place = exponent + lowest_place;
        for (; place < 0 && significand % 2 == 0; ++place) significand /= 2;
        if (place < 0) throw std::out_of_range("a bit below the lowest place");
        const auto word = static_cast<size_t>(place / 64);
        const int shift = place % 64;
        x.words.at(word) = significand << shift;
        const uint64_t rest = shift == 0 ? 0 : significand >> (64 - shift);
        if (rest != 0) x.words.at(word + 1) = rest;
        return x;
    }
    bool negative() const { return words.back() >> 63 != 0; }
    // Of a magnitude that is not zero: the exponent of its leading bit.
    int leading() const {
        size_t i = wide_words - 1;
        while (words[i] == 0) --i;
        return static_cast<int>(i) * 64 + 63 - std::countl_zero(words[i]) - lowest_place;
    }
    bool zero() const { return words == std::array<uint64_t, wide_words>{}; }
    // Of magnitudes.
    bool below(const Wide& other) const {
        for (size_t i = wide_words; i-- > 0;)
            if (words[i] != other.words[i]) return words[i] < other.words[i];
        return false;
    }
    // Of a magnitude: drops what lies below 2^exponent.
    void truncate_below(int exponent) {
        const int places = std::max(0, exponent + lowest_place);
        const auto whole = static_cast<size_t>(places / 64);
        for (size_t i = 0; i < whole; ++i) words.at(i) = 0;
        if (places % 64 != 0) words.at(whole) &= ~uint64_t{0} << (places % 64);
    }
    Wide operator+(const Wide& other) const {
        Wide sum;
        uint64_t carry = 0;
        for (size_t i = 0; i < wide_words; ++i) {
            const uint64_t part = words[i] + other.words[i];
            sum.words[i] = part + carry;
            carry = part < words[i] || sum.words[i] < part ? 1 : 0;
        }
        return sum;
    }
    Wide operator-() const {
        Wide inverse;
        for (size_t i = 0; i < wide_words; ++i) inverse.words[i] = ~words[i];
        return inverse + of(1, -lowest_place);
    }
    Wide operator-(const Wide& other) const { return *this + -other; }
};

struct Fields {
    int exponent_bits;
    int fraction_bits;
};

Fields fields(Type t) {
    switch (t) {
        case Type::f16:
            return {5, 10};
        case Type::bf16:
            return {8, 7};
        case Type::tf32:
            return {8, 10};
        case Type::f32:
            return {8, 23};
        case Type::e4m3:
            return {4, 3};
        case Type::e5m2:
            return {5, 2};
        case Type::e3m2:
            return {3, 2};
        case Type::e2m3:
            return {2, 3};
        case Type::e2m1:
            return {2, 1};
        default:
            return {11, 52};
    }
}

// A value by its fields, without sign: significand * 2^exponent. The pattern of infinity counts as
// the next power of two.
struct Decoded {
    bool negative;
    bool finite;
    uint64_t significand;
    int exponent;
    int field_exponent;
};

Decoded decode(Type t, uint64_t bits) {
    if (t == Type::tf32) bits >>= 13;
    const auto [exponent_bits, fraction_bits] = fields(t);
    const uint64_t field = (bits >> fraction_bits) % (uint64_t{1} << exponent_bits);
    const uint64_t fraction = bits % (uint64_t{1} << fraction_bits);
    const int middle = (1 << (exponent_bits - 1)) - 1;
    Decoded x;
    x.negative = ((bits >> (exponent_bits + fraction_bits)) & 1) != 0;
    x.finite = field != (uint64_t{1} << exponent_bits) - 1;
    // Only the pattern of all ones is no number.
    if (t == Type::e4m3) x.finite = x.finite || fraction != 7;
    if (t == Type::e3m2 || t == Type::e2m3 || t == Type::e2m1) x.finite = true;
    x.significand = field == 0 ? fraction : fraction + (uint64_t{1} << fraction_bits);
    x.field_exponent = field == 0 ? 1 - middle : static_cast<int>(field) - middle;
    x.exponent = x.field_exponent - fraction_bits;
    return x;
}

double host_value(Type t, uint64_t bits) {
    const Decoded x = decode(t, bits);
    double value = std::ldexp(static_cast<double>(x.significand), x.exponent);
    if (!x.finite) {
        const uint64_t hidden = uint64_t{1} << fields(t).fraction_bits;
        value = x.significand == hidden ? INFINITY : NAN;
    }
    return x.negative ? -value : value;
}

// The largest pattern, up to infinity's, whose value is not above the magnitude.
uint64_t floor_pattern(Type t, const Wide& magnitude) {
    uint64_t low = 0;
    uint64_t high = (((uint64_t{1} << fields(t).exponent_bits) - 1) << fields(t).fraction_bits) + 1;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const Decoded x = decode(t, middle);
        if (magnitude.below(Wide::of(x.significand, x.exponent)))
            high = middle;
        else
            low = middle;
    }
    return low;
}

uint64_t round_wide(Type t, Rounding rounding, bool negative, const Wide& magnitude) {
    const int width = 1 + fields(t).exponent_bits + fields(t).fraction_bits;
    const uint64_t infinity = ((uint64_t{1} << fields(t).exponent_bits) - 1)
                              << fields(t).fraction_bits;
    uint64_t pattern = floor_pattern(t, magnitude);
    if (rounding == Rounding::rn && pattern < infinity) {
        const Decoded below = decode(t, pattern);
        const Decoded above = decode(t, pattern + 1);
        const Wide from_below = magnitude - Wide::of(below.significand, below.exponent);
        const Wide to_above = Wide::of(above.significand, above.exponent) - magnitude;
        const bool nearer_above = to_above.below(from_below);
        const bool nearer_below = from_below.below(to_above);
        if (nearer_above || (!nearer_below && pattern % 2 != 0)) ++pattern;
    }
    return pattern == 0 || !negative ? pattern : pattern | uint64_t{1} << (width - 1);
}

struct Term {
    bool negative;
    int exponent;
    Wide magnitude;
};

uint64_t sum_of(const FusedSum& rules, Type d, std::vector<Term> terms) {
    int largest = terms.front().exponent;
    for (const Term& t : terms) largest = std::max(largest, t.exponent);
    Wide sum;
    for (Term& t : terms) {
        t.magnitude.truncate_below(largest - rules.fraction);
        sum = t.negative ? sum - t.magnitude : sum + t.magnitude;
    }
    Wide magnitude = sum.negative() ? -sum : sum;
    // Fewer bits than the format's are kept only where the rest is cut off.
    if (rules.kept <= fields(d).fraction_bits && !magnitude.zero())
        magnitude.truncate_below(magnitude.leading() - rules.kept + 1);
    return round_wide(d, rules.rounding, sum.negative(), magnitude);
}

uint64_t fused_block(const DotRow& row, MatrixTypes types, Type c_type, int count,
                     const uint64_t* a, const uint64_t* b, uint64_t c) {
    // Zeros have no part in whether infinities meet, but Inf*0 is NaN.
    double special = 0;
    for (int i = 0; i < count; ++i) {
        const double product = host_value(types.a, a[i]) * host_value(types.b, b[i]);
        if (!std::isfinite(product)) special += product;
    }
    if (!std::isfinite(host_value(c_type, c))) special += host_value(c_type, c);
    const uint64_t infinity = ((uint64_t{1} << fields(types.d).exponent_bits) - 1)
                              << fields(types.d).fraction_bits;
    const uint64_t infinity_and_sign =
        infinity | uint64_t{1} << (fields(types.d).exponent_bits + fields(types.d).fraction_bits);
    if (std::isnan(special)) return types.d == Type::f16 ? 0x7FFF : 0x7FFFFFFF;
    if (std::isinf(special)) return special < 0 ? infinity_and_sign : infinity;

    std::vector<Term> terms;
    const Decoded addend = decode(c_type, c);
    terms.push_back({addend.negative,
                     addend.significand == 0 ? row.sum.zero_exponent : addend.field_exponent,
                     Wide::of(addend.significand, addend.exponent)});
    for (int i = 0; i < count; ++i) {
        const Decoded x = decode(types.a, a[i]);
        const Decoded y = decode(types.b, b[i]);
        const uint64_t significand = x.significand * y.significand;
        terms.push_back(
            {x.negative != y.negative,
             significand == 0 ? row.sum.zero_exponent : x.field_exponent + y.field_exponent,
             Wide::of(significand, x.exponent + y.exponent)});
    }
    return sum_of(row.sum, types.d, std::move(terms));
}

// A factor of a scaled product: its value's parts, as decode has them.
struct Factor {
    bool nan;
    uint64_t significand;
    int exponent;        // value = significand * 2^exponent
    int field_exponent;  // with a significand in [1, 2), or of a subnormal
};

Factor factor(Type t, uint8_t bits) {
    if (t == Type::ue8m0) return {bits == 255, 1, bits - 127, bits - 127};
    const Decoded x = decode(Type::e4m3, bits % 128);
    return {!x.finite, x.significand, x.exponent, x.field_exponent};
}

// x + y of one format, rounded to nearest.
uint64_t host_sum(Type t, uint64_t x, uint64_t y) {
    const double all = host_value(t, x) + host_value(t, y);
    if (std::isnan(all)) return t == Type::f16 ? 0x7FFF : 0x7FFFFFFF;
    if (t == Type::f32) {
        const float sum = std::bit_cast<float>(static_cast<uint32_t>(x)) +
                          std::bit_cast<float>(static_cast<uint32_t>(y));
        return std::bit_cast<uint32_t>(sum);
    }
    if (all == 0) return std::signbit(all) ? 0x8000 : 0;
    if (std::isinf(all)) return all < 0 ? 0xFC00 : 0x7C00;
    // The sum of two f16 is exact in f64.
    const Decoded exact = decode(Type::f64, std::bit_cast<uint64_t>(all));
    return round_wide(t, Rounding::rn, exact.negative, Wide::of(exact.significand, exact.exponent));
}

// The f16 of the same value; every fp8 number has one.
uint64_t as_f16(Type t, uint64_t bits) {
    const Decoded x = decode(t, bits);
    if (!x.finite) return std::isnan(host_value(t, bits)) ? 0x7FFF : x.negative ? 0xFC00 : 0x7C00;
    return round_wide(Type::f16, Rounding::rn, x.negative, Wide::of(x.significand, x.exponent));
}

uint64_t fp8_by_f16(const DotRow& row, MatrixTypes types, int k, const uint64_t* a,
                    const uint64_t* b, uint64_t c) {
    std::vector<uint64_t> x[2];
    std::vector<uint64_t> y[2];
    for (int i = 0; i < k; ++i) {
        x[i / 2 % 2].push_back(as_f16(types.a, a[i]));
        y[i / 2 % 2].push_back(as_f16(types.b, b[i]));
    }
    const MatrixTypes f16{Type::f16, Type::f16, types.d, types.d};
    uint64_t sum = 0;
    for (int half = 0; half < 2; ++half)
        sum = fused_block(row, f16, types.d, k / 2, x[half].data(), y[half].data(), sum);
    return host_sum(types.d, sum, c);
}

uint64_t host_routine(MatrixTypes types, const uint64_t* a, const uint64_t* b, uint64_t c) {
    std::array<float, 4> x;
    std::array<float, 4> y;
    for (size_t i = 0; i < 4; ++i) {
        x[i] = static_cast<float>(host_value(types.a, a[i]));
        y[i] = static_cast<float>(host_value(types.b, b[i]));
    }
    const auto z = static_cast<float>(host_value(types.c, c));
    if (types.d == Type::f32) {
        float all = 0;
        for (size_t i = 0; i < 4; ++i) all = std::fma(x[i], y[i], all);
        all += z;
        return std::isnan(all) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(all);
    }
    const float all = (z + std::fma(x[1], y[1], x[0] * y[0])) + std::fma(x[3], y[3], x[2] * y[2]);
    if (std::isnan(all)) return 0x7FFF;
    if (std::isinf(all)) return all < 0 ? 0xFC00 : 0x7C00;
    if (all == 0) return std::signbit(all) ? 0x8000 : 0;
    const Decoded exact = decode(Type::f32, std::bit_cast<uint32_t>(all));
    const uint64_t bits = round_wide(Type::f16, Rounding::rn, exact.negative,
                                     Wide::of(exact.significand, exact.exponent));
    // A sum of the routine, unlike one of a tensor core, keeps the sign when it rounds to zero.
    return exact.negative ? bits | 0x8000 : bits;
}

// x * y + z in the host's rounding mode of that name. Being volatile keeps it between the changes.
double host_fma(Rounding rounding, double x, double y, double z) {
    const int mode = rounding == Rounding::rz   ? FE_TOWARDZERO
                     : rounding == Rounding::rm ? FE_DOWNWARD
                     : rounding == Rounding::rp ? FE_UPWARD
                                                : FE_TONEAREST;
    const volatile double a = x;
    const volatile double b = y;
    const volatile double c = z;
    std::fesetround(mode);
    const volatile double sum = std::fma(a, b, c);
    std::fesetround(FE_TONEAREST);
    return sum;
}

uint64_t host_chain(Rounding rounding, int k, const uint64_t* a, const uint64_t* b, uint64_t c) {
    const auto is_nan = [](uint64_t bits) { return std::isnan(std::bit_cast<double>(bits)); };
    const uint64_t quiet = uint64_t{1} << 51;
    for (int i = 0; i < k; ++i) {
        if (is_nan(b[i])) {
            c = b[i] | quiet;
        } else if (is_nan(c)) {
            c |= quiet;
        } else if (is_nan(a[i])) {
            c = a[i] | quiet;
        } else {
            const double next = host_fma(rounding, std::bit_cast<double>(a[i]),
                                         std::bit_cast<double>(b[i]), std::bit_cast<double>(c));
            c = std::isnan(next) ? 0xFFF8000000000000 : std::bit_cast<uint64_t>(next);
        }
    }
    return c;
}

uint64_t host_integer(MatrixTypes types, int k, const uint64_t* a, const uint64_t* b, uint64_t c) {
    const auto value = [](Type t, uint64_t bits) -> int64_t {
        if (t == Type::s4) return static_cast<int64_t>((bits ^ 8) % 16) - 8;
        return t == Type::s8 ? static_cast<int8_t>(bits) : static_cast<uint8_t>(bits);
    };
    int64_t sum = static_cast<int32_t>(c);
    for (int i = 0; i < k; ++i)
        sum += types.combine == isa::Combine::xor_ ? static_cast<int64_t>(a[i] != b[i])
                                                   : value(types.a, a[i]) * value(types.b, b[i]);
    if (types.satfinite && sum > INT32_MAX) sum = INT32_MAX;
    if (types.satfinite && sum < INT32_MIN) sum = INT32_MIN;
    return static_cast<uint32_t>(sum);
}

}  // namespace

uint64_t oracle_element(const DotRow& row, MatrixTypes types, int k, const uint64_t* a,
                        const uint64_t* b, uint64_t c) {
    switch (row.method) {
        case Method::fma_routine:
            return host_routine(types, a, b, c);
        case Method::fma_chain_f64:
            return host_chain(types.rounding, k, a, b, c);
        case Method::integer:
            return host_integer(types, k, a, b, c);
        case Method::f16_halves:
            return fp8_by_f16(row, types, k, a, b, c);
        case Method::fused_blocks:
        case Method::scaled_block:
        case Method::scaled_groups:
            break;
    }
    Type c_type = types.c;
    for (int from = 0; from < k; from += row.sum.block) {
        const int count = std::min<int>(row.sum.block, k - from);
        c = fused_block(row, types, c_type, count, a + from, b + from, c);
        c_type = types.d;
    }
    return c;
}

uint64_t scaled_oracle_element(const DotRow& row, MatrixTypes types, Type scale, int k,
                               const uint64_t* a, const uint64_t* b,
                               const std::vector<uint8_t>& a_factors,
                               const std::vector<uint8_t>& b_factors, uint64_t c) {
    const int each = k / static_cast<int>(a_factors.size());
    double special = host_value(types.c, c);
    if (std::isfinite(special)) special = 0;
    std::vector<Term> terms;
    const int group = row.method == Method::scaled_groups ? 16 : 1;
    for (int from = 0; from < k; from += group) {
        const Factor x = factor(scale, a_factors[static_cast<size_t>(from / each)]);
        const Factor y = factor(scale, b_factors[static_cast<size_t>(from / each)]);
        if (x.nan || y.nan) special = NAN;
        // The group's sum of products times the factors, as one number.
        Wide sum;
        bool all_zero = true;
        int exponent = x.field_exponent + y.field_exponent;
        for (int i = from; i < from + group; ++i) {
            const double product = host_value(types.a, a[i]) * host_value(types.b, b[i]);
            if (!std::isfinite(product)) special += product;
            const Decoded p = decode(types.a, a[i]);
            const Decoded q = decode(types.b, b[i]);
            const uint64_t significand =
                p.significand * q.significand * x.significand * y.significand;
            if (p.significand * q.significand != 0) all_zero = false;
            if (group == 1) exponent += p.field_exponent + q.field_exponent;
            if (significand == 0) continue;
            const Wide value =
                Wide::of(significand, p.exponent + q.exponent + x.exponent + y.exponent);
            sum = p.negative != q.negative ? sum - value : sum + value;
        }
        if (all_zero || x.significand * y.significand == 0) exponent = row.sum.zero_exponent;
        terms.push_back({sum.negative(), exponent, sum.negative() ? -sum : sum});
    }
    if (std::isnan(special)) return 0x7FFFFFFF;
    if (std::isinf(special)) return special < 0 ? 0xFF800000 : 0x7F800000;
    const Decoded addend = decode(types.c, c);
    terms.push_back({addend.negative,
                     addend.significand == 0 ? row.sum.zero_exponent : addend.field_exponent,
                     Wide::of(addend.significand, addend.exponent)});
    return sum_of(row.sum, types.d, std::move(terms));
}

}  // namespace lockwarp::num::testing
