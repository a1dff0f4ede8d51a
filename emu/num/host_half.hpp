// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 arithmetic by the host's f32, f64 and integers, to nearest even and without
// modifiers: fast paths, the same bits as the plain definitions (ieee.hpp) and tested against them.
//
// Why one rounding more changes nothing: a sum, difference or product of numbers of p places that
// is rounded to at least 2p + 2 places, and then to p, is the one rounded to p at once (S. A.
// Figueroa, "When is double rounding innocuous?", 1995): f32 has 24, f16 11 and bf16 8. f32 reaches
// as far down as bf16 does; products of bf16 that lie below have 16 places, all of which f32 holds
// wherever bf16 is not 0. The sum of a product and a number is rounded to odd in between, which no
// later rounding to fewer places sees (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly
// rounded sums", 2008).
#pragma once

#include <bit>
#include <cstdint>

#include "emu/num/host_convert.hpp"

namespace lockwarp::num {

inline float number_of_f16(uint32_t v) { return std::bit_cast<float>(f32_of_f16(v)); }
inline float number_of_bf16(uint32_t v) { return std::bit_cast<float>(f32_of_bf16(v)); }
inline uint32_t f16_of(float v) { return f16_of_f32(std::bit_cast<uint32_t>(v)); }
inline uint32_t bf16_of(float v) { return bf16_of_f32(std::bit_cast<uint32_t>(v)); }

inline uint32_t add_f16(uint32_t a, uint32_t b) {
    return f16_of(number_of_f16(a) + number_of_f16(b));
}
inline uint32_t sub_f16(uint32_t a, uint32_t b) {
    return f16_of(number_of_f16(a) - number_of_f16(b));
}
inline uint32_t mul_f16(uint32_t a, uint32_t b) {
    return f16_of(number_of_f16(a) * number_of_f16(b));
}
inline uint32_t add_bf16(uint32_t a, uint32_t b) {
    return bf16_of(number_of_bf16(a) + number_of_bf16(b));
}
inline uint32_t sub_bf16(uint32_t a, uint32_t b) {
    return bf16_of(number_of_bf16(a) - number_of_bf16(b));
}
inline uint32_t mul_bf16(uint32_t a, uint32_t b) {
    return bf16_of(number_of_bf16(a) * number_of_bf16(b));
}

// `rounded`, or its neighbour on the side of what rounding took away, whichever is odd.
template <class Bits, class Float, class Taken>
inline Float to_odd(Float rounded, Taken taken) {
    const auto bits = std::bit_cast<Bits>(rounded);
    const bool negative = bits >> (8 * sizeof bits - 1) != 0;
    const bool inexact = taken < 0 || taken > 0;  // not of NaN
    const Bits neighbour = (taken < 0) == negative ? bits + 1 : bits - 1;
    return std::bit_cast<Float>(inexact && (bits & 1) == 0 ? neighbour : bits);
}

// What the sum's rounding took away (D. E. Knuth, The Art of Computer Programming 2, 4.2.2).
template <class Float>
inline Float taken_from(Float sum, Float a, Float b) {
    const Float of_b = sum - a;
    return (a - (sum - of_b)) + (b - of_b);
}

// A product of f16 is exact in f32.
inline uint32_t fma_f16(uint32_t a, uint32_t b, uint32_t c) {
    const float product = number_of_f16(a) * number_of_f16(b);
    const float addend = number_of_f16(c);
    const float sum = product + addend;
    return f16_of(to_odd<uint32_t>(sum, taken_from(sum, product, addend)));
}

// A product of bf16 is exact in f64, and no sum is too large for it.
inline uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c) {
    const double product = double{number_of_bf16(a)} * double{number_of_bf16(b)};
    const double addend = number_of_bf16(c);
    const double sum = product + addend;
    const double odd = to_odd<uint64_t>(sum, taken_from(sum, product, addend));
    const auto narrow = static_cast<float>(odd);
    return bf16_of(to_odd<uint32_t>(narrow, odd - narrow));
}

inline constexpr uint32_t f16_infinity = 0x7c00;
inline constexpr uint32_t bf16_infinity = 0x7f80;

template <uint32_t infinity>
inline bool half_is_nan(uint32_t v) {
    return (v & 0x7fff) > infinity;
}

// In the order of the numbers, -0 below +0.
inline int32_t ordered_half(uint32_t v) {
    const int32_t number = static_cast<int16_t>(v);
    return number < 0 ? number ^ 0x7fff : number;
}

template <uint32_t infinity, bool larger>
inline uint32_t half_extremum(uint32_t a, uint32_t b) {
    const uint32_t number = (ordered_half(a) > ordered_half(b)) == larger ? a : b;
    const uint32_t one = half_is_nan<infinity>(b) ? a : half_is_nan<infinity>(a) ? b : number;
    return half_is_nan<infinity>(one) ? 0x7fff : one;
}

template <uint32_t infinity>
inline uint32_t half_neg(uint32_t v) {
    return half_is_nan<infinity>(v) ? 0x7fff : v ^ 0x8000;
}

template <uint32_t infinity>
inline uint32_t half_abs(uint32_t v) {
    return half_is_nan<infinity>(v) ? 0x7fff : v & 0x7fff;
}

}  // namespace lockwarp::num
