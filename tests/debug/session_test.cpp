// SPDX-License-Identifier: Apache-2.0
// The debugger's commands, forwards and backwards.
#include <chrono>
#include <cstring>

#include "tests/debug/sessions.hpp"

namespace lockwarp::debug {
namespace {

// From line 7 on: tid, its square to out[tid].
constexpr const char* squares =
    "mov.u32 %r1, %tid.x;\n"         // line 7
    "mul.lo.u32 %r2, %r1, %r1;\n"    // 8
    "ld.param.u64 %rd1, [k_out];\n"  // 9
    "mul.wide.u32 %rd2, %r1, 4;\n"   // 10
    "add.u64 %rd1, %rd1, %rd2;\n"    // 11
    "st.global.u32 [%rd1], %r2;\n"   // 12
    "ret;";                          // 13

TEST(Debug, BreaksAtALineOfThePtxOnceForEachWarp) {
    Sessions s(squares, 2, 64);
    s.expect("b 12", "Breakpoint 1 at k.ptx:12");
    s.expect("run", "CTA (0,0,0) warp 0, step 5, all lanes");
    s.expect("c", "CTA (0,0,0) warp 1, step 5");
    s.expect("c", "CTA (1,0,0) warp 0, step 5");
    s.expect("c", "CTA (1,0,0) warp 1, step 5");
    s.expect("c", "The run is over.");
    s.expect("info break", "hit 4 times");
}

TEST(Debug, ABreakpointThatIsNeverMet) {
    Sessions s(squares, 1, 32);
    s.expect("b 13 if lane == 40", "Breakpoint 1");
    s.expect("run", "The run is over.");
    s.expect("b 400", "No instruction is at 400");
    EXPECT_TRUE(s.console->failed());
}

TEST(Debug, PrintsARegisterInAllLanes) {
    Sessions s(squares, 1, 32);
    s("b 12");
    s("run");
    const std::string text = s.expect("p %r2", "%r2 (u32)");
    EXPECT_NE(text.find(" 0: 0x00000000 = 0"), std::string::npos) << text;
    EXPECT_NE(text.find("31: 0x000003c1 = 961"), std::string::npos) << text;
    s.expect("p/x %r2", "31: 0x000003c1\n");
    s.expect("lane 5", "thread (5,0,0)");
    s.expect("p/l %r2 + 1", "= 26");
    s.expect("p %r2 == lane * lane", "= 1 in all lanes");
    s.expect("x/2xw %rd1", "global[");
    s.expect("x/2xw %rd1", "<out + 0x14>:  0x00000000  0x00000000");
    s.expect("stepi", "k.ptx:13  ret;");
    s.expect("x/2dw out", "0  1");
    s.expect("p out.u32[5]", "= 25");
    s.expect("shape out u32 4x8", "");
    s.expect("p out[3][7]", "= 961");
    s.expect("p out", "out: 4 x 8 u32");
    s.expect("p %r77", "there is no register");
}

TEST(Debug, ConditionsIgnoreCountsAndTemporaryBreakpoints) {
    Sessions s(squares, 4, 64);
    s("b 12 if warp == 1 && %r2 > 3000");
    s.expect("ignore 1 2", "lets 2 hits pass");
    s.expect("run", "CTA (2,0,0) warp 1");
    s.expect("lane", "lane 23");  // the first thread whose square is beyond 3000 is 55
    s.expect("c", "CTA (3,0,0) warp 1");
    s("delete");
    s.expect("tb mul", "Temporary breakpoint 2");
    s.expect("run", "k.ptx:8");
}

TEST(Debug, StepsBackAndForth) {
    Sessions s(squares, 1, 32);
    s.expect("start", "k.ptx:7");
    s.expect("si 3", "k.ptx:10");
    s.expect("rsi", "k.ptx:9");
    s.expect("rs", "k.ptx:8");
    s.expect("p %r2", "= 0x00000000 = 0 in all lanes");
    s.expect("s", "k.ptx:9");
    s.expect("p %r2 == lane * lane", "1 in all lanes");
    s.expect("rsi 9", "beginning");
    s.expect("c", "The run is over.");
    s.expect("rc", "beginning");
    s.expect("c", "The run is over.");
    s("b 12");
    s.expect("rc", "Breakpoint 1");
    s.expect("x/2dw out", "0  0");
    s.expect("si", "k.ptx:13");
    s.expect("x/2dw out", "0  1");
}

TEST(Debug, WatchesRegistersAndMemory) {
    Sessions s(squares, 2, 64);
    s.expect("watch out.u32[3]", "Watchpoint 1: out.u32[3] (global");
    s.expect("run", "was 0x00000000 = 0, is 0x00000009 = 9");
    s.expect("info warps", "* warp 0");
    s("run");
    s("delete");
    s("start");
    s.expect("watch %r2 if lane == 6", "%r2 in CTA (0,0,0) warp 0");
    s.expect("c", "%r2 of lane 6: was 0x00000000 = 0, is 0x00000024 = 36");
    s.expect("c", "over");
    s.expect("rc", "is 0x00000024 = 36");
    s.expect("p/l %r2", "= 36");
}

// A value that goes round: each of 300,000 times three instructions.
constexpr const char* million =
    "mov.u32 %r1, 0;\n"
    "LOOP:\n"
    "add.u32 %r1, %r1, 1;\n"           // 9
    "setp.lt.u32 %p1, %r1, 400000;\n"  // 10
    "@%p1 bra LOOP;\n"                 // 11
    "ret;";

TEST(Debug, GoesBackOverAMillionInstructionsInASecond) {
    Sessions s(million, 1, 32);
    s("b 12");
    s.expect("run", "k.ptx:12  ret;");
    s.expect("info warps", "step 1200001");
    const auto begin = std::chrono::steady_clock::now();
    s.expect("rsi", "k.ptx:11");
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
    EXPECT_LT(seconds, 1.0);
    s.expect("p %r1", "400000");
    s.expect("rsi 2", "k.ptx:9");
    s.expect("p %r1", "399999");
    s("delete");
    s("b 10 if %r1 == 7");
    s.expect("rc", "Breakpoint 2");
    s.expect("p %r1", "= 7 in all lanes");
    s.expect("goto 0 0 600001", "step 600001");
}

TEST(Debug, HoldsWhereItTraps) {
    Sessions s(
        "ld.param.u64 %rd1, [k_out];\n"   // 7
        "mov.u32 %r1, %tid.x;\n"          // 8
        "mul.wide.u32 %rd2, %r1, 256;\n"  // 9
        "add.u64 %rd1, %rd1, %rd2;\n"     // 10
        "st.global.u32 [%rd1], %r1;\n"    // 11: lane 16 is beyond the buffer
        "ret;",
        1, 32);
    const std::string text = s.expect("run", "TRAP");
    EXPECT_NE(text.find("lane 16"), std::string::npos) << text;
    EXPECT_NE(text.find("k.ptx:11"), std::string::npos) << text;
    EXPECT_TRUE(s.console->trapped());
    s.expect("p/l %rd1", "0x");
    s.expect("c", "TRAP");
    s.expect("rsi", "k.ptx:11");
    s.expect("rsi", "k.ptx:10");
    EXPECT_FALSE(s.console->trapped());
    s.expect("info warps", "line 10");
}

TEST(Debug, BarriersDivergenceAndWhereWarpsStand) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"       // 7
        "setp.lt.u32 %p1, %r1, 40;\n"  // 8
        "@%p1 bra LOW;\n"              // 9
        "mov.u32 %r2, 2;\n"            // 10
        "bra MEET;\n"                  // 11
        "LOW:\n"                       // 12
        "mov.u32 %r2, 1;\n"            // 13
        "MEET:\n"                      // 14
        "bar.sync 0;\n"                // 15
        "add.u32 %r3, %r2, 1;\n"       // 16
        "ret;",
        1, 64);
    s("b 13");
    s.expect("run", "CTA (0,0,0) warp 0, step 3, all lanes");
    s.expect("c", "lanes 0-7");
    s.expect("info warps", "waits at barrier 0: 32 of 64 threads are there");
    s.expect("info warps", "lanes 8-31");
    s("delete");
    s("b 16");
    s.expect("c", "k.ptx:16");
    s.expect("p %r2", "= 1");
    s.expect("rn", "k.ptx:15");
}

TEST(Debug, ADeadlockSaysWhereEachWarpWaits) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"
        "setp.lt.u32 %p1, %r1, 32;\n"
        "@%p1 bra OUT;\n"
        "bar.sync 0, 64;\n"  // 10
        "OUT: bar.sync 1, 64;\n"
        "ret;",
        1, 64);
    s.expect("run", "TRAP: deadlock");
    s.expect("info warps", "waits at barrier 0");
    s.expect("info warps", "waits at barrier 1");
    EXPECT_TRUE(s.console->trapped());
}

TEST(Debug, CallsFinishAndBacktrace) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"  // 13
        "{ .param .b32 a; .param .b32 b;\n"
        "st.param.b32 [a], %r1;\n"
        "call.uni (b), twice, (a);\n"  // 16
        "ld.param.b32 %r2, [b];\n"     // 17
        "}\n"
        "ret;",
        1, 32,
        ".func (.param .b32 r) twice(.param .b32 x)\n"  // 4
        "{ .reg .b32 %r<4>;\n"
        "ld.param.b32 %r1, [x];\n"  // 6
        "add.u32 %r2, %r1, %r1;\n"  // 7
        "st.param.b32 [r], %r2;\n"  // 8
        "ret; }\n");
    s("b twice");
    s.expect("run", "k.ptx:6");
    s.expect("bt", "#0  twice at k.ptx:6");
    s.expect("bt", "#1  k at k.ptx:16");
    s("si 2");
    s.expect("p %r2", "62");
    s.expect("finish", "k.ptx:17");
    s.expect("rsi", "k.ptx:9");
    s.expect("reverse-finish", "k.ptx:16");
    s("delete");
    s.expect("n", "k.ptx:17");
    s.expect("rn", "k.ptx:16");
    s.expect("finish", "was not called");
}

TEST(Debug, CatchesTheInstructionThatMakesANan) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"
        "cvt.rn.f32.u32 %f1, %r1;\n"
        "sub.f32 %f2, %f1, 0f40400000;\n"  // 9: 0 in lane 3
        "div.rn.f32 %f3, %f2, %f2;\n"      // 10
        "add.f32 %f4, %f3, %f3;\n"         // 11: none is new
        "ret;",
        1, 32);
    s.expect("catch nan", "Catchpoint 1");
    const std::string text = s.expect("run", "made a NaN in %f3 of lane 3");
    EXPECT_NE(text.find("k.ptx:10"), std::string::npos) << text;
    s.expect("c", "The run is over.");
}

TEST(Debug, AGemmsFragments) {
    Sessions s("mma_ldmatrix.json");
    s("b mma");
    s.expect("run", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16");
    const std::string a = s.expect("frag A", "A of mma.m16n8k16.f16.f16.f16.f16, line");
    EXPECT_NE(a.find("16 x 16 f16"), std::string::npos) << a;
    EXPECT_NE(a.find("31:r3"), std::string::npos) << a;
    s.expect("frag A 92", "A of mma.m16n8k16.f16.f16.f16.f16, line 92");
    s.expect("frag A 93", "Line 93 has no instruction with fragments");
    s.expect("frag C", "16 x 8 f16");
    s.expect("frag E", "has A, B, C, D");
    s.expect("explain D[3][5]", "D[3][5]");
    s("si");
    s.expect("frag D", "128 changed since the last stop (*)");
    s.expect("frag A", "unchanged since the last stop");
    s.expect("shared _ZZ12mma_ldmatrixE6a_tile 16x16 f16", "16 x 16 f16, 32 bytes a row");
    s.expect("p %r1", "(f16x2)");
    s.expect("info locals", "a_tile");
    s.expect("info registers %r9", "f16x2");
    s.expect("disassemble", "> ");
    s.expect("list", ">");
}

// A and B by their descriptors, with the swizzle undone; D in the registers of four warps.
TEST(Debug, FragmentsOfAWarpgroup) {
    Sessions s("wgmma_gemm.json");
    s("b wgmma.mma_async");
    s.expect("run", "wgmma.mma_async.sync.aligned.m64n64k16");
    const auto matrix = [&](const char* name) {
        const View v = s.session->view();
        const std::optional<Fragments> f = fragments_at(s.session->listing(), v.pc);
        return matrix_of(v, *f->find(name));
    };
    const std::vector<uint64_t> a = matrix("A");
    ASSERT_EQ(a.size(), 64u * 16);
    // The first tile of A, whose rows have so many elements.
    constexpr size_t depth = 128;
    const uint64_t address = s.session->view().place_of("A")->address;
    const warp::Buffer* const buffer = s.session->view().memory->find(address, 2 * 64 * depth);
    ASSERT_NE(buffer, nullptr);
    for (size_t row = 0; row < 64; ++row)
        for (size_t k = 0; k < 16; ++k) {
            uint16_t bits = 0;
            std::memcpy(&bits, buffer->bytes.data() + 2 * (row * depth + k), 2);
            EXPECT_EQ(a[row * 16 + k], bits) << row << " " << k;
        }
    s.expect("frag A", "below each element its address in shared memory");
    s.expect("frag D", "lanes 0 to 127 are those of warps 0 to 3");
    s.expect("frag B", "16 x 64 f16");
    EXPECT_EQ(matrix("D"), std::vector<uint64_t>(64 * 64, 0));
    s("si");
    s.expect("frag D 165", "1024 changed since the last stop (*)");
}

TEST(Debug, SeveralCtasAndTheirWarps) {
    Sessions s("gemm_sm80.json");
    s("b mma if ctaid.x == 1 && warp == 2");
    s.expect("run", "CTA (1,0,0) warp 2");
    s.expect("warp 1", "CTA (1,0,0) warp 1");
    s.expect("cta 2,0,0", "not under way");
    s.expect("info warps", "warp 3");
    s.expect("frag B", "16 x 8 f16");
    s.expect("rc", "beginning");
    s.expect("p A", "A: 12288 f16");
}

TEST(Debug, WhereAValueCameFrom) {
    Sessions s("mma_ldmatrix.json");
    s("b st.global");
    s.expect("run", "CTA (0,0,0) warp 0");
    const std::string text = s.expect("where %r9", "mma.sync");
    EXPECT_NE(text.find("= row 0 of A, column 0 of B, C[0][0]"), std::string::npos) << text;
    EXPECT_NE(text.find("ldmatrix"), std::string::npos) << text;
    EXPECT_NE(text.find("st.shared.u16"), std::string::npos) << text;
    EXPECT_NE(text.find("<A[0]>: as the launch began with it"), std::string::npos) << text;
    EXPECT_NE(text.find("<B[0]>: as the launch began with it"), std::string::npos) << text;
    s.expect("where %p77", "there is no register");
    // The run stands where it stood.
    s.expect("info warps", "* warp 0");
    s.expect("disassemble", "> ");
}

TEST(Debug, WhatIsWrongIsAnAnswer) {
    Sessions s(squares, 1, 32);
    for (const char* command : {"frobnicate",
                                "p",
                                "p %r1 +",
                                "p ((((",
                                "x/0xw 0",
                                "x/99999 0",
                                "b",
                                "b 0",
                                "b :",
                                "b k.ptx:",
                                "watch 3",
                                "delete 9",
                                "cta 9",
                                "warp 77",
                                "lane 99",
                                "goto 1",
                                "shared 0 3x f16",
                                "frag Q",
                                "shape",
                                "shape out f16 0x0",
                                "source /nonexistent",
                                "info",
                                "step 0",
                                "ignore 1",
                                "condition",
                                "catch",
                                "until 9999",
                                "explain D[99][0]",
                                "p out[1][1]",
                                "p out.f16[99999999]",
                                "x/4xw 0xffffffffffffffff",
                                "p shared.u64[0xffffffff]",
                                "p 1/0",
                                "p 5 % 0",
                                "p -9223372036854775807 - 1",
                                "disassemble",
                                "list 0",
                                "\x01\x02",
                                "finish"}) {
        const std::string text = s(command);
        EXPECT_FALSE(text.empty()) << command;
        EXPECT_LT(text.size(), 4000u) << command;
    }
    EXPECT_FALSE(s(std::string(100000, '(')).empty());
    EXPECT_FALSE(s("p " + std::string(1000, '(')).empty());
    EXPECT_FALSE(s("p " + std::string(1000, '-') + "1").empty());
    s.expect("run", "over");
    for (const char* command : {"p %r1", "info warps", "si", "bt", "frag A", "x/4xw out", "warp 0"})
        EXPECT_FALSE(s(command).empty()) << command;
    s.folder->write("loop.gdb", "source " + (s.folder->path / "loop.gdb").string() + "\n");
    s.expect("source " + (s.folder->path / "loop.gdb").string(), "too often");
    EXPECT_TRUE(s.console->failed());
}

TEST(Debug, CompletesCommandsRegistersAndBuffers) {
    Sessions s(squares, 1, 32);
    EXPECT_EQ(s.console->complete("reverse-st"),
              (std::vector<std::string>{"reverse-step", "reverse-stepi"}));
    EXPECT_EQ(s.console->complete("p ou"), std::vector<std::string>{"out"});
    EXPECT_EQ(s.console->complete("p %rd1"), (std::vector<std::string>{"%rd1"}));
    EXPECT_EQ(s.console->complete("info w"), std::vector<std::string>{"warps"});
}

}  // namespace
}  // namespace lockwarp::debug
