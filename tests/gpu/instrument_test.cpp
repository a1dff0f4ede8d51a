// SPDX-License-Identifier: Apache-2.0
// Text that is put into a kernel, moved or taken out of it: bodies before and after, by the
// printer.
#include "gpu/instrument.hpp"

#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/clocked.hpp"
#include "gpu/trace.hpp"

namespace lockwarp::instrument_test {
namespace {

ptx::Module module_of(const std::string& text) {
    ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << "\n" << text;
    return std::move(parsed.module);
}

isa::Program program_of(const ptx::Module& module) {
    isa::Resolved resolved = isa::resolve(module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty())
        << resolved.diagnostics[0].place.line << ": " << resolved.diagnostics[0].message;
    return std::move(resolved.program);
}

std::string kernel(const std::string& body) {
    return ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n" + body + "}\n";
}

ptx::Block& body_of(ptx::Module& module) { return std::get<ptx::Function>(module.items[0]).body; }

std::string gathered(const std::string& body) {
    ptx::Module module = module_of(kernel(body));
    gpu::gather_parameter_stores(body_of(module));
    return ptx::print(module);
}

std::string as_printed(const std::string& body) { return ptx::print(module_of(kernel(body))); }

struct Rows {
    const char *before, *after;
};

TEST(Instrument, StoresToParametersGoDownToTheirCall) {
    for (const Rows& row : std::initializer_list<Rows>{
             {"st.param.b32 [x], %r1;\nmov.b32 %r2, 2;\nret;\n",
              "mov.b32 %r2, 2;\nst.param.b32 [x], %r1;\nret;\n"},
             {"st.param.b32 [x], %r1;\nmov.b32 %r2, %r1;\n",
              "mov.b32 %r2, %r1;\nst.param.b32 [x], %r1;\n"},
             {"st.param::func.b32 [x], %r1;\nmov.b32 %r2, 2;\nret;\n",
              "mov.b32 %r2, 2;\nst.param::func.b32 [x], %r1;\nret;\n"},
             // In their order.
             {"st.param.b32 [x], %r1;\nmov.b32 %r2, 2;\nst.param.b32 [x+4], %r3;\n"
              "mov.b32 %r4, 2;\ncall f, (x);\nmov.b32 %r5, 2;\n",
              "mov.b32 %r2, 2;\nmov.b32 %r4, 2;\nst.param.b32 [x], %r1;\nst.param.b32 [x+4], %r3;\n"
              "call f, (x);\nmov.b32 %r5, 2;\n"},
             // Declarations and directives are passed.
             {"st.param.b32 [x], %r1;\n.reg .b32 %q;\n.pragma \"nounroll\";\n.loc 1 2 3\nret;\n",
              ".reg .b32 %q;\n.pragma \"nounroll\";\n.loc 1 2 3\nst.param.b32 [x], %r1;\nret;\n"},
             {"st.param.b32 [x], %r1;\nmembar.gl;\nbar.sync 0;\nret;\n",
              "membar.gl;\nbar.sync 0;\nst.param.b32 [x], %r1;\nret;\n"},
             // What stands in a block stays in it.
             {"{\nst.param.b32 [x], %r1;\nmov.b32 %r2, 2;\n}\nmov.b32 %r3, 2;\n",
              "{\nmov.b32 %r2, 2;\nst.param.b32 [x], %r1;\n}\nmov.b32 %r3, 2;\n"},
             {"mov.b32 %r4, 2;\n{\n{\nst.param.b32 [x], %r1;\nmov.b32 %r2, 2;\n}\n}\n",
              "mov.b32 %r4, 2;\n{\n{\nmov.b32 %r2, 2;\nst.param.b32 [x], %r1;\n}\n}\n"},
             // What was put down once holds nothing any more.
             {"st.param.b32 [x], %r1;\nmov.b32 %r1, 2;\nst.param.b32 [x], %r2;\nmov.b32 %r1, 3;\n",
              "st.param.b32 [x], %r1;\nmov.b32 %r1, 2;\nmov.b32 %r1, 3;\nst.param.b32 [x], "
              "%r2;\n"}}) {
        EXPECT_EQ(gathered(row.before), as_printed(row.after)) << row.before;
        EXPECT_EQ(gathered(row.after), as_printed(row.after)) << row.after;
    }
}

TEST(Instrument, WhatAStoreToAParameterStaysBefore) {
    const std::string store = "st.param.b32 [x], %r1;\n";
    for (const char* stays :
         {"bra L;\n", "@%p1 bra L;\n", "brx.idx %r2, T;\n", "call f, (x);\n", "ret;\n", "exit;\n",
          "trap;\n", "L:\n", "{\nmov.b32 %r2, 2;\n}\n",
          // Each place in a first operand where its source may stand.
          "mov.b32 %r1, 2;\n", "@%p1 mov.b32 %r1, 2;\n", "ld.global.v2.b32 {%r2, %r1}, [%rd1];\n",
          "shfl.sync.idx.b32 %r1|%p1, %r3, 0, 0, -1;\n"})
        EXPECT_EQ(gathered(store + stays + "mov.b32 %r7, 7;\n"),
                  as_printed(store + stays + "mov.b32 %r7, 7;\n"));
    // Its guard, its operand's vector, and the other register of a pair.
    for (const std::string stays :
         {"@%p1 st.param.b32 [x], %r1;\nsetp.eq.u32 %p1, %r2, 1;\n",
          "@!%p1 st.param.b32 [x], %r1;\nsetp.eq.u32 %p2|%p1, %r2, 1;\n",
          "st.param.v2.b32 [x], {%r1, %r2};\nmov.b32 %r2, 1;\n",
          "st.param.v2.b32 [x], {%r1, %r2};\nmov.b32 %r1, 1;\n",
          "st.param.b32 [x], %v.x;\nld.global.v2.b32 %v, [%rd1];\n",
          "st.param.b32 [x], %r1;\nst.param.b32 [x+4], %r2;\nmov.b32 %r1, 1;\n",
          // No such store.
          "ld.param.b32 %r1, [x];\nmov.b32 %r2, 1;\n",
          "st.global.b32 [%rd1], %r1;\nmov.b32 %r2, 1;\n",
          "st.local.param.b32 [%rd1], %r1;\nmov.b32 %r2, 1;\n"})
        EXPECT_EQ(gathered(stays + "ret;\n"), as_printed(stays + "ret;\n"));
}

// Before labels, and at each brace: where straight code may end without an instruction.
TEST(Instrument, TextStandsAroundInstructionsAndAtEdges) {
    const std::string body =
        ".reg .b32 %r<9>;\nmov.b32 %r1, 1;\nL:\nM:\n{\nmov.b32 %r2, 2;\n{\nN:\nmov.b32 %r3, 3;\n}\n"
        ".loc 1 2 3\nmov.b32 %r4, 4;\n}\nmov.b32 %r5, 5;\n";
    ptx::Module module = module_of(kernel(body));
    uint32_t index = 7;
    const gpu::Instrument instrument = [](uint32_t at, const ptx::Instruction& i) {
        gpu::Around r;
        if (at != 9) r.before = "bar.sync " + std::to_string(at) + ";\n";
        if (at != 10)
            r.after = "mov.b32 %q, " + i.operands[0].text + ";\nbar.arrive " + std::to_string(at) +
                      ", 32;\n";
        return r;
    };
    int edges = 0;
    gpu::put_around(body_of(module), instrument, index,
                    [&] { return "mov.b32 %e, " + std::to_string(++edges) + ";\n"; });
    EXPECT_EQ(index, 12u);
    EXPECT_EQ(
        ptx::print(module),
        as_printed(
            ".reg .b32 %r<9>;\nbar.sync 7;\nmov.b32 %r1, 1;\nmov.b32 %q, %r1;\nbar.arrive 7, 32;\n"
            "mov.b32 %e, 1;\nL:\nmov.b32 %e, 2;\nM:\nmov.b32 %e, 3;\n{\n"
            "bar.sync 8;\nmov.b32 %r2, 2;\nmov.b32 %q, %r2;\nbar.arrive 8, 32;\n"
            "mov.b32 %e, 4;\n{\nmov.b32 %e, 5;\nN:\n"
            "mov.b32 %r3, 3;\nmov.b32 %q, %r3;\nbar.arrive 9, 32;\nmov.b32 %e, 6;\n}\n"
            ".loc 1 2 3\nbar.sync 10;\nmov.b32 %r4, 4;\nmov.b32 %e, 7;\n}\n"
            "bar.sync 11;\nmov.b32 %r5, 5;\nmov.b32 %q, %r5;\nbar.arrive 11, 32;\n"
            "mov.b32 %e, 8;\n"));
    // Without edges, and at either end of a body.
    module = module_of(kernel("L:\n{\nret;\n}\n"));
    index = 0;
    gpu::put_around(
        body_of(module),
        [](uint32_t, const ptx::Instruction&) {
            return gpu::Around{"bar.sync 0;\n", ""};
        },
        index);
    gpu::insert_first(body_of(module), "mov.b32 %r1, 1;\nmov.b32 %r2, 2;\n");
    gpu::insert_last(body_of(module), "mov.b32 %r3, 3;\nmov.b32 %r4, 4;\n");
    EXPECT_EQ(ptx::print(module),
              as_printed("mov.b32 %r1, 1;\nmov.b32 %r2, 2;\nL:\n{\nbar.sync 0;\nret;\n}\n"
                         "mov.b32 %r3, 3;\nmov.b32 %r4, 4;\n"));
}

TEST(Instrument, WhatEndsAThread) {
    isa::Operation o;
    const auto ends = [&](isa::Op op) {
        o.op = op;
        return std::array{gpu::ends_thread(o, true), gpu::ends_thread(o, false)};
    };
    EXPECT_EQ(ends(isa::Op::exit), (std::array{true, true}));
    EXPECT_EQ(ends(isa::Op::ret), (std::array{true, false}));
    for (const isa::Op op : {isa::Op::trap, isa::Op::bra, isa::Op::call, isa::Op::mov})
        EXPECT_EQ(ends(op), (std::array{false, false}));
}

TEST(Instrument, DebugInformationGoesAndNothingElse) {
    const auto text = [](const char* target, const char* first, const char* loc) {
        return std::string(".version 8.6\n.target ") + target + "\n.address_size 64\n" + first +
               ".global .u32 x;\n.alias f, g;\n.func g()\n{\n" + loc + ".pragma \"nounroll\";\n" +
               loc + "{\n" + loc + "mov.b32 %r1, 1;\n{\n" + loc + "L:\n}\n}\n" + loc + "}\n" +
               ".func f();\n.visible .entry k()\n{\n" + loc + "ret;\n}\n";
    };
    ptx::Module module =
        module_of(text("sm_90, texmode_independent, debug",
                       ".file 1 \"a.cu\"\n.section .debug_str { .b8 0 }\n", ".loc 1 2 3\n"));
    gpu::drop_debug_information(module);
    EXPECT_EQ(ptx::print(module),
              ptx::print(module_of(text("sm_90, texmode_independent", "", ""))));
}

// What no function of the program is goes, with its declarations; what has no body stays.
TEST(Instrument, OtherEntriesGo) {
    const std::string begin = ".version 8.6\n.target sm_90\n.address_size 64\n";
    const std::string kept =
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .u32 x;\n"
        ".func f();\n";
    const std::string all = "\n.func f()\n{\nret;\n}\n.visible .entry k()\n{\ncall f;\nret;\n}\n";
    const ptx::Module module =
        module_of(begin + ".func h();\n" + kept + ".entry other()\n{\ncall h;\nret;\n}\n" + all +
                  ".func h()\n{\nret;\n}\n");
    EXPECT_EQ(ptx::print(gpu::entry_alone(module, program_of(module))),
              ptx::print(module_of(begin + kept + all)));
}

// Arithmetic that says no rounding says .rn, and nothing else changes.
TEST(Instrument, RoundingsAreWrittenOut) {
    const auto said = [](const std::string& instruction) {
        ptx::Module module = gpu::with_explicit_rounding(module_of(kernel(instruction + ";\n")));
        return ptx::print(std::get<ptx::Instruction>(body_of(module).body[0].node));
    };
    const std::string operands = " %a, %b, %c;";
    for (const std::string opcode : {"add", "sub", "mul", "mad", "fma", "div", "min"}) {
        const bool may =
            opcode.size() == 3 && opcode != "fma" && opcode != "div" && opcode != "min";
        for (const std::string type : {".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64"}) {
            EXPECT_EQ(said(opcode + type + operands),
                      opcode + (may ? ".rn" : "") + type + operands);
            EXPECT_EQ(said(opcode + ".ftz.sat" + type + operands),
                      opcode + (may ? ".rn" : "") + ".ftz.sat" + type + operands);
            for (const std::string rounding : {".rn", ".rz", ".rm", ".rp"})
                EXPECT_EQ(said(opcode + rounding + type + operands),
                          opcode + rounding + type + operands);
        }
        for (const std::string type : {".u32", ".s64", ".lo.s32", ".u16x2"})
            EXPECT_EQ(said(opcode + type + operands), opcode + type + operands);
    }
}

// The one argument more of a call in each of its forms; other directives than prototypes are as
// they were.
TEST(Instrument, CallsHaveOneArgumentMore) {
    const std::string module =
        ".version 8.6\n.target sm_90\n.address_size 64\n"
        ".func f()\n{\nret;\n}\n"
        ".func (.param .b32 r) g()\n{\nret;\n}\n"
        ".visible .func other();\n.alias other, f;\n.func more();\n"
        ".func (.param .b32 r) h(.param .b32 a, .param .b32 b)\n{\nret;\n}\n"
        ".visible .entry k()\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.param .b32 x;\n.param .b32 "
        "y;\n"
        ".param .b32 z;\nmov.u64 %rd1, f;\nmov.u64 %rd2, g;\n"
        "P: .callprototype _;\nQ: .callprototype (.param .b32 _) _;\nT: .branchtargets L;\n"
        ".pragma \"nounroll\";\n";
    struct Call {
        const char *before, *after;
    };
    std::string body;
    const auto calls = std::to_array<Call>({
        {"call f;", "call f, (lw_argument);"},
        {"call other;", "call other, (lw_argument);"},
        {"call.uni (z), g;", "call.uni (z), g, (lw_argument);"},
        {"call (z), h, (x, y);", "call (z), h, (x, y, lw_argument);"},
        {"call %rd1, P;", "call %rd1, (lw_argument), P;"},
        {"call (z), %rd2, Q;", "call (z), %rd2, (lw_argument), Q;"},
    });
    for (const Call& call : calls) body += std::string(call.before) + "\n";
    const ptx::Module m =
        module_of(module + body + "mov.u32 %r1, 0;\nbrx.idx %r1, T;\nL:\nret;\n}\n");
    const isa::Program program = program_of(m);
    const gpu::Traced traced = gpu::choose_traced(program, {}, m);
    for (const std::string& printed :
         {gpu::trace_kernel(m, program, traced).ptx, gpu::digest_kernel(m, program, traced)}) {
        program_of(module_of(printed));
        for (const Call& call : calls)
            EXPECT_NE(printed.find(call.after), std::string::npos) << printed;
        EXPECT_NE(printed.find("P: .callprototype () _ (.param .b64 _);"), std::string::npos);
        EXPECT_NE(printed.find("Q: .callprototype (.param .b32 _) _ (.param .b64 _);"),
                  std::string::npos);
        EXPECT_NE(printed.find("T: .branchtargets L;"), std::string::npos);
        // An alias has the parameters of its function, and a function that is not called its own.
        const std::regex alias(R"(\.visible \.func other\(\s*\.param \.b64 \w+\s*\);)");
        EXPECT_TRUE(std::regex_search(printed, alias)) << printed;
        EXPECT_NE(printed.find(".func more();"), std::string::npos) << printed;
    }
}

// Registers of 8 bits, which compilers do not use and PTX has for ld, st and cvt alone.
TEST(Instrument, RegistersOfAByteAreTraced) {
    const ptx::Module m =
        module_of(kernel(".reg .b8 %c<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 0;\n"
                         "ld.global.u8 %c1, [%rd1];\nret;\n"));
    const isa::Program program = program_of(m);
    const gpu::Traced traced = gpu::choose_traced(program, {}, m);
    const std::string digest = gpu::digest_kernel(m, program, traced);
    program_of(module_of(digest));
    EXPECT_NE(digest.find("cvt.u32.u8 %lw_x, %c1;"), std::string::npos) << digest;
    const std::string records = gpu::trace_kernel(m, program, traced).ptx;
    program_of(module_of(records));
    EXPECT_NE(records.find("st.global.b8 [%lw_d+768], %c1;"), std::string::npos) << records;
}

// What a wgmma writes is waited for where it is traced, and only there.
TEST(Instrument, AWgmmaIsWaitedForWhereItIsTraced) {
    const ptx::Module m = module_of(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<8>;\n"
        ".reg .b64 %rd<4>;\nmov.u64 %rd1, 0;\nwgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, %rd1, %rd1, 1, 1, "
        "1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}\n");
    const isa::Program program = program_of(m);
    const auto waits = [&](const std::vector<std::string>& opcodes) {
        const gpu::Traced traced = gpu::choose_traced(program, opcodes, m);
        size_t n = 0;
        for (const std::string& printed :
             {gpu::trace_kernel(m, program, traced).ptx, gpu::digest_kernel(m, program, traced)})
            for (size_t at = 0; (at = printed.find("wgmma.wait_group", at)) != std::string::npos;
                 ++at)
                ++n;
        return n;
    };
    EXPECT_EQ(waits({}), 4u);
    EXPECT_EQ(waits({"mov"}), 2u);
}

}  // namespace
}  // namespace lockwarp::instrument_test
