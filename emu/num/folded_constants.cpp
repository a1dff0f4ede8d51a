// SPDX-License-Identifier: Apache-2.0
// Instructions on constants but for the functions of folded.cpp. All rules are of NaNs, but for
// two: cvt.rni.u64.f64 and slct.s32.s32.
#include "emu/num/folded.hpp"

namespace lockwarp::num {

namespace {

using isa::Op;
using isa::Operation;
using isa::Rounding;
using isa::Type;

// Of a type of floats.
struct Bits {
    uint64_t sign, infinity, quiet, one, canonical;
    bool nan(uint64_t x) const { return (x & ~sign) > infinity; }
    bool infinite(uint64_t x) const { return (x & ~sign) == infinity; }
};
constexpr Bits f16_bits{0x8000, 0x7c00, 0x200, 0x3c00, 0x7fff};
constexpr Bits bf16_bits{0x8000, 0x7f80, 0x40, 0x3f80, 0x7fff};
constexpr Bits f32_bits{0x80000000, 0x7f800000, 0x400000, 0x3f800000, 0x7fffffff};
// Of a NaN in f64 there is no canonical one: of f16 and bf16 there is, that of f32.
constexpr Bits f64_bits{uint64_t{1} << 63, 0x7ff0000000000000, 0x8000000000000, 0x3ff0000000000000,
                        0x7fffffffe0000000};

// nullptr: of another type, or packed.
const Bits* bits_of(Type t) {
    switch (t) {
        case Type::f16:
            return &f16_bits;
        case Type::bf16:
            return &bf16_bits;
        case Type::f32:
            return &f32_bits;
        case Type::f64:
            return &f64_bits;
        default:
            return nullptr;
    }
}

// A sign is put on a NaN of f32, and one is taken through .ftz, as of what is then quiet; of f64
// and of f16x2 nothing else changes.
uint64_t quieted(const Bits& b, uint64_t x) {
    return &b == &f32_bits && b.nan(x) ? x | b.quiet : x;
}

FoldedConstant sign(const Operation& o, uint64_t x, uint64_t value) {
    const Type t = o.mod.type[0];
    const bool negates = o.op == Op::neg;
    if (t == Type::f16x2) return {negates ? x ^ 0x80008000 : x & 0x7fff7fff};
    if (t != Type::f32 && t != Type::f64) return {value};
    const Bits& b = *bits_of(t);
    return {b.nan(x) ? quieted(b, negates ? x ^ b.sign : x & ~b.sign) : value};
}

// A product by 1 or -1, which stands first, is a move or a change of sign.
bool is_move(const Operation& o, const Bits& b, uint64_t first) {
    return o.op == Op::mul && !o.mod.rounding_given && !o.mod.ftz && (first & ~b.sign) == b.one;
}

FoldedConstant sum_or_product(const Operation& o, uint64_t x, uint64_t y, uint64_t value) {
    const Type t = o.mod.type[0];
    if (t == Type::s32) return {value, o.op == Op::sub && o.mod.sat && (y & 0x7fffffff) == 0};
    const Bits* const b = bits_of(t);
    if (b == nullptr) return {value};
    const bool known_nan = o.mod.rounding_given;
    if (o.op == Op::sub) y = quieted(*b, y ^ b->sign);
    const bool nan = b->nan(x) || b->nan(y);
    if (nan && is_move(o, *b, x)) {
        const uint64_t moved = x == b->one ? y : quieted(*b, y ^ b->sign);
        return o.mod.sat ? FoldedConstant{value, moved != (b->infinity | b->quiet)}
                         : FoldedConstant{moved};
    }
    const bool canonical = t == Type::f32 && !o.mod.sat && (x == b->canonical || y == b->canonical);
    if (nan) return {value, !known_nan && !canonical};
    const uint64_t least = o.mod.ftz ? uint64_t{b->quiet} << 1 : 1;  // that is not taken for 0
    const auto zero = [&](uint64_t z) { return (z & ~b->sign) < least; };
    const bool invalid = o.op == Op::mul
                             ? (b->infinite(x) && zero(y)) || (b->infinite(y) && zero(x))
                             : b->infinite(x) && b->infinite(y) && x != y;
    return {value, invalid && !known_nan};
}

FoldedConstant extreme(const Operation& o, uint64_t x, uint64_t y, uint64_t value) {
    const Bits* const b = bits_of(o.mod.type[0]);
    if (b == nullptr || !b->nan(x) || !b->nan(y)) return {value};
    if (x != y) return {value, true};
    return {o.mod.ftz ? quieted(*b, x) : x};
}

// Rounds by adding a half, which is rounded itself from 2^52 on.
uint64_t nearest_of_f64(uint64_t x, uint64_t value) {
    constexpr uint64_t two_52 = 0x4330000000000000;
    constexpr uint64_t two_53 = 0x4340000000000000;
    return x >= two_52 && x < two_53 ? value + (value & 1) : value;
}

FoldedConstant conversion(const Operation& o, uint64_t x, uint64_t value) {
    const Type to = o.mod.type[0];
    const Type from = o.mod.type[1];
    const Bits* const a = bits_of(from);
    const Bits* const b = bits_of(to);
    if (a == nullptr) return {value};
    if (b == nullptr) {
        if (to == Type::u64 && from == Type::f64 && o.mod.rounding == Rounding::rn)
            return {nearest_of_f64(x, value), a->nan(x)};
        return {value, !isa::is_float(isa::element_of(to)) && a->nan(x)};
    }
    if (o.mod.integral) return {value, a->nan(x) || a->infinite(x)};
    if (!b->nan(value)) return {value};
    if (to == Type::f32 && from == Type::f32) return {o.mod.ftz ? quieted(*b, x) : value};
    if (from == to || from == Type::f32 || (to == Type::f32 && from == Type::f64)) return {value};
    if (to == Type::f32 && o.mod.rounding != Rounding::rn) return {value};
    return {b->canonical};
}

}  // namespace

FoldedConstant folded_constant(const Operation& o, std::span<const uint64_t> x, uint64_t value) {
    switch (o.op) {
        case Op::abs:
        case Op::neg:
            return sign(o, x[0], value);
        case Op::add:
        case Op::sub:
        case Op::mul:
            return sum_or_product(o, x[0], x[1], value);
        case Op::min:
        case Op::max:
            return extreme(o, x[0], x[1], value);
        case Op::cvt:
            return conversion(o, x[0], value);
        case Op::slct:
            // Its condition is taken for a number of f32.
            if (o.mod.type[0] != Type::s32 || o.mod.type[1] != Type::s32) return {value};
            return {!f32_bits.nan(x[2]) && (x[2] <= f32_bits.infinity || x[2] == f32_bits.sign)
                        ? x[0]
                        : x[1]};
        default:
            return {value};
    }
}

}  // namespace lockwarp::num
