// SPDX-License-Identifier: Apache-2.0
// The floating-point formats as rows, and the one function that rounds to them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "emu/isa/types.hpp"

namespace lockwarp::num {

// rn: nearest, ties to even. rna: nearest, ties away from zero.
using isa::Rounding;

// What a result beyond the largest finite number becomes. ieee: infinity or the largest number,
// as the rounding says. infinity: always infinity. largest: always the largest number (the
// .satfinite of cvt).
enum class Overflow : uint8_t { ieee, infinity, largest };

struct FormatRow {
    isa::Type type;
    uint8_t exponent_bits;
    uint8_t fraction_bits;
    uint8_t low_zeros;  // bits below the fraction: written as zero, not read (tf32 in 32 bits)
    bool has_infinity;
    bool keeps_payload;  // a NaN operand comes out quieted, not as the canonical NaN
    uint64_t nan;        // the canonical NaN; 0: the format has none
};

// The canonical NaNs are measured on an H200, driver 580. 0xFFF8... is what Inf*0 gives in f64.
inline constexpr std::array format_rows{
    FormatRow{isa::Type::f16, 5, 10, 0, true, false, 0x7FFF},
    FormatRow{isa::Type::bf16, 8, 7, 0, true, false, 0x7FFF},
    FormatRow{isa::Type::tf32, 8, 10, 13, true, false, 0x7FFFE000},
    FormatRow{isa::Type::f32, 8, 23, 0, true, false, 0x7FFFFFFF},
    FormatRow{isa::Type::f64, 11, 52, 0, true, true, 0xFFF8000000000000},
    FormatRow{isa::Type::e4m3, 4, 3, 0, false, false, 0x7F},
    FormatRow{isa::Type::e5m2, 5, 2, 0, true, false, 0x7F},
    FormatRow{isa::Type::e3m2, 3, 2, 0, false, false, 0},
    FormatRow{isa::Type::e2m3, 2, 3, 0, false, false, 0},
    FormatRow{isa::Type::e2m1, 2, 1, 0, false, false, 0},
};

constexpr bool has_format(isa::Type t) {
    for (const FormatRow& f : format_rows)
        if (f.type == t) return true;
    return false;
}

// The row of a type that has one.
constexpr const FormatRow& format(isa::Type t) {
    size_t i = 0;
    while (format_rows[i].type != t) ++i;
    return format_rows[i];
}

static_assert(
    [] {
        for (const FormatRow& f : format_rows)
            if (1 + f.exponent_bits + f.fraction_bits + f.low_zeros !=
                static_cast<int>(isa::bits(f.type)))
                return false;
        return true;
    }(),
    "sign, exponent, fraction and zeros fill the type");

constexpr int bias(const FormatRow& f) { return (1 << (f.exponent_bits - 1)) - 1; }
constexpr int min_exponent(const FormatRow& f) { return 1 - bias(f); }

// Magnitudes below are without sign and without the low zeros.
constexpr uint64_t infinity_magnitude(const FormatRow& f) {
    return ((uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits;
}
// Without infinity, only the pattern of all ones is not finite (e4m3), or none.
constexpr uint64_t largest_magnitude(const FormatRow& f) {
    return f.has_infinity ? infinity_magnitude(f) - 1
                          : infinity_magnitude(f) + (uint64_t{1} << f.fraction_bits) - 1 -
                                (f.nan != 0 ? 1 : 0);
}

constexpr uint64_t sign_bit(const FormatRow& f) { return uint64_t{1} << (isa::bits(f.type) - 1); }
constexpr uint64_t with_sign(const FormatRow& f, bool negative, uint64_t magnitude) {
    return (magnitude << f.low_zeros) | (negative ? sign_bit(f) : 0);
}

enum class Class : uint8_t { zero, finite, infinity, nan };

// A number taken apart. Finite: significand * 2^exponent; the leading bit of a normal significand
// is bit `fraction_bits`.
struct Number {
    Class kind;
    bool negative;
    int exponent;
    uint64_t significand;
};

constexpr Number unpack(const FormatRow& f, uint64_t bits) {
    const uint64_t magnitude = (bits & (sign_bit(f) - 1)) >> f.low_zeros;
    Number x{Class::finite, (bits & sign_bit(f)) != 0, 0, 0};
    if (magnitude > largest_magnitude(f)) {
        const bool infinite = f.has_infinity && magnitude == infinity_magnitude(f);
        x.kind = infinite ? Class::infinity : Class::nan;
        return x;
    }
    const uint64_t one = uint64_t{1} << f.fraction_bits;
    const int field = static_cast<int>(magnitude >> f.fraction_bits);
    x.significand = (magnitude & (one - 1)) | (field != 0 ? one : 0);
    x.exponent = std::max(field, 1) - bias(f) - f.fraction_bits;
    if (magnitude == 0) x.kind = Class::zero;
    return x;
}

// How a value becomes bits of a format.
struct RoundTo {
    Rounding rounding = Rounding::rn;
    Overflow overflow = Overflow::ieee;
    int kept = 64;  // bits of the result's significand, where fewer than the format has
    // Subnormal results become zero. Decided on the value rounded as if exponents had no lower
    // end: what then reaches the smallest normal number stays (measured on an H200, driver 580).
    bool ftz = false;
};

// Whether a magnitude becomes one more in its last place, which is odd or even, for what lies below
// it: half of that place, and a rest.
constexpr bool rounds_up(Rounding r, bool negative, bool odd, bool half, bool rest) {
    switch (r) {
        case Rounding::rz:
            break;
        case Rounding::rn:
            return half && (rest || odd);
        case Rounding::rm:
            return negative && (half || rest);
        case Rounding::rp:
            return !negative && (half || rest);
        case Rounding::rna:
            return half;
    }
    return false;
}

// significand * 2^exponent, rounded once. A significand that stands for an inexact value has its
// lowest bit set (sticky) and at least two bits more than the format keeps.
constexpr uint64_t round_pack(const FormatRow& f, const RoundTo& to, bool negative, int exponent,
                              uint64_t significand) {
    if (significand == 0) return with_sign(f, negative, 0);
    const int leading = 63 - std::countl_zero(significand) + exponent;
    const int lowest_normal = min_exponent(f);
    const bool below = leading < lowest_normal;
    const int kept = std::min<int>(to.kept, f.fraction_bits + 1);

    // The exponent of the last place that is kept, and the bits from there on.
    const int last_place = below && !to.ftz
                               ? std::max(leading - kept + 1, lowest_normal - f.fraction_bits)
                               : leading - kept + 1;
    const int drop = last_place - exponent;
    uint64_t quotient;
    if (drop <= 0) {
        quotient = significand << -drop;
    } else {
        const uint64_t whole = drop < 64 ? significand >> drop : 0;
        const bool half = drop <= 64 && ((significand >> (drop - 1)) & 1) != 0;
        const bool rest = drop > 64 || (significand & ((uint64_t{1} << (drop - 1)) - 1)) != 0;
        quotient = whole + rounds_up(to.rounding, negative, (whole & 1) != 0, half, rest);
    }
    if (below && to.ftz) {
        const bool reaches_normal = leading + 1 == lowest_normal && (quotient >> kept) != 0;
        const uint64_t smallest = uint64_t{1} << f.fraction_bits;
        return with_sign(f, negative, reaches_normal ? smallest : 0);
    }

    // The leading bit of a normal quotient counts one exponent step, so that a carry out of the
    // fraction gives the next exponent without a case of its own.
    const int step = std::max(leading, lowest_normal);
    const uint64_t magnitude = (static_cast<uint64_t>(step - lowest_normal) << f.fraction_bits) +
                               (quotient << (last_place - (step - f.fraction_bits)));
    if (magnitude <= largest_magnitude(f)) return with_sign(f, negative, magnitude);
    const bool to_largest =
        to.overflow == Overflow::largest ||
        (to.overflow == Overflow::ieee &&
         (to.rounding == Rounding::rz || (to.rounding == Rounding::rm && !negative) ||
          (to.rounding == Rounding::rp && negative)));
    if (to_largest) return with_sign(f, negative, largest_magnitude(f));
    return f.has_infinity ? with_sign(f, negative, infinity_magnitude(f)) : f.nan;
}

}  // namespace lockwarp::num
