// SPDX-License-Identifier: Apache-2.0
// setp, set, selp, slct, testp. PTX manual, "Comparison and Selection Instructions", "Half
// Precision Comparison Instructions", "Floating Point Instructions: testp".
#include "tests/exec/definition.hpp"
#include "tests/exec/exact.hpp"

namespace lockwarp::exec {

namespace {

enum class Relation : uint8_t { less, equal, greater, unordered };

template <class T>
Relation relation(const T& a, const T& b) {
    return a < b ? Relation::less : b < a ? Relation::greater : Relation::equal;
}

Relation relation_of_floats(const FloatFormat& f, uint64_t a, uint64_t b, bool flush) {
    const Float x = float_of(f, a);
    const Float y = float_of(f, b);
    if (x.kind == Float::Kind::nan || y.kind == Float::Kind::nan) return Relation::unordered;
    // A number's place in the order of its format: magnitudes of finite numbers and infinity are
    // in the order of their bits.
    const auto place = [&](const Float& number, uint64_t bits) {
        auto magnitude = static_cast<int64_t>(bits & (sign_of(f) - 1));
        if (flush && number.kind == Float::Kind::finite &&
            number.magnitude.bit_length() <= f.fraction_bits)
            magnitude = 0;
        return number.negative ? -magnitude : magnitude;
    };
    return relation(place(x, a), place(y, b));
}

struct Comparison {
    std::string_view name;
    bool less, equal, greater, unordered;

    bool holds(Relation r) const {
        return r == Relation::less      ? less
               : r == Relation::equal   ? equal
               : r == Relation::greater ? greater
                                        : unordered;
    }
};

constexpr Comparison comparisons[] = {
    {".eq", false, true, false, false}, {".ne", true, false, true, false},
    {".lt", true, false, false, false}, {".le", true, true, false, false},
    {".gt", false, false, true, false}, {".ge", false, true, true, false},
    {".lo", true, false, false, false}, {".ls", true, true, false, false},
    {".hi", false, false, true, false}, {".hs", false, true, true, false},
    {".equ", false, true, false, true}, {".neu", true, false, true, true},
    {".ltu", true, false, false, true}, {".leu", true, true, false, true},
    {".gtu", false, false, true, true}, {".geu", false, true, true, true},
    {".num", true, true, true, false},  {".nan", false, false, false, true},
};

const Comparison& comparison_of(const Spelled& s) {
    for (const Comparison& c : comparisons)
        if (s.has(c.name)) return c;
    return comparisons[0];
}

// Whether element `e` of two sources compares.
std::function<bool(const Sources&, unsigned)> comparison(const Spelled& s, const TypeName& t) {
    const Comparison& how = comparison_of(s);
    const bool flush = s.has(".ftz");
    if (t.kind == TypeKind::floating) {
        const FloatFormat& f = float_format(t.name);
        const unsigned width = t.width / t.lanes;
        return [=, &how](const Sources& x, unsigned e) {
            return how.holds(relation_of_floats(f, lower(x.value[0] >> (e * width), width),
                                                lower(x.value[1] >> (e * width), width), flush));
        };
    }
    return [=, &how](const Sources& x, unsigned) {
        return how.holds(relation(whole_of(t, x.value[0]), whole_of(t, x.value[1])));
    };
}

std::function<bool(bool, bool)> combination(const Spelled& s) {
    const std::string how = s.one_of({".and", ".or", ".xor"});
    return [=](bool a, bool b) {
        return how == ".and" ? a && b : how == ".or" ? a || b : how == ".xor" ? a != b : a;
    };
}

Definition setp(const Spelled& s) {
    const TypeName t = s.types.at(0);
    const auto compare = comparison(s, t);
    const auto combine = combination(s);
    return [=](const Sources& x) {
        const bool c = x.value[2] != 0;
        const bool p = compare(x, 0);
        const bool q = t.lanes == 2 ? compare(x, 1) : !p;
        return Results{{combine(p, c), combine(q, c)}, false, {}};
    };
}

Definition set(const Spelled& s) {
    const TypeName to = s.types.at(0);
    const TypeName from = s.types.at(1);
    const auto compare = comparison(s, from);
    const auto combine = combination(s);
    const unsigned width = from.lanes == 2 ? 16 : to.width;
    uint64_t yes = lower(~uint64_t{0}, width);
    if (to.kind == TypeKind::floating) yes = rounded(float_format(to.name), {}, false, 1, 0);
    return one_result([=](const Sources& x) {
        uint64_t out = 0;
        for (unsigned e = 0; e < from.lanes; ++e)
            if (combine(compare(x, e), x.value[2] != 0)) out |= yes << (16 * e);
        return out;
    });
}

Definition slct(const Spelled& s) {
    const TypeName t = s.types.at(0);
    const TypeName by = s.types.at(1);
    const bool flush = s.has(".ftz");
    return one_result([=](const Sources& x) {
        bool first = false;
        if (by.kind == TypeKind::floating) {
            const Relation r = relation_of_floats(float_format(".f32"), x.value[2], 0, flush);
            first = r == Relation::equal || r == Relation::greater;
        } else {
            first = whole_of(by, x.value[2]) >= 0;
        }
        return lower(x.value[first ? 0 : 1], t.width);
    });
}

Definition testp(const Spelled& s) {
    const FloatFormat& f = float_format(s.types.at(0).name);
    const std::string what =
        s.one_of({".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"});
    return one_result([=](const Sources& x) -> uint64_t {
        const Float a = float_of(f, x.value[0]);
        const bool finite = a.kind == Float::Kind::finite;
        const bool subnormal = finite && !a.zero() && a.magnitude.bit_length() <= f.fraction_bits;
        if (what == ".finite") return finite;
        if (what == ".infinite") return a.kind == Float::Kind::infinite;
        if (what == ".number") return a.kind != Float::Kind::nan;
        if (what == ".notanumber") return a.kind == Float::Kind::nan;
        if (what == ".normal") return finite && !subnormal;
        return subnormal;
    });
}

}  // namespace

Definition comparison_definition(const Spelled& s) {
    if (s.opcode == "setp") return setp(s);
    if (s.opcode == "set") return set(s);
    if (s.opcode == "slct") return slct(s);
    if (s.opcode == "testp") return testp(s);
    if (s.opcode == "selp") {
        const TypeName t = s.types.at(0);
        return one_result(
            [=](const Sources& x) { return lower(x.value[x.value[2] != 0 ? 0 : 1], t.width); });
    }
    return {};
}

}  // namespace lockwarp::exec
