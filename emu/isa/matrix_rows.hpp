// SPDX-License-Identifier: Apache-2.0
// The rows of mma, for tables that must have one of their own for each: they check it at compile
// time. Everything else asks mma_variants().
#pragma once

#include <algorithm>
#include <array>

#include "emu/isa/matrix.hpp"
#include "emu/isa/matrix_kinds.hpp"

namespace lockwarp::isa::mma_table {

using F = FragmentId;
using T = Type;

// Volta's: a product of each quad-pair, with operands by row or by column.
constexpr MmaVariant volta(std::string_view key, Order a_order, Order b_order, Type d, Type c) {
    const auto operand = [](Order order, Order along) {
        return order == along ? F::volta_8x4_by_row : F::volta_8x4_by_column;
    };
    const auto accumulator = [](Type t) {
        return t == T::f16 ? F::volta_8x8_b16 : F::volta_8x8_b32;
    };
    MmaVariant v{.key = key, .m = 8, .n = 8, .k = 4, .d = d, .a = T::f16, .b = T::f16, .c = c};
    v.fragment_a = operand(a_order, Order::row);
    v.fragment_b = operand(b_order, Order::col);
    v.fragment_c = accumulator(c);
    v.fragment_d = accumulator(d);
    v.target = 70;
    v.ptx = 64;
    v.feature = ".m8n8k4";
    v.a_order = a_order;
    v.b_order = b_order;
    v.threads = Threads::quad_pairs;
    return v;
}

constexpr MmaVariant sparse(std::string_view key, uint16_t k, Type d, Type a, Type b, FragmentId fa,
                            FragmentId fb, FragmentId fe, bool satfinite, uint16_t target,
                            uint16_t ptx, std::string_view feature) {
    MmaVariant v{.key = key, .m = 16, .n = 8, .k = k, .d = d, .a = a, .b = b, .c = d};
    v.fragment_a = fa;
    v.fragment_b = fb;
    v.fragment_c = v.fragment_d = F::c_16x8;
    v.fragment_e = fe;
    v.sparse = true;
    v.satfinite = satfinite;
    v.target = target;
    v.ptx = ptx;
    v.feature = feature;
    v.also = "Sparse MMA";
    v.also_ptx = 71;
    return v;
}

// clang-format off
inline constexpr auto rows_without_kind = std::to_array<MmaVariant>({
    volta("mma.m8n8k4.row.row.f16.f16.f16.f16", Order::row, Order::row, T::f16, T::f16),
    volta("mma.m8n8k4.row.row.f32.f16.f16.f16", Order::row, Order::row, T::f32, T::f16),
    volta("mma.m8n8k4.row.row.f32.f16.f16.f32", Order::row, Order::row, T::f32, T::f32),
    volta("mma.m8n8k4.row.col.f16.f16.f16.f16", Order::row, Order::col, T::f16, T::f16),
    volta("mma.m8n8k4.row.col.f32.f16.f16.f16", Order::row, Order::col, T::f32, T::f16),
    volta("mma.m8n8k4.row.col.f32.f16.f16.f32", Order::row, Order::col, T::f32, T::f32),
    volta("mma.m8n8k4.col.row.f16.f16.f16.f16", Order::col, Order::row, T::f16, T::f16),
    volta("mma.m8n8k4.col.row.f32.f16.f16.f16", Order::col, Order::row, T::f32, T::f16),
    volta("mma.m8n8k4.col.row.f32.f16.f16.f32", Order::col, Order::row, T::f32, T::f32),
    volta("mma.m8n8k4.col.col.f16.f16.f16.f16", Order::col, Order::col, T::f16, T::f16),
    volta("mma.m8n8k4.col.col.f32.f16.f16.f16", Order::col, Order::col, T::f32, T::f16),
    volta("mma.m8n8k4.col.col.f32.f16.f16.f32", Order::col, Order::col, T::f32, T::f32),
    {"mma.m16n8k8.f16.f16.f16.f16", 16, 8, 8, T::f16, T::f16, T::f16, T::f16, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, 75, 65, ".m16n8k8"},
    {"mma.m16n8k16.f16.f16.f16.f16", 16, 8, 16, T::f16, T::f16, T::f16, T::f16, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16"},
    {"mma.m16n8k8.f32.f16.f16.f32", 16, 8, 8, T::f32, T::f16, T::f16, T::f32, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, 75, 65, ".m16n8k8"},
    {"mma.m16n8k16.f32.f16.f16.f32", 16, 8, 16, T::f32, T::f16, T::f16, T::f32, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16"},
    {"mma.m16n8k8.f32.bf16.bf16.f32", 16, 8, 8, T::f32, T::bf16, T::bf16, T::f32, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, 80, 70, ".bf16"},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 16, 8, 16, T::f32, T::bf16, T::bf16, T::f32, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, 80, 70, ".bf16"},
    {"mma.m16n8k4.f32.tf32.tf32.f32", 16, 8, 4, T::f32, T::tf32, T::tf32, T::f32, F::a_16x4_b32, F::b_8x4_b32, F::c_16x8, F::c_16x8, 80, 70, ".tf32"},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 16, 8, 8, T::f32, T::tf32, T::tf32, T::f32, F::a_16x8_b32, F::b_8x8_b32, F::c_16x8, F::c_16x8, 80, 70, ".tf32"},
    {"mma.m8n8k4.f64.f64.f64.f64", 8, 8, 4, T::f64, T::f64, T::f64, T::f64, F::a_8x4_b64, F::b_8x4_b64, F::c_8x8, F::c_8x8, 80, 70, ".m8n8k4 with double types"},
    {"mma.m16n8k4.f64.f64.f64.f64", 16, 8, 4, T::f64, T::f64, T::f64, T::f64, F::a_16x4_b64, F::b_8x4_b64, F::c_16x8, F::c_16x8, 90, 78, ".m16n8k4 with double types"},
    {"mma.m16n8k8.f64.f64.f64.f64", 16, 8, 8, T::f64, T::f64, T::f64, T::f64, F::a_16x8_b64, F::b_8x8_b64, F::c_16x8, F::c_16x8, 90, 78, ".m16n8k8 with double types"},
    {"mma.m16n8k16.f64.f64.f64.f64", 16, 8, 16, T::f64, T::f64, T::f64, T::f64, F::a_16x16_b64, F::b_8x16_b64, F::c_16x8, F::c_16x8, 90, 78, ".m16n8k16 with double types"},
    {"mma.m8n8k16.s32.s8.s8.s32", 8, 8, 16, T::s32, T::s8, T::s8, T::s32, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k16", true},
    {"mma.m16n8k16.s32.s8.s8.s32", 16, 8, 16, T::s32, T::s8, T::s8, T::s32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16", true},
    {"mma.m16n8k32.s32.s8.s8.s32", 16, 8, 32, T::s32, T::s8, T::s8, T::s32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m8n8k16.s32.s8.u8.s32", 8, 8, 16, T::s32, T::s8, T::u8, T::s32, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k16", true},
    {"mma.m16n8k16.s32.s8.u8.s32", 16, 8, 16, T::s32, T::s8, T::u8, T::s32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16", true},
    {"mma.m16n8k32.s32.s8.u8.s32", 16, 8, 32, T::s32, T::s8, T::u8, T::s32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m8n8k16.s32.u8.s8.s32", 8, 8, 16, T::s32, T::u8, T::s8, T::s32, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k16", true},
    {"mma.m16n8k16.s32.u8.s8.s32", 16, 8, 16, T::s32, T::u8, T::s8, T::s32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16", true},
    {"mma.m16n8k32.s32.u8.s8.s32", 16, 8, 32, T::s32, T::u8, T::s8, T::s32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m8n8k16.s32.u8.u8.s32", 8, 8, 16, T::s32, T::u8, T::u8, T::s32, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k16", true},
    {"mma.m16n8k16.s32.u8.u8.s32", 16, 8, 16, T::s32, T::u8, T::u8, T::s32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k16", true},
    {"mma.m16n8k32.s32.u8.u8.s32", 16, 8, 32, T::s32, T::u8, T::u8, T::s32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m8n8k32.s32.s4.s4.s32", 8, 8, 32, T::s32, T::s4, T::s4, T::s32, F::a_8x32_b4, F::b_8x32_b4, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k32", true},
    {"mma.m16n8k32.s32.s4.s4.s32", 16, 8, 32, T::s32, T::s4, T::s4, T::s32, F::a_16x32_b4, F::b_8x32_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m16n8k64.s32.s4.s4.s32", 16, 8, 64, T::s32, T::s4, T::s4, T::s32, F::a_16x64_b4, F::b_8x64_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k64", true},
    {"mma.m8n8k32.s32.s4.u4.s32", 8, 8, 32, T::s32, T::s4, T::u4, T::s32, F::a_8x32_b4, F::b_8x32_b4, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k32", true},
    {"mma.m16n8k32.s32.s4.u4.s32", 16, 8, 32, T::s32, T::s4, T::u4, T::s32, F::a_16x32_b4, F::b_8x32_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m16n8k64.s32.s4.u4.s32", 16, 8, 64, T::s32, T::s4, T::u4, T::s32, F::a_16x64_b4, F::b_8x64_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k64", true},
    {"mma.m8n8k32.s32.u4.s4.s32", 8, 8, 32, T::s32, T::u4, T::s4, T::s32, F::a_8x32_b4, F::b_8x32_b4, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k32", true},
    {"mma.m16n8k32.s32.u4.s4.s32", 16, 8, 32, T::s32, T::u4, T::s4, T::s32, F::a_16x32_b4, F::b_8x32_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m16n8k64.s32.u4.s4.s32", 16, 8, 64, T::s32, T::u4, T::s4, T::s32, F::a_16x64_b4, F::b_8x64_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k64", true},
    {"mma.m8n8k32.s32.u4.u4.s32", 8, 8, 32, T::s32, T::u4, T::u4, T::s32, F::a_8x32_b4, F::b_8x32_b4, F::c_8x8, F::c_8x8, 75, 65, ".m8n8k32", true},
    {"mma.m16n8k32.s32.u4.u4.s32", 16, 8, 32, T::s32, T::u4, T::u4, T::s32, F::a_16x32_b4, F::b_8x32_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k32", true},
    {"mma.m16n8k64.s32.u4.u4.s32", 16, 8, 64, T::s32, T::u4, T::u4, T::s32, F::a_16x64_b4, F::b_8x64_b4, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k64", true},
    {"mma.m8n8k128.s32.b1.b1.s32.xor.popc", 8, 8, 128, T::s32, T::b1, T::b1, T::s32, F::a_8x128_b1, F::b_8x128_b1, F::c_8x8, F::c_8x8, 75, 70, ".m8n8k128", false, Combine::xor_},
    {"mma.m8n8k128.s32.b1.b1.s32.and.popc", 8, 8, 128, T::s32, T::b1, T::b1, T::s32, F::a_8x128_b1, F::b_8x128_b1, F::c_8x8, F::c_8x8, 80, 71, "Modifier '.and' on 'mma'", false, Combine::and_},
    {"mma.m16n8k128.s32.b1.b1.s32.xor.popc", 16, 8, 128, T::s32, T::b1, T::b1, T::s32, F::a_16x128_b1, F::b_8x128_b1, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k128", false, Combine::xor_},
    {"mma.m16n8k128.s32.b1.b1.s32.and.popc", 16, 8, 128, T::s32, T::b1, T::b1, T::s32, F::a_16x128_b1, F::b_8x128_b1, F::c_16x8, F::c_16x8, 80, 71, "Modifier '.and' on 'mma'", false, Combine::and_},
    {"mma.m16n8k256.s32.b1.b1.s32.xor.popc", 16, 8, 256, T::s32, T::b1, T::b1, T::s32, F::a_16x256_b1, F::b_8x256_b1, F::c_16x8, F::c_16x8, 80, 70, ".m16n8k256", false, Combine::xor_},
    {"mma.m16n8k256.s32.b1.b1.s32.and.popc", 16, 8, 256, T::s32, T::b1, T::b1, T::s32, F::a_16x256_b1, F::b_8x256_b1, F::c_16x8, F::c_16x8, 80, 71, "Modifier '.and' on 'mma'", false, Combine::and_},
    {"mma.m16n8k16.f32.e4m3.e4m3.f32", 16, 8, 16, T::f32, T::e4m3, T::e4m3, T::f32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f16.e4m3.e4m3.f16", 16, 8, 16, T::f16, T::e4m3, T::e4m3, T::f16, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f32.e4m3.e5m2.f32", 16, 8, 16, T::f32, T::e4m3, T::e5m2, T::f32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f16.e4m3.e5m2.f16", 16, 8, 16, T::f16, T::e4m3, T::e5m2, T::f16, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f32.e5m2.e4m3.f32", 16, 8, 16, T::f32, T::e5m2, T::e4m3, T::f32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f16.e5m2.e4m3.f16", 16, 8, 16, T::f16, T::e5m2, T::e4m3, T::f16, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f32.e5m2.e5m2.f32", 16, 8, 16, T::f32, T::e5m2, T::e5m2, T::f32, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k16.f16.e5m2.e5m2.f16", 16, 8, 16, T::f16, T::e5m2, T::e5m2, T::f16, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and .m16n8k16 shape", 87},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 16, 8, 32, T::f32, T::e4m3, T::e4m3, T::f32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type"},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 16, 8, 32, T::f16, T::e4m3, T::e4m3, T::f16, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and FP16 accumulation", 87},
    {"mma.m16n8k32.f32.e4m3.e5m2.f32", 16, 8, 32, T::f32, T::e4m3, T::e5m2, T::f32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type"},
    {"mma.m16n8k32.f16.e4m3.e5m2.f16", 16, 8, 32, T::f16, T::e4m3, T::e5m2, T::f16, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and FP16 accumulation", 87},
    {"mma.m16n8k32.f32.e5m2.e4m3.f32", 16, 8, 32, T::f32, T::e5m2, T::e4m3, T::f32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type"},
    {"mma.m16n8k32.f16.e5m2.e4m3.f16", 16, 8, 32, T::f16, T::e5m2, T::e4m3, T::f16, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and FP16 accumulation", 87},
    {"mma.m16n8k32.f32.e5m2.e5m2.f32", 16, 8, 32, T::f32, T::e5m2, T::e5m2, T::f32, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type"},
    {"mma.m16n8k32.f16.e5m2.e5m2.f16", 16, 8, 32, T::f16, T::e5m2, T::e5m2, T::f16, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, 89, 84, "mma with FP8 floating point type", false, Combine::none, "mma with FP8 floating point type and FP16 accumulation", 87},
    sparse("mma.sp.m16n8k16.f16.f16.f16.f16", 16, T::f16, T::f16, T::f16, F::a_16x8_b16, F::b_8x16_b16, F::e_16x4, false, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k32.f16.f16.f16.f16", 32, T::f16, T::f16, T::f16, F::a_16x16_b16, F::b_8x32_b16, F::e_16x8_by_groups, false, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k16.f32.f16.f16.f32", 16, T::f32, T::f16, T::f16, F::a_16x8_b16, F::b_8x16_b16, F::e_16x4, false, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k32.f32.f16.f16.f32", 32, T::f32, T::f16, T::f16, F::a_16x16_b16, F::b_8x32_b16, F::e_16x8_by_groups, false, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k16.f32.bf16.bf16.f32", 16, T::f32, T::bf16, T::bf16, F::a_16x8_b16, F::b_8x16_b16, F::e_16x4, false, 80, 70, ".bf16"),
    sparse("mma.sp.m16n8k32.f32.bf16.bf16.f32", 32, T::f32, T::bf16, T::bf16, F::a_16x16_b16, F::b_8x32_b16, F::e_16x8_by_groups, false, 80, 70, ".bf16"),
    sparse("mma.sp.m16n8k8.f32.tf32.tf32.f32", 8, T::f32, T::tf32, T::tf32, F::a_16x4_b32, F::b_8x8_b32, F::e_16x4, false, 80, 70, ".tf32"),
    sparse("mma.sp.m16n8k16.f32.tf32.tf32.f32", 16, T::f32, T::tf32, T::tf32, F::a_16x8_b32, F::b_8x16_b32, F::e_16x8_by_groups, false, 80, 70, ".tf32"),
    sparse("mma.sp.m16n8k32.s32.s8.s8.s32", 32, T::s32, T::s8, T::s8, F::a_16x16_b8, F::b_8x32_b8, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.s8.s8.s32", 64, T::s32, T::s8, T::s8, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k32.s32.s8.u8.s32", 32, T::s32, T::s8, T::u8, F::a_16x16_b8, F::b_8x32_b8, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.s8.u8.s32", 64, T::s32, T::s8, T::u8, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k32.s32.u8.s8.s32", 32, T::s32, T::u8, T::s8, F::a_16x16_b8, F::b_8x32_b8, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.u8.s8.s32", 64, T::s32, T::u8, T::s8, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k32.s32.u8.u8.s32", 32, T::s32, T::u8, T::u8, F::a_16x16_b8, F::b_8x32_b8, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.u8.u8.s32", 64, T::s32, T::u8, T::u8, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.s4.s4.s32", 64, T::s32, T::s4, T::s4, F::a_16x32_b4, F::b_8x64_b4, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k128.s32.s4.s4.s32", 128, T::s32, T::s4, T::s4, F::a_16x64_b4, F::b_8x128_b4, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.s4.u4.s32", 64, T::s32, T::s4, T::u4, F::a_16x32_b4, F::b_8x64_b4, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k128.s32.s4.u4.s32", 128, T::s32, T::s4, T::u4, F::a_16x64_b4, F::b_8x128_b4, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.u4.s4.s32", 64, T::s32, T::u4, T::s4, F::a_16x32_b4, F::b_8x64_b4, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k128.s32.u4.s4.s32", 128, T::s32, T::u4, T::s4, F::a_16x64_b4, F::b_8x128_b4, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.s32.u4.u4.s32", 64, T::s32, T::u4, T::u4, F::a_16x32_b4, F::b_8x64_b4, F::e_16x8_by_rows, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k128.s32.u4.u4.s32", 128, T::s32, T::u4, T::u4, F::a_16x64_b4, F::b_8x128_b4, F::e_16x16, true, 80, 71, "Sparse MMA"),
    sparse("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", 64, T::f32, T::e4m3, T::e4m3, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, false, 89, 84, "mma with FP8 floating point type"),
    sparse("mma.sp.m16n8k64.f32.e4m3.e5m2.f32", 64, T::f32, T::e4m3, T::e5m2, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, false, 89, 84, "mma with FP8 floating point type"),
    sparse("mma.sp.m16n8k64.f32.e5m2.e4m3.f32", 64, T::f32, T::e5m2, T::e4m3, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, false, 89, 84, "mma with FP8 floating point type"),
    sparse("mma.sp.m16n8k64.f32.e5m2.e5m2.f32", 64, T::f32, T::e5m2, T::e5m2, F::a_16x32_b8, F::b_8x64_b8, F::e_16x16, false, 89, 84, "mma with FP8 floating point type"),
});
// clang-format on

// Those of .kind stand last.
inline constexpr auto mma_rows = [] {
    std::array<MmaVariant, rows_without_kind.size() + kind_rows.size()> out{};
    std::ranges::copy(kind_rows, std::ranges::copy(rows_without_kind, out.begin()).out);
    return out;
}();

}  // namespace lockwarp::isa::mma_table
