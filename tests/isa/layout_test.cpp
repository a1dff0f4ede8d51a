// SPDX-License-Identifier: Apache-2.0
// Every fragment's layout against the formulas that the PTX manual writes beneath its figures
// ("Matrix Fragments for mma..."), which are written out here a second time on purpose.
#include <gtest/gtest.h>

#include <set>
#include <span>

#include "emu/isa/layout.hpp"
#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {
namespace {

struct Element {
    unsigned row, column;
};

using Formula = Element (*)(unsigned lane, unsigned i);

constexpr unsigned group(unsigned lane) { return lane >> 2; }
constexpr unsigned in_group(unsigned lane) { return lane % 4; }
constexpr unsigned half(unsigned lane) { return lane < 16 ? 0 : 4; }

// A: row, column in M x K.
Element a_m8k4_f64(unsigned lane, unsigned) { return {group(lane), in_group(lane)}; }
Element a_m8k16_s8(unsigned lane, unsigned i) { return {group(lane), in_group(lane) * 4 + i}; }
Element a_m16k4(unsigned lane, unsigned i) { return {group(lane) + 8 * i, in_group(lane)}; }
Element a_m16k8_f16(unsigned lane, unsigned i) {
    return {group(lane) + (i < 2 ? 0 : 8), in_group(lane) * 2 + (i & 1)};
}
Element a_m16k8_b32(unsigned lane, unsigned i) {
    return {group(lane) + (i % 2 == 0 ? 0 : 8), in_group(lane) + (i < 2 ? 0 : 4)};
}
Element a_m16k16_f16(unsigned lane, unsigned i) {
    const bool upper = i < 2 || (4 <= i && i < 6);
    return {group(lane) + (upper ? 0 : 8), in_group(lane) * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Element a_m16k16_s8(unsigned lane, unsigned i) {
    return {group(lane) + (i < 4 ? 0 : 8), in_group(lane) * 4 + (i & 3)};
}
Element a_m16k16_f64(unsigned lane, unsigned i) {
    return {group(lane) + (i % 2 == 0 ? 0 : 8),
            i % 2 == 0 ? i * 2 + in_group(lane) : i * 2 - 2 + in_group(lane)};
}
Element a_m16k32_s8(unsigned lane, unsigned i) {
    const bool upper = i < 4 || (8 <= i && i < 12);
    return {group(lane) + (upper ? 0 : 8), in_group(lane) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}

// B: row, column in K x N.
Element b_k4(unsigned lane, unsigned) { return {in_group(lane), group(lane)}; }
Element b_k8_f16(unsigned lane, unsigned i) { return {in_group(lane) * 2 + (i & 1), group(lane)}; }
Element b_k8_b32(unsigned lane, unsigned i) { return {in_group(lane) + 4 * i, group(lane)}; }
Element b_k16_f16(unsigned lane, unsigned i) {
    return {in_group(lane) * 2 + (i & 1) + (i < 2 ? 0 : 8), group(lane)};
}
Element b_k16_s8(unsigned lane, unsigned i) { return {in_group(lane) * 4 + i, group(lane)}; }
Element b_k16_f64(unsigned lane, unsigned i) { return {in_group(lane) + i * 4, group(lane)}; }
Element b_k32_s8(unsigned lane, unsigned i) {
    return {in_group(lane) * 4 + (i & 3) + (i < 4 ? 0 : 16), group(lane)};
}

// C and D: row, column in M x N.
Element c_m8(unsigned lane, unsigned i) { return {group(lane), in_group(lane) * 2 + i}; }
Element c_m16(unsigned lane, unsigned i) {
    return {group(lane) + (i < 2 ? 0 : 8), in_group(lane) * 2 + (i & 1)};
}

// mma.m8n8k4 with f16 inputs; each quad-pair has a matrix of its own.
Element volta_a_row(unsigned lane, unsigned i) { return {lane % 4 + half(lane), i}; }
Element volta_a_col(unsigned lane, unsigned i) { return {i % 4 + half(lane), lane % 4}; }
Element volta_b_row(unsigned lane, unsigned i) { return {lane % 4, i + half(lane)}; }
Element volta_b_col(unsigned lane, unsigned i) { return {i, lane % 4 + half(lane)}; }
Element volta_c_f16(unsigned lane, unsigned i) { return {lane % 4 + half(lane), i}; }
Element volta_c_f32(unsigned lane, unsigned i) {
    return {(lane & 1) + (i & 2) + half(lane), (i & 4) + (lane & 2) + (i & 1)};
}

// Operands of 4 and 1 bits, and the longer B of sparse products: N elements in a register.
template <unsigned N>
Element a_m8(unsigned lane, unsigned i) {
    return {group(lane), in_group(lane) * N + i};
}
template <unsigned N>
Element a_m16(unsigned lane, unsigned i) {
    return {group(lane) + (i / N % 2 == 0 ? 0 : 8),
            in_group(lane) * N + (i & (N - 1)) + (i < 2 * N ? 0 : 4 * N)};
}
template <unsigned N>
Element b(unsigned lane, unsigned i) {
    return {in_group(lane) * N + (i & (N - 1)) + 4 * N * (i / N), group(lane)};
}

struct OperandRow {
    unsigned lines;  // of A: m; of B: 8
    unsigned k;      // of a sparse A: what is stored
    unsigned bits;
    Formula formula;
};

// By shape and width of the elements; m8n8k4 with f16 apart.
constexpr OperandRow a_rows[] = {
    {16, 8, 16, a_m16k8_f16}, {16, 16, 16, a_m16k16_f16}, {16, 4, 32, a_m16k4},
    {16, 8, 32, a_m16k8_b32}, {8, 4, 64, a_m8k4_f64},     {16, 4, 64, a_m16k4},
    {16, 8, 64, a_m16k8_b32}, {16, 16, 64, a_m16k16_f64}, {8, 16, 8, a_m8k16_s8},
    {16, 16, 8, a_m16k16_s8}, {16, 32, 8, a_m16k32_s8},   {8, 32, 4, a_m8<8>},
    {16, 32, 4, a_m16<8>},    {16, 64, 4, a_m16<8>},      {8, 128, 1, a_m8<32>},
    {16, 128, 1, a_m16<32>},  {16, 256, 1, a_m16<32>},
};
constexpr OperandRow b_rows[] = {
    {8, 8, 16, b_k8_f16},   {8, 16, 16, b_k16_f16}, {8, 32, 16, b<2>},    {8, 4, 32, b_k4},
    {8, 8, 32, b_k8_b32},   {8, 16, 32, b<1>},      {8, 4, 64, b_k4},     {8, 8, 64, b_k8_b32},
    {8, 16, 64, b_k16_f64}, {8, 16, 8, b_k16_s8},   {8, 32, 8, b_k32_s8}, {8, 64, 8, b<4>},
    {8, 32, 4, b<8>},       {8, 64, 4, b<8>},       {8, 128, 4, b<8>},    {8, 128, 1, b<32>},
    {8, 256, 1, b<32>},
};

Formula formula_of(std::span<const OperandRow> rows, unsigned lines, unsigned k, unsigned bits) {
    Formula found = nullptr;
    for (const OperandRow& r : rows)
        if (r.lines == lines && r.k == k && r.bits == bits) {
            EXPECT_EQ(found, nullptr) << "two formulas";
            found = r.formula;
        }
    return found;
}

// Compares a layout with a formula for every lane and element. `transposed`: the layout has (n, k),
// the formula row k, column n.
void expect_layout(std::string_view key, FragmentId id, Threads threads, Formula formula,
                   bool transposed) {
    const Fragment& f = fragment(id);
    std::set<unsigned> seen;
    for (unsigned instance = 0; instance < instances(threads); ++instance)
        for (unsigned t = 0; t < f.layout.threads(); ++t)
            for (unsigned v = 0; v < f.layout.values(); ++v) {
                const unsigned lane = lane_of(threads, instance, t);
                const Element e = formula(lane, v);
                const unsigned first = transposed ? e.column : e.row;
                const unsigned second = transposed ? e.row : e.column;
                ASSERT_EQ(f.layout.at(t, v), first + second * f.rows)
                    << key << ' ' << f.name << " lane " << lane << " element " << v;
                seen.insert(instance * f.rows * f.columns + f.layout.at(t, v));
            }
    EXPECT_EQ(seen.size(), size_t{instances(threads)} * f.rows * f.columns) << key << f.name;
}

TEST(Layout, EveryVariantAgainstTheManualsFormulas) {
    for (const MmaVariant& v : mma_variants()) {
        if (v.threads == Threads::quad_pairs) {
            const bool a_row = v.a_order == Order::row;
            const bool b_row = v.b_order == Order::row;
            expect_layout(v.key, v.fragment_a, v.threads, a_row ? volta_a_row : volta_a_col, false);
            expect_layout(v.key, v.fragment_b, v.threads, b_row ? volta_b_row : volta_b_col, true);
            expect_layout(v.key, v.fragment_c, v.threads,
                          v.c == Type::f16 ? volta_c_f16 : volta_c_f32, false);
            expect_layout(v.key, v.fragment_d, v.threads,
                          v.d == Type::f16 ? volta_c_f16 : volta_c_f32, false);
            continue;
        }
        const Formula a =
            formula_of(a_rows, v.m, v.stored_k(), held_bits(fragment(v.fragment_a), v.a));
        const Formula b = formula_of(b_rows, v.n, v.k, held_bits(fragment(v.fragment_b), v.b));
        ASSERT_NE(a, nullptr) << v.key;
        ASSERT_NE(b, nullptr) << v.key;
        expect_layout(v.key, v.fragment_a, v.threads, a, false);
        expect_layout(v.key, v.fragment_b, v.threads, b, true);
        expect_layout(v.key, v.fragment_c, v.threads, v.m == 8 ? c_m8 : c_m16, false);
        expect_layout(v.key, v.fragment_d, v.threads, v.m == 8 ? c_m8 : c_m16, false);
    }
}

// A quad-pair is lanes 4q..4q+3 and 16+4q..16+4q+3, and the four share no lane.
TEST(Layout, QuadPairs) {
    std::set<unsigned> lanes;
    for (unsigned q = 0; q < 4; ++q)
        for (unsigned t = 0; t < 8; ++t) {
            const unsigned lane = lane_of(Threads::quad_pairs, q, t);
            EXPECT_EQ(lane % 16 / 4, q);
            lanes.insert(lane);
        }
    EXPECT_EQ(lanes.size(), 32u);
    EXPECT_EQ(*lanes.rbegin(), 31u);
}

// ldmatrix: lane l has row l/4, columns 2(l%4) and 2(l%4)+1 of an 8x8 matrix (PTX manual,
// "ldmatrix": fragment figure).
TEST(Layout, MovedMatrix) {
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 2; ++i)
            EXPECT_EQ(fragment(moved_matrix).layout.at(lane, i), lane / 4 + 8 * (lane % 4 * 2 + i));
}

TEST(Layout, RegistersOfAThread) {
    EXPECT_EQ(registers_of(fragment(FragmentId::a_16x16_b16), Type::f16), 4u);
    EXPECT_EQ(registers_of(fragment(FragmentId::b_8x16_b16), Type::bf16), 2u);
    EXPECT_EQ(registers_of(fragment(FragmentId::c_16x8), Type::f32), 4u);
    EXPECT_EQ(registers_of(fragment(FragmentId::c_16x8), Type::f16), 2u);
    EXPECT_EQ(registers_of(fragment(FragmentId::a_16x32_b8), Type::s8), 4u);
    EXPECT_EQ(registers_of(fragment(FragmentId::a_16x16_b64), Type::f64), 8u);
    EXPECT_EQ(registers_of(fragment(FragmentId::volta_8x8_b32), Type::f32), 8u);
}

TEST(Layout, ReadsTheNotation) {
    const Layout l = parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))");
    ASSERT_TRUE(l.valid);
    EXPECT_EQ(l.threads(), 32u);
    EXPECT_EQ(l.values(), 8u);
    EXPECT_EQ(l.at(5, 3), 32u + 1u + 16u + 8u);
    EXPECT_EQ(l.text, "((4,8),(2,2,2)):((32,1),(16,8,128))");
    const Layout plain = parse_layout("(8,4):(1,8)");
    ASSERT_TRUE(plain.valid);
    EXPECT_EQ(plain.at(7, 3), 7u + 24u);
    EXPECT_TRUE(parse_layout("((1,2,3,4),1):((1,2,3,4),0)").valid);
    EXPECT_TRUE(parse_layout("(65535,1):(65535,0)").valid);
}

TEST(Layout, RefusesOtherTexts) {
    for (const std::string_view text :
         {"", "(", "()", "(8,4)", "(8,4):", "(8,4):(1,8", "(8,4):(1,8))", "8,4:1,8", "(8,4):(1,)",
          "((8,4):(1,8)", "(8 ,4):(1,8)", "(a,4):(1,8)", "(8,4):(1,8) ", "((1,2,3,4,5),1):(1,1)",
          "(65536,1):(1,1)", "(8,4,2):(1,8,2)", "(-1,4):(1,8)", "((),4):(1,8)"})
        EXPECT_FALSE(parse_layout(text).valid) << text;
}

}  // namespace
}  // namespace lockwarp::isa
