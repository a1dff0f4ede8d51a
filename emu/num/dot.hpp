// SPDX-License-Identifier: Apache-2.0
// The matrix product D = A*B + C of one tensor-core instruction, on bits, as each architecture
// computes it.
//
// Values are bit patterns in the low end of a uint64_t (f16 in 16 bits, tf32 as f32 bits, s8 in 8
// bits). Nothing here knows lanes or registers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "emu/isa/arch.hpp"
#include "emu/isa/evidence.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/types.hpp"
#include "emu/num/round.hpp"

namespace lockwarp::num {

// How a matrix instruction computes one output element from its row of A and column of B.
enum class Method : uint8_t {
    fused_blocks,   // blocks of `block` products and C in one truncated sum (rules in dot.cpp)
    fma_routine,    // no tensor core: f32 multiply-adds, each rounded (m8n8k4 f16 from sm_80 on)
    fma_chain_f64,  // IEEE fused multiply-adds in ascending k
    integer,        // exact s32, wrapping, or clamped with satfinite
    f16_halves,     // fp8 operands as f16: the products with k%4 in {0, 1} in one fused sum from
                    // zero, those with k%4 in {2, 3} in one onto it, and C added to that (IEEE)
    scaled_block,   // as fused_blocks, the products' exponents raised by those of two factors
    scaled_groups,  // exact sums of 16 products, each times two factors, and C in one truncated sum
};

// The parameters of a fused sum; all zero for the other methods.
struct FusedSum {
    uint8_t block;          // L: products in one sum, at most
    uint8_t fraction;       // F: bits kept below the largest exponent
    int16_t zero_exponent;  // e_zero: exponent that a zero product or zero C takes part with
    uint8_t kept;           // bits of the result's significand
    Rounding rounding;      // of the result
    bool operator==(const FusedSum&) const = default;
};

// How one kind of product is computed, wherever it is computed so.
struct Arithmetic {
    isa::Type a;      // type of A and B: s8, s4 and e4m3 stand for all combinations with u8, with
                      // u4, and with e5m2, e3m2, e2m3 and e2m1
    isa::Type d;      // type of C and D
    uint8_t m, n, k;  // 0: any shape
    Method method;
    FusedSum sum{};
    // With .block_scale: mxf4 stands for mxf4nvf4 too. .kind::f8f6f4 has no rows: it is as none.
    isa::MmaKind kind = isa::MmaKind::none;
    bool warpgroup = false;  // of wgmma; the others are of mma and wmma
};

// The same on one architecture, and how it is known that it gives the hardware's bits.
struct DotRow : Arithmetic {
    isa::Arch arch;
    isa::Evidence evidence;
    isa::Evidence chain;      // of a k of several blocks
    std::string_view source;  // the GPU it was measured on, or the publication
};

// All rows, in the order of the architectures.
std::span<const DotRow> dot_rows();

// The row for one instruction on one architecture, or nullptr where the architecture has none.
// A row with m, n, k given goes before one with 0.
const DotRow* find_dot_row(isa::Arch arch, int m, int n, int k, isa::Type a, isa::Type d,
                           isa::MmaKind kind = isa::MmaKind::none);

// The same of wgmma; its block is its k.
const DotRow* find_warpgroup_row(isa::Arch arch, isa::Type a, isa::Type d);

struct Known {
    isa::Evidence evidence;
    std::string_view source;
};

// How a result with this k is known where `row` answers for it.
Known known(const DotRow& row, int k);
// The same of a variant of mma: of sparse products few are measured.
Known known(const DotRow& row, const isa::MmaVariant& v);

struct MatrixShape {
    int m, n, k;
};

// The types of one matrix product. c and d may differ (m8n8k4: f16 C, f32 D).
struct MatrixTypes {
    isa::Type a, b, c, d;
    bool satfinite = false;
    isa::Combine combine = isa::Combine::none;  // of b1: a product is a xor b, or a and b
    Rounding rounding = Rounding::rn;           // of the steps of an f64 product
};

// The most products in one fused sum, and the largest k of a product. scaled_groups sums
// group_products of them at a time, max_groups groups.
inline constexpr int max_block = 32;
inline constexpr int max_k = 256;
inline constexpr int group_products = 16;
inline constexpr int max_groups = 4;

// The factors of a scaled product: `count` for each row of A and each column of B, one after
// another, each for an equal part of k.
struct Scales {
    isa::Type type;  // ue8m0 or ue4m3, a byte each
    int count;
    const uint8_t* a;  // m * count
    const uint8_t* b;  // n * count
};

// D[m][n] = sum over k of A[m][k]*B[k][n] + C[m][n], for every element.
// a: m*k values, row by row. b: n*k values, B's columns one after another (b[n*K + k]).
// c, d: m*n values, row by row; d may be c.
// This is the definition; every fast path is tested against it.
void matrix_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                    const uint64_t* b, const uint64_t* c, uint64_t* d);

// The same with factors, for rows of a scaled method (dot_scaled.cpp); k is at most the row's
// block, and of scaled_groups a multiple of group_products times scales.count.
void scaled_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const Scales& scales,
                    const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d);

// The same bits, faster where this row and this processor have a vector path.
void matrix_product_fast(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                         const uint64_t* b, const uint64_t* c, uint64_t* d);

}  // namespace lockwarp::num
