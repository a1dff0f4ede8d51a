// SPDX-License-Identifier: Apache-2.0
// Elements of arrays as operands (PTX manual, "Arrays as Operands"), as ptxas 13.0 has them.
#include <gtest/gtest.h>

#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"

namespace lockwarp::ptx {
namespace {

std::string kernel(const std::string& body) {
    return ".version 8.3 .target sm_90 .address_size 64\n"
           ".global .align 8 .u64 wide[8]; .global .v4 .f32 vectors[8]; .global .u32 rows[4][3];\n"
           ".global .u8 bytes[8]; .global .u32 one; .global .f16x2 pairs[4];\n"
           ".entry k(.param .u64 p, .param .u32 list[4]) {\n"
           ".reg .b16 %h<4>; .reg .s16 %s<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f;\n"
           ".shared .u32 tile[16];\n" +
           body + "\n}\n";
}

// The same tree as that of the other text, and nothing wrong with it.
void expect_same(const std::string& body, const std::string& as) {
    const Parsed one = parse(kernel(body)), other = parse(kernel(as));
    for (const Parsed* p : {&one, &other})
        for (const Diagnostic& d : p->diagnostics) ADD_FAILURE() << d.message << "\n" << body;
    EXPECT_EQ(print(one.module), print(other.module)) << body;
    EXPECT_TRUE(one.module == other.module) << body;
}

std::string block(const std::string& index, const std::string& array, int bytes,
                  const std::string& then) {
    return "{ .reg .b64 %lockwarp_element; .reg .b32 %lockwarp_index; " + index +
           " mov.u64 %lockwarp_element, " + array +
           "; mad.wide.u32 %lockwarp_element, %lockwarp_index, " + std::to_string(bytes) +
           ", %lockwarp_element; " + then + " }";
}

TEST(Elements, WithAConstantIndexAreAddressesWithAnOffset) {
    expect_same("ld.global.u64 %rd1, wide[2];", "ld.global.u64 %rd1, [wide+16];");
    expect_same("ld.global.u64 %rd1, wide [ 0 ];", "ld.global.u64 %rd1, [wide];");
    expect_same("ld.global.u64 %rd1, wide[-1];", "ld.global.u64 %rd1, [wide-8];");
    expect_same("ld.global.u64 %rd1, wide[1+2*2];", "ld.global.u64 %rd1, [wide+40];");
    expect_same("ld.global.u64 %rd1, wide[WARP_SZ];", "ld.global.u64 %rd1, [wide+256];");
    expect_same("ld.global.u32 %r1, wide[1];", "ld.global.u32 %r1, [wide+8];");
    expect_same("ld.global.f32 %f, vectors[2];", "ld.global.f32 %f, [vectors+8];");
    expect_same("ld.global.u32 %r1, rows[1];", "ld.global.u32 %r1, [rows+4];");
    expect_same("ld.global.u8 %r1, bytes[3];", "ld.global.u8 %r1, [bytes+3];");
    expect_same("ld.global.b32 %r1, pairs[3];", "ld.global.b32 %r1, [pairs+12];");
    expect_same("ld.param.u32 %r1, list[1];", "ld.param.u32 %r1, [list+4];");
    expect_same("st.shared.u32 tile[3], %r1;", "st.shared.u32 [tile+12], %r1;");
    expect_same("ldu.global.u64 %rd1, wide[1];", "ldu.global.u64 %rd1, [wide+8];");
    expect_same("mov.u64 %rd1, wide[1];", "mov.u64 %rd1, wide+8;");
    expect_same("mov.u32 %r1, tile[0];", "mov.u32 %r1, tile;");
    expect_same("cvta.global.u64 %rd1, wide[1];", "cvta.global.u64 %rd1, wide+8;");
}

TEST(Elements, WithARegisterAreComputedBeforeTheInstruction) {
    const std::string move = "mov.b32 %lockwarp_index, %r1;", ld = "ld.global.u64 %rd1, ";
    const std::string at = "[%lockwarp_element];";
    expect_same(ld + "wide[%r1];", block(move, "wide", 8, ld + at));
    expect_same("@%p1 " + ld + "wide[%r1];", block(move, "wide", 8, "@%p1 " + ld + at));
    expect_same(ld + "wide[%r1+2];",
                block(move + " add.u32 %lockwarp_index, %lockwarp_index, 2;", "wide", 8, ld + at));
    expect_same(
        ld + "wide[%r1+-1];",
        block(move + " add.u32 %lockwarp_index, %lockwarp_index, 4294967295;", "wide", 8, ld + at));
    expect_same(ld + "wide[%rd2];",
                block("cvt.u32.u64 %lockwarp_index, %rd2;", "wide", 8, ld + at));
    expect_same(ld + "wide[%h3];", block("cvt.u32.u16 %lockwarp_index, %h3;", "wide", 8, ld + at));
    expect_same(ld + "wide[%s3];", block("cvt.u32.s16 %lockwarp_index, %s3;", "wide", 8, ld + at));
    expect_same("ld.global.v4.f32 {%f, _, _, _}, vectors[%r1];",
                block(move, "vectors", 4, "ld.global.v4.f32 {%f, _, _, _}, " + at));
    expect_same("st.shared.u32 tile[%r1], %r2;",
                block(move, "tile", 4, "st.shared.u32 [%lockwarp_element], %r2;"));
    expect_same("mov.u64 %rd1, wide[%r1];",
                block(move, "wide", 8, "mov.u64 %rd1, %lockwarp_element;"));
    expect_same("mov.u32 %r1, tile[%r1];",
                block(move, "tile", 4, "cvt.u32.u64 %r1, %lockwarp_element;"));
    expect_same("cvta.global.u64 %rd1, wide[%r1];",
                block(move, "wide", 8, "cvta.global.u64 %rd1, %lockwarp_element;"));
    // A range of registers may end in a number, and end before one.
    expect_same("{ .reg .b64 %r1<3>; ld.global.u64 %rd1, wide[%r12]; }",
                "{ .reg .b64 %r1<3>; " +
                    block("cvt.u32.u64 %lockwarp_index, %r12;", "wide", 8, ld + at) + " }");
    expect_same(
        "{ .reg .b64 %r<2>; ld.global.u64 %rd1, wide[%r3]; }",
        "{ .reg .b64 %r<2>; " + block("mov.b32 %lockwarp_index, %r3;", "wide", 8, ld + at) + " }");
    // Names of the block that the instruction stands in come first.
    expect_same("{ .reg .b64 %r1; .shared .u16 wide[4]; ld.shared.u16 %h1, wide[%r1]; }",
                "{ .reg .b64 %r1; .shared .u16 wide[4]; " +
                    block("cvt.u32.u64 %lockwarp_index, %r1;", "wide", 2,
                          "ld.shared.u16 %h1, [%lockwarp_element];") +
                    " }");
}

TEST(Elements, OthersAreRefused) {
    const auto said = [](const std::string& body) {
        std::string out;
        for (const Diagnostic& d : parse(kernel(body)).diagnostics) out += d.message + "\n";
        return out;
    };
    const std::string no_array = "Array indexing on non-array\n";
    EXPECT_EQ(said("ld.global.u32 %r1, one[0];"), no_array);
    EXPECT_EQ(said("ld.global.u32 %r1, one[%r1];"), no_array);
    EXPECT_EQ(said("ld.global.u32 %r1, nowhere[%r1];"), no_array);
    EXPECT_EQ(said("ld.global.u32 %r1, %rd1[1];"), no_array);
    EXPECT_EQ(said("{ .shared .u32 own[4]; } ld.shared.u32 %r1, own[1];"), no_array);
    const std::string no_index =
        "an array's index is a register of 16, 32 or 64 bits, or a constant\n";
    EXPECT_EQ(said("ld.global.u64 %rd1, wide[%f];"), no_index);
    EXPECT_EQ(said("ld.global.u64 %rd1, wide[%r9];"), no_index);
    EXPECT_EQ(said("{ .reg .b128 %q; ld.global.u64 %rd1, wide[%q]; }"), no_index);
    EXPECT_EQ(said("ld.global.u64 %rd1, wide[one];"), no_index);
    EXPECT_EQ(said("atom.global.add.u64 %rd1, wide[%r1], 1;"),
              "an array element is not an operand of 'atom'\n");
    EXPECT_EQ(said("add.u64 %rd1, %rd2, wide[1];"),
              "an array element is not an operand of 'add'\n");
    EXPECT_EQ(said("mov.b64 %rd1, {tile[1], %r1};"),
              "an array element is not an operand in a list\n");
    EXPECT_EQ(said("mov.b64 %rd1, {tile[0], %r1};"), "");
    // However many there are, and however long an opcode is.
    std::string many;
    for (int i = 0; i < 300; ++i) many += "ld.u32 %r1, one[0]; mov.b64 %rd1, {tile[1], %r1};\n";
    EXPECT_EQ(parse(kernel(many)).diagnostics.size(), max_diagnostics);
    const std::string opcode(300, 'o');
    EXPECT_EQ(said(opcode + ".u32 %r1, tile[1];"),
              "an array element is not an operand of '" + opcode.substr(0, 48) + "'\n");
}

}  // namespace
}  // namespace lockwarp::ptx
