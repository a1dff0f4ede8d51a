// SPDX-License-Identifier: Apache-2.0
// What a person reads of a product that differs: the element of C, the row of A, the column of B
// and the factors of its scale, where the PTX manual puts them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::report_inputs_test {
namespace {

using validate::Difference;
using validate::Report;

// A product as the manual's chapter on its shape has it: where the elements of the row of A and the
// column of B lie, of which an element of D is made. Registers are numbered from 0 in each operand.
struct At {
    unsigned lane, reg, bit;
};
struct Product {
    const char* instruction;
    unsigned k, bits, c_bits;
    unsigned registers_a, registers_b, registers_c;
    std::function<At(unsigned row, unsigned k)> a;
    std::function<At(unsigned column, unsigned k)> b;
    unsigned scales = 0;
    unsigned byte_a = 0, thread_a = 0, byte_b = 0, thread_b = 0;
    bool ids_in_registers = false;
};

// Of 16 rows, `each` elements side by side in a word; two words for k's lower and upper half each.
At a_of_16(unsigned row, unsigned k, unsigned each) {
    return {row % 8 * 4 + k / each % 4, k / (4 * each) * 2 + row / 8, k % each * 32 / each};
}
At b_of_8(unsigned column, unsigned k, unsigned each) {
    return {column * 4 + k / each % 4, k / (4 * each), k % each * 32 / each};
}

Product of_words(const char* instruction, unsigned k, unsigned each) {
    const auto a = [each](unsigned row, unsigned i) { return a_of_16(row, i, each); };
    const auto b = [each](unsigned column, unsigned i) { return b_of_8(column, i, each); };
    return {instruction, k, 32 / each, 32, k / each / 4 * 2, k / each / 4, 4, a, b};
}

std::vector<Product> products() {
    std::vector<Product> out{
        of_words("m16n8k16.row.col.f32.f16.f16.f32", 16, 2),
        of_words("m16n8k8.row.col.f32.bf16.bf16.f32", 8, 2),
        of_words("m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1),
        of_words("m16n8k32.row.col.s32.s8.u8.s32", 32, 4),
        of_words("m16n8k64.row.col.s32.u4.s4.s32", 64, 8),
    };
    const auto scaled = [&](const char* instruction, unsigned k, unsigned scales, unsigned byte_a,
                            unsigned thread_a, unsigned byte_b, unsigned thread_b) {
        for (const bool in_registers : {false, true}) {
            Product p = of_words(instruction, k, k == 64 ? 8 : 4);
            p.scales = scales;
            p.byte_a = byte_a;
            p.thread_a = thread_a;
            p.byte_b = byte_b;
            p.thread_b = thread_b;
            p.ids_in_registers = in_registers;
            out.push_back(p);
        }
    };
    constexpr const char* mx8 =
        "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0";
    constexpr const char* mx4 =
        "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    constexpr const char* nv4 =
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
    for (unsigned i = 0; i < 4; ++i) {
        scaled(mx8, 32, 1, i, i % 2, 3 - i, (i + 2) % 4);
        scaled(mx4, 64, 2, i % 2 * 2, i / 2, 2 - i % 2 * 2, 3 - i);
        scaled(nv4, 64, 4, 0, i % 2, 0, i);
    }
    return out;
}

std::string vector_of(char letter, unsigned registers) {
    std::string out = "{";
    for (unsigned i = 0; i < registers; ++i)
        out += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, i);
    return out + "}";
}

// A report whose only product is this one; each register that it reads has words of its own.
Report report_of(const Product& p) {
    std::string operands = vector_of('d', 4) + ", " + vector_of('a', p.registers_a) + ", " +
                           vector_of('b', p.registers_b) + ", " + vector_of('c', 4);
    if (p.scales != 0)
        operands += p.ids_in_registers ? ", {%s0}, {%h0, %h1}, {%s1}, {%h2, %h3}"
                                       : fmt::format(", {{%s0}}, {{{}, {}}}, {{%s1}}, {{{}, {}}}",
                                                     p.byte_a, p.thread_a, p.byte_b, p.thread_b);
    const bool whole = std::string(p.instruction).find(".s32") != std::string::npos;
    const std::string type = whole ? ".b32" : ".f32";
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k()\n{\n.reg " + type +
        " %d<4>, %c<4>; .reg .b32 %a<8>, %b<8>, %s<2>; .reg .b16 %h<4>;\nmma.sync.aligned." +
        p.instruction + " " + operands + ";\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << p.instruction;
    isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_120, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << p.instruction;
    Report out;
    out.program = std::move(r.program);
    out.spellings.assign(out.program.operations.size(), "mma");
    Difference d;
    const auto add = [&](const std::string& name, uint64_t word) {
        Difference::Input& input = d.inputs.emplace_back();
        input.name = name;
        input.type = isa::Type::b32;
        for (uint32_t lane = 0; lane < 32; ++lane)
            input.lanes[lane] = (word * 32 + lane) * 0x9e3779b1 & 0xffffffff;
    };
    for (const auto& [letter, registers] :
         {std::pair{'a', p.registers_a}, {'b', p.registers_b}, {'c', p.registers_c}})
        for (unsigned i = 0; i < registers; ++i)
            add(fmt::format("%{}{}", letter, i), static_cast<uint64_t>(letter) * 8 + i);
    if (p.scales == 0) {
        out.first = std::move(d);
        return out;
    }
    add("%s0", 1001);
    add("%s1", 1002);
    const std::array ids{p.byte_a, p.thread_a, p.byte_b, p.thread_b};
    for (unsigned i = 0; i < 4 && p.ids_in_registers; ++i) {
        add(fmt::format("%h{}", i), 0);
        d.inputs.back().lanes.fill(ids[i]);
    }
    out.first = std::move(d);
    return out;
}

uint64_t word_of(const Difference& d, const std::string& name, unsigned lane) {
    for (const Difference::Input& input : d.inputs)
        if (input.name == name) return input.lanes[lane];
    return UINT64_MAX;
}

// The words after `what` and its colon, as far as they are numbers or unknown.
std::vector<std::string> said_after(const std::string& text, const std::string& what) {
    const size_t at = text.find(what + ":");
    if (at == std::string::npos) return {"not said"};
    std::istringstream in(text.substr(at + what.size() + 1));
    std::vector<std::string> out;
    for (std::string word; in >> word && (word.starts_with("0x") || word == "?");)
        out.push_back(word);
    return out;
}

std::vector<std::string> elements(const Product& p, const Difference& d, char letter,
                                  const std::function<At(unsigned, unsigned)>& where,
                                  unsigned index) {
    std::vector<std::string> out;
    for (unsigned k = 0; k < p.k; ++k) {
        const At at = where(index, k);
        const uint64_t word = word_of(d, fmt::format("%{}{}", letter, at.reg), at.lane);
        const uint64_t ones = (uint64_t{1} << p.bits) - 1;
        out.push_back(
            word == UINT64_MAX ? "?" : fmt::format("0x{:0{}x}", word >> at.bit & ones, p.bits / 4));
    }
    return out;
}

std::vector<std::string> factors(const Product& p, const Difference& d, const char* name,
                                 unsigned lane, unsigned byte) {
    std::vector<std::string> out;
    for (unsigned i = 0; i < p.scales; ++i) {
        const uint64_t word = word_of(d, name, lane);
        out.push_back(word == UINT64_MAX ? "?"
                                         : fmt::format("0x{:02x}", word >> 8 * (byte + i) & 255));
    }
    return out;
}

void expect_said(const Product& p, const Report& r) {
    const Difference& d = *r.first;
    const std::string text = text_report(r, {}, "k.ptx");
    const std::string where = p.instruction + (", lane " + std::to_string(d.lane)) + "\n" + text;
    const unsigned row = d.lane / 4 + (d.reg >= 2 ? 8 : 0);
    const unsigned column = d.lane % 4 * 2 + d.reg % 2;
    const uint64_t c = word_of(d, fmt::format("%c{}", d.reg), d.lane);
    EXPECT_NE(text.find(fmt::format("  its inputs: C[{}][{}] ", row, column) +
                        (c == UINT64_MAX ? "?\n" : fmt::format("0x{:08x}", c))),
              std::string::npos)
        << where;
    const std::string of_a = fmt::format("    A row {}", row);
    const std::string of_b = fmt::format("    B column {}", column);
    EXPECT_EQ(said_after(text, of_a), elements(p, d, 'a', p.a, row)) << where;
    EXPECT_EQ(said_after(text, of_b), elements(p, d, 'b', p.b, column)) << where;
    // A line is as long as may be: what stands on the next had no room there.
    std::istringstream lines(text);
    size_t before = 0;
    for (std::string line; std::getline(lines, line); before = line.size()) {
        EXPECT_LE(line.size(), 100u) << where;
        if (!line.starts_with("         0x")) continue;
        EXPECT_GT(before + std::min(line.find(' ', 9), line.size()) - 8, 100u) << where;
    }
    EXPECT_EQ(text.find("factor") != std::string::npos, p.scales != 0) << where;
    if (p.scales == 0) return;
    const std::string name = p.scales == 1 ? ", factor" : ", factors";
    EXPECT_EQ(said_after(text, of_a + name),
              factors(p, d, "%s0", row % 8 * 4 + row / 8 + 2 * p.thread_a, p.byte_a))
        << where;
    EXPECT_EQ(said_after(text, of_b + name),
              factors(p, d, "%s1", column * 4 + p.thread_b, p.byte_b))
        << where;
}

// Two elements in a register: the bit that differs first tells which.
TEST(TextReport, OfHalvesTheOneThatDiffers) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %d<2>, %a<4>, %b<2>, %c<2>;\n"
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%a0, %a1, %a2, %a3}, "
        "{%b0, %b1}, {%c0, %c1};\nret;\n}\n");
    Report r;
    r.program = isa::resolve(parsed.module, isa::Arch::sm_80, "k").program;
    r.spellings.assign(r.program.operations.size(), "mma");
    r.first.emplace();
    for (unsigned reg = 0; reg < 2; ++reg) {
        Difference::Input& c = r.first->inputs.emplace_back();
        c.name = "%c" + std::to_string(reg);
        c.type = isa::Type::b32;
        for (uint32_t lane = 0; lane < 32; ++lane)
            c.lanes[lane] = (0x4000 + lane * 4 + reg * 2) | (0x4001u + lane * 4 + reg * 2) << 16;
    }
    for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t reg = 0; reg < 2; ++reg)
            for (unsigned bit = 0; bit < 32; ++bit)
                for (const uint64_t above : {uint64_t{0}, uint64_t{0xffffffff}}) {
                    r.first->lane = lane;
                    r.first->reg = reg;
                    r.first->emulated = 0x3c003c00;
                    r.first->other =
                        0x3c003c00 ^ ((above << bit | uint64_t{1} << bit) & 0xffffffff);
                    const unsigned row = lane / 4 + 8 * reg, column = lane % 4 * 2 + bit / 16;
                    const std::string text = text_report(r, {}, "k.ptx");
                    EXPECT_NE(text.find(fmt::format("  its inputs: C[{}][{}] 0x{:04x}", row, column,
                                                    0x4000 + lane * 4 + reg * 2 + bit / 16)),
                              std::string::npos)
                        << bit << "\n"
                        << text;
                    EXPECT_NE(text.find(fmt::format("    A row {}:", row)), std::string::npos);
                    EXPECT_NE(text.find(fmt::format("    B column {}:", column)),
                              std::string::npos);
                }
}

TEST(TextReport, WhatAProductIsMadeOf) {
    unsigned turn = 0;
    for (const Product& p : products()) {
        Report r = report_of(p);
        for (unsigned n = 0; n < 32 * 4; n += 5, ++turn) {
            r.first->lane = n % 32;
            r.first->reg = (n / 32 + turn) % 4;
            r.first->emulated = word_of(*r.first, "%c0", 3);
            r.first->other = r.first->emulated ^ uint64_t { 1 } << turn % 32;
            expect_said(p, r);
        }
        // What is not known of a register is said.
        r.first->lane = 13;
        r.first->reg = 2;
        const std::vector<Difference::Input> all = r.first->inputs;
        for (size_t left_out = 0; left_out < all.size(); ++left_out) {
            if (all[left_out].name.starts_with("%h")) continue;
            r.first->inputs = all;
            r.first->inputs.erase(r.first->inputs.begin() + static_cast<std::ptrdiff_t>(left_out));
            expect_said(p, r);
        }
    }
}

}  // namespace
}  // namespace lockwarp::report_inputs_test
