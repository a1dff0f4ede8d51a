// SPDX-License-Identifier: Apache-2.0
// lockwarp time: which launch, which CTAs and which window it takes, and what it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

// CTAs of 40 threads: two warps.
std::string two_warps(const std::string& launches, const std::string& ptx = "k.ptx") {
    return R"({"schema": "lockwarp-launch/1", "ptx": ")" + ptx +
           R"(", "arch": "sm_90", "block": [40], "buffers": {"p": {"zeros": 4}},
              "args": [{"buffer": "p"}], )" +
           launches + "}";
}

class TimeWords : public testing::Test {
  protected:
    void SetUp() override {
        const auto write_ptx = [&](const std::string& name, const std::string& line) {
            folder.write(name,
                         ".version 8.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>;\n"
                         "mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 5;\n" +
                             line + "\nret; }\n");
        };
        write_ptx("k.ptx", "");
        write_ptx("t.ptx", "trap;");
        folder.write("k.json", two_warps(R"("grid": [1])"));
        folder.write("two.json", two_warps(R"("launches": [{"grid": [1]}, {"grid": [133]}])"));
        folder.write("t.json", two_warps(R"("grid": [1])", "t.ptx"));
        folder.write("grid.json", two_warps(R"("grid": [1], "cooperative": true)"));
    }
    Ended time(std::vector<std::string> words) {
        words.insert(words.begin(), "time");
        return run_here(folder, words);
    }
    Folder folder;
};

// The CTAs of one multiprocessor are run: an H200 has 132.
TEST_F(TimeWords, RunsTheCtasOfOneMultiprocessor) {
    struct TimeRow {
        const char* grid;
        const char* option;
        const char* last;  // warp
    };
    for (const TimeRow& row : std::initializer_list<TimeRow>{{"[1]", "--cold", "1"},
                                                             {"[132]", "--cold", "1"},
                                                             {"[133]", "--cold", "3"},
                                                             {"[264]", "--cold", "3"},
                                                             {"[53, 5]", "--cold", "5"},
                                                             {"[133]", "--all", "3"},
                                                             {"[132]", "--all", "1"}}) {
        folder.write("n.json", two_warps(std::string(R"("grid": )") + row.grid));
        const Ended e = time({"n.json", row.option, "--timeline", "9999"});
        EXPECT_EQ(e.status, 2);
        EXPECT_EQ(e.err, std::string("error: --timeline 9999: the model ran warps 0 to ") +
                             row.last + "\n")
            << row.grid << row.option;
        EXPECT_EQ(time({"n.json", row.option, "--timeline", row.last}).status, 0) << row.grid;
    }
    EXPECT_EQ(time({"k.json", "--timeline", "2"}).status, 2);
    EXPECT_EQ(time({"k.json", "--timeline", "sub-core:3"}).status, 0);
}

// The second has two CTAs.
TEST_F(TimeWords, TakesTheLaunchThatIsNamed) {
    EXPECT_EQ(time({"k.json", "--launch", "1", "--timeline", "2"}).status, 2);
    EXPECT_EQ(time({"two.json", "--launch", "1", "--timeline", "2"}).status, 2);
    EXPECT_EQ(time({"two.json", "--launch", "2", "--timeline", "2"}).status, 0);
}

// A kernel that counts so far.
std::string loop(unsigned times) {
    return fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b32 %r<2>; .reg .pred %p<2>;
mov.u32 %r1, 0;
L: add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, {};
@%p1 bra L;
ret; }}
)",
                       times);
}

// --from moves the timeline's window; a trace has all of the run in it.
TEST_F(TimeWords, ATraceBeginsWithTheRun) {
    folder.write("loop.ptx", loop(400));
    folder.write("loop.json", two_warps(R"("grid": [1])", "loop.ptx"));
    ASSERT_EQ(time({"loop.json", "--trace", "all.json"}).status, 0);
    const Ended e =
        time({"loop.json", "--trace", "late.json", "--timeline", "0", "--from", "5000"});
    ASSERT_EQ(e.status, 0) << e.err;
    EXPECT_GT(folder.read("all.json").size(), 50000u);
    EXPECT_EQ(folder.read("late.json"), folder.read("all.json"));
}

// However much of the run is before it.
TEST_F(TimeWords, AWindowMayBeginLate) {
    folder.write("long.ptx", loop(30000));
    std::string launch = two_warps(R"("grid": [1])", "long.ptx");
    launch.replace(launch.find("[40]"), 4, "[1024]");
    folder.write("long.json", launch);
    const Ended e = time({"long.json", "--timeline", "0", "--from", "700000", "--cycles", "100"});
    ASSERT_EQ(e.status, 0) << e.err;
    EXPECT_NE(e.out.find(" instructions of warp 0, cycles 700000 to 700099"), std::string::npos)
        << e.out;
    EXPECT_GT(std::stoi(e.out), 0) << e.out;
}

TEST_F(TimeWords, SaysWhatIsWrong) {
    struct TimeRow {
        std::vector<std::string> words;
        std::string error;
    };
    const auto window = [](const std::string& which) {
        return TimeRow{{"k.json", "--timeline", which},
                       "--timeline \"" + which + "\": a warp such as 0, or sub-core:0 to 3"};
    };
    const std::string two = "two.json: it has 2 launches: choose one with --launch 1 to 2";
    for (const TimeRow& row : std::vector<TimeRow>{
             {{}, "time: give a launch file"},
             {{"k.json", "--against", "x"}, "--against names its launch files itself"},
             window("x"),
             window("1x"),
             window("/"),
             window(":"),
             window("12345"),
             window("sub-core:"),
             window("sub-core:4"),
             window("sub-core:x"),
             {{"k.json", "--compare", "sm_80", "--arch", "sm_90"}, "--compare stands alone"},
             {{"k.json", "--compare", "sm_80", "--timeline", "0"}, "--compare stands alone"},
             {{"k.json", "--compare", "sm_80", "--trace", "t"}, "--compare stands alone"},
             {{"k.json", "--compare", "sm_80", "--svg", "t"}, "--compare stands alone"},
             {{"k.json", "--compare", "sm_80", "--json"}, "--compare stands alone"},
             {{"two.json"}, two},
             {{"two.json", "--launch", "3"}, two},
             {{"k.json", "--launch", "2"},
              "k.json: it has 1 launches: choose one with --launch 1 to 1"},
             {{"grid.json"},
              "grid.json: the cycle model has no CTAs that wait for each other (cooperative)"}}) {
        std::string line;
        for (const std::string& word : row.words) line += word + " ";
        const Ended e = time(row.words);
        EXPECT_EQ(e.status, 2) << line;
        EXPECT_EQ(e.err, "error: " + row.error + "\n") << line;
        EXPECT_EQ(e.out, "") << line;
    }
    const Ended trap = time({"t.json"});
    EXPECT_EQ(trap.status, 1);
    EXPECT_TRUE(trap.out.starts_with("TRAP  t.ptx:8  k: trap instruction")) << trap.out;
}

}  // namespace
}  // namespace lockwarp::tools
