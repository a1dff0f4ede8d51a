// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic, exact and then rounded once. PTX manual, "Floating Point
// Instructions", "Half Precision Floating Point Instructions".
#include <algorithm>
#include <initializer_list>

#include "tests/exec/definition.hpp"
#include "tests/exec/exact.hpp"

namespace lockwarp::exec {

namespace {

using Kind = Float::Kind;
using Bits = std::array<uint64_t, 3>;

Towards towards_of(const Spelled& s) {
    if (s.has(".rz")) return Towards::zero;
    if (s.has(".rm")) return Towards::below;
    if (s.has(".rp")) return Towards::above;
    return Towards::nearest;
}

struct Rules {
    const FloatFormat& f;
    RoundingRule rounding;
    bool sat, relu, nan, xorsign, abs, oob;
    explicit Rules(const Spelled& s)
        : f(float_format(s.types.at(0).name)),
          rounding{towards_of(s), s.has(".ftz"), false},
          sat(s.has(".sat")),
          relu(s.has(".relu")),
          nan(s.has(".NaN")),
          xorsign(s.has(".xorsign")),
          abs(s.has(".abs")),
          oob(s.has(".oob")) {}

    // A source, its subnormals zeros with .ftz.
    uint64_t source(uint64_t bits) const {
        const Float x = float_of(f, bits);
        const bool subnormal =
            x.kind == Kind::finite && x.magnitude.bit_length() <= f.fraction_bits;
        return rounding.flush && subnormal ? bits & sign_of(f) : bits;
    }

    // Of NaN operands, in the order in which an H200 chooses: f64 keeps the payload of one and
    // makes it quiet; the other formats have one NaN.
    uint64_t nan_of(std::initializer_list<uint64_t> order) const {
        if (f.name == ".f64")
            for (const uint64_t bits : order)
                if (float_of(f, bits).kind == Kind::nan)
                    return bits | uint64_t{1} << (f.fraction_bits - 1);
        return f.nan;
    }

    uint64_t finished(uint64_t bits) const {
        const Float x = float_of(f, bits);
        if (x.kind == Kind::nan) return sat ? 0 : bits;
        if ((sat || relu) && (x.negative || x.zero())) return 0;
        const uint64_t one = rounded(f, {}, false, 1, 0);
        return sat && bits > one ? one : bits;
    }
};

// The exact sum of two finite numbers, rounded; of zero the sign that IEEE 754 gives it.
uint64_t rounded_sum(const Rules& rules, Float a, Float b) {
    const bool below = rules.rounding.towards == Towards::below;
    const int exponent =
        std::min(a.zero() ? b.exponent : a.exponent, b.zero() ? a.exponent : b.exponent);
    if (a.zero() && b.zero()) {
        const bool negative = a.negative == b.negative ? a.negative : below;
        return negative ? sign_of(rules.f) : 0;
    }
    const Whole x = a.zero() ? Whole() : a.magnitude.shifted_left(a.exponent - exponent);
    const Whole y = b.zero() ? Whole() : b.magnitude.shifted_left(b.exponent - exponent);
    if (a.negative == b.negative)
        return rounded(rules.f, rules.rounding, a.negative, x + y, exponent);
    const int order = compare(x, y);
    if (order == 0) return below ? sign_of(rules.f) : 0;
    return order > 0 ? rounded(rules.f, rules.rounding, a.negative, x - y, exponent)
                     : rounded(rules.f, rules.rounding, b.negative, y - x, exponent);
}

// a + b where at least one is infinite; both finite: nothing.
bool infinite_sum(const Rules& rules, const Float& a, const Float& b, uint64_t& out) {
    if (a.kind != Kind::infinite && b.kind != Kind::infinite) return false;
    const bool opposed =
        a.kind == Kind::infinite && b.kind == Kind::infinite && a.negative != b.negative;
    const bool negative = a.kind == Kind::infinite ? a.negative : b.negative;
    out = opposed ? rules.f.nan : infinity_of(rules.f, negative);
    return true;
}

bool is_nan(const Rules& rules, uint64_t bits) { return float_of(rules.f, bits).kind == Kind::nan; }

uint64_t add(const Rules& rules, const Bits& v) {
    if (is_nan(rules, v[0]) || is_nan(rules, v[1])) return rules.nan_of({v[1], v[0]});
    const Float a = float_of(rules.f, v[0]);
    const Float b = float_of(rules.f, v[1]);
    uint64_t out = 0;
    return infinite_sum(rules, a, b, out) ? out : rounded_sum(rules, a, b);
}

uint64_t subtract(const Rules& rules, const Bits& v) {
    return add(rules, {v[0], is_nan(rules, v[1]) ? v[1] : v[1] ^ sign_of(rules.f), 0});
}

// The product of two numbers that are not NaN; NaN of infinity and zero.
Float product(const Float& a, const Float& b) {
    Float out;
    out.negative = a.negative != b.negative;
    if (a.kind == Kind::infinite || b.kind == Kind::infinite) {
        out.kind = a.zero() || b.zero() ? Kind::nan : Kind::infinite;
        return out;
    }
    out.magnitude = a.magnitude * b.magnitude;
    out.exponent = a.exponent + b.exponent;
    return out;
}

uint64_t multiply(const Rules& rules, const Bits& v) {
    if (is_nan(rules, v[0]) || is_nan(rules, v[1])) return rules.nan_of({v[1], v[0]});
    const Float p = product(float_of(rules.f, v[0]), float_of(rules.f, v[1]));
    if (p.kind == Kind::nan) return rules.f.nan;
    if (p.kind == Kind::infinite) return infinity_of(rules.f, p.negative);
    return rounded(rules.f, rules.rounding, p.negative, p.magnitude, p.exponent);
}

uint64_t multiply_add(const Rules& rules, const Bits& v) {
    // An H100: the NaN that tensor copies fill with makes the product and the sum 0.
    for (size_t i = 0; i < 2; ++i)
        if (rules.oob && (v[i] == 0x7ff7 || v[i] == 0xfff7)) return 0;
    if (is_nan(rules, v[0]) || is_nan(rules, v[1]) || is_nan(rules, v[2]))
        return rules.nan_of({v[1], v[2], v[0]});
    const Float p = product(float_of(rules.f, v[0]), float_of(rules.f, v[1]));
    if (p.kind == Kind::nan) return rules.f.nan;
    const Float c = float_of(rules.f, v[2]);
    uint64_t out = 0;
    return infinite_sum(rules, p, c, out) ? out : rounded_sum(rules, p, c);
}

uint64_t divide(const Rules& rules, const Bits& v) {
    if (is_nan(rules, v[0]) || is_nan(rules, v[1])) return rules.nan_of({v[0], v[1]});
    const Float a = float_of(rules.f, v[0]);
    const Float b = float_of(rules.f, v[1]);
    const bool negative = a.negative != b.negative;
    const bool endless = a.kind == Kind::infinite;
    if (endless && b.kind == Kind::infinite) return rules.f.nan;
    if (a.zero() && b.zero()) return rules.f.nan;
    if (endless || b.zero()) return infinity_of(rules.f, negative);
    if (b.kind == Kind::infinite) return negative ? sign_of(rules.f) : 0;
    return rounded(rules.f, rules.rounding, negative, a.magnitude, a.exponent - b.exponent,
                   b.magnitude);
}

uint64_t reciprocal(const Rules& rules, const Bits& v) {
    return divide(rules, {rounded(rules.f, {}, false, 1, 0), v[0], 0});
}

uint64_t square_root(const Rules& rules, const Bits& v) {
    const Float a = float_of(rules.f, v[0]);
    if (a.kind == Kind::nan) return rules.nan_of({v[0]});
    if (a.zero()) return v[0];
    if (a.negative) return rules.f.nan;
    if (a.kind == Kind::infinite) return v[0];
    // With 2n more bits below, n of them an even number's: the root's whole part has bits to spare,
    // and what it leaves says which side of them the root is on.
    const int more = 64 + (a.exponent & 1);
    __extension__ using Wide128 = unsigned __int128;
    Wide128 square = a.magnitude.low();
    square <<= more;
    Wide128 root = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const Wide128 next = root | Wide128{1} << bit;
        if (next * next <= square) root = next;
    }
    const Whole whole(static_cast<uint64_t>(root));
    const bool rest = root * root != square;
    // Four times the root, and one where something is left.
    const Whole places = whole.shifted_left(2) + Whole(rest ? 1 : 0);
    return rounded(rules.f, rules.rounding, false, places, (a.exponent - more) / 2 - 2);
}

// abs and neg. Of NaN: what an addition of -0 gives (H200).
uint64_t with_sign(const Rules& rules, const Bits& v, bool negate) {
    if (is_nan(rules, v[0])) return rules.nan_of({v[0]});
    const uint64_t bits = rules.source(v[0]);
    return negate ? bits ^ sign_of(rules.f) : bits & (sign_of(rules.f) - 1);
}

// -0 is less than +0; a number is taken before a NaN, but with .NaN.
uint64_t extremum(const Rules& rules, const Bits& v, bool least) {
    const bool nan_a = is_nan(rules, v[0]);
    const bool nan_b = is_nan(rules, v[1]);
    if ((nan_a && nan_b) || (rules.nan && (nan_a || nan_b))) return rules.nan_of({v[1], v[0]});
    const uint64_t sign = sign_of(rules.f);
    const auto plain = [&](uint64_t bits) { return rules.abs ? bits & (sign - 1) : bits; };
    const auto place = [&](uint64_t bits) {
        const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
        return (bits & sign) != 0 ? -1 - magnitude : magnitude;
    };
    const uint64_t a = plain(v[0]);
    const uint64_t b = plain(v[1]);
    const bool first = nan_b || (!nan_a && (least ? place(a) <= place(b) : place(a) >= place(b)));
    const uint64_t taken = first ? a : b;
    return rules.xorsign ? (taken & (sign - 1)) | ((v[0] ^ v[1]) & sign) : taken;
}

uint64_t extremum_of_three(const Rules& rules, const Bits& v, bool least) {
    return extremum(rules, {extremum(rules, v, least), v[2], 0}, least);
}

// The same number in f32.
uint64_t widened(const Rules& rules, const FloatFormat& from, uint64_t bits) {
    const Float x = float_of(from, bits);
    if (x.kind == Kind::nan) return rules.f.nan;
    if (x.kind == Kind::infinite) return infinity_of(rules.f, x.negative);
    if (x.zero()) return x.negative ? sign_of(rules.f) : 0;
    return rounded(rules.f, {}, x.negative, x.magnitude, x.exponent);
}

using Rule = std::function<uint64_t(const Rules&, const Bits&)>;

Rule rule_of(const Spelled& s) {
    const std::string& op = s.opcode;
    if (op == "add") return add;
    if (op == "sub") return subtract;
    if (op == "mul") return multiply;
    if (op == "fma" || op == "mad") return multiply_add;
    if (op == "div") return divide;
    if (op == "rcp") return reciprocal;
    if (op == "sqrt") return square_root;
    if (op == "abs") return [](const Rules& r, const Bits& v) { return with_sign(r, v, false); };
    if (op == "neg") return [](const Rules& r, const Bits& v) { return with_sign(r, v, true); };
    if (s.sources == 3 && op == "min")
        return [](const Rules& r, const Bits& v) { return extremum_of_three(r, v, true); };
    if (s.sources == 3 && op == "max")
        return [](const Rules& r, const Bits& v) { return extremum_of_three(r, v, false); };
    if (op == "min") return [](const Rules& r, const Bits& v) { return extremum(r, v, true); };
    if (op == "max") return [](const Rules& r, const Bits& v) { return extremum(r, v, false); };
    if (op == "copysign")
        return [](const Rules& r, const Bits& v) {
            return (v[0] & sign_of(r.f)) | (v[1] & (sign_of(r.f) - 1));
        };
    return {};
}

}  // namespace

Definition float_definition(const Spelled& s) {
    // Of mixed precision: how many sources have the second type.
    const bool mixed = s.types.size() == 2 && s.types[0].name == ".f32" &&
                       (s.types[1].name == ".f16" || s.types[1].name == ".bf16") &&
                       (s.opcode == "add" || s.opcode == "sub" || s.opcode == "fma");
    const size_t narrow = !mixed ? 0 : s.opcode == "fma" ? 2 : 1;
    if ((s.types.size() != 1 && !mixed) || s.types[0].kind != TypeKind::floating ||
        s.has(".approx") || s.has(".full"))
        return {};
    const Rule rule = rule_of(s);
    if (!rule) return {};
    const Rules rules(s);
    const TypeName t = s.types[0];
    const unsigned width = t.width / t.lanes;
    const bool moves = s.opcode == "copysign";
    const FloatFormat* const from = mixed ? &float_format(s.types[1].name) : nullptr;
    return one_result([=](const Sources& x) {
        uint64_t out = 0;
        for (unsigned at = 0; at < t.width; at += width) {
            Bits v{};
            for (size_t i = 0; i < v.size(); ++i) {
                v[i] = i < narrow ? widened(rules, *from, lower(x.value[i], 16))
                                  : lower(x.value[i] >> at, width);
                if (!moves) v[i] = rules.source(v[i]);
            }
            const uint64_t result = rule(rules, v);
            out |= (moves ? result : rules.finished(result)) << at;
        }
        return out;
    });
}

}  // namespace lockwarp::exec
