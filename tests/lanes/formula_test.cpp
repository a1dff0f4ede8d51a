// SPDX-License-Identifier: Apache-2.0
// Formulas of fragments: as short as they can be, in every lane, and as they are written.
#include "lanes/formula.hpp"

#include <gtest/gtest.h>

#include <set>

#include "lanes/parts.hpp"

namespace lockwarp::lanes {
namespace {

uint32_t extent_of(const Operand& o, char source) {
    return source == 'l'   ? o.lanes
           : source == 'i' ? o.values
           : source == 'r' ? o.rows
           : source == 'c' ? o.columns
                           : o.parts;
}

// Each kind of operand once, with the key of the first that has it.
void each_operand(const auto& f) {
    std::set<std::string> seen;
    for (const std::string& key : all_keys()) {
        if (key.starts_with("wgmma") && key.find("n8k") == std::string::npos &&
            key.find("n24k") == std::string::npos && key.find("n256k") == std::string::npos)
            continue;
        for (const isa::ArchRow& a : isa::arch_rows) {
            const Found found = make(key, a.arch);
            if (!found.instruction) continue;
            for (const Operand& o : found.instruction->operands) {
                std::string kind = o.name + std::to_string(isa::bits(o.type)) +
                                   text_of(o.elements.layout) + std::to_string(o.rows) + "x" +
                                   std::to_string(o.columns) + "x" + std::to_string(o.parts);
                for (const Formula& one : formulas(o).forward) kind += text_of(one, o);
                if (seen.insert(kind).second) f(key, o);
            }
            if (!key.starts_with("wmma")) break;
        }
    }
    EXPECT_GT(seen.size(), 60u);
}

// Terms of one source that continue each other are one, a modulus that changes nothing is left out,
// and the largest step stands first.
TEST(FormulaForm, NoTermIsSuperfluous) {
    each_operand([](const std::string& key, const Operand& o) {
        SCOPED_TRACE(key + " " + o.name);
        const Formulas all = formulas(o);
        for (const auto* direction : {&all.forward, &all.backward})
            for (const Formula& f : *direction)
                for (size_t i = 0; i < f.terms.size(); ++i) {
                    const Term& t = f.terms[i];
                    EXPECT_GT(t.scale, 0u);
                    EXPECT_NE(t.modulus, 1u);
                    if (i > 0) {
                        EXPECT_LE(t.scale, f.terms[i - 1].scale);
                    }
                    if (t.source == '*') {
                        EXPECT_GT(t.modulus, 1u);
                        continue;
                    }
                    const uint32_t extent = extent_of(o, t.source);
                    EXPECT_LT(t.divisor, extent);
                    if (t.modulus != 0) {
                        EXPECT_LT(t.divisor * t.modulus, extent) << text_of(f, o);
                    }
                    for (const Term& other : f.terms)
                        EXPECT_FALSE(other.source == t.source && t.modulus != 0 &&
                                     other.divisor == t.divisor * t.modulus &&
                                     other.scale == t.scale * t.modulus)
                            << text_of(f, o);
                }
    });
}

// Every owner that the backward formulas name holds the element, and there are no others.
TEST(FormulaForm, BackwardNamesAllOwners) {
    size_t several = 0;
    each_operand([&](const std::string& key, const Operand& o) {
        const Formulas f = formulas(o);
        if (f.backward.empty()) return;
        SCOPED_TRACE(key + " " + o.name);
        ASSERT_EQ(f.backward.size(), 2u);
        ASSERT_EQ(f.forward.size(), o.parts > 1 ? 3u : 2u);
        const auto choices = [](const Formula& one) {
            uint32_t n = 1;
            for (const Term& t : one.terms) n *= t.source == '*' ? t.modulus : 1;
            return n;
        };
        const unsigned step = o.rows * o.columns > 1024 ? 37 : 5;
        for (unsigned at = 0; at < o.rows * o.columns; at += step) {
            std::set<std::tuple<unsigned, unsigned, unsigned>> is, named;
            const std::vector<Held> all = owners(o, at / o.columns, at % o.columns);
            for (const Held& h : all) is.insert({h.part, h.lane, h.value});
            for (unsigned part = 0; part < o.parts; ++part)
                for (uint32_t l = 0; l < choices(f.backward[0]); ++l)
                    for (uint32_t v = 0; v < choices(f.backward[1]); ++v) {
                        Sources s{.row = at / o.columns, .column = at % o.columns, .part = part};
                        s.any = l;
                        const uint32_t lane = evaluate(f.backward[0], s);
                        s.any = v;
                        named.insert({part, lane, evaluate(f.backward[1], s)});
                    }
            ASSERT_EQ(named, is) << at;
            several += all.size() > o.parts;
        }
    });
    EXPECT_GT(several, 100u);
}

std::vector<std::string> lines_of(const char* key, const char* operand,
                                  std::optional<isa::Arch> arch = std::nullopt) {
    const Instruction i = *make(key, arch).instruction;
    return formula_lines(*operand_named(i, operand));
}

// Digits that continue one another are one, whatever their sizes; of instructions' layouts only two
// digits of two values each do.
TEST(FormulaForm, DigitsOfAnySizeAreOne) {
    Operand o;
    o.rows = 64;
    o.columns = 8;
    o.values = 16;
    o.elements.layout = isa::parse_layout("((4,2,4),(8,2)):((1,4,8),(64,32))");
    o.elements.layout_rows = 64;
    EXPECT_EQ(formula_lines(o), (std::vector<std::string>{"row = 32*(i/8) + lane,  col = i%8",
                                                          "lane = row%32,  i = 8*(row/32) + col"}));
    o.elements.layout = isa::parse_layout("((4,2,4),(8,2)):((1,4,64),(8,256))");
    EXPECT_EQ(formula_lines(o),
              (std::vector<std::string>{"row = 8*(i%8) + lane%8,  col = 4*(i/8) + lane/8",
                                        "lane = 8*(col%4) + row%8,  i = 8*(col/4) + row/8"}));
    // Those of a quad-pair's threads, and which quad-pair's they are, in whatever order.
    o.rows = 32;
    o.values = 8;
    o.elements.threads = isa::Threads::quad_pairs;
    o.elements.layout = isa::parse_layout("((4,2),8):((1,8),32)");
    o.elements.layout_rows = 32;
    o.elements.row_step = {4, 16};
    EXPECT_EQ(formula_lines(o),
              (std::vector<std::string>{"row = 16*(lane/8%2) + 8*(lane/16) + lane%8,  col = i",
                                        "lane = 16*(row/8%2) + 8*(row/16) + row%8,  i = col"}));
}

// As the figures of the PTX manual have them.
TEST(FormulaForm, AsTheyAreWritten) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(lines_of("mma.m16n8k16.f32.f16.f16.f32", "C"),
              (Lines{"row = 8*(i/2) + lane/4,  col = 2*(lane%4) + i%2",
                     "lane = 4*(row%8) + col/2,  i = 2*(row/8) + col%2"}));
    EXPECT_EQ(lines_of("mma.m16n8k16.f32.f16.f16.f32", "A"),
              (Lines{"row = 8*(i/2%2) + lane/4,  col = 8*(i/4) + 2*(lane%4) + i%2",
                     "lane = 4*(row%8) + col/2%4,  i = 4*(col/8) + 2*(row/8) + col%2"}));
    EXPECT_EQ(lines_of("mma.m16n8k8.f32.tf32.tf32.f32", "B"),
              (Lines{"row = 4*i + lane%4,  col = lane/4", "lane = 4*col + row%4,  i = row/4"}));
    EXPECT_EQ(lines_of("ldmatrix.x4", "D"),
              (Lines{"row = lane/4,  col = 2*(lane%4) + i%2,  matrix = i/2",
                     "lane = 4*row + col/2,  i = 2*matrix + col%2"}));
    EXPECT_EQ(lines_of("ldmatrix.x1.trans", "D"),
              (Lines{"row = 2*(lane%4) + i,  col = lane/4", "lane = 4*col + row/2,  i = row%2"}));
    EXPECT_EQ(lines_of("movmatrix.trans", "A"),
              (Lines{"row = lane/4,  col = 2*(lane%4) + i", "lane = 4*row + col/2,  i = col%2"}));
    EXPECT_EQ(lines_of("wgmma.m64n8k16.f32.f16.f16", "D"),
              (Lines{"row = 16*(thread/32) + 8*(i/2) + thread/4%8,  col = 2*(thread%4) + i%2",
                     "thread = 32*(row/16) + 4*(row%8) + col/2,  i = 2*(row/8%2) + col%2"}));
    // PTX manual, m8n8k4 of .f16: row = %laneid % 4 (+ 4 from lane 16 on), col = i of A row by row.
    EXPECT_EQ(lines_of("mma.m8n8k4.row.col.f32.f16.f16.f32", "A"),
              (Lines{"row = 4*(lane/16) + lane%4,  col = i,  qp = lane/4%4",
                     "lane = 16*(row/4) + 4*qp + row%4,  i = col"}));
    EXPECT_EQ(lines_of("mma.m8n8k4.row.col.f32.f16.f16.f32", "B"),
              (Lines{"row = i,  col = 4*(lane/16) + lane%4,  qp = lane/4%4",
                     "lane = 16*(col/4) + 4*qp + col%4,  i = row"}));
    EXPECT_EQ(lines_of("mma.m8n8k4.f64.f64.f64.f64", "A"),
              (Lines{"row = lane/4,  col = lane%4", "lane = 4*row + col,  i = 0"}));
}

}  // namespace
}  // namespace lockwarp::lanes
