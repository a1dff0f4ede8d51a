// SPDX-License-Identifier: Apache-2.0
// What gdb's users are used to.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/debug/sessions.hpp"

namespace lockwarp::debug {
namespace {

constexpr const char* loop =
    "mov.u32 %r1, %tid.x;\n"         // line 7
    "mov.u32 %r2, 0;\n"              // 8
    "LOOP:\n"                        // 9
    "add.u32 %r2, %r2, 1;\n"         // 10
    "mul.lo.u32 %r3, %r2, %r1;\n"    // 11
    "setp.lt.u32 %p1, %r2, 6;\n"     // 12
    "@%p1 bra LOOP;\n"               // 13
    "ld.param.u64 %rd1, [k_out];\n"  // 14
    "mul.wide.u32 %rd2, %r1, 4;\n"   // 15
    "add.u64 %rd1, %rd1, %rd2;\n"    // 16
    "st.global.u32 [%rd1], %r3;\n"   // 17
    "ret;";                          // 18

TEST(DebugHabits, CommandsOfABreakpoint) {
    Sessions s(loop, 1, 32);
    s("b 11");
    s("commands 1");
    EXPECT_TRUE(s.console->collects());
    s("silent");
    s("p/l %r2");
    s("continue");
    s("end");
    EXPECT_FALSE(s.console->collects());
    const std::string text = s.expect("run", "The run is over.");
    EXPECT_EQ(text.find("Breakpoint 1"), std::string::npos) << text;
    for (int i = 1; i <= 6; ++i)
        EXPECT_NE(text.find("%r2 = 0x0000000" + std::to_string(i)), std::string::npos) << text;
    s.expect("info break", "silent");
    // Those of one that has none are its own again.
    s("commands");
    s("end");
    s.expect("run", "Breakpoint 1");
    s.expect("commands 7", "There is no breakpoint 7");
}

TEST(DebugHabits, CommandsThatGoRoundForEverEnd) {
    Sessions s(loop, 1, 32);
    s("b 11");
    s("commands");
    s("run");
    s("end");
    s.expect("run", "went on for");
    EXPECT_TRUE(s.console->failed());
}

TEST(DebugHabits, DisplaysAtEveryStop) {
    Sessions s(loop, 1, 32);
    s("b 12");
    s("run");
    s.expect("display %r2", "1: %r2 = 0x00000001 = 1 in all lanes (u32)");
    s.expect("display/l %r3 + 1", "2: %r3 + 1 = ");
    std::string text = s.expect("c", "1: %r2 = 0x00000002");
    EXPECT_NE(text.find("2: %r3 + 1 = "), std::string::npos) << text;
    s.expect("info display", "2: /l %r3 + 1");
    s("undisplay 1");
    text = s.expect("c", "2: %r3 + 1 = ");
    EXPECT_EQ(text.find("1: "), std::string::npos) << text;
    s.expect("undisplay 9", "There is no display 9");
    s("undisplay");
    s.expect("info display", "Nothing is displayed");
    s.expect("display %r2 +", "missing");
}

TEST(DebugHabits, PrintsInPassing) {
    Sessions s(loop, 2, 32);
    s.expect("dprintf 11, \"cta {cta} r2={%r2} {%r99}\"", "Dprintf 1 at k.ptx:11");
    const std::string text = s.expect("run", "cta 1 r2=6 <there is no register");
    EXPECT_NE(text.find("cta 0 r2=1 "), std::string::npos) << text;
    EXPECT_NE(text.find("The run is over."), std::string::npos) << text;
    s.expect("info break", "dprintf");
    // Backwards nothing is held there.
    s.expect("rc", "beginning");
}

TEST(DebugHabits, HitsAreCounted) {
    EXPECT_FALSE(hit_rule("").has_value());
    EXPECT_FALSE(hit_rule("% 0").has_value());
    EXPECT_FALSE(hit_rule("often").has_value());
    const auto held = [](const char* text) {
        std::string out;
        for (uint64_t n = 1; n <= 6; ++n)
            if (hit_rule(text)->holds(n)) out += std::to_string(n);
        return out;
    };
    EXPECT_EQ(held("3"), "3456");
    EXPECT_EQ(held(">= 3"), "3456");
    EXPECT_EQ(held("== 3"), "3");
    EXPECT_EQ(held("= 3"), "3");
    EXPECT_EQ(held("> 3"), "456");
    EXPECT_EQ(held("< 3"), "12");
    EXPECT_EQ(held("<=3"), "123");
    EXPECT_EQ(held("%2"), "246");
}

TEST(DebugHabits, WhatWasMeant) {
    Sessions s(loop, 1, 32);
    s.expect("braek 7", "did you mean \"break\"?");
    s.expect("contniue", "did you mean \"continue\"?");
    EXPECT_TRUE(s.console->failed());
    s.expect("zzzzzzzz", "There is no command \"zzzzzzzz\".");
}

// Each command has its own text, and its short form is its own.
TEST(DebugHabits, HelpForEachCommand) {
    Sessions s(loop, 1, 32);
    const std::string all = s("help");
    for (const CommandRow& row : command_rows()) {
        EXPECT_NE(all.find(std::string(row.name) + " "), std::string::npos) << row.name;
        const std::string text = s.expect("help " + std::string(row.name), std::string(row.usage));
        EXPECT_NE(text.find(row.about), std::string::npos) << text;
        EXPECT_LE(row.about.size(), 140u) << row.name;
        EXPECT_EQ(std::ranges::count(command_rows(), row.name, &CommandRow::name), 1) << row.name;
        if (row.alias.empty()) continue;
        s.expect("help " + std::string(row.alias), std::string(row.usage));
        EXPECT_NE(text.find("short: " + std::string(row.alias)), std::string::npos) << text;
        EXPECT_EQ(std::ranges::count(command_rows(), row.alias, &CommandRow::alias), 1);
        EXPECT_EQ(std::ranges::count(command_rows(), row.alias, &CommandRow::name), 0);
    }
    s.expect("help nothing", "There is no such command");
}

TEST(DebugHabits, FramesUpAndDown) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"
        "{ .param .b32 a; .param .b32 b;\n"
        "st.param.b32 [a], %r1;\n"
        "call.uni (b), twice, (a);\n"  // 16
        "ld.param.b32 %r2, [b];\n"
        "}\n"
        "ret;",
        1, 32,
        ".func (.param .b32 r) twice(.param .b32 x)\n"
        "{ .reg .b32 %r<4>;\n"
        "ld.param.b32 %r1, [x];\n"
        "add.u32 %r2, %r1, %r1;\n"
        "st.param.b32 [r], %r2;\n"
        "ret; }\n");
    s("b twice");
    s("run");
    s.expect("frame", "k.ptx:6");
    s.expect("up", "k.ptx:16");
    s.expect("p %r1 == lane", "= 1 in all lanes");
    s.expect("up", "The frames are 0 to 1");
    s.expect("down", "k.ptx:6");
    s.expect("down", "innermost");
    s.expect("frame 1", "k.ptx:16");
    s.expect("si", "k.ptx:7");  // the innermost goes on
    s.expect("where", "#1  k at k.ptx:16");
    s.expect("thread 0", "warp 0");
}

TEST(DebugHabits, ConditionsByLaneFormatsAndMatrices) {
    Sessions s(loop, 1, 32);
    s("b 12 if lane == 7 && %r3 == 28");
    s.expect("run", "looking at lane 7");
    s.expect("p/l %r2", "= 4");
    s.expect("p/u %r3 - 30", "18446744073709551614");
    s.expect("p/d %r3 - 30", "-2");
    s.expect("p/t %r2", "= 100");
    s("condition 1 lane == 3 && %r3 == 15");
    s.expect("c", "looking at lane 3");
    s("delete");
    s("shape out u32 4x8");
    s.expect("watch out[1][3]", "Watchpoint");
    s.expect("c", "out[1][3]: was 0x00000000 = 0, is 0x00000042 = 66");
    s.expect("x/4dw out", "0  6  12  18");
}

TEST(DebugHabits, AThousandThreads) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"
        "add.u32 %r2, %r1, 1;\n"
        "bar.sync 0;\n"           // 9
        "add.u32 %r3, %r2, 1;\n"  // 10
        "ret;",
        2, 1024);
    s("b 10 if tid.x == 1023");
    s.expect("run", "CTA (0,0,0) warp 31");
    s.expect("p/l %r3", "= 0");
    s.expect("lane 31", "thread (1023,0,0)");
    const std::string text = s("info warps");
    EXPECT_NE(text.find("warp 30"), std::string::npos) << text;
    s.expect("c", "CTA (1,0,0) warp 31");
    s.expect("rc", "CTA (0,0,0) warp 31");
    s.expect("warp 3", "warp 3");
    s.expect("reverse-stepi", "k.ptx:9");
}

// A file that changed is read anew, and breakpoints keep their lines.
TEST(DebugHabits, AFileThatChanges) {
    Sessions s(loop, 1, 32);
    const std::string path = (s.folder->path / "k.json").string();
    s.console =
        std::make_unique<Console>(*s.session, [path] { return launch::load_all({path}, ""); });
    s("b 17");
    s("b mul.wide");
    s("b 12");
    s("d 3");
    s.expect("run", "Breakpoint 2");
    s.expect("c", "Breakpoint 1");
    s.expect("run", "Breakpoint 2");
    std::ifstream in(s.folder->path / "k.ptx");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t at = text.find("%r2, 6;");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 7, "%r2, 2;");
    text.replace(text.find("mul.wide.u32 %rd2, %r1, 4"), 25, "cvt.u64.u32 %rd2, %r1");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    s.folder->write("k.ptx", text);
    const std::string said = s.expect("run", "The files have changed and are read anew.");
    EXPECT_NE(said.find("Breakpoint 2 has no place any more"), std::string::npos) << said;
    EXPECT_NE(said.find("Breakpoint 1\n"), std::string::npos) << said;
    s.expect("p/l %r2", "= 2");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    s.folder->write("k.ptx", "no PTX");
    s.expect("run", "cannot be read");
    s.expect("p/l %r2", "= 2");
}

// After 10^8 instructions of a warp, and with what is known from the step before.
TEST(DebugHabits, StepsBackInALongRun) {
    Sessions s(
        "mov.u32 %r1, 0;\n"
        "LOOP:\n"
        "add.u32 %r1, %r1, 1;\n"             // 9
        "setp.lt.u32 %p1, %r1, 33333333;\n"  // 10
        "@%p1 bra LOOP;\n"                   // 11
        "ret;",
        1, 32);
    s("start");
    s.expect("goto 0 0 99999998", "step 99999998");
    const auto begin = std::chrono::steady_clock::now();
    s.expect("rsi", "k.ptx:9");
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
#ifdef __SANITIZE_ADDRESS__
    constexpr double most = 200;
#else
    constexpr double most = 20;  // a second or two where nothing else runs
#endif
    EXPECT_LT(seconds, most);
    s.expect("info warps", "step 99999997");
    s.expect("p %r1", "33333332");
}

}  // namespace
}  // namespace lockwarp::debug
