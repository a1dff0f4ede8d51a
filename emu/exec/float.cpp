// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic. The definition is emu/num's soft float; f32 with the default rounding
// takes the vector path that is proven equal to it. PTX manual, "Floating Point Instructions",
// "Half Precision Floating Point Instructions".
#include <cstring>

#include "emu/exec/families.hpp"
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

using Lanes2 = void (*)(const uint32_t*, const uint32_t*, uint32_t*);

// All 32 lanes at once; a part of them through a copy.
template <Lanes2 F>
void fast_two(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    if (mask == all_lanes) return F(a, b, d);
    alignas(64) std::array<uint32_t, 32> out;
    F(a, b, out.data());
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
}

void fast_three(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    if (mask == all_lanes) return num::fma_f32(a, b, e, d);
    alignas(64) std::array<uint32_t, 32> out;
    num::fma_f32(a, b, e, out.data());
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
}

// f32 with the default rounding and nothing else: the same bits by vector instructions.
bool is_fast(const isa::Modifiers& m) {
    return m.type[0] == Type::f32 && m.rounding == isa::Rounding::rn && !m.ftz && !m.sat;
}

}  // namespace

Handler fast_add(const Operation& o) { return is_fast(o.mod) ? fast_two<num::add_f32> : nullptr; }
Handler fast_sub(const Operation& o) { return is_fast(o.mod) ? fast_two<num::sub_f32> : nullptr; }
Handler fast_mul(const Operation& o) { return is_fast(o.mod) ? fast_two<num::mul_f32> : nullptr; }
Handler fast_fma(const Operation& o) { return is_fast(o.mod) ? fast_three : nullptr; }

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
