// SPDX-License-Identifier: Apache-2.0
// cvt and cvt.pack. PTX manual, "Data Movement and Conversion Instructions: cvt"; NaNs, and what
// .ftz does to f16, as on an H200.
#include <algorithm>

#include "tests/exec/definition.hpp"
#include "tests/exec/exact.hpp"

namespace lockwarp::exec {

namespace {

using Kind = Float::Kind;

struct Conversion {
    TypeName to, from;               // of one element
    FloatFormat target{}, source{};  // where they are floating
    Towards towards = Towards::nearest;
    bool to_whole = false;  // .rni and the like
    bool ftz = false, sat = false, satfinite = false, relu = false;
};

TypeName element(const TypeName& t) {
    return t.lanes == 1 ? t : TypeName{t.name, t.width / t.lanes, t.kind, 1};
}

Conversion conversion_of(const Spelled& s) {
    Conversion c{element(s.types.at(0)), element(s.types.at(1))};
    if (c.to.kind == TypeKind::floating) c.target = float_format(c.to.name);
    if (c.from.kind == TypeKind::floating) c.source = float_format(c.from.name);
    const std::string r =
        s.one_of({".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi"});
    c.to_whole = r.size() == 4 && r.back() == 'i';
    if (r.starts_with(".rz")) c.towards = Towards::zero;
    if (r.starts_with(".rm")) c.towards = Towards::below;
    if (r.starts_with(".rp")) c.towards = Towards::above;
    if (r == ".rna") c.towards = Towards::nearest_away;
    c.ftz = s.has(".ftz");
    c.sat = s.has(".sat");
    c.satfinite = s.has(".satfinite");
    c.relu = s.has(".relu");
    return c;
}

bool is(const TypeName& t, std::string_view name) { return t.name == name; }

bool subnormal(const FloatFormat& f, const Float& x) {
    return x.kind == Kind::finite && x.magnitude.bit_length() <= f.fraction_bits;
}

uint64_t finished(const Conversion& c, uint64_t bits) {
    const FloatFormat& f = c.target;
    const Float x = float_of(f, bits);
    if (x.kind == Kind::nan) return c.sat ? 0 : bits;
    if ((c.sat || c.relu) && (x.negative || x.zero())) return 0;
    const uint64_t one = rounded(f, {}, false, 1, 0);
    return c.sat && bits > one ? one : bits;
}

uint64_t whole_to_whole(const Conversion& c, uint64_t bits) {
    const Wide value = whole_of(c.from, bits);
    return lower(static_cast<uint64_t>(c.sat ? clamped(c.to, value) : value), c.to.width);
}

uint64_t whole_to_float(const Conversion& c, uint64_t bits) {
    const FloatFormat& f = c.target;
    const Wide value = whole_of(c.from, bits);
    const RoundingRule rule{c.towards, false, false};
    const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
    return finished(c, rounded(f, rule, value < 0, magnitude, 0));
}

uint64_t float_to_whole(const Conversion& c, uint64_t bits) {
    const FloatFormat& f = c.source;
    const Float x = float_of(f, bits);
    const unsigned width = c.to.width;
    // 0 without a type of 64 bits, else the highest bit alone.
    if (x.kind == Kind::nan)
        return width == 64 || c.from.width == 64 ? uint64_t{1} << (width - 1) : 0;
    Whole whole = Whole(1).shifted_left(70);  // infinity: beyond every type
    if (c.ftz && subnormal(f, x))
        whole = Whole();
    else if (x.kind == Kind::finite)
        whole = rounded_to_whole(c.towards, x.negative, x.magnitude, x.exponent);
    const Wide magnitude = whole.bit_length() > 70
                               ? Wide{1} << 70
                               : (static_cast<Wide>(whole.shifted_right(35).low()) << 35) +
                                     static_cast<Wide>(whole.low_bits(35).low());
    return lower(static_cast<uint64_t>(clamped(c.to, x.negative ? -magnitude : magnitude)), width);
}

uint64_t nan_to_float(const Conversion& c, uint64_t bits) {
    const FloatFormat& source = c.source;
    const FloatFormat& target = c.target;
    const bool negative = (bits & sign_of(source)) != 0;
    // Rounding to tf32 away is an addition to the bits, for NaN the truncation of them; .satfinite
    // then takes one from the last place that stays.
    if (is(c.to, ".tf32") && c.towards == Towards::nearest_away) {
        const uint64_t kept = bits >> target.low_zeros << target.low_zeros;
        return c.satfinite ? kept - (uint64_t{1} << target.low_zeros) : kept;
    }
    if (is(c.from, ".bf16") && is(c.to, ".f32") && !c.ftz) return bits << 16;
    if (!is(c.to, ".f64") && !is(c.from, ".f64")) return target.nan;
    // f64 takes and gives the sign and the upper bits of the fraction, made quiet; but what .ftz
    // sends through f32 first.
    if (is(c.from, ".f32") && c.ftz)
        return infinity_of(target, false) | ((uint64_t{1} << 52) - (uint64_t{1} << 29));
    const uint64_t fraction = bits & ((uint64_t{1} << source.fraction_bits) - 1);
    const int up = target.fraction_bits - source.fraction_bits;
    const uint64_t moved = up > 0 ? fraction << up : fraction >> -up;
    return infinity_of(target, negative) | moved | uint64_t{1} << (target.fraction_bits - 1);
}

uint64_t float_to_float(const Conversion& c, uint64_t bits) {
    const FloatFormat& source = c.source;
    const FloatFormat& target = c.target;
    const bool same = is(c.from, c.to.name);
    if (same && !c.to_whole && !c.ftz && !c.sat && c.to.width >= 32) return bits;  // a move
    Float x = float_of(source, bits);
    if (x.kind == Kind::nan) {
        // Within f64 its own, made quiet.
        const bool own = same && is(c.to, ".f64");
        return finished(c, own    ? bits | uint64_t{1} << 51
                           : same ? target.nan
                                  : nan_to_float(c, bits));
    }
    if (x.kind == Kind::infinite) {
        const uint64_t sign = x.negative ? sign_of(target) : 0;
        const bool stays = target.has_infinity && !c.satfinite;
        return finished(c, stays         ? infinity_of(target, x.negative)
                           : c.satfinite ? sign | target.largest
                                         : target.nan);
    }
    // f32 to f16 keeps subnormal sources (H200).
    if (c.ftz && is(c.from, ".f32") && !is(c.to, ".f16") && subnormal(source, x))
        x.magnitude = Whole();
    if (c.to_whole) {
        const Whole whole = rounded_to_whole(c.towards, x.negative, x.magnitude, x.exponent);
        return finished(c, rounded(target, {}, x.negative, whole, 0));
    }
    const RoundingRule rule{c.towards, c.ftz && is(c.to, ".f32"), c.satfinite};
    return finished(c, rounded(target, rule, x.negative, x.magnitude, x.exponent));
}

uint64_t converted(const Conversion& c, uint64_t bits) {
    const bool to_float = c.to.kind == TypeKind::floating;
    const bool from_float = c.from.kind == TypeKind::floating;
    if (to_float) return from_float ? float_to_float(c, bits) : whole_to_float(c, bits);
    return from_float ? float_to_whole(c, bits) : whole_to_whole(c, bits);
}

// Both sources clamped, the second lowest, the third's bits above them.
Definition pack(const Spelled& s) {
    const TypeName to = s.types.at(0);
    const bool merges = s.types.size() > 2;
    return one_result([=](const Sources& x) {
        uint64_t out = merges ? x.value[2] << (2 * to.width) : 0;
        for (const unsigned i : {0u, 1u}) {
            const Wide value = clamped(to, whole_of(type_named(".s32"), x.value[i]));
            out |= lower(static_cast<uint64_t>(value), to.width) << (i == 0 ? to.width : 0);
        }
        return lower(out, 32);
    });
}

}  // namespace

Definition conversion_definition(const Spelled& s) {
    if (s.opcode != "cvt" || s.types.size() < 2) return {};
    if (s.has(".pack")) return pack(s);
    const Conversion c = conversion_of(s);
    const unsigned width = c.from.width;
    const bool pair = s.types[0].lanes == 2;
    const bool packed = s.types[1].lanes == 2;
    return one_result([=](const Sources& x) {
        if (!pair) return converted(c, lower(x.value[0], width));
        const uint64_t high = packed ? x.value[0] >> width : x.value[0];
        const uint64_t low = packed ? x.value[0] : x.value[1];
        return converted(c, lower(high, width)) << c.to.width | converted(c, lower(low, width));
    });
}

}  // namespace lockwarp::exec
