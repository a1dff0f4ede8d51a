// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic. The definition is emu/num's soft float; f32 with the default rounding
// takes the vector path that is proven equal to it. PTX manual, "Floating Point Instructions",
// "Half Precision Floating Point Instructions".
#include <cmath>
#include <cstring>

#include "emu/exec/families.hpp"
#include "emu/num/host_half.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/lanes.hpp"

namespace lockwarp::exec {

namespace {

// Of registers of T's width.
template <class T, unsigned operands, class F>
void elements_of(Context& c, const Operation& o, uint32_t mask, F f) {
    auto* d = slot<T>(c, o.r[0]);
    std::array<const T*, 3> in{};
    for (unsigned i = 0; i < operands; ++i) in[i] = slot<T>(c, o.r[i + 1]);
    const Type type = isa::element_of(o.mod.type[0]);
    const unsigned width = isa::bits(type);
    const unsigned elements = isa::row(o.mod.type[0]).lanes;
    const uint64_t ones = ~uint64_t{0} >> (64 - width);
    for_lanes(mask, [&](unsigned l) {
        T out = 0;
        for (unsigned e = 0; e < elements; ++e) {
            std::array<uint64_t, 3> v{};
            for (unsigned i = 0; i < operands; ++i) v[i] = (in[i][l] >> (e * width)) & ones;
            out |= static_cast<T>(f(type, v, l)) << (e * width);
        }
        d[l] = out;
    });
}

// f(type, element bits, lane) for every element of every lane; `operands` sources.
template <unsigned operands, class F>
void elementwise(Context& c, const Operation& o, uint32_t mask, F f) {
    if (isa::bits(o.mod.type[0]) == 64)
        elements_of<uint64_t, operands>(c, o, mask, f);
    else
        elements_of<uint32_t, operands>(c, o, mask, f);
}

bool is_nan(Type t, uint64_t v) { return num::compare(t, v, v) == num::Order::unordered; }

// Of f64 operands, several are NaN and not the same: whose payload the result takes depends on the
// order that NVIDIA's compiler gives them.
void note_nans(Context& c, Type t, const std::array<uint64_t, 3>& v, unsigned lane) {
    if (t != Type::f64) return;
    uint64_t first = 0;
    for (const uint64_t each : v) {
        if (!is_nan(t, each)) continue;
        if (first != 0 && first != each) c.undefined |= 1u << lane;
        first = each;
    }
}

template <auto F>
void two(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    const isa::Rounding r = s.op->mod.rounding;
    elementwise<2>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned l) {
        note_nans(c, t, v, l);
        return F(t, v[0], v[1], r, flags);
    });
}

template <auto F>
void extremum(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    elementwise<2>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned l) {
        note_nans(c, t, v, l);
        // NVIDIA's compiler makes a move of these.
        if (s.op->r[1] == s.op->r[2] && is_nan(t, v[0])) c.undefined |= 1u << l;
        return F(t, v[0], v[1], flags);
    });
}

void fma(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    const isa::Rounding r = s.op->mod.rounding;
    elementwise<3>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned l) {
        note_nans(c, t, v, l);
        return num::fma(t, v[0], v[1], v[2], r, flags);
    });
}

// The lesser or the greater of two, and of that and the third.
template <auto F>
void extremum_of_three(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    elementwise<3>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned) {
        return F(t, F(t, v[0], v[1], flags), v[2], flags);
    });
}

// In f32, of operands of which the first are f16 or bf16. PTX manual, "Mixed Precision Floating
// Point Instructions".
template <unsigned operands, unsigned narrow, class F>
void mixed(Context& c, const Step& s, uint32_t mask, F f) {
    const Type from = s.op->mod.type[1];
    const num::Flags flags = flags_of(s.op->mod);
    elementwise<operands>(c, *s.op, mask, [&](Type t, std::array<uint64_t, 3> v, unsigned) {
        for (unsigned i = 0; i < narrow; ++i)
            v[i] = num::convert(from, t, v[i] & 0xffff, isa::Rounding::rn);
        return f(t, v, flags);
    });
}

template <auto F>
void mixed_two(Context& c, const Step& s, uint32_t mask) {
    mixed<2, 1>(c, s, mask, [&](Type t, const std::array<uint64_t, 3>& v, num::Flags flags) {
        return F(t, v[0], v[1], s.op->mod.rounding, flags);
    });
}

void mixed_fma(Context& c, const Step& s, uint32_t mask) {
    mixed<3, 2>(c, s, mask, [&](Type t, const std::array<uint64_t, 3>& v, num::Flags flags) {
        return num::fma(t, v[0], v[1], v[2], s.op->mod.rounding, flags);
    });
}

constexpr uint64_t one_in(Type t) { return t == Type::f64 ? 0x3ff0000000000000 : 0x3f800000; }

void rcp(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    elementwise<1>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned) {
        return num::div(t, one_in(t), v[0], s.op->mod.rounding, flags);
    });
}

void sqrt(Context& c, const Step& s, uint32_t mask) {
    const num::Flags flags = flags_of(s.op->mod);
    elementwise<1>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned) {
        return num::sqrt(t, v[0], s.op->mod.rounding, flags);
    });
}

// A subnormal as the zero of its sign.
uint64_t flushed(Type t, uint64_t v, bool ftz) {
    if (!ftz) return v;
    const unsigned fraction = t == Type::f32 ? 23 : 10;
    const uint64_t sign = uint64_t{1} << (isa::bits(t) - 1);
    return ((v & ~sign) >> fraction) == 0 ? v & sign : v;
}

// abs and neg of NaN are those of an addition of -0 (measured on an H200: f16, bf16 and f32 give
// the canonical NaN, f64 keeps sign and payload).
template <bool negate>
void sign(Context& c, const Step& s, uint32_t mask) {
    elementwise<1>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned l) {
        const uint64_t bit = uint64_t{1} << (isa::bits(t) - 1);
        if (is_nan(t, v[0])) {
            if (t == Type::f32) c.undefined |= 1u << l;
            return num::add(t, v[0], bit, isa::Rounding::rn);
        }
        const uint64_t value = flushed(t, v[0], s.op->mod.ftz);
        return negate ? value ^ bit : value & ~bit;
    });
}

// copysign d, a, b: the sign of a, the magnitude of b.
void copysign(Context& c, const Step& s, uint32_t mask) {
    elementwise<2>(c, *s.op, mask, [&](Type t, const std::array<uint64_t, 3>& v, unsigned) {
        const uint64_t bit = uint64_t{1} << (isa::bits(t) - 1);
        return (v[0] & bit) | (v[1] & ~bit);
    });
}

// Fast paths: the same bits for all 32 lanes at once; a part of them through a copy.

template <class T, class F>
void put_lanes(T* d, uint32_t mask, F f) {
    if (mask == all_lanes) return f(d);
    alignas(64) std::array<T, 32> out;
    f(out.data());
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
}

// .sat of f32: what is below 0 and NaN become +0, what is above 1 becomes 1.
void saturate(uint32_t* d) {
    const uint32_t one = one_in(Type::f32);
    for (unsigned l = 0; l < 32; ++l) {
        const uint32_t v = d[l];
        d[l] = v > 0x7f800000 ? 0 : v < one ? v : one;
    }
}

template <auto F>
void fast_two(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    put_lanes(slot<uint32_t>(c, s.op->r[0]), mask, [&](uint32_t* d) {
        F(a, b, d, s.op->mod.ftz);
        if (s.op->mod.sat) saturate(d);
    });
}

void fast_fma_f32(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    put_lanes(slot<uint32_t>(c, s.op->r[0]), mask, [&](uint32_t* d) {
        num::fma_f32(a, b, e, d, s.op->mod.ftz);
        if (s.op->mod.sat) saturate(d);
    });
}

void fast_rcp_f32(Context& c, const Step& s, uint32_t mask) {
    alignas(64) std::array<uint32_t, 32> ones;
    ones.fill(one_in(Type::f32));
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    put_lanes(slot<uint32_t>(c, s.op->r[0]), mask,
              [&](uint32_t* d) { num::div_f32(ones.data(), a, d, s.op->mod.ftz); });
}

void fast_sqrt_f32(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    put_lanes(slot<uint32_t>(c, s.op->r[0]), mask,
              [&](uint32_t* d) { num::sqrt_f32(a, d, s.op->mod.ftz); });
}

// The root of a negative number is the definition's, and so is that of NaN.
void fast_sqrt_f64(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint64_t>(c, s.op->r[0]);
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) {
        const auto v = std::bit_cast<double>(a[l]);
        d[l] = v >= 0 ? std::bit_cast<uint64_t>(std::sqrt(v))
                      : num::sqrt(Type::f64, a[l], isa::Rounding::rn, {});
    });
}

// Of the other lanes too, whatever they hold.
template <unsigned operands>
bool has_nan(const std::array<const uint64_t*, operands>& in) {
    constexpr uint64_t infinity = 0x7ff0000000000000;
    uint64_t beyond = 0;  // in its highest bit
    for (const uint64_t* a : in)
        for (unsigned l = 0; l < 32; ++l) beyond |= infinity - (a[l] & INT64_MAX);
    return beyond >> 63 != 0;
}

// Without a NaN there is none to note.
template <auto F, auto plain>
void fast_two_f64(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    const auto* b = slot<uint64_t>(c, s.op->r[2]);
    if (has_nan<2>({a, b})) return two<plain>(c, s, mask);
    put_lanes(slot<uint64_t>(c, s.op->r[0]), mask, [&](uint64_t* d) { F(a, b, d); });
}

void fast_fma_f64(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    const auto* b = slot<uint64_t>(c, s.op->r[2]);
    const auto* e = slot<uint64_t>(c, s.op->r[3]);
    if (has_nan<3>({a, b, e})) return fma(c, s, mask);
    put_lanes(slot<uint64_t>(c, s.op->r[0]), mask, [&](uint64_t* d) { num::fma_f64(a, b, e, d); });
}

// .relu: what is below 0 becomes +0.
uint32_t positive_halves(uint32_t v) {
    const uint32_t negative = v >> 15 & 0x00010001;
    return v & ~(negative * 0xffff);
}

// .sat of f16, as saturate() has it.
uint32_t saturated_halves(uint32_t v) {
    const auto half = [](uint32_t h) { return h > 0x7c00 ? 0 : h < 0x3c00 ? h : 0x3c00; };
    return half(v & 0xffff) | half(v >> 16) << 16;
}

// Of one or both halves of 32 bits.
template <auto F, unsigned elements, unsigned operands>
void fast_halves(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    std::array<const uint32_t*, operands> in{};
    for (unsigned i = 0; i < operands; ++i) in[i] = slot<uint32_t>(c, s.op->r[i + 1]);
    const auto one = [&](unsigned l, unsigned shift) {
        if constexpr (operands == 1)
            return F(in[0][l] >> shift & 0xffff);
        else if constexpr (operands == 2)
            return F(in[0][l] >> shift & 0xffff, in[1][l] >> shift & 0xffff);
        else
            return F(in[0][l] >> shift & 0xffff, in[1][l] >> shift & 0xffff,
                     in[2][l] >> shift & 0xffff);
    };
    for_lanes(mask,
              [&](unsigned l) { d[l] = elements == 2 ? one(l, 0) | one(l, 16) << 16 : one(l, 0); });
    if (s.op->mod.relu) for_lanes(mask, [&](unsigned l) { d[l] = positive_halves(d[l]); });
    if (s.op->mod.sat) for_lanes(mask, [&](unsigned l) { d[l] = saturated_halves(d[l]); });
}

constexpr uint32_t sign_f32 = 0x80000000;
constexpr uint32_t infinity_f32 = 0x7f800000;

uint32_t flushed_f32(uint32_t v, bool ftz) {
    return ftz && (v & infinity_f32) == 0 ? v & sign_f32 : v;
}
bool is_nan_f32(uint32_t v) { return (v & ~sign_f32) > infinity_f32; }

// In the order of the numbers, -0 below +0.
int32_t ordered_f32(uint32_t v) {
    return static_cast<int32_t>(v ^ (static_cast<uint32_t>(static_cast<int32_t>(v) >> 31) >> 1));
}

template <bool larger>
void fast_extremum_f32(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const bool ftz = s.op->mod.ftz;
    const bool one_is_enough = s.op->mod.nan;  // NaN of two
    const auto nan = static_cast<uint32_t>(num::format(Type::f32).nan);
    for_lanes(mask, [&](unsigned l) {
        const uint32_t x = flushed_f32(a[l], ftz);
        const uint32_t y = flushed_f32(b[l], ftz);
        const bool x_larger = ordered_f32(x) > ordered_f32(y);
        const uint32_t number = x_larger == larger ? x : y;
        const bool x_nan = is_nan_f32(x);
        const bool y_nan = is_nan_f32(y);
        const uint32_t one = y_nan ? x : x_nan ? y : number;
        d[l] = (one_is_enough ? x_nan || y_nan : x_nan && y_nan) ? nan : one;
    });
}

template <bool negate>
void fast_sign_f32(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    uint32_t nans = 0;
    for (unsigned l = 0; l < 32; ++l) nans |= uint32_t{is_nan_f32(a[l])};
    if (nans != 0) return sign<negate>(c, s, mask);
    const bool ftz = s.op->mod.ftz;
    for_lanes(mask, [&](unsigned l) {
        const uint32_t value = flushed_f32(a[l], ftz);
        d[l] = negate ? value ^ sign_f32 : value & ~sign_f32;
    });
}

// To nearest, and with .ftz and .sat, which are f32's, or nothing else.
bool is_fast(const isa::Modifiers& m, Type t) {
    return m.type[0] == t && m.rounding == isa::Rounding::rn && (!m.sat || t == Type::f32);
}

template <auto of_f32, auto of_f64, auto plain>
Handler fast_of(const Operation& o) {
    return is_fast(o.mod, Type::f32)   ? fast_two<of_f32>
           : is_fast(o.mod, Type::f64) ? fast_two_f64<of_f64, plain>
                                       : nullptr;
}

template <auto of_f16, auto of_bf16, unsigned operands>
Handler fast_half(const Operation& o) {
    const isa::Modifiers& m = o.mod;
    const bool is_plain = !m.ftz && !m.oob && !m.nan && !m.xorsign && !m.abs;
    if (m.rounding != isa::Rounding::rn || !is_plain) return nullptr;
    switch (m.type[0]) {
        case Type::f16:
            return fast_halves<of_f16, 1, operands>;
        case Type::f16x2:
            return fast_halves<of_f16, 2, operands>;
        case Type::bf16:
            return fast_halves<of_bf16, 1, operands>;
        case Type::bf16x2:
            return fast_halves<of_bf16, 2, operands>;
        default:
            return nullptr;
    }
}

template <bool larger>
Handler fast_extremum(const Operation& o) {
    const isa::Modifiers& m = o.mod;
    if (o.r[1] == o.r[2]) return nullptr;
    if (m.type[0] == Type::f32) return m.xorsign || m.abs ? nullptr : fast_extremum_f32<larger>;
    return fast_half<num::half_extremum<num::f16_infinity, larger>,
                     num::half_extremum<num::bf16_infinity, larger>, 2>(o);
}

}  // namespace

Handler fast_add(const Operation& o) {
    const Handler half = fast_half<num::add_f16, num::add_bf16, 2>(o);
    return half != nullptr ? half : fast_of<num::add_f32, num::add_f64, num::add>(o);
}
Handler fast_sub(const Operation& o) {
    const Handler half = fast_half<num::sub_f16, num::sub_bf16, 2>(o);
    return half != nullptr ? half : fast_of<num::sub_f32, num::sub_f64, num::sub>(o);
}
Handler fast_mul(const Operation& o) {
    const Handler half = fast_half<num::mul_f16, num::mul_bf16, 2>(o);
    return half != nullptr ? half : fast_of<num::mul_f32, num::mul_f64, num::mul>(o);
}
Handler fast_div(const Operation& o) { return fast_of<num::div_f32, num::div_f64, num::div>(o); }
Handler fast_fma(const Operation& o) {
    return is_fast(o.mod, Type::f32)   ? fast_fma_f32
           : is_fast(o.mod, Type::f64) ? fast_fma_f64
                                       : fast_half<num::fma_f16, num::fma_bf16, 3>(o);
}
Handler fast_rcp(const Operation& o) { return is_fast(o.mod, Type::f32) ? fast_rcp_f32 : nullptr; }
Handler fast_sqrt(const Operation& o) {
    return is_fast(o.mod, Type::f32)   ? fast_sqrt_f32
           : is_fast(o.mod, Type::f64) ? fast_sqrt_f64
                                       : nullptr;
}
Handler fast_min(const Operation& o) { return fast_extremum<false>(o); }
Handler fast_max(const Operation& o) { return fast_extremum<true>(o); }
Handler fast_abs(const Operation& o) {
    return o.mod.type[0] == Type::f32
               ? fast_sign_f32<false>
               : fast_half<num::half_abs<num::f16_infinity>, num::half_abs<num::bf16_infinity>, 1>(
                     o);
}
Handler fast_neg(const Operation& o) {
    return o.mod.type[0] == Type::f32
               ? fast_sign_f32<true>
               : fast_half<num::half_neg<num::f16_infinity>, num::half_neg<num::bf16_infinity>, 1>(
                     o);
}

Handler float_add(const Operation&) { return two<num::add>; }
Handler float_sub(const Operation&) { return two<num::sub>; }
Handler float_mul(const Operation&) { return two<num::mul>; }
Handler fma_handler(const Operation&) { return fma; }
Handler float_div(const Operation&) { return two<num::div>; }
Handler mixed_add(const Operation&) { return mixed_two<num::add>; }
Handler mixed_sub(const Operation&) { return mixed_two<num::sub>; }
Handler mixed_fma_handler(const Operation&) { return mixed_fma; }
Handler min_of_three(const Operation&) { return extremum_of_three<num::min>; }
Handler max_of_three(const Operation&) { return extremum_of_three<num::max>; }
Handler rcp_handler(const Operation&) { return rcp; }
Handler sqrt_handler(const Operation&) { return sqrt; }
Handler float_min(const Operation&) { return extremum<num::min>; }
Handler float_max(const Operation&) { return extremum<num::max>; }
Handler float_abs(const Operation&) { return sign<false>; }
Handler float_neg(const Operation&) { return sign<true>; }
Handler copysign_handler(const Operation&) { return copysign; }

}  // namespace lockwarp::exec
