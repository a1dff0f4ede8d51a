// SPDX-License-Identifier: Apache-2.0
// What matrix instructions cost.
#include <algorithm>

#include "emu/isa/matrix_rows.hpp"
#include "emu/isa/wmma.hpp"
#include "emu/timing/machine.hpp"

namespace lockwarp::timing {

namespace {

using enum Evidence;
using enum Arch;
constexpr Type f16 = Type::f16, f32 = Type::f32, f64 = Type::f64, s32 = Type::s32;

constexpr std::string_view elements_of(const isa::MmaVariant& v) {
    switch (v.a) {
        case Type::f16:
        case Type::bf16:
            return "half";
        case Type::tf32:
            return "tf32";
        case Type::f64:
            return "f64";
        case Type::s8:
        case Type::u8:
            return "s8";
        case Type::s4:
            return v.b == Type::s4 ? "s4" : "s4.u4";
        case Type::u4:
            return v.b == Type::s4 ? "u4.s4" : "u4";
        case Type::b1:
            return v.combine == isa::Combine::xor_ ? "b1.xor" : "b1.and";
        default:
            return "fp8";
    }
}

// Where the machine has 4-bit products itself, their signs do not matter.
constexpr bool fits(const TensorRow& r, const isa::MmaVariant& v) {
    return r.elements == elements_of(v) ||
           (r.elements == "int4" && isa::bits(v.a) == 4 && !isa::is_float(v.a));
}

constexpr std::string_view order_of(const isa::MmaVariant& v) {
    if (v.threads == isa::Threads::warp) return "";
    constexpr std::array<std::string_view, 4> names{"row.row", "row.col", "col.row", "col.col"};
    return names[2 * (v.a_order == isa::Order::col) + (v.b_order == isa::Order::col)];
}

// clang-format off
constexpr std::array own_rows{
    // V100: m8n8k4 is four steps that add in f32 (two in f16), of 1024 multiply-adds at 128 a cycle.
    TensorRow{sm_70, 8, 8, 4, "half", f32, false, false, "row.row", 18,  800, 1, literature, "V100, Raihan et al. 2019"},
    TensorRow{sm_70, 8, 8, 4, "half", f32, false, false, "row.col", 18,  800, 1, literature, "V100, Raihan et al. 2019"},
    TensorRow{sm_70, 8, 8, 4, "half", f32, false, false, "col.row", 18,  800, 1, literature, "V100, Raihan et al. 2019"},
    TensorRow{sm_70, 8, 8, 4, "half", f32, false, false, "col.col", 18,  800, 1, literature, "V100, Raihan et al. 2019"},
    TensorRow{sm_70, 8, 8, 4, "half", f16, false, false, "row.row", 16,  800, 1, derived,   "as f32"},
    TensorRow{sm_70, 8, 8, 4, "half", f16, false, false, "row.col", 16,  800, 1, derived,   "as f32"},
    TensorRow{sm_70, 8, 8, 4, "half", f16, false, false, "col.row", 16,  800, 1, derived,   "as f32"},
    TensorRow{sm_70, 8, 8, 4, "half", f16, false, false, "col.col", 16,  800, 1, derived,   "as f32"},

    TensorRow{sm_75, 8, 8, 4, "half", f32, false, false, "row.row", 24, 1600, 1, guessed,   "four steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f32, false, false, "row.col", 24, 1600, 1, guessed,   "four steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f32, false, false, "col.row", 24, 1600, 1, guessed,   "four steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f32, false, false, "col.col", 24, 1600, 1, guessed,   "four steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f16, false, false, "row.row", 20,  800, 1, guessed,   "two steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f16, false, false, "row.col", 20,  800, 1, guessed,   "two steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f16, false, false, "col.row", 20,  800, 1, guessed,   "two steps of HMMA.884"},
    TensorRow{sm_75, 8, 8, 4, "half", f16, false, false, "col.col", 20,  800, 1, guessed,   "two steps of HMMA.884"},
    TensorRow{sm_75, 16, 8, 8, "half", f32, false, false, "", 17,  800, 1, literature, "RTX 2080 Ti, Sun et al. 2022: 17.3; rate of T4"},
    TensorRow{sm_75, 16, 8, 8, "half", f32, false, true,  "", 17, 1600, 1, literature, "RTX 2080 Ti, Sun et al. 2022"},
    TensorRow{sm_75, 16, 8, 8, "half", f16, false, false, "", 15,  800, 1, literature, "RTX 2080 Ti, Sun et al. 2022: 14.7"},
    TensorRow{sm_75, 8, 8, 16,  "s8",     s32, false, false, "", 11, 400, 1, literature, "RTX 2080 Ti, Sun et al. 2022: 11.0"},
    TensorRow{sm_75, 8, 8, 32,  "int4",   s32, false, false, "", 11, 400, 1, derived,   "as s8"},
    TensorRow{sm_75, 8, 8, 128, "b1.xor", s32, false, false, "", 11, 400, 1, derived,   "as s8"},

    TensorRow{sm_80, 16, 8, 16, "half", f32, false, false, "", 24, 800, 1, literature, "A100, Sun et al. 2022: 24.6"},
    TensorRow{sm_80, 16, 8, 16, "half", f16, false, false, "", 24, 800, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 8,  "half", f32, false, false, "", 17, 400, 1, literature, "A100, Sun et al. 2022: 17.7"},
    TensorRow{sm_80, 16, 8, 8,  "half", f16, false, false, "", 16, 400, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 8,  "tf32", f32, false, false, "", 24, 800, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 4,  "tf32", f32, false, false, "", 17, 400, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 32, "s8",   s32, false, false, "", 24, 800, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 16, "s8",   s32, false, false, "", 17, 400, 1, assembler, ""},
    TensorRow{sm_80, 8,  8, 16, "s8",   s32, false, false, "", 14, 200, 1, assembler, ""},
    TensorRow{sm_80, 16, 8, 64, "int4", s32, false, false, "", 24, 800, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_80, 16, 8, 32, "int4", s32, false, false, "", 17, 400, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_80, 8,  8, 32, "int4", s32, false, false, "", 14, 200, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_80, 16, 8, 256, "b1.xor", s32, false, false, "", 24, 800, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 16, 8, 128, "b1.xor", s32, false, false, "", 17, 400, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 8,  8, 128, "b1.xor", s32, false, false, "", 14, 200, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 16, 8, 256, "b1.and", s32, false, false, "", 24, 800, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 16, 8, 128, "b1.and", s32, false, false, "", 17, 400, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 8,  8, 128, "b1.and", s32, false, false, "", 14, 200, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_80, 8,  8, 4,  "f64",  f64, false, false, "", 26, 1600, 1, assembler, "18 and a scoreboard; rate: 64 multiply-adds a cycle and SM"},
    TensorRow{sm_80, 16, 8, 32, "half", f32, true,  false, "", 24, 800, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 32, "half", f16, true,  false, "", 24, 800, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 16, "half", f32, true,  false, "", 17, 400, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 16, "half", f16, true,  false, "", 17, 400, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 16, "tf32", f32, true,  false, "", 24, 800, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 8,  "tf32", f32, true,  false, "", 17, 400, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 64, "s8",   s32, true,  false, "", 24, 800, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 32, "s8",   s32, true,  false, "", 17, 400, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 128, "int4",s32, true,  false, "", 24, 800, 1, derived, "as dense of half the k"},
    TensorRow{sm_80, 16, 8, 64, "int4", s32, true,  false, "", 17, 400, 1, derived, "as dense of half the k"},

    TensorRow{sm_86, 16, 8, 16, "half", f32, false, false, "", 24, 1600, 1, derived,   "as f16; rate of A10"},
    TensorRow{sm_86, 16, 8, 16, "half", f32, false, true,  "", 33, 3200, 1, literature, "RTX 3090: 33 to 34"},
    TensorRow{sm_86, 16, 8, 16, "half", f16, false, false, "", 24, 1600, 1, literature, "RTX 3090"},
    TensorRow{sm_86, 16, 8, 8,  "half", f32, false, false, "", 18,  800, 1, literature, "17.7 to 18.8; rate of A10"},
    TensorRow{sm_86, 16, 8, 8,  "half", f32, false, true,  "", 18, 1600, 1, literature, "RTX 3090: 18.8"},
    TensorRow{sm_86, 16, 8, 8,  "half", f16, false, false, "", 18,  800, 1, literature, "17.7 to 18.8"},
    TensorRow{sm_86, 16, 8, 8,  "tf32", f32, false, false, "", 33, 1600, 1, derived,   "half the rate of f16"},
    TensorRow{sm_86, 16, 8, 8,  "tf32", f32, false, true,  "", 33, 3200, 1, derived,   "half the rate of f16"},
    TensorRow{sm_86, 16, 8, 4,  "tf32", f32, false, false, "", 18,  800, 1, derived,   "half the rate of f16"},
    TensorRow{sm_86, 16, 8, 4,  "tf32", f32, false, true,  "", 18, 1600, 1, derived,   "half the rate of f16"},
    TensorRow{sm_86, 16, 8, 32, "s8",   s32, false, false, "", 24, 1600, 1, derived,   "as f16 of half the k"},
    TensorRow{sm_86, 16, 8, 16, "s8",   s32, false, false, "", 18,  800, 1, derived,   "as f16 of half the k"},
    TensorRow{sm_86, 8,  8, 16, "s8",   s32, false, false, "", 14,  400, 1, assembler, ""},
    TensorRow{sm_86, 16, 8, 64, "int4", s32, false, false, "", 24, 1600, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_86, 16, 8, 32, "int4", s32, false, false, "", 18,  800, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_86, 8,  8, 32, "int4", s32, false, false, "", 14,  400, 1, derived,   "as s8 of half the k"},
    TensorRow{sm_86, 16, 8, 256, "b1.xor", s32, false, false, "", 24, 1600, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 16, 8, 128, "b1.xor", s32, false, false, "", 18,  800, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 8,  8, 128, "b1.xor", s32, false, false, "", 14,  400, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 16, 8, 256, "b1.and", s32, false, false, "", 24, 1600, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 16, 8, 128, "b1.and", s32, false, false, "", 18,  800, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 8,  8, 128, "b1.and", s32, false, false, "", 14,  400, 1, derived, "as s8 of an eighth of the k"},
    TensorRow{sm_86, 8,  8, 4,  "f64",  f64, false, false, "", 530, 51200, 1, guessed, "two multiply-adds a cycle and SM"},
    TensorRow{sm_86, 16, 8, 32, "half", f32, true,  false, "", 24, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 32, "half", f32, true,  true,  "", 33, 3200, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 32, "half", f16, true,  false, "", 24, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 16, "half", f32, true,  false, "", 18,  800, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 16, "half", f32, true,  true,  "", 18, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 16, "half", f16, true,  false, "", 18,  800, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 16, "tf32", f32, true,  false, "", 33, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 16, "tf32", f32, true,  true,  "", 33, 3200, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 8,  "tf32", f32, true,  false, "", 18,  800, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 8,  "tf32", f32, true,  true,  "", 18, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 64, "s8",   s32, true,  false, "", 24, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 32, "s8",   s32, true,  false, "", 18,  800, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 128, "int4",s32, true,  false, "", 24, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_86, 16, 8, 64, "int4", s32, true,  false, "", 18,  800, 1, derived, "as dense of half the k"},

    TensorRow{sm_87, 8,  8, 4,  "f64",  f64, false, false, "", 530, 51200, 1, guessed, "as sm_86"},

    // fp8 is Ada's own; its other rows are those of sm_86 (see likenesses).
    TensorRow{sm_89, 16, 8, 32, "fp8", f32, false, false, "", 24, 1600, 1, derived, "as s8"},
    TensorRow{sm_89, 16, 8, 32, "fp8", f32, false, true,  "", 33, 3200, 1, derived, "half the rate of s8"},
    TensorRow{sm_89, 16, 8, 32, "fp8", f16, false, false, "", 24, 1600, 1, derived, "as s8"},
    TensorRow{sm_89, 16, 8, 16, "fp8", f32, false, false, "", 18,  800, 1, derived, "as s8"},
    TensorRow{sm_89, 16, 8, 16, "fp8", f32, false, true,  "", 18, 1600, 1, derived, "half the rate of s8"},
    TensorRow{sm_89, 16, 8, 16, "fp8", f16, false, false, "", 18,  800, 1, derived, "as s8"},
    TensorRow{sm_89, 16, 8, 64, "fp8", f32, true,  false, "", 24, 1600, 1, derived, "as dense of half the k"},
    TensorRow{sm_89, 16, 8, 64, "fp8", f32, true,  true,  "", 33, 3200, 1, derived, "as dense of half the k"},

    // Two records of an H200 stand behind these: latencies are the probes', intervals lie between
    // theirs and those of loops that were recorded before, which are up to 5% longer.
    TensorRow{sm_90, 16, 8, 8, "half", f32, false, false, "", 17, 410, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 8, "half", f16, false, false, "", 17, 405, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "half", f32, false, false, "", 24, 606, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "half", f16, false, false, "", 24, 604, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 4, "tf32", f32, false, false, "", 17, 410, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 8, "tf32", f32, false, false, "", 24, 606, 1, measured, "H200"},
    TensorRow{sm_90, 8, 8, 16, "s8", s32, false, false, "", 14, 405, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "s8", s32, false, false, "", 17, 410, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "s8", s32, false, false, "", 24, 606, 1, measured, "H200"},
    TensorRow{sm_90, 8, 8, 128, "b1.and", s32, false, false, "", 14, 405, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "b1.and", s32, false, false, "", 17, 410, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 256, "b1.and", s32, false, false, "", 24, 606, 1, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "f64", f64, false, false, "", 26, 1605, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 4, "f64", f64, false, false, "", 34, 1620, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 8, "f64", f64, false, false, "", 50, 3200, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "f64", f64, false, false, "", 82, 6400, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "half", f32, true, false, "", 17, 606, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "half", f16, true, false, "", 17, 604, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "half", f32, true, false, "", 24, 810, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "half", f16, true, false, "", 24, 805, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 8, "tf32", f32, true, false, "", 17, 606, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "tf32", f32, true, false, "", 24, 810, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "s8", s32, true, false, "", 17, 606, 1, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "s8", s32, true, false, "", 24, 810, 1, measured, "H200"},
    // What the machine does not have the assembler writes out: conversions of fp8 about products of
    // f16, shifts about those of s8, and multiply-adds of lanes for Volta's. What that takes
    // depends on what stands about it; a change of A and B is part of these.
    TensorRow{sm_90, 16, 8, 16, "fp8", f32, false, false, "", 21, 2020, 20, measured, "H200"},
    TensorRow{sm_90, 16, 8, 16, "fp8", f16, false, false, "", 17, 1500, 15, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "fp8", f32, false, false, "", 35, 3300, 33, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "fp8", f16, false, false, "", 31, 2830, 29, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "fp8", f32, true, false, "", 200, 20000, 200, measured, "H200"},
    TensorRow{sm_90, 8, 8, 32, "s4", s32, false, false, "", 174, 11500, 174, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "s4", s32, false, false, "", 227, 17000, 227, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "s4", s32, false, false, "", 382, 31500, 382, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "s4", s32, true, false, "", 281, 22000, 281, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "s4", s32, true, false, "", 481, 40500, 481, measured, "H200"},
    TensorRow{sm_90, 8, 8, 32, "s4.u4", s32, false, false, "", 136, 7000, 136, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "s4.u4", s32, false, false, "", 189, 12900, 189, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "s4.u4", s32, false, false, "", 303, 23500, 303, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "s4.u4", s32, true, false, "", 198, 13500, 198, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "s4.u4", s32, true, false, "", 319, 24500, 319, measured, "H200"},
    TensorRow{sm_90, 8, 8, 32, "u4.s4", s32, false, false, "", 136, 7000, 136, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "u4.s4", s32, false, false, "", 148, 8700, 148, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "u4.s4", s32, false, false, "", 219, 14700, 219, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "u4.s4", s32, true, false, "", 198, 13500, 198, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "u4.s4", s32, true, false, "", 319, 24800, 319, measured, "H200"},
    TensorRow{sm_90, 8, 8, 32, "u4", s32, false, false, "", 95, 3550, 95, measured, "H200"},
    TensorRow{sm_90, 16, 8, 32, "u4", s32, false, false, "", 107, 5000, 107, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "u4", s32, false, false, "", 138, 7300, 138, measured, "H200"},
    TensorRow{sm_90, 16, 8, 64, "u4", s32, true, false, "", 115, 5900, 115, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "u4", s32, true, false, "", 160, 9600, 160, measured, "H200"},
    TensorRow{sm_90, 8, 8, 128, "b1.xor", s32, false, false, "", 89, 2800, 89, measured, "H200"},
    TensorRow{sm_90, 16, 8, 128, "b1.xor", s32, false, false, "", 95, 3700, 95, measured, "H200"},
    TensorRow{sm_90, 16, 8, 256, "b1.xor", s32, false, false, "", 113, 4700, 113, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f16, false, false, "row.row", 500, 24500, 500, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f32, false, false, "row.row", 465, 22500, 465, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f16, false, false, "row.col", 270, 16800, 270, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f32, false, false, "row.col", 232, 13300, 232, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f16, false, false, "col.row", 670, 30300, 670, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f32, false, false, "col.row", 638, 28200, 638, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f16, false, false, "col.col", 505, 23700, 505, measured, "H200"},
    TensorRow{sm_90, 8, 8, 4, "half", f32, false, false, "col.col", 467, 22500, 467, measured, "H200"},
};
// clang-format on

// Where an architecture has no row of its own: another's stands for it.
struct Likeness {
    Arch arch, as;
    bool only_quad_pairs;
    Evidence how;  // at best
    std::string_view source;
};
constexpr std::array likenesses{
    Likeness{sm_87, sm_80, false, derived, "as sm_80, by Jetson AGX Orin's figures"},
    Likeness{sm_89, sm_86, false, derived, "as sm_86"},
    // Volta's product is written out from sm_80 on, the same way.
    Likeness{sm_80, sm_90, true, derived, "written out as on sm_90"},
    Likeness{sm_86, sm_90, true, derived, "written out as on sm_90"},
    Likeness{sm_87, sm_90, true, derived, "written out as on sm_90"},
    Likeness{sm_89, sm_90, true, derived, "written out as on sm_90"},
};

constexpr bool same_product(const TensorRow& x, const TensorRow& y) {
    return x.m == y.m && x.n == y.n && x.k == y.k && x.elements == y.elements && x.d == y.d &&
           x.sparse == y.sparse && x.order == y.order;
}

template <class Visit>
constexpr void each_row(Visit visit) {
    for (const TensorRow& r : own_rows) visit(r);
    for (const Likeness& l : likenesses)
        for (const TensorRow& r : own_rows) {
            if (r.arch != l.as || (l.only_quad_pairs && r.order.empty())) continue;
            const bool has_own = std::ranges::any_of(own_rows, [&](const TensorRow& own) {
                return own.arch == l.arch && same_product(own, r);
            });
            if (has_own) continue;
            TensorRow row = r;
            row.arch = l.arch;
            row.how = std::max(r.how, l.how);
            row.source = l.source;
            visit(row);
        }
}

constexpr size_t row_count = [] {
    size_t n = 0;
    each_row([&](const TensorRow&) { ++n; });
    return n;
}();
constexpr auto rows = [] {
    std::array<TensorRow, row_count> out{};
    size_t n = 0;
    each_row([&](const TensorRow& r) { out[n++] = r; });
    return out;
}();

constexpr const TensorRow* find(Arch arch, bool geforce, const isa::MmaVariant& v) {
    const TensorRow* found = nullptr;
    for (const TensorRow& r : rows)
        if (r.arch == arch && r.m == v.m && r.n == v.n && r.k == v.k && fits(r, v) && r.d == v.d &&
            r.sparse == v.sparse && r.order == order_of(v) && (!r.geforce || geforce) &&
            (found == nullptr || r.geforce))
            found = &r;
    return found;
}

constexpr bool has(Arch arch, const isa::MmaVariant& v) {
    return isa::has(arch, v.target) && v.kind == isa::MmaKind::none;
}

static_assert(
    [] {
        for (const Modelled& m : modelled)
            for (const isa::MmaVariant& v : isa::mma_table::rows_without_kind)
                if (m.timed && has(m.arch, v) && find(m.arch, false, v) == nullptr) return false;
        return true;
    }(),
    "each variant of mma that a timed architecture runs has a row, its own or by a Likeness");

// The products that a wmma.mma is made of: of those that an architecture has, the last that fits.
constexpr auto tiles = std::to_array<std::string_view>({
    "mma.m16n8k8.f16.f16.f16.f16",
    "mma.m16n8k8.f32.f16.f16.f32",
    "mma.m8n8k16.s32.s8.s8.s32",
    "mma.m8n8k32.s32.s4.s4.s32",
    "mma.m8n8k128.s32.b1.b1.s32.xor.popc",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k4.f32.tf32.tf32.f32",
    "mma.m16n8k16.s32.s8.s8.s32",
    "mma.m8n8k128.s32.b1.b1.s32.and.popc",
    "mma.m8n8k4.f64.f64.f64.f64",
});

// Where a wmma.mma is sets of steps of its own, of 128 multiply-adds a cycle.
struct Steps {
    Arch arch;
    uint16_t to_f16, to_f32;  // cycles of latency
    uint16_t products;
    Evidence how;
    std::string_view source;
};
constexpr std::array steps{
    // Four sets of steps that end at cycles 18, 28, 38 and 54; in f16 at 64.
    Steps{sm_70, 64, 54, 4, literature, "V100, Raihan et al. 2019"},
};

}  // namespace

std::span<const TensorRow> tensor_rows() { return rows; }

const TensorRow* tensor_row(const Machine& machine, const isa::MmaVariant& v) {
    return has(machine.arch, v) ? find(machine.arch, machine.geforce, v) : nullptr;
}

unsigned wmma_moves(const isa::WmmaFragment& f, isa::Order order) {
    if (f.operand == isa::WmmaOperand::accumulator || !isa::move_of(f, order).exchanged) return 0;
    const isa::WmmaExtent whole = isa::extent(f);
    return whole.rows * whole.columns / 64u;
}

std::optional<WmmaCost> wmma_cost(const Machine& machine, const isa::WmmaVariant& v) {
    const unsigned products = unsigned{v.m} * v.n * v.k;
    for (const Steps& s : steps)
        if (s.arch == machine.arch)
            return WmmaCost{v.d == f32 ? s.to_f32 : s.to_f16,
                            static_cast<Centi>(products / 128 * 100), s.products, s.how, s.source};
    // The products that exist are the same for u8 as for s8; C's type does not matter.
    const isa::MmaVariant* tile = nullptr;
    for (const std::string_view key : tiles) {
        for (const isa::MmaVariant& m : isa::mma_variants())
            if (m.key == key && has(machine.arch, m) && (m.d == v.d || m.d == f64) &&
                isa::bits(m.a) == isa::bits(v.ab) && isa::is_float(m.a) == isa::is_float(v.ab) &&
                (m.a != Type::tf32 || v.ab == Type::tf32) && m.combine == v.combine)
                tile = &m;
    }
    if (tile == nullptr) return std::nullopt;
    const TensorRow* const row = tensor_row(machine, *tile);
    if (row == nullptr) return std::nullopt;
    const unsigned count = std::max(1u, products / (unsigned{tile->m} * tile->n * tile->k));
    const unsigned depth = std::max(1u, unsigned{v.k} / tile->k);
    return WmmaCost{static_cast<uint16_t>(row->latency * depth), count * row->interval,
                    static_cast<uint16_t>(count), std::max(row->how, derived), tile->key};
}

}  // namespace lockwarp::timing
