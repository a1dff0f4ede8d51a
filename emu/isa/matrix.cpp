#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {

namespace {

using F = FragmentId;

// bits 0: the width of the accumulator's type.
constexpr std::array<Fragment, static_cast<size_t>(F::count_)> fragment_rows{{
    {"a_8x4_b64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")},
    {"a_8x16_b8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")},
    {"a_16x4_b32", 16, 4, 32, parse_layout("((4,8),2):((16,1),8)")},
    {"a_16x4_b64", 16, 4, 64, parse_layout("((4,8),2):((16,1),8)")},
    {"a_16x8_b16", 16, 8, 16, parse_layout("((4,8),(2,2)):((32,1),(16,8))")},
    {"a_16x8_b32", 16, 8, 32, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"a_16x8_b64", 16, 8, 64, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"a_16x16_b16", 16, 16, 16, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")},
    {"a_16x16_b8", 16, 16, 8, parse_layout("((4,8),(4,2)):((64,1),(16,8))")},
    {"a_16x16_b64", 16, 16, 64, parse_layout("((4,8),(2,4)):((16,1),(8,64))")},
    {"a_16x32_b8", 16, 32, 8, parse_layout("((4,8),(4,2,2)):((64,1),(16,8,256))")},
    {"b_8x4_b32", 8, 4, 32, parse_layout("((4,8),1):((8,1),0)")},
    {"b_8x4_b64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")},
    {"b_8x8_b16", 8, 8, 16, parse_layout("((4,8),2):((16,1),8)")},
    {"b_8x8_b32", 8, 8, 32, parse_layout("((4,8),2):((8,1),32)")},
    {"b_8x8_b64", 8, 8, 64, parse_layout("((4,8),2):((8,1),32)")},
    {"b_8x16_b16", 8, 16, 16, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"b_8x16_b8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")},
    {"b_8x16_b64", 8, 16, 64, parse_layout("((4,8),4):((8,1),32)")},
    {"b_8x32_b8", 8, 32, 8, parse_layout("((4,8),(4,2)):((32,1),(8,128))")},
    {"c_8x8", 8, 8, 0, parse_layout("((4,8),2):((16,1),8)")},
    {"c_16x8", 16, 8, 0, parse_layout("((4,8),(2,2)):((32,1),(16,8))")},
    {"volta_8x4_by_row", 8, 4, 16, parse_layout("(8,4):(1,8)")},
    {"volta_8x4_by_column", 8, 4, 16, parse_layout("((4,2),4):((8,4),1)")},
    {"volta_8x8_b16", 8, 8, 16, parse_layout("(8,8):(1,8)")},
    {"volta_8x8_b32", 8, 8, 32, parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")},
}};

// clang-format off
constexpr auto mma_rows = std::to_array<MmaVariant>({
    {"mma.m8n8k4.row.row.f16.f16.f16.f16", 8, 8, 4, Type::f16, Type::f16, Type::f16, Type::f16, Order::row, Order::row, F::volta_8x4_by_row, F::volta_8x4_by_column, F::volta_8x8_b16, F::volta_8x8_b16, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.row.row.f32.f16.f16.f16", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f16, Order::row, Order::row, F::volta_8x4_by_row, F::volta_8x4_by_column, F::volta_8x8_b16, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.row.row.f32.f16.f16.f32", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f32, Order::row, Order::row, F::volta_8x4_by_row, F::volta_8x4_by_column, F::volta_8x8_b32, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.row.col.f16.f16.f16.f16", 8, 8, 4, Type::f16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, F::volta_8x4_by_row, F::volta_8x4_by_row, F::volta_8x8_b16, F::volta_8x8_b16, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.row.col.f32.f16.f16.f16", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f16, Order::row, Order::col, F::volta_8x4_by_row, F::volta_8x4_by_row, F::volta_8x8_b16, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.row.col.f32.f16.f16.f32", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f32, Order::row, Order::col, F::volta_8x4_by_row, F::volta_8x4_by_row, F::volta_8x8_b32, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.row.f16.f16.f16.f16", 8, 8, 4, Type::f16, Type::f16, Type::f16, Type::f16, Order::col, Order::row, F::volta_8x4_by_column, F::volta_8x4_by_column, F::volta_8x8_b16, F::volta_8x8_b16, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.row.f32.f16.f16.f16", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f16, Order::col, Order::row, F::volta_8x4_by_column, F::volta_8x4_by_column, F::volta_8x8_b16, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.row.f32.f16.f16.f32", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f32, Order::col, Order::row, F::volta_8x4_by_column, F::volta_8x4_by_column, F::volta_8x8_b32, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.col.f16.f16.f16.f16", 8, 8, 4, Type::f16, Type::f16, Type::f16, Type::f16, Order::col, Order::col, F::volta_8x4_by_column, F::volta_8x4_by_row, F::volta_8x8_b16, F::volta_8x8_b16, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.col.f32.f16.f16.f16", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f16, Order::col, Order::col, F::volta_8x4_by_column, F::volta_8x4_by_row, F::volta_8x8_b16, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m8n8k4.col.col.f32.f16.f16.f32", 8, 8, 4, Type::f32, Type::f16, Type::f16, Type::f32, Order::col, Order::col, F::volta_8x4_by_column, F::volta_8x4_by_row, F::volta_8x8_b32, F::volta_8x8_b32, Threads::quad_pairs, false, 70, 64, ".m8n8k4"},
    {"mma.m16n8k8.f16.f16.f16.f16", 16, 8, 8, Type::f16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 75, 65, ".m16n8k8"},
    {"mma.m16n8k16.f16.f16.f16.f16", 16, 8, 16, Type::f16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".m16n8k16"},
    {"mma.m16n8k8.f32.f16.f16.f32", 16, 8, 8, Type::f32, Type::f16, Type::f16, Type::f32, Order::row, Order::col, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 75, 65, ".m16n8k8"},
    {"mma.m16n8k16.f32.f16.f16.f32", 16, 8, 16, Type::f32, Type::f16, Type::f16, Type::f32, Order::row, Order::col, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".m16n8k16"},
    {"mma.m16n8k8.f32.bf16.bf16.f32", 16, 8, 8, Type::f32, Type::bf16, Type::bf16, Type::f32, Order::row, Order::col, F::a_16x8_b16, F::b_8x8_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".bf16"},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 16, 8, 16, Type::f32, Type::bf16, Type::bf16, Type::f32, Order::row, Order::col, F::a_16x16_b16, F::b_8x16_b16, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".bf16"},
    {"mma.m16n8k4.f32.tf32.tf32.f32", 16, 8, 4, Type::f32, Type::tf32, Type::tf32, Type::f32, Order::row, Order::col, F::a_16x4_b32, F::b_8x4_b32, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".tf32"},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 16, 8, 8, Type::f32, Type::tf32, Type::tf32, Type::f32, Order::row, Order::col, F::a_16x8_b32, F::b_8x8_b32, F::c_16x8, F::c_16x8, Threads::warp, false, 80, 70, ".tf32"},
    {"mma.m8n8k4.f64.f64.f64.f64", 8, 8, 4, Type::f64, Type::f64, Type::f64, Type::f64, Order::row, Order::col, F::a_8x4_b64, F::b_8x4_b64, F::c_8x8, F::c_8x8, Threads::warp, false, 80, 70, ".m8n8k4 with double types"},
    {"mma.m16n8k4.f64.f64.f64.f64", 16, 8, 4, Type::f64, Type::f64, Type::f64, Type::f64, Order::row, Order::col, F::a_16x4_b64, F::b_8x4_b64, F::c_16x8, F::c_16x8, Threads::warp, false, 90, 78, ".m16n8k4 with double types"},
    {"mma.m16n8k8.f64.f64.f64.f64", 16, 8, 8, Type::f64, Type::f64, Type::f64, Type::f64, Order::row, Order::col, F::a_16x8_b64, F::b_8x8_b64, F::c_16x8, F::c_16x8, Threads::warp, false, 90, 78, ".m16n8k8 with double types"},
    {"mma.m16n8k16.f64.f64.f64.f64", 16, 8, 16, Type::f64, Type::f64, Type::f64, Type::f64, Order::row, Order::col, F::a_16x16_b64, F::b_8x16_b64, F::c_16x8, F::c_16x8, Threads::warp, false, 90, 78, ".m16n8k16 with double types"},
    {"mma.m8n8k16.s32.s8.s8.s32", 8, 8, 16, Type::s32, Type::s8, Type::s8, Type::s32, Order::row, Order::col, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, Threads::warp, true, 75, 65, ".m8n8k16"},
    {"mma.m16n8k16.s32.s8.s8.s32", 16, 8, 16, Type::s32, Type::s8, Type::s8, Type::s32, Order::row, Order::col, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k16"},
    {"mma.m16n8k32.s32.s8.s8.s32", 16, 8, 32, Type::s32, Type::s8, Type::s8, Type::s32, Order::row, Order::col, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k32"},
    {"mma.m8n8k16.s32.s8.u8.s32", 8, 8, 16, Type::s32, Type::s8, Type::u8, Type::s32, Order::row, Order::col, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, Threads::warp, true, 75, 65, ".m8n8k16"},
    {"mma.m16n8k16.s32.s8.u8.s32", 16, 8, 16, Type::s32, Type::s8, Type::u8, Type::s32, Order::row, Order::col, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k16"},
    {"mma.m16n8k32.s32.s8.u8.s32", 16, 8, 32, Type::s32, Type::s8, Type::u8, Type::s32, Order::row, Order::col, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k32"},
    {"mma.m8n8k16.s32.u8.s8.s32", 8, 8, 16, Type::s32, Type::u8, Type::s8, Type::s32, Order::row, Order::col, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, Threads::warp, true, 75, 65, ".m8n8k16"},
    {"mma.m16n8k16.s32.u8.s8.s32", 16, 8, 16, Type::s32, Type::u8, Type::s8, Type::s32, Order::row, Order::col, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k16"},
    {"mma.m16n8k32.s32.u8.s8.s32", 16, 8, 32, Type::s32, Type::u8, Type::s8, Type::s32, Order::row, Order::col, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k32"},
    {"mma.m8n8k16.s32.u8.u8.s32", 8, 8, 16, Type::s32, Type::u8, Type::u8, Type::s32, Order::row, Order::col, F::a_8x16_b8, F::b_8x16_b8, F::c_8x8, F::c_8x8, Threads::warp, true, 75, 65, ".m8n8k16"},
    {"mma.m16n8k16.s32.u8.u8.s32", 16, 8, 16, Type::s32, Type::u8, Type::u8, Type::s32, Order::row, Order::col, F::a_16x16_b8, F::b_8x16_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k16"},
    {"mma.m16n8k32.s32.u8.u8.s32", 16, 8, 32, Type::s32, Type::u8, Type::u8, Type::s32, Order::row, Order::col, F::a_16x32_b8, F::b_8x32_b8, F::c_16x8, F::c_16x8, Threads::warp, true, 80, 70, ".m16n8k32"},
});
// clang-format on

// Every element of the fragment has an owner, and no (thread, value) lies outside it.
constexpr bool covers(const Fragment& f) {
    if (!f.layout.valid) return false;
    std::array<bool, 1024> owned{};
    const unsigned elements = unsigned{f.rows} * f.columns;
    for (unsigned t = 0; t < f.layout.threads(); ++t)
        for (unsigned v = 0; v < f.layout.values(); ++v) {
            if (f.layout.at(t, v) >= elements) return false;
            owned[f.layout.at(t, v)] = true;
        }
    for (unsigned e = 0; e < elements; ++e)
        if (!owned[e]) return false;
    return true;
}

constexpr bool fits(FragmentId id, unsigned rows, unsigned columns, Type type) {
    const Fragment& f = fragment_rows[static_cast<size_t>(id)];
    return f.rows == rows && f.columns == columns && (f.bits == 0 || f.bits == bits(type));
}

static_assert(
    [] {
        for (const Fragment& f : fragment_rows)
            if (!covers(f)) return false;
        return true;
    }(),
    "each fragment's layout covers its elements");

static_assert(
    [] {
        for (const MmaVariant& v : mma_rows)
            if (!fits(v.fragment_a, v.m, v.k, v.a) || !fits(v.fragment_b, v.n, v.k, v.b) ||
                !fits(v.fragment_c, v.m, v.n, v.c) || !fits(v.fragment_d, v.m, v.n, v.d))
                return false;
        return true;
    }(),
    "each variant's fragments have its shape and types");

static_assert(
    [] {
        for (size_t i = 0; i < mma_rows.size(); ++i)
            for (size_t j = i + 1; j < mma_rows.size(); ++j)
                if (mma_rows[i].key == mma_rows[j].key) return false;
        return true;
    }(),
    "no two variants have one key");

}  // namespace

const Fragment& fragment(FragmentId id) { return fragment_rows[static_cast<size_t>(id)]; }

std::span<const Fragment> fragments() { return fragment_rows; }

std::span<const MmaVariant> mma_variants() { return mma_rows; }

const MmaVariant* find_mma(unsigned m, unsigned n, unsigned k, Type d, Type a, Type b, Type c,
                           Order a_order, Order b_order) {
    for (const MmaVariant& v : mma_rows)
        if (v.m == m && v.n == n && v.k == k && v.d == d && v.a == a && v.b == b && v.c == c &&
            v.a_order == a_order && v.b_order == b_order)
            return &v;
    return nullptr;
}

}  // namespace lockwarp::isa
