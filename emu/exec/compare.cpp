// SPDX-License-Identifier: Apache-2.0
// setp, set, selp, slct, and the logic of predicates. PTX manual, "Comparison and Select
// Instructions", "Half Precision Comparison Instructions".
#include "emu/exec/families.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

namespace {

using isa::Combine;
using isa::Compare;

template <class T, auto F>
uint32_t compare_lanes(Context& c, const Operation& o, unsigned first, uint32_t mask) {
    const auto* a = slot<T>(c, o.r[first]);
    const auto* b = slot<T>(c, o.r[first + 1]);
    return lanes_where(mask,
                       [&](unsigned l) { return F(static_cast<T>(a[l]), static_cast<T>(b[l])); });
}

template <class T>
uint32_t compare_integers(Context& c, const Operation& o, unsigned first, uint32_t mask) {
    switch (o.mod.compare) {
        case Compare::eq:
            return compare_lanes<T, [](T a, T b) { return a == b; }>(c, o, first, mask);
        case Compare::ne:
            return compare_lanes<T, [](T a, T b) { return a != b; }>(c, o, first, mask);
        case Compare::lt:
        case Compare::lo:
            return compare_lanes<T, [](T a, T b) { return a < b; }>(c, o, first, mask);
        case Compare::le:
        case Compare::ls:
            return compare_lanes<T, [](T a, T b) { return a <= b; }>(c, o, first, mask);
        case Compare::gt:
        case Compare::hi:
            return compare_lanes<T, [](T a, T b) { return b < a; }>(c, o, first, mask);
        default:
            return compare_lanes<T, [](T a, T b) { return b <= a; }>(c, o, first, mask);
    }
}

// What a comparison says of each order: bits less, equal, greater, unordered.
constexpr unsigned truth(Compare compare) {
    constexpr unsigned less = 1;
    constexpr unsigned equal = 2;
    constexpr unsigned greater = 4;
    constexpr unsigned unordered = 8;
    switch (compare) {
        case Compare::eq:
            return equal;
        case Compare::ne:
            return less | greater;
        case Compare::lt:
            return less;
        case Compare::le:
            return less | equal;
        case Compare::gt:
            return greater;
        case Compare::ge:
            return greater | equal;
        case Compare::equ:
            return equal | unordered;
        case Compare::neu:
            return less | greater | unordered;
        case Compare::ltu:
            return less | unordered;
        case Compare::leu:
            return less | equal | unordered;
        case Compare::gtu:
            return greater | unordered;
        case Compare::geu:
            return greater | equal | unordered;
        case Compare::num:
            return less | equal | greater;
        default:
            return unordered;
    }
}

// Element `e` of packed floats, or the only one.
uint32_t compare_floats(Context& c, const Operation& o, Type packed, unsigned e, unsigned first,
                        uint32_t mask) {
    const unsigned wanted = truth(o.mod.compare);
    const Type t = isa::element_of(packed);
    const unsigned width = isa::bits(t);
    return lanes_where(mask, [&](unsigned l) {
        uint64_t a;
        uint64_t b;
        if (width == 64) {
            a = slot<uint64_t>(c, o.r[first])[l];
            b = slot<uint64_t>(c, o.r[first + 1])[l];
        } else {
            const uint64_t ones = (uint64_t{1} << width) - 1;
            a = (slot<uint32_t>(c, o.r[first])[l] >> (e * width)) & ones;
            b = (slot<uint32_t>(c, o.r[first + 1])[l] >> (e * width)) & ones;
        }
        const auto order = static_cast<unsigned>(num::compare(t, a, b, o.mod.ftz));
        return ((wanted >> order) & 1) != 0;
    });
}

// The same as integers, in which both zeros are 0. read(which, lane) gives an operand's bits with
// the sign in the highest; of such are `infinity` and the smallest number that .ftz leaves,
// `normal`.
template <class T, class Read>
uint32_t compare_as(const Operation& o, T infinity, T normal, uint32_t mask, Read read) {
    using U = std::make_unsigned_t<T>;
    const unsigned wanted = truth(o.mod.compare);
    const T least = o.mod.ftz ? normal : 0;
    const auto magnitude = [](U v) { return static_cast<T>(v & (~U{0} >> 1)); };
    const auto key = [&](U v) {
        const T m = magnitude(v) < least ? 0 : magnitude(v);
        return static_cast<T>(v) < 0 ? -m : m;
    };
    return lanes_where(mask, [&](unsigned l) {
        const U a = read(0, l);
        const U b = read(1, l);
        const bool unordered = magnitude(a) > infinity || magnitude(b) > infinity;
        const auto order = unordered         ? num::Order::unordered
                           : key(a) < key(b) ? num::Order::less
                           : key(a) > key(b) ? num::Order::greater
                                             : num::Order::equal;
        return ((wanted >> static_cast<unsigned>(order)) & 1) != 0;
    });
}

// Element `e` of 32 or 16 bits.
uint32_t compare_narrow(Context& c, const Operation& o, Type packed, unsigned e, unsigned first,
                        uint32_t mask) {
    const std::array in{slot<uint32_t>(c, o.r[first]), slot<uint32_t>(c, o.r[first + 1])};
    const Type t = isa::element_of(packed);
    const unsigned above = 32 - isa::bits(t) * (e + 1);
    const unsigned below = 32 - isa::bits(t);
    const bool is_f16 = t == Type::f16;
    const int32_t infinity = is_f16 ? 0x7c000000 : 0x7f800000;
    const int32_t normal = is_f16 ? 0x04000000 : 0x00800000;
    return compare_as<int32_t>(o, infinity, normal, mask, [&](unsigned which, unsigned l) {
        return in[which][l] << above >> below << below;
    });
}

uint32_t compare_f64(Context& c, const Operation& o, unsigned first, uint32_t mask) {
    const std::array in{slot<uint64_t>(c, o.r[first]), slot<uint64_t>(c, o.r[first + 1])};
    return compare_as<int64_t>(o, 0x7ff0000000000000, 0x0010000000000000, mask,
                               [&](unsigned which, unsigned l) { return in[which][l]; });
}

template <bool fast>
uint32_t compare(Context& c, const Operation& o, Type t, unsigned element, unsigned first,
                 uint32_t mask) {
    if (fast && t == Type::f64) return compare_f64(c, o, first, mask);
    if (fast) return compare_narrow(c, o, t, element, first, mask);
    if (isa::is_float(t)) return compare_floats(c, o, t, element, first, mask);
    const bool is_unsigned = o.mod.compare == Compare::lo || o.mod.compare == Compare::ls ||
                             o.mod.compare == Compare::hi || o.mod.compare == Compare::hs;
    const bool is_signed = isa::is_signed(t) && !is_unsigned;
    switch (isa::bits(t)) {
        case 16:
            return is_signed ? compare_integers<int16_t>(c, o, first, mask)
                             : compare_integers<uint16_t>(c, o, first, mask);
        case 32:
            return is_signed ? compare_integers<int32_t>(c, o, first, mask)
                             : compare_integers<uint32_t>(c, o, first, mask);
        default:
            return is_signed ? compare_integers<int64_t>(c, o, first, mask)
                             : compare_integers<uint64_t>(c, o, first, mask);
    }
}

uint32_t combine(Combine how, uint32_t a, uint32_t b) {
    switch (how) {
        case Combine::and_:
            return a & b;
        case Combine::or_:
            return a | b;
        case Combine::xor_:
            return a ^ b;
        default:
            return a;
    }
}

// p = compare BOOL c, q = !compare BOOL c. For packed floats p is of the low, q of the high
// element. .f16 and .bf16 have no q: their sources stand one position earlier.
template <bool fast>
void setp(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Type t = o.mod.type[0];
    const bool pair = t != Type::f16 && t != Type::bf16;
    const unsigned first = pair ? 2 : 1;
    const uint32_t p = compare<fast>(c, o, t, 0, first, mask);
    const uint32_t q = isa::row(t).lanes == 2 ? compare<fast>(c, o, t, 1, first, mask) : ~p;
    const uint32_t with = o.mod.combine == Combine::none ? 0 : read_predicate(c, o, first + 2);
    write_predicate(c, o.r[0], combine(o.mod.combine, p, with), mask);
    if (pair) write_predicate(c, o.r[1], combine(o.mod.combine, q, with), mask);
}

// What `set` writes where its comparison holds: all ones, or 1.0.
uint32_t true_of(Type t) {
    switch (t) {
        case Type::f32:
            return 0x3f800000;
        case Type::f16:
            return 0x3c00;
        case Type::bf16:
            return 0x3f80;
        case Type::u16:
        case Type::s16:
            return 0xffff;
        default:
            return 0xffffffff;
    }
}

// Of packed sources each half has its own result; with an integer as type, 16 bits of ones each.
void set(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Type from = o.mod.type[1];
    const Type to = isa::element_of(o.mod.type[0]);
    const uint32_t with = o.mod.combine == Combine::none ? 0 : read_predicate(c, o, 3);
    const uint32_t p = combine(o.mod.combine, compare<false>(c, o, from, 0, 1, mask), with);
    auto* d = slot<uint32_t>(c, o.r[0]);
    if (isa::row(from).lanes != 2) {
        for_lanes(mask, [&](unsigned l) { d[l] = (p >> l) & 1 ? true_of(to) : 0; });
        return;
    }
    const uint32_t q = combine(o.mod.combine, compare<false>(c, o, from, 1, 1, mask), with);
    const uint32_t yes = isa::is_float(to) ? true_of(to) : 0xffff;
    for_lanes(mask, [&](unsigned l) {
        d[l] = ((p >> l) & 1 ? yes : 0) | ((q >> l) & 1 ? yes << 16 : 0);
    });
}

template <class T>
void selp(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    const uint32_t p = read_predicate(c, *s.op, 3);
    for_lanes(mask, [&](unsigned l) { d[l] = (p >> l) & 1 ? a[l] : b[l]; });
}

// d = c >= 0 ? a : b; -0 counts as 0, NaN as negative.
template <class T>
void slct(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    const bool is_float = s.op->mod.type[1] == Type::f32;
    const bool ftz = s.op->mod.ftz;
    for_lanes(mask, [&](unsigned l) {
        const bool yes = is_float ? (truth(Compare::ge) >>
                                     static_cast<unsigned>(num::compare(Type::f32, e[l], 0, ftz))) &
                                        1
                                  : static_cast<int32_t>(e[l]) >= 0;
        d[l] = yes ? a[l] : b[l];
    });
}

template <Combine how>
void logic(Context& c, const Step& s, uint32_t mask) {
    const uint32_t a = read_predicate(c, *s.op, 1);
    const uint32_t b = how == Combine::none ? 0 : read_predicate(c, *s.op, 2);
    write_predicate(c, s.op->r[0], combine(how, a, b), mask);
}

void not_predicate(Context& c, const Step& s, uint32_t mask) {
    write_predicate(c, s.op->r[0], ~read_predicate(c, *s.op, 1), mask);
}

}  // namespace

Handler setp_handler(const Operation&) { return setp<false>; }
Handler fast_setp(const Operation& o) {
    return isa::is_float(o.mod.type[0]) ? setp<true> : nullptr;
}
Handler set_handler(const Operation&) { return set; }

Handler selp_handler(const Operation& o) {
    return isa::bits(o.mod.type[0]) == 64 ? selp<uint64_t> : selp<uint32_t>;
}

Handler slct_handler(const Operation& o) {
    return isa::bits(o.mod.type[0]) == 64 ? slct<uint64_t> : slct<uint32_t>;
}

Handler predicate_mov(const Operation&) { return logic<Combine::none>; }
Handler predicate_and(const Operation&) { return logic<Combine::and_>; }
Handler predicate_or(const Operation&) { return logic<Combine::or_>; }
Handler predicate_xor(const Operation&) { return logic<Combine::xor_>; }
Handler predicate_not(const Operation&) { return not_predicate; }

}  // namespace lockwarp::exec
