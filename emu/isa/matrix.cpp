// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/matrix.hpp"

#include <algorithm>

#include "emu/isa/elements.hpp"
#include "emu/isa/matrix_rows.hpp"

namespace lockwarp::isa {

namespace {

using F = FragmentId;

// bits 0: the width of the accumulator's type.
constexpr std::array<Fragment, static_cast<size_t>(F::count_)> fragment_rows{{
    {"a_8x4_b64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")},
    {"a_8x16_b8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")},
    {"a_8x32_b4", 8, 32, 4, parse_layout("((4,8),(8)):((64,1),(8))")},
    {"a_8x128_b1", 8, 128, 1, parse_layout("((4,8),32):((256,1),8)")},
    {"a_16x4_b32", 16, 4, 32, parse_layout("((4,8),2):((16,1),8)")},
    {"a_16x4_b64", 16, 4, 64, parse_layout("((4,8),2):((16,1),8)")},
    {"a_16x8_b16", 16, 8, 16, parse_layout("((4,8),(2,2)):((32,1),(16,8))")},
    {"a_16x8_b32", 16, 8, 32, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"a_16x8_b64", 16, 8, 64, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"a_16x16_b16", 16, 16, 16, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")},
    {"a_16x16_b8", 16, 16, 8, parse_layout("((4,8),(4,2)):((64,1),(16,8))")},
    {"a_16x16_b64", 16, 16, 64, parse_layout("((4,8),(2,4)):((16,1),(8,64))")},
    {"a_16x32_b4", 16, 32, 4, parse_layout("((4,8),(8,2)):((128,1),(16,8))")},
    {"a_16x32_b8", 16, 32, 8, parse_layout("((4,8),(4,2,2)):((64,1),(16,8,256))")},
    {"a_16x64_b4", 16, 64, 4, parse_layout("((4,8),(8,2,2)):((128,1),(16,8,512))")},
    {"a_16x128_b1", 16, 128, 1, parse_layout("((4,8),(32,2)):((512,1),(16,8))")},
    {"a_16x256_b1", 16, 256, 1, parse_layout("((4,8),(32,2,2)):((512,1),(16,8,2048))")},
    {"b_8x4_b32", 8, 4, 32, parse_layout("((4,8),1):((8,1),0)")},
    {"b_8x4_b64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")},
    {"b_8x8_b16", 8, 8, 16, parse_layout("((4,8),2):((16,1),8)")},
    {"b_8x8_b32", 8, 8, 32, parse_layout("((4,8),2):((8,1),32)")},
    {"b_8x8_b64", 8, 8, 64, parse_layout("((4,8),2):((8,1),32)")},
    {"b_8x16_b16", 8, 16, 16, parse_layout("((4,8),(2,2)):((16,1),(8,64))")},
    {"b_8x16_b8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")},
    {"b_8x16_b64", 8, 16, 64, parse_layout("((4,8),4):((8,1),32)")},
    {"b_8x16_b32", 8, 16, 32, parse_layout("((4,8),4):((8,1),32)")},
    {"b_8x32_b4", 8, 32, 4, parse_layout("((4,8),(8)):((64,1),(8))")},
    {"b_8x32_b8", 8, 32, 8, parse_layout("((4,8),(4,2)):((32,1),(8,128))")},
    {"b_8x32_b16", 8, 32, 16, parse_layout("((4,8),(2,4)):((16,1),(8,64))")},
    {"b_8x64_b4", 8, 64, 4, parse_layout("((4,8),(8,2)):((64,1),(8,256))")},
    {"b_8x64_b8", 8, 64, 8, parse_layout("((4,8),(4,4)):((32,1),(8,128))")},
    {"b_8x128_b4", 8, 128, 4, parse_layout("((4,8),(8,4)):((64,1),(8,256))")},
    {"b_8x128_b1", 8, 128, 1, parse_layout("((4,8),32):((256,1),8)")},
    {"b_8x256_b1", 8, 256, 1, parse_layout("((4,8),(32,2)):((256,1),(8,1024))")},
    {"c_8x8", 8, 8, 0, parse_layout("((4,8),2):((16,1),8)")},
    {"c_16x8", 16, 8, 0, parse_layout("((4,8),(2,2)):((32,1),(16,8))")},
    {"volta_8x4_by_row", 8, 4, 16, parse_layout("(8,4):(1,8)")},
    {"volta_8x4_by_column", 8, 4, 16, parse_layout("((4,2),4):((8,4),1)")},
    {"volta_8x8_b16", 8, 8, 16, parse_layout("(8,8):(1,8)")},
    {"volta_8x8_b32", 8, 8, 32, parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")},
    {"e_16x4", 16, 4, 4, parse_layout("(8,(4,2)):(1,(16,8))")},
    {"e_16x8_by_groups", 16, 8, 4, parse_layout("((2,8),(4,2)):((64,1),(16,8))")},
    {"e_16x8_by_rows", 16, 8, 4, parse_layout("((2,8),8):((8,1),16)")},
    {"e_16x16", 16, 16, 4, parse_layout("((2,2,8),8):((8,128,1),16)")},
}};

using mma_table::mma_rows;

// Every element of the fragment has an owner, and no (thread, value) lies outside it.
constexpr bool covers(const Fragment& f) {
    if (!f.layout.valid) return false;
    std::array<bool, 4096> owned{};
    // The layout alone: the walk over Elements is beyond GCC's limit of constant operations where
    // the sanitizers add theirs.
    const unsigned threads = f.layout.threads();
    const unsigned values = f.layout.values();
    for (unsigned thread = 0; thread < threads; ++thread)
        for (unsigned value = 0; value < values; ++value) {
            const unsigned index = f.layout.at(thread, value);
            if (index >= unsigned{f.rows} * f.columns) return false;
            owned[index] = true;
        }
    for (unsigned e = 0; e < unsigned{f.rows} * f.columns; ++e)
        if (!owned[e]) return false;
    return true;
}

constexpr bool fits(FragmentId id, unsigned rows, unsigned columns, Type type) {
    const Fragment& f = fragment_rows[static_cast<size_t>(id)];
    const unsigned held = held_bits(f, type);
    const bool in_bytes = held == 8 && bits(type) < 8 && is_float(type);
    return f.rows == rows && f.columns == columns && (held == bits(type) || in_bytes);
}

static_assert(
    [] {
        for (const Fragment& f : fragment_rows)
            if (!covers(f)) return false;
        return true;
    }(),
    "each fragment's layout covers its elements");

// What is wrong is seen: one element beyond, one without an owner, another shape, another width.
static_assert([] {
    const Layout eight = parse_layout("(1,8):(0,1)");
    return covers({"", 8, 1, 0, eight}) && !covers({"", 7, 1, 0, eight}) &&
           !covers({"", 9, 1, 0, eight}) && !covers({"", 8, 1, 0, parse_layout("(8:1")});
}());
static_assert(fits(F::c_16x8, 16, 8, Type::f64) && !fits(F::c_16x8, 8, 8, Type::f64) &&
              !fits(F::c_16x8, 16, 16, Type::f64));
static_assert(fits(F::a_16x16_b16, 16, 16, Type::bf16) &&
              !fits(F::a_16x16_b16, 16, 16, Type::e2m1) &&
              !fits(F::a_16x16_b16, 16, 16, Type::f32));
static_assert(fits(F::a_16x32_b8, 16, 32, Type::e2m1) && !fits(F::a_16x32_b8, 16, 32, Type::s4) &&
              !fits(F::a_16x32_b8, 16, 32, Type::f16));

static_assert(
    [] {
        for (const MmaVariant& v : mma_rows)
            if (!fits(v.fragment_a, v.m, v.stored_k(), v.a) || !fits(v.fragment_b, v.n, v.k, v.b) ||
                !fits(v.fragment_c, v.m, v.n, v.c) || !fits(v.fragment_d, v.m, v.n, v.d))
                return false;
        return true;
    }(),
    "each variant's fragments have its shape and types");

static_assert(
    [] {
        for (const MmaVariant& v : mma_rows) {
            const Fragment& e = fragment_rows[static_cast<size_t>(v.fragment_e)];
            const unsigned held = held_bits(fragment_rows[static_cast<size_t>(v.fragment_a)], v.a);
            const unsigned groups = v.k * held / unit_bits(held) / group_units;
            if (v.sparse && (e.rows != v.m || e.columns != groups || e.layout.values() != 8))
                return false;
        }
        return true;
    }(),
    "metadata has one element for each row and group, in whole words");

}  // namespace

const Fragment& fragment(FragmentId id) { return fragment_rows[static_cast<size_t>(id)]; }

std::span<const Fragment> fragments() { return fragment_rows; }

unsigned metadata_lanes(const MmaVariant& v) { return fragment(v.fragment_e).layout.threads() / 8; }

std::span<const MmaVariant> mma_variants() { return mma_rows; }

const MmaVariant* find_mma(const MmaQuery& q) {
    for (const MmaVariant& v : mma_rows)
        if (v.m == q.m && v.n == q.n && v.k == q.k && std::array{v.d, v.a, v.b, v.c} == q.types &&
            std::array{v.a_order, v.b_order} == q.orders && v.combine == q.combine &&
            v.sparse == q.sparse && v.kind == q.kind && v.scale == q.scale && v.scales == q.scales)
            return &v;
    return nullptr;
}

}  // namespace lockwarp::isa
