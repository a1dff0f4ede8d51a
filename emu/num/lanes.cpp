// SPDX-License-Identifier: Apache-2.0
#include "emu/num/lanes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "emu/num/digest.hpp"
#include "emu/num/ieee.hpp"

// Highway compiles what stands between here and HWY_ONCE once for each set of vector instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/num/lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lockwarp::num {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using isa::Type;

constexpr size_t warp_lanes = 32;

using F32 = hn::CappedTag<float, 16>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;

// A subnormal as the zero of its sign.
hn::Vec<U32> flushed(hn::Vec<U32> x) {
    const auto is_zero = hn::Eq(hn::And(x, hn::Set(U32(), 0x7f800000)), hn::Zero(U32()));
    return hn::IfThenElse(is_zero, hn::And(x, hn::Set(U32(), 0x80000000)), x);
}

hn::Vec<F32> load(const uint32_t* from) { return hn::BitCast(F32(), hn::Load(U32(), from)); }

hn::Vec<F32> operand(const uint32_t* from, bool ftz) {
    const auto x = hn::Load(U32(), from);
    return hn::BitCast(F32(), ftz ? flushed(x) : x);
}

// With the canonical NaN for every NaN.
void store_canonical(hn::Vec<F32> x, uint32_t* to) {
    const auto nan = hn::Set(U32(), static_cast<uint32_t>(format(Type::f32).nan));
    const auto bits = hn::BitCast(U32(), x);
    hn::Store(hn::IfThenElse(hn::RebindMask(U32(), hn::IsNaN(x)), nan, bits), U32(), to);
}

// each(i) is the result of the lanes from i on, subnormals kept; soft(i), that of one lane as the
// soft float has it. With ftz a result is flushed that would be below the normal numbers if its
// exponent had no end: one that has come to the smallest of them may be such a result.
template <class Each, class Soft>
HWY_INLINE void each_f32(uint32_t* d, bool ftz, Each each, Soft soft) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32())) {
        auto x = each(i);
        if (ftz) {
            const auto bits = hn::BitCast(U32(), x);
            const auto magnitude = hn::And(bits, hn::Set(U32(), 0x7fffffff));
            if (!hn::AllFalse(U32(), hn::Eq(magnitude, hn::Set(U32(), 0x00800000)))) {
                for (size_t j = i; j < i + hn::Lanes(F32()); ++j) d[j] = soft(j);
                continue;
            }
            x = hn::BitCast(F32(), flushed(bits));
        }
        store_canonical(x, d + i);
    }
}

template <auto F>
auto soft_f32(const uint32_t* a, const uint32_t* b, bool ftz) {
    return [=](size_t i) {
        return static_cast<uint32_t>(F(Type::f32, a[i], b[i], Rounding::rn, {.ftz = ftz}));
    };
}

void AddF32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    const auto each = [=](size_t i)
                          HWY_ATTR { return hn::Add(operand(a + i, ftz), operand(b + i, ftz)); };
    each_f32(d, ftz, each, soft_f32<num::add>(a, b, ftz));
}

void SubF32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    const auto each = [=](size_t i)
                          HWY_ATTR { return hn::Sub(operand(a + i, ftz), operand(b + i, ftz)); };
    each_f32(d, ftz, each, soft_f32<num::sub>(a, b, ftz));
}

void MulF32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    const auto each = [=](size_t i)
                          HWY_ATTR { return hn::Mul(operand(a + i, ftz), operand(b + i, ftz)); };
    each_f32(d, ftz, each, soft_f32<num::mul>(a, b, ftz));
}

void DivF32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    const auto each = [=](size_t i)
                          HWY_ATTR { return hn::Div(operand(a + i, ftz), operand(b + i, ftz)); };
    each_f32(d, ftz, each, soft_f32<num::div>(a, b, ftz));
}

// No root is subnormal.
void SqrtF32(const uint32_t* a, uint32_t* d, bool ftz) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32()))
        store_canonical(hn::Sqrt(operand(a + i, ftz)), d + i);
}

void FmaF32(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d, bool ftz) {
    const auto soft = [=](size_t i) {
        return static_cast<uint32_t>(
            num::fma(Type::f32, a[i], b[i], c[i], Rounding::rn, {.ftz = ftz}));
    };
#if HWY_NATIVE_FMA
    const auto each = [=](size_t i) HWY_ATTR {
        return hn::MulAdd(operand(a + i, ftz), operand(b + i, ftz), operand(c + i, ftz));
    };
    each_f32(d, ftz, each, soft);
#else
    for (size_t i = 0; i < warp_lanes; ++i) d[i] = soft(i);
#endif
}

void Digest(const uint32_t* values, uint32_t salt, uint32_t* first, uint32_t* second) {
    const U32 tag;
    const auto step = [&](hn::Vec<U32> x, size_t which, uint32_t* state) {
        const auto m = hn::Set(tag, digest_multiplier[which]);
        const auto y = hn::Mul(hn::Xor(hn::Load(tag, state), x), m);
        const auto down = hn::ShiftRightSame(y, static_cast<int>(digest_shift[which]));
        hn::Store(hn::Xor(y, down), tag, state);
    };
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(tag)) {
        const auto x = hn::Xor(hn::Load(tag, values + i), hn::Set(tag, salt));
        step(x, 0, first + i);
        step(hn::RotateRight<32 - digest_turn>(x), 1, second + i);
    }
}

#if HWY_HAVE_FLOAT64
using F64 = hn::CappedTag<double, 8>;
using U64 = hn::RebindToUnsigned<F64>;

hn::Vec<F64> load(const uint64_t* from) { return hn::BitCast(F64(), hn::Load(U64(), from)); }

template <class Each, class Soft>
HWY_INLINE void each_f64(uint64_t* d, Each each, Soft soft) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F64())) {
        const auto x = each(i);
        if (hn::AllFalse(F64(), hn::IsNaN(x)))
            hn::Store(hn::BitCast(U64(), x), U64(), d + i);
        else
            for (size_t j = i; j < i + hn::Lanes(F64()); ++j) d[j] = soft(j);
    }
}
#else
template <class Each, class Soft>
void each_f64(uint64_t* d, Each, Soft soft) {
    for (size_t i = 0; i < warp_lanes; ++i) d[i] = soft(i);
}
#endif

template <auto F>
auto soft_f64(const uint64_t* a, const uint64_t* b) {
    return [=](size_t i) { return F(Type::f64, a[i], b[i], Rounding::rn, {}); };
}

void AddF64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    const auto each = [=](size_t i) HWY_ATTR { return hn::Add(load(a + i), load(b + i)); };
    each_f64(d, each, soft_f64<num::add>(a, b));
}

void SubF64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    const auto each = [=](size_t i) HWY_ATTR { return hn::Sub(load(a + i), load(b + i)); };
    each_f64(d, each, soft_f64<num::sub>(a, b));
}

void MulF64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    const auto each = [=](size_t i) HWY_ATTR { return hn::Mul(load(a + i), load(b + i)); };
    each_f64(d, each, soft_f64<num::mul>(a, b));
}

void DivF64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    const auto each = [=](size_t i) HWY_ATTR { return hn::Div(load(a + i), load(b + i)); };
    each_f64(d, each, soft_f64<num::div>(a, b));
}

void FmaF64(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const auto soft = [=](size_t i) { return num::fma(Type::f64, a[i], b[i], c[i], Rounding::rn); };
#if HWY_NATIVE_FMA
    const auto each = [=](size_t i)
                          HWY_ATTR { return hn::MulAdd(load(a + i), load(b + i), load(c + i)); };
    each_f64(d, each, soft);
#else
    for (size_t i = 0; i < warp_lanes; ++i) d[i] = soft(i);
#endif
}

// A chain of fused multiply-adds in ascending k for each element. A NaN stays in its chain to the
// end, where it is seen.
bool ChainTile(const Tile<uint64_t>& tile) {
#if HWY_NATIVE_FMA
    auto nan = hn::FirstN(F64(), 0);
    for (int j = 0; j < tile.columns; ++j)
        for (size_t i = 0; i < tile_rows; i += hn::Lanes(F64())) {
            uint64_t* at = tile.d + j * tile_rows + i;
            auto x = load(at);
            for (int k = 0; k < tile.k; ++k) {
                const auto b = hn::Set(F64(), std::bit_cast<double>(tile.b[k * tile_columns + j]));
                x = hn::MulAdd(load(tile.a + k * tile_rows + i), b, x);
            }
            nan = hn::Or(nan, hn::IsNaN(x));
            hn::Store(hn::BitCast(U64(), x), U64(), at);
        }
    return hn::AllFalse(F64(), nan);
#else
    (void)tile;
    return false;
#endif
}

using VI = hn::Vec<I32>;

// A zero's exponent: below every sum of others even after one more is added.
constexpr int32_t zero_marker = -8192;

constexpr int f32_bias = 127;
constexpr int f32_fraction_bits = 23;

// 2^(field - bias)
HWY_INLINE hn::Vec<F32> power_of(VI field) {
    return hn::BitCast(F32(), hn::ShiftLeft<f32_fraction_bits>(field));
}

// What taking elements of a format apart needs, as vectors.
struct Format {
    explicit Format(const FormatRow& f)
        : low_zeros(f.low_zeros),
          fraction_bits(f.fraction_bits),
          above(32 - static_cast<int>(isa::bits(f.type))),
          without_sign(hn::Set(I32(), static_cast<int32_t>(sign_bit(f) - 1))),
          fraction(hn::Set(I32(), (1 << f.fraction_bits) - 1)),
          one(hn::Set(I32(), 1 << f.fraction_bits)),
          bias(hn::Set(I32(), num::bias(f))),
          largest(hn::Set(I32(), static_cast<int32_t>(largest_magnitude(f)))) {}

    // Without sign and low zeros.
    HWY_INLINE VI magnitude(VI bits) const {
        return hn::ShiftRightSame(hn::And(bits, without_sign), low_zeros);
    }
    // The sign, and 0 below.
    HWY_INLINE VI sign(VI bits) const {
        return hn::And(hn::ShiftLeftSame(bits, above), hn::Set(I32(), INT32_MIN));
    }
    // Of the field; a subnormal has its format's smallest.
    HWY_INLINE VI exponent(VI magnitude) const {
        const auto field = hn::ShiftRightSame(magnitude, fraction_bits);
        const auto of_field = hn::Sub(hn::Max(field, hn::Set(I32(), 1)), bias);
        const auto zero = hn::Eq(magnitude, hn::Zero(I32()));
        return hn::IfThenElse(zero, hn::Set(I32(), zero_marker), of_field);
    }
    HWY_INLINE VI significand(VI magnitude) const {
        const auto normal = hn::Gt(magnitude, fraction);
        return hn::Or(hn::And(magnitude, fraction), hn::IfThenElseZero(normal, one));
    }

    int low_zeros, fraction_bits, above;
    VI without_sign, fraction, one, bias, largest;
};

// round_pack for sums of two halves, for rz and rn, on vectors of 64-bit values. The sum is exact
// as a double, so that the double's fields give its leading place.
void round_sums(const FusedSum& sum, const FormatRow& f, const int32_t* half0, const int32_t* half1,
                const int32_t* largest, uint32_t* d, size_t count) {
    const hn::CappedTag<int64_t, 8> d64;
    const hn::Rebind<double, decltype(d64)> df;
    const hn::Rebind<int32_t, decltype(d64)> d32;
    const hn::Rebind<uint32_t, decltype(d64)> du32;
    const hn::RebindToUnsigned<decltype(d64)> du64;
    constexpr int double_bias = 1023;
    constexpr int double_fraction = 52;
    for (size_t i = 0; i < count; i += hn::Lanes(d64)) {
        const auto x = hn::Add(hn::PromoteTo(df, hn::Load(d32, half0 + i)),
                               hn::PromoteTo(df, hn::Load(d32, half1 + i)));
        // 2^(largest - fraction)
        const auto power = hn::Add(hn::PromoteTo(d64, hn::Load(d32, largest + i)),
                                   hn::Set(d64, double_bias - sum.fraction));
        const auto scale = hn::BitCast(df, hn::ShiftLeft<double_fraction>(power));
        const auto bits = hn::BitCast(du64, hn::Mul(x, scale));

        const auto magnitude = hn::And(bits, hn::Set(du64, ~uint64_t{0} >> 1));
        const auto field = hn::BitCast(d64, hn::ShiftRight<double_fraction>(magnitude));
        const auto hidden = hn::Set(du64, uint64_t{1} << double_fraction);
        const auto fraction = hn::And(magnitude, hn::Sub(hidden, hn::Set(du64, 1)));
        const auto significand = hn::Or(fraction, hidden);

        const auto lowest = hn::Set(d64, min_exponent(f) + double_bias);
        const auto step = hn::Max(field, lowest);
        const auto deeper = hn::Sub(step, field);
        const auto drop = hn::BitCast(
            du64, hn::Min(hn::Add(deeper, hn::Set(d64, double_fraction - f.fraction_bits)),
                          hn::Set(d64, 62)));
        auto rounded = significand;
        if (sum.rounding == Rounding::rn) {
            const auto one = hn::Set(du64, 1);
            const auto odd = hn::And(hn::Shr(significand, drop), one);
            const auto half = hn::Shl(one, hn::Sub(drop, one));
            rounded = hn::Add(significand, hn::Add(hn::Sub(half, one), odd));
        }
        const auto quotient = hn::Shr(rounded, drop);
        const auto steps = hn::BitCast(du64, hn::Sub(step, lowest));
        const auto packed = hn::Add(hn::ShiftLeftSame(steps, f.fraction_bits), quotient);
        const auto infinity = hn::Set(du64, infinity_magnitude(f));
        const auto finite =
            hn::BitCast(du64, hn::Min(hn::BitCast(d64, packed), hn::BitCast(d64, infinity)));
        const auto sign =
            hn::ShiftLeftSame(hn::ShiftRight<63>(bits), static_cast<int>(isa::bits(f.type)) - 1);
        const auto is_zero = hn::Eq(finite, hn::Zero(du64));
        const auto result = hn::IfThenZeroElse(is_zero, hn::Or(finite, sign));
        hn::Store(hn::TruncateTo(du32, result), du32, d + i);
    }
}

// The same for an f32 result rounded toward zero, by the host's double and float: a sum cut to 24
// bits is a float, unless it would be subnormal. false: one is.
HWY_INLINE bool round_to_f32(int fraction, VI half0, VI half1, VI largest, VI& d) {
#if HWY_TARGET == HWY_SCALAR
    (void)fraction, (void)half0, (void)half1, (void)largest, (void)d;
    return false;
#else
    const I32 di;
    const hn::Half<I32> d32;
    const hn::Rebind<int64_t, decltype(d32)> d64;
    const hn::Rebind<double, decltype(d32)> df;
    constexpr int double_bias = 1023;
    constexpr int double_fraction = 52;
    const auto kept = hn::Set(d64, -(int64_t{1} << (double_fraction - f32_fraction_bits)));
    const auto smallest =
        hn::Set(df, std::bit_cast<double>(uint64_t{double_bias - f32_bias + 1} << double_fraction));
    const auto bias = hn::Set(d64, double_bias - fraction);
    auto good = hn::FirstN(df, hn::Lanes(df));
    const auto of_half = [&](auto sum0, auto sum1, auto exponent) HWY_ATTR {
        const auto x = hn::Add(hn::PromoteTo(df, sum0), hn::PromoteTo(df, sum1));
        const auto power = hn::Add(hn::PromoteTo(d64, exponent), bias);
        const auto scale = hn::BitCast(df, hn::ShiftLeft<double_fraction>(power));
        const auto cut = hn::BitCast(df, hn::And(hn::BitCast(d64, x), kept));
        const auto y = hn::Mul(cut, scale);
        good = hn::And(good, hn::Or(hn::Eq(y, hn::Zero(df)), hn::Ge(hn::Abs(y), smallest)));
        return hn::BitCast(d32, hn::DemoteTo(hn::Rebind<float, decltype(d32)>(), y));
    };
    const auto low =
        of_half(hn::LowerHalf(d32, half0), hn::LowerHalf(d32, half1), hn::LowerHalf(d32, largest));
    const auto high =
        of_half(hn::UpperHalf(d32, half0), hn::UpperHalf(d32, half1), hn::UpperHalf(d32, largest));
    d = hn::Combine(di, high, low);
    return hn::AllTrue(df, good);
#endif
}

// Toward zero. ConvertTo looks after numbers beyond an int32 as well, and here there are none.
HWY_INLINE VI to_integer(hn::Vec<F32> x) {
#if HWY_TARGET == HWY_AVX2
    return VI{_mm256_cvttps_epi32(x.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    return VI{_mm512_cvttps_epi32(x.raw)};
#else
    return hn::ConvertTo(I32(), x);
#endif
}

// The rows of A or the columns of B, taken apart: [k][tile_rows].
struct Side {
    // The significand as a number below 2; where `narrow`, the element itself.
    alignas(64) std::array<float, tile_k * tile_rows> value;
    alignas(64) std::array<int32_t, tile_k * tile_rows> exponent;
    alignas(64) std::array<int32_t, tile_k * tile_rows> zero;  // block by block: -1, it has a zero

    // false: an element is infinite or NaN.
    bool set(const FormatRow& row, bool narrow, const uint32_t* words, int k, int block) {
        const I32 di;
        const Format f(row);
        const auto power = power_of(
            hn::Set(di, narrow ? 2 * f32_bias - num::bias(row) : f32_bias - row.fraction_bits));
        const int up = f32_fraction_bits - row.fraction_bits;
        auto most = hn::Zero(di);
        for (size_t i = 0; i < tile_rows; i += hn::Lanes(di)) {
            size_t at = i;
            size_t of_block = i;
            for (int from = 0; from < k; from += block) {
                auto zeros = hn::Zero(di);
                const int to = std::min(k, from + block);
                for (int n = from; n < to; ++n, at += tile_rows) {
                    const auto bits = hn::BitCast(di, hn::Load(U32(), words + at));
                    const auto magnitude = f.magnitude(bits);
                    const auto number = narrow
                                            ? hn::BitCast(F32(), hn::ShiftLeftSame(magnitude, up))
                                            : hn::ConvertTo(F32(), f.significand(magnitude));
                    const auto scaled = hn::BitCast(di, hn::Mul(number, power));
                    hn::Store(hn::BitCast(F32(), hn::Or(scaled, f.sign(bits))), F32(), &value[at]);
                    hn::Store(f.exponent(magnitude), di, &exponent[at]);
                    zeros = hn::Or(zeros, hn::VecFromMask(di, hn::Eq(magnitude, hn::Zero(di))));
                    most = hn::Max(most, magnitude);
                }
                hn::Store(zeros, di, &zero[of_block]);
                of_block += tile_rows;
            }
        }
        return hn::AllFalse(di, hn::Gt(most, f.largest));
    }
};

// A product of two significands is exact as an f32, has_fused_tile says, and scaled by a power of
// two it stays so, or is far below 1, the unit that terms are cut to. Where products are themselves
// f32 (`narrow`), one power does for all of a sum: their exponents take less than half of f32's,
// and what a sum keeps below them has room in the rest.
bool narrow(const FormatRow& a, const FormatRow& b) {
    return std::max(a.exponent_bits, b.exponent_bits) < num::format(isa::Type::f32).exponent_bits;
}
static_assert(
    [] {
        for (const FormatRow& f : format_rows)
            if (f.exponent_bits < num::format(isa::Type::f32).exponent_bits &&
                (bias(f) > f32_bias / 4 || f.fraction_bits >= f32_bias / 8))
                return false;
        return true;
    }(),
    "a format has the exponents of f32, or few");

bool FusedTile(const FusedSum& sum_rules, MatrixTypes types, const Tile<uint32_t>& tile) {
    const I32 di;
    const F32 df;
    const size_t lanes = hn::Lanes(di);
    const FusedSum sum = sum_rules;
    const FormatRow& d_row = format(types.d);
    const Format d_format(d_row);
    const bool is_narrow = narrow(format(types.a), format(types.b));
    const int c_lift = sum.fraction - d_row.fraction_bits;
    const bool to_f32 = sum.rounding == Rounding::rz;
    const auto zero_exponent = hn::Set(di, sum.zero_exponent);
    const auto unit = hn::Set(di, sum.fraction + f32_bias);
    const auto largest_field = hn::Set(di, 2 * f32_bias);

    Side a;
    Side b;
    if (!a.set(format(types.a), is_narrow, tile.a, tile.k, sum.block) ||
        !b.set(format(types.b), is_narrow, tile.b, tile.k, sum.block))
        return false;

    auto max_c = hn::Zero(di);
    for (int j = 0; j < tile.columns; ++j)
        for (size_t i = 0; i < tile_rows; i += lanes) {
            uint32_t* const d = tile.d + j * tile_rows + i;
            auto c = hn::BitCast(di, hn::Load(U32(), d));
            size_t of_block = 0;
            for (int from = 0; from < tile.k; from += sum.block, of_block += tile_rows) {
                const int count = std::min<int>(tile.k - from, sum.block);
                const float* const x = a.value.data() + from * tile_rows + i;
                const float* const y = b.value.data() + from * tile_rows + j;
                const int32_t* const x_exponent = a.exponent.data() + from * tile_rows + i;
                const int32_t* const y_exponent = b.exponent.data() + from * tile_rows + j;
                const auto exponent_at = [&](int k) HWY_ATTR {
                    return hn::Add(hn::Load(di, x_exponent + k * tile_rows),
                                   hn::Set(di, y_exponent[k * tile_rows]));
                };
                const auto product_at = [&](int k) HWY_ATTR {
                    return hn::Mul(hn::Load(df, x + k * tile_rows), hn::Set(df, y[k * tile_rows]));
                };
                auto highest = exponent_at(0);
                for (int k = 1; k < count; ++k) highest = hn::Max(highest, exponent_at(k));

                const auto c_magnitude = d_format.magnitude(c);
                max_c = hn::Max(max_c, c_magnitude);
                const auto c_exponent = d_format.exponent(c_magnitude);
                const auto zero_factor = hn::Or(hn::Load(di, a.zero.data() + of_block + i),
                                                hn::Set(di, b.zero[of_block + j]));
                const auto zero =
                    hn::Or(hn::MaskFromVec(zero_factor), hn::Eq(c_magnitude, hn::Zero(di)));
                highest = hn::Max(highest, c_exponent);
                highest = hn::Max(highest, hn::IfThenElse(zero, zero_exponent, highest));

                const auto field = hn::Sub(unit, highest);
                // Beyond the largest power only where all products are zeros.
                const auto scale = power_of(hn::Min(field, largest_field));
                const auto term_at = [&](int k) HWY_ATTR {
                    if (is_narrow) return to_integer(hn::Mul(product_at(k), scale));
                    const auto own = hn::Max(hn::Add(exponent_at(k), field), hn::Zero(di));
                    return to_integer(hn::Mul(product_at(k), power_of(own)));
                };
                const auto c_term =
                    hn::Shr(hn::ShiftLeftSame(d_format.significand(c_magnitude), c_lift),
                            hn::Min(hn::Sub(highest, c_exponent), hn::Set(di, 31)));
                const auto c_sign = hn::BroadcastSignBit(d_format.sign(c));
                auto sum0 = hn::Sub(hn::Xor(c_term, c_sign), c_sign);
                auto sum1 = hn::Zero(di);
                int k = 0;
                for (; k + 2 <= count; k += 2) {
                    sum0 = hn::Add(sum0, term_at(k));
                    sum1 = hn::Add(sum1, term_at(k + 1));
                }
                if (k < count) sum1 = hn::Add(sum1, term_at(k));
                if (to_f32 && round_to_f32(sum.fraction, sum0, sum1, highest, c)) continue;

                alignas(64) std::array<int32_t, tile_rows> half0;
                alignas(64) std::array<int32_t, tile_rows> half1;
                alignas(64) std::array<int32_t, tile_rows> largest;
                hn::Store(sum0, di, half0.data());
                hn::Store(sum1, di, half1.data());
                hn::Store(highest, di, largest.data());
                round_sums(sum, d_row, half0.data(), half1.data(), largest.data(), d, lanes);
                c = hn::BitCast(di, hn::Load(U32(), d));
            }
            hn::Store(hn::BitCast(U32(), c), U32(), d);
        }
    return hn::AllFalse(di, hn::Gt(max_c, d_format.largest));
}

bool PlacesIn(const Window& window, const uint64_t* addresses, uint64_t never, uint8_t** places) {
    const hn::CappedTag<uint64_t, 8> tag;
    const auto begin = hn::Set(tag, window.begin);
    const auto last = hn::Set(tag, window.last);
    const auto to = hn::Set(tag, reinterpret_cast<uintptr_t>(window.bytes));
    auto outside = hn::Zero(tag);  // in its highest bit: beyond last, a difference is negative
    auto bits = hn::Zero(tag);
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(tag)) {
        const auto address = hn::LoadU(tag, addresses + i);
        const auto offset = hn::Sub(address, begin);
        outside = hn::Or(outside, hn::Or(offset, hn::Sub(last, offset)));
        bits = hn::Or(bits, address);
        hn::StoreU(hn::Add(to, offset), tag, reinterpret_cast<uint64_t*>(places + i));
    }
    const auto bad = hn::Or(hn::ShiftRight<63>(outside), hn::And(bits, hn::Set(tag, never)));
    return hn::AllTrue(tag, hn::Eq(bad, hn::Zero(tag)));
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace lockwarp::num
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockwarp::num {

HWY_EXPORT(AddF32);
HWY_EXPORT(SubF32);
HWY_EXPORT(MulF32);
HWY_EXPORT(DivF32);
HWY_EXPORT(SqrtF32);
HWY_EXPORT(FmaF32);
HWY_EXPORT(AddF64);
HWY_EXPORT(SubF64);
HWY_EXPORT(MulF64);
HWY_EXPORT(DivF64);
HWY_EXPORT(FmaF64);
HWY_EXPORT(Digest);
HWY_EXPORT(FusedTile);
HWY_EXPORT(ChainTile);
HWY_EXPORT(PlacesIn);
HWY_EXPORT(TargetName);

void add_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(AddF32)(a, b, d, ftz);
}
void sub_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(SubF32)(a, b, d, ftz);
}
void mul_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(MulF32)(a, b, d, ftz);
}
void div_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(DivF32)(a, b, d, ftz);
}
void sqrt_f32(const uint32_t* a, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(SqrtF32)(a, d, ftz);
}
void fma_f32(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d, bool ftz) {
    HWY_DYNAMIC_DISPATCH(FmaF32)(a, b, c, d, ftz);
}
void add_f64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(AddF64)(a, b, d);
}
void sub_f64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(SubF64)(a, b, d);
}
void mul_f64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(MulF64)(a, b, d);
}
void div_f64(const uint64_t* a, const uint64_t* b, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(DivF64)(a, b, d);
}
void fma_f64(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(FmaF64)(a, b, c, d);
}
void digest(const uint32_t* values, uint32_t salt, uint32_t* first, uint32_t* second) {
    HWY_DYNAMIC_DISPATCH(Digest)(values, salt, first, second);
}
bool places_in(const Window& window, const uint64_t* addresses, uint64_t never, uint8_t** places) {
    return HWY_DYNAMIC_DISPATCH(PlacesIn)(window, addresses, never, places);
}
const char* lane_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

bool has_fused_tile(const DotRow& row, MatrixTypes types) {
    if (row.method != Method::fused_blocks || types.c != types.d) return false;
    const FusedSum& sum = row.sum;
    const int lift = sum.fraction - format(types.a).fraction_bits - format(types.b).fraction_bits;
    const int c_lift = sum.fraction - format(types.d).fraction_bits;
    const bool whole_significand = sum.kept == format(types.d).fraction_bits + 1;
    // A product is below 2^(fraction + 2), and each of two 32-bit sums has half the products of a
    // block. C, which is below 2^(fraction + 1), has room beside those of one: they are that many
    // whole 2^(fraction + 2) below 2^31. Of f64 they never are.
    const int64_t half_block = (sum.block + 1) / 2;
    const int64_t bound = half_block << (sum.fraction + 2);
    const Rounding rounding = types.d == isa::Type::f32 ? Rounding::rz : Rounding::rn;
    return lift >= 0 && c_lift >= 0 && whole_significand && bound < (int64_t{1} << 31) &&
           sum.rounding == rounding;
}

bool fused_tile(const FusedSum& sum, MatrixTypes types, const Tile<uint32_t>& tile) {
    return HWY_DYNAMIC_DISPATCH(FusedTile)(sum, types, tile);
}
bool chain_tile(const Tile<uint64_t>& tile) { return HWY_DYNAMIC_DISPATCH(ChainTile)(tile); }

}  // namespace lockwarp::num
#endif  // HWY_ONCE
