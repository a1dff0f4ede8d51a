// SPDX-License-Identifier: Apache-2.0
// The special function unit, and what NVIDIA's assembler puts around it, as functions of integers
// (mufu.hpp says what they are and how they are known). Constexpr, so that the same text is
// compiled for the host and, by nvcc with --expt-relaxed-constexpr, for a GPU
// (gpu/kernels/special_check.cu). The tables are an argument, for a GPU has them in its own memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emu/isa/types.hpp"
#include "emu/num/mufu_tables.hpp"

namespace lockwarp::num {

enum class Special : uint8_t { ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh, div_approx, div_full };

namespace mufu {

using isa::Type;

inline constexpr uint32_t nan_f32 = 0x7fffffff;
inline constexpr uint32_t infinity_f32 = 0x7f800000;
inline constexpr uint32_t one_f32 = 0x3f800000;
inline constexpr uint32_t smallest_normal = 0x00800000;  // 2^-126
inline constexpr uint32_t sign_f32 = 0x80000000;

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

// The place of the highest 1 of a number that is not 0. (nvcc 13.0 compiles std::countl_zero of 64
// bits for a GPU to the constant 64, without a word.)
constexpr int leading_place(uint64_t a) { return 63 - __builtin_clzll(a); }

// d*d / 2^19 for d of 17 bits, as the unit's squarer forms it: the partial products of bit i with
// itself (2^2i) and with each lower bit j (2^(i+j+1)); those below 2^19 do not exist.
constexpr uint32_t square(uint32_t d) {
    uint32_t sum = 0;
    for (int i = 10; i < 17; ++i) {
        const uint32_t lower = d & ((1u << i) - 1);
        const uint32_t products = (1u << (2 * i - 19)) + (lower >> (18 - i));
        sum += (d >> i & 1) != 0 ? products : 0;
    }
    return sum;
}

template <size_t segments>
constexpr int64_t evaluate(const MufuTable<segments>& table, uint32_t row, uint32_t d,
                           uint32_t squared) {
    const Coefficients& c = table.rows[row];
    return (static_cast<int64_t>(static_cast<uint64_t>(int64_t{c.c0}) << table.c0_shift) +
            table.bias + int64_t{c.c1} * d + int64_t{c.c2} * square(squared)) >>
           table.result_shift;
}

// The tables with 64 segments, by 23 bits of fraction.
constexpr int64_t evaluate(const MufuTable<64>& table, uint32_t fraction) {
    const uint32_t d = fraction & 0x1ffff;
    return evaluate(table, fraction >> 17, d, d);
}

// a * 2^-scale, truncated to an f32.
constexpr uint32_t normalised(uint64_t a, int scale) {
    if (a == 0) return 0;
    const int leading = leading_place(a);
    const uint64_t significand = leading >= 23 ? a >> (leading - 23) : a << (23 - leading);
    return (static_cast<uint32_t>(leading - scale + 127) << 23) +
           static_cast<uint32_t>(significand & 0x7fffff);
}

// The unit's own operations. Subnormal operands and results are zeros.

constexpr uint32_t unit_rcp(const MufuTables& t, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 255) return p.sign;
    if (p.e == 0) return p.sign | infinity_f32;
    const uint32_t d = p.m & 0xffff;
    const int64_t y = evaluate(t.reciprocal, p.m >> 16, d, 2 * d);
    const int64_t bits = int64_t{253 - p.e} * smallest_normal + y;
    return p.sign | (bits < smallest_normal ? 0 : static_cast<uint32_t>(bits));
}

constexpr uint32_t unit_ex2(const MufuTables& t, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e >= 127 + 7) return p.sign != 0 ? 0 : infinity_f32;
    if (p.e < 127 - 23) return one_f32;
    // The operand in units of 2^-23, downwards of a negative one by its complement.
    const auto significand = static_cast<int32_t>(p.m | smallest_normal);
    const int32_t size = p.e >= 127 ? significand << (p.e - 127) : significand >> (127 - p.e);
    const int32_t fixed = p.sign == 0 ? size : (size & 0x7fffff) == 0 ? -size : ~size;
    const int64_t y = evaluate(t.power_of_two, static_cast<uint32_t>(fixed) & 0x7fffff);
    const int64_t bits = int64_t{(fixed >> 23) + 127} * smallest_normal + y;
    return bits < smallest_normal ? 0 : static_cast<uint32_t>(bits);
}

constexpr uint32_t unit_rsqrt(const MufuTables& t, uint32_t x) {
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
    const int64_t y = odd ? evaluate(t.rsqrt_odd, p.m) : evaluate(t.rsqrt_even, p.m);
    return static_cast<uint32_t>(int64_t{125 - half} * smallest_normal + y);
}

constexpr uint32_t unit_sqrt(const MufuTables& t, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return p.sign;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return x;
    const int exponent = p.e - 127;
    const int64_t y = (exponent & 1) != 0 ? evaluate(t.sqrt_odd, p.m) : evaluate(t.sqrt_even, p.m);
    return static_cast<uint32_t>(int64_t{126 + (exponent >> 1)} * smallest_normal + y);
}

constexpr uint32_t unit_lg2(const MufuTables& t, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return sign_f32 | infinity_f32;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return x;
    if (x == one_f32) return 0;
    const int64_t fixed = int64_t{p.e - 127} * (int64_t{1} << 36) + evaluate(t.logarithm, p.m);
    return fixed < 0 ? sign_f32 | normalised(static_cast<uint64_t>(~fixed), 36)
                     : normalised(static_cast<uint64_t>(fixed), 36);
}

// Of an operand in turns; `quarters` more of them.
constexpr uint32_t unit_sine(const MufuTables& tables, uint32_t turns, uint32_t quarters,
                             uint32_t sign) {
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
    const int64_t v = evaluate(tables.sine, falls ? 0x7fffff - fraction : fraction);
    return sign | normalised(static_cast<uint64_t>(v < one ? v : one), 37);
}

constexpr uint32_t unit_tanh(const MufuTables& t, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e < tangent_first) return x;
    const auto at = static_cast<size_t>(p.e - tangent_first);
    if (at >= t.tangent_rows.size()) return p.sign | one_f32;
    const auto [first, bits] = t.tangent_rows[at];
    const uint32_t d = p.m >> (6 - bits) & 0x1ffff;
    const int64_t v = evaluate(t.tangent, first + (p.m >> (23 - bits)), d, d);
    return p.sign | normalised(static_cast<uint64_t>(v), 165 - (p.e < 126 ? p.e : 126));
}

// What NVIDIA's assembler puts around the unit. Unit: the tables, or another type for which the
// unit's operations, sin_f32 and cos_f32 are declared beside it (folded.cpp).

constexpr uint32_t power_f32(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; }

enum class Product : uint8_t { nearest, nearest_ftz, toward_zero };

// The product of two f32, as num::mul gives it.
constexpr uint32_t multiply(uint32_t a, uint32_t b, Product how = Product::nearest) {
    const bool ftz = how == Product::nearest_ftz;
    const uint32_t sign = (a ^ b) & sign_f32;
    uint32_t x = magnitude(a);
    uint32_t y = magnitude(b);
    // Normal operands and a normal product, the usual case, first; what follows would give the
    // same.
    if (x >= smallest_normal && x < infinity_f32 && y >= smallest_normal && y < infinity_f32) {
        const uint64_t significand_x = (x & 0x7fffff) | smallest_normal;
        const uint64_t significand_y = (y & 0x7fffff) | smallest_normal;
        uint64_t product = significand_x * significand_y;
        const auto carried = static_cast<uint32_t>(product >> 47);
        product <<= 1 - carried;
        const uint32_t e = (x >> 23) + (y >> 23) + carried - 128;
        const uint64_t up = how == Product::toward_zero ? 0 : 0x7fffff + (product >> 24 & 1);
        if (e < 254) return sign | ((e << 23) + static_cast<uint32_t>((product + up) >> 24));
    }
    if (x > infinity_f32 || y > infinity_f32) return nan_f32;
    if (ftz && x < smallest_normal) x = 0;
    if (ftz && y < smallest_normal) y = 0;
    if (x == infinity_f32 || y == infinity_f32)
        return x == 0 || y == 0 ? nan_f32 : sign | infinity_f32;
    if (x == 0 || y == 0) return sign;
    // Significands of 24 bits, those of subnormal operands moved up.
    const int up_x = x < smallest_normal ? 23 - leading_place(x) : 0;
    const int up_y = y < smallest_normal ? 23 - leading_place(y) : 0;
    const int field_x = x < smallest_normal ? 1 - up_x : static_cast<int>(x >> 23);
    const int field_y = y < smallest_normal ? 1 - up_y : static_cast<int>(y >> 23);
    const uint64_t significand_x = ((x & 0x7fffff) | (up_x == 0 ? smallest_normal : 0)) << up_x;
    const uint64_t significand_y = ((y & 0x7fffff) | (up_y == 0 ? smallest_normal : 0)) << up_y;
    // The product's leading bit at bit 47, where 24 bits are kept, of a subnormal result fewer.
    uint64_t product = significand_x * significand_y;
    const auto carried = static_cast<int>(product >> 47);
    product <<= 1 - carried;
    const int e = field_x + field_y - 127 + carried;
    const bool below = e < 1;
    const int drop = below && !ftz ? (e < -37 ? 62 : 25 - e) : 24;
    const uint64_t odd = product >> drop & 1;
    const uint64_t up = how == Product::toward_zero ? 0 : (uint64_t{1} << (drop - 1)) - 1 + odd;
    const uint64_t kept = (product + up) >> drop;
    if (below && ftz) return sign | (e == 0 && kept >> 24 != 0 ? smallest_normal : 0);
    // The leading bit of a normal number counts one step of the exponent.
    const uint64_t bits = kept + (below ? 0 : static_cast<uint64_t>(e - 1) << 23);
    if (bits >= infinity_f32) return sign | (infinity_f32 - (how == Product::toward_zero ? 1 : 0));
    return sign | static_cast<uint32_t>(bits);
}

template <class Unit>
constexpr uint32_t ex2_f32(const Unit& t, uint32_t x) {
    constexpr uint32_t minus_126 = 0xc2fc0000;
    if (x <= minus_126 || parts(x).nan) return unit_ex2(t, x);
    const uint32_t y = unit_ex2(t, multiply(x, power_f32(-1)));
    return multiply(y, y);
}

// y - 24, for what the unit gives for an operand of [2^-125, 2^-102): -infinity, NaN, or a number
// of
// [-125, -102], whose last place is 2^-17. At 128 one place is lost, to the nearest even.
constexpr uint32_t minus_24(uint32_t y) {
    if (magnitude(y) >= infinity_f32) return y;
    const uint32_t sum = ((y & 0x7fffff) | smallest_normal) + (24u << 17);
    if (sum >> 24 == 0) return y + (24u << 17);
    const uint32_t half = sum >> 1;
    return sign_f32 | (power_f32(7) + half + (sum & half & 1) - smallest_normal);
}

template <class Unit>
constexpr uint32_t lg2_f32(const Unit& t, uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_lg2(t, x);
    return minus_24(unit_lg2(t, multiply(x, power_f32(24))));
}

template <class Unit>
constexpr uint32_t rcp_f32(const Unit& t, uint32_t x) {
    const uint32_t size = magnitude(x);
    if (size >= smallest_normal && size <= power_f32(126)) return unit_rcp(t, x);
    const uint32_t scale = power_f32(size < smallest_normal ? 24 : -2);
    return multiply(unit_rcp(t, multiply(x, scale)), scale);
}

template <class Unit>
constexpr uint32_t rsqrt_f32(const Unit& t, uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_rsqrt(t, x);
    return multiply(unit_rsqrt(t, multiply(x, power_f32(24))), power_f32(12));
}

template <class Unit>
constexpr uint32_t sqrt_f32(const Unit& t, uint32_t x) {
    if (magnitude(x) >= smallest_normal) return unit_sqrt(t, x);
    return multiply(unit_sqrt(t, multiply(x, power_f32(24))), power_f32(-12));
}

constexpr uint32_t in_turns(uint32_t x) {
    constexpr uint32_t turns_in_radian = 0x3e22f983;  // 1 / (2 pi), rounded toward zero
    return multiply(x, turns_in_radian, Product::toward_zero);
}

// The whole function, of radians.
constexpr uint32_t sin_f32(const MufuTables& t, uint32_t x) {
    return unit_sine(t, in_turns(x), 0, x & sign_f32);
}

constexpr uint32_t cos_f32(const MufuTables& t, uint32_t x) {
    return unit_sine(t, in_turns(x), 1, 0);
}

template <class Unit>
constexpr uint32_t div_approx(const Unit& t, uint32_t x, uint32_t y, bool ftz) {
    if (ftz) return multiply(x, unit_rcp(t, y), Product::nearest_ftz);
    if (magnitude(y) < smallest_normal) {
        x = multiply(x, power_f32(24));
        y = multiply(y, power_f32(24));
    }
    return multiply(x, unit_rcp(t, y));
}

template <class Unit>
constexpr uint32_t div_full(const Unit& t, uint32_t x, uint32_t y, bool ftz) {
    if (magnitude(y) <= power_f32(126) || parts(y).nan) return div_approx(t, x, y, ftz);
    const Product how = ftz ? Product::nearest_ftz : Product::nearest;
    x = multiply(x, power_f32(-2), how);
    y = multiply(y, power_f32(-2), how);
    return multiply(x, unit_rcp(t, y), how);
}

// f16 and bf16 are the unit's f32 result, truncated.

constexpr uint32_t f32_of_f16(uint32_t a) {
    const uint32_t sign = (a & 0x8000) << 16;
    const uint32_t size = a & 0x7fff;
    if (size > 0x7c00) return nan_f32;
    if (size == 0x7c00) return sign | infinity_f32;
    if (size == 0) return sign;
    if (size >= 0x400) return sign | ((size << 13) + (uint32_t{127 - 15} << 23));
    return sign | normalised(size, 24);
}

constexpr uint32_t f16_of_f32(uint32_t y) {
    const Parts p = parts(y);
    if (p.nan) return 0x7fff;
    const uint32_t sign = p.sign >> 16;
    if (p.e >= 127 + 16) return sign | 0x7c00;
    if (p.e >= 127 - 14) return sign | static_cast<uint32_t>(p.e - (127 - 15)) << 10 | p.m >> 13;
    if (p.e < 127 - 24) return sign;
    return sign | (p.m | smallest_normal) >> (127 - 1 - p.e);
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

inline constexpr uint64_t nan_f64 = uint64_t{0x7fffffff} << 32;
inline constexpr uint64_t sign_f64 = uint64_t{1} << 63;
inline constexpr uint32_t high_infinity_f64 = 0x7ff00000;
inline constexpr uint64_t one_f64 = uint64_t{0x3ff00000} << 32;

constexpr uint64_t f64_of_high(uint32_t word) { return uint64_t{word} << 32; }

// `exponent`: what to add to that of an f32 result to have the biased one of f64.
constexpr uint64_t widened(uint32_t sign, uint32_t y, int exponent) {
    const Parts p = parts(y);
    const int e = p.e + exponent;
    return f64_of_high(e < 1 ? sign : sign | static_cast<uint32_t>(e) << 20 | p.m >> 3);
}

constexpr uint64_t rcp_f64(const MufuTables& t, uint64_t a) {
    const High h = high_of(a);
    if (h.e == 0x7ff) return h.fraction != 0 ? nan_f64 : f64_of_high(h.sign);
    if (h.e == 0) return f64_of_high(h.sign | high_infinity_f64);
    return widened(h.sign, unit_rcp(t, one_f32 | h.fraction << 3), 2046 - 127 - h.e);
}

constexpr uint64_t seed_rsqrt_f64(const MufuTables& t, uint64_t a) {
    const High h = high_of(a);
    if (h.e == 0x7ff && h.fraction != 0) return nan_f64;
    if (h.e == 0) return f64_of_high(h.sign | high_infinity_f64);
    if (h.sign != 0) return nan_f64;
    if (h.e == 0x7ff) return 0;
    const int exponent = h.e - 1023;
    const uint32_t y = unit_rsqrt(t, power_f32(exponent & 1) | h.fraction << 3);
    return widened(0, y, 1023 - 127 - (exponent >> 1));
}

__extension__ using uint128 = unsigned __int128;

constexpr int leading_place(uint128 a) {
    const auto high = static_cast<uint64_t>(a >> 64);
    return high != 0 ? 64 + leading_place(high) : leading_place(static_cast<uint64_t>(a));
}

// significand * 2^exponent
struct Term {
    uint64_t sign;  // in place
    int exponent;
    uint128 significand;
};

constexpr Term f64_term(uint64_t a) {
    constexpr uint64_t hidden = uint64_t{1} << 52;
    const auto field = static_cast<int>(a >> 52 & 0x7ff);
    const uint64_t fraction = a & (hidden - 1);
    return {a & sign_f64, (field == 0 ? 1 : field) - 1075,
            field == 0 ? fraction : fraction | hidden};
}

constexpr void raise(Term& t) {
    const int up = 125 - leading_place(t.significand);
    t.significand <<= up;
    t.exponent -= up;
}

// Shifted right; what is shifted out is kept as the lowest bit.
constexpr uint128 shift_sticky(uint128 x, int by) {
    if (by >= 127) return 1;
    return x >> by | ((x & ((uint128{1} << by) - 1)) != 0 ? 1 : 0);
}

// a*b + c, rounded once to nearest even, of finite f64 with a finite result, as num::fma gives it.
constexpr uint64_t fused_f64(uint64_t a, uint64_t b, uint64_t c) {
    const Term u = f64_term(a);
    const Term v = f64_term(b);
    Term x{u.sign ^ v.sign, u.exponent + v.exponent, u.significand * v.significand};
    Term y = f64_term(c);
    if (x.significand == 0) return y.significand != 0 ? c : x.sign & y.sign;
    if (y.significand != 0) {
        // With their leading bits at bit 125: a term that is shifted so far that bits are lost is
        // so small that at most one leading bit cancels.
        raise(x);
        raise(y);
        if (y.exponent > x.exponent ||
            (y.exponent == x.exponent && y.significand > x.significand)) {
            const Term larger = y;
            y = x;
            x = larger;
        }
        const uint128 other = shift_sticky(y.significand, x.exponent - y.exponent);
        x.significand = x.sign == y.sign ? x.significand + other : x.significand - other;
        if (x.significand == 0) return 0;
    }
    // The leading bit of a normal number counts one step of the exponent, so that a carry gives the
    // next one.
    const int place = x.exponent + leading_place(x.significand);
    const int step = place < -1022 ? -1022 : place;
    const int drop = step - 52 - x.exponent;
    const uint64_t field = static_cast<uint64_t>(step + 1022) << 52;
    if (drop <= 0) return x.sign | (field + (static_cast<uint64_t>(x.significand) << -drop));
    if (drop > 127) return x.sign;
    const uint128 rest = x.significand & ((uint128{1} << drop) - 1);
    const uint128 half = uint128{1} << (drop - 1);
    const auto kept = static_cast<uint64_t>(x.significand >> drop);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    return x.sign | (field + kept + (up ? 1 : 0));
}

// A positive normal number: the unit's value and one step of refinement, as ptxas 13.0 writes it.
constexpr uint64_t refined_rsqrt_f64(const MufuTables& t, uint64_t x) {
    constexpr uint64_t half = uint64_t{0x3fe00000} << 32;
    constexpr uint64_t three_eighths = uint64_t{0x3fd80000} << 32;
    const uint64_t y = seed_rsqrt_f64(t, x);
    const uint64_t error = fused_f64(x, fused_f64(y, y, 0) ^ sign_f64, one_f64);
    return fused_f64(fused_f64(error, three_eighths, half), fused_f64(y, error, 0), y);
}

constexpr uint64_t rsqrt_f64(const MufuTables& t, uint64_t a) {
    constexpr uint64_t infinity = uint64_t{high_infinity_f64} << 32;
    constexpr uint64_t quiet = uint64_t{1} << 51;
    constexpr uint64_t default_nan = uint64_t{0xfff80000} << 32;
    const uint64_t size = a & ~sign_f64;
    if (size > infinity) return a | quiet;
    if (size == 0) return a | infinity;
    if (a != size) return default_nan;
    if (a == infinity) return 0;
    if (high_of(a).e != 0) return refined_rsqrt_f64(t, a);
    // A subnormal number times 2^54, and its root times 2^27: both exact.
    const int leading = leading_place(a);
    const uint64_t scaled = (static_cast<uint64_t>(leading + 2) << 52) + (a << (52 - leading));
    return refined_rsqrt_f64(t, scaled) + (uint64_t{27} << 52);
}

// f16, bf16: one value.
constexpr uint32_t narrow(const MufuTables& t, Special f, Type type, uint32_t a) {
    const uint32_t x = type == Type::bf16 ? a << 16 : f32_of_f16(a);
    const uint32_t y = f == Special::ex2 ? unit_ex2(t, x) : unit_tanh(t, x);
    return type == Type::bf16 ? y >> 16 : f16_of_f32(y);
}

template <class Unit>
constexpr uint64_t of_f32(const Unit& t, Special f, bool ftz, uint32_t a, uint32_t b) {
    switch (f) {
        case Special::ex2:
            return ftz ? unit_ex2(t, a) : ex2_f32(t, a);
        case Special::lg2:
            return ftz ? unit_lg2(t, a) : lg2_f32(t, a);
        case Special::rcp:
            return ftz ? unit_rcp(t, a) : rcp_f32(t, a);
        case Special::rsqrt:
            return ftz ? unit_rsqrt(t, a) : rsqrt_f32(t, a);
        case Special::sqrt:
            return ftz ? unit_sqrt(t, a) : sqrt_f32(t, a);
        // With ftz and without, sine and cosine are the same instructions.
        case Special::sin:
            return sin_f32(t, a);
        case Special::cos:
            return cos_f32(t, a);
        case Special::tanh:
            return unit_tanh(t, a);
        case Special::div_approx:
            return div_approx(t, a, b, ftz);
        case Special::div_full:
            return div_full(t, a, b, ftz);
    }
    return 0;
}

}  // namespace mufu

// A function of a type that it has (mufu.hpp lists them), packed types too. b: of quotients.
constexpr uint64_t special_function(const MufuTables& t, Special f, isa::Type type, bool ftz,
                                    uint64_t a, uint64_t b = 0) {
    using isa::Type;
    const auto x = static_cast<uint32_t>(a);
    switch (type) {
        case Type::f64:
            if (f == Special::rcp) return mufu::rcp_f64(t, a);
            return ftz ? mufu::seed_rsqrt_f64(t, a) : mufu::rsqrt_f64(t, a);
        case Type::f16:
        case Type::bf16:
            return mufu::narrow(t, f, type, x & 0xffff);
        case Type::f16x2:
        case Type::bf16x2: {
            const Type element = type == Type::f16x2 ? Type::f16 : Type::bf16;
            return mufu::narrow(t, f, element, x >> 16) << 16 |
                   mufu::narrow(t, f, element, x & 0xffff);
        }
        default:
            return mufu::of_f32(t, f, ftz, x, static_cast<uint32_t>(b));
    }
}

}  // namespace lockwarp::num
