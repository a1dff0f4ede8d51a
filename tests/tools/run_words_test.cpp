// SPDX-License-Identifier: Apache-2.0
// What lockwarp run prints to the letter: of one launch file, of several as tests, and of one look.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/tools/process.hpp"
#include "tools/report/report.hpp"

namespace lockwarp::tools {
namespace {

// Each thread adds 1 to its word of A; `last` stands before the end.
std::string adding_kernel(const std::string& last = "") {
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg .b64 %d<3>;\n"
           "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"
           "add.u64 %d1, %d1, %d2;\nld.global.u32 %r2, [%d1];\nadd.u32 %r2, %r2, 1;\n"
           "st.global.u32 [%d1], %r2;\n" +
           last + "ret;\n}\n";
}

class RunWords : public testing::Test {
  protected:
    void SetUp() override {
        folder.write("k.ptx", adding_kernel());
        folder.write("t.ptx", adding_kernel("trap;\n"));
        write("good", R"("launches": [{"grid": [1]}, {"grid": [3]}])", 4);
        write("also", R"("grid": [1])", 1);
        write("bad", R"("grid": [1])", 7);
        write("trap", R"("grid": [1])", 1, "t.ptx");
        folder.write("none.json", file(R"("grid": [1])", "k.ptx") + "}");
        folder.write("wrong.json", "{");
    }
    // 40 threads a CTA.
    static std::string file(const std::string& launches, const std::string& ptx) {
        return R"({"schema": "lockwarp-launch/1", "ptx": ")" + ptx +
               R"(", "block": [40], "buffers": {"A": {"zeros": 160}}, "args": [{"buffer": "A"}],
                  "outputs": ["A"], )" +
               launches;
    }
    void write(const std::string& name, const std::string& launches, int value,
               const std::string& ptx = "k.ptx") {
        folder.write(name + ".json", file(launches, ptx) +
                                         R"(, "expect": [{"buffer": "A", "type": "u32", "offset": )"
                                         R"(0, "bytes": 4, "is": {"values": {"u32": [)" +
                                         std::to_string(value) + "]}}}]}");
    }
    Ended run(std::vector<std::string> words) {
        words.insert(words.begin(), "run");
        return run_here(folder, words);
    }
    Folder folder;
};

// 8 instructions of two warps, of which the second has 8 lanes.
TEST_F(RunWords, StatisticsAreOfAllLaunches) {
    const std::regex text(
        "done: k on sm_80, 1 CTA, 16 instructions\ndone: k on sm_80, 3 CTAs, 48 instructions\n"
        "A: 1 value as expected\n"
        "instructions +64   retired by warps\n"
        "lane operations +1,280   [0-9.e+]+ a second\n"
        "products +0   multiply-adds of matrix instructions, 0 a second\n"
        "CTAs, warps +4   8 warps\n"
        "seconds +[0-9.]+\n[\\s\\S]*");
    const Ended e = run({"good.json", "--stats", "--threads", "1"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(std::regex_match(e.out, text)) << e.out;
    const Ended trap = run({"trap.json", "--stats"});
    EXPECT_EQ(trap.status, 1);
    EXPECT_TRUE(trap.out.starts_with("TRAP  t.ptx:13  k: trap instruction")) << trap.out;
    EXPECT_NE(trap.out.find("\nseconds "), std::string::npos) << trap.out;
    EXPECT_EQ(run({"trap.json"}).out.find("\nseconds "), std::string::npos);
    EXPECT_EQ(run({"good.json"}).out.find("\nseconds "), std::string::npos);
}

TEST_F(RunWords, AWrongResultAsksWhy) {
    const std::string line = "ask why: lockwarp why bad.json";
    EXPECT_NE(run({"bad.json"}).out.find("\n" + line + "\n"), std::string::npos);
    EXPECT_NE(run({"bad.json", "--product", "A=A*A:1x1x1:s8:s32"})
                  .out.find("\n" + line + " --product ...\n"),
              std::string::npos);
    EXPECT_EQ(run({"also.json"}).out.find("ask why"), std::string::npos);
}

TEST_F(RunWords, SeveralFilesAreCounted) {
    struct Row {
        std::vector<std::string> words;
        int status;
        const char* last;
    };
    for (const Row& row : std::vector<Row>{
             {{"good.json", "also.json"},
              0,
              "as expected: 2 of 2 launch files as expected, 0 failed, 0 not run\n"},
             {{"good.json", "bad.json", "trap.json"},
              1,
              "FAILED: 1 of 3 launch files as expected, 2 failed, 0 not run\n"},
             {{"good.json", "none.json"},
              2,
              "FAILED: 1 of 2 launch files as expected, 0 failed, 1 not run\n"},
             {{"bad.json", "wrong.json", "good.json", "also.json"},
              2,
              "FAILED: 2 of 4 launch files as expected, 1 failed, 1 not run\n"},
             {{"good.json", "also.json", "bad.json", "--shard", "1/2"},
              0,
              "as expected: 2 of 2 launch files as expected, 0 failed, 0 not run; shard 1/2 "
              "(--shard)\n"},
             {{"good.json", "also.json", "bad.json", "--shard", "2/2"},
              1,
              "FAILED: 0 of 1 launch files as expected, 1 failed, 0 not run; shard 2/2 "
              "(--shard)\n"}})
        for (const char* jobs : {"1", "3"}) {
            std::vector<std::string> words = row.words;
            words.insert(words.end(), {"--jobs", jobs});
            const Ended e = run(words);
            EXPECT_EQ(e.status, row.status) << row.last << e.err;
            EXPECT_TRUE(e.out.ends_with(row.last)) << e.out;
        }
    const Ended e = run({"good.json", "none.json", "bad.json", "wrong.json", "-j", "1"});
    const std::regex text(
        "as expected  good.json  1 values, [0-9.]+ s\n"
        "NOT RUN  none.json  [0-9.]+ s\n"
        "nothing was compared: the launch file expects nothing \\(field 'expect'\\)\n"
        "FAILED  bad.json  [0-9.]+ s\nDIFFERS  A: 1 of 1 values are not as expected\n"
        "[\\s\\S]*\nNOT RUN  wrong.json  [0-9.]+ s\n[\\s\\S]*");
    EXPECT_TRUE(std::regex_match(e.out, text)) << e.out;
    EXPECT_NE(e.err.find("wrong.json:1:2: not JSON from here on\n"), std::string::npos) << e.err;
}

TEST_F(RunWords, EachOfSeveralHasAFolder) {
    EXPECT_EQ(run({"good.json", "also.json", "--out", "o"}).status, 0);
    EXPECT_EQ(folder.read("o/good/A.bin")[0], 4);
    EXPECT_EQ(folder.read("o/also/A.bin")[0], 1);
    // One as a test has the folder itself.
    EXPECT_EQ(run({"also.json", "--out", "one", "--junit", "r.xml"}).status, 0);
    EXPECT_EQ(folder.read("one/A.bin")[0], 1);
}

TEST_F(RunWords, WhatDoesNotGoTogether) {
    struct Row {
        std::vector<std::string> words;
        const char* error;
    };
    for (const Row& row : std::vector<Row>{
             {{"good.json", "k.ptx"},
              "k.ptx: among several files each must be a launch file (.json)"},
             {{"good.json", "also.json", "k.ptx"},
              "k.ptx: among several files each must be a launch file (.json)"},
             {{"good.json", "also.json", "good.json"}, "good.json: is there twice"},
             {{"good.json", "also.json", "--print", "A:u32:1x1"},
              "--print and --product are of one launch file"},
             {{"good.json", "also.json", "--product", "A=A*A:1x1x1:s8:s32"},
              "--print and --product are of one launch file"},
             {{"good.json", "also.json", "--shard", "3/3"}, "--shard 3/3: no launch file is in it"},
             {{"good.json", "--async", "late", "--check=memory"},
              "--async late: --check and --at are of the early schedule"},
             {{"good.json", "--async", "late", "--at", "7"},
              "--async late: --check and --at are of the early schedule"}}) {
        const Ended e = run(row.words);
        EXPECT_EQ(e.status, 2) << row.error;
        EXPECT_EQ(e.err, std::string("error: ") + row.error + "\n");
        EXPECT_EQ(e.out, "");
    }
    EXPECT_EQ(run({"also.json", "--async", "early", "--check=memory"}).status, 0);
}

// A look at a line: the registers, or what is asked for, of the lane.
TEST_F(RunWords, OneLook) {
    const Ended all = run({"also.json", "--at", "11"});
    EXPECT_EQ(all.status, 0) << all.err;
    for (const char* name : {"%r1", "%r2", "%d1"})
        EXPECT_NE(all.out.find(name), std::string::npos) << name << all.out;
    const Ended one = run({"also.json", "--at", "11", "--lane", "9", "--show", "%r1"});
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_NE(one.out.find("\nlane 9: thread (9,0,0)\n%r1 (u32)\n"), std::string::npos) << one.out;
    EXPECT_EQ(one.out.find("%d1"), std::string::npos) << one.out;
}

TEST(PrintedReport, SaysWhatWasLostWhereAnythingWas) {
    warp::Result r;
    EXPECT_EQ(printed_report(r), "");
    r.printed = {{0, 0, 0, "a\tb\n"}};
    EXPECT_EQ(printed_report(r), "printed by 1 call of printf, 4 bytes:\na\tb\n");
    r.printed.push_back({0, 0, 1, "\x1b\x7f"});
    EXPECT_EQ(printed_report(r), "printed by 2 calls of printf, 6 bytes:\na\tb\n..\n");
    r.printed_bytes_lost = 1;
    EXPECT_EQ(printed_report(r), "printed by 2 calls of printf, 6 bytes, 1 more lost:\na\tb\n..\n");
}

}  // namespace
}  // namespace lockwarp::tools
