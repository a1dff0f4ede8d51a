// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's assembler computes itself where all operands are constants, from level 1 of its
// optimizer on; at level 0 it computes nothing. Learnt from ptxas 13.0: each spelling for sm_90 and
// sm_100 at levels 1 and 3 (tests/isa/data/folds.tsv), some for sm_75, sm_80 and sm_120, which
// answer the same. What is left to the instruction is no constant to the assembler either, and what
// is computed from it is not: fma, roundings but to nearest, sums of f16 and bf16, tanh, and
// integer division among others. What writes the carry is folded as without .cc. What reads it has
// no row: ptxas folds that too where it knows that the carry is 0 (of a difference: that it
// borrows), which nothing here follows.
//
// What a folded instruction gives that is not what it would give: emu/num/folded.hpp.
#pragma once

#include <algorithm>
#include <array>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

enum class Fold : uint8_t {
    none,
    always,  // but on packed values
    sums,  // integers, but the high half of a 64-bit product; f32 to nearest; f64 where no rounding
           // is written
    extremes,          // integers, f32, f64, without .relu, .NaN and .xorsign
    sums_of_products,  // integers; the high half of 16-bit ones alone
    signs,             // but of f16 with .ftz, of bf16x2, and abs.bf16
    comparison,        // of integers, f32, f64; set: to 32 bits
    conversion,
    function,  // of f32, with a value of its own
};

struct FoldRow {
    Op op;
    Fold fold;
};

// Opcodes that are not here are never folded.
inline constexpr auto fold_rows = std::to_array<FoldRow>({
    {Op::mov, Fold::always},
    {Op::cvt, Fold::conversion},
    {Op::add, Fold::sums},
    {Op::sub, Fold::sums},
    {Op::mul, Fold::sums},
    {Op::mad, Fold::sums_of_products},
    {Op::mul24, Fold::always},
    {Op::mad24, Fold::always},
    {Op::abs, Fold::signs},
    {Op::neg, Fold::signs},
    {Op::min, Fold::extremes},
    {Op::max, Fold::extremes},
    {Op::popc, Fold::always},
    {Op::clz, Fold::always},
    {Op::bfind, Fold::always},
    {Op::brev, Fold::always},
    {Op::bfe, Fold::always},
    {Op::bfi, Fold::always},
    {Op::and_, Fold::always},
    {Op::or_, Fold::always},
    {Op::xor_, Fold::always},
    {Op::not_, Fold::always},
    {Op::cnot, Fold::always},
    {Op::shl, Fold::always},
    {Op::shr, Fold::always},
    {Op::shf, Fold::always},
    {Op::fns, Fold::always},
    {Op::testp, Fold::always},
    {Op::setp, Fold::comparison},
    {Op::set, Fold::comparison},
    {Op::selp, Fold::always},
    {Op::slct, Fold::always},
    {Op::ex2, Fold::function},
    {Op::lg2, Fold::function},
    {Op::rsqrt, Fold::function},
    {Op::sin, Fold::function},
    {Op::cos, Fold::function},
    {Op::rcp_approx, Fold::function},
    {Op::sqrt_approx, Fold::function},
    {Op::div_approx, Fold::function},
    {Op::div_full, Fold::function},
});

inline constexpr auto folds_by_op = [] {
    std::array<Fold, op_count> out{};
    for (const FoldRow& r : fold_rows) out[static_cast<size_t>(r.op)] = r.fold;
    return out;
}();

constexpr Fold fold_of(Op op) { return folds_by_op[static_cast<size_t>(op)]; }

// Whether the assembler computes the operation where its operands are constants.
bool folds(const Operation& o);

// A function with values of its own where it is folded.
inline bool is_folded_function(const Operation& o) {
    return fold_of(o.op) == Fold::function && o.mod.type[0] == Type::f32;
}

// It may have another value where it is folded than the instruction gives: a function, or one of
// those that num::folded_constant changes.
bool folds_to_its_own(const Operation& o);

}  // namespace lockwarp::isa
