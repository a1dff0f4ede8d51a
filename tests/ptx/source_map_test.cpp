// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/source_map.hpp"

#include <gtest/gtest.h>

#include "emu/ptx/parser.hpp"

namespace lockwarp {

namespace {

using ptx::SourcePlace;

// third() inlined into second(), and second() into the kernel, as nvcc -lineinfo writes it.
constexpr const char* inlined = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry first()
{
.reg .b32 %r<9>;
mov.u32 %r0, 0;
.loc 1 5 0
mov.u32 %r1, 1;
{
.loc 1 7 5
.loc 1 3 5, function_name $L__info_string0, inlined_at 1 7 5
mov.u32 %r2, 2; mov.u32 %r3, 3;
.loc 1 1 73, function_name $L__info_string0+11, inlined_at 1 3 5
mov.u32 %r4, 4;
}
mov.u32 %r5, 5;
.loc 2 9 1, function_name $nowhere, inlined_at 1 70 2
mov.u32 %r6, 6;
.loc 1 0 0
mov.u32 %r7, 7;
.loc 3 8 1
ret;
}
.visible .entry other()
{
ret;
}
.file 1 "/src/first.cu"
.file 2 "second.cu", 12, 34
.section .debug_str
{
$L__info_string0:
.b8 95,90,54,115,101,99,111,110
.b8 100,118,0,0x5f,90,53,116
.b32 0x64726968
.b8 118
.b8 0
}
)";

// "second.cu:9:1 in f, ...".
std::string places(const ptx::SourceMap& map, uint32_t line, uint32_t column = 1) {
    std::string out;
    for (const SourcePlace& p : ptx::places_of(map, {line, column, 1})) {
        out += (out.empty() ? "" : ", ") + p.file + ":" + std::to_string(p.line) + ":" +
               std::to_string(p.column);
        if (!p.function.empty()) out += " in " + p.function;
    }
    return out;
}

TEST(SourceMap, FollowsCallsThatWereInlined) {
    const ptx::Parsed parsed = ptx::parse(inlined);
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    const ptx::SourceMap map = ptx::source_map(parsed.module);
    EXPECT_EQ(places(map, 7), "");
    EXPECT_EQ(places(map, 9), "/src/first.cu:5:0");
    const std::string second = "/src/first.cu:3:5 in _Z6secondv, /src/first.cu:7:5";
    EXPECT_EQ(places(map, 13), second);
    EXPECT_EQ(places(map, 13, 20), second);
    EXPECT_EQ(places(map, 15), "/src/first.cu:1:73 in _Z5thirdv, " + second);
    EXPECT_EQ(places(map, 17), "/src/first.cu:1:73 in _Z5thirdv, " + second);
    // A name that .debug_str lacks, and a call that no .loc has.
    EXPECT_EQ(places(map, 19), "second.cu:9:1, /src/first.cu:70:2");
    EXPECT_EQ(places(map, 21), "") << "made by the compiler";
    EXPECT_EQ(places(map, 23), ":8:1") << "a file that has no .file";
    EXPECT_EQ(places(map, 27), "") << "of another function";
    EXPECT_EQ(places(map, 0), "");
}

TEST(SourceMap, IsEmptyWithoutLineInformation) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    const ptx::SourceMap map = ptx::source_map(parsed.module);
    EXPECT_TRUE(map.starts.empty());
    EXPECT_EQ(places(map, 6), "");
}

// A label with no byte behind it names nothing.
TEST(SourceMap, NamesEndWithTheirSection) {
    for (const bool at_end : {true, false}) {
        const ptx::Parsed parsed = ptx::parse(
            std::string(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n"
                        ".loc 1 3 5, function_name $x+") +
            (at_end ? "2" : "1") +
            ", inlined_at 1 7 5\nret;\n}\n.file 1 \"a\"\n"
            ".section .debug_str\n{\n$x:\n.b8 99, 100\n}\n");
        ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
        const ptx::SourceMap map = ptx::source_map(parsed.module);
        EXPECT_EQ(places(map, 7), at_end ? "a:3:5, a:7:5" : "a:3:5 in d, a:7:5");
        EXPECT_EQ(map.functions.size(), at_end ? 1u : 2u);  // that of no name is there always
    }
}

// MLIR's name for code that comes from no file.
TEST(SourceMap, LeavesOutWhatComesFromNoFile) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n.loc 1 1 0\nret;\n"
        ".loc 2 3 4\nret;\n}\n.file 1 \"<unknown>\"\n.file 2 \"a.py\"\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    const ptx::SourceMap map = ptx::source_map(parsed.module);
    EXPECT_EQ(places(map, 7), "");
    EXPECT_EQ(places(map, 9), "a.py:3:4");
}

// Calls of calls without an end, and the same place again and again.
TEST(SourceMap, EndsForAnyInput) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n";
    constexpr uint32_t calls = 20000;
    for (uint32_t i = 1; i <= calls; ++i)
        text += ".loc 1 " + std::to_string(i) + " 1, function_name $x, inlined_at 1 " +
                std::to_string(i - 1) + " 1\n";
    text += ".loc 1 1 1, function_name $x, inlined_at 1 1 1\nret;\n}\n.file 1 \"a\"\n";
    text += ".section .debug_str\n{\n$x:\n.b8 99\n}\n";
    const ptx::Parsed parsed = ptx::parse(text);
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    const ptx::SourceMap map = ptx::source_map(parsed.module);
    EXPECT_EQ(ptx::places_of(map, {5 + calls, 1, 1}).size(), 64u);
    EXPECT_EQ(places(map, 5 + calls + 2), "a:1:1 in c, a:1:1 in c");
}

}  // namespace

}  // namespace lockwarp
