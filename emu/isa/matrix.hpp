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

#include "emu/isa/layout.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::isa {

// How a fragment of rows x columns elements lies in the registers of the threads that hold it.
// An element of `bits` bits: a register holds 32/bits of them, low bits first (64: two words).
struct Fragment {
    std::string_view name;  // shape and element width, as in "16x16.b16"
    uint8_t rows, columns;  // A: m, k   B: n, k   C, D: m, n
    uint8_t bits;
    Layout layout;
};

enum class FragmentId : uint8_t {
    a_8x4_b64,
    a_8x16_b8,
    a_16x4_b32,
    a_16x4_b64,
    a_16x8_b16,
    a_16x8_b32,
    a_16x8_b64,
    a_16x16_b16,
    a_16x16_b8,
    a_16x16_b64,
    a_16x32_b8,
    b_8x4_b32,
    b_8x4_b64,
    b_8x8_b16,
    b_8x8_b32,
    b_8x8_b64,
    b_8x16_b16,
    b_8x16_b8,
    b_8x16_b64,
    b_8x32_b8,
    c_8x8,
    c_16x8,
    // Volta: eight threads of a quad-pair hold an 8x4 operand or an 8x8 accumulator.
    volta_8x4_by_row,
    volta_8x4_by_column,
    volta_8x8_b16,
    volta_8x8_b32,
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

// One mma.sync variant. The key names it everywhere.
struct MmaVariant {
    std::string_view key;  // "mma.m16n8k16.f32.f16.f16.f32"
    uint8_t m, n, k;
    Type d, a, b, c;
    Order a_order, b_order;
    FragmentId fragment_a, fragment_b, fragment_c, fragment_d;
    Threads threads;
    bool satfinite;            // the modifier .satfinite is allowed
    uint16_t target;           // least .target
    uint16_t ptx;              // least .version, major * 10 + minor
    std::string_view feature;  // what the assembler names in "Feature '...' requires .target"
};

std::span<const MmaVariant> mma_variants();

// nullptr where no row has this shape, these types and this order.
const MmaVariant* find_mma(unsigned m, unsigned n, unsigned k, Type d, Type a, Type b, Type c,
                           Order a_order, Order b_order);

// The 8x8 matrix of 16-bit elements that ldmatrix, stmatrix and movmatrix move: lane and half of a
// register -> row, column. With .trans, row and column change places.
constexpr FragmentId moved_matrix = FragmentId::c_8x8;

// Registers (32-bit; 64-bit for f64) that one thread gives for a fragment of `type` elements.
constexpr unsigned registers_of(const Fragment& f, Type type) {
    const unsigned width = bits(type) == 64 ? 64 : 32;
    return f.layout.values() * bits(type) / width;
}

}  // namespace lockwarp::isa
