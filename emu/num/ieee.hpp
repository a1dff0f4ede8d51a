// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic on bits, as the scalar instructions of PTX define it: integers only, so that
// neither the host's floating-point unit nor its rounding mode can change a result.
//
// A value is a bit pattern in the low end of a uint64_t. The types are the rows of round.hpp;
// packed types are taken one element at a time. NaN results of f16, bf16, tf32 and f32 are the
// format's canonical NaN; f64 carries payloads, and conversions have rules of their own (ieee.cpp).
//
// Compared with an H200, driver 580, in 653 forms of PTX's scalar instructions (f16, bf16, f32,
// f64, tf32 and integers; every rounding and modifier that ptxas accepts), on structured and random
// operands: no difference.
#pragma once

#include <cstdint>

#include "emu/isa/types.hpp"
#include "emu/num/round.hpp"

namespace lockwarp::num {

// The modifiers of PTX that change a result.
struct Flags {
    bool ftz = false;        // subnormal operands and results become zeros of the same sign
    bool sat = false;        // result clamped to [0, 1]; NaN gives +0
    bool relu = false;       // negative results give +0; NaN stays NaN
    bool nan = false;        // min, max: a NaN operand gives NaN
    bool xorsign = false;    // min, max: of magnitudes, signed by the product of the signs
    bool abs = false;        // min, max: of magnitudes
    bool oob = false;        // fma: +0 where a or b is the NaN `out_of_bounds`
    bool satfinite = false;  // cvt: overflow and infinity give the largest finite number
};

// The NaN, of either sign, that tensor copies fill with and fma.oob takes for 0, of f16 and of bf16
// (measured on an H100, driver 580: all values of a, of b and of c).
inline constexpr uint16_t out_of_bounds = 0x7ff7;

uint64_t add(isa::Type t, uint64_t a, uint64_t b, Rounding r, Flags flags = {});
uint64_t sub(isa::Type t, uint64_t a, uint64_t b, Rounding r, Flags flags = {});
uint64_t mul(isa::Type t, uint64_t a, uint64_t b, Rounding r, Flags flags = {});
// a*b + c, rounded once.
uint64_t fma(isa::Type t, uint64_t a, uint64_t b, uint64_t c, Rounding r, Flags flags = {});
uint64_t div(isa::Type t, uint64_t a, uint64_t b, Rounding r, Flags flags = {});
uint64_t sqrt(isa::Type t, uint64_t a, Rounding r, Flags flags = {});

enum class Order : uint8_t { less, equal, greater, unordered };
Order compare(isa::Type t, uint64_t a, uint64_t b, bool ftz = false);

// -0 is below +0. One NaN gives the other operand, unless flags.nan.
uint64_t min(isa::Type t, uint64_t a, uint64_t b, Flags flags = {});
uint64_t max(isa::Type t, uint64_t a, uint64_t b, Flags flags = {});

// From one format to another. ftz concerns only the f32 side (PTX manual, cvt).
uint64_t convert(isa::Type from, isa::Type to, uint64_t bits, Rounding r, Flags flags = {});

// To the nearest integers in the same format; the sign of zero stays.
uint64_t round_to_integral(isa::Type t, uint64_t bits, Rounding r, Flags flags = {});

// Clamped to the integer's range; the low `width` bits of the result. NaN gives 0 where neither
// side has 64 bits, else the pattern 1000...0 (PTX manual, cvt).
uint64_t to_integer(isa::Type from, uint64_t bits, Rounding r, unsigned width, bool is_signed,
                    bool ftz = false);
// `value` has `width` bits.
uint64_t from_integer(isa::Type to, uint64_t value, unsigned width, bool is_signed, Rounding r,
                      Flags flags = {});

}  // namespace lockwarp::num
