// SPDX-License-Identifier: Apache-2.0
// The video instructions: arithmetic on bytes, halves and words that operands select, as one value
// or as two or four side by side, and what is done with the result. PTX manual, "Scalar Video
// Instructions", "SIMD Video Instructions".
#include <algorithm>

#include "emu/exec/families.hpp"
#include "emu/isa/video.hpp"

namespace lockwarp::exec {

namespace {

using isa::Reduce;

// Holds what values of up to 32 bits of either sign give, shifted left by 32 or multiplied.
using Wide = __int128;

constexpr auto add_op = [](int64_t a, int64_t b) { return a + b; };
constexpr auto sub_op = [](int64_t a, int64_t b) { return a - b; };
constexpr auto absdiff_op = [](int64_t a, int64_t b) { return a < b ? b - a : a - b; };
constexpr auto min_op = [](int64_t a, int64_t b) { return std::min(a, b); };
constexpr auto max_op = [](int64_t a, int64_t b) { return std::max(a, b); };
// Half of a sum, rounded up where the sum is not negative, else down.
constexpr auto avrg_op = [](int64_t a, int64_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; };
constexpr auto shl_op = [](int64_t a, int64_t n) { return Wide{a} * (int64_t{1} << n); };
constexpr auto shr_op = [](int64_t a, int64_t n) { return a >> n; };

// `width` bits of a register from bit `at` on, extended.
int64_t extended(uint32_t value, unsigned at, unsigned width, bool is_signed) {
    const auto field = static_cast<uint32_t>(uint64_t{value} >> at << (64 - width) >> (64 - width));
    const bool negative = is_signed && (field >> (width - 1) & 1) != 0;
    return int64_t{field} - (negative ? int64_t{1} << width : 0);
}

template <class T>
T clamped(T value, unsigned width, bool is_signed) {
    const int64_t least = is_signed ? -(int64_t{1} << (width - 1)) : 0;
    const int64_t values = int64_t{1} << width;
    return std::clamp<T>(value, least, least + values - 1);
}

// The other operand of a scalar instruction: added, compared with, or merged into.
struct Finish {
    Reduce second;
    isa::VideoPart to;
    bool sat;
    bool is_signed;

    uint32_t operator()(Wide value, uint32_t other) const {
        if (sat) value = clamped(value, to.bits, is_signed);
        const Wide c = extended(other, 0, 32, is_signed);
        switch (second) {
            case Reduce::add:
                return static_cast<uint32_t>(value + c);
            case Reduce::min:
                return static_cast<uint32_t>(std::min(value, c));
            case Reduce::max:
                return static_cast<uint32_t>(std::max(value, c));
            default:
                break;
        }
        const auto ones = static_cast<uint32_t>((uint64_t{1} << to.bits) - 1);
        return (static_cast<uint32_t>(value) & ones) << to.at | (other & ~(ones << to.at));
    }
};

// f(value of a, value of b) of each lane, finished.
template <class F>
void each_scalar(Context& c, const Step& s, uint32_t mask, bool signed_d, unsigned first_type,
                 F f) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* b = slot<uint32_t>(c, o.r[2]);
    const auto* e = o.operands > 3 ? slot<uint32_t>(c, o.r[3]) : a;
    const auto of_a = isa::video_part(o.select[1]);
    const auto of_b = isa::video_part(o.select[2]);
    const bool signed_a = isa::is_signed(o.mod.type[first_type]);
    const bool signed_b = isa::is_signed(o.mod.type[first_type + 1]);
    const Finish finish{o.mod.reduce, isa::video_part(o.select[0]), o.mod.sat, signed_d};
    for_lanes(mask, [&](unsigned l) {
        const int64_t x = extended(a[l], of_a.at, of_a.bits, signed_a);
        const int64_t y = extended(b[l], of_b.at, of_b.bits, signed_b);
        d[l] = finish(f(x, y), e[l]);
    });
}

template <auto F>
void scalar(Context& c, const Step& s, uint32_t mask) {
    each_scalar(c, s, mask, isa::is_signed(s.op->mod.type[0]), 1, F);
}

template <auto F>
void shift(Context& c, const Step& s, uint32_t mask) {
    const bool wrap = s.op->mod.wrap;
    each_scalar(c, s, mask, isa::is_signed(s.op->mod.type[0]), 1, [&](int64_t a, int64_t n) {
        return F(a, wrap ? n & 31 : std::min<int64_t>(n, 32));
    });
}

bool holds(isa::Compare how, int64_t a, int64_t b) {
    switch (how) {
        case isa::Compare::eq:
            return a == b;
        case isa::Compare::ne:
            return a != b;
        case isa::Compare::lt:
            return a < b;
        case isa::Compare::le:
            return a <= b;
        case isa::Compare::gt:
            return a > b;
        default:
            return a >= b;
    }
}

// The result and the third operand are unsigned, whatever the types that are compared.
void vset(Context& c, const Step& s, uint32_t mask) {
    const isa::Compare how = s.op->mod.compare;
    each_scalar(c, s, mask, false, 0,
                [&](int64_t a, int64_t b) -> int64_t { return holds(how, a, b) ? 1 : 0; });
}

// a*b + c, of which the product or c may be negated, or 1 added (.po); then shifted (.shr7,
// .shr15). It is signed where a factor is or something is negated.
void vmad(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* b = slot<uint32_t>(c, o.r[2]);
    const auto* e = slot<uint32_t>(c, o.r[3]);
    const auto of_a = isa::video_part(o.select[1]);
    const auto of_b = isa::video_part(o.select[2]);
    const bool signed_a = isa::is_signed(o.mod.type[1]);
    const bool signed_b = isa::is_signed(o.mod.type[2]);
    const auto negated = [&](unsigned n) { return (o.negated_sources >> n & 1) != 0; };
    const bool minus_product = negated(1) != negated(2);
    const bool minus_c = negated(3);
    const bool is_signed = signed_a || signed_b || minus_product || minus_c;
    for_lanes(mask, [&](unsigned l) {
        Wide sum = Wide{extended(a[l], of_a.at, of_a.bits, signed_a)} *
                   extended(b[l], of_b.at, of_b.bits, signed_b);
        const int64_t third = extended(e[l], 0, 32, is_signed);
        if (minus_product) sum = -sum;
        sum += minus_c ? -third : third;
        if (o.mod.plus_one) sum += 1;
        sum >>= o.mod.shift_right;
        const auto result = static_cast<int64_t>(sum);
        d[l] = static_cast<uint32_t>(o.mod.sat ? clamped(result, 32, is_signed) : result);
    });
}

// Two or four results side by side: into the elements of d that its mask names, the others being
// c's, or all added to c.
template <unsigned lanes, class F>
void each_element(Context& c, const Step& s, uint32_t mask, bool signed_d, unsigned first_type,
                  F f) {
    const Operation& o = *s.op;
    constexpr unsigned width = 32 / lanes;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* b = slot<uint32_t>(c, o.r[2]);
    const auto* e = slot<uint32_t>(c, o.r[3]);
    const bool signed_a = isa::is_signed(o.mod.type[first_type]);
    const bool signed_b = isa::is_signed(o.mod.type[first_type + 1]);
    const bool accumulates = o.mod.reduce == Reduce::add;
    constexpr uint32_t ones = (1u << width) - 1;
    for_lanes(mask, [&](unsigned l) {
        const auto element = [&](uint16_t select, unsigned i, bool is_signed) {
            const unsigned which = select >> (4 * i) & 15;
            return extended(which < lanes ? a[l] : b[l], which % lanes * width, width, is_signed);
        };
        uint32_t out = e[l];
        for (unsigned i = 0; i < lanes; ++i) {
            if ((o.select[0] >> i & 1) == 0) continue;
            int64_t value = f(element(o.select[1], i, signed_a), element(o.select[2], i, signed_b));
            if (o.mod.sat) value = clamped(value, width, signed_d);
            const auto bits = static_cast<uint32_t>(value);
            out = accumulates ? out + bits
                              : (out & ~(ones << (i * width))) | (bits & ones) << (i * width);
        }
        d[l] = out;
    });
}

template <unsigned lanes, auto F>
void simd(Context& c, const Step& s, uint32_t mask) {
    each_element<lanes>(c, s, mask, isa::is_signed(s.op->mod.type[0]), 1, F);
}

template <unsigned lanes>
void simd_set(Context& c, const Step& s, uint32_t mask) {
    const isa::Compare how = s.op->mod.compare;
    each_element<lanes>(c, s, mask, false, 0,
                        [&](int64_t a, int64_t b) -> int64_t { return holds(how, a, b) ? 1 : 0; });
}

}  // namespace

Handler vadd_handler(const Operation&) { return scalar<add_op>; }
Handler vsub_handler(const Operation&) { return scalar<sub_op>; }
Handler vabsdiff_handler(const Operation&) { return scalar<absdiff_op>; }
Handler vmin_handler(const Operation&) { return scalar<min_op>; }
Handler vmax_handler(const Operation&) { return scalar<max_op>; }
Handler vshl_handler(const Operation&) { return shift<shl_op>; }
Handler vshr_handler(const Operation&) { return shift<shr_op>; }
Handler vset_handler(const Operation&) { return vset; }
Handler vmad_handler(const Operation&) { return vmad; }

Handler vadd2_handler(const Operation&) { return simd<2, add_op>; }
Handler vsub2_handler(const Operation&) { return simd<2, sub_op>; }
Handler vavrg2_handler(const Operation&) { return simd<2, avrg_op>; }
Handler vabsdiff2_handler(const Operation&) { return simd<2, absdiff_op>; }
Handler vmin2_handler(const Operation&) { return simd<2, min_op>; }
Handler vmax2_handler(const Operation&) { return simd<2, max_op>; }
Handler vset2_handler(const Operation&) { return simd_set<2>; }
Handler vadd4_handler(const Operation&) { return simd<4, add_op>; }
Handler vsub4_handler(const Operation&) { return simd<4, sub_op>; }
Handler vavrg4_handler(const Operation&) { return simd<4, avrg_op>; }
Handler vabsdiff4_handler(const Operation&) { return simd<4, absdiff_op>; }
Handler vmin4_handler(const Operation&) { return simd<4, min_op>; }
Handler vmax4_handler(const Operation&) { return simd<4, max_op>; }
Handler vset4_handler(const Operation&) { return simd_set<4>; }

}  // namespace lockwarp::exec
