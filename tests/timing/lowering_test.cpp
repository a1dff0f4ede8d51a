// SPDX-License-Identifier: Apache-2.0
// What the assembler makes one instruction of, and what it does not.
#include "emu/timing/lowering.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"

namespace {

using namespace lockwarp;

// The instructions of a kernel that ends with a store of %r0 to %r9, %d0 to %d2 and %f0 to %f3,
// which keeps them alive: of each its opcode, with "*4" of as many accesses that are one, or "-"
// where it costs nothing.
std::string lowered(const std::string& body) {
    std::string keep;
    for (const char* const name : {"%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%r6", "%r7"})
        keep += std::string("st.global.u32 [%d9], ") + name + ";\n";
    for (const char* const name : {"%d0", "%d1"})
        keep += std::string("st.global.u64 [%d9], ") + name + ";\n";
    for (const char* const name : {"%f0", "%f1"})
        keep += std::string("st.global.f32 [%d9], ") + name + ";\n";
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
        ".shared .align 16 .b8 tile[1024];\n" +
        body + "\n" + keep + "ret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << body;
    const timing::Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    std::string out;
    for (size_t i = 0; i < r.program.operations.size(); ++i) {
        const isa::Operation& o = r.program.operations[i];
        if (o.op == isa::Op::st && o.mod.space == ptx::Space::global) break;
        const timing::Lowered& m = l.operations[i];
        out += (out.empty() ? "" : " ") +
               (m.action == timing::Action::free ? "-" : std::string(isa::row(o.op).name));
        if (m.merged != 1) out += "*" + std::to_string(m.merged);
    }
    return out;
}

std::string loads(std::initializer_list<int> offsets, const std::string& between = "",
                  const std::string& type = "u32") {
    std::string out;
    int n = 0;
    for (const int offset : offsets) {
        if (n != 0) out += between;
        out += "ld.shared." + type + " %r" + std::to_string(n) + ", [%r9+" +
               std::to_string(offset) + "];\n";
        ++n;
    }
    return out;
}

TEST(Lowering, NeighbouringWordsOfSharedMemoryAreOneAccess) {
    EXPECT_EQ(lowered(loads({0})), "ld");
    EXPECT_EQ(lowered(loads({0, 4})), "ld*2 -");
    EXPECT_EQ(lowered(loads({0, 4, 8})), "ld*2 - ld");
    EXPECT_EQ(lowered(loads({0, 4, 8, 12})), "ld*4 - - -");
    EXPECT_EQ(lowered(loads({0, 4, 8, 12, 16})), "ld*4 - - - ld");
    EXPECT_EQ(lowered(loads({0, 4, 8, 12, 16, 20})), "ld*4 - - - ld*2 -");
    EXPECT_EQ(lowered(loads({8, 12, 16, 20})), "ld*2 - ld*2 -");
    EXPECT_EQ(lowered(loads({16, 20, 24, 28})), "ld*4 - - -");
    // Not at a multiple of its size, backwards, with a gap, of other bases, spaces and types.
    EXPECT_EQ(lowered(loads({4, 8})), "ld ld");
    EXPECT_EQ(lowered(loads({4, 8, 12})), "ld ld*2 -");
    EXPECT_EQ(lowered(loads({4, 0})), "ld ld");
    EXPECT_EQ(lowered(loads({0, 8})), "ld ld");
    EXPECT_EQ(lowered("ld.shared.u32 %r0, [%r9]; ld.shared.u32 %r1, [%r10+4];"), "ld ld");
    EXPECT_EQ(lowered("ld.global.u32 %r0, [%d9]; ld.global.u32 %r1, [%d9+4];"), "ld ld");
    EXPECT_EQ(lowered(loads({0, 4}, "", "u16")), "ld ld");
    EXPECT_EQ(lowered("ld.shared.v2.u32 {%r0, %r1}, [%r9]; ld.shared.u32 %r2, [%r9+4];"), "ld ld");
    EXPECT_EQ(lowered("ld.shared.u32 %r0, [%r9]; @%p1 ld.shared.u32 %r1, [%r9+4];"), "ld ld");
    EXPECT_EQ(lowered("ld.shared.u32 %r0, [tile]; ld.shared.u32 %r1, [tile+4];"), "ld ld");
    EXPECT_EQ(lowered("st.shared.u32 [%r9], %r0; st.shared.u32 [%r9+4], %r1;"), "st*2 -");
    EXPECT_EQ(lowered("ld.shared.u32 %r0, [%r9]; st.shared.u32 [%r9+4], %r1;"), "ld st");
    // Arithmetic may stand between them; another access, a barrier and another block not.
    EXPECT_EQ(lowered(loads({0, 4}, "mul.lo.u32 %r5, %r6, %r7;\n")), "ld*2 mul -");
    EXPECT_EQ(lowered(loads({0, 4}, "ld.global.u32 %r5, [%d9+8];\n")), "ld ld ld");
    EXPECT_EQ(lowered(loads({0, 4}, "bar.sync 0;\n")), "ld bar.sync ld");
    EXPECT_EQ(lowered(loads({0, 4}, "L: ") + "@%p1 bra L;"), "ld ld bra");
}

TEST(Lowering, WhatIsFolded) {
    for (const auto& [body, is] : std::initializer_list<std::pair<const char*, const char*>>{
             // What nobody uses, and copies.
             {"add.u32 %r15, %r1, 1;", "-"},
             {"mov.u32 %r0, %r1;", "-"},
             {"add.u32 %r0, %r1, 1;", "add"},
             // Two sums are one of three; with a carry they stay.
             {"add.u32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3;", "- add"},
             {"add.cc.u32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3;", "add add"},
             {"add.u32 %r15, %r1, %r2; addc.u32 %r0, %r15, %r3;", "add addc"},
             {"add.sat.s32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3;", "add add"},
             {"add.u32 %r15, %r1, %r2; add.sat.s32 %r0, %r15, %r3;", "add add"},
             {"add.u32 %r15, %r1, %r2; add.cc.u32 %r0, %r15, %r3;", "add add"},
             // Used twice.
             {"add.u32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3; add.u32 %r1, %r15, %r4;",
              "add add add"},
             {"and.b32 %r15, %r1, %r2; xor.b32 %r0, %r15, %r3;", "- xor"},
             {"and.b32 %r15, %r1, %r2; not.b32 %r0, %r15;", "- not"},
             {"and.b64 %d15, %d1, %d2; xor.b64 %d0, %d15, %d3;", "and xor"},
             {"and.b32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3;", "and add"},
             {"mul.lo.u32 %r15, %r1, %r2; add.u32 %r0, %r15, %r3;", "- add"},
             {"shl.b32 %r15, %r1, 2; add.u32 %r0, %r15, %r3;", "- add"},
             {"shl.b32 %r15, %r1, 2; xor.b32 %r0, %r15, %r3;", "shl xor"},
             {"mul.f32 %f5, %f2, %f3; add.f32 %f0, %f5, %f1;", "- add"},
             {"mul.rn.f32 %f5, %f2, %f3; add.f32 %f0, %f5, %f1;", "mul add"},
             {"mul.f32 %f5, %f2, %f3; add.rn.f32 %f0, %f5, %f1;", "mul add"},
             {"mul.f32 %f5, %f2, %f3; mul.f32 %f0, %f5, %f1;", "mul mul"},
             {"neg.f32 %f5, %f2; add.f32 %f0, %f5, %f1;", "- add"},
             {"abs.f32 %f5, %f2; mul.f32 %f0, %f5, %f1;", "- mul"},
             // An address with a constant offset, and one that is used otherwise too.
             {"add.u32 %r15, %r1, 64; ld.shared.u32 %r0, [%r15];", "- ld"},
             {"add.u32 %r15, %r1, %r2; ld.shared.u32 %r0, [%r15];", "add ld"},
             {"add.u32 %r15, %r1, 64; ld.shared.u32 %r0, [%r15]; xor.b32 %r2, %r15, 1;",
              "add ld xor"},
         })
        EXPECT_EQ(lowered(body), is) << body;
}

}  // namespace
