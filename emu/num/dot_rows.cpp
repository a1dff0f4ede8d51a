// SPDX-License-Identifier: Apache-2.0
// Which arithmetic each architecture's matrix instructions have.
//
// Lists of arithmetic are shared; an architecture is a sum of lists, and rows of how that is known
// lie over it. A product without a shape is that of every shape: the block of an instruction with a
// smaller k is that k, and a larger k is a chain of blocks. Sources: "A100" and the like name the
// GPU whose published results the row was replayed against without a mismatch (Khattak and
// Mikaitis, arXiv 2512.07004, github.com/north-numerical-computing/MATLAB-tensor-core); "H200" was
// measured on one, driver 580; "MMA-Sim" is arXiv 2511.10909.
#include <array>
#include <optional>
#include <span>

#include "emu/num/dot.hpp"

namespace lockwarp::num {
namespace {

using isa::Arch;
using isa::Evidence;
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
constexpr FusedSum hopper_wgmma_fp8_f32{32, 13, -133, 14, Rounding::rz};
constexpr FusedSum hopper_wgmma_fp8_f16{32, 13, -21, 11, Rounding::rn};
constexpr FusedSum blackwell_fp8_f32{32, 25, -133, 24, Rounding::rz};
constexpr FusedSum blackwell_fp8_f16{32, 25, -21, 11, Rounding::rn};
constexpr FusedSum blackwell_mx_f32{32, 25, -133, 24, Rounding::rz};
constexpr FusedSum blackwell_fp4_f32{max_groups * group_products, 35, -139, 24, Rounding::rz};

// The lists of arithmetic. A product with a shape of its own goes before one for any shape.
enum class List : uint8_t {
    volta,
    turing,
    ampere,
    hopper,
    routine,  // m8n8k4 of f16, which from sm_80 on no tensor core has
    f64,
    integers,
    ada_fp8,
    fp8_by_f16,
    blackwell_fp8,
    block_scale,
    warpgroup,
    count_
};

constexpr std::array volta{
    Arithmetic{Type::f16, Type::f32, 0, 0, 0, fused_blocks, volta_f32},
    Arithmetic{Type::f16, Type::f16, 0, 0, 0, fused_blocks, volta_f16},
};
// Ampere's tensor core has Turing's numbers.
constexpr std::array turing{
    Arithmetic{Type::f16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32},
    Arithmetic{Type::f16, Type::f16, 0, 0, 0, fused_blocks, ampere_f16},
};
constexpr std::array ampere{
    Arithmetic{Type::bf16, Type::f32, 0, 0, 0, fused_blocks, ampere_f32},
    Arithmetic{Type::tf32, Type::f32, 0, 0, 0, fused_blocks, ampere_tf32},
};
constexpr std::array hopper{
    Arithmetic{Type::f16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32},
    Arithmetic{Type::f16, Type::f16, 0, 0, 0, fused_blocks, hopper_f16},
    Arithmetic{Type::bf16, Type::f32, 0, 0, 0, fused_blocks, hopper_f32},
    Arithmetic{Type::tf32, Type::f32, 0, 0, 0, fused_blocks, hopper_tf32},
    Arithmetic{Type::tf32, Type::f32, 16, 16, 8, fused_blocks, hopper_tf32_k4},
};
constexpr std::array routine{
    Arithmetic{Type::f16, Type::f32, 8, 8, 4, fma_routine},
    Arithmetic{Type::f16, Type::f16, 8, 8, 4, fma_routine},
};
constexpr std::array f64{Arithmetic{Type::f64, Type::f64, 0, 0, 0, fma_chain_f64}};
constexpr std::array integers{
    Arithmetic{Type::s8, Type::s32, 0, 0, 0, integer},
    Arithmetic{Type::s4, Type::s32, 0, 0, 0, integer},
    Arithmetic{Type::b1, Type::s32, 0, 0, 0, integer},
};
constexpr std::array ada_fp8{
    Arithmetic{Type::e4m3, Type::f32, 0, 0, 0, fused_blocks, ada_fp8_f32},
    Arithmetic{Type::e4m3, Type::f16, 0, 0, 0, fused_blocks, ada_fp8_f16},
};
constexpr std::array fp8_by_f16{
    Arithmetic{Type::e4m3, Type::f32, 0, 0, 0, f16_halves, hopper_f32},
    Arithmetic{Type::e4m3, Type::f16, 0, 0, 0, f16_halves, hopper_f16},
};
constexpr std::array blackwell_fp8{
    Arithmetic{Type::e4m3, Type::f32, 0, 0, 0, fused_blocks, blackwell_fp8_f32},
    Arithmetic{Type::e4m3, Type::f16, 0, 0, 0, fused_blocks, blackwell_fp8_f16},
};
constexpr std::array block_scale{
    Arithmetic{Type::e4m3, Type::f32, 0, 0, 0, scaled_block, blackwell_mx_f32,
               isa::MmaKind::mxf8f6f4},
    Arithmetic{Type::e2m1, Type::f32, 0, 0, 0, scaled_groups, blackwell_fp4_f32,
               isa::MmaKind::mxf4},
};

constexpr Arithmetic of_warpgroup(Type a, Type d, Method method, FusedSum sum = {}) {
    return {a, d, 0, 0, 0, method, sum, isa::MmaKind::none, true};
}
// wgmma. One list of Hopper's: no later tensor core has it.
constexpr std::array warpgroup{
    of_warpgroup(Type::f16, Type::f32, fused_blocks, hopper_f32),
    of_warpgroup(Type::f16, Type::f16, fused_blocks, hopper_f16),
    of_warpgroup(Type::bf16, Type::f32, fused_blocks, hopper_f32),
    of_warpgroup(Type::tf32, Type::f32, fused_blocks, hopper_tf32),
    of_warpgroup(Type::e4m3, Type::f32, fused_blocks, hopper_wgmma_fp8_f32),
    of_warpgroup(Type::e4m3, Type::f16, fused_blocks, hopper_wgmma_fp8_f16),
    of_warpgroup(Type::s8, Type::s32, integer),
    of_warpgroup(Type::b1, Type::s32, integer),
};

// In the order of List.
constexpr std::array<std::span<const Arithmetic>, static_cast<size_t>(List::count_)> lists{
    volta,    turing,  ampere,     hopper,        routine,     f64,
    integers, ada_fp8, fp8_by_f16, blackwell_fp8, block_scale, warpgroup};

constexpr std::span<const Arithmetic> of(List l) { return lists[static_cast<size_t>(l)]; }

// What an architecture has: a sum of lists.
struct Sum {
    Arch arch;
    std::array<List, 6> parts;
    uint8_t count;
};
template <class... Parts>
constexpr Sum sum(Arch arch, Parts... parts) {
    return {arch, {parts...}, sizeof...(parts)};
}

constexpr std::array sums{
    sum(Arch::sm_70, List::volta),
    sum(Arch::sm_75, List::turing, List::integers),
    sum(Arch::sm_80, List::routine, List::turing, List::ampere, List::f64, List::integers),
    sum(Arch::sm_86, List::routine, List::turing, List::ampere, List::f64, List::integers),
    sum(Arch::sm_87, List::routine, List::turing, List::ampere, List::f64, List::integers),
    sum(Arch::sm_89, List::routine, List::turing, List::ampere, List::f64, List::integers,
        List::ada_fp8),
    sum(Arch::sm_90, List::routine, List::hopper, List::f64, List::integers, List::fp8_by_f16,
        List::warpgroup),
    sum(Arch::sm_100, List::routine, List::hopper, List::f64, List::integers, List::fp8_by_f16),
    sum(Arch::sm_103, List::routine, List::hopper, List::f64, List::integers, List::fp8_by_f16),
    sum(Arch::sm_120, List::routine, List::hopper, List::f64, List::integers, List::blackwell_fp8,
        List::block_scale),
    sum(Arch::sm_121, List::routine, List::hopper, List::f64, List::integers, List::blackwell_fp8,
        List::block_scale),
};
static_assert(isa::one_row_each(sums), "each Arch has one row in `sums`: the lists it is made of");

// How an architecture's arithmetic is known: one row for a whole list, and one for each of its
// products that is known otherwise.
struct Source {
    Arch arch;
    List list;
    Evidence evidence;
    std::string_view source;
    // One product of the list: its types, and whether it is the one with a shape of its own.
    Type a = Type::none, d = Type::none;
    bool shaped = false;
    std::optional<Evidence> chain{};  // of a k of several blocks; none: as of one

    constexpr bool whole() const { return a == Type::none; }
    constexpr bool is_of(Arch of_arch, List of_list, const Arithmetic& x) const {
        return arch == of_arch && list == of_list &&
               (whole() || (a == x.a && d == x.d && shaped == (x.m != 0)));
    }
};

constexpr std::string_view turing_tests =
    "MMA-Sim, T4 tests; one paper's summary reads 5 terms, not 9";
constexpr std::string_view same_sass = "H200, and the same SASS from ptxas 13.0";
constexpr std::string_view same_conversions = "SASS from ptxas 13.0, as on sm_90";
constexpr std::string_view like_sm_120 = "as sm_120: ptxas 13.0 makes the same code";
constexpr std::string_view hmma_1684 = "as sm_90; HMMA.1684 in the code of ptxas 13.0";

// The published results of A100, A2, L40S and B200 are of one block of products; of a chain of them
// the literature speaks.
constexpr Source one_block(Arch arch, Type a, Type d, std::string_view source) {
    return {arch,      a == Type::f16 ? List::turing : List::ampere, replayed, source, a, d, false,
            literature};
}

constexpr std::array sources{
    Source{Arch::sm_70, List::volta, replayed, "V100; zero exponent: MMA-Sim", Type::f16, Type::f32,
           false, literature},
    Source{Arch::sm_70, List::volta, replayed,
           "V100; zero exponent: MMA-Sim, where another source has -20", Type::f16, Type::f16,
           false, literature},

    Source{Arch::sm_75, List::turing, literature, turing_tests},
    Source{Arch::sm_75, List::integers, literature, "PTX manual"},

    Source{Arch::sm_80, List::routine, literature, same_sass},
    one_block(Arch::sm_80, Type::f16, Type::f32, "A100, one block; chain: MMA-Sim"),
    one_block(Arch::sm_80, Type::f16, Type::f16,
              "A100, one block; chain and zero exponent: MMA-Sim, another source has -21"),
    one_block(Arch::sm_80, Type::bf16, Type::f32, "A100, one block; chain: MMA-Sim"),
    one_block(Arch::sm_80, Type::tf32, Type::f32, "A100, one block; chain: MMA-Sim"),
    Source{Arch::sm_80, List::f64, literature, "MMA-Sim"},
    Source{Arch::sm_80, List::integers, literature, "PTX manual"},

    Source{Arch::sm_86, List::routine, literature, same_sass},
    one_block(Arch::sm_86, Type::f16, Type::f32, "A2, one block; chain: MMA-Sim"),
    one_block(Arch::sm_86, Type::f16, Type::f16,
              "A2, one block; chain and zero exponent: MMA-Sim, another source has -21"),
    one_block(Arch::sm_86, Type::bf16, Type::f32, "A2, one block; chain: MMA-Sim"),
    one_block(Arch::sm_86, Type::tf32, Type::f32, "A2, one block; chain: MMA-Sim"),
    Source{Arch::sm_86, List::f64, literature, "MMA-Sim"},
    Source{Arch::sm_86, List::integers, literature, "PTX manual"},

    Source{Arch::sm_87, List::routine, derived, "as sm_80 and sm_86"},
    Source{Arch::sm_87, List::turing, derived, "as sm_80 and sm_86"},
    Source{Arch::sm_87, List::ampere, derived, "as sm_80 and sm_86"},
    Source{Arch::sm_87, List::f64, derived, "as sm_80 and sm_86"},
    Source{Arch::sm_87, List::integers, literature, "PTX manual"},

    Source{Arch::sm_89, List::routine, literature, same_sass},
    one_block(Arch::sm_89, Type::f16, Type::f32, "L40S, one block; chain: MMA-Sim"),
    one_block(Arch::sm_89, Type::f16, Type::f16,
              "L40S, one block; chain and zero exponent: MMA-Sim, another source has -21"),
    one_block(Arch::sm_89, Type::bf16, Type::f32, "L40S, one block; chain: MMA-Sim"),
    one_block(Arch::sm_89, Type::tf32, Type::f32, "L40S, one block; chain: MMA-Sim"),
    Source{Arch::sm_89, List::f64, literature, "MMA-Sim"},
    Source{Arch::sm_89, List::integers, literature, "PTX manual"},
    // The L40S gave sums of 32 products of fp8: two blocks.
    Source{Arch::sm_89, List::ada_fp8, replayed, "L40S", Type::e4m3, Type::f32},
    Source{Arch::sm_89, List::ada_fp8, literature, "MMA-Sim", Type::e4m3, Type::f16},

    Source{Arch::sm_90, List::routine, measured, "H200"},
    Source{Arch::sm_90, List::hopper, measured, "H200"},
    Source{Arch::sm_90, List::hopper, measured, "H200; MMA-Sim's zero exponent, -22, differs",
           Type::f16, Type::f16},
    Source{Arch::sm_90, List::f64, measured, "H200"},
    Source{Arch::sm_90, List::integers, measured, "H200"},
    Source{Arch::sm_90, List::fp8_by_f16, measured, "H200"},
    Source{Arch::sm_90, List::warpgroup, measured, "H200"},

    Source{Arch::sm_100, List::routine, literature, same_sass},
    Source{Arch::sm_100, List::hopper, replayed, "B200", Type::f16, Type::f32, false, literature},
    Source{Arch::sm_100, List::hopper, literature, "as sm_90", Type::f16, Type::f16},
    Source{Arch::sm_100, List::hopper, replayed, "B200", Type::bf16, Type::f32, false, literature},
    Source{Arch::sm_100, List::hopper, replayed, "B200", Type::tf32, Type::f32, false, literature},
    Source{Arch::sm_100, List::hopper, derived, hmma_1684, Type::tf32, Type::f32, true},
    Source{Arch::sm_100, List::f64, literature, "MMA-Sim"},
    Source{Arch::sm_100, List::integers, literature, "PTX manual"},
    Source{Arch::sm_100, List::fp8_by_f16, literature, same_conversions},

    Source{Arch::sm_103, List::routine, derived, "as sm_100"},
    Source{Arch::sm_103, List::hopper, derived, "as sm_100"},
    Source{Arch::sm_103, List::f64, derived, "as sm_100"},
    Source{Arch::sm_103, List::integers, literature, "PTX manual"},
    Source{Arch::sm_103, List::fp8_by_f16, derived, "as sm_100: ptxas 13.0 makes the same code"},

    Source{Arch::sm_120, List::routine, literature, same_sass},
    Source{Arch::sm_120, List::hopper, literature, "MMA-Sim"},
    Source{Arch::sm_120, List::hopper, literature, "as sm_90", Type::f16, Type::f16},
    Source{Arch::sm_120, List::hopper, derived, hmma_1684, Type::tf32, Type::f32, true},
    Source{Arch::sm_120, List::f64, literature, "MMA-Sim"},
    Source{Arch::sm_120, List::integers, literature, "PTX manual"},
    Source{Arch::sm_120, List::blackwell_fp8, literature, "MMA-Sim"},
    Source{Arch::sm_120, List::block_scale, literature, "MMA-Sim"},

    Source{Arch::sm_121, List::routine, derived, like_sm_120},
    Source{Arch::sm_121, List::hopper, derived, like_sm_120},
    Source{Arch::sm_121, List::f64, derived, like_sm_120},
    Source{Arch::sm_121, List::integers, literature, "PTX manual"},
    Source{Arch::sm_121, List::blackwell_fp8, derived, like_sm_120},
    Source{Arch::sm_121, List::block_scale, derived, like_sm_120},
};

// Where a row about one product stands, it goes before the one about its whole list. nullptr: none,
// or several that say it.
constexpr const Source* source_of(Arch arch, List list, const Arithmetic& x) {
    const Source* whole = nullptr;
    const Source* own = nullptr;
    for (const Source& s : sources) {
        if (!s.is_of(arch, list, x)) continue;
        const Source*& found = s.whole() ? whole : own;
        if (found != nullptr) return nullptr;
        found = &s;
    }
    return own != nullptr ? own : whole;
}

template <class Visit>
constexpr void each_product(Visit visit) {
    for (const Sum& s : sums)
        for (size_t i = 0; i < s.count; ++i)
            for (const Arithmetic& x : of(s.parts[i])) visit(s.arch, s.parts[i], x);
}

static_assert(
    [] {
        bool all = true;
        each_product([&](Arch arch, List list, const Arithmetic& x) {
            all = all && source_of(arch, list, x) != nullptr;
        });
        return all;
    }(),
    "each product of each architecture has its evidence in `sources`, once");

static_assert(
    [] {
        for (const Source& s : sources) {
            bool used = false;
            each_product([&](Arch arch, List list, const Arithmetic& x) {
                used = used || source_of(arch, list, x) == &s;
            });
            if (!used || s.source.empty()) return false;
        }
        return true;
    }(),
    "each row of `sources` says from where, and is of a product that its architecture has");

constexpr size_t products = [] {
    size_t n = 0;
    each_product([&](Arch, List, const Arithmetic&) { ++n; });
    return n;
}();

constexpr std::array<DotRow, products> rows = [] {
    std::array<DotRow, products> out{};
    size_t n = 0;
    each_product([&](Arch arch, List list, const Arithmetic& x) {
        const Source& s = *source_of(arch, list, x);
        out[n++] = {x, arch, s.evidence, s.chain.value_or(s.evidence), s.source};
    });
    return out;
}();

// All zero: any shape.
consteval unsigned shape(const Arithmetic& x) { return x.m << 16 | x.n << 8 | x.k; }

static_assert(
    []() consteval {
        for (size_t i = 0; i < rows.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (rows[i].arch == rows[j].arch && rows[i].a == rows[j].a &&
                    rows[i].d == rows[j].d && shape(rows[i]) == shape(rows[j]) &&
                    rows[i].kind == rows[j].kind && rows[i].warpgroup == rows[j].warpgroup)
                    return false;
        return true;
    }(),
    "no two rows answer the same question");

static_assert(
    []() consteval {
        for (const DotRow& r : rows) {
            if (shape(r) != 0 && r.m * r.n * r.k == 0) return false;
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
// Of sparse products of every type.
struct SparseRow {
    Arch arch;
    Evidence evidence;
    std::string_view source;
};

constexpr std::array sparse_rows{
    SparseRow{Arch::sm_90, measured, "H200"},
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
    const bool chain = row.method == fused_blocks && k > row.sum.block;
    return {chain ? row.chain : row.evidence, row.source};
}

Known known(const DotRow& row, const isa::MmaVariant& v) {
    if (!v.sparse) return known(row, v.k);
    for (const SparseRow& s : sparse_rows)
        if (s.arch == row.arch) return {s.evidence, s.source};
    if (v.scales != 0) return {derived, "as dense; how factors meet a sparse A is unknown"};
    return {derived, "as the dense product of the elements that A holds"};
}

const DotRow* find_dot_row(Arch arch, int m, int n, int k, Type a, Type d, isa::MmaKind kind) {
    kind = stored_kind(kind);
    const DotRow* found = nullptr;
    for (const DotRow& r : rows) {
        if (r.arch != arch || r.a != stored_type(a, kind) || r.d != d || r.kind != kind ||
            r.warpgroup)
            continue;
        if (r.m == m && r.n == n && r.k == k) return &r;
        if (r.m == 0) found = &r;
    }
    return found;
}

const DotRow* find_warpgroup_row(Arch arch, Type a, Type d) {
    const Type stored = stored_type(a, isa::MmaKind::none);
    for (const DotRow& r : rows)
        if (r.warpgroup && r.arch == arch && r.a == stored && r.d == d) return &r;
    return nullptr;
}

}  // namespace lockwarp::num
