// SPDX-License-Identifier: Apache-2.0
// The matrix instructions as rows: shapes, types, fragments, and what may use them.
//
// Sources: PTX manual, "Warp-level matrix instructions: mma", "ldmatrix", "stmatrix", "movmatrix";
// the layouts are those of the fragment figures there, written as CuTe layouts (layout.hpp).
// The wording of the legality messages is that of NVIDIA's assembler (ptxas 13.0).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emu/isa/arch.hpp"
#include "emu/isa/layout.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::isa {

// How a fragment of rows x columns elements lies in the registers of the threads that hold it.
// An element has `bits` bits: a register holds 32/bits of them, low bits first (64: two words).
struct Fragment {
    std::string_view name;   // shape and element width, as in "16x16.b16"
    uint16_t rows, columns;  // A: m, k   B: n, k   C, D: m, n
    uint8_t bits;            // 0: those of the element's type
    Layout layout;
};

// The bits that an element of a type has in a fragment, and how many of them lie below its own:
// with .kind::f8f6f4 and mxf8f6f4 each element has a byte, where one of 4 bits is bits 2 to 5 and
// one of 6 bits 0 to 5 (PTX manual, "mma"; CuTe's fp4_shift). The rest is padding and not read.
constexpr unsigned held_bits(const Fragment& f, Type type) {
    return f.bits != 0 ? f.bits : bits(type);
}
constexpr unsigned padding_below(const Fragment& f, Type type) {
    return held_bits(f, type) == 8 && bits(type) == 4 ? 2 : 0;
}

enum class FragmentId : uint8_t {
    a_8x4_b64,
    a_8x16_b8,
    a_8x32_b4,
    a_8x128_b1,
    a_16x4_b32,
    a_16x4_b64,
    a_16x8_b16,
    a_16x8_b32,
    a_16x8_b64,
    a_16x16_b16,
    a_16x16_b8,
    a_16x16_b64,
    a_16x32_b4,
    a_16x32_b8,
    a_16x64_b4,
    a_16x128_b1,
    a_16x256_b1,
    b_8x4_b32,
    b_8x4_b64,
    b_8x8_b16,
    b_8x8_b32,
    b_8x8_b64,
    b_8x16_b16,
    b_8x16_b8,
    b_8x16_b64,
    b_8x16_b32,
    b_8x32_b4,
    b_8x32_b8,
    b_8x32_b16,
    b_8x64_b4,
    b_8x64_b8,
    b_8x128_b4,
    b_8x128_b1,
    b_8x256_b1,
    c_8x8,
    c_16x8,
    // Volta: eight threads of a quad-pair hold an 8x4 operand or an 8x8 accumulator.
    volta_8x4_by_row,
    volta_8x4_by_column,
    volta_8x8_b16,
    volta_8x8_b32,
    // Metadata of a sparse A, by row and group. Its threads are the lanes that give it: some of
    // each four lanes.
    e_16x4,
    e_16x8_by_groups,
    e_16x8_by_rows,
    e_16x16,
    count_
};

const Fragment& fragment(FragmentId id);
std::span<const Fragment> fragments();

// Which lanes take part. A quad-pair q is lanes 4q..4q+3 and 16+4q..16+4q+3; its thread t of 0..7
// is lane 4q + t%4 + 16*(t/4) (PTX manual, "mma.m8n8k4"; CuTe's ThrID (4,2):(1,16)).
enum class Threads : uint8_t { warp, quad_pairs };

constexpr unsigned instances(Threads t) { return t == Threads::warp ? 1 : 4; }
constexpr unsigned lane_of(Threads t, unsigned instance, unsigned thread) {
    return t == Threads::warp ? thread : instance * 4 + thread % 4 + 16 * (thread / 4);
}

enum class Order : uint8_t { row, col };

// Sparse A (PTX manual, "Sparse matrix storage"). Of each group of four units along k A holds two;
// a metadata element has four bits, the place of the first in its group and that of the second. A
// unit is 16 bits, or 8 where an element is held in 8 or 4: an element of .tf32 is two units, and
// two of .s4 or .u4 are one.
inline constexpr unsigned group_units = 4;
constexpr unsigned unit_bits(unsigned held) { return held >= 16 ? 16 : 8; }

// The qualifier .kind.
enum class MmaKind : uint8_t { none, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };

constexpr std::string_view text_of(MmaKind k) {
    constexpr std::array<std::string_view, 5> texts{"", ".kind::f8f6f4", ".kind::mxf8f6f4",
                                                    ".kind::mxf4", ".kind::mxf4nvf4"};
    return texts[static_cast<size_t>(k)];
}

// A feature of few machines: the .target must name one of them, with this suffix at least.
struct Specific {
    std::string_view words;  // empty: there is none; else "WORDS not supported on .target '...'"
    Suffix suffix = Suffix::none;
};

// One mma.sync variant. The key names it everywhere.
struct MmaVariant {
    std::string_view key;  // "mma.m16n8k16.f32.f16.f16.f32", "mma.m8n8k128.s32.b1.b1.s32.xor.popc"
    uint16_t m = 0, n = 0, k = 0;
    Type d{}, a{}, b{}, c{};
    FragmentId fragment_a{}, fragment_b{}, fragment_c{}, fragment_d{};
    uint16_t target = 0;            // least .target
    uint16_t ptx = 0;               // least .version, major * 10 + minor
    std::string_view feature = {};  // what the assembler names in "Feature '...' requires .target"
    bool satfinite = false;         // the modifier .satfinite is allowed
    Combine combine = Combine::none;  // of b1: what is done with two bits, .xor.popc or .and.popc
    std::string_view also = {};       // a second feature the assembler asks for, and
    uint16_t also_ptx = 0;            // the least .version that has it
    Order a_order = Order::row;
    Order b_order = Order::col;
    Threads threads = Threads::warp;
    // mma.sp: fragment_a holds half of A's k elements, and fragment_e says which.
    bool sparse = false;
    FragmentId fragment_e{};
    bool ordered = false;  // with .sp::ordered_metadata only
    MmaKind kind = MmaKind::none;
    // .block_scale: each row of A and each column of B has `scales` factors of type `scale`, each
    // for an equal part of k. 0 and Type::none without.
    Type scale = Type::none;
    uint8_t scales = 0;
    std::array<Specific, 2> specific{};  // asked for in this order

    constexpr unsigned stored_k() const { return sparse ? k / 2u : k; }
    // What the module's .target has to end with.
    constexpr Suffix suffix() const {
        return specific[1].words.empty() ? specific[0].suffix : specific[1].suffix;
    }
};

// Lanes of each group of four that give metadata: 1, 2 or 4. The selector is below 4 divided by it.
unsigned metadata_lanes(const MmaVariant& v);

// ".scale_vec::2X" for two; empty for none.
constexpr std::string_view scale_vec_text(unsigned scales) {
    return scales == 1   ? ".scale_vec::1X"
           : scales == 2 ? ".scale_vec::2X"
           : scales == 4 ? ".scale_vec::4X"
                         : "";
}

std::span<const MmaVariant> mma_variants();

// What the modifiers of an mma say, as find_mma compares it.
struct MmaQuery {
    unsigned m = 0, n = 0, k = 0;
    std::array<Type, 4> types{};  // d, a, b, c
    std::array<Order, 2> orders{Order::row, Order::col};
    Combine combine = Combine::none;
    bool sparse = false;  // mma.sp
    MmaKind kind = MmaKind::none;
    Type scale = Type::none;
    uint8_t scales = 0;
};

// nullptr where no row has this shape, these types and this order.
const MmaVariant* find_mma(const MmaQuery& q);

// The 8x8 matrix of 16-bit elements that ldmatrix, stmatrix and movmatrix move: lane and half of a
// register -> row, column. With .trans, row and column change places.
constexpr FragmentId moved_matrix = FragmentId::c_8x8;

// Registers (32-bit; 64-bit for f64) that one thread gives for a fragment of `type` elements.
constexpr unsigned registers_of(const Fragment& f, Type type) {
    const unsigned width = bits(type) == 64 ? 64 : 32;
    return f.layout.values() * held_bits(f, type) / width;
}

}  // namespace lockwarp::isa
