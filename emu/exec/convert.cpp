// SPDX-License-Identifier: Apache-2.0
// cvt and cvt.pack. PTX manual, "Data Movement and Conversion Instructions".
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "emu/exec/families.hpp"
#include "emu/num/host_convert.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint64_t low_bits(uint64_t value, unsigned width) {
    return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}

// Of 1 to 64 bits.
constexpr uint64_t sign_extended(uint64_t value, unsigned width) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << (64 - width)) >> (64 - width));
}

// Registers may be wider than the types, but beside .bf16.
bool exact_registers(const isa::Modifiers& m) {
    return m.type[0] == Type::bf16 || m.type[1] == Type::bf16;
}

uint64_t read(Context& c, const Operation& o, unsigned lane) {
    const unsigned width = isa::bits(o.mod.type[1]);
    const unsigned held = exact_registers(o.mod) ? width : o.source_bits;
    const uint64_t value =
        held == 64 ? slot<uint64_t>(c, o.r[1])[lane] : slot<uint32_t>(c, o.r[1])[lane];
    return low_bits(value, width);
}

// A value of the result's type as its register holds it: extended to the register's width by its
// sign, and by zeros within the slot.
void write(Context& c, const Operation& o, uint64_t value, unsigned lane) {
    const Type t = o.mod.type[0];
    const unsigned held = exact_registers(o.mod) ? isa::bits(t) : o.register_bits;
    if (isa::is_signed(t)) value = sign_extended(value, isa::bits(t));
    value = low_bits(value, held);
    if (held == 64)
        slot<uint64_t>(c, o.r[0])[lane] = value;
    else
        slot<uint32_t>(c, o.r[0])[lane] = static_cast<uint32_t>(value);
}

uint64_t convert_integer(Type to, Type from, uint64_t value, bool saturate) {
    const unsigned width = isa::bits(to);
    if (!saturate)
        return low_bits(isa::is_signed(from) ? sign_extended(value, isa::bits(from)) : value,
                        width);
    // .sat clamps to the range of the destination (PTX manual, cvt).
    const __int128 v =
        isa::is_signed(from)
            ? static_cast<__int128>(static_cast<int64_t>(sign_extended(value, isa::bits(from))))
            : static_cast<__int128>(value);
    const __int128 one = 1;
    const __int128 low = isa::is_signed(to) ? -(one << (width - 1)) : 0;
    const __int128 high = isa::is_signed(to) ? (one << (width - 1)) - 1 : (one << width) - 1;
    return low_bits(static_cast<uint64_t>(v < low ? low : v > high ? high : v), width);
}

// One element of `from` to one of `to`.
uint64_t convert_one(const isa::Modifiers& m, Type to, Type from, uint64_t value) {
    const num::Flags flags = flags_of(m);
    if (!isa::is_float(to) && !isa::is_float(from)) return convert_integer(to, from, value, m.sat);
    if (!isa::is_float(to))
        return num::to_integer(from, value, m.rounding, isa::bits(to), isa::is_signed(to), m.ftz);
    if (!isa::is_float(from))
        return num::from_integer(to, value, isa::bits(from), isa::is_signed(from), m.rounding,
                                 flags);
    if (m.integral) return num::round_to_integral(to, value, m.rounding, flags);
    return num::convert(from, to, value, m.rounding, flags);
}

void cvt(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Type to = o.mod.type[0];
    const Type from = o.mod.type[1];
    const bool to_itself = to == from && isa::is_float(to);
    each_lane(mask, [&](unsigned l) {
        const uint64_t value = read(c, o, l);
        if (to_itself && num::compare(to, value, value) == num::Order::unordered)
            c.undefined |= 1u << l;
        write(c, o, convert_one(o.mod, to, from, value), l);
    });
}

// Both elements of a packed type, from two sources, the first of which gives the upper element, or
// from the elements of one.
void cvt_pair(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Type to = isa::element_of(o.mod.type[0]);
    const Type from = isa::element_of(o.mod.type[1]);
    const unsigned width = isa::bits(from);
    const bool packed = from != o.mod.type[1];
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* first = slot<uint32_t>(c, o.r[1]);
    const auto* second = slot<uint32_t>(c, o.r[packed ? 1 : 2]);
    for_lanes(mask, [&](unsigned l) {
        const uint64_t high = packed ? first[l] >> width : first[l];
        const uint64_t up = convert_one(o.mod, to, from, low_bits(high, width));
        const uint64_t low = convert_one(o.mod, to, from, low_bits(second[l], width));
        d[l] = static_cast<uint32_t>(up << isa::bits(to) | low);
    });
}

// Fast paths.

// Between integers without .sat, of any registers.
template <class To, class From, bool from_signed, bool to_signed>
void fast_cut(Context& c, const Step& s, uint32_t mask) {
    using Held = std::conditional_t<sizeof(To) == 8 || sizeof(From) == 8, uint64_t, uint32_t>;
    using Signed = std::make_signed_t<Held>;
    const Operation& o = *s.op;
    const unsigned held = 8 * sizeof(Held);
    const unsigned beyond_source = held - isa::bits(o.mod.type[1]);
    const unsigned beyond_result = held - isa::bits(o.mod.type[0]);
    const Held kept = static_cast<Held>(~Held{0}) >>
                      (held - std::min(held, static_cast<unsigned>(o.register_bits)));
    auto* d = slot<To>(c, o.r[0]);
    const auto* a = slot<From>(c, o.r[1]);
    const auto within = [](Held value, unsigned beyond, auto is_signed) {
        value = static_cast<Held>(value << beyond);
        return is_signed ? static_cast<Held>(static_cast<Signed>(value) >> beyond)
                         : static_cast<Held>(value >> beyond);
    };
    for_lanes(mask, [&](unsigned l) {
        const Held source =
            within(static_cast<Held>(a[l]), beyond_source, std::bool_constant<from_signed>());
        d[l] =
            static_cast<To>(within(source, beyond_result, std::bool_constant<to_signed>()) & kept);
    });
}

template <class To, class From>
Handler cut_by_signs(bool from_signed, bool to_signed) {
    if (from_signed)
        return to_signed ? fast_cut<To, From, true, true> : fast_cut<To, From, true, false>;
    return to_signed ? fast_cut<To, From, false, true> : fast_cut<To, From, false, false>;
}

Handler cut_handler(const Operation& o) {
    const bool signs[] = {isa::is_signed(o.mod.type[1]), isa::is_signed(o.mod.type[0])};
    if (o.register_bits == 64)
        return o.source_bits == 64 ? cut_by_signs<uint64_t, uint64_t>(signs[0], signs[1])
                                   : cut_by_signs<uint64_t, uint32_t>(signs[0], signs[1]);
    return o.source_bits == 64 ? cut_by_signs<uint32_t, uint64_t>(signs[0], signs[1])
                               : cut_by_signs<uint32_t, uint32_t>(signs[0], signs[1]);
}

// What kernels convert most, to registers as wide as the types.

template <auto F, class To, class From>
void fast_convert(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<To>(c, s.op->r[0]);
    const auto* a = slot<From>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = F(a[l]); });
}

// Of a number that F does not take, beyond the integers or NaN, the definition says what comes.
template <auto F, auto takes, class Float, class To, class From, auto rounded = num::unrounded>
void fast_from_float(Context& c, const Step& s, uint32_t mask) {
    const isa::Modifiers& m = s.op->mod;
    auto* d = slot<To>(c, s.op->r[0]);
    const auto* a = slot<From>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) {
        const double v = rounded(std::bit_cast<Float>(a[l]));
        d[l] = takes(v) ? F(v) : static_cast<To>(convert_one(m, m.type[0], m.type[1], a[l]));
    });
}

// s32_of and u32_of truncate by themselves.
template <isa::Rounding r>
constexpr auto integral = r == isa::Rounding::rz ? num::unrounded : num::to_integral<r, double>;
template <isa::Rounding r, class Float, class From>
constexpr Handler to_s32 =
    fast_from_float<num::s32_of, num::truncates_to_s32, Float, uint32_t, From, integral<r>>;
template <isa::Rounding r, class Float, class From>
constexpr Handler to_u32 =
    fast_from_float<num::u32_of, num::truncates_to_u32, Float, uint32_t, From, integral<r>>;

template <auto F>
void fast_narrow(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = F(a[l]); });
}

// From 16 bits of a slot.
template <auto F>
void fast_widen(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = F(a[l] & 0xffff); });
}

template <auto F, unsigned width>
void fast_narrow_pair(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* high = slot<uint32_t>(c, s.op->r[1]);
    const auto* low = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) { d[l] = F(high[l]) << width | F(low[l]); });
}

// Both elements of one register.
template <auto F, unsigned width, unsigned from_width>
void fast_packed(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    constexpr uint32_t ones = (1u << from_width) - 1;
    for_lanes(mask,
              [&](unsigned l) { d[l] = F(a[l] >> from_width & ones) << width | F(a[l] & ones); });
}

// NaN is the definition's. ftz: of a subnormal it is that of zero.
template <isa::Rounding r, class Float, class Bits>
void fast_integral(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<Bits>(c, s.op->r[0]);
    const auto* a = slot<Bits>(c, s.op->r[1]);
    const bool ftz = s.op->mod.ftz;
    constexpr Float normal = std::numeric_limits<Float>::min();
    uint32_t nans = 0;
    each_lane(mask, [&](unsigned l) {
        const auto v = std::bit_cast<Float>(a[l]);
        nans |= uint32_t{!(v == v)} << l;
    });
    for_lanes(mask & ~nans, [&](unsigned l) {
        const auto v = std::bit_cast<Float>(a[l]);
        const Float operand = ftz && std::fabs(v) < normal ? std::copysign(Float{0}, v) : v;
        d[l] = std::bit_cast<Bits>(num::to_integral<r>(operand));
    });
    cvt(c, s, nans);
}

template <class Float, class Bits>
Handler integral_handler(isa::Rounding r) {
    switch (r) {
        case isa::Rounding::rn:
            return fast_integral<isa::Rounding::rn, Float, Bits>;
        case isa::Rounding::rz:
            return fast_integral<isa::Rounding::rz, Float, Bits>;
        case isa::Rounding::rm:
            return fast_integral<isa::Rounding::rm, Float, Bits>;
        case isa::Rounding::rp:
            return fast_integral<isa::Rounding::rp, Float, Bits>;
        default:
            return nullptr;
    }
}

struct FastConversion {
    Type to, from;
    isa::Rounding rounding;
    Handler run;
    bool satfinite = false;
};

constexpr auto fast_conversions = std::to_array<FastConversion>({
    {Type::f32, Type::s32, isa::Rounding::rn, fast_convert<num::f32_of_s32, uint32_t, uint32_t>},
    {Type::f32, Type::u32, isa::Rounding::rn, fast_convert<num::f32_of_u32, uint32_t, uint32_t>},
    {Type::f64, Type::s32, isa::Rounding::rn, fast_convert<num::f64_of_s32, uint64_t, uint32_t>},
    {Type::f64, Type::u32, isa::Rounding::rn, fast_convert<num::f64_of_u32, uint64_t, uint32_t>},
    {Type::f32, Type::s64, isa::Rounding::rn, fast_convert<num::f32_of_s64, uint32_t, uint64_t>},
    {Type::f32, Type::u64, isa::Rounding::rn, fast_convert<num::f32_of_u64, uint32_t, uint64_t>},
    {Type::f64, Type::s64, isa::Rounding::rn, fast_convert<num::f64_of_s64, uint64_t, uint64_t>},
    {Type::f64, Type::u64, isa::Rounding::rn, fast_convert<num::f64_of_u64, uint64_t, uint64_t>},
    {Type::f64, Type::f32, isa::Rounding::rn,
     fast_from_float<num::f64_of, num::is_number, float, uint64_t, uint32_t>},
    {Type::f32, Type::f64, isa::Rounding::rn,
     fast_from_float<num::f32_of, num::is_number, double, uint32_t, uint64_t>},
    {Type::s32, Type::f32, isa::Rounding::rn, to_s32<isa::Rounding::rn, float, uint32_t>},
    {Type::s32, Type::f32, isa::Rounding::rz, to_s32<isa::Rounding::rz, float, uint32_t>},
    {Type::s32, Type::f32, isa::Rounding::rm, to_s32<isa::Rounding::rm, float, uint32_t>},
    {Type::s32, Type::f32, isa::Rounding::rp, to_s32<isa::Rounding::rp, float, uint32_t>},
    {Type::s32, Type::f64, isa::Rounding::rn, to_s32<isa::Rounding::rn, double, uint64_t>},
    {Type::s32, Type::f64, isa::Rounding::rz, to_s32<isa::Rounding::rz, double, uint64_t>},
    {Type::s32, Type::f64, isa::Rounding::rm, to_s32<isa::Rounding::rm, double, uint64_t>},
    {Type::s32, Type::f64, isa::Rounding::rp, to_s32<isa::Rounding::rp, double, uint64_t>},
    {Type::u32, Type::f32, isa::Rounding::rn, to_u32<isa::Rounding::rn, float, uint32_t>},
    {Type::u32, Type::f32, isa::Rounding::rz, to_u32<isa::Rounding::rz, float, uint32_t>},
    {Type::u32, Type::f32, isa::Rounding::rm, to_u32<isa::Rounding::rm, float, uint32_t>},
    {Type::u32, Type::f32, isa::Rounding::rp, to_u32<isa::Rounding::rp, float, uint32_t>},
    {Type::u32, Type::f64, isa::Rounding::rn, to_u32<isa::Rounding::rn, double, uint64_t>},
    {Type::u32, Type::f64, isa::Rounding::rz, to_u32<isa::Rounding::rz, double, uint64_t>},
    {Type::u32, Type::f64, isa::Rounding::rm, to_u32<isa::Rounding::rm, double, uint64_t>},
    {Type::u32, Type::f64, isa::Rounding::rp, to_u32<isa::Rounding::rp, double, uint64_t>},
    {Type::f32, Type::f16, isa::Rounding::rn, fast_widen<num::f32_of_f16>},
    {Type::f16, Type::f32, isa::Rounding::rn, fast_narrow<num::f16_of_f32>},
    {Type::f32, Type::bf16, isa::Rounding::rn, fast_widen<num::f32_of_bf16>},
    {Type::bf16, Type::f32, isa::Rounding::rn, fast_narrow<num::bf16_of_f32>},
    {Type::tf32, Type::f32, isa::Rounding::rna, fast_narrow<num::tf32_of_f32>},
    {Type::f16x2, Type::f32, isa::Rounding::rn, fast_narrow_pair<num::f16_of_f32, 16>},
    {Type::bf16x2, Type::f32, isa::Rounding::rn, fast_narrow_pair<num::bf16_of_f32, 16>},
    {Type::e4m3x2, Type::f32, isa::Rounding::rn, fast_narrow_pair<num::e4m3_of_f32, 8>, true},
    {Type::e5m2x2, Type::f32, isa::Rounding::rn, fast_narrow_pair<num::e5m2_of_f32, 8>, true},
    {Type::e4m3x2, Type::f16x2, isa::Rounding::rn, fast_packed<num::e4m3_of_f16, 8, 16>, true},
    {Type::e5m2x2, Type::f16x2, isa::Rounding::rn, fast_packed<num::e5m2_of_f16, 8, 16>, true},
    {Type::f16x2, Type::e4m3x2, isa::Rounding::rn, fast_packed<num::f16_of_e4m3, 16, 8>},
    {Type::f16x2, Type::e5m2x2, isa::Rounding::rn, fast_packed<num::f16_of_e5m2, 16, 8>},
});

// d = both sources clamped, the second lowest, and above them the low bits of the third.
void cvt_pack(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Type to = o.mod.type[0];
    const unsigned width = isa::bits(to);
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* b = slot<uint32_t>(c, o.r[2]);
    const bool merges = o.operands > 3;
    for_lanes(mask, [&](unsigned l) {
        uint64_t value = convert_integer(to, Type::s32, a[l], true) << width |
                         convert_integer(to, Type::s32, b[l], true);
        if (merges) value |= uint64_t{slot<uint32_t>(c, o.r[3])[l]} << (2 * width);
        d[l] = static_cast<uint32_t>(value);
    });
}

}  // namespace

Handler cvt_handler(const Operation& o) {
    if (isa::row(o.mod.type[0]).lanes == 2) return cvt_pair;
    return cvt;
}

Handler fast_cvt(const Operation& o) {
    const isa::Modifiers& m = o.mod;
    const Type to = m.type[0];
    const Type from = m.type[1];
    if (m.sat || m.relu) return nullptr;
    if (!isa::is_float(to) && !isa::is_float(from)) return cut_handler(o);
    const bool own_width = o.register_bits == isa::bits(to) && o.source_bits == isa::bits(from);
    if (isa::row(to).lanes == 1 && !own_width) return nullptr;
    if (isa::is_float(to) && m.integral)
        return to != from        ? nullptr
               : to == Type::f32 ? integral_handler<float, uint32_t>(m.rounding)
               : to == Type::f64 ? integral_handler<double, uint64_t>(m.rounding)
                                 : nullptr;
    // Of a subnormal, rounding up and down sees .ftz; to nearest and towards zero do not.
    const bool to_nearest = m.rounding == isa::Rounding::rn || m.rounding == isa::Rounding::rz;
    if (m.ftz && (isa::is_float(to) || !to_nearest)) return nullptr;
    const auto row = std::ranges::find_if(fast_conversions, [&](const FastConversion& f) {
        return f.to == to && f.from == from && f.rounding == m.rounding &&
               f.satfinite == m.satfinite;
    });
    return row == fast_conversions.end() ? nullptr : row->run;
}

Handler cvt_pack_handler(const Operation&) { return cvt_pack; }

}  // namespace lockwarp::exec
