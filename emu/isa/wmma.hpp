// SPDX-License-Identifier: Apache-2.0
// The wmma instructions as rows: how a fragment lies in the registers, which products there are.
//
// PTX says nothing of where the elements of a fragment lie (PTX manual, "Matrix Fragments for
// WMMA": unspecified and architecture dependent); programs see it all the same, where they work on
// x[i] or store registers. Sources: an H200's registers (driver 580.159) for sm_90; for the others
// what NVIDIA's assembler (ptxas 13.0) makes of wmma.load, wmma.mma and wmma.store, executed
// symbolically; for sm_70, which it does not have, published measurements of the accumulator
// (github.com/ahennequ/cuda-tensorcores-register-mapping) and the fragments of mma.m8n8k4. Syntax,
// shapes and types: PTX manual, "Warp-level Matrix Instructions: wmma".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emu/isa/arch.hpp"
#include "emu/isa/evidence.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/modifiers.hpp"

namespace lockwarp::isa {

// Orders of a matrix's elements in memory that a fragment is for.
enum class Orders : uint8_t { any, row, col };

// C and D are laid out alike.
enum class WmmaOperand : uint8_t { a, b, accumulator };

// How a matrix passes between memory and the registers in one order of its elements: `bytes` that
// a lane moves at once, which is what its addresses must be aligned to. Exchanged: the lanes move
// them in the order that lies in memory, and give them to one another within each 8x8 block
// (MOVM in the assembler's code), so that lane and pair change places.
struct WmmaMove {
    uint8_t bytes;
    bool exchanged = false;
};

// A fragment on the architectures from number `from` up to and without `to`. Its elements by lane
// and register are those of `part`. Where quad-pairs hold parts of their own (Volta), quad-pair q's
// begins at row_step[0] * (q & 1) + row_step[1] * (q >> 1), and columns alike; an element may then
// be in several. A register may hold again what an earlier one holds; wmma.mma reads the first.
struct WmmaFragment {
    uint16_t from, to;
    uint8_t m, n, k;
    WmmaOperand operand;
    Type type;  // s8 stands for u8 too, s4 for u4
    Orders orders;
    Fragment part;  // A: (m, k)   B: (n, k)   C, D: (m, n)
    Threads threads;
    std::array<uint8_t, 2> row_step, column_step;
    WmmaMove by_row, by_column;  // of A and accumulators: rows; of B too, as memory has it
};

std::span<const WmmaFragment> wmma_fragments();

// nullptr where there is none on the architecture. The order matters for A and B alone.
const WmmaFragment* find_wmma_fragment(Arch arch, unsigned m, unsigned n, unsigned k,
                                       WmmaOperand operand, Type type, Order order);

// Rows and columns of the whole matrix, as `part` counts them.
struct WmmaExtent {
    unsigned rows, columns;
};
constexpr WmmaExtent extent(const WmmaFragment& f) {
    switch (f.operand) {
        case WmmaOperand::a:
            return {f.m, f.k};
        case WmmaOperand::b:
            return {f.n, f.k};
        default:
            return {f.m, f.n};
    }
}

// Whether consecutive elements in memory are those of one row of the whole matrix as `part` counts
// them: B is written (k, n) in PTX and (n, k) here.
constexpr bool rows_are_lines(WmmaOperand operand, Order order) {
    return (order == Order::row) != (operand == WmmaOperand::b);
}

constexpr const WmmaMove& move_of(const WmmaFragment& f, Order order) {
    return order == Order::row ? f.by_row : f.by_column;
}

// One wmma.mma variant. Rounding (.rn ... of f64) and .satfinite are not part of the key.
struct WmmaVariant {
    std::string_view key;  // "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32"
    uint8_t m, n, k;
    Type d, ab, c;  // A and B have one type
    Order a_order, b_order;
    Combine combine;  // of b1
    bool satfinite;   // the modifier .satfinite is allowed
    uint16_t target;  // least .target
};

std::span<const WmmaVariant> wmma_variants();

// nullptr where no row has these. `combine` none but for b1.
const WmmaVariant* find_wmma(unsigned m, unsigned n, unsigned k, Type d, Type ab, Type c,
                             Order a_order, Order b_order, Combine combine);

// The type that the tensor core sums in: f16 only where C and D both are. An f32 sum is converted
// to an f16 D last, to nearest even.
constexpr Type sum_type(const WmmaVariant& v) { return v.c == v.d ? v.d : Type::f32; }

// How the fragments of an architecture are known: from a GPU's registers, from the assembler's
// code, or worked out from what is published.
struct WmmaMachine {
    Arch arch;
    Evidence evidence;
    std::string_view source;
    bool converts_c;  // an f16 C beside an f32 D becomes f32 before the product
};
const WmmaMachine& wmma_machine(Arch arch);

}  // namespace lockwarp::isa
