// SPDX-License-Identifier: Apache-2.0
#include "emu/num/ieee.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace lockwarp::num {
namespace {

using isa::Type;

__extension__ using uint128 = unsigned __int128;

int leading_zeros(uint128 x) {
    const auto high = static_cast<uint64_t>(x >> 64);
    return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(x));
}

// Shifted right; what is shifted out is kept as the lowest bit.
uint128 shift_sticky(uint128 x, int by) {
    if (by <= 0) return x;
    if (by >= 128) return x != 0;
    return (x >> by) | ((x & ((uint128{1} << by) - 1)) != 0);
}

uint64_t flush(const FormatRow& f, uint64_t bits) {
    const uint64_t magnitude = bits & (sign_bit(f) - 1);
    const bool subnormal = magnitude >> (f.fraction_bits + f.low_zeros) == 0;
    return subnormal ? bits & sign_bit(f) : bits;
}

uint64_t operand(const FormatRow& f, uint64_t bits, Flags flags) {
    bits &= sign_bit(f) | (sign_bit(f) - 1);
    return flags.ftz ? flush(f, bits) : bits;
}

Number unpack_operand(const FormatRow& f, uint64_t bits, Flags flags) {
    return unpack(f, operand(f, bits, flags));
}

uint64_t infinity(const FormatRow& f, bool negative) {
    return with_sign(f, negative, infinity_magnitude(f));
}

bool is_nan(const FormatRow& f, uint64_t bits) { return unpack(f, bits).kind == Class::nan; }

// The NaN that an operation gives when at least one operand is NaN. In f64 the first NaN comes out
// quieted; `operands` stand in the order in which an H200, driver 580, chooses: the second operand
// (then the addend) before the first, except in division, which is a routine.
uint64_t quiet_nan(const FormatRow& f, std::initializer_list<uint64_t> operands) {
    if (!f.keeps_payload) return f.nan;
    for (const uint64_t bits : operands)
        if (is_nan(f, bits)) return bits | (uint64_t{1} << (f.fraction_bits - 1));
    return f.nan;
}

// .sat and .relu, on a rounded result.
uint64_t clamp(const FormatRow& f, uint64_t bits, Flags flags) {
    if (!flags.sat && !flags.relu) return bits;
    const Number x = unpack(f, bits);
    if (x.kind == Class::nan) return flags.sat ? 0 : bits;
    if (x.negative) return 0;
    const uint64_t one = static_cast<uint64_t>(bias(f)) << (f.fraction_bits + f.low_zeros);
    return flags.sat ? std::min(bits, one) : bits;
}

uint64_t round_wide(const FormatRow& f, Rounding r, Flags flags, bool negative, int exponent,
                    uint128 significand) {
    const int surplus = 64 - leading_zeros(significand);
    if (surplus > 0) {
        significand = shift_sticky(significand, surplus);
        exponent += surplus;
    }
    const RoundTo to{.rounding = r,
                     .overflow = flags.satfinite ? Overflow::largest : Overflow::ieee,
                     .ftz = flags.ftz};
    const auto narrow = static_cast<uint64_t>(significand);
    return clamp(f, round_pack(f, to, negative, exponent, narrow), flags);
}

struct Term {
    bool negative;
    int exponent;
    uint128 significand;  // below 2^108
};

// The sum of two finite terms, rounded once.
uint64_t round_sum(const FormatRow& f, Rounding r, Flags flags, Term x, Term y) {
    if (x.significand == 0 && y.significand == 0)
        return clamp(f, with_sign(f, x.negative == y.negative ? x.negative : r == Rounding::rm, 0),
                     flags);
    if (x.significand == 0) return round_wide(f, r, flags, y.negative, y.exponent, y.significand);
    if (y.significand == 0) return round_wide(f, r, flags, x.negative, x.exponent, x.significand);

    // Both get their leading bit at bit 125. A term that is shifted so far that bits are lost is
    // so small that at most one leading bit cancels: the sticky bit stays below the rounding.
    for (Term* t : {&x, &y}) {
        const int up = leading_zeros(t->significand) - 2;
        t->significand <<= up;
        t->exponent -= up;
    }
    if (x.exponent < y.exponent) std::swap(x, y);
    y.significand = shift_sticky(y.significand, x.exponent - y.exponent);
    if (x.negative == y.negative)
        return round_wide(f, r, flags, x.negative, x.exponent, x.significand + y.significand);
    if (x.significand == y.significand) return clamp(f, with_sign(f, r == Rounding::rm, 0), flags);
    return x.significand > y.significand
               ? round_wide(f, r, flags, x.negative, x.exponent, x.significand - y.significand)
               : round_wide(f, r, flags, y.negative, x.exponent, y.significand - x.significand);
}

// The largest bit pattern r with r*r <= x.
uint64_t integer_sqrt(uint128 x) {
    uint128 root = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const uint128 candidate = root | (uint128{1} << bit);
        if (candidate * candidate <= x) root = candidate;
    }
    return static_cast<uint64_t>(root);
}

// Finite numbers, NaN excluded, as integers in the same order; -0 just below +0.
int64_t ordered(const FormatRow& f, uint64_t bits) {
    const auto magnitude = static_cast<int64_t>(bits & (sign_bit(f) - 1));
    return (bits & sign_bit(f)) != 0 ? -magnitude - 1 : magnitude;
}

uint64_t min_or_max(Type t, uint64_t a, uint64_t b, Flags flags, bool take_larger) {
    const FormatRow& f = format(t);
    a = operand(f, a, flags);
    b = operand(f, b, flags);
    const bool a_nan = is_nan(f, a);
    const bool b_nan = is_nan(f, b);
    if ((a_nan && b_nan) || (flags.nan && (a_nan || b_nan))) return quiet_nan(f, {b, a});
    const uint64_t sign = (a ^ b) & sign_bit(f);
    if (flags.xorsign || flags.abs) {
        a &= ~sign_bit(f);
        b &= ~sign_bit(f);
    }
    const bool a_larger = ordered(f, a) > ordered(f, b);
    const bool take_a = b_nan || (!a_nan && a_larger == take_larger);
    const uint64_t result = take_a ? a : b;
    return flags.xorsign ? result | sign : result;
}

}  // namespace

uint64_t add(Type t, uint64_t a, uint64_t b, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const Number x = unpack_operand(f, a, flags);
    const Number y = unpack_operand(f, b, flags);
    if (x.kind == Class::nan || y.kind == Class::nan) return clamp(f, quiet_nan(f, {b, a}), flags);
    if (x.kind == Class::infinity && y.kind == Class::infinity && x.negative != y.negative)
        return clamp(f, f.nan, flags);
    if (x.kind == Class::infinity) return clamp(f, infinity(f, x.negative), flags);
    if (y.kind == Class::infinity) return clamp(f, infinity(f, y.negative), flags);
    return round_sum(f, r, flags, {x.negative, x.exponent, x.significand},
                     {y.negative, y.exponent, y.significand});
}

uint64_t sub(Type t, uint64_t a, uint64_t b, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    return add(t, a, is_nan(f, operand(f, b, flags)) ? b : b ^ sign_bit(f), r, flags);
}

uint64_t mul(Type t, uint64_t a, uint64_t b, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const Number x = unpack_operand(f, a, flags);
    const Number y = unpack_operand(f, b, flags);
    if (x.kind == Class::nan || y.kind == Class::nan) return clamp(f, quiet_nan(f, {b, a}), flags);
    const bool negative = x.negative != y.negative;
    if (x.kind == Class::infinity || y.kind == Class::infinity) {
        const bool zero = x.kind == Class::zero || y.kind == Class::zero;
        return clamp(f, zero ? f.nan : infinity(f, negative), flags);
    }
    return round_wide(f, r, flags, negative, x.exponent + y.exponent,
                      uint128{x.significand} * y.significand);
}

uint64_t fma(Type t, uint64_t a, uint64_t b, uint64_t c, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const auto outside = [&](uint64_t v) { return (v & ~sign_bit(f)) == out_of_bounds; };
    if (flags.oob && (outside(a) || outside(b))) return 0;
    const Number x = unpack_operand(f, a, flags);
    const Number y = unpack_operand(f, b, flags);
    const Number z = unpack_operand(f, c, flags);
    if (x.kind == Class::nan || y.kind == Class::nan || z.kind == Class::nan)
        return clamp(f, quiet_nan(f, {b, c, a}), flags);
    const bool negative = x.negative != y.negative;
    if (x.kind == Class::infinity || y.kind == Class::infinity) {
        const bool zero = x.kind == Class::zero || y.kind == Class::zero;
        const bool opposed = z.kind == Class::infinity && z.negative != negative;
        return clamp(f, zero || opposed ? f.nan : infinity(f, negative), flags);
    }
    if (z.kind == Class::infinity) return clamp(f, infinity(f, z.negative), flags);
    return round_sum(f, r, flags,
                     {negative, x.exponent + y.exponent, uint128{x.significand} * y.significand},
                     {z.negative, z.exponent, z.significand});
}

uint64_t div(Type t, uint64_t a, uint64_t b, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const Number x = unpack_operand(f, a, flags);
    const Number y = unpack_operand(f, b, flags);
    if (x.kind == Class::nan || y.kind == Class::nan) return clamp(f, quiet_nan(f, {a, b}), flags);
    const bool negative = x.negative != y.negative;
    if (x.kind == y.kind && (x.kind == Class::infinity || x.kind == Class::zero))
        return clamp(f, f.nan, flags);
    if (x.kind == Class::infinity || y.kind == Class::zero)
        return clamp(f, infinity(f, negative), flags);
    if (y.kind == Class::infinity || x.kind == Class::zero)
        return clamp(f, with_sign(f, negative, 0), flags);
    // With the dividend's leading bit at bit 127 the quotient has at least 74 bits.
    const int up = leading_zeros(x.significand);
    const uint128 dividend = uint128{x.significand} << up;
    const uint128 quotient = dividend / y.significand;
    const bool rest = dividend % y.significand != 0;
    return round_wide(f, r, flags, negative, x.exponent - up - y.exponent, quotient | rest);
}

uint64_t sqrt(Type t, uint64_t a, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const Number x = unpack_operand(f, a, flags);
    if (x.kind == Class::nan) return clamp(f, quiet_nan(f, {a}), flags);
    if (x.kind == Class::zero) return clamp(f, with_sign(f, x.negative, 0), flags);
    if (x.negative) return clamp(f, f.nan, flags);
    if (x.kind == Class::infinity) return clamp(f, infinity(f, false), flags);
    // The radicand gets 127 or 128 bits and an even exponent, the root 64 bits.
    int up = leading_zeros(x.significand);
    if ((x.exponent - up) % 2 != 0) --up;
    const uint128 radicand = uint128{x.significand} << up;
    const uint64_t root = integer_sqrt(radicand);
    const bool rest = uint128{root} * root != radicand;
    return round_wide(f, r, flags, false, (x.exponent - up) / 2, root | rest);
}

Order compare(Type t, uint64_t a, uint64_t b, bool ftz) {
    const FormatRow& f = format(t);
    a = operand(f, a, {.ftz = ftz});
    b = operand(f, b, {.ftz = ftz});
    if (is_nan(f, a) || is_nan(f, b)) return Order::unordered;
    if (((a | b) & (sign_bit(f) - 1)) == 0) return Order::equal;
    const int64_t x = ordered(f, a);
    const int64_t y = ordered(f, b);
    return x < y ? Order::less : x > y ? Order::greater : Order::equal;
}

uint64_t min(Type t, uint64_t a, uint64_t b, Flags flags) {
    return min_or_max(t, a, b, flags, false);
}
uint64_t max(Type t, uint64_t a, uint64_t b, Flags flags) {
    return min_or_max(t, a, b, flags, true);
}

namespace {

// The NaN that a conversion gives (measured on an H200, driver 580). From and to f64 the sign and
// the upper fraction bits stay and the NaN is quieted; bf16 to f32 is a shift, and rna to tf32
// a truncation, so that a signalling NaN stays one or becomes an infinity. Else canonical.
uint64_t convert_nan(Type from, Type to, uint64_t bits, Rounding r, bool ftz, Flags flags) {
    const FormatRow& source = format(from);
    const FormatRow& target = format(to);
    const bool wide = from == Type::f64 || to == Type::f64;
    const bool copied = (from == Type::bf16 && to == Type::f32 && !flags.ftz) ||
                        (to == Type::tf32 && r == Rounding::rna);
    if (!wide && !copied) return target.nan;
    // .satfinite takes one from the largest exponent's patterns, of infinity and of NaN alike.
    if (to == Type::tf32 && flags.satfinite) return (bits & ~uint64_t{0x1fff}) - 0x2000;
    // With .ftz, f32 to f64 first passes through an f32 operation.
    if (ftz && from == Type::f32) bits = source.nan;
    const uint64_t fraction =
        (bits >> source.low_zeros) & ((uint64_t{1} << source.fraction_bits) - 1);
    const int up = target.fraction_bits - source.fraction_bits;
    const uint64_t quiet = wide ? uint64_t{1} << (target.fraction_bits - 1) : 0;
    const uint64_t kept = up >= 0 ? fraction << up : fraction >> -up;
    return with_sign(target, (bits & sign_bit(source)) != 0,
                     infinity_magnitude(target) | quiet | kept);
}

}  // namespace

uint64_t convert(Type from, Type to, uint64_t bits, Rounding r, Flags flags) {
    const FormatRow& source = format(from);
    const FormatRow& target = format(to);
    // f32 to f16 does not flush: .ftz shows there with rm and rp (H200, driver 580).
    const bool flush_source = flags.ftz && from == Type::f32 && to != Type::f16;
    flags.ftz = flags.ftz && to == Type::f32;
    // f32 and f64 to themselves are a move, signalling NaN included.
    if (from == to && (to == Type::f32 || to == Type::f64) && !flags.ftz && !flags.sat) return bits;
    const Number x = unpack_operand(source, bits, {.ftz = flush_source});
    switch (x.kind) {
        case Class::nan:
            return clamp(target, convert_nan(from, to, bits, r, flush_source, flags), flags);
        case Class::infinity:
            if (flags.satfinite)
                return clamp(target, with_sign(target, x.negative, largest_magnitude(target)),
                             flags);
            return clamp(target, target.has_infinity ? infinity(target, x.negative) : target.nan,
                         flags);
        case Class::zero:
        case Class::finite:
            break;
    }
    return round_wide(target, r, flags, x.negative, x.exponent, x.significand);
}

namespace {

// A finite number's magnitude as an integer, rounded; at most 2^64.
uint128 round_magnitude(const Number& x, Rounding r) {
    constexpr uint128 most = uint128{1} << 64;
    if (x.exponent >= 0)
        return x.exponent > 64 ? most : std::min(uint128{x.significand} << x.exponent, most);
    // Two places below the integers say all that rounding asks.
    const auto places =
        static_cast<uint64_t>(x.exponent <= -2 ? shift_sticky(x.significand, -2 - x.exponent)
                                               : uint128{x.significand} << 1);
    const uint64_t whole = places >> 2;
    return uint128{whole} +
           rounds_up(r, x.negative, (whole & 1) != 0, (places & 2) != 0, (places & 1) != 0);
}

}  // namespace

uint64_t round_to_integral(Type t, uint64_t bits, Rounding r, Flags flags) {
    const FormatRow& f = format(t);
    const Number x = unpack_operand(f, bits, flags);
    switch (x.kind) {
        case Class::nan:
            return clamp(f, quiet_nan(f, {bits}), flags);
        case Class::infinity:
            return clamp(f, infinity(f, x.negative), flags);
        case Class::zero:
        case Class::finite:
            break;
    }
    if (x.exponent >= 0) return clamp(f, operand(f, bits, flags), flags);
    return round_wide(f, Rounding::rn, flags, x.negative, 0, round_magnitude(x, r));
}

uint64_t to_integer(Type from, uint64_t bits, Rounding r, unsigned width, bool is_signed,
                    bool ftz) {
    const FormatRow& f = format(from);
    const Number x = unpack_operand(f, bits, {.ftz = ftz});
    const uint64_t top = uint64_t{1} << (width - 1);
    const uint64_t all = top | (top - 1);
    if (x.kind == Class::nan) return width == 64 || from == Type::f64 ? top : 0;
    const uint128 magnitude = x.kind == Class::infinity ? uint128{1} << 64 : round_magnitude(x, r);
    if (x.negative) {
        if (!is_signed) return 0;
        return (0 - static_cast<uint64_t>(std::min<uint128>(magnitude, top))) & all;
    }
    const uint64_t limit = is_signed ? top - 1 : all;
    return magnitude > limit ? limit : static_cast<uint64_t>(magnitude);
}

uint64_t from_integer(Type to, uint64_t value, unsigned width, bool is_signed, Rounding r,
                      Flags flags) {
    const uint64_t top = uint64_t{1} << (width - 1);
    const uint64_t all = top | (top - 1);
    value &= all;
    const bool negative = is_signed && (value & top) != 0;
    const uint64_t magnitude = negative ? (~value & all) + 1 : value;
    return round_wide(format(to), r, flags, negative, 0, magnitude);
}

}  // namespace lockwarp::num
