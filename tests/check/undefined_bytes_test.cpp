// SPDX-License-Identifier: Apache-2.0
// Which bytes of a result are undefined, by instruction: those that depend on an undefined byte of
// an operand (PTX manual, by instruction), or all, where the check does not tell them apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check {
namespace {

struct Row {
    std::string body;
    unsigned undefined;  // bytes, by bits
    std::string result;
    uint32_t lanes = UINT32_MAX;
};

constexpr unsigned bytes_given = 12;

// In `lanes` the bytes `undefined` of %r0, %r1, %r2 (of which the first two are %d0, and the first
// %h0 and %h1) have no value; all others are 0x5a. Gives the bytes of %r9, or of %d9, that have
// none: "0 2", and with the lanes where these are not all, "0:80000001".
std::string undefined_after(const Row& row, bool is_wide) {
    std::string text =
        ".version 8.6\n.target sm_100\n.address_size 64\n.shared .align 16 .b8 given[512];\n"
        ".shared .align 16 .b8 at[1024];\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"
        "mov.u32 %r20, %tid.x; shl.b32 %r21, %r20, 4; mov.u32 %r22, given;\n"
        "add.u32 %r22, %r21, %r22; mov.u32 %r23, 1; shl.b32 %r23, %r23, %r20;\n"
        "and.b32 %r23, %r23, " +
        std::to_string(row.lanes) + "; setp.eq.u32 %p8, %r23, 0; mov.u32 %r24, 0;\n";
    for (unsigned i = 0; i < bytes_given; ++i)
        text += std::string((row.undefined >> i & 1) != 0 ? "@%p8 " : "") + "st.shared.u8 [%r22+" +
                std::to_string(i) + "], 0x5a;\n";
    text +=
        "ld.shared.u32 %r0, [%r22]; ld.shared.u32 %r1, [%r22+4]; ld.shared.u32 %r2, [%r22+8];\n"
        "ld.shared.u64 %d0, [%r22]; mov.b64 %d1, 7; ld.shared.u16 %h0, [%r22]; ld.shared.u16 %h1, "
        "[%r22+2];\n" +
        row.body + "\n" +
        (is_wide ? "st.shared.u64 [%r22], %d9;\n" : "st.shared.u32 [%r22], %r9;\n");
    // Each byte is part of an address.
    const auto first = static_cast<uint32_t>(std::ranges::count(text, '\n')) + 1;
    const unsigned bytes = is_wide ? 8 : 4;
    for (unsigned i = 0; i < bytes; ++i)
        text += "ld.shared.u8 %r30, [%r22+" + std::to_string(i) +
                "]; mov.u32 %r31, at; add.u32 %r31, %r31, %r30; ld.shared.u8 %r32, [%r31];\n";
    const ptx::Parsed parsed = ptx::parse(text + "ret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << row.body;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_100, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << row.body;
    warp::Launch launch;
    launch.block.x = 32;
    launch.threads = 1;
    launch.parameters.resize(8);
    const Chosen chosen = choose("uninitialised");
    const Checking checking(chosen.rows, r.program, launch, &parsed.module, {});
    const warp::Result result = exec::launch(r.program, launch);
    EXPECT_FALSE(result.refusal || result.trap) << row.body;
    std::vector<uint32_t> lanes(bytes);
    for (const Found& f : checking.found(result)) {
        if (!f.finding.here.operation || f.finding.kind != "address") continue;
        const uint32_t line = r.program.operations[*f.finding.here.operation].place.line;
        if (line >= first && line < first + bytes) lanes[line - first] |= f.finding.here.lanes;
    }
    std::string out;
    for (unsigned i = 0; i < bytes; ++i) {
        if (lanes[i] == 0) continue;
        out += (out.empty() ? "" : " ") + std::to_string(i);
        if (lanes[i] == UINT32_MAX) continue;
        std::array<char, 16> hex{};
        std::snprintf(hex.data(), hex.size(), ":%x", lanes[i]);
        out += hex.data();
    }
    return out;
}

void expect_each(const std::vector<Row>& rows) {
    for (const Row& r : rows)
        EXPECT_EQ(undefined_after(r, r.body.find("%d9") != std::string::npos), r.result)
            << r.body << " of " << r.undefined << " in " << r.lanes;
}

TEST(UndefinedBytes, OfMoves) {
    expect_each({
        {"mov.b32 %r9, %r0;", 0x5, "0 2"},
        {"mov.b32 %r9, %r0;", 0xa, "1:80000001 3:80000001", 0x80000001},
        {"mov.b32 %r9, %r0;", 0xff0, ""},
        {"mov.b64 %d9, %d0;", 0x81, "0 7"},
        {"mov.b64 %d9, {%r1, %r0};", 0x21, "1 4"},
        {"mov.b64 {%r8, %r9}, %d0;", 0x21, "1"},
        {"mov.b64 {%r9, %r8}, %d0;", 0x21, "0"},
        {"mov.b32 %r9, {%h1, %h0};", 0x9, "1 2"},
        {"mov.b32 {%h2, %h3}, %r0; mov.b32 %r9, {%h3, %h2};", 0x1, "2"},
        {"mov.b64 {%h2, %h3, %h4, %h5}, %d0; mov.b32 %r9, {%h5, %h3};", 0x48, "0 3"},
        {"mov.b64 %d9, {%h0, %h1, %h1, %h0};", 0x2, "1 7"},
        {"mov.b64 %d9, {%h0, %h1, %h1, %h0};", 0x4, "2 4"},
    });
}

TEST(UndefinedBytes, OfLoads) {
    expect_each({
        {"ld.shared.u8 %r9, [%r22+1];", 0x2, "0"},
        {"ld.shared.u8 %r9, [%r22+1];", 0xd, ""},
        {"ld.shared.s8 %r9, [%r22+1];", 0x2, "0 1 2 3"},
        {"ld.shared.s16 %r9, [%r22];", 0x1, "0"},
        {"ld.shared.s16 %r9, [%r22];", 0x2, "1 2 3"},
        {"ld.shared.u16 %r9, [%r22];", 0x2, "1"},
        {"ld.shared.s32 %d9, [%r22];", 0x8, "3 4 5 6 7"},
        {"ld.shared.v2.u32 {%r8, %r9}, [%r22];", 0x21, "1"},
        {"ld.shared.v4.u8 {%r8, %r9, %r10, %r11}, [%r22];", 0x2, "0"},
        {"ld.shared.v4.u8 {%r8, %r9, %r10, %r11}, [%r22];", 0xd, ""},
        // What is stored anew has a value.
        {"st.shared.u16 [%r22], 7; ld.shared.u32 %r9, [%r22];", 0x7, "2"},
        {"st.shared.v2.u32 [%r22], {%r1, %r0}; ld.shared.u32 %r9, [%r22];", 0x21, "1"},
        {"atom.shared.exch.b32 %r9, [%r22], 5;", 0x4, "0 1 2 3"},
        {"atom.shared.exch.b32 %r8, [%r22], 5; ld.shared.u32 %r9, [%r22];", 0x4, ""},
        {"atom.shared.add.u32 %r8, [%r22], 5; ld.shared.u32 %r9, [%r22];", 0x4, "0 1 2 3"},
        {"atom.shared.add.u32 %r8, [%r22+4], %r0; ld.shared.u32 %r9, [%r22+4];", 0x4, "0 1 2 3"},
        {"atom.shared.add.u32 %r8, [%r22+4], %r0; mov.b32 %r9, %r8;", 0x4, ""},
    });
}

TEST(UndefinedBytes, OfShifts) {
    expect_each({
        {"shl.b32 %r9, %r0, 0;", 0x5, "0 2"},
        {"shl.b32 %r9, %r0, 8;", 0x1, "1"},
        {"shl.b32 %r9, %r0, 16;", 0x1, "2"},
        {"shl.b32 %r9, %r0, 4;", 0x1, "0 1"},
        {"shl.b32 %r9, %r0, 12;", 0x1, "1 2"},
        {"shl.b32 %r9, %r0, 4;", 0x8, "3"},
        {"shl.b32 %r9, %r0, 24;", 0x1, "3"},
        {"shl.b32 %r9, %r0, 24;", 0x2, ""},
        {"shl.b32 %r9, %r0, 31;", 0x1, "3"},
        {"shl.b32 %r9, %r0, 32;", 0xf, ""},
        {"shl.b64 %d9, %d0, 40;", 0x2, "6"},
        {"shl.b64 %d9, %d0, 64;", 0xff, ""},
        {"shr.u32 %r9, %r0, 8;", 0x2, "0"},
        {"shr.u32 %r9, %r0, 8;", 0x1, ""},
        {"shr.u32 %r9, %r0, 4;", 0x8, "2 3"},
        {"shr.u32 %r9, %r0, 4;", 0x1, "0"},
        {"shr.u32 %r9, %r0, 28;", 0x8, "0"},
        {"shr.u64 %d9, %d0, 36;", 0x20, "0 1"},
        // The sign comes from above.
        {"shr.s32 %r9, %r0, 0;", 0x8, "3"},
        {"shr.s32 %r9, %r0, 4;", 0x8, "2 3"},
        {"shr.s32 %r9, %r0, 8;", 0x8, "2 3"},
        {"shr.s32 %r9, %r0, 16;", 0x8, "1 2 3"},
        {"shr.s32 %r9, %r0, 20;", 0x8, "0 1 2 3"},
        {"shr.s32 %r9, %r0, 40;", 0x8, "0 1 2 3"},
        {"shr.s32 %r9, %r0, 16;", 0x4, "0"},
        {"shr.s64 %d9, %d0, 32;", 0x80, "3 4 5 6 7"},
        {"shr.s64 %d9, %d0, 32;", 0x40, "2"},
        // By an undefined amount anything.
        {"shl.b32 %r9, %r1, %r0;", 0x2, "0 1 2 3"},
        {"mov.b32 %r9, 8; shl.b32 %r9, %r0, %r9;", 0x1, "0 1 2 3"},
        {"mov.b32 %r9, 8; shl.b32 %r9, %r1, %r9;", 0x1, ""},
        // Lane by lane.
        {"and.b32 %r8, %r20, 1; shl.b32 %r8, %r8, 3; shl.b32 %r9, %r0, %r8;", 0x1,
         "0:55555555 1:aaaaaaaa"},
    });
}

TEST(UndefinedBytes, OfConversions) {
    expect_each({
        {"cvt.u32.u16 %r9, %h0;", 0x2, "1"},
        {"cvt.s32.s16 %r9, %h0;", 0x2, "1 2 3"},
        {"cvt.s32.s16 %r9, %h0;", 0x1, "0"},
        {"cvt.s32.s8 %r9, %r0;", 0x1, "0 1 2 3"},
        {"cvt.s32.s8 %r9, %r0;", 0x2, ""},
        {"cvt.u32.u8 %r9, %r0;", 0x1, "0"},
        {"cvt.u32.u8 %r9, %r0;", 0xe, ""},
        {"cvt.u16.u32 %h2, %r0; mov.b32 %r9, {%h2, %h2};", 0x6, "1 3"},
        {"cvt.s64.s32 %d9, %r0;", 0x8, "3 4 5 6 7"},
        {"cvt.s64.s32 %d9, %r0;", 0x4, "2"},
        {"cvt.u64.u32 %d9, %r0;", 0x8, "3"},
        {"cvt.u64.s32 %d9, %r0;", 0x8, "3 4 5 6 7"},
        {"cvt.u32.u64 %r9, %d0;", 0x24, "2"},
        {"cvt.rn.f32.u32 %f1, %r0; mov.b32 %r9, %f1;", 0x1, "0 1 2 3"},
        {"mov.b32 %f1, %r0; cvt.rzi.s32.f32 %r9, %f1;", 0x1, "0 1 2 3"},
        {"cvt.sat.u16.s32 %h2, %r0; mov.b32 %r9, {%h0, %h2};", 0x8, "2 3"},
        // Of packed numbers each comes from its own; of two operands the first is the upper.
        {"cvt.rn.satfinite.e4m3x2.f16x2 %h2, %r0; mov.b32 %r9, {%h2, %h2};", 0x4, "1 3"},
        {"cvt.rn.satfinite.e4m3x2.f16x2 %h2, %r0; mov.b32 %r9, {%h2, %h2};", 0x2, "0 2"},
        {"cvt.rn.f16x2.e5m2x2 %r9, %h0;", 0x2, "2 3"},
        {"cvt.rn.f16x2.e5m2x2 %r9, %h0;", 0x1, "0 1"},
        {"mov.b32 %f1, %r0; mov.b32 %f2, %r1; cvt.rn.f16x2.f32 %r9, %f1, %f2;", 0x1, "2 3"},
        {"mov.b32 %f1, %r0; mov.b32 %f2, %r1; cvt.rn.bf16x2.f32 %r9, %f1, %f2;", 0x80, "0 1"},
        {"mov.b32 %f1, %r0; mov.b32 %f2, %r1; cvt.rn.satfinite.e5m2x2.f32 %h2, %f1, %f2; "
         "mov.b32 %r9, {%h2, %h2};",
         0x8, "1 3"},
    });
}

TEST(UndefinedBytes, OfBytesThatArePicked) {
    expect_each({
        {"prmt.b32 %r9, %r0, %r1, 0x3210;", 0xa, "1 3"},
        {"prmt.b32 %r9, %r0, %r1, 0x7654;", 0xa0, "1 3"},
        {"prmt.b32 %r9, %r0, %r1, 0x0123;", 0x1, "3"},
        {"prmt.b32 %r9, %r0, %r1, 0x0055;", 0x20, "0 1"},
        {"prmt.b32 %r9, %r0, %r1, 0x1238;", 0x1, "0"},  // its sign
        {"prmt.b32 %r9, %r1, %r1, %r0;", 0x2, "0 1 2 3"},
        // What is not told apart is undefined as a whole.
        {"prmt.b32.f4e %r9, %r0, %r1, 0;", 0x2, "0 1 2 3"},
        {"setp.lt.u32 %p1, %r20, 16; selp.b32 %r9, %r0, %r1, %p1;", 0x12, "0:ffff0000 1:ffff"},
        {"setp.lt.u32 %p1, %r0, 16; selp.b32 %r9, %r1, %r2, %p1;", 0x1, "0 1 2 3"},
        {"setp.lt.u32 %p1, %r20, %r24; selp.b32 %r9, %r0, %r1, %p1;", 0xf, ""},
        {"bfe.u32 %r9, %r0, 8, 8;", 0x2, "0 1 2 3"},
        {"lop3.b32 %r9, %r0, %r1, %r2, 0x80;", 0x2, "0 1 2 3"},
    });
}

// A byte of zeros decides an and, one of ones an or; a difference of the same is none.
TEST(UndefinedBytes, OfLogic) {
    const std::string undefined_and = "setp.eq.u32 %p1, %r0, 1; setp.eq.u32 %p2, %r20, ";
    expect_each({
        {"not.b32 %r9, %r0;", 0x5, "0 2"},
        {"and.b32 %r9, %r0, %r1;", 0x21, "0 1"},
        {"and.b32 %r9, %r0, 0xff00;", 0x3, "1"},
        {"and.b32 %r9, %r0, 0xf0;", 0x3, "0"},
        {"and.b32 %r9, 0xff00, %r0;", 0x3, "1"},
        {"and.b32 %r9, %r0, %r24;", 0xf, ""},
        {"or.b32 %r9, %r0, %r24;", 0x9, "0 3"},
        {"or.b32 %r9, %r0, 0xff;", 0x3, "1"},
        {"or.b32 %r9, %r0, 0xff00ff00;", 0xf, "0 2"},
        {"or.b32 %r9, %r0, 0xfe;", 0x3, "0 1"},
        {"and.b64 %d9, %d0, 0xff0000000000ff00;", 0xc3, "1 7"},
        {"xor.b32 %r9, %r0, %r1;", 0x21, "0 1"},
        {"xor.b32 %r9, %r0, %r0;", 0xf, ""},
        {"sub.u32 %r9, %r0, %r0;", 0xf, ""},
        {undefined_and +
             "%r20; not.pred %p2, %p2; and.pred %p3, %p1, %p2; selp.u32 %r9, 1, 0, %p3;",
         0x1, ""},
        {undefined_and + "%r20; and.pred %p3, %p1, %p2; selp.u32 %r9, 1, 0, %p3;", 0x1, "0 1 2 3"},
        {undefined_and + "%r20; or.pred %p3, %p1, %p2; selp.u32 %r9, 1, 0, %p3;", 0x1, ""},
        {undefined_and + "%r20; or.pred %p3, %p2, %p1; selp.u32 %r9, 1, 0, %p3;", 0x1, ""},
        {undefined_and + "5; or.pred %p3, %p1, %p2; selp.u32 %r9, 1, 0, %p3;", 0x1,
         "0:ffffffdf 1:ffffffdf 2:ffffffdf 3:ffffffdf"},
    });
}

TEST(UndefinedBytes, OfArithmetic) {
    expect_each({
        {"add.u32 %r9, %r0, %r1;", 0x1, "0 1 2 3"},
        {"add.u32 %r9, %r0, %r1;", 0x80, "0:8 1:8 2:8 3:8", 0x8},
        {"mul.lo.u32 %r9, %r0, %r1;", 0x40, "0 1 2 3"},
        // Two numbers packed in one register are apart.
        {"add.rn.f16x2 %r9, %r0, %r1;", 0x1, "0 1"},
        {"add.rn.f16x2 %r9, %r0, %r1;", 0x40, "2 3"},
        {"add.rn.f16x2 %r9, %r0, %r1;", 0x42, "0 1 2 3"},
        {"fma.rn.f16x2 %r9, %r0, %r1, %r2;", 0x800, "2 3"},
        {"neg.f16x2 %r9, %r0;", 0x2, "0 1"},
        {"min.f16x2 %r9, %r0, %r1;", 0x8, "2 3"},
        {"add.rn.f32x2 %d9, %d0, %d1;", 0x2, "0 1 2 3"},
        {"fma.rn.f32x2 %d9, %d1, %d0, %d1;", 0x80, "4 5 6 7"},
        {"mul.f32x2 %d9, %d1, %d0;", 0x28, "0 1 2 3 4 5 6 7"},
    });
}

// Integers from which what was undefined is taken away again are defined.
TEST(UndefinedBytes, OfSums) {
    const std::string all = "0 1 2 3", wide = "0 1 2 3 4 5 6 7";
    const std::string less_r0 = " sub.u32 %r9, %r8, %r0;", less_d0 = " sub.u64 %d9, %d2, %d0;";
    expect_each({
        {"add.u32 %r8, %r1, %r0;" + less_r0, 0xf, ""},
        {"add.u32 %r8, %r0, %r1;" + less_r0, 0x4, ""},
        {"add.s32 %r8, %r0, 7; add.s32 %r8, %r8, %r8;" + less_r0 + "sub.u32 %r9, %r9, %r0;", 0xf,
         ""},
        {"add.u32 %r8, %r0, %r0;" + less_r0, 0xf, all},
        {"add.u32 %r8, %r2, %r0;" + less_r0, 0xf0f, all},
        {"add.u32 %r8, %r2, %r0;" + less_r0 + "sub.u32 %r9, %r9, %r2;", 0xf0f, ""},
        {"sub.u32 %r8, %r1, %r0; add.u32 %r9, %r8, %r0;", 0xf, ""},
        {"sub.u32 %r8, %r1, %r0;" + less_r0, 0xf, all},
        {"neg.s32 %r8, %r0; add.u32 %r9, %r8, %r0;", 0xf, ""},
        {"neg.s32 %r8, %r0;" + less_r0, 0xf, all},
        {"mov.u32 %r8, %r0;" + less_r0, 0xf, ""},
        {"mov.u32 %r8, %r2;" + less_r0, 0xf0f, all},
        {"add.u64 %d2, %d0, %d1;" + less_d0, 0xff, ""},
        {"sub.u64 %d2, %d1, %d0; add.u64 %d9, %d2, %d0;", 0x81, ""},
        {"neg.s64 %d2, %d0; add.u64 %d9, %d2, %d0;", 0xff, ""},
        {"mov.u64 %d2, %d0;" + less_d0, 0xff, ""},
        {"add.u64 %d2, %d0, %d0;" + less_d0, 0xff, wide},
        // No sums of integers, or of parts of registers.
        {"mul.lo.u32 %r8, %r0, 1;" + less_r0, 0xf, all},
        {"add.sat.s32 %r8, %r0, %r1;" + less_r0, 0xf, all},
        {"mov.b32 %f1, %r0; add.f32 %f2, %f1, 0f00000000; mov.b32 %r8, %f2;" + less_r0, 0xf, all},
        {"neg.f32 %f1, %r0; mov.b32 %r8, %f1; add.u32 %r9, %r8, %r0;", 0xf, all},
        {"setp.lt.u32 %p1, %r20, 32; selp.f32 %r8, %r0, %r1, %p1;" + less_r0, 0xf, all},
        {"add.u16x2 %r8, %r0, %r1;" + less_r0, 0xf, all},
        {"add.u16 %h2, %h0, %h1; sub.u16 %h3, %h2, %h0; mov.b32 %r9, {%h3, %h3};", 0x3, all},
        // Two halves, apart and together again.
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 %d2, {%r8, %r10};" + less_d0, 0xff, ""},
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 %d2, {%r10, %r8};" + less_d0, 0xff, wide},
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 %d2, {%r8, %r1};" + less_d0, 0xff, wide},
        {"add.u64 %d2, %d0, %d1; mov.b64 {%r8, %r10}, %d2; mov.b64 %d2, {%r8, %r10};" + less_d0,
         0xff, ""},
        {"add.u64 %d2, %d0, 0x500000000; mov.b64 {%r8, %r10}, %d2; mov.b64 %d2, {%r8, %r10};" +
             less_d0,
         0xff, ""},
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 {%r11, %r12}, %d0; sub.u32 %r9, %r10, %r12;", 0xff, ""},
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 {%r11, %r12}, %d0; sub.u32 %r9, %r8, %r11;", 0xff, ""},
        {"mov.b64 {%r8, %r10}, %d0; mov.b64 {%r11, %r12}, %d0; sub.u32 %r9, %r10, %r11;", 0xff,
         all},
        {"mov.b64 %d2, {%r0, %r2}; mov.b64 {%r8, %r10}, %d2;" + less_r0, 0xf0f, ""},
        {"mov.b64 %d2, {%r2, %r0}; mov.b64 {%r10, %r8}, %d2;" + less_r0, 0xf0f, ""},
        {"mov.b64 %d2, {%r2, %r0}; mov.b64 {%r8, %r10}, %d2;" + less_r0, 0xf0f, all},
        {"mov.b64 %d2, {%r0, %r2}; mov.b64 %d3, {%r0, %r2}; sub.u64 %d9, %d2, %d3;", 0xf0f, ""},
        {"mov.b64 %d2, {%r0, %r1}; mov.b64 %d3, {%r0, %r2}; sub.u64 %d9, %d2, %d3;", 0xf0f, wide},
        {"mov.b64 {%h2, %h3, %h4, %h5}, %d0; mov.b64 %d2, {%h2, %h3, %h4, %h5};" + less_d0, 0xff,
         wide},
        {"mov.b32 {%h2, %h3}, %r0; mov.b32 %r8, {%h2, %h3};" + less_r0, 0xf, all},
        // What another lane has.
        {"shfl.sync.idx.b32 %r8, %r0, 3, 31, -1;" + less_r0, 0xf,
         "0:fffffff7 1:fffffff7 2:fffffff7 3:fffffff7"},
        {"shfl.sync.bfly.b32 %r8, %r0, 1, 31, -1; shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1;" +
             less_r0,
         0xf, ""},
        {"shfl.sync.up.b32 %r8, %r0, 1, 0, -1;" + less_r0, 0xf,
         "0:fffffffe 1:fffffffe 2:fffffffe 3:fffffffe"},
        {"mov.u32 %r8, 0; shfl.sync.idx.b32 %r8, %r0, %r8, 31, -1;" + less_r0, 0xf, all},
        {"mov.u32 %r8, 31; shfl.sync.idx.b32 %r8, %r0, 3, %r8, -1;" + less_r0, 0xf, all},
        {"shfl.sync.idx.b32 %r8, %r1, %r0, 31, -1; sub.u32 %r9, %r8, %r1;", 0xf, all},
        {"shfl.sync.idx.b32 %r8, %r1, 3, %r0, -1; sub.u32 %r9, %r8, %r1;", 0xf, all},
        // What is chosen.
        {"setp.lt.u32 %p1, %r20, 16; selp.b32 %r8, %r0, %r2, %p1;" + less_r0, 0xf0f,
         "0:ffff0000 1:ffff0000 2:ffff0000 3:ffff0000"},
        {"setp.lt.u32 %p1, %r20, 16; selp.b32 %r8, %r2, %r0, %p1;" + less_r0, 0xf0f,
         "0:ffff 1:ffff 2:ffff 3:ffff"},
        {"setp.eq.u32 %p1, %r0, 16; selp.b32 %r8, %r0, %r0, %p1;" + less_r0, 0xf, all},
        // Through memory, as long as nothing else is stored there.
        {"st.shared.u32 [%r22], %r0; ld.shared.u32 %r8, [%r22];" + less_r0, 0xf, ""},
        {"ld.shared.u32 %r8, [%r22]; ld.shared.u32 %r10, [%r22]; sub.u32 %r9, %r8, %r10;", 0xf, ""},
        {"ld.shared.u32 %r8, [%r22]; ld.shared.u32 %r10, [%r22+8]; sub.u32 %r9, %r8, %r10;", 0xf0f,
         all},
        {"st.shared.v2.u32 [%r22], {%r1, %r0}; ld.shared.u32 %r8, [%r22+4];" + less_r0, 0xf, ""},
        {"st.shared.v2.u32 [%r22], {%r2, %r0}; ld.shared.v2.u32 {%r10, %r8}, [%r22];" + less_r0,
         0xf0f, ""},
        {"st.shared.v2.u32 [%r22], {%r0, %r2}; ld.shared.v2.u32 {%r10, %r8}, [%r22];" + less_r0,
         0xf0f, all},
        {"st.shared.u64 [%r22], %d0; ld.shared.u64 %d2, [%r22];" + less_d0, 0xff, ""},
        {"st.shared.u64 [%r22], %d0; ld.shared.u32 %r8, [%r22];" + less_r0, 0xff, all},
        {"st.shared.u32 [%r22], %r0; st.shared.u8 [%r22], 1; ld.shared.u32 %r8, [%r22];" + less_r0,
         0xf, all},
        {"st.shared.u32 [%r22], %r0; st.shared.u8 [%r22+3], 1; ld.shared.u32 %r8, [%r22];" +
             less_r0,
         0xf, all},
        {"st.shared.u32 [%r22], %r0; st.shared.u8 [%r22+4], 1; ld.shared.u32 %r8, [%r22];" +
             less_r0,
         0xf, ""},
        {"st.shared.u32 [%r22], %r0; st.shared.u32 [%r22], %r2; ld.shared.u32 %r8, [%r22];" +
             less_r0,
         0xf0f, all},
    });
}

// Predicates of comparisons and others of two, of a third, and with a whole register beside.
TEST(UndefinedBytes, OfBoundsOfTheRules) {
    expect_each({
        {"and.b64 %d9, %d0, %d1;", 0x81, "0"},
        {"or.b64 %d9, %d0, 0xff000000000000ff;", 0xff, "1 2 3 4 5 6"},
        {"mov.b32 %r9, 0xff; and.b32 %r9, %r0, %r9;", 0xf, "0 1 2 3"},  // it is written over
        {"xor.b64 %d9, %d0, %d0;", 0xff, ""},
        {"sub.u64 %d9, %d0, %d0;", 0xff, ""},
        {"add.u32 %r9, %r0, %r0;", 0x1, "0 1 2 3"},
        {"shr.s64 %d9, %d0, 8;", 0x80, "6 7"},
        {"shr.s32 %r9, %r0, 24;", 0x8, "0 1 2 3"},
        {"shl.b64 %d9, %d0, 56;", 0x1, "7"},
        {"cvt.u64.u8 %d9, %r0;", 0x1, "0"},
        {"cvt.s64.s8 %d9, %r0;", 0x1, "0 1 2 3 4 5 6 7"},
        {"cvt.u64.u64 %d9, %d0;", 0x81, "0 7"},
        {"fma.rn.f16x2 %r9, %r1, %r0, %r2;", 0x1, "0 1"},
        {"max.f16x2 %r9, %r1, %r0;", 0xc, "2 3"},
        {"abs.f16x2 %r9, %r0;", 0x8, "2 3"},
        {"mul.wide.u32 %d9, %r0, 1;", 0x1, "0 1 2 3 4 5 6 7"},
    });
}

// A lane has what its source has, or keeps its own where that is none. The segments are 8 lanes.
TEST(UndefinedBytes, OfShuffles) {
    const auto shuffle = [](const std::string& how) { return "shfl.sync." + how + ", -1;"; };
    expect_each({
        {shuffle("up.b32 %r9, %r0, 1, 0"), 0x2, "1:3", 0x1},
        {shuffle("up.b32 %r9, %r0, 1, 0"), 0x2, "", 0x80000000},
        {shuffle("up.b32 %r9, %r0, 1, 0x1800"), 0x1, "", 0x80},
        {shuffle("up.b32 %r9, %r0, 1, 0x1800"), 0x1, "0:300", 0x100},
        {shuffle("down.b32 %r9, %r0, 1, 31"), 0x1, "0:c0000000", 0x80000000},
        {shuffle("down.b32 %r9, %r0, 1, 31"), 0x1, "", 0x1},
        {shuffle("down.b32 %r9, %r0, 1, 0x181f"), 0x1, "0:c0", 0x80},
        {shuffle("down.b32 %r9, %r0, 1, 0x181f"), 0x1, "", 0x100},
        {shuffle("bfly.b32 %r9, %r0, 16, 31"), 0x9, "0:10000 3:10000", 0x1},
        {shuffle("bfly.b32 %r9, %r0, 8, 0x1807"), 0x1, "0:101", 0x1},
        {shuffle("idx.b32 %r9, %r0, 5, 31"), 0x1, "0", 0x20},
        {shuffle("idx.b32 %r9, %r0, 5, 0x181f"), 0x1, "0:ff", 0x20},
        {shuffle("idx.b32 %r9, %r0, 5, 0x181f"), 0x1, "0:ff00", 0x2000},
        {shuffle("idx.b32 %r9, %r0, 5, 4"), 0x1, "0:40", 0x40},
        {shuffle("idx.b32 %r9, %r0, 5, 4"), 0x1, "0:20", 0x20},
        {shuffle("idx.b32 %r9, %r1, %r0, 31"), 0x1, "0:4 1:4 2:4 3:4", 0x4},
        {"vote.sync.ballot.b32 %r9, %p8, -1; add.u32 %r9, %r9, %r24;", 0xf, "", 0x4},
        {"setp.eq.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r9, %p1, -1;", 0x1, "0 1 2 3", 0x4},
        {"redux.sync.add.u32 %r9, %r0, -1;", 0x1, "0 1 2 3", 0x8},
    });
}

// mma.m16n8k8: a row of A makes a row of D, a column of B a column, C one element. Lane l has rows
// l / 4 and l / 4 + 8 of A, C and D, columns l % 4 * 2 and one more of C and D, and column l / 4 of
// B (PTX manual, "Matrix Fragments for mma.m16n8k8").
TEST(UndefinedBytes, OfProducts) {
    const auto product = [](const std::string& a, const std::string& b, const std::string& c,
                            unsigned d) {
        return "mov.b32 %f1, %r24; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, "
               "%f6, %f7}, {" +
               a + "}, {" + b + "}, {" + c + "}; mov.b32 %r9, %f" + std::to_string(4 + d) + ";";
    };
    const auto packed = [](const std::string& a, const std::string& b, const std::string& c,
                           unsigned d) {
        return "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r8, %r10}, {" + a + "}, {" + b +
               "}, {" + c + "}; mov.b32 %r9, %r" + (d == 0 ? "8;" : "10;");
    };
    const std::string zeros = "%f1, %f1, %f1, %f1", given = "mov.b32 %f2, %r0;";
    const auto all = [](const std::string& lanes) {
        return "0:" + lanes + " 1:" + lanes + " 2:" + lanes + " 3:" + lanes;
    };
    expect_each({
        {product("%r0, %r24", "%r24", zeros, 0), 0x1, all("f0"), 1u << 5},
        {product("%r0, %r24", "%r24", zeros, 1), 0x1, all("f0"), 1u << 5},
        {product("%r0, %r24", "%r24", zeros, 2), 0x1, "", 1u << 5},
        {product("%r24, %r0", "%r24", zeros, 0), 0x8, "", 1u << 5},
        {product("%r24, %r0", "%r24", zeros, 3), 0x8, all("f0"), 1u << 5},
        {product("%r24, %r24", "%r0", zeros, 0), 0x1, all("22222222"), 1u << 9},
        {product("%r24, %r24", "%r0", zeros, 2), 0x1, all("22222222"), 1u << 9},
        {product("%r24, %r24", "%r0", zeros, 1), 0x1, "", 1u << 9},
        {product("%r24, %r24", "%r0", zeros, 1), 0x1, all("22222222"), 1u << 13},
        {given + product("%r24, %r24", "%r24", "%f1, %f2, %f1, %f1", 1), 0x1, all("20"), 1u << 5},
        {given + product("%r24, %r24", "%r24", "%f1, %f2, %f1, %f1", 0), 0x1, "", 1u << 5},
        {given + product("%r24, %r24", "%r24", "%f1, %f1, %f1, %f2", 3), 0x1, all("20"), 1u << 5},
        {packed("%r24, %r24", "%r0", "%r24, %r24", 0), 0x1, "0:22222222 1:22222222", 1u << 9},
        {packed("%r24, %r24", "%r0", "%r24, %r24", 1), 0x1, "2:22222222 3:22222222", 1u << 13},
        {packed("%r24, %r24", "%r24", "%r0, %r24", 0), 0x4, "2:20 3:20", 1u << 5},
        {packed("%r24, %r24", "%r24", "%r24, %r0", 1), 0x1, "0:20 1:20", 1u << 5},
        {packed("%r24, %r24", "%r24", "%r24, %r0", 0), 0x1, "", 1u << 5},
    });
}

}  // namespace
}  // namespace lockwarp::check
