// SPDX-License-Identifier: Apache-2.0
// Functions of constants as NVIDIA's assembler computes them itself, from level 1 of its optimizer
// on: the special function unit's operation is replaced by the function of f64, rounded to f64 and
// then to f32, and what stands around it (mufu_model.hpp) stays. Bits of f32; a result that is NaN
// the assembler leaves to the instruction, which gives the same here.
//
// Learnt from ptxas 13.0: scripts/ask_folds.py asks it, tests/num/data/folds.tsv holds what it
// answers. Beside a difference of 16 f64 places from the middle between two f32 nothing depends on
// how f64 is rounded; of all operands within that (1,762 of the seven functions) the answers
// are rounded to nearest twice, which five of them show: sin 0x46199998, cos 0x5f18b878 and
// 0x6115cb11, ex2 0x3b429d37 and 0xbcf3a937.
//
// A division by the constant 1 without .ftz the assembler takes away, so that a NaN keeps its
// payload; that is not done here.
//
// Other instructions on constants have the values that they would give, but for NaNs, for
// cvt.rni.u64.f64 from 2^52 on, and for slct.s32.s32 (folded_constant; tests/exec/data/folded.tsv).
#pragma once

#include <cstdint>
#include <span>

#include "emu/isa/operation.hpp"
#include "emu/num/mufu_model.hpp"

namespace lockwarp::num {

// b: of quotients. tanh is left to the instruction.
uint32_t folded_f32(Special f, bool ftz, uint32_t a, uint32_t b = 0);

// false: the assembler leaves what has this result to the instruction, which gives the same.
constexpr bool is_folded(Special f, uint32_t value) {
    constexpr uint32_t minus_infinity = 0xff800000;
    return !mufu::parts(value).nan && (f != Special::lg2 || value != minus_infinity);
}

// Quotients by a constant are products with its reciprocal, which is computed so too.
// That of the constant as div.approx or div.full scales it: folded, and as the unit gives it.
uint32_t folded_reciprocal(Special f, bool ftz, uint32_t b);
uint32_t unit_reciprocal(Special f, bool ftz, uint32_t b);
uint32_t product_with_reciprocal(Special f, bool ftz, uint32_t a, uint32_t b, uint32_t reciprocal);

// What the assembler makes of an operation of emu/isa/folds.hpp, but for those functions, on
// constants.
struct FoldedConstant {
    uint64_t value;
    bool left = false;  // to the instruction
};

// x: the bits of its sources, in the order of the instruction. value: of its result, which the
// instruction would give.
FoldedConstant folded_constant(const isa::Operation& o, std::span<const uint64_t> x,
                               uint64_t value);

}  // namespace lockwarp::num
