// SPDX-License-Identifier: Apache-2.0
// Integers of other widths than their registers', masks and tests of bit patterns: products of 24
// bits, pairs of 16 bits, min and max with .relu, bmsk, szext, fns, lop3, testp. PTX manual,
// "Integer Arithmetic Instructions", "Logic and Shift Instructions", "testp".
#include <algorithm>
#include <cstdlib>

#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::Part;

// Bits 47..16 or 31..0 of the product of the operands' lower 24 bits, and a third operand added.
template <bool is_signed, bool high, bool accumulate, bool saturate>
void of_24_bits(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = accumulate ? slot<uint32_t>(c, s.op->r[3]) : b;
    const auto lower = [](uint32_t v) -> int64_t {
        const uint32_t top = v << 8;
        return is_signed ? static_cast<int32_t>(top) >> 8 : static_cast<int64_t>(top >> 8);
    };
    for_lanes(mask, [&](unsigned l) {
        const int64_t product = lower(a[l]) * lower(b[l]);
        const auto part = static_cast<uint32_t>(high ? product >> 16 : product);
        if (saturate) {
            const int64_t sum = int64_t{static_cast<int32_t>(part)} + static_cast<int32_t>(e[l]);
            d[l] = static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
        } else {
            d[l] = accumulate ? part + e[l] : part;
        }
    });
}

template <bool accumulate>
Handler of_24_bits_handler(const isa::Modifiers& m) {
    const bool high = m.part == Part::hi;
    if (accumulate && m.sat) return of_24_bits<true, true, true, true>;
    if (isa::is_signed(m.type[0]))
        return high ? of_24_bits<true, true, accumulate, false>
                    : of_24_bits<true, false, accumulate, false>;
    return high ? of_24_bits<false, true, accumulate, false>
                : of_24_bits<false, false, accumulate, false>;
}

constexpr auto add_op = [](auto a, auto b) { return static_cast<uint16_t>(a + b); };
constexpr auto min_op = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto max_op = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto min_relu_op = [](auto a, auto b) {
    const auto least = a < b ? a : b;
    return least < 0 ? decltype(least){0} : least;
};
constexpr auto max_relu_op = [](auto a, auto b) {
    const auto most = a < b ? b : a;
    return most < 0 ? decltype(most){0} : most;
};

template <class T, auto F>
void pairs(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        const auto low =
            static_cast<uint16_t>(F(static_cast<T>(a[l] & 0xffff), static_cast<T>(b[l] & 0xffff)));
        const auto high =
            static_cast<uint16_t>(F(static_cast<T>(a[l] >> 16), static_cast<T>(b[l] >> 16)));
        d[l] = low | static_cast<uint32_t>(high) << 16;
    });
}

template <auto F>
void relu_s32(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<uint32_t>(F(static_cast<int32_t>(a[l]), static_cast<int32_t>(b[l])));
    });
}

template <bool wrap>
void bmsk(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        const uint32_t at = wrap ? a[l] & 31 : std::min(a[l], 32u);
        const uint32_t length = wrap ? b[l] & 31 : std::min(b[l], 32u);
        const uint64_t ones = (uint64_t{1} << length) - 1;
        d[l] = static_cast<uint32_t>(ones << at);
    });
}

// The lower bits of a value, extended by zeros or by the highest of them.
template <bool is_signed, bool wrap>
void szext(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        const uint32_t length = wrap ? b[l] & 31 : std::min(b[l], 32u);
        const uint32_t shift = (32 - length) & 31;
        const uint32_t top = a[l] << shift;
        const uint32_t field =
            is_signed ? static_cast<uint32_t>(static_cast<int32_t>(top) >> shift) : top >> shift;
        d[l] = length == 0 ? 0 : field;
    });
}

// The position of the n-th set bit from a base upwards, or downwards for negative n. The manual
// leaves a base above 31 undefined; here nothing is found there.
void fns(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    each_lane(mask, [&](unsigned l) {
        const uint32_t bits = a[l];
        const uint32_t base = b[l];
        const int64_t n = static_cast<int32_t>(e[l]);
        int64_t left = n == 0 ? 1 : std::abs(n);
        const auto last = n == 0 ? static_cast<int64_t>(base) : n < 0 ? int64_t{0} : int64_t{31};
        uint32_t found = UINT32_MAX;
        if (base < 32)
            for (int64_t at = base;; at += n < 0 ? -1 : 1) {
                if ((bits >> at & 1) != 0 && --left == 0) found = static_cast<uint32_t>(at);
                if (left == 0 || at == last) break;
            }
        // An offset of -2^31 gives 0 (measured on an H200, driver 580: 17 lanes, all of them).
        if (n == INT32_MIN) found = 0;
        c.undefined |= uint32_t{base > 31} << l;
        d[l] = found;
    });
}

// d: the function of three bits that the constant is the table of. p, where there is one: whether
// d is other than 0, combined with a predicate.
void lop3(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const bool tests = o.mod.combine != isa::Combine::none;
    const unsigned first = tests ? 2 : 1;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[first]);
    const auto* b = slot<uint32_t>(c, o.r[first + 1]);
    const auto* e = slot<uint32_t>(c, o.r[first + 2]);
    std::array<uint32_t, 8> term{};
    for (unsigned i = 0; i < 8; ++i) term[i] = (o.immediate >> i) & 1 ? all_lanes : 0;
    for_lanes(mask, [&](unsigned l) {
        const uint32_t x = a[l];
        const uint32_t y = b[l];
        const uint32_t z = e[l];
        d[l] = (~x & ~y & ~z & term[0]) | (~x & ~y & z & term[1]) | (~x & y & ~z & term[2]) |
               (~x & y & z & term[3]) | (x & ~y & ~z & term[4]) | (x & ~y & z & term[5]) |
               (x & y & ~z & term[6]) | (x & y & z & term[7]);
    });
    if (!tests) return;
    const uint32_t some = lanes_where(mask, [&](unsigned l) { return d[l] != 0; });
    const uint32_t q = read_predicate(c, o, 5);
    write_predicate(c, o.r[1], o.mod.combine == isa::Combine::and_ ? some & q : some | q, mask);
}

template <class T, unsigned fraction_bits>
void testp(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<T>(c, s.op->r[1]);
    constexpr T fraction_mask = (T{1} << fraction_bits) - 1;
    constexpr T most = static_cast<T>(~T{0}) >> 1 >> fraction_bits;
    const isa::Test test = s.op->mod.test;
    uint32_t out = 0;
    each_lane(mask, [&](unsigned l) {
        const T exponent = a[l] >> fraction_bits & most;
        const T fraction = a[l] & fraction_mask;
        const bool finite = exponent != most;
        const bool nan = !finite && fraction != 0;
        const bool subnormal = exponent == 0 && fraction != 0;
        bool yes = false;
        switch (test) {
            case isa::Test::finite:
                yes = finite;
                break;
            case isa::Test::infinite:
                yes = !finite && !nan;
                break;
            case isa::Test::number:
                yes = !nan;
                break;
            case isa::Test::notanumber:
                yes = nan;
                break;
            case isa::Test::normal:  // zeros too
                yes = finite && !subnormal;
                break;
            default:
                yes = subnormal;
        }
        out |= uint32_t{yes} << l;
    });
    write_predicate(c, s.op->r[0], out, mask);
}

}  // namespace

Handler pair_add(const Operation&) { return pairs<uint16_t, add_op>; }
Handler pair_min(const Operation& o) {
    if (o.mod.type[0] == Type::u16x2) return pairs<uint16_t, min_op>;
    return o.mod.relu ? pairs<int16_t, min_relu_op> : pairs<int16_t, min_op>;
}
Handler pair_max(const Operation& o) {
    if (o.mod.type[0] == Type::u16x2) return pairs<uint16_t, max_op>;
    return o.mod.relu ? pairs<int16_t, max_relu_op> : pairs<int16_t, max_op>;
}
Handler relu_min(const Operation&) { return relu_s32<min_relu_op>; }
Handler relu_max(const Operation&) { return relu_s32<max_relu_op>; }
Handler mul24_handler(const Operation& o) { return of_24_bits_handler<false>(o.mod); }
Handler mad24_handler(const Operation& o) { return of_24_bits_handler<true>(o.mod); }
Handler bmsk_handler(const Operation& o) { return o.mod.wrap ? bmsk<true> : bmsk<false>; }
Handler szext_handler(const Operation& o) {
    const bool wrap = o.mod.wrap;
    if (isa::is_signed(o.mod.type[0])) return wrap ? szext<true, true> : szext<true, false>;
    return wrap ? szext<false, true> : szext<false, false>;
}
Handler fns_handler(const Operation&) { return fns; }
Handler lop3_handler(const Operation&) { return lop3; }
Handler testp_handler(const Operation& o) {
    return o.mod.type[0] == Type::f64 ? testp<uint64_t, 52> : testp<uint32_t, 23>;
}

}  // namespace lockwarp::exec
