// SPDX-License-Identifier: Apache-2.0
#include "emu/num/folded.hpp"

#include "emu/num/ieee.hpp"

namespace lockwarp::num {

namespace {

using mufu::infinity_f32;
using mufu::magnitude;
using mufu::nan_f32;
using mufu::one_f32;
using mufu::Parts;
using mufu::parts;
using mufu::sign_f32;
using mufu::smallest_normal;
using mufu::uint128;
using mufu::unit_rcp;
using Type = isa::Type;

constexpr Flags flush{.ftz = true};
constexpr uint128 word(uint64_t high, uint64_t low) { return uint128{high} << 64 | low; }

// Fractions below are in units of 2^-128. The upper half of a product.
uint128 product(uint128 a, uint128 b) {
    const uint128 a0 = static_cast<uint64_t>(a);
    const uint128 a1 = a >> 64;
    const uint128 b0 = static_cast<uint64_t>(b);
    const uint128 b1 = b >> 64;
    const uint128 x = a1 * b0;
    const uint128 y = a0 * b1;
    const uint128 middle = (a0 * b0 >> 64) + static_cast<uint64_t>(x) + static_cast<uint64_t>(y);
    return a1 * b1 + (x >> 64) + (y >> 64) + (middle >> 64);
}

// value * 2^exponent, rounded to f64 and then to f32. What was cut off of it stands as its lowest
// bit.
constexpr uint128 cut_off = 1;
uint32_t rounded_twice(bool negative, uint128 value, int exponent) {
    const int leading = mufu::leading_place(value);
    if (leading > 63) {
        value = mufu::shift_sticky(value, leading - 63);
        exponent += leading - 63;
    }
    const uint64_t wide =
        round_pack(format(Type::f64), {}, negative, exponent, static_cast<uint64_t>(value));
    return static_cast<uint32_t>(convert(Type::f64, Type::f32, wide, Rounding::rn, flush));
}

// Turns in a radian, 1 / (2 pi): 384 bits of its fraction.
constexpr std::array<uint64_t, 6> turns_in_radian{0x28be60db9391054a, 0x7f09d5f47d4d3770,
                                                  0x36d8a5664f10e410, 0x7f9458eaf7aef158,
                                                  0x6dc91b8e909374b8, 0x01924bba82746487};
constexpr uint128 quarter_pi = word(0xc90fdaa22168c234, 0xc4c6628b80dc1cd1);
constexpr uint128 ln_2 = word(0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af);

// 64 bits of 1 / (2 pi), the first that of 2^-(first + 1).
uint128 turn_bits(int first) {
    const auto at = [](int index) {
        return index < 0 ? uint64_t{0} : turns_in_radian[static_cast<size_t>(index)];
    };
    const int index = first >= 0 ? first / 64 : -1;
    const int shift = first - 64 * index;
    return shift == 0 ? at(index) : at(index) << shift | at(index + 1) >> (64 - shift);
}

// The sine of `fraction` of a right angle, by its series, or by that of the other angle's cosine.
uint128 sine_of_quadrant(uint128 fraction) {
    const bool upper = fraction >> 127 != 0;
    const uint128 angle = product((upper ? ~fraction : fraction) << 1, quarter_pi);
    const uint128 square = product(angle, angle);
    uint128 term = upper ? square >> 1 : angle;
    uint128 sum = term;
    bool subtracts = true;
    for (uint64_t n = upper ? 3 : 2; term != 0; n += 2, subtracts = !subtracts) {
        term = product(term, square) / (n * (n + 1));
        sum = subtracts ? sum - term : sum + term;
    }
    return upper ? ~sum : sum;
}

// Operands below 2^-28 are rounded to what their series begins with.
constexpr int small_angle = 127 - 28;

// Sine of a finite |x| of at least 2^-28, `quarters` right angles further on. Three times 64 bits
// of 1 / (2 pi) from where the product is below a turn on: the result is known to 2^-120, and no
// f32 is nearer than 2^-35 to a multiple of a right angle.
uint32_t sine(uint32_t x, unsigned quarters, bool negative) {
    const Parts p = parts(x);
    const uint128 significand = p.m | smallest_normal;
    const int first = p.e - 150;
    const uint128 turn = (significand * turn_bits(first) << 64) +
                         significand * turn_bits(first + 64) +
                         (significand * turn_bits(first + 128) >> 64);
    const unsigned quadrant = (static_cast<unsigned>(turn >> 126) + quarters) & 3;
    const uint128 fraction = turn << 2;
    const uint128 value = sine_of_quadrant((quadrant & 1) != 0 ? ~fraction : fraction);
    return rounded_twice(negative != (quadrant >= 2), value | cut_off, -128);
}

// The unit's operations, as the tables have them in mufu_model.hpp.
struct TwiceRounded {};

uint32_t unit_rcp(TwiceRounded, uint32_t x) {
    return static_cast<uint32_t>(div(Type::f32, one_f32, x, Rounding::rn, flush));
}

uint32_t unit_sqrt(TwiceRounded, uint32_t x) {
    return static_cast<uint32_t>(sqrt(Type::f32, x, Rounding::rn, flush));
}

uint32_t unit_rsqrt(TwiceRounded, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return p.sign | infinity_f32;
    if (p.sign != 0) return nan_f32;
    const uint64_t wide = convert(Type::f32, Type::f64, x, Rounding::rn);
    const uint64_t root = sqrt(Type::f64, wide, Rounding::rn);
    const uint64_t inverse = div(Type::f64, mufu::one_f64, root, Rounding::rn);
    return static_cast<uint32_t>(convert(Type::f64, Type::f32, inverse, Rounding::rn, flush));
}

uint32_t unit_ex2(TwiceRounded, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e >= 127 + 8) return p.sign != 0 ? 0 : infinity_f32;
    if (p.e < 127 - 60) return one_f32;
    // In units of 2^-119.
    constexpr int places = 119;
    auto fixed = static_cast<__int128>(uint128{p.m | smallest_normal} << (p.e - 150 + places));
    if (p.sign != 0) fixed = -fixed;
    const auto whole = static_cast<int>(fixed >> places);
    const uint128 fraction = static_cast<uint128>(fixed) << (128 - places);
    if (whole >= 128) return infinity_f32;
    uint128 term = product(fraction, ln_2);
    uint128 sum = term;
    for (uint64_t n = 2; term != 0; ++n) {
        term = product(term, product(fraction, ln_2)) / n;
        sum += term;
    }
    const uint128 value = uint128{1} << 127 | sum >> 1 | cut_off;
    return rounded_twice(false, value, whole - 127);
}

// A bit of the logarithm's fraction for each squaring, 112 of them.
uint32_t unit_lg2(TwiceRounded, uint32_t x) {
    const Parts p = parts(x);
    if (p.nan) return nan_f32;
    if (p.e == 0) return sign_f32 | infinity_f32;
    if (p.sign != 0) return nan_f32;
    if (p.e == 255) return x;
    if (x == one_f32) return 0;
    constexpr int places = 112;
    uint128 number = uint128{p.m | smallest_normal} << (127 - 23);  // of [1, 2), units of 2^-127
    uint128 fraction = 0;
    for (int i = 0; i < places; ++i) {
        number = product(number, number);
        const bool above = number >> 127 != 0;
        if (!above) number <<= 1;
        fraction = fraction << 1 | (above ? 1 : 0);
    }
    const auto fixed =
        (static_cast<__int128>(p.e - 127) << places) + static_cast<__int128>(fraction);
    const bool negative = fixed < 0;
    const auto size = static_cast<uint128>(negative ? -fixed : fixed);
    return rounded_twice(negative, p.m == 0 ? size : (negative ? size - 1 : size) | cut_off,
                         -places);
}

// The assembler leaves it to the instruction.
uint32_t unit_tanh(TwiceRounded, uint32_t x) { return mufu::unit_tanh(mufu_tables, x); }

uint32_t sin_f32(TwiceRounded, uint32_t x) {
    const Parts p = parts(x);
    if (p.e == 255) return nan_f32;
    if (p.e == 0) return p.sign;
    if (p.e < small_angle) return x;
    return sine(x, 0, p.sign != 0);
}

uint32_t cos_f32(TwiceRounded, uint32_t x) {
    const Parts p = parts(x);
    if (p.e == 255) return nan_f32;
    return p.e < small_angle ? one_f32 : sine(x, 1, false);
}

// A reciprocal that is known; of the argument is asked only what its scaling is.
struct Known {
    uint32_t reciprocal;
};

uint32_t unit_rcp(const Known& k, uint32_t) { return k.reciprocal; }

// Keeps what a quotient asks another unit for.
template <class Unit>
struct Asked {
    const Unit& unit;
    mutable uint32_t reciprocal = 0;
};

template <class Unit>
uint32_t unit_rcp(const Asked<Unit>& a, uint32_t y) {
    return a.reciprocal = unit_rcp(a.unit, y);
}

template <class Unit>
uint32_t quotient(const Unit& unit, Special f, bool ftz, uint32_t a, uint32_t b) {
    return f == Special::div_full ? mufu::div_full(unit, a, b, ftz)
                                  : mufu::div_approx(unit, a, b, ftz);
}

template <class Unit>
uint32_t reciprocal(const Unit& unit, Special f, bool ftz, uint32_t b) {
    const Asked<Unit> asked{unit};
    quotient(asked, f, ftz, one_f32, b);
    return asked.reciprocal;
}

}  // namespace

uint32_t folded_f32(Special f, bool ftz, uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(mufu::of_f32(TwiceRounded{}, f, ftz, a, b));
}

uint32_t folded_reciprocal(Special f, bool ftz, uint32_t b) {
    return reciprocal(TwiceRounded{}, f, ftz, b);
}

uint32_t unit_reciprocal(Special f, bool ftz, uint32_t b) {
    return reciprocal(mufu_tables, f, ftz, b);
}

uint32_t product_with_reciprocal(Special f, bool ftz, uint32_t a, uint32_t b, uint32_t reciprocal) {
    return quotient(Known{reciprocal}, f, ftz, a, b);
}

}  // namespace lockwarp::num
