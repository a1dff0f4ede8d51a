// SPDX-License-Identifier: Apache-2.0
#include "emu/num/lanes.hpp"

#include <array>
#include <bit>

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

hn::Vec<F32> load(const uint32_t* from) { return hn::BitCast(F32(), hn::Load(U32(), from)); }

// With the canonical NaN for every NaN.
void store_canonical(hn::Vec<F32> x, uint32_t* to) {
    const auto nan = hn::Set(U32(), static_cast<uint32_t>(format(Type::f32).nan));
    const auto bits = hn::BitCast(U32(), x);
    hn::Store(hn::IfThenElse(hn::RebindMask(U32(), hn::IsNaN(x)), nan, bits), U32(), to);
}

void AddF32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32()))
        store_canonical(hn::Add(load(a + i), load(b + i)), d + i);
}

void SubF32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32()))
        store_canonical(hn::Sub(load(a + i), load(b + i)), d + i);
}

void MulF32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32()))
        store_canonical(hn::Mul(load(a + i), load(b + i)), d + i);
}

void FmaF32(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
#if HWY_NATIVE_FMA
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F32()))
        store_canonical(hn::MulAdd(load(a + i), load(b + i), load(c + i)), d + i);
#else
    for (size_t i = 0; i < warp_lanes; ++i)
        d[i] = static_cast<uint32_t>(num::fma(Type::f32, a[i], b[i], c[i], Rounding::rn));
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

#if HWY_NATIVE_FMA
using F64 = hn::CappedTag<double, 8>;
using U64 = hn::RebindToUnsigned<F64>;

hn::Vec<F64> load(const uint64_t* from) { return hn::BitCast(F64(), hn::Load(U64(), from)); }
#endif

void FmaF64(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const auto soft = [&](size_t i) { return num::fma(Type::f64, a[i], b[i], c[i], Rounding::rn); };
#if HWY_NATIVE_FMA
    for (size_t i = 0; i < warp_lanes; i += hn::Lanes(F64())) {
        const auto x = hn::MulAdd(load(a + i), load(b + i), load(c + i));
        if (hn::AllFalse(F64(), hn::IsNaN(x)))
            hn::Store(hn::BitCast(U64(), x), U64(), d + i);
        else
            for (size_t j = i; j < i + hn::Lanes(F64()); ++j) d[j] = soft(j);
    }
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
                const auto b = hn::Set(F64(), std::bit_cast<double>(tile.b[j * tile_k + k]));
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

// Elements taken apart as in dot.cpp: signed significand, exponent of the field.
struct Elements {
    VI significand;
    VI exponent;
};

// A zero's exponent: below every sum of others even after one more is added.
constexpr int32_t zero_marker = -8192;
constexpr int32_t zero_limit = -4096;

// `special` collects the elements that are infinite or NaN.
Elements unpack_elements(const FormatRow& f, VI bits, hn::Mask<I32>& special) {
    const I32 di;
    const auto zero = hn::Zero(di);
    const auto unsigned_bits = hn::And(bits, hn::Set(di, static_cast<int32_t>(sign_bit(f) - 1)));
    const auto magnitude = hn::ShiftRightSame(unsigned_bits, f.low_zeros);
    const auto one = hn::Set(di, 1 << f.fraction_bits);
    const auto fraction = hn::And(magnitude, hn::Set(di, (1 << f.fraction_bits) - 1));
    const auto field = hn::ShiftRightSame(magnitude, f.fraction_bits);
    special =
        hn::Or(special, hn::Gt(magnitude, hn::Set(di, static_cast<int32_t>(largest_magnitude(f)))));
    const auto normal = hn::Gt(field, zero);
    const auto significand = hn::Or(fraction, hn::IfThenElseZero(normal, one));
    const auto exponent = hn::Sub(hn::Max(field, hn::Set(di, 1)), hn::Set(di, bias(f)));
    const auto sign_place = hn::ShiftLeftSame(bits, 32 - static_cast<int>(isa::bits(f.type)));
    const auto sign = hn::BroadcastSignBit(sign_place);
    return {hn::Sub(hn::Xor(significand, sign), sign),
            hn::IfThenElse(hn::Eq(significand, zero), hn::Set(di, zero_marker), exponent)};
}

// A signed term, its magnitude shifted right.
VI truncate(VI term, VI by) {
    const I32 di;
    const auto sign = hn::BroadcastSignBit(term);
    const auto magnitude = hn::Shr(hn::Abs(term), hn::Min(by, hn::Set(di, 31)));
    return hn::Sub(hn::Xor(magnitude, sign), sign);
}

// round_pack for sums of two halves, for rz and rn, on vectors of 64-bit values. The sum is exact
// as a double, so that the double's fields give its leading place.
void round_sums(const FusedSum& sum, const FormatRow& f, const int32_t* half0, const int32_t* half1,
                const int32_t* largest, uint32_t* d) {
    const hn::CappedTag<int64_t, 8> d64;
    const hn::Rebind<double, decltype(d64)> df;
    const hn::Rebind<int32_t, decltype(d64)> d32;
    const hn::Rebind<uint32_t, decltype(d64)> du32;
    const hn::RebindToUnsigned<decltype(d64)> du64;
    constexpr int double_bias = 1023;
    constexpr int double_fraction = 52;
    for (size_t i = 0; i < tile_rows; i += hn::Lanes(d64)) {
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
        const auto deeper = hn::Min(hn::Sub(step, field), hn::Set(d64, 62));
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

bool FusedTile(const FusedSum& sum, MatrixTypes types, const Tile<uint32_t>& tile) {
    const I32 di;
    const size_t lanes = hn::Lanes(di);
    const FormatRow& a_format = format(types.a);
    const FormatRow& b_format = format(types.b);
    const FormatRow& d_format = format(types.d);
    const int lift = sum.fraction - a_format.fraction_bits - b_format.fraction_bits;
    const int c_lift = sum.fraction - d_format.fraction_bits;
    const auto zero_exponent = hn::Set(di, sum.zero_exponent);
    const auto limit = hn::Set(di, zero_limit);
    auto special = hn::FirstN(di, 0);
    const auto bits_at = [&](const uint32_t* from) {
        return hn::BitCast(di, hn::Load(U32(), from));
    };

    alignas(64) std::array<int32_t, tile_k * tile_rows> a_significand;
    alignas(64) std::array<int32_t, tile_k * tile_rows> a_exponent;
    for (size_t at = 0; at < static_cast<size_t>(tile.k) * tile_rows; at += lanes) {
        const Elements x = unpack_elements(a_format, bits_at(tile.a + at), special);
        hn::Store(x.significand, di, &a_significand[at]);
        hn::Store(x.exponent, di, &a_exponent[at]);
    }

    alignas(64) std::array<int32_t, tile_k> b_significand;
    alignas(64) std::array<int32_t, tile_k> b_exponent;
    alignas(64) std::array<int32_t, tile_rows> half0;
    alignas(64) std::array<int32_t, tile_rows> half1;
    alignas(64) std::array<int32_t, tile_rows> largest;
    for (int j = 0; j < tile.columns; ++j) {
        for (size_t at = 0; at < static_cast<size_t>(tile.k); at += lanes) {
            const Elements y =
                unpack_elements(b_format, bits_at(tile.b + j * tile_k + at), special);
            hn::Store(hn::ShiftLeftSame(y.significand, lift), di, &b_significand[at]);
            hn::Store(y.exponent, di, &b_exponent[at]);
        }
        uint32_t* d = tile.d + j * tile_rows;
        for (int from = 0; from < tile.k; from += sum.block) {
            const int to = std::min(tile.k, from + sum.block);
            for (size_t i = 0; i < tile_rows; i += lanes) {
                const int32_t* significand = a_significand.data() + i;
                const int32_t* exponent = a_exponent.data() + i;
                const auto exponent_at = [&](int k) {
                    return hn::Add(hn::Load(di, exponent + k * tile_rows),
                                   hn::Set(di, b_exponent[k]));
                };
                const auto product_at = [&](int k) {
                    return hn::Mul(hn::Load(di, significand + k * tile_rows),
                                   hn::Set(di, b_significand[k]));
                };
                const Elements c = unpack_elements(d_format, bits_at(d + i), special);
                auto highest = c.exponent;
                auto lowest = c.exponent;
                for (int k = from; k < to; ++k) {
                    const auto e = exponent_at(k);
                    highest = hn::Max(highest, e);
                    lowest = hn::Min(lowest, e);
                }
                highest =
                    hn::Max(highest, hn::IfThenElse(hn::Lt(lowest, limit), zero_exponent, highest));

                const auto term_at = [&](int k) {
                    return truncate(product_at(k), hn::Sub(highest, exponent_at(k)));
                };
                auto sum0 = truncate(hn::ShiftLeftSame(c.significand, c_lift),
                                     hn::Sub(highest, c.exponent));
                auto sum1 = hn::Zero(di);
                int k = from;
                for (; k + 2 <= to; k += 2) {
                    sum0 = hn::Add(sum0, term_at(k));
                    sum1 = hn::Add(sum1, term_at(k + 1));
                }
                if (k < to) sum1 = hn::Add(sum1, term_at(k));
                hn::Store(sum0, di, &half0[i]);
                hn::Store(sum1, di, &half1[i]);
                hn::Store(highest, di, &largest[i]);
            }
            round_sums(sum, d_format, half0.data(), half1.data(), largest.data(), d);
        }
    }
    return hn::AllFalse(di, special);
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
HWY_EXPORT(FmaF32);
HWY_EXPORT(FmaF64);
HWY_EXPORT(Digest);
HWY_EXPORT(FusedTile);
HWY_EXPORT(ChainTile);
HWY_EXPORT(TargetName);

void add_f32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    HWY_DYNAMIC_DISPATCH(AddF32)(a, b, d);
}
void sub_f32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    HWY_DYNAMIC_DISPATCH(SubF32)(a, b, d);
}
void mul_f32(const uint32_t* a, const uint32_t* b, uint32_t* d) {
    HWY_DYNAMIC_DISPATCH(MulF32)(a, b, d);
}
void fma_f32(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
    HWY_DYNAMIC_DISPATCH(FmaF32)(a, b, c, d);
}
void fma_f64(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    HWY_DYNAMIC_DISPATCH(FmaF64)(a, b, c, d);
}
void digest(const uint32_t* values, uint32_t salt, uint32_t* first, uint32_t* second) {
    HWY_DYNAMIC_DISPATCH(Digest)(values, salt, first, second);
}
const char* lane_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

bool has_fused_tile(const DotRow& row, MatrixTypes types) {
    if (row.method != Method::fused_blocks || types.c != types.d) return false;
    const FusedSum& sum = row.sum;
    const int lift = sum.fraction - format(types.a).fraction_bits - format(types.b).fraction_bits;
    const int c_lift = sum.fraction - format(types.d).fraction_bits;
    const bool whole_significand = sum.kept == format(types.d).fraction_bits + 1;
    // A product is below 2^(fraction + 2), C below 2^(fraction + 1); each of two 32-bit sums has
    // half the products of a block, and one has C.
    const int64_t half_block = (sum.block + 1) / 2;
    const int64_t bound = (half_block << (sum.fraction + 2)) + (int64_t{2} << sum.fraction);
    return lift >= 0 && c_lift >= 0 && whole_significand && bound < (int64_t{1} << 31) &&
           (sum.rounding == Rounding::rz || sum.rounding == Rounding::rn) &&
           isa::bits(types.d) <= 32;
}

bool fused_tile(const FusedSum& sum, MatrixTypes types, const Tile<uint32_t>& tile) {
    return HWY_DYNAMIC_DISPATCH(FusedTile)(sum, types, tile);
}
bool chain_tile(const Tile<uint64_t>& tile) { return HWY_DYNAMIC_DISPATCH(ChainTile)(tile); }

}  // namespace lockwarp::num
#endif  // HWY_ONCE
