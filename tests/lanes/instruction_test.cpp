// SPDX-License-Identifier: Apache-2.0
// Where elements lie: every element of every instruction, both ways, and against what the executor
// reads.
#include "lanes/instruction.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emu/exec/fragments.hpp"
#include "lanes/formula.hpp"

namespace lockwarp::lanes {
namespace {

// Every instruction on every architecture that has it, once where they are alike.
void each(const auto& f) {
    for (const std::string& key : all_keys()) {
        const bool differs = key.starts_with("wmma");
        // Of a warpgroup's many sizes the smallest, one that is no power of two, and the largest.
        if (key.starts_with("wgmma") && key.find("n8k") == std::string::npos &&
            key.find("n24k") == std::string::npos && key.find("n256k") == std::string::npos)
            continue;
        for (const isa::ArchRow& a : isa::arch_rows) {
            const Found found = make(key, a.arch);
            if (!found.instruction) {
                EXPECT_NE(found.error.find("does not have"), std::string::npos) << key;
                continue;
            }
            f(*found.instruction);
            if (!differs) break;
        }
    }
}

TEST(Instruction, EveryElementHasAnOwnerAndEveryLanesValueAnElement) {
    size_t count = 0;
    each([&](const Instruction& i) {
        EXPECT_FALSE(i.operands.empty()) << i.key;
        for (const Operand& o : i.operands) {
            std::set<std::tuple<int, int, int>> elements;
            std::set<std::tuple<int, int, int>> places;
            for (const Held& h : o.held) {
                ASSERT_LT(h.row, o.rows) << i.key << o.name;
                ASSERT_LT(h.column, o.columns) << i.key << o.name;
                ASSERT_LT(h.reg, o.registers) << i.key << o.name;
                ASSERT_LT(h.high, o.register_bits) << i.key << o.name;
                elements.insert({h.part, h.row, h.column});
                EXPECT_TRUE(places.insert({h.lane, h.reg, h.low}).second)
                    << i.key << o.name << ": two elements in one place";
            }
            EXPECT_EQ(elements.size(), size_t{o.parts} * o.rows * o.columns) << i.key << o.name;
            ++count;
        }
    });
    EXPECT_GT(count, 1500u);
}

// One matrix has no name beside another's.
TEST(Instruction, WhatThePartsOfAnOperandAreCalled) {
    for (const Instruction& i : all_instructions(std::nullopt))
        for (const Operand& o : i.operands) {
            const bool quad_pairs = i.family == Family::mma;
            const std::string_view word = quad_pairs ? "quad-pair" : "matrix";
            EXPECT_EQ(o.part_word, o.parts == 1 ? "" : word) << i.key << " " << o.name;
        }
}

TEST(Instruction, WhereInvertedIsWhat) {
    each([](const Instruction& i) {
        if (i.n == 256) return;  // as the others, and large
        for (const Operand& o : i.operands) {
            std::set<std::tuple<int, int, int, int, int>> by_element;
            // Of large operands every row and column, if not every element.
            const unsigned step = o.rows * o.columns > 512 ? 7 : 1;
            for (unsigned at = 0; at < o.rows * o.columns; at += step)
                for (const Held& h : owners(o, at / o.columns, at % o.columns))
                    by_element.insert({h.lane, h.value, h.part, at / o.columns, at % o.columns});
            std::set<std::tuple<int, int, int, int, int>> by_lane;
            for (const Held& h : o.held)
                if ((h.row * o.columns + h.column) % step == 0)
                    by_lane.insert({h.lane, h.value, h.part, h.row, h.column});
            EXPECT_EQ(by_element, by_lane) << i.key << o.name;
        }
    });
}

// The places that the executor reads A, B and C of mma from and writes D to.
TEST(Instruction, PlacesAreTheExecutors) {
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        const Instruction i = *make(v.key, std::nullopt).instruction;
        const auto check = [&](const char* name, isa::FragmentId id, isa::Type type) {
            const isa::Fragment& f = isa::fragment(id);
            const auto cells = exec::cells(isa::elements_of(f, type, v.threads));
            const Operand& o = *operand_named(i, name);
            std::set<std::tuple<int, int, int, int, int, int>> mine;
            std::set<std::tuple<int, int, int, int, int, int>> executors;
            for (const Held& h : o.held)
                mine.insert({h.part, h.row, h.column, h.lane, h.reg, h.low});
            for (size_t n = 0; n < cells.size(); ++n) {
                const size_t at = n % (size_t{f.rows} * f.columns);
                auto row = static_cast<int>(at / f.columns);
                auto column = static_cast<int>(at % f.columns);
                if (*name == 'B') std::swap(row, column);
                executors.insert({static_cast<int>(n / (size_t{f.rows} * f.columns)), row, column,
                                  cells[n].lane, cells[n].reg, cells[n].shift});
            }
            EXPECT_EQ(mine, executors) << v.key << name;
        };
        check("A", v.fragment_a, v.a);
        check("B", v.fragment_b, v.b);
        check("C", v.fragment_c, v.c);
        check("D", v.fragment_d, v.d);
    }
}

TEST(Formula, GivesEveryElementBothWays) {
    size_t count = 0;
    each([&](const Instruction& i) {
        for (const Operand& o : i.operands) {
            const Formulas f = formulas(o);
            if (f.forward.empty()) continue;
            ++count;
            size_t wrong = 0;
            for (const Held& h : o.held) {
                const Sources lane{.lane = h.lane, .index = h.value};
                wrong += evaluate(f.forward[0], lane) != h.row;
                wrong += evaluate(f.forward[1], lane) != h.column;
                if (o.parts > 1) wrong += evaluate(f.forward[2], lane) != h.part;
                // One of the owners that the backward formulas name.
                bool found = false;
                for (uint32_t l = 0; l < 4 && !found; ++l)
                    for (uint32_t v = 0; v < 16 && !found; ++v) {
                        Sources element{.row = h.row, .column = h.column, .part = h.part};
                        element.any = l;
                        const uint32_t lane_there = evaluate(f.backward[0], element);
                        element.any = v;
                        found = lane_there == h.lane && evaluate(f.backward[1], element) == h.value;
                    }
                wrong += !found;
            }
            EXPECT_EQ(wrong, 0u) << i.key << o.name;
        }
    });
    EXPECT_GT(count, 1500u);
}

TEST(Formula, AsThePtxManualHasThem) {
    const Instruction i = *find("m16n8k16.f32.f16", std::nullopt).instruction;
    const Formulas a = formulas(*operand_named(i, "A"));
    EXPECT_EQ(text_of(a.forward[0], *operand_named(i, "A")), "row = 8*(i/2%2) + lane/4");
    EXPECT_EQ(text_of(a.forward[1], *operand_named(i, "A")), "col = 8*(i/4) + 2*(lane%4) + i%2");
    const Formulas b = formulas(*operand_named(i, "B"));
    EXPECT_EQ(text_of(b.forward[0], *operand_named(i, "B")), "row = 8*(i/2) + 2*(lane%4) + i%2");
    EXPECT_EQ(text_of(b.forward[1], *operand_named(i, "B")), "col = lane/4");
}

TEST(Names, WaysToSayOneThing) {
    const auto key = [](std::string_view name) {
        const Found f = find(name, std::nullopt);
        return f.instruction ? f.instruction->key : "error: " + f.error;
    };
    const char* usual = "mma.m16n8k16.f32.f16.f16.f32";
    EXPECT_EQ(key(usual), usual);
    EXPECT_EQ(key("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), usual);
    EXPECT_EQ(key("m16n8k16.f32.f16"), usual);
    EXPECT_EQ(key("SM80_16x8x16_F32F16F16F32_TN"), usual);
    EXPECT_EQ(key("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"),
              "mma.m8n8k4.col.row.f32.f16.f16.f32");
    EXPECT_EQ(key("SM70_8x8x4_F32F16F16F32_NT"), "mma.m8n8k4.col.row.f32.f16.f16.f32");
    EXPECT_EQ(key("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"), "ldmatrix.x4.trans");
    EXPECT_EQ(key("SM75_U16x8_LDSM_T"), "ldmatrix.x4.trans");
    EXPECT_EQ(key("SM90_U32x2_STSM_N"), "stmatrix.x2");
    EXPECT_EQ(key("movmatrix"), "movmatrix.trans");
    EXPECT_EQ(key("SM90_64x128x16_F16F16F16_SS"), "wgmma.m64n128k16.f16.f16.f16");
    EXPECT_EQ(key("SM90::GMMA::MMA_64x8x32_F32E4M3E5M2_RS_TN"), "wgmma.m64n8k32.f32.e4m3.e5m2");
    // With its PTX's words, of which the orders may be left out.
    for (const std::string_view orders : {".row.col", ".row", ""})
        EXPECT_EQ(key("mma.sp::ordered_metadata.sync.aligned.m16n8k64" + std::string(orders) +
                      ".f16.e4m3.e4m3.f16"),
                  "mma.sp.m16n8k64.f16.e4m3.e4m3.f16");
    // D and C; A and B are f16.
    EXPECT_EQ(key("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16"),
              "wmma.mma.m16n16k16.row.col.f32.f16.f16.f16");
}

// Each instruction is found by its key, by its PTX and by CuTe's name.
TEST(Names, EveryInstructionByItsOwnNames) {
    std::set<std::string> cute;
    for (const Instruction& i : all_instructions(std::nullopt)) {
        for (const std::string& name : {i.key, i.ptx, i.cute}) {
            if (name.empty()) continue;
            const Found f = find(name, std::nullopt);
            ASSERT_TRUE(f.instruction) << name << ": " << f.error;
            EXPECT_EQ(f.instruction->key, i.key) << name;
        }
        if (!i.cute.empty()) {
            EXPECT_TRUE(cute.insert(i.cute).second) << i.cute;
        }
    }
    EXPECT_GT(cute.size(), 400u);
}

TEST(Names, WrongOnesSayWhatWouldBeRight) {
    EXPECT_NE(find("m16n8k15.f32.f16", std::nullopt).error.find("mma.m16n8k16.f32.f16.f16.f32"),
              std::string::npos);
    EXPECT_NE(find("SM80_16x8x15_F32F16F16F32_TN", std::nullopt)
                  .error.find("mma.m16n8k16.f32.f16.f16.f32"),
              std::string::npos);
    std::string those;
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number >= 80) those += (those.empty() ? "" : ", ") + std::string(a.name);
    EXPECT_EQ(find("m16n8k16.f32.f16", isa::Arch::sm_75).error,
              "sm_75 does not have mma.m16n8k16.f32.f16.f16.f32; these do: " + those);
    for (const char* name :
         {"", ".", "...", "mma", "SM80_", "SM_x", "\xff\xfe", "SM75_U32x9_LDSM_N"})
        EXPECT_FALSE(find(name, std::nullopt).error.empty()) << name;
    EXPECT_FALSE(find(std::string(100000, '.'), std::nullopt).error.empty());
    EXPECT_FALSE(find(std::string(100000, 'a'), std::nullopt).error.empty());
}

}  // namespace
}  // namespace lockwarp::lanes
