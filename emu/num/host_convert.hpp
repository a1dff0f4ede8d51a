// SPDX-License-Identifier: Apache-2.0
// Conversions with the host's own, which round to nearest even as it does when a program starts:
// fast paths, the same bits as the plain definitions (ieee.hpp) and tested against them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "emu/num/round.hpp"

namespace lockwarp::num {

inline uint32_t f32_of_s32(uint32_t v) {
    return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(v)));
}
inline uint32_t f32_of_u32(uint32_t v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
inline uint64_t f64_of_s32(uint32_t v) {
    return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int32_t>(v)));
}
inline uint64_t f64_of_u32(uint32_t v) { return std::bit_cast<uint64_t>(static_cast<double>(v)); }

inline uint32_t f32_of_s64(uint64_t v) {
    return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(v)));
}
inline uint32_t f32_of_u64(uint64_t v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
inline uint64_t f64_of_s64(uint64_t v) {
    return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(v)));
}
inline uint64_t f64_of_u64(uint64_t v) { return std::bit_cast<uint64_t>(static_cast<double>(v)); }

inline double unrounded(double v) { return v; }
// A NaN's payload has rules of its own.
inline bool is_number(double v) { return v == v; }
inline uint64_t f64_of(double v) { return std::bit_cast<uint64_t>(v); }
inline uint32_t f32_of(double v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }

// Towards zero. The number must be above -2^31 - 1 and below 2^31; NaN is not.
inline bool truncates_to_s32(double v) { return v > -2147483649.0 && v < 2147483648.0; }
inline uint32_t s32_of(double v) { return static_cast<uint32_t>(static_cast<int32_t>(v)); }
// Above -1 and below 2^32.
inline bool truncates_to_u32(double v) { return v > -1.0 && v < 4294967296.0; }
inline uint32_t u32_of(double v) { return static_cast<uint32_t>(static_cast<int64_t>(v)); }

inline uint32_t f32_of_f16(uint32_t v) {
    const uint32_t sign = (v & 0x8000) << 16;
    const uint32_t magnitude = v & 0x7fff;
    // As a power of 2 too small, of subnormals too.
    const auto number = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const uint32_t infinity = sign | 0x7f800000;
    return magnitude < 0x7c00 ? sign | number : magnitude == 0x7c00 ? infinity : 0x7fffffff;
}

inline uint32_t f16_of_f32(uint32_t v) {
    const uint32_t sign = v >> 16 & 0x8000;
    const uint32_t magnitude = v & 0x7fffffff;
    // Of a subnormal: the sum with 0.5 has its last place at 2^-24.
    const auto rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    const uint32_t subnormal = rounded - 0x3f000000;
    const uint32_t up = magnitude + 0xfff + (magnitude >> 13 & 1);
    const uint32_t normal = (up - 0x38000000) >> 13;
    const uint32_t number = magnitude < 0x38800000 ? subnormal : normal < 0x7c00 ? normal : 0x7c00;
    return magnitude > 0x7f800000 ? 0x7fff : sign | number;
}

inline uint32_t f32_of_bf16(uint32_t v) { return v << 16; }

inline uint32_t bf16_of_f32(uint32_t v) {
    return (v & 0x7fffffff) > 0x7f800000 ? 0x7fff : (v + 0x7fff + (v >> 16 & 1)) >> 16;
}

// Halves away from zero; of NaN the lower bits are cut off.
inline uint32_t tf32_of_f32(uint32_t v) {
    const uint32_t half = (v & 0x7fffffff) > 0x7f800000 ? 0 : 0x1000;
    return (v + half) & ~0x1fffu;
}

// To an integer in the same format, of rn, rz, rm or rp; the sign of zero stays. Not of NaN.
template <Rounding r, class Float>
inline Float to_integral(Float v) {
    // From here on every number is an integer.
    constexpr Float integers = 1 / std::numeric_limits<Float>::epsilon();
    using Integer = std::conditional_t<sizeof(Float) == 4, int32_t, int64_t>;
    const Float magnitude = std::fabs(v);
    const Float within = magnitude < integers ? magnitude : 0;
    const auto whole = static_cast<Float>(static_cast<Integer>(within));
    const bool up = (r == Rounding::rp && v > 0) || (r == Rounding::rm && v < 0);
    const Float rounded = r == Rounding::rn ? (within + integers) - integers
                          : up              ? whole + (whole < within ? 1 : 0)
                                            : whole;
    return std::copysign(magnitude < integers ? rounded : magnitude, v);
}

// With .satfinite. The subnormals' last place is that of the sum with `beside`; `bias` is the
// exponent that becomes 0, `dropped` the fraction's places that go.
template <uint32_t bias, uint32_t dropped, uint32_t largest>
inline uint32_t f8_of_f32(uint32_t v) {
    constexpr uint32_t normal = (bias + 1) << 23;
    constexpr auto beside = std::bit_cast<float>((bias + 1 + dropped) << 23);
    const uint32_t magnitude = v & 0x7fffffff;
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + beside) -
                               std::bit_cast<uint32_t>(beside);
    const uint32_t up = magnitude + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
    const uint32_t number = magnitude < normal ? subnormal : (up - (bias << 23)) >> dropped;
    const uint32_t finite = number < largest ? number : largest;
    return magnitude > 0x7f800000 ? 0x7f : (v >> 24 & 0x80) | finite;
}
inline uint32_t e4m3_of_f32(uint32_t v) { return f8_of_f32<120, 20, 0x7e>(v); }
inline uint32_t e5m2_of_f32(uint32_t v) { return f8_of_f32<112, 21, 0x7b>(v); }
inline uint32_t e4m3_of_f16(uint32_t v) { return e4m3_of_f32(f32_of_f16(v)); }
inline uint32_t e5m2_of_f16(uint32_t v) { return e5m2_of_f32(f32_of_f16(v)); }

inline uint32_t f16_of_e4m3(uint32_t v) {
    const uint32_t magnitude = v & 0x7f;
    // As a power of 2 too small, of subnormals too.
    const float number = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
    const uint32_t bits = f16_of_f32(std::bit_cast<uint32_t>(number));
    return magnitude == 0x7f ? 0x7fff : (v & 0x80) << 8 | bits;
}
inline uint32_t f16_of_e5m2(uint32_t v) { return (v & 0x7f) > 0x7c ? 0x7fff : v << 8; }

}  // namespace lockwarp::num
