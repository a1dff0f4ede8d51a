// SPDX-License-Identifier: Apache-2.0
// The video instructions: arithmetic on bytes, halves and words that operands select, as one value
// or as two or four side by side, and what is done with the result. PTX manual, "Scalar Video
// Instructions", "SIMD Video Instructions". NVIDIA's assembler makes the scalar ones of others, the
// same on every architecture, whose results are not always the manual's: docs/fidelity.md, "Video
// instructions".
#include <algorithm>

#include "emu/exec/families.hpp"
#include "emu/isa/video.hpp"

namespace lockwarp::exec {

namespace {

using isa::Reduce;

constexpr auto add_op = [](int64_t a, int64_t b) { return a + b; };
constexpr auto sub_op = [](int64_t a, int64_t b) { return a - b; };
constexpr auto absdiff_op = [](int64_t a, int64_t b) { return a < b ? b - a : a - b; };
constexpr auto min_op = [](int64_t a, int64_t b) { return std::min(a, b); };
constexpr auto max_op = [](int64_t a, int64_t b) { return std::max(a, b); };
// Half of a sum, rounded up where the sum is not negative, else down.
constexpr auto avrg_op = [](int64_t a, int64_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; };
// 64 bits; by 32 at most.
constexpr auto shl_op = [](int64_t a, int64_t n) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) << n);
};
constexpr auto shr_op = [](int64_t a, int64_t n) { return a >> n; };

// `width` bits of a register from bit `at` on, extended.
int64_t extended(uint32_t value, unsigned at, unsigned width, bool is_signed) {
    const auto field = static_cast<uint32_t>(uint64_t{value} >> at << (64 - width) >> (64 - width));
    const bool negative = is_signed && (field >> (width - 1) & 1) != 0;
    return int64_t{field} - (negative ? int64_t{1} << width : 0);
}

int64_t clamped(int64_t value, unsigned width, bool is_signed) {
    const int64_t least = is_signed ? -(int64_t{1} << (width - 1)) : 0;
    const int64_t values = int64_t{1} << width;
    return std::clamp(value, least, least + values - 1);
}

// The low `width` bits as a signed number.
int64_t low_bits(int64_t value, unsigned width) {
    const unsigned above = 64 - width;
    return static_cast<int64_t>(static_cast<uint64_t>(value) << above) >> above;
}

int64_t low_word(int64_t value) { return low_bits(value, 32); }

// What .sat makes of a result.
enum class Saturation : uint8_t {
    // For a byte or half of d: what lies outside [0, greatest] becomes the greatest. For all of d:
    // it is clamped, but what is too large for .u32 keeps its low 32 bits.
    part,
    // The result's low 34 bits are clamped to 32 bits, whatever part of d they are for.
    word,
};

// What .min and .max compare with c, in 64 bits and by d's sign.
enum class Compared : uint8_t {
    all,                // the result
    low_word,           // its low 32 bits, sign-extended
    saturated_low_word  // the same where there is .sat; else the result
};

// What the assembler does with a scalar instruction's result.
struct Rules {
    Saturation saturation;
    Compared compared;
};
constexpr Rules of_sums{Saturation::part, Compared::low_word};
constexpr Rules of_shifts{Saturation::word, Compared::saturated_low_word};
constexpr Rules of_others{Saturation::part, Compared::all};

// The result, saturated, and the other operand: added, compared with, or merged into.
struct Finish {
    Reduce second;
    isa::VideoPart to;
    bool sat;
    bool is_signed;
    Rules rules;

    int64_t saturated(int64_t value) const {
        if (rules.saturation == Saturation::word)
            return clamped(low_bits(value, 34), 32, is_signed);
        if (to.bits == 32)
            return is_signed ? clamped(value, 32, true) : std::max<int64_t>(value, 0);
        const uint64_t greatest = (uint64_t{1} << (to.bits - (is_signed ? 1 : 0))) - 1;
        return static_cast<int64_t>(std::min(static_cast<uint64_t>(value), greatest));
    }

    uint32_t operator()(int64_t value, uint32_t other) const {
        if (sat) value = saturated(value);
        const auto word = static_cast<uint32_t>(value);
        if (second == Reduce::add) return word + other;
        if (second == Reduce::none) return merged(word, other);
        if (rules.compared == Compared::low_word ||
            (rules.compared == Compared::saturated_low_word && sat))
            value = low_word(value);
        const int64_t c = extended(other, 0, 32, is_signed);
        const bool less =
            is_signed ? value < c : static_cast<uint64_t>(value) < static_cast<uint64_t>(c);
        return less == (second == Reduce::min) ? word : other;
    }

    // A byte is the word's lowest; a half is the one that stands there in the word.
    uint32_t merged(uint32_t word, uint32_t other) const {
        const auto ones = static_cast<uint32_t>(((uint64_t{1} << to.bits) - 1) << to.at);
        return ((to.bits == 8 ? word << to.at : word) & ones) | (other & ~ones);
    }
};

// f(value of a, value of b) of each lane, finished.
template <class F>
void each_scalar(Context& c, const Step& s, uint32_t mask, Rules rules, bool signed_d,
                 unsigned first_type, F f) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* b = slot<uint32_t>(c, o.r[2]);
    const auto* e = o.operands > 3 ? slot<uint32_t>(c, o.r[3]) : a;
    const auto of_a = isa::video_part(o.select[1]);
    const auto of_b = isa::video_part(o.select[2]);
    const bool signed_a = isa::is_signed(o.mod.type[first_type]);
    const bool signed_b = isa::is_signed(o.mod.type[first_type + 1]);
    const Finish finish{o.mod.reduce, isa::video_part(o.select[0]), o.mod.sat, signed_d, rules};
    for_lanes(mask, [&](unsigned l) {
        const int64_t x = extended(a[l], of_a.at, of_a.bits, signed_a);
        const int64_t y = extended(b[l], of_b.at, of_b.bits, signed_b);
        d[l] = finish(f(x, y), e[l]);
    });
}

template <auto F, Rules rules>
void scalar(Context& c, const Step& s, uint32_t mask) {
    each_scalar(c, s, mask, rules, isa::is_signed(s.op->mod.type[0]), 1, F);
}

template <auto F>
void shift(Context& c, const Step& s, uint32_t mask) {
    const bool wrap = s.op->mod.wrap;
    each_scalar(
        c, s, mask, of_shifts, isa::is_signed(s.op->mod.type[0]), 1,
        [&](int64_t a, int64_t n) { return F(a, wrap ? n & 31 : std::min<int64_t>(n, 32)); });
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

// c is of a's type.
void vset(Context& c, const Step& s, uint32_t mask) {
    const isa::Compare how = s.op->mod.compare;
    each_scalar(c, s, mask, of_others, isa::is_signed(s.op->mod.type[0]), 0,
                [&](int64_t a, int64_t b) -> int64_t { return holds(how, a, b) ? 1 : 0; });
}

// a*b + c, of which the product or c may be negated, or 1 added (.po); then shifted (.shr7,
// .shr15). A whole factor and c are signed numbers, whatever the types say; the sum is signed where
// a type is or something is negated.
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
        const int64_t product = low_word(extended(a[l], of_a.at, of_a.bits, signed_a)) *
                                low_word(extended(b[l], of_b.at, of_b.bits, signed_b));
        const int64_t third = low_word(e[l]);
        int64_t sum = minus_product ? -product : product;
        sum += minus_c ? -third : third;
        sum += o.mod.plus_one ? 1 : 0;
        sum = is_signed ? sum >> o.mod.shift_right
                        : static_cast<int64_t>(static_cast<uint64_t>(sum) >> o.mod.shift_right);
        d[l] = static_cast<uint32_t>(o.mod.sat ? clamped(sum, 32, is_signed) : sum);
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

Handler vadd_handler(const Operation&) { return scalar<add_op, of_sums>; }
Handler vsub_handler(const Operation&) { return scalar<sub_op, of_sums>; }
Handler vabsdiff_handler(const Operation&) { return scalar<absdiff_op, of_others>; }
Handler vmin_handler(const Operation&) { return scalar<min_op, of_others>; }
Handler vmax_handler(const Operation&) { return scalar<max_op, of_others>; }
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
