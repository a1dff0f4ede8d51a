// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's compiler is known to change, each where it is and where one thing is otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "validate/compiler.hpp"

namespace {

using namespace lockwarp;
using validate::DifferenceKind;
using validate::Report;

constexpr uint32_t lane = 7;

Report report_of(const std::string& text) {
    Report r;
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << "\n" << text;
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message << "\n" << text;
    r.program = std::move(resolved.program);
    return r;
}

std::string kernel(const std::string& body) {
    return ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
           ".reg .pred %p<5>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; "
           ".reg .f64 %g<9>; .reg .b64 %d<9>;\n" +
           body + "\nret;\n}\n";
}

// What is said of a value that differs in the last instruction of the body, whose inputs are
// `bits` in the lane, and `others` in all others.
std::string known(const std::string& body, uint64_t bits = 0, uint64_t others = 0) {
    Report r = report_of(kernel(body));
    // Before ret and the end of the text.
    const auto last = static_cast<uint32_t>(r.program.operations.size() - 3);
    validate::Difference& d = r.first.emplace();
    d.operation = last;
    d.lane = lane;
    const isa::Operation& o = r.program.operations[last];
    for (uint32_t i = 0; i < o.read; ++i) {
        validate::Difference::Input& input = d.inputs.emplace_back();
        input.name = r.program.registers[r.program.uses[o.first_use + o.written + i]].name;
        input.lanes.fill(others);
        input.lanes[lane] = bits;
    }
    for (const DifferenceKind kind : {DifferenceKind::control_flow, DifferenceKind::memory,
                                      DifferenceKind::fault, DifferenceKind::order}) {
        d.kind = kind;
        EXPECT_EQ(validate::known_of_compiler(r), nullptr) << body;
    }
    d.kind = DifferenceKind::value;
    const validate::CompilerRow* const row = validate::known_of_compiler(r);
    const std::string said = validate::compilers_doing(r);
    if (row == nullptr) {
        EXPECT_EQ(said, "none of those that are known");
        return "";
    }
    EXPECT_EQ(said, "it " + std::string(row->what) + " (tests/compiler/" + std::string(row->test) +
                        ".ptx)");
    return std::string(row->test);
}

TEST(CompilerRows, TheLeastNumberOf16Bits) {
    for (const auto& [source, test] :
         {std::pair<std::string, std::string>{"neg.s16 %h2, %h1;\n", "neg_mul_hi"},
          {"abs.s16 %h2, %h1;\n", "abs_rem"}}) {
        for (const char* result :
             {"mul.hi.s16 %h3, %h4, %h2;", "mul.lo.s16 %h3, %h2, %h4;",
              "mul.wide.s16 %r3, %h2, %h4;", "mad.lo.s16 %h3, %h4, %h4, %h2;",
              "div.s16 %h3, %h4, %h2;", "rem.s16 %h3, %h4, %h2;", "sad.s16 %h3, %h4, %h2, %h4;",
              "shr.s16 %h3, %h2, %r1;", "setp.lt.s16 %p1, %h2, %h4;"}) {
            EXPECT_EQ(known(source + result, 0x8000), test) << result;
            EXPECT_EQ(known(source + result, 0x7fff, 0x8000), "") << result;
            EXPECT_EQ(known(source + result, 0x8001), "") << result;
        }
        for (const char* result :
             {"mul.hi.u16 %h3, %h4, %h2;", "div.u16 %h3, %h4, %h2;", "add.s16 %h3, %h2, %h4;",
              "setp.lt.u16 %p1, %h2, %h4;", "max.s16 %h3, %h2, %h4;"})
            EXPECT_EQ(known(source + result, 0x8000), "") << result;
        // Another register than the one that it wrote.
        EXPECT_EQ(known(source + "mul.hi.s16 %h3, %h4, %h5;", 0x8000), "");
        // Through as many as four moves.
        std::string moved = source;
        for (int i = 3; i <= 6; ++i)
            moved += "mov.b16 %h" + std::to_string(i) + ", %h" + std::to_string(i - 1) + ";\n";
        EXPECT_EQ(known(moved + "mul.hi.s16 %h8, %h1, %h6;", 0x8000), test);
        moved += "mov.b16 %h7, %h6;\n";
        EXPECT_EQ(known(moved + "mul.hi.s16 %h8, %h1, %h7;", 0x8000), "");
    }
    EXPECT_EQ(known("neg.s32 %r2, %r1;\ncvt.u16.u32 %h2, %r2;\nmul.hi.s16 %h3, %h4, %h2;", 0x8000),
              "");
    EXPECT_EQ(known("not.b16 %h2, %h1;\nmul.hi.s16 %h3, %h4, %h2;", 0x8000), "");
}

struct Row {
    const char* body;
    const char* test;  // "": none
};

TEST(CompilerRows, EachPairOfInstructions) {
    for (const Row& row : std::initializer_list<Row>{
             {"cnot.b32 %r2, %r1;\nshl.b16 %h1, %h2, %r2;", "cnot_shl"},
             {"cnot.b32 %r2, %r1;\nshr.b16 %h1, %h2, %r2;", "cnot_shl"},
             {"cnot.b32 %r2, %r1;\nshr.u16 %h1, %h2, %r2;", "cnot_shl"},
             {"cnot.b32 %r2, %r1;\nshr.s16 %h1, %h2, %r2;", ""},
             {"cnot.b32 %r2, %r1;\nshl.b32 %r3, %r4, %r2;", ""},
             {"not.b32 %r2, %r1;\nshl.b16 %h1, %h2, %r2;", ""},
             {"cnot.b16 %h2, %h1;\nneg.f16 %h3, %h2;", "cnot_neg"},
             {"cnot.b16 %h2, %h1;\nneg.bf16 %h3, %h2;", ""},
             {"cnot.b16 %h2, %h1;\nabs.f16 %h3, %h2;", ""},
             {"add.sat.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nabs.f16x2 %r2, %r1;", "sat_abs"},
             {"sub.sat.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nabs.f16x2 %r2, %r1;", "sat_abs"},
             {"mul.sat.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nabs.f16x2 %r2, %r1;", "sat_abs"},
             {"fma.rn.sat.f32 %f2, %f1, %f1, %f1;\nmov.b32 %r1, %f2;\nabs.f16x2 %r2, %r1;",
              "sat_abs"},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nabs.f16x2 %r2, %r1;", ""},
             {"add.sat.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nneg.f16x2 %r2, %r1;", ""},
             {"set.eq.bf16.bf16 %h2, %h1, %h1;\ncvt.f32.f16 %f1, %h2;", "set_cvt"},
             {"set.eq.f16.f16 %h2, %h1, %h1;\ncvt.f32.bf16 %f1, %h2;", "set_cvt"},
             {"set.eq.f16.f16 %h2, %h1, %h1;\ncvt.f32.f16 %f1, %h2;", ""},
             {"set.eq.bf16.bf16 %h2, %h1, %h1;\ncvt.f32.bf16 %f1, %h2;", ""},
             {"copysign.f32 %f3, %f1, %f1;\nxor.b32 %r1, %r2, %r3;", ""},
             {"copysign.f32 %f3, %f1, %f1;\nmov.b32 %r3, %f3;\nxor.b32 %r1, %r2, %r3;",
              "copysign_same"},
             {"copysign.f32 %f3, %f1, %f1;\nmov.b32 %r3, %f3;\nand.b32 %r1, %r2, %r3;",
              "copysign_same"},
             {"copysign.f64 %g3, %g1, %g1;\nmov.b64 %d3, %g3;\nxor.b64 %d1, %d2, %d3;",
              "copysign_same"},
             {"copysign.f64 %g3, %g1, %g1;\nmov.b64 %d3, %g3;\nand.b64 %d1, %d2, %d3;",
              "copysign_same"},
             {"copysign.f32 %f3, %f1, %f1;\nmov.b32 %r3, %f3;\nor.b32 %r1, %r2, %r3;", ""},
             {"cnot.b16 %h2, %h1;\ncvt.f32.f16 %f1, %h2;", "cnot_cvt"},
             {"cnot.b16 %h2, %h1;\ncvt.f32.bf16 %f1, %h2;", "cnot_cvt"},
             {"cnot.b16 %h2, %h1;\ncvt.rn.f32.u16 %f1, %h2;", ""},
             {"set.eq.bf16.bf16 %h2, %h1, %h1;\ncnot.b16 %h3, %h2;", "cnot_set"},
             {"set.eq.f16.f16 %h2, %h1, %h1;\ncnot.b16 %h3, %h2;", "cnot_set"},
             {"set.eq.u32.u32 %r2, %r1, %r1;\ncnot.b32 %r3, %r2;", ""},
             {"rcp.approx.f32 %f2, %f1;\ndiv.approx.f32 %f3, %f1, %f2;", "div_rcp"},
             {"rcp.rn.f32 %f2, %f1;\ndiv.approx.f32 %f3, %f1, %f2;", ""},
             {"rcp.approx.f32 %f2, %f1;\nrcp.approx.f32 %f3, %f2;", "rcp_rcp"},
             {"sqrt.approx.f32 %f2, %f1;\nrcp.approx.f32 %f3, %f2;", ""},
             {"div.approx.f32 %f3, %f1, 0f3F800000;", "div_one"},
             {"div.full.f32 %f3, %f1, 0f3F800000;", "div_one"},
             {"div.rn.f32 %f3, %f1, 0f3F800000;", ""},
             {"div.approx.f32 %f3, %f1, 0f3F800001;", ""},
             {"div.approx.f32 %f3, 0f3F800000, %f1;", ""},
             {"neg.ftz.f16 %h2, %h1;\ncvt.rzi.s32.f16 %r1, %h2;", "neg_cvt"},
             {"abs.ftz.f16 %h2, %h1;\ncvt.rzi.s32.f16 %r1, %h2;", "neg_cvt"},
             {"neg.f16 %h2, %h1;\ncvt.rzi.s32.f16 %r1, %h2;", ""},
             {"mov.b32 %f2, %f1;\nshl.b64 %d1, %d2, %r1;", ""},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nshl.b64 %d1, %d2, %r1;", "shift_f32"},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nshr.b64 %d1, %d2, %r1;", "shift_f32"},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nshr.u64 %d1, %d2, %r1;", "shift_f32"},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nshr.s64 %d1, %d2, %r1;", "shift_f32"},
             {"add.f32 %f2, %f1, %f1;\nmov.b32 %r1, %f2;\nshl.b32 %r2, %r3, %r1;", ""},
             {"add.u32 %r1, %r2, %r2;\nshl.b64 %d1, %d2, %r1;", ""},
             {"@%p1 set.eq.bf16.bf16 %h2, %h1, %h1;\nadd.u16 %h3, %h2, 1;", "guarded_set"},
             {"@%p1 set.eq.f16.f16 %h2, %h1, %h1;\nadd.u16 %h3, %h2, 1;", "guarded_set_f16"},
             {"set.eq.f16.f16 %h2, %h1, %h1;\nadd.u16 %h3, %h2, 1;", ""},
             {"@%p1 set.eq.u32.u32 %r2, %r1, %r1;\nadd.u32 %r3, %r2, 1;", ""},
             {"@%p1 vadd4.u32.u32.u32.add %r2, %r1, %r1, %r3;\nadd.u32 %r4, %r2, 1;",
              "guarded_vadd4"},
             {"@%p1 vsub4.u32.u32.u32.add %r2, %r1, %r1, %r3;\nadd.u32 %r4, %r2, 1;",
              "guarded_vadd4"},
             {"vadd4.u32.u32.u32.add %r2, %r1, %r1, %r3;\nadd.u32 %r4, %r2, 1;", ""},
             {"@%p1 testp.finite.f32 %p2, %f1;\nselp.u32 %r1, 1, 2, %p2;", "guarded_testp"},
             {"@%p1 testp.finite.f64 %p2, %g1;\nselp.u32 %r1, 1, 2, %p2;", "guarded_testp"},
             {"testp.finite.f32 %p2, %f1;\nselp.u32 %r1, 1, 2, %p2;", ""},
             {"add.u32 %r1, %r2, %r3;", ""}})
        EXPECT_EQ(known(row.body), row.test) << row.body;
}

// The way of a branch by a predicate: setp.and with .ftz.
TEST(CompilerRows, TheWayOfABranch) {
    const auto said = [](const std::string& setp, DifferenceKind kind, bool has_branch) {
        Report r = report_of(
            kernel(setp + "\n@%p1 bra L;\nadd.u32 %r1, %r1, 1;\nL:\nadd.u32 %r2, %r1, 1;"));
        validate::Difference& d = r.first.emplace();
        d.kind = kind;
        d.operation = 2;
        d.branch = has_branch ? 1 : validate::no_branch;
        const validate::CompilerRow* const row = validate::known_of_compiler(r);
        return row == nullptr ? "" : std::string(row->test);
    };
    const auto way = DifferenceKind::control_flow;
    EXPECT_EQ(said("setp.lt.and.ftz.f32 %p1, %f1, %f2, %p2;", way, true), "setp_branch");
    EXPECT_EQ(said("setp.lt.and.ftz.f32 %p3|%p1, %f1, %f2, %p2;", way, true), "setp_branch");
    EXPECT_EQ(said("setp.lt.and.ftz.f32 %p1, %f1, %f2, %p2;", way, false), "");
    EXPECT_EQ(said("setp.lt.and.ftz.f32 %p1, %f1, %f2, %p2;", DifferenceKind::value, true), "");
    EXPECT_EQ(said("setp.lt.or.ftz.f32 %p1, %f1, %f2, %p2;", way, true), "");
    EXPECT_EQ(said("setp.lt.and.f32 %p1, %f1, %f2, %p2;", way, true), "");
    EXPECT_EQ(said("setp.lt.ftz.f32 %p1, %f1, %f2;", way, true), "");
    EXPECT_EQ(said("setp.lt.and.f64 %p1, %g1, %g2, %p2;", way, true), "");
    EXPECT_EQ(said("setp.lt.and.ftz.f32 %p3, %f1, %f2, %p2;", way, true), "");
}

TEST(CompilerRows, NothingDiffers) {
    const Report r = report_of(kernel("neg.s16 %h2, %h1;\nmul.hi.s16 %h3, %h4, %h2;"));
    EXPECT_EQ(validate::known_of_compiler(r), nullptr);
}

// What a program has, and not where it differs.
TEST(CompilerRows, OfWholePrograms) {
    const auto said = [](const std::string& text, const char* fault, bool traced) {
        Report r = report_of(text);
        if (fault != nullptr) {
            r.first.emplace().kind = DifferenceKind::fault;
            r.fault = fault;
        }
        r.traced_differs = traced;
        return validate::compilers_doing(r);
    };
    const std::string none = "none of those that are known";
    const std::string other = "the kernel gives other results where it is traced";
    const std::string hint =
        kernel("cp.async.ca.shared.global.L2::cache_hint [%r1], [%d1], 4, %d2;");
    EXPECT_TRUE(said(hint, "an illegal instruction was encountered", false)
                    .ends_with("(tests/compiler/cache_hint_base.ptx)"));
    EXPECT_EQ(said(hint, "an illegal address", false), none);
    EXPECT_EQ(said(hint, nullptr, true), other);
    EXPECT_EQ(said(kernel("cp.async.ca.shared.global [%r1], [%d1], 4;"),
                   "an illegal instruction was encountered", false),
              none);
    const std::string shift = kernel("cnot.b32 %r2, %r1;\nshl.b16 %h1, %h2, %r2;");
    EXPECT_TRUE(said(shift, nullptr, true).ends_with("(tests/compiler/cnot_shl.ptx)"));
    EXPECT_EQ(said(shift, nullptr, false), none);
    EXPECT_EQ(said(kernel("cnot.b32 %r2, %r1;\nshl.b32 %r3, %r4, %r2;"), nullptr, true), other);
    // A result in parts, with a store elsewhere under a guard between them.
    const auto split = [&](const std::string& stores, const std::string& bytes = "4") {
        return said(
                   ".version 8.3\n.target sm_90\n.address_size 64\n"
                   ".func (.param .align 4 .b8 z[" +
                       bytes +
                       "]) f()\n{\n.reg .b16 %h; .reg .b32 %r; .reg .b64 %d; .reg .pred %p;\n" +
                       stores +
                       "ret;\n}\n"
                       ".visible .entry k()\n{\n{ .param .align 4 .b8 y[" +
                       bytes + "];\ncall (y), f; }\nret;\n}\n",
                   nullptr, true)
            .ends_with("(tests/compiler/split_result.ptx)");
    };
    const std::string low = "st.param.b16 [z], %h;\n", high = "st.param.b16 [z+2], %h;\n";
    EXPECT_TRUE(split(low + "@%p st.global.b32 [%d], %r;\n" + high));
    EXPECT_TRUE(split(low + "@!%p st.shared.b16 [%d], %h;\n" + high));
    EXPECT_FALSE(split(low + "st.global.b32 [%d], %r;\n" + high));
    EXPECT_FALSE(split(low + high + "@%p st.global.b32 [%d], %r;\n"));
    EXPECT_FALSE(split("@%p st.global.b32 [%d], %r;\n" + low + high));
    EXPECT_FALSE(split(low + "@%p st.global.b32 [%d], %r;\n"));
    EXPECT_FALSE(
        split("st.param.b32 [z], %r;\n@%p st.global.b32 [%d], %r;\n"
              "st.param.b32 [z+4], %r;\n",
              "8"));
}

}  // namespace
