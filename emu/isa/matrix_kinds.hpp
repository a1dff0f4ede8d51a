// SPDX-License-Identifier: Apache-2.0
// The variants of mma with a qualifier .kind, as rows. They are the family of sm_120's; sm_100 has
// the fp8 ones of .kind::f8f6f4. matrix.cpp puts them behind the other rows.
//
// Sources: PTX manual, "Warp-level matrix instructions: mma", "mma.sp"; what ptxas 13.0 accepts for
// each target, and its words where it refuses.
#pragma once

#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {

namespace kinds {

using F = FragmentId;
using T = Type;

constexpr bool is_fp8(Type t) { return t == T::e4m3 || t == T::e5m2; }

constexpr std::string_view fp8 = "mma with FP8 floating point type";
constexpr std::string_view fp8_k16 = "mma with FP8 floating point type and .m16n8k16 shape";
constexpr std::string_view fp8_to_f16 = "mma with FP8 floating point type and FP16 accumulation";
constexpr std::string_view fp6_fp4 = "mma with with FP6/FP4 floating point type";
constexpr std::string_view sparse_to_f16 =
    "mma with with F16 accumulator and F8 floating point type";

constexpr MmaVariant with_shape(std::string_view key, bool sparse, uint16_t k, Type d, Type a,
                                Type b) {
    MmaVariant v{.key = key, .m = 16, .n = 8, .k = k, .d = d, .a = a, .b = b, .c = d};
    v.fragment_c = v.fragment_d = F::c_16x8;
    v.fragment_e = F::e_16x16;
    v.sparse = v.ordered = sparse;
    v.target = 120;
    v.ptx = 87;
    return v;
}

// Elements in bytes.
constexpr MmaVariant f8f6f4(std::string_view key, bool sparse, uint16_t k, Type d, Type a, Type b) {
    MmaVariant v = with_shape(key, sparse, k, d, a, b);
    v.kind = MmaKind::f8f6f4;
    v.fragment_a = k == 16 ? F::a_16x16_b8 : F::a_16x32_b8;
    v.fragment_b = k == 16 ? F::b_8x16_b8 : k == 32 ? F::b_8x32_b8 : F::b_8x64_b8;
    if (!is_fp8(a) || !is_fp8(b)) {
        v.feature = fp6_fp4;
        v.specific[0] = {"Instruction 'mma with with FP6/FP4 floating point type'", Suffix::f};
    } else if (sparse && d == T::f16) {
        v.feature = sparse_to_f16;
        v.specific[0] = {"Instruction 'mma with with F16 accumulator and F8 floating point type'",
                         Suffix::f};
    } else {
        v.feature = fp8;
        v.target = 100;
        v.ptx = 84;
        v.also = k == 16 ? fp8_k16 : d == T::f16 ? fp8_to_f16 : "";
        v.also_ptx = k == 16 || d == T::f16 ? 87 : 0;
        v.specific[0] = {"Feature '.kind::f8f6f4'", Suffix::f};
    }
    return v;
}

// As with .kind::f8f6f4, which may be left out.
constexpr MmaVariant sparse_fp8_to_f16(std::string_view key, Type a, Type b) {
    MmaVariant v = f8f6f4(key, true, 64, T::f16, a, b);
    v.kind = MmaKind::none;
    return v;
}

constexpr std::string_view block_scale = "mma with block scale";
constexpr Specific family_scale{"Instruction 'mma with block scale'", Suffix::f};
constexpr Specific sparse_scale{"Instruction 'Sparse mma with block scale'", Suffix::a};

// The same with a factor for each row of A and column of B.
constexpr MmaVariant mxf8f6f4(std::string_view key, bool sparse, uint16_t k, Type a, Type b) {
    MmaVariant v = f8f6f4(key, sparse, k, T::f32, a, b);
    v.kind = MmaKind::mxf8f6f4;
    v.target = 120;
    v.ptx = 87;
    v.feature = block_scale;
    v.also = "";
    v.also_ptx = 0;
    v.specific = {family_scale};
    v.scale = T::ue8m0;
    v.scales = 1;
    return v;
}

// e2m1 packed, with `scales` factors.
constexpr MmaVariant packed(std::string_view key, bool sparse, uint16_t k, MmaKind kind,
                            uint8_t scales, Type scale) {
    MmaVariant v = with_shape(key, sparse, k, T::f32, T::e2m1, T::e2m1);
    v.kind = kind;
    v.fragment_a = F::a_16x64_b4;
    v.fragment_b = sparse ? F::b_8x128_b4 : F::b_8x64_b4;
    v.feature = block_scale;
    v.specific = {family_scale};
    if (sparse) v.specific[1] = sparse_scale;
    v.scale = scale;
    v.scales = scales;
    return v;
}

}  // namespace kinds

// clang-format off
inline constexpr auto kind_rows = [] {
    using namespace kinds;
    return std::to_array<MmaVariant>({
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f32.e4m3.e4m3.f32", false, 16, T::f32, T::e4m3, T::e4m3),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f16.e4m3.e4m3.f16", false, 16, T::f16, T::e4m3, T::e4m3),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f32.e4m3.e5m2.f32", false, 16, T::f32, T::e4m3, T::e5m2),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f16.e4m3.e5m2.f16", false, 16, T::f16, T::e4m3, T::e5m2),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f32.e5m2.e4m3.f32", false, 16, T::f32, T::e5m2, T::e4m3),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f16.e5m2.e4m3.f16", false, 16, T::f16, T::e5m2, T::e4m3),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f32.e5m2.e5m2.f32", false, 16, T::f32, T::e5m2, T::e5m2),
        f8f6f4("mma.m16n8k16.kind::f8f6f4.f16.e5m2.e5m2.f16", false, 16, T::f16, T::e5m2, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32", false, 32, T::f32, T::e4m3, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32", false, 32, T::f32, T::e4m3, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e3m2.f32", false, 32, T::f32, T::e4m3, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e2m3.f32", false, 32, T::f32, T::e4m3, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32", false, 32, T::f32, T::e4m3, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e5m2.e4m3.f32", false, 32, T::f32, T::e5m2, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e5m2.e5m2.f32", false, 32, T::f32, T::e5m2, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e5m2.e3m2.f32", false, 32, T::f32, T::e5m2, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e5m2.e2m3.f32", false, 32, T::f32, T::e5m2, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e5m2.e2m1.f32", false, 32, T::f32, T::e5m2, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e3m2.e4m3.f32", false, 32, T::f32, T::e3m2, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e3m2.e5m2.f32", false, 32, T::f32, T::e3m2, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e3m2.e3m2.f32", false, 32, T::f32, T::e3m2, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e3m2.e2m3.f32", false, 32, T::f32, T::e3m2, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e3m2.e2m1.f32", false, 32, T::f32, T::e3m2, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m3.e4m3.f32", false, 32, T::f32, T::e2m3, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m3.e5m2.f32", false, 32, T::f32, T::e2m3, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m3.e3m2.f32", false, 32, T::f32, T::e2m3, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m3.e2m3.f32", false, 32, T::f32, T::e2m3, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m3.e2m1.f32", false, 32, T::f32, T::e2m3, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m1.e4m3.f32", false, 32, T::f32, T::e2m1, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m1.e5m2.f32", false, 32, T::f32, T::e2m1, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32", false, 32, T::f32, T::e2m1, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m1.e2m3.f32", false, 32, T::f32, T::e2m1, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32", false, 32, T::f32, T::e2m1, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e4m3.f16", false, 32, T::f16, T::e4m3, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e5m2.f16", false, 32, T::f16, T::e4m3, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e3m2.f16", false, 32, T::f16, T::e4m3, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e2m3.f16", false, 32, T::f16, T::e4m3, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e2m1.f16", false, 32, T::f16, T::e4m3, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e5m2.e4m3.f16", false, 32, T::f16, T::e5m2, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e5m2.e5m2.f16", false, 32, T::f16, T::e5m2, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e5m2.e3m2.f16", false, 32, T::f16, T::e5m2, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e5m2.e2m3.f16", false, 32, T::f16, T::e5m2, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e5m2.e2m1.f16", false, 32, T::f16, T::e5m2, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e3m2.e4m3.f16", false, 32, T::f16, T::e3m2, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e3m2.e5m2.f16", false, 32, T::f16, T::e3m2, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e3m2.e3m2.f16", false, 32, T::f16, T::e3m2, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e3m2.e2m3.f16", false, 32, T::f16, T::e3m2, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e3m2.e2m1.f16", false, 32, T::f16, T::e3m2, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m3.e4m3.f16", false, 32, T::f16, T::e2m3, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m3.e5m2.f16", false, 32, T::f16, T::e2m3, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m3.e3m2.f16", false, 32, T::f16, T::e2m3, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m3.e2m3.f16", false, 32, T::f16, T::e2m3, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m3.e2m1.f16", false, 32, T::f16, T::e2m3, T::e2m1),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m1.e4m3.f16", false, 32, T::f16, T::e2m1, T::e4m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m1.e5m2.f16", false, 32, T::f16, T::e2m1, T::e5m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m1.e3m2.f16", false, 32, T::f16, T::e2m1, T::e3m2),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m1.e2m3.f16", false, 32, T::f16, T::e2m1, T::e2m3),
        f8f6f4("mma.m16n8k32.kind::f8f6f4.f16.e2m1.e2m1.f16", false, 32, T::f16, T::e2m1, T::e2m1),
        sparse_fp8_to_f16("mma.sp.m16n8k64.f16.e4m3.e4m3.f16", T::e4m3, T::e4m3),
        sparse_fp8_to_f16("mma.sp.m16n8k64.f16.e4m3.e5m2.f16", T::e4m3, T::e5m2),
        sparse_fp8_to_f16("mma.sp.m16n8k64.f16.e5m2.e4m3.f16", T::e5m2, T::e4m3),
        sparse_fp8_to_f16("mma.sp.m16n8k64.f16.e5m2.e5m2.f16", T::e5m2, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e4m3.f32", true, 64, T::f32, T::e4m3, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e5m2.f32", true, 64, T::f32, T::e4m3, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e3m2.f32", true, 64, T::f32, T::e4m3, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e2m3.f32", true, 64, T::f32, T::e4m3, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e2m1.f32", true, 64, T::f32, T::e4m3, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e5m2.e4m3.f32", true, 64, T::f32, T::e5m2, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e5m2.e5m2.f32", true, 64, T::f32, T::e5m2, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e5m2.e3m2.f32", true, 64, T::f32, T::e5m2, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e5m2.e2m3.f32", true, 64, T::f32, T::e5m2, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e5m2.e2m1.f32", true, 64, T::f32, T::e5m2, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e3m2.e4m3.f32", true, 64, T::f32, T::e3m2, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e3m2.e5m2.f32", true, 64, T::f32, T::e3m2, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e3m2.e3m2.f32", true, 64, T::f32, T::e3m2, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e3m2.e2m3.f32", true, 64, T::f32, T::e3m2, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e3m2.e2m1.f32", true, 64, T::f32, T::e3m2, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m3.e4m3.f32", true, 64, T::f32, T::e2m3, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m3.e5m2.f32", true, 64, T::f32, T::e2m3, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m3.e3m2.f32", true, 64, T::f32, T::e2m3, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m3.e2m3.f32", true, 64, T::f32, T::e2m3, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m3.e2m1.f32", true, 64, T::f32, T::e2m3, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e4m3.f32", true, 64, T::f32, T::e2m1, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e5m2.f32", true, 64, T::f32, T::e2m1, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e3m2.f32", true, 64, T::f32, T::e2m1, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e2m3.f32", true, 64, T::f32, T::e2m1, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e2m1.f32", true, 64, T::f32, T::e2m1, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e4m3.f16", true, 64, T::f16, T::e4m3, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e5m2.f16", true, 64, T::f16, T::e4m3, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e3m2.f16", true, 64, T::f16, T::e4m3, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e2m3.f16", true, 64, T::f16, T::e4m3, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e2m1.f16", true, 64, T::f16, T::e4m3, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e5m2.e4m3.f16", true, 64, T::f16, T::e5m2, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e5m2.e5m2.f16", true, 64, T::f16, T::e5m2, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e5m2.e3m2.f16", true, 64, T::f16, T::e5m2, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e5m2.e2m3.f16", true, 64, T::f16, T::e5m2, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e5m2.e2m1.f16", true, 64, T::f16, T::e5m2, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e3m2.e4m3.f16", true, 64, T::f16, T::e3m2, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e3m2.e5m2.f16", true, 64, T::f16, T::e3m2, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e3m2.e3m2.f16", true, 64, T::f16, T::e3m2, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e3m2.e2m3.f16", true, 64, T::f16, T::e3m2, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e3m2.e2m1.f16", true, 64, T::f16, T::e3m2, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m3.e4m3.f16", true, 64, T::f16, T::e2m3, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m3.e5m2.f16", true, 64, T::f16, T::e2m3, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m3.e3m2.f16", true, 64, T::f16, T::e2m3, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m3.e2m3.f16", true, 64, T::f16, T::e2m3, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m3.e2m1.f16", true, 64, T::f16, T::e2m3, T::e2m1),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m1.e4m3.f16", true, 64, T::f16, T::e2m1, T::e4m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m1.e5m2.f16", true, 64, T::f16, T::e2m1, T::e5m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m1.e3m2.f16", true, 64, T::f16, T::e2m1, T::e3m2),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m1.e2m3.f16", true, 64, T::f16, T::e2m1, T::e2m3),
        f8f6f4("mma.sp.m16n8k64.kind::f8f6f4.f16.e2m1.e2m1.f16", true, 64, T::f16, T::e2m1, T::e2m1),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", false, 32, T::e4m3, T::e4m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0", false, 32, T::e4m3, T::e5m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e3m2.f32.ue8m0", false, 32, T::e4m3, T::e3m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0", false, 32, T::e4m3, T::e2m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", false, 32, T::e4m3, T::e2m1),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e4m3.f32.ue8m0", false, 32, T::e5m2, T::e4m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0", false, 32, T::e5m2, T::e5m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e3m2.f32.ue8m0", false, 32, T::e5m2, T::e3m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m3.f32.ue8m0", false, 32, T::e5m2, T::e2m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m1.f32.ue8m0", false, 32, T::e5m2, T::e2m1),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e4m3.f32.ue8m0", false, 32, T::e3m2, T::e4m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e5m2.f32.ue8m0", false, 32, T::e3m2, T::e5m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e3m2.f32.ue8m0", false, 32, T::e3m2, T::e3m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m3.f32.ue8m0", false, 32, T::e3m2, T::e2m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0", false, 32, T::e3m2, T::e2m1),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e4m3.f32.ue8m0", false, 32, T::e2m3, T::e4m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e5m2.f32.ue8m0", false, 32, T::e2m3, T::e5m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e3m2.f32.ue8m0", false, 32, T::e2m3, T::e3m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m3.f32.ue8m0", false, 32, T::e2m3, T::e2m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m1.f32.ue8m0", false, 32, T::e2m3, T::e2m1),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e4m3.f32.ue8m0", false, 32, T::e2m1, T::e4m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e5m2.f32.ue8m0", false, 32, T::e2m1, T::e5m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0", false, 32, T::e2m1, T::e3m2),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m3.f32.ue8m0", false, 32, T::e2m1, T::e2m3),
        mxf8f6f4("mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0", false, 32, T::e2m1, T::e2m1),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", true, 64, T::e4m3, T::e4m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0", true, 64, T::e4m3, T::e5m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e3m2.f32.ue8m0", true, 64, T::e4m3, T::e3m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0", true, 64, T::e4m3, T::e2m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", true, 64, T::e4m3, T::e2m1),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e4m3.f32.ue8m0", true, 64, T::e5m2, T::e4m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0", true, 64, T::e5m2, T::e5m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e3m2.f32.ue8m0", true, 64, T::e5m2, T::e3m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m3.f32.ue8m0", true, 64, T::e5m2, T::e2m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e2m1.f32.ue8m0", true, 64, T::e5m2, T::e2m1),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e4m3.f32.ue8m0", true, 64, T::e3m2, T::e4m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e5m2.f32.ue8m0", true, 64, T::e3m2, T::e5m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e3m2.f32.ue8m0", true, 64, T::e3m2, T::e3m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m3.f32.ue8m0", true, 64, T::e3m2, T::e2m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0", true, 64, T::e3m2, T::e2m1),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e4m3.f32.ue8m0", true, 64, T::e2m3, T::e4m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e5m2.f32.ue8m0", true, 64, T::e2m3, T::e5m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e3m2.f32.ue8m0", true, 64, T::e2m3, T::e3m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m3.f32.ue8m0", true, 64, T::e2m3, T::e2m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m1.f32.ue8m0", true, 64, T::e2m3, T::e2m1),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e4m3.f32.ue8m0", true, 64, T::e2m1, T::e4m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e5m2.f32.ue8m0", true, 64, T::e2m1, T::e5m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0", true, 64, T::e2m1, T::e3m2),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m3.f32.ue8m0", true, 64, T::e2m1, T::e2m3),
        mxf8f6f4("mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0", true, 64, T::e2m1, T::e2m1),
        packed("mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", false, 64, MmaKind::mxf4, 2, T::ue8m0),
        packed("mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", false, 64, MmaKind::mxf4nvf4, 2, T::ue8m0),
        packed("mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", false, 64, MmaKind::mxf4nvf4, 4, T::ue4m3),
        packed("mma.sp.m16n8k128.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", true, 128, MmaKind::mxf4, 2, T::ue8m0),
        packed("mma.sp.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", true, 128, MmaKind::mxf4nvf4, 2, T::ue8m0),
        packed("mma.sp.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", true, 128, MmaKind::mxf4nvf4, 4, T::ue4m3),
    });
}();
// clang-format on

}  // namespace lockwarp::isa
