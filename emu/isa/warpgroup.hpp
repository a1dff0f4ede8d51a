// SPDX-License-Identifier: Apache-2.0
// Where the operands of wgmma.mma_async lie in the registers of a warpgroup's 128 threads. The
// instruction itself is not executed; these rows answer questions.
//
// Source: PTX manual, "Asynchronous Warpgroup Level Matrix Instructions", register fragments and
// allowed shapes; checked against results of an H200.
#pragma once

#include <array>
#include <cstdint>

#include "emu/isa/layout.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::isa {

inline constexpr unsigned warpgroup_lanes = 128;
inline constexpr unsigned warpgroup_rows = 64;  // m of every wgmma

// Types of D, of A and of B that go together, and k: 256 bits of A's row.
struct WarpgroupTypes {
    Type d, a, b;
    uint16_t k;
    bool every_eighth_n;  // n = 8, 16, ... 256; else 8, 16, 24, 32, 48, ... 256
};

inline constexpr auto warpgroup_types = std::to_array<WarpgroupTypes>({
    {Type::f16, Type::f16, Type::f16, 16, true},
    {Type::f32, Type::f16, Type::f16, 16, true},
    {Type::f32, Type::bf16, Type::bf16, 16, true},
    {Type::f32, Type::tf32, Type::tf32, 8, true},
    {Type::f16, Type::e4m3, Type::e4m3, 32, true},
    {Type::f32, Type::e4m3, Type::e4m3, 32, true},
    {Type::f16, Type::e4m3, Type::e5m2, 32, true},
    {Type::f32, Type::e4m3, Type::e5m2, 32, true},
    {Type::f16, Type::e5m2, Type::e4m3, 32, true},
    {Type::f32, Type::e5m2, Type::e4m3, 32, true},
    {Type::f16, Type::e5m2, Type::e5m2, 32, true},
    {Type::f32, Type::e5m2, Type::e5m2, 32, true},
    {Type::s32, Type::s8, Type::s8, 32, false},
    {Type::s32, Type::s8, Type::u8, 32, false},
    {Type::s32, Type::u8, Type::s8, 32, false},
    {Type::s32, Type::u8, Type::u8, 32, false},
    {Type::s32, Type::b1, Type::b1, 256, false},
});

constexpr bool warpgroup_n(const WarpgroupTypes& t, unsigned n) {
    if (n < 8 || n > 256 || n % 8 != 0) return false;
    return t.every_eighth_n || n <= 32 ? true : n % 16 == 0;
}

// (thread, value) -> (row, column) of the 64 x n accumulator, whatever its type; n % 8 == 0.
constexpr Layout warpgroup_accumulator(unsigned n) {
    Layout l = parse_layout("((4,8,4),(2,2,1)):((128,1,16),(64,8,512))");
    l.value[2].shape = static_cast<uint16_t>(n / 8);
    l.text = {};
    return l;
}

// The same of A held in registers, 64 x k elements of `width` bits.
constexpr Layout warpgroup_a(unsigned width) {
    switch (width) {
        case 32:
            return parse_layout("((4,8,4),(2,2)):((64,1,16),(8,256))");
        case 16:
            return parse_layout("((4,8,4),(2,2,2)):((128,1,16),(64,8,512))");
        case 8:
            return parse_layout("((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))");
        default:  // 1
            return parse_layout("((4,8,4),(32,2,2)):((2048,1,16),(64,8,8192))");
    }
}

}  // namespace lockwarp::isa
