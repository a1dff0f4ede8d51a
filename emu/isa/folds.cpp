// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/folds.hpp"

namespace lockwarp::isa {

namespace {

bool is_integer(Type t) { return !is_float(t) && row(t).lanes == 1 && t != Type::b128; }

bool to_nearest(const Modifiers& m) { return m.rounding == Rounding::rn; }

bool sum(const Modifiers& m) {
    switch (m.type[0]) {
        case Type::f32:
            return to_nearest(m) && !(m.rounding_given && m.sat);
        case Type::f64:
            return !m.rounding_given;
        default:
            return is_integer(m.type[0]) && (m.part != Part::hi || bits(m.type[0]) <= 32);
    }
}

bool sign(Op op, const Modifiers& m) {
    const Type t = element_of(m.type[0]);
    if (t == Type::f16) return !m.ftz;
    if (m.type[0] == Type::bf16) return op == Op::neg;
    return t == Type::f32 || t == Type::f64 || is_integer(t);
}

bool is_wide_float(Type t) { return t == Type::f32 || t == Type::f64; }

bool comparison(Op op, const Modifiers& m) {
    const Type compared = m.type[op == Op::set ? 1 : 0];
    const bool to_word = op == Op::setp || bits(m.type[0]) == 32;
    return to_word && row(m.type[0]).lanes == 1 &&
           (is_wide_float(compared) || is_integer(compared));
}

bool converts_formats(const Modifiers& m) {
    const Type to = m.type[0];
    const Type from = m.type[1];
    if (to == Type::tf32) return m.rounding == Rounding::rna;
    if (m.satfinite || m.types != 2) return false;
    if (is_wide_float(to) && from == Type::bf16)
        return to_nearest(m) || (to == Type::f32 && !m.ftz);
    const bool narrows = is_wide_float(from) && (to == Type::f16 || to == Type::bf16);
    const bool widens = is_wide_float(to) && (is_wide_float(from) || from == Type::f16);
    if (narrows || widens) return to_nearest(m) || (m.integral && to == from);
    return to == Type::f16x2 && from == Type::f32 && to_nearest(m);
}

bool conversion(const Modifiers& m) {
    const Type to = m.type[0];
    const Type from = m.type[1];
    if (m.relu) return false;
    if (is_integer(to) && is_integer(from)) return true;
    if (is_integer(from)) return to == Type::f32 && bits(from) <= 32 && to_nearest(m);
    if (is_integer(to)) {
        const bool kept = bits(to) > 16 || to == Type::u16;
        const bool known = is_wide_float(from) || from == Type::f16 || from == Type::bf16;
        return kept && known && (to_nearest(m) || m.rounding == Rounding::rz);
    }
    return converts_formats(m);
}

}  // namespace

bool folds(const Operation& o) {
    const Modifiers& m = o.mod;
    switch (fold_of(o.op)) {
        case Fold::none:
            return false;
        case Fold::always:
            return row(m.type[0]).lanes == 1 && m.type[0] != Type::b128;
        case Fold::sums:
            return sum(m);
        case Fold::extremes:
            return !m.relu && !m.nan && !m.xorsign &&
                   (is_wide_float(m.type[0]) || is_integer(m.type[0]));
        case Fold::sums_of_products:
            return is_integer(m.type[0]) && (m.part != Part::hi || bits(m.type[0]) == 16);
        case Fold::signs:
            return sign(o.op, m);
        case Fold::comparison:
            return comparison(o.op, m);
        case Fold::conversion:
            return conversion(m);
        case Fold::function:
            return is_folded_function(o);
    }
    return false;
}

bool folds_to_its_own(const Operation& o) {
    const Type t = o.mod.type[0];
    switch (o.op) {
        case Op::abs:
        case Op::neg:
            return (is_wide_float(t) || t == Type::f16x2) && folds(o);
        case Op::min:
        case Op::max:
        case Op::mul:
            return is_wide_float(t) && folds(o);
        case Op::cvt:
            return (is_float(o.mod.type[1]) || is_float(t)) && folds(o);
        case Op::slct:
            return t == Type::s32 && o.mod.type[1] == Type::s32;
        default:
            return is_folded_function(o);
    }
}

}  // namespace lockwarp::isa
