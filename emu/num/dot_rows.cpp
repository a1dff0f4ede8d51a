// SPDX-License-Identifier: Apache-2.0
// Which arithmetic each architecture's matrix instructions have.
//
// A row without a shape answers for every shape: the block of an instruction with a smaller k is
// that k, and a larger k is a chain of blocks. Sources: "A100" and the like name the GPU whose
// published results the row was replayed against without a mismatch (Khattak and Mikaitis, arXiv
// 2512.07004, github.com/north-numerical-computing/MATLAB-tensor-core); "H200" was measured on
// one, driver 580; "MMA-Sim" is arXiv 2511.10909.
#include <array>

#include "emu/num/dot.hpp"

namespace lockwarp::num {
namespace {

using isa::Arch;
using isa::Type;
using enum Method;
using enum Evidence;

constexpr FusedSum volta_f32{4, 23, -131, 24, Rounding::rz};
constexpr FusedSum volta_f16{4, 23, -19, 11, Rounding::rn};
constexpr FusedSum ampere_f32{8, 24, -132, 24, Rounding::rz};
constexpr FusedSum ampere_tf32{4, 24, -132, 24, Rounding::rz};
constexpr FusedSum ampere_f16{8, 24, -20, 11, Rounding::rn};
constexpr FusedSum ada_fp8_f32{16, 13, -132, 14, Rounding::rz};
constexpr FusedSum ada_fp8_f16{16, 13, -20, 11, Rounding::rn};
constexpr FusedSum hopper_f32{16, 25, -133, 24, Rounding::rz};
// wmma's m16n16k8 is two instructions of k 4, unlike mma's m16n8k8 (HMMA.1684 in its code).
constexpr FusedSum hopper_tf32_k4{4, 25, -133, 24, Rounding::rz};
constexpr FusedSum hopper_tf32{8, 25, -133, 24, Rounding::rz};
constexpr FusedSum hopper_f16{16, 25, -21, 11, Rounding::rn};
constexpr FusedSum blackwell_fp8_f32{32, 25, -133, 24, Rounding::rz};
constexpr FusedSum blackwell_fp8_f16{32, 25, -21, 11, Rounding::rn};
constexpr FusedSum blackwell_mx_f32{32, 25, -133, 24, Rounding::rz};
constexpr FusedSum blackwell_fp4_f32{max_groups * group_products, 35, -139, 24, Rounding::rz};
constexpr FusedSum unused{};

// Turing's tensor core has Ampere's numbers, by T4 tests that need one sum of nine terms; one
// published summary reads five terms.
constexpr std::string_view turing = "MMA-Sim, T4 tests; one paper's summary reads 5 terms, not 9";
constexpr std::string_view routine = "H200, and the same SASS from ptxas 13.0";
constexpr std::string_view fp8_by_f16 = "SASS from ptxas 13.0, as on sm_90";

constexpr std::array rows{
    DotRow{Arch::sm_70, Type::f16, Type::f32, 0, 0, 0, fused_blocks, volta_f32, replayed,
           "V100; zero exponent: MMA-Sim"},
    DotRow{Arch::sm_70, Type::f16, Type::f16, 0, 0, 0, fused_blocks, volta_f16, replayed,
           "V100; zero exponent: MMA-Sim, where another source has -20"},

    DotRow{Arch::sm_75, Type::f16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, literature,
           turing},
    DotRow{Arch::sm_75, Type::f16, Type::f16, 0, 0, 0, fused_blocks, ampere_f16, literature,
           turing},
    DotRow{Arch::sm_75, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_75, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_75, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},

    DotRow{Arch::sm_80, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_80, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_80, Type::f16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "A100, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_80, Type::f16, Type::f16, 0, 0, 0, fused_blocks, ampere_f16, replayed,
           "A100, one block; chain and zero exponent: MMA-Sim, another source has -21"},
    DotRow{Arch::sm_80, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "A100, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_80, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, ampere_tf32, replayed,
           "A100, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_80, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_80, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_80, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_80, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},

    DotRow{Arch::sm_86, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_86, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_86, Type::f16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "A2, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_86, Type::f16, Type::f16, 0, 0, 0, fused_blocks, ampere_f16, replayed,
           "A2, one block; chain and zero exponent: MMA-Sim, another source has -21"},
    DotRow{Arch::sm_86, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "A2, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_86, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, ampere_tf32, replayed,
           "A2, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_86, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_86, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_86, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_86, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},

    DotRow{Arch::sm_89, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_89, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_89, Type::f16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "L40S, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_89, Type::f16, Type::f16, 0, 0, 0, fused_blocks, ampere_f16, replayed,
           "L40S, one block; chain and zero exponent: MMA-Sim, another source has -21"},
    DotRow{Arch::sm_89, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32, replayed,
           "L40S, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_89, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, ampere_tf32, replayed,
           "L40S, one block; chain: MMA-Sim"},
    DotRow{Arch::sm_89, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_89, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_89, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_89, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_89, Type::e4m3, Type::f32, 0, 0, 0, fused_blocks, ada_fp8_f32, replayed,
           "L40S"},
    DotRow{Arch::sm_89, Type::e4m3, Type::f16, 0, 0, 0, fused_blocks, ada_fp8_f16, literature,
           "MMA-Sim"},

    DotRow{Arch::sm_90, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::f16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, measured, "H200"},
    DotRow{Arch::sm_90, Type::f16, Type::f16, 0, 0, 0, fused_blocks, hopper_f16, measured,
           "H200; MMA-Sim's zero exponent, -22, differs"},
    DotRow{Arch::sm_90, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, measured, "H200"},
    DotRow{Arch::sm_90, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, hopper_tf32, measured,
           "H200"},
    DotRow{Arch::sm_90, Type::tf32, Type::f32, 16, 16, 8, fused_blocks, hopper_tf32_k4, measured,
           "H200"},
    DotRow{Arch::sm_90, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::s8, Type::s32, 0, 0, 0, integer, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::s4, Type::s32, 0, 0, 0, integer, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::b1, Type::s32, 0, 0, 0, integer, unused, measured, "H200"},
    DotRow{Arch::sm_90, Type::e4m3, Type::f32, 0, 0, 0, f16_halves, hopper_f32, measured, "H200"},
    DotRow{Arch::sm_90, Type::e4m3, Type::f16, 0, 0, 0, f16_halves, hopper_f16, measured, "H200"},

    DotRow{Arch::sm_100, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_100, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_100, Type::f16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, replayed, "B200"},
    DotRow{Arch::sm_100, Type::f16, Type::f16, 0, 0, 0, fused_blocks, hopper_f16, literature,
           "as sm_90"},
    DotRow{Arch::sm_100, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, replayed,
           "B200"},
    DotRow{Arch::sm_100, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, hopper_tf32, replayed,
           "B200"},
    DotRow{Arch::sm_100, Type::tf32, Type::f32, 16, 16, 8, fused_blocks, hopper_tf32_k4, derived,
           "as sm_90; HMMA.1684 in the code of ptxas 13.0"},
    DotRow{Arch::sm_100, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_100, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_100, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_100, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_100, Type::e4m3, Type::f32, 0, 0, 0, f16_halves, hopper_f32, literature,
           fp8_by_f16},
    DotRow{Arch::sm_100, Type::e4m3, Type::f16, 0, 0, 0, f16_halves, hopper_f16, literature,
           fp8_by_f16},

    DotRow{Arch::sm_120, Type::f16, Type::f32, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_120, Type::f16, Type::f16, 8, 8, 4, fma_routine, unused, literature, routine},
    DotRow{Arch::sm_120, Type::f16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_120, Type::f16, Type::f16, 0, 0, 0, fused_blocks, hopper_f16, literature,
           "as sm_90"},
    DotRow{Arch::sm_120, Type::bf16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_120, Type::tf32, Type::f32, 0, 0, 0, fused_blocks, hopper_tf32, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_120, Type::tf32, Type::f32, 16, 16, 8, fused_blocks, hopper_tf32_k4, derived,
           "as sm_90; HMMA.1684 in the code of ptxas 13.0"},
    DotRow{Arch::sm_120, Type::f64, Type::f64, 0, 0, 0, fma_chain_f64, unused, literature,
           "MMA-Sim"},
    DotRow{Arch::sm_120, Type::s8, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_120, Type::s4, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_120, Type::b1, Type::s32, 0, 0, 0, integer, unused, literature, "PTX manual"},
    DotRow{Arch::sm_120, Type::e4m3, Type::f32, 0, 0, 0, fused_blocks, blackwell_fp8_f32,
           literature, "MMA-Sim"},
    DotRow{Arch::sm_120, Type::e4m3, Type::f16, 0, 0, 0, fused_blocks, blackwell_fp8_f16,
           literature, "MMA-Sim"},
    DotRow{Arch::sm_120, Type::e4m3, Type::f32, 0, 0, 0, scaled_block, blackwell_mx_f32, literature,
           "MMA-Sim", isa::MmaKind::mxf8f6f4},
    DotRow{Arch::sm_120, Type::e2m1, Type::f32, 0, 0, 0, scaled_groups, blackwell_fp4_f32,
           literature, "MMA-Sim", isa::MmaKind::mxf4},
};

static_assert(
    [] {
        for (size_t i = 0; i < rows.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (rows[i].arch == rows[j].arch && rows[i].a == rows[j].a &&
                    rows[i].d == rows[j].d && rows[i].m == rows[j].m && rows[i].n == rows[j].n &&
                    rows[i].k == rows[j].k && rows[i].kind == rows[j].kind)
                    return false;
        return true;
    }(),
    "no two rows answer the same question");

static_assert(
    [] {
        for (size_t i = 1; i < rows.size(); ++i)
            if (rows[i].arch < rows[i - 1].arch) return false;
        return true;
    }(),
    "rows stand in the order of the architectures");

static_assert(
    [] {
        for (const DotRow& r : rows) {
            const bool any_shape = r.m == 0 && r.n == 0 && r.k == 0;
            const bool one_shape = r.m != 0 && r.n != 0 && r.k != 0;
            if (!any_shape && !one_shape) return false;
            if (r.source.empty()) return false;
            const bool scaled = r.method == scaled_block || r.method == scaled_groups;
            if (scaled != (r.kind != isa::MmaKind::none)) return false;
            if (r.method != fused_blocks && r.method != f16_halves && !scaled) {
                if (r.sum.block != 0 || r.sum.kept != 0) return false;
                continue;
            }
            // The plain sum is a 64-bit integer: each product stays below 4, C below 2. Of groups
            // see dot_scaled.cpp.
            const bool groups = r.method == scaled_groups;
            if (r.sum.block == 0 || r.sum.block > (groups ? max_k : max_block)) return false;
            if (!groups && r.sum.fraction > 32) return false;
            if (!has_format(r.a) || !has_format(r.d)) return false;
            if (r.sum.kept == 0 || r.sum.kept > format(r.d).fraction_bits + 1) return false;
            if (r.sum.zero_exponent >= min_exponent(format(r.d))) return false;
        }
        return true;
    }(),
    "each row is whole");

// The sparse products that were measured. A product of a sparse A is that of the elements which A
// holds with those of B that go with them; an infinity or NaN among the rest of B is not looked at.
struct SparseRow {
    Arch arch;
    Type a;
    std::string_view source;
};

constexpr std::array sparse_rows{
    SparseRow{Arch::sm_90, Type::f16, "H200"},  SparseRow{Arch::sm_90, Type::bf16, "H200"},
    SparseRow{Arch::sm_90, Type::tf32, "H200"}, SparseRow{Arch::sm_90, Type::e4m3, "H200"},
    SparseRow{Arch::sm_90, Type::s8, "H200"},   SparseRow{Arch::sm_90, Type::s4, "H200"},
};

// What a row's type stands for as well.
constexpr Type stored_type(Type a, isa::MmaKind kind) {
    switch (a) {
        case Type::u8:
            return Type::s8;
        case Type::u4:
            return Type::s4;
        case Type::e5m2:
        case Type::e3m2:
        case Type::e2m3:
            return Type::e4m3;
        case Type::e2m1:
            return kind == isa::MmaKind::mxf4 ? a : Type::e4m3;
        default:
            return a;
    }
}

constexpr isa::MmaKind stored_kind(isa::MmaKind kind) {
    return kind == isa::MmaKind::f8f6f4     ? isa::MmaKind::none
           : kind == isa::MmaKind::mxf4nvf4 ? isa::MmaKind::mxf4
                                            : kind;
}

}  // namespace

std::span<const DotRow> dot_rows() { return rows; }

Known known(const DotRow& row, int k) {
    // The L40S gave sums of 32 products of fp8: two blocks.
    const bool chain = row.method == fused_blocks && k > row.sum.block && row.a != Type::e4m3;
    return {chain && row.evidence == replayed ? literature : row.evidence, row.source};
}

Known known(const DotRow& row, const isa::MmaVariant& v) {
    if (!v.sparse) return known(row, v.k);
    for (const SparseRow& s : sparse_rows)
        if (s.arch == row.arch && s.a == stored_type(v.a, v.kind)) return {measured, s.source};
    if (v.scales != 0) return {derived, "as dense; how factors meet a sparse A is unknown"};
    return {derived, "as the dense product of the elements that A holds"};
}

const DotRow* find_dot_row(Arch arch, int m, int n, int k, Type a, Type d, isa::MmaKind kind) {
    kind = stored_kind(kind);
    const DotRow* found = nullptr;
    for (const DotRow& r : rows) {
        if (r.arch != arch || r.a != stored_type(a, kind) || r.d != d || r.kind != kind) continue;
        if (r.m == m && r.n == n && r.k == k) return &r;
        if (r.m == 0) found = &r;
    }
    return found;
}

}  // namespace lockwarp::num
