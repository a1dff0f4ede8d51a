// SPDX-License-Identifier: Apache-2.0
// What the assembler makes one instruction of, and what it does not.
#include "emu/timing/lowering.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"

namespace lockwarp::lowering_test {
namespace {

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
             {"add.u32 %r15, %r1, 64; st.shared.u32 [%r15], %r15;", "add st"},
             {"add.u32 %r15, %r1, 64; st.shared.u32 [%r15], %r2; ld.shared.u32 %r0, [%r15+4];",
              "- st ld"},
             {"add.cc.u32 %r15, %r1, 64; ld.shared.u32 %r0, [%r15];", "add ld"},
             {"add.sat.s32 %r15, %r1, 64; ld.shared.u32 %r0, [%r15];", "add ld"},
             {"mul.lo.u32 %r15, %r1, 64; ld.shared.u32 %r0, [%r15];", "mul ld"},
             {"add.u32 %r15, %r1, 64; mov.u32 %r0, %r15; add.u32 %r15, %r2, 4; ld.shared.u32 %r3, "
              "[%r15];",
              "add - add ld"},
             // Logic of more than three operands is not one instruction.
             {"lop3.b32 %r15, %r1, %r2, %r3, 128; and.b32 %r0, %r15, %r1;", "lop3 and"},
             {"and.b32 %r15, %r1, %r2; lop3.b32 %r0, %r15, %r3, %r4, 128;", "and lop3"},
             {"and.b32 %r15, %r1, %r2; or.b32 %r0, %r15, %r3;", "- or"},
             {"and.b32 %r15, %r1, 1; and.b32 %r0, %r15, %r3;", "- and"},
             {"and.pred %p1, %p2, %p3; or.pred %p1, %p1, %p2; selp.u32 %r0, 1, 2, %p1;",
              "and or selp"},
             // Of 64 bits sums stay two, and a product with its sum is one.
             {"add.u64 %d15, %d1, %d2; add.u64 %d0, %d15, %d3;", "add add"},
             {"mul.wide.u32 %d15, %r1, %r2; add.u64 %d0, %d15, %d3;", "- add"},
             {"mul.lo.u64 %d15, %d1, %d2; add.u64 %d0, %d15, %d3;", "- add"},
             {"mul.wide.u32 %d15, %r1, %r2; add.cc.u64 %d0, %d15, %d3;", "mul add"},
             // What is made wider.
             {"cvt.u32.u16 %r15, %h1; add.u32 %r0, %r15, %r3;", "- add"},
             {"cvt.u32.u16 %r15, %h1; xor.b32 %r0, %r15, %r3;", "cvt xor"},
             {"cvt.rn.f32.s32 %f5, %r1; add.f32 %f0, %f5, %f1;", "cvt add"},
             {"cvt.rzi.s32.f32 %r15, %f1; add.u32 %r0, %r15, %r3;", "cvt add"},
             {"neg.s32 %r15, %r1; add.u32 %r0, %r15, %r3;", "neg add"},
             {"neg.f32 %f5, %f2; mov.b32 %r15, %f5; add.u32 %r0, %r15, %r1;", "neg - add"},
             // In another block, or around a loop, it stays; and where its user has one already.
             {"and.b32 %r15, %r1, %r2; @%p1 bra L; L: xor.b32 %r0, %r15, %r3;", "and bra xor"},
             {"L: xor.b32 %r0, %r15, %r3; and.b32 %r15, %r1, %r2; @%p1 bra L;", "xor and bra"},
             {"mul.lo.u32 %r15, %r1, %r2; mul.lo.u32 %r16, %r3, %r4; add.u32 %r0, %r15, %r16;",
              "- mul add"},
             {"mul.f32 %f5, %f2, %f3; mul.f32 %f6, %f2, %f2; add.f32 %f0, %f5, %f6;", "- mul add"},
             {"and.b32 %r15, %r1, %r2; st.shared.u32 [%r3], %r15;", "and st"},
         })
        EXPECT_EQ(lowered(body), is) << body;
}

// A product of 64 bits with its sum is one multiply-add, and costs what that does.
TEST(Lowering, AWideMultiplyAddIsOneInstruction) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %r<3>; .reg .b64 %d<5>;\nmul.wide.u32 %d1, %r1, %r2; add.u64 %d2, %d1, %d3;\n"
        "add.u64 %d4, %d2, %d2; st.global.u64 [%d3], %d4; ret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    const timing::Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    const timing::Cost& c = timing::cost(isa::Arch::sm_90, timing::Kind::multiply64);
    const timing::Lowered& sum = l.operations[1];
    EXPECT_EQ(sum.kind, timing::Kind::multiply64);
    EXPECT_EQ(sum.pipe, timing::Pipe::imad);
    EXPECT_EQ(sum.issue, 1);
    EXPECT_EQ(sum.latency, c.latency);
    EXPECT_EQ(sum.interval, c.interval);
    EXPECT_EQ(l.operations[2].kind, timing::Kind::alu64);
    EXPECT_EQ(l.folded, 1u);
    EXPECT_EQ(l.operations[0].issue, 0);
}

// Registers of data that an access brings: what a store holds the port for.
TEST(Lowering, RegistersOfData) {
    const auto data_of = [](const std::string& access) {
        const ptx::Parsed parsed = ptx::parse(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
            ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n"
            ".shared .align 16 .b8 s[64];\n" +
            access + "\nret;\n}\n");
        EXPECT_TRUE(parsed.diagnostics.empty()) << access;
        const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
        EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << access;
        return timing::lower(r.program, *timing::machine_named("sm_90")).operations[0].data;
    };
    EXPECT_EQ(data_of("st.shared.u8 [s], %r0;"), 1);
    EXPECT_EQ(data_of("st.shared.v2.u16 [s], {%h0, %h1};"), 1);
    EXPECT_EQ(data_of("st.shared.v4.u16 [s], {%h0, %h1, %h2, %h3};"), 2);
    EXPECT_EQ(data_of("st.shared.u32 [s], %r0;"), 1);
    EXPECT_EQ(data_of("st.shared.v4.u32 [s], {%r0, %r1, %r2, %r3};"), 4);
    EXPECT_EQ(data_of("st.shared.u64 [s], %d0;"), 2);
    EXPECT_EQ(data_of("st.shared.v2.u64 [s], {%d0, %d1};"), 4);
    EXPECT_EQ(data_of("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1};"), 1);
    EXPECT_EQ(data_of("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r0], {%r1, %r2, %r3, %r4};"), 4);
    EXPECT_EQ(data_of("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [s], {%f0, %f1, %f2, "
                      "%f3, %f4, %f5, %f6, %f7};"),
              8);
}

// What is known of bulk copies and of waits for them stands in the architecture's own row.
TEST(Lowering, EvidenceOfWhatIsAsynchronous) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b64 %d<9>; .reg .pred %p<4>; .shared .align 16 .b8 s[64];\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d0], 16, [s+32];"
        "mbarrier.try_wait.parity.shared.b64 %p0, [s+32], 0;"
        "cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 16;"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    ASSERT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
    const timing::Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    for (const size_t i : {0, 1, 2, 4})
        EXPECT_EQ(l.operations[i].how, timing::async_row(isa::Arch::sm_90).how)
            << isa::row(r.program.operations[i].op).name;
}

// And of what is not, in the rows of its kind.
TEST(Lowering, EvidenceOfKinds) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;\n"
        "add.u32 %r1, %r2, %r3; mul.lo.u32 %r1, %r1, %r3; fma.rn.f32 %f1, %f2, %f3, %f4;"
        "ex2.approx.f32 %f1, %f2; fma.rn.f64 %g1, %g2, %g3, %g4; popc.b32 %r4, %r1; ret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    size_t measured = 0;
    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_90}) {
        const isa::Resolved r = isa::resolve(parsed.module, arch, "k");
        ASSERT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
        const timing::Lowering l =
            timing::lower(r.program, *timing::machine_named(isa::row(arch).name));
        for (size_t i = 0; i < 6; ++i) {
            EXPECT_EQ(l.operations[i].how, timing::cost(arch, l.operations[i].kind).how)
                << isa::row(r.program.operations[i].op).name;
            measured += l.operations[i].how == timing::Evidence::measured;
        }
    }
    EXPECT_GE(measured, 6u);
}

// Each target of a branch by index begins a block, whichever table names it.
TEST(Lowering, BlocksBeginWhereBranchesLead) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %r<9>; .reg .b64 %d<3>;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 1;\n"
        "one: .branchtargets A, B;\nbrx.idx %r1, one;\n"
        "add.u32 %r2, %r1, 1;\nA: add.u32 %r2, %r2, 2;\nB: add.u32 %r2, %r2, 3;\n"
        "two: .branchtargets C, D;\nbrx.idx %r1, two;\n"
        "C: add.u32 %r2, %r2, 4;\nD: add.u32 %r2, %r2, 5;\nadd.u32 %r2, %r2, 6;\n"
        "st.global.u32 [%d1], %r2; ret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    ASSERT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
    const timing::Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    std::string lines;
    for (uint32_t i = 0; i < r.program.operations.size(); ++i) {
        const uint32_t line = r.program.operations[i].place.line;
        if (line < 18 && l.blocks[l.block_of[i]].first == i) lines += std::to_string(line) + " ";
    }
    EXPECT_EQ(lines, "7 10 11 12 15 16 ");
}

// Behind the first operation, where that is a branch, another block begins, and where it leads.
TEST(Lowering, ABranchMayBeTheFirst) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<9>; .reg .pred %p;\n"
        "@%p bra A;\nadd.u32 %r2, %r1, 1;\nadd.u32 %r2, %r2, 2;\nA: add.u32 %r2, %r2, "
        "3;\nret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    ASSERT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
    const timing::Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    EXPECT_EQ(std::vector(l.block_of.begin(), l.block_of.begin() + 5),
              (std::vector<uint32_t>{0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace lockwarp::lowering_test
