#include "emu/num/mufu.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "emu/num/ieee.hpp"
#include "emu/num/mufu_tables.hpp"

namespace lockwarp::num {

namespace {

using isa::Type;

constexpr uint32_t nan_f32 = 0x7fffffff;
constexpr uint32_t infinity_f32 = 0x7f800000;
constexpr uint32_t one_f32 = 0x3f800000;
constexpr uint32_t smallest_normal = 0x00800000;  // 2^-126
constexpr uint32_t sign_f32 = 0x80000000;

struct Parts {
    uint32_t sign;  // in place
    int e;          // biased
    uint32_t m;
    bool nan;
};

constexpr Parts parts(uint32_t x) {
    const auto e = static_cast<int>(x >> 23 & 0xff);
    const uint32_t m = x & 0x7fffff;
    return {x & sign_f32, e, m, e == 255 && m != 0};
}

constexpr uint32_t magnitude(uint32_t x) { return x & ~sign_f32; }

// d*d / 2^19 for d of 17 bits, as the unit's squarer forms it: the partial products of bit i with
// itself (2^2i) and with each lower bit j (2^(i+j+1)); those below 2^19 do not exist.
constexpr int64_t square(uint32_t d) {
    int64_t sum = 0;
    for (int i = 10; i < 17; ++i) {
        const uint32_t lower = ((1u << i) - 1) & ~((1u << (18 - i)) - 1);
        const int64_t products =
            (int64_t{1} << (2 * i)) + (static_cast<int64_t>(d & lower) << (i + 1));
        sum += (d >> i & 1) != 0 ? products : 0;
    }
    return sum >> 19;
}

int64_t evaluate(const MufuTable& table, uint32_t row, int64_t d, uint32_t squared) {
    const Coefficients& c = table.rows[row];
    return ((int64_t{c.c0} << table.c0_shift) + table.bias + c.c1 * d + c.c2 * square(squared)) >>
           table.result_shift;
}

// The tables with 64 segments, by 23 bits of fraction.
int64_t evaluate(const MufuTable& table, uint32_t fraction) {
    const uint32_t d = fraction & 0x1ffff;
    return evaluate(table, fraction >> 17, d, d);
}

// a * 2^-scale, truncated to an f32.
uint32_t normalised(uint64_t a, int scale) {
    if (a == 0) return 0;
    const int leading = 63 - std::countl_zero(a);
    const uint64_t significand = leading >= 23 ? a >> (leading - 23) : a << (23 - leading);
    return (static_cast<uint32_t>(leading - scale + 127) << 23) +
           static_cast<uint32_t>(significand & 0x7fffff);
}

// The unit's own operations. Subnormal operands and results are zeros.

uint32_t unit_rcp(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 255) return p.sign;
    if (p.e == 0) return p.sign | infinity_f32;
    const uint32_t d = p.m & 0xffff;
    const int64_t y = evaluate(reciprocal_table, p.m >> 16, d, 2 * d);
    const int64_t bits = int64_t{253 - p.e} * smallest_normal + y;
    return p.sign | (bits < smallest_normal ? 0 : static_cast<uint32_t>(bits));
}

uint32_t unit_ex2(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e >= 127 + 7) return p.sign != 0 ? 0 : infinity_f32;
    if (p.e < 127 - 23) return one_f32;
    // The operand in units of 2^-23, downwards of a negative one by its complement.
    const auto significand = static_cast<int32_t>(p.m | smallest_normal);
    const int32_t t = p.e >= 127 ? significand << (p.e - 127) : significand >> (127 - p.e);
    const int32_t fixed = p.sign == 0 ? t : (t & 0x7fffff) == 0 ? -t : ~t;
    const int64_t y = evaluate(power_of_two_table, static_cast<uint32_t>(fixed) & 0x7fffff);
    const int64_t bits = int64_t{(fixed >> 23) + 127} * smallest_normal + y;
    return bits < smallest_normal ? 0 : static_cast<uint32_t>(bits);
}

uint32_t unit_rsqrt(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return p.sign | infinity_f32;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return 0;
    const int exponent = p.e - 127;
    const int half = exponent >> 1;
    const bool odd = (exponent & 1) != 0;
    // A power of four is exact; the table would give one unit less.
    if (!odd && p.m == 0) return static_cast<uint32_t>(127 - half) << 23;
    const int64_t y = evaluate(odd ? rsqrt_odd_table : rsqrt_even_table, p.m);
    return static_cast<uint32_t>(int64_t{125 - half} * smallest_normal + y);
}

uint32_t unit_sqrt(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return p.sign;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return x;
    const int exponent = p.e - 127;
    const int64_t y = evaluate((exponent & 1) != 0 ? sqrt_odd_table : sqrt_even_table, p.m);
    return static_cast<uint32_t>(int64_t{126 + (exponent >> 1)} * smallest_normal + y);
}

uint32_t unit_lg2(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return sign_f32 | infinity_f32;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return x;
    if (x == one_f32) return 0;
    const int64_t fixed = int64_t{p.e - 127} * (int64_t{1} << 36) + evaluate(logarithm_table, p.m);
    return fixed < 0 ? sign_f32 | normalised(static_cast<uint64_t>(~fixed), 36)
                     : normalised(static_cast<uint64_t>(fixed), 36);
}

// Of an operand in turns; `quarters` more of them.
uint32_t unit_sine(uint32_t turns, uint32_t quarters, uint32_t sign) {
    const Parts p = parts(turns);
    if (p.e == 255) return nan_f32;
    // In units of 2^-25 turns: two bits of quadrant and 23 of fraction.
    const uint64_t significand = p.e == 0 ? 0 : p.m | smallest_normal;
    const uint64_t t = p.e < 125 - 24   ? 0
                       : p.e < 125      ? significand >> (125 - p.e)
                       : p.e < 125 + 25 ? significand << (p.e - 125)
                                        : 0;
    const auto quadrant = (static_cast<uint32_t>(t >> 23) + quarters) & 3;
    const auto fraction = static_cast<uint32_t>(t & 0x7fffff);
    sign ^= quadrant >> 1 << 31;
    const bool falls = (quadrant & 1) != 0;
    constexpr int64_t one = int64_t{1} << 37;
    if (falls && fraction == 0) return sign | one_f32;
    const int64_t v = evaluate(sine_table, falls ? 0x7fffff - fraction : fraction);
    return sign | normalised(static_cast<uint64_t>(std::min(v, one)), 37);
}

// Where the segments of an exponent begin in tangent_table, and how many bits choose among them.
struct TangentRow {
    uint8_t first;
    uint8_t bits;
};
constexpr int tangent_first = 119;  // 2^-8: below it tanh is its operand
constexpr std::array<TangentRow, 11> tangent_rows{
    {{0, 0}, {1, 0}, {2, 0}, {3, 1}, {5, 1}, {7, 2}, {11, 2}, {15, 2}, {19, 3}, {27, 4}, {43, 3}}};

uint32_t unit_tanh(uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e < tangent_first) return x;
    const auto at = static_cast<size_t>(p.e - tangent_first);
    if (at >= tangent_rows.size()) return p.sign | one_f32;
    const auto [first, bits] = tangent_rows[at];
    const uint32_t d = p.m >> (6 - bits) & 0x1ffff;
    const int64_t v = evaluate(tangent_table, first + (p.m >> (23 - bits)), d, d);
    return p.sign | normalised(static_cast<uint64_t>(v), 165 - std::min(p.e, 126));
}

// What NVIDIA's assembler puts around the unit.

constexpr uint32_t power_f32(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; }

uint32_t multiply(uint32_t a, uint32_t b, Rounding r = Rounding::rn, bool ftz = false) {
    return static_cast<uint32_t>(mul(Type::f32, a, b, r, {.ftz = ftz}));
}

uint32_t ex2_f32(uint32_t x) {
    constexpr uint32_t minus_126 = 0xc2fc0000;
    if (x <= minus_126 || parts(x).nan) return unit_ex2(x);
    const uint32_t y = unit_ex2(multiply(x, power_f32(-1)));
    return multiply(y, y);
}

uint32_t lg2_f32(uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_lg2(x);
    constexpr uint32_t minus_24 = 0xc1c00000;
    const uint32_t y = unit_lg2(multiply(x, power_f32(24)));
    return static_cast<uint32_t>(add(Type::f32, y, minus_24, Rounding::rn));
}

uint32_t rcp_f32(uint32_t x) {
    const uint32_t size = magnitude(x);
    if (size >= smallest_normal && size <= power_f32(126)) return unit_rcp(x);
    const uint32_t scale = power_f32(size < smallest_normal ? 24 : -2);
    return multiply(unit_rcp(multiply(x, scale)), scale);
}

uint32_t rsqrt_f32(uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_rsqrt(x);
    return multiply(unit_rsqrt(multiply(x, power_f32(24))), power_f32(12));
}

uint32_t sqrt_f32(uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_sqrt(x);
    return multiply(unit_sqrt(multiply(x, power_f32(24))), power_f32(-12));
}

// 1 / (2 pi), rounded toward zero.
constexpr uint32_t turns_in_radian = 0x3e22f983;

// f16 and bf16 are the unit's f32 result, truncated.
template <uint32_t (*unit)(uint32_t)>
uint64_t narrow(Type t, uint64_t a) {
    if (t == Type::bf16) return unit(static_cast<uint32_t>(a) << 16) >> 16;
    const uint32_t y = unit(static_cast<uint32_t>(convert(t, Type::f32, a, Rounding::rn)));
    if (!parts(y).nan && magnitude(y) >= power_f32(16)) return (y & sign_f32) >> 16 | 0x7c00;
    return convert(Type::f32, t, y, Rounding::rz);
}

// f64: of the high word alone, 20 bits of fraction; the low word of the result is 0.
struct High {
    uint32_t sign;
    int e;
    uint32_t fraction;
};

constexpr High high_of(uint64_t a) {
    const auto word = static_cast<uint32_t>(a >> 32);
    return {word & sign_f32, static_cast<int>(word >> 20 & 0x7ff), word & 0xfffff};
}

constexpr uint64_t nan_f64 = uint64_t{0x7fffffff} << 32;
constexpr uint64_t sign_f64 = uint64_t{1} << 63;
constexpr uint32_t infinity_f64 = 0x7ff00000;  // high word

uint64_t f64_of_high(uint32_t word) { return uint64_t{word} << 32; }

// `exponent`: what to add to that of an f32 result to have the biased one of f64.
uint64_t widened(uint32_t sign, uint32_t y, int exponent) {
    const Parts p = parts(y);
    const int e = p.e + exponent;
    return f64_of_high(e < 1 ? sign : sign | static_cast<uint32_t>(e) << 20 | p.m >> 3);
}

uint64_t rcp_f64(uint64_t a) {
    const High h = high_of(a);
    if (h.e == 0x7ff) return h.fraction != 0 ? nan_f64 : f64_of_high(h.sign);
    if (h.e == 0) return f64_of_high(h.sign | infinity_f64);
    return widened(h.sign, unit_rcp(one_f32 | h.fraction << 3), 2046 - 127 - h.e);
}

uint64_t seed_rsqrt_f64(uint64_t a) {
    const High h = high_of(a);
    if (h.e == 0x7ff && h.fraction != 0) return nan_f64;
    if (h.e == 0) return f64_of_high(h.sign | infinity_f64);
    if (h.sign != 0) return nan_f64;
    if (h.e == 0x7ff) return 0;
    const int exponent = h.e - 1023;
    const uint32_t y = unit_rsqrt(power_f32(exponent & 1) | h.fraction << 3);
    return widened(0, y, 1023 - 127 - (exponent >> 1));
}

// A positive normal number: the unit's value and one step of refinement, as ptxas 13.0 writes it.
uint64_t refined_rsqrt_f64(uint64_t x) {
    constexpr uint64_t one = 0x3ff0000000000000;
    constexpr uint64_t half = 0x3fe0000000000000;
    constexpr uint64_t three_eighths = 0x3fd8000000000000;
    const auto fused = [](uint64_t a, uint64_t b, uint64_t c) {
        return fma(Type::f64, a, b, c, Rounding::rn);
    };
    const auto product = [](uint64_t a, uint64_t b) { return mul(Type::f64, a, b, Rounding::rn); };
    const uint64_t y = seed_rsqrt_f64(x);
    const uint64_t error = fused(x, product(y, y) ^ sign_f64, one);
    return fused(fused(error, three_eighths, half), product(y, error), y);
}

uint64_t rsqrt_f64(uint64_t a) {
    constexpr uint64_t infinity = uint64_t{infinity_f64} << 32;
    const uint64_t size = a & ~sign_f64;
    if (size > infinity) return add(Type::f64, a, a, Rounding::rn);
    if (size == 0) return a | infinity;
    if (a != size) return format(Type::f64).nan;
    if (a == infinity) return 0;
    if (high_of(a).e != 0) return refined_rsqrt_f64(a);
    constexpr uint64_t two_to_54 = uint64_t{1023 + 54} << 52;
    constexpr uint64_t two_to_27 = uint64_t{1023 + 27} << 52;
    const uint64_t y = refined_rsqrt_f64(mul(Type::f64, a, two_to_54, Rounding::rn));
    return mul(Type::f64, y, two_to_27, Rounding::rn);
}

}  // namespace

uint64_t ex2_approx(Type t, uint64_t a, bool ftz) {
    if (t != Type::f32) return narrow<unit_ex2>(t, a);
    const auto x = static_cast<uint32_t>(a);
    return ftz ? unit_ex2(x) : ex2_f32(x);
}

uint64_t lg2_approx(Type, uint64_t a, bool ftz) {
    const auto x = static_cast<uint32_t>(a);
    return ftz ? unit_lg2(x) : lg2_f32(x);
}

uint64_t rcp_approx(Type t, uint64_t a, bool ftz) {
    if (t == Type::f64) return rcp_f64(a);
    const auto x = static_cast<uint32_t>(a);
    return ftz ? unit_rcp(x) : rcp_f32(x);
}

uint64_t rsqrt_approx(Type t, uint64_t a, bool ftz) {
    if (t == Type::f64) return ftz ? seed_rsqrt_f64(a) : rsqrt_f64(a);
    const auto x = static_cast<uint32_t>(a);
    return ftz ? unit_rsqrt(x) : rsqrt_f32(x);
}

uint64_t sqrt_approx(Type, uint64_t a, bool ftz) {
    const auto x = static_cast<uint32_t>(a);
    return ftz ? unit_sqrt(x) : sqrt_f32(x);
}

// With ftz and without, sine and cosine are the same instructions.
uint64_t sin_approx(Type, uint64_t a, bool) {
    const auto x = static_cast<uint32_t>(a);
    return unit_sine(multiply(x, turns_in_radian, Rounding::rz), 0, x & sign_f32);
}

uint64_t cos_approx(Type, uint64_t a, bool) {
    const auto x = static_cast<uint32_t>(a);
    return unit_sine(multiply(x, turns_in_radian, Rounding::rz), 1, 0);
}

uint64_t tanh_approx(Type t, uint64_t a, bool) {
    return t == Type::f32 ? unit_tanh(static_cast<uint32_t>(a)) : narrow<unit_tanh>(t, a);
}

uint64_t div_approx(uint64_t a, uint64_t b, bool ftz) {
    auto x = static_cast<uint32_t>(a);
    auto y = static_cast<uint32_t>(b);
    if (!ftz && magnitude(y) < smallest_normal) {
        x = multiply(x, power_f32(24));
        y = multiply(y, power_f32(24));
    }
    return multiply(x, unit_rcp(y), Rounding::rn, ftz);
}

uint64_t div_full(uint64_t a, uint64_t b, bool ftz) {
    auto x = static_cast<uint32_t>(a);
    auto y = static_cast<uint32_t>(b);
    if (magnitude(y) > power_f32(126) && !parts(y).nan) {
        x = multiply(x, power_f32(-2), Rounding::rn, ftz);
        y = multiply(y, power_f32(-2), Rounding::rn, ftz);
        return multiply(x, unit_rcp(y), Rounding::rn, ftz);
    }
    return div_approx(x, y, ftz);
}

}  // namespace lockwarp::num
