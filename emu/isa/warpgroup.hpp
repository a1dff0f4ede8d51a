// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async: its variants, and where its operands lie, in the registers of a warpgroup's 128
// threads and in shared memory.
//
// Source: PTX manual, "Asynchronous Warpgroup Level Matrix Instructions", register fragments,
// allowed shapes, shared memory matrix layout and matrix descriptor; checked against results of an
// H200.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emu/isa/layout.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::isa {

inline constexpr unsigned warpgroup_lanes = 128;
inline constexpr unsigned warpgroup_rows = 64;  // m of every wgmma
inline constexpr unsigned max_warpgroup_n = 256;

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
    if (n < 8 || n > max_warpgroup_n || n % 8 != 0) return false;
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

// One variant: types and n. m is 64.
struct WarpgroupVariant {
    const WarpgroupTypes* types = nullptr;
    uint16_t n = 0;
    std::array<char, 40> text{};
    uint8_t length = 0;

    // "wgmma.m64n128k16.f32.f16.f16", "wgmma.m64n8k256.s32.b1.b1.and.popc".
    constexpr std::string_view key() const { return {text.data(), length}; }
};

// 32-bit registers of D in each lane.
constexpr unsigned registers_of_d(const WarpgroupVariant& v) { return v.n * bits(v.types->d) / 64; }

// Those of warpgroup_types in their order, n ascending.
std::span<const WarpgroupVariant> warpgroup_variants();

// nullptr: there is none.
const WarpgroupVariant* find_warpgroup(Type d, Type a, Type b, unsigned n, unsigned k);

// What the constants behind scale-d say.
struct WarpgroupOperands {
    bool negate_a = false, negate_b = false;        // imm-scale -1
    bool transpose_a = false, transpose_b = false;  // imm-trans 1
};

// The swizzle of an operand in shared memory.
enum class Swizzle : uint8_t { none, bytes_128, bytes_64, bytes_32 };  // by a descriptor's bits

// A matrix descriptor (PTX manual, "Matrix Descriptor Format"); bytes.
struct MatrixDescriptor {
    uint32_t start = 0;    // address in shared memory, below 256 KiB
    uint32_t leading = 0;  // leading dimension byte offset
    uint32_t stride = 0;   // stride dimension byte offset
    uint8_t base_offset = 0;
    Swizzle swizzle = Swizzle::none;
};

constexpr MatrixDescriptor decode_descriptor(uint64_t bits) {
    const auto field = [&](unsigned low) {
        return static_cast<uint32_t>(bits >> low & 0x3fff) << 4;
    };
    return {field(0), field(16), field(32), static_cast<uint8_t>(bits >> 49 & 7),
            static_cast<Swizzle>(bits >> 62)};
}

constexpr uint64_t encode_descriptor(const MatrixDescriptor& d) {
    return uint64_t{d.start >> 4} | uint64_t{d.leading >> 4} << 16 | uint64_t{d.stride >> 4} << 32 |
           uint64_t{d.base_offset} << 49 | uint64_t{static_cast<uint8_t>(d.swizzle)} << 62;
}

// Bytes of a row that is swizzled; 0: none is.
constexpr unsigned swizzle_bytes(Swizzle s) {
    return s == Swizzle::none ? 0 : 256u >> static_cast<unsigned>(s);
}

// The address of an element of A (line: row) or B (line: column), `width` bits wide; where a byte
// holds several, of that byte. transposed: lines are neighbours in memory, not elements along k
// (the manual's MN-major). Elements stand in rows of `span` bytes: 16 without a swizzle, else those
// of the swizzle. Measured on an H200: strides need not be those of a canonical layout; the XOR
// takes the final address; without a swizzle the two byte offsets are those of the eight lines and
// of the 16 bytes, with one the leading offset counts only between rows of a transposed operand.
constexpr uint32_t element_address(const MatrixDescriptor& d, bool transposed, unsigned width,
                                   unsigned line, unsigned k) {
    const unsigned span = d.swizzle == Swizzle::none ? 16 : swizzle_bytes(d.swizzle);
    uint32_t at = 0;
    if (!transposed) {
        const unsigned byte = k * width / 8;
        at = line / 8 * d.stride;
        at += d.swizzle == Swizzle::none ? line % 8 * 16 + byte / 16 * d.leading + byte % 16
                                         : line % 8 * span + byte;
    } else {
        const unsigned byte = line * width / 8;
        at = byte % span + k % 8 * span;
        at += d.swizzle == Swizzle::none ? byte / 16 * d.stride + k / 8 * d.leading
                                         : byte / span * d.leading + k / 8 * d.stride;
    }
    at += d.start;
    const uint32_t rows = span / 16 - 1;  // of 128 bytes that the pattern repeats after
    return at ^ ((((at >> 7) - d.base_offset) & rows) << 4);
}

}  // namespace lockwarp::isa
