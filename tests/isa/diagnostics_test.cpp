// SPDX-License-Identifier: Apache-2.0
// What is wrong with a module, with its place. Messages are the assembler's where it has one.
#include <algorithm>

#include "emu/isa/resolver.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa::diagnostics_test {
namespace {

// Registers that the cases use, on line 6; the case itself stands on line 7.
constexpr std::string_view registers =
    ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b16 %h<9>; "
    ".shared .b32 sh[8];\n";

std::string error_of(std::string_view instruction) {
    return errors_of(std::string(registers) + std::string(instruction));
}

// A copy by im2col may be wrong in something else.
TEST(Diagnostics, OfCopiesByIm2col) {
    const auto of = [](const std::string& text) {
        const std::string said = error_of(text);
        return said.substr(0, said.find(" ("));  // without the forms that there are
    };
    const std::string of_reduction = "' for instruction 'cp.reduce.async.bulk.tensor'",
                      of_copy = "' for instruction 'cp.async.bulk.tensor'",
                      reduce = "cp.reduce.async.bulk.tensor.3d.global.shared::cta",
                      copy = "cp.async.bulk.tensor.3d.", counted = ".mbarrier::complete_tx::bytes",
                      stored = ".bulk_group [%rd1, {%r1, %r2, %r3}], [sh];",
                      loaded = " [sh], [%rd1, {%r1, %r2, %r3}], [sh];";
    EXPECT_EQ(of(reduce + ".im2col_no_offs" + stored),
              "7:1: Reduction operation is required for instruction 'cp.reduce.async.bulk.tensor'");
    EXPECT_EQ(of(reduce + ".add.im2col" + stored), "7:1: Illegal modifier '.im2col" + of_reduction);
    EXPECT_EQ(of(copy + "global.shared::cta.im2col" + stored),
              "7:1: Illegal modifier '.im2col" + of_copy);
    EXPECT_EQ(of(copy + "shared::cluster.global.im2col_no_offs" + counted + loaded),
              "7:1: Illegal modifier '.im2col_no_offs" + of_copy);
    // The offsets are missing.
    EXPECT_EQ(of(copy + "shared::cluster.global.im2col" + counted + loaded),
              "7:1: Arguments mismatch for instruction 'cp.async.bulk.tensor'");
}

// What a copy of a tensor map lacks: of the first that is missing it is said by name.
TEST(Diagnostics, OfCopiesOfTensorMaps) {
    const auto of = [](const std::string& modifiers) {
        const std::string said =
            error_of("tensormap.cp_fenceproxy.global" + modifiers + " [%rd1], [sh], 128;");
        return said.substr(0, said.find(" ("));  // without the forms that there are
    };
    const std::string from = ".shared::cta.tensormap::generic";
    EXPECT_EQ(of(from + ".release.gpu.sync.aligned"), "");
    EXPECT_EQ(of(from + ".gpu.sync.aligned"),
              "7:1: .release modifier required for instruction 'tensormap.cp_fenceproxy'");
    EXPECT_EQ(of(from + ".release.gpu.sync"),
              "7:1: .aligned modifier required for instruction 'tensormap.cp_fenceproxy'");
    EXPECT_EQ(of(from + ".release.sync.aligned"),
              "7:1: Unexpected instruction types specified for 'tensormap'");
}

// As ptxas 13.0 says it.
TEST(Diagnostics, ReplacesOfATensorMap) {
    const std::string of = " for instruction 'tensormap.replace'";
    const std::string types = "Unexpected instruction types specified for 'tensormap.replace'";
    const std::string field = "Tensormap field modifier required" + of;
    const std::string size = "Tensormap size modifier required" + of;
    const std::pair<std::string, std::string> all[] = {
        {"", types},
        {".b1024", types},
        {".b32", field},
        {".b64", "Illegal modifier ''" + of + " with type '.b64'"},
        {".shared", types},
        {".shared.b32", field},
        {".rank", types},
        {".rank.b1024", types},
        {".rank.b32", size},
        {".rank.b64", "Illegal modifier '.rank'" + of + " with type '.b64'"},
        {".rank.b1024.b64", "Illegal modifier '.rank'" + of + " with type '.b64'"},
        {".rank.b1024.b32.b32", types},
        {".rank.shared", types},
        {".rank.shared.b32", size},
        {".rank.shared.b1024.b32", "State space incorrect" + of},
        {".global_address.b32", "Illegal modifier '.global_address'" + of + " with type '.b32'"},
        {".global_stride.b64", size},
    };
    for (const auto& [modifiers, words] : all) {
        const std::string said = error_of("tensormap.replace.tile" + modifiers + " [%rd1], 1;");
        EXPECT_EQ(said.substr(0, said.find(" (")), "7:1: " + words) << modifiers;
    }
}

TEST(Diagnostics, OfOneInstruction) {
    const struct {
        std::string_view text;
        std::string_view expected;
    } cases[] = {
        {"addd.f32 %f1, %f2, %f3;",
         "7:1: Not a name of any known instruction: 'addd' (did you mean 'add'?)\n"},
        {"quux %f1;", "7:1: Not a name of any known instruction: 'quux'\n"},
        {"  lop3.b16 %h1, %h2, %h3, %h4, 5;",
         "7:7: Illegal modifier '.b16' for instruction 'lop3' (lop3.b32, lop3.and|.or.b32)\n"},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.trans %r1, %r2, %r3, %r4;",
         "7:48: Illegal modifier '.trans' for instruction 'wmma.mma' "
         "(wmma.mma.sync.aligned.row|.col.row|.col<wmmashape>.f16|.f32.f16|.f32, "
         "wmma.mma.sync.aligned.row|.col.row|.col<wmmashape>.f32.bf16.bf16.f32)\n"},
        {"ret.frob;", "7:4: Unknown modifier '.frob' (ret{.uni})\n"},
        {"ld.gobal.u32 %r1, [%rd1];", "7:3: Unknown modifier '.gobal' (did you mean '.global'?)\n"},
        {"ld.global.L1::evict_lsat.u32 %r1, [%rd1];",
         "7:10: Unknown modifier '.L1::evict_lsat' (did you mean '.L1::evict_last'?)\n"},
        {"@%p1 mul.wide.s34 %rd1, %r1, %r2;",
         "7:14: Unknown modifier '.s34' (did you mean '.s32'?)\n"},
        {"cvt.rn.satfinte.e4m3x2.f32 %h1, %f1, %f2;",
         "7:7: Unknown modifier '.satfinte' (did you mean '.satfinite'?)\n"},
        {"cvt.rn.e4m3x2.f32 %h1, %f1, %f2;",
         "7:1: Unexpected instruction types specified for 'cvt' "
         "(cvt.rn.satfinite{.relu}.e4m3x2|.e5m2x2.f32)\n"},
        {"cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;",
         "7:1: Feature '.rs' not supported on .target 'sm_90'\n"},
        {"cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;",
         "7:1: Instruction 'cvt with .e2m3x2/.e3m2x2' not supported on .target 'sm_90'\n"},
        {"shfl.idx.b32 %r1, %r2, 0, 31;",
         "7:1: Instruction 'shfl' without '.sync' is not supported on .target sm_70 and higher "
         "from "
         "PTX ISA version 6.4\n"},
        {"vote.ballot.b32 %r1, %p1;",
         "7:1: Instruction 'vote' without '.sync' is not supported on .target sm_70 and higher "
         "from "
         "PTX ISA version 6.4\n"},
        // What there is, those with most of the types first, and how many more.
        {"mma.sync.aligned.m16n8k32.row.col.f32.f16.bf16.f32 {%f1, %f2, %f3, %f4}, "
         "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};",
         "7:1: Unexpected instruction types specified for 'mma' (with this shape: "
         "mma.m16n8k32.f32.e4m3.e4m3.f32, mma.m16n8k32.f32.e4m3.e5m2.f32, "
         "mma.m16n8k32.f32.e5m2.e4m3.f32, mma.m16n8k32.f32.e5m2.e5m2.f32, "
         "mma.m16n8k32.s32.s8.s8.s32, mma.m16n8k32.s32.s8.u8.s32, mma.m16n8k32.s32.u8.s8.s32, "
         "mma.m16n8k32.s32.u8.u8.s32 and 8 more (lockwarp info))\n"},
        {"mma.sync.aligned.m8n8k4.row.col.f32.f16.bf16.f32 {%f1, %f2, %f3, %f4}, "
         "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};",
         "7:1: Unexpected instruction types specified for 'mma' (with this shape: "
         "mma.m8n8k4.row.row.f32.f16.f16.f32, mma.m8n8k4.row.col.f32.f16.f16.f32, "
         "mma.m8n8k4.col.row.f32.f16.f16.f32, mma.m8n8k4.col.col.f32.f16.f16.f32, "
         "mma.m8n8k4.row.row.f32.f16.f16.f16, mma.m8n8k4.row.col.f32.f16.f16.f16, "
         "mma.m8n8k4.col.row.f32.f16.f16.f16, mma.m8n8k4.col.col.f32.f16.f16.f16 and 5 more "
         "(lockwarp info))\n"},
        {"mma.sync.aligned.m16n8k4.row.col.f32.f16.bf16.f32 {%f1, %f2, %f3, %f4}, "
         "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};",
         "7:1: Unexpected instruction types specified for 'mma' (with this shape: "
         "mma.m16n8k4.f32.tf32.tf32.f32, mma.m16n8k4.f64.f64.f64.f64)\n"},
        {"ret.uni.uni;", "7:1: Unexpected instruction types specified for 'ret' (ret{.uni})\n"},
        {"tcgen05.wait::ld.sync.aligned;",
         "7:1: Instruction 'tcgen05.wait::ld.sync.aligned' is not executed yet\n"},
        {"st.bulk.weak [%rd1], %rd2, 0;", "7:1: Instruction 'st.bulk.weak' is not executed yet\n"},
        {"mul.f32x2 %rd1, %rd2, %rd3;",
         "7:1: Feature 'mul.f32x2' requires .target sm_100 or higher\n"},
        {"add.f32 %f1, %f2, %rd1;",
         "7:19: Arguments mismatch for instruction 'add' ('%rd1' is a .b64 register, the "
         "instruction has .f32)\n"},
        {"vadd.u32.u32.u32 %r1.b4, %r2, %r3, %r4;",
         "7:18: Incorrect video selector for operand 0\n"},
        {"vadd.u32.u32.u32 %r1, %r2.h2, %r3;", "7:23: Incorrect video selector for operand 1\n"},
        {"vadd.u32.u32.u32 %r1, %r2.b$, %r3;", "7:23: Incorrect video selector for operand 1\n"},
        {"vadd.u32.u32.u32 %r1.b0, %r2, %r3;",
         "7:18: Video selector is not allowed on destination for instruction 'vadd'\n"},
        {"vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4;",
         "7:22: Video instruction cannot have destination selector and secondary operation\n"},
        {"vadd.u32.u32.u32 %r1, -%r2, %r3;",
         "7:23: Operand negation not allowed for instruction 'vadd'\n"},
        {"vadd2.u32.u32.u32 %r1.h01, %r2, %r3, %r4;",
         "7:19: Incorrect video selector for operand 0\n"},
        {"vadd2.u32.u32.u32 %r1, %r2, 5, %r4;", "7:29: Incorrect video selector for operand 2\n"},
        {"vadd2.u32.u32.u32 %r1, %r2, %r3, 5;", "7:34: Incorrect video selector for operand 3\n"},
        {"vadd4.u32.u32.u32 %r1, %r2.b1024, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd4.u32.u32.u32 %r1, %r2, %r3, %r4.b0;",
         "7:34: Video selector is not allowed on 'source C' operand\n"},
        {"vadd.u32.u32.u32 %r1, %r2.b3, %r3.h1;", ""},
        {"vadd.u32.u32.u32 %r1, %r2.b0, %r3.h0;", ""},
        {"vadd.u32.u32.u32 %r1.b3, %r2, %r3, %r4;", ""},
        {"vadd.u32.u32.u32 %r1.h1, 5, 6, 7;", ""},
        {"vadd.u32.u32.u32.add %r1, %r2, %r3, 5;", ""},
        {"vadd.u32.u32.u32 %r1.h2, %r2, %r3, %r4;",
         "7:18: Incorrect video selector for operand 0\n"},
        {"vadd.u32.u32.u32 %r1, %r2, %r3.b01;", "7:28: Incorrect video selector for operand 2\n"},
        {"vadd.u32.u32.u32 %r1, %r2, %r3.b;", "7:28: Incorrect video selector for operand 2\n"},
        {"vadd.u32.u32.u32 %r1, %r2, %r3.c0;", "7:28: Incorrect video selector for operand 2\n"},
        {"vadd2.u32.u32.u32 %r1.h10, %r2.h32, %r3.h00, %r4;", ""},
        {"vadd2.u32.u32.u32 %r1.h0, %r2, %r3, %r4;", ""},
        {"vadd2.u32.u32.u32 %r1.h00, %r2, %r3, %r4;",
         "7:19: Incorrect video selector for operand 0\n"},
        {"vadd2.u32.u32.u32 %r1.h2, %r2, %r3, %r4;",
         "7:19: Incorrect video selector for operand 0\n"},
        {"vadd2.u32.u32.u32 %r1, %r2.h4, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd2.u32.u32.u32 %r1, %r2.h40, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd2.u32.u32.u32 %r1, %r2.h321, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd2.u32.u32.u32 %r1, %r2.b10, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd4.u32.u32.u32 %r1.b3210, %r2.b7654, %r3.b0000, %r4;", ""},
        {"vadd4.u32.u32.u32 %r1.b31, %r2, %r3, %r4;", ""},
        {"vadd4.u32.u32.u32 %r1.b4, %r2, %r3, %r4;",
         "7:19: Incorrect video selector for operand 0\n"},
        {"vadd4.u32.u32.u32 %r1, %r2.b8000, %r3, %r4;",
         "7:24: Incorrect video selector for operand 1\n"},
        {"vadd4.u32.u32.u32 %r1, -%r2, %r3, %r4;",
         "7:24: Operand negation not allowed for instruction 'vadd4'\n"},
        {"vadd.u32.u32.u32.add %r1, %r2, %r3, -%r4;",
         "7:37: Operand negation not allowed for instruction 'vadd'\n"},
        {"vmad.u32.u32.u32 %r1, %r2.b1, %r3.h1, 7;", ""},
        {"vmad.u32.u32.u32 %r1, -%r2, %r3, %r4;", ""},
        {"vmad.u32.u32.u32 %r1, %r2, %r3, -%r4;", ""},
        {"vmad.u32.u32.u32 -%r1, %r2, %r3, %r4;",
         "7:18: Operand negation not allowed for instruction 'vmad'\n"},
        {"vmad.u32.u32.u32 %r1, %r2, %r3, %r4.b0;",
         "7:33: Video selector is not allowed on 'source C' operand\n"},
        {"vmad.u32.u32.u32.po %r1, %r2, %r3, %r4;", ""},
        {"vmad.u32.u32.u32 %r1.b0, %r2, %r3, %r4;",
         "7:18: Video selector is not allowed on destination for instruction 'vmad'\n"},
        {"vmad.u32.u32.u32 %r1, -%r2, -%r3, -%r4;", ""},
        {"vmad.u32.u32.u32 %r1, %r2, -%r3, -%r4;",
         "7:34: Operand negation limited to either (source A xor source B) or source C\n"},
        {"vmad.u32.u32.u32.po %r1, -%r2, -%r3, %r4;", ""},
        {"vmad.u32.u32.u32.po %r1, -%r2, %r3, %r4;",
         "7:37: Conflicting use of '.po' modifier with operand negation\n"},
        {"vmad.u32.u32.u32.po %r1, %r2, %r3, -%r4;",
         "7:36: Conflicting use of '.po' modifier with operand negation\n"},
        {"add.f32 %f1, %f2;", "7:1: Arguments mismatch for instruction 'add' (operands: D S S)\n"},
        {"add.f32 %f1, %f2, %f3, %f4;",
         "7:24: Arguments mismatch for instruction 'add' (too many operands)\n"},
        {"add.f32 %f1, %f2, 1;", "7:19: Arguments mismatch for instruction 'add'\n"},
        {"add.f32 1.0, %f2, %f3;", "7:9: Arguments mismatch for instruction 'add'\n"},
        {"mov.b32 %r1, 1.5;", "7:14: Arguments mismatch for instruction 'mov'\n"},
        {"add.u32 %r1, %tid.x, 1;",
         "7:14: Special register argument not allowed for instruction 'add'\n"},
        {"ld.global.v2.b32 {%r1, %r2, %r3}, [%rd1];",
         "7:18: Argument vector size mismatch for instruction 'ld' (2 expected, 3 given)\n"},
        {"ld.global.v2.b32 %r1, [%rd1];",
         "7:18: Arguments mismatch for instruction 'ld' (a vector of 2 is expected)\n"},
        {"ld.global.f32 %rd1, [%rd1];", ""},
        {"ld.global.f32 %h1, [%rd1];",
         "7:15: Arguments mismatch for instruction 'ld' ('%h1' is a .b16 register, the "
         "instruction has .f32)\n"},
        {"add.f32 %f1, %f2, %f9;", "7:19: Unknown symbol '%f9'\n"},
        {"add.f32 %f1, %f2, %f01;", "7:19: Unknown symbol '%f01'\n"},
        {"ld.shared.b32 %r1, [nowhere];", "7:21: Unknown symbol 'nowhere'\n"},
        {"@%q bra after;", "7:1: Unknown symbol '%q'\n7:9: Unknown symbol 'after'\n"},
        {"bra sh;", "7:5: Unknown symbol 'sh'\n"},
        {"ld.global.b32 %r1, [sh];",
         "7:21: State space mismatch between instruction and address in instruction 'ld'\n"},
        {"ld.b32 %r1, [%f1];",
         "7:14: Illegal to use symbol '%f1' of type .f32 as address operand. Use integer or bit "
         "only.\n"},
        {"cp.async.cg.shared.global [%r1], [%rd1], %r2;",
         "7:42: Arguments mismatch for instruction 'cp.async' (a constant is expected)\n"},
        {"bar.arrive 1;",
         "7:1: Arguments mismatch for instruction 'bar' (operands: S:.u32 S:.u32)\n"},
    };
    for (const auto& c : cases) EXPECT_EQ(error_of(c.text), c.expected) << c.text;
}

TEST(Diagnostics, Declarations) {
    const struct {
        std::string_view body;
        std::string_view expected;
    } cases[] = {
        {".reg .b32 a; .reg .b64 a;", "6:24: Duplicate definition of variable 'a'\n"},
        {".reg .b32 %r<4>, %r<5>;", "6:18: Duplicate definition of variable '%r'\n"},
        {".reg .v8 .b32 v;", "6:15: Vectors of registers have 2 or 4 elements\n"},
        {"a: ret;\na: ret;", "7:1: Duplicate definition of label 'a'\n"},
        {".shared .b32 s[70000];", "6:14: Variable 's' does not fit its state space\n"},
        {".shared .b32 s = 5;", "6:14: Variable 's' cannot be initialised in its state space\n"},
        {".local .b8 l[999999];", "6:12: Variable 'l' does not fit its state space\n"},
        {".shared .b32 s; .shared .b32 s;", "6:30: Duplicate definition of variable 's'\n"},
    };
    for (const auto& c : cases) EXPECT_EQ(errors_of(c.body), c.expected) << c.body;
    EXPECT_EQ(errors_of("ret;", ".global .b32 g[2] = {1, 2, 3};"),
              "4:28: More initial values than the variable has elements\n");
    EXPECT_EQ(errors_of("ret;", ".global .b64 g = nothing;"), "4:18: Unknown symbol 'nothing'\n");
    // As ptxas 13.0 has it: of a whole program what is .extern alone is zeros, if it has a size.
    EXPECT_EQ(errors_of("ret;", ".extern .global .b32 g;"), "");
    EXPECT_EQ(errors_of("ret;", ".extern .global .b32 g[];"),
              "4:22: Unresolved extern variable 'g'\n");
    EXPECT_EQ(errors_of("ret;", ".extern .global .b32 g[]; .visible .global .b32 g[2] = {1, 2};"),
              "");
    EXPECT_EQ(errors_of("ret;", ".extern .global .b32 g[2]; .visible .global .b32 g[4];"),
              "4:50: Inconsistent redefinition of variable 'g'\n");
    EXPECT_EQ(errors_of("ret;", ".extern .const .b32 g; .visible .const .f32 g;"),
              "4:45: Inconsistent redefinition of variable 'g'\n");
    EXPECT_EQ(errors_of("ret;", ".extern .global .b32 g; .global .b32 g; .global .b32 g;"),
              "4:54: Duplicate definition of variable 'g'\n");
    EXPECT_EQ(errors_of("ret;", ".global .b8 g[4294967296][4294967296];"),
              "4:13: Variable 'g' has no usable size or alignment\n");
    EXPECT_EQ(errors_of("ret;", ".global .b8 g[268435457];"),
              "4:13: Variable 'g' does not fit its state space\n");
    EXPECT_EQ(errors_of("ret;", ".extern .shared .b8 d[]; .extern .shared .b8 d[];"), "");
    EXPECT_EQ(errors_of("ret;", ".global .b32 g; .global .f32 g;"),
              "4:30: Duplicate definition of variable 'g'\n");
}

// A kernel that uses one instruction a thousand times gets one message, not a thousand.
TEST(Diagnostics, AnInstructionThatIsNotExecutedIsReportedOnce) {
    std::string body = "ret;\n";
    for (int i = 0; i < 1000; ++i) body += "istypep.texref %p1, %f2;\n";
    EXPECT_EQ(errors_of(body),
              "7:1: Instruction 'istypep.texref' is not executed yet (occurs 1000 times, first "
              "here)\n");
}

// All of them at once, each once, in functions too.
TEST(Diagnostics, EveryInstructionThatIsNotExecutedIsCounted) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".func f() {\n"
        "  istypep.texref %p1, %r2;\n"
        "  tcgen05.wait::ld.sync.aligned;\n"
        "  ld.gobal.u32 %r1, [%r2];\n"
        "  ret;\n}\n"
        ".entry k() {\n"
        "  tcgen05.fence;\n"
        "  tcgen05.wait::ld.sync.aligned;\n"
        "  call f;\n"
        "  tcgen05.wait::ld.sync.aligned;\n"
        "  ld.gobal.u32 %r1, [%r2];\n"
        "  ret;\n}\n";
    const std::string errors = messages(resolved(text, Arch::sm_90).diagnostics);
    const auto has = [&](const std::string& part) {
        EXPECT_NE(errors.find(part), std::string::npos) << part << "\n" << errors;
    };
    has("5:3: Instruction 'istypep.texref' is not executed yet\n");
    has(": Instruction 'tcgen05.wait::ld.sync.aligned' is not executed yet (occurs 3 times, "
        "first "
        "here)\n");
    has(": Unknown modifier '.gobal' (did you mean '.global'?; occurs 2 times, first here)\n");
    has("11:3: Instruction 'tcgen05.fence' is not executed yet\n");
    EXPECT_EQ(std::ranges::count(errors, '\n'), 4) << errors;
}

TEST(Diagnostics, SeveralErrorsStandInTheOrderOfTheirPlaces) {
    const std::string text =
        "bra missing; add.f32 %x, %f1, %f2;\n"
        "frob;\n"
        ".reg .b32 a; .reg .b32 a;\n"
        "istypep.texref %p1, %f2;\n"
        "add.f32 %f1, %f2, %f3, %f4;\n"
        "frob;\n";
    EXPECT_EQ(error_of(text),
              "7:5: Unknown symbol 'missing'\n"
              "7:22: Unknown symbol '%x'\n"
              "8:1: Not a name of any known instruction: 'frob' (occurs 2 times, first here)\n"
              "9:24: Duplicate definition of variable 'a'\n"
              "10:1: Instruction 'istypep.texref' is not executed yet\n"
              "11:24: Arguments mismatch for instruction 'add' (too many operands)\n");
}

TEST(Diagnostics, OfEntries) {
    const auto errors = [](const std::string& text, std::string_view entry) {
        return messages(
            resolved(".version 9.0\n.target sm_90\n.address_size 64\n" + text, Arch::sm_90, entry)
                .diagnostics);
    };
    EXPECT_EQ(errors("", ""), "1:10: The module has no entry\n");
    EXPECT_EQ(errors(".func f() { ret; }", ""), "1:10: The module has no entry\n");
    EXPECT_EQ(errors(".entry a() {}\n.entry b() {}", ""),
              "4:8: The module has several entries: name one (entries: a, b)\n");
    EXPECT_EQ(errors(".entry a() {}\n.entry b() {}", "c"),
              "4:8: The module has no entry 'c' (entries: a, b)\n");
    EXPECT_EQ(errors(".entry _Z1kPf() {}\n.entry _Z1kPd() {}", "k"),
              "4:8: The entry name 'k' is ambiguous (entries: _Z1kPf, _Z1kPd)\n");
    EXPECT_EQ(errors(".entry a(.param .b32 p, .param .b32 p) {}", ""),
              "4:37: Duplicate definition of variable 'p'\n");
    EXPECT_EQ(errors(".entry a(.param .b8 p[40000]) {}", ""),
              "4:21: Formal parameter space overflowed (32764 bytes max)\n");
}

TEST(Diagnostics, Nearest) {
    const std::vector<std::string_view> names{"add", "ldmatrix", "movmatrix", "mad"};
    EXPECT_EQ(nearest("ldmatrx", names), "ldmatrix");
    EXPECT_EQ(nearest("ad", names), "add");
    EXPECT_EQ(nearest("zzzzzz", names), "");
    EXPECT_EQ(nearest("", {}), "");
}

}  // namespace
}  // namespace lockwarp::isa::diagnostics_test
