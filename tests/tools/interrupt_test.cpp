// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and --time-limit: every command ends within a second and leaves nothing half
// written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

#if defined(__SANITIZE_ADDRESS__)
constexpr int slower = 4, moments = 4;
#else
constexpr int slower = 1, moments = 10;
#endif
constexpr auto patience = slower * milliseconds(1000);

std::string kernel(const std::string& body) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p;\n.reg .b32 %r<8>;\n"
           ".reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\n" +
           body + "\nret;\n}\n";
}

std::string launch(const std::string& grid) {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k", "grid": )" + grid +
           R"(, "block": [128, 1, 1], "args": [{"buffer": "A"}],
              "buffers": {"A": {"bytes": 64}}, "outputs": ["A"]})";
}

const std::string endless = "again: add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; bra again;";

// A compiler that never ends, and neither does what it starts.
void write_compiler(const Folder& folder) {
    folder.write("nvcc", "#!/bin/sh\necho $$ > compiler.pid\ntouch \"$TMPDIR/left\"\nsleep 1000\n");
    ::chmod((folder.path / "nvcc").c_str(), 0700);
    folder.write("k.cu", "__global__ void k() {}\n");
}

struct LongRun {
    std::string name;
    std::vector<std::string> arguments;
    std::vector<std::string> files;  // that are there all the time
};

std::vector<LongRun> long_runs() {
    return {{"one CTA", {"run", "one.json", "--out", "out"}, {}},
            {"2^31 CTAs", {"run", "many.json", "--out", "out"}, {}},
            {"cycles", {"time", "one.json", "--trace", "trace.json", "--svg", "use.svg"}, {}},
            {"random programs",
             {"fuzz", "--plain", "--cases", "1000000", "--json", "r.json", "--junit", "r.xml"},
             {}},
            {"a compiler", {"run", "k.cu", "one.json", "--out", "out"}, {}}};
}

// That wait for something else, or have no moment to look at what was sent.
std::vector<LongRun> other_runs() {
    return {{"buffers of a GB", {"run", "large.json", "--out", "out"}, {}},
            {"cycles of every CTA", {"time", "many.json", "--all"}, {}},
            {"checks", {"run", "one.json", "--check"}, {}},
            {"measuring", {"measure", "large.json", "--emulator"}, {}},
            {"special functions", {"special", "--emulator", "--count", "100000000000"}, {}},
            {"a compiler for init", {"init", "k.cu"}, {}},
            {"a FIFO that nobody reads", {"run", "none.json", "--json", "fifo"}, {}}};
}

void write_inputs(const Folder& folder) {
    folder.write("k.ptx", kernel(endless));
    folder.write("one.json", launch("[3, 1, 1]"));
    folder.write("short.ptx", kernel(""));
    std::string many = launch("[2147483647, 1, 1]");
    many.replace(many.find("k.ptx"), 5, "short.ptx");
    folder.write("many.json", many);
    std::string none = launch("[1, 1, 1]");
    none.replace(none.find("k.ptx"), 5, "short.ptx");
    folder.write("none.json", none);
    ::mkfifo((folder.path / "fifo").c_str(), 0600);
    std::string large = launch("[1, 1, 1]");
    large.replace(large.find("{\"bytes\": 64}"), 13,
                  R"({"bytes": 1073741824, "init": {"random": {"type": "f16", "seed": 1}}})");
    folder.write("large.json", large);
    write_compiler(folder);
}

std::vector<std::string> temporaries(const Folder& folder) {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path))
        out.push_back(entry.path().lexically_relative(folder.path).string());
    return out;
}

bool lives(pid_t process) { return ::kill(process, 0) == 0; }

pid_t compiler_of(const Folder& folder) {
    std::ifstream file(folder.path / "compiler.pid");
    pid_t process = 0;
    file >> process;
    return process;
}

// From /proc: whether the process has a handler of the signal.
bool handles(pid_t process, int signal) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    const std::string name = "SigCgt:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return (std::stoull(line.substr(name.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

void expect_interrupted(const LongRun& one, int signal, milliseconds after) {
    const Folder folder;
    write_inputs(folder);
    const size_t files = temporaries(folder).size();
    fs::create_directory(folder.path / "tmp");
    const Started started = start(
        folder, one.arguments,
        {"NVCC=" + (folder.path / "nvcc").string(), "TMPDIR=" + (folder.path / "tmp").string()});
    // Until the program handles signals the system ends it.
    for (int i = 0; i < 1000 && !handles(started.child, signal); ++i)
        std::this_thread::sleep_for(milliseconds(10));
    std::this_thread::sleep_for(after);
    const auto begin = Clock::now();
    ASSERT_EQ(::kill(started.child, signal), 0) << one.name;
    const Ended e = finish(started);
    const std::string where = one.name + " after " + std::to_string(after.count()) + " ms\n";
    EXPECT_LT(Clock::now() - begin, patience) << where;
    EXPECT_EQ(e.status, 130) << where << e.err;
    EXPECT_NE(e.err.find("error: interrupted\n"), std::string::npos) << where << e.err;
    EXPECT_EQ(folder.names("tmp"), std::vector<std::string>{}) << where;
    for (const std::string& name : temporaries(folder))
        EXPECT_TRUE(name.find(".bin") == std::string::npos &&
                    name.find("trace") == std::string::npos &&
                    name.find("use.svg") == std::string::npos)
            << where << name;
    EXPECT_LE(temporaries(folder).size(), files + 5) << where;
    if (const pid_t compiler = compiler_of(folder); compiler != 0) {
        for (int i = 0; i < 50 && lives(compiler); ++i)
            std::this_thread::sleep_for(milliseconds(10));
        EXPECT_FALSE(lives(compiler)) << where;
    }
}

TEST(Interrupt, RandomMomentsOfFiveLongRuns) {
    std::mt19937 random(16);
    std::uniform_int_distribution<int> moment(0, 700);
    for (const LongRun& one : long_runs())
        for (int i = 0; i < moments; ++i)
            expect_interrupted(one, i % 2 == 0 ? SIGINT : SIGTERM, milliseconds(moment(random)));
}

TEST(Interrupt, OtherLongRuns) {
    std::mt19937 random(17);
    std::uniform_int_distribution<int> moment(0, 700);
    for (const LongRun& one : other_runs())
        for (const int signal : {SIGINT, SIGTERM})
            expect_interrupted(one, signal, milliseconds(moment(random)));
}

TEST(Interrupt, ATimeLimitIsOne) {
    const Folder folder;
    write_inputs(folder);
    const auto begin = Clock::now();
    const Ended e = run(folder, {"run", "many.json", "--out", "out", "--time-limit", "0.3"});
    EXPECT_LT(Clock::now() - begin, patience);
    EXPECT_EQ(e.status, 130);
    EXPECT_EQ(e.err, "error: the time limit was reached\n");
    EXPECT_TRUE(e.out.starts_with("STOPPED  short.ptx:")) << e.out;
    EXPECT_NE(e.out.find(" of 2,147,483,647 CTAs ended, "), std::string::npos) << e.out;
    EXPECT_EQ(folder.names("out"), std::vector<std::string>{});
}

// What the kernel had printed, and where its warps stood.
TEST(Interrupt, WhatWasSoFarIsSaid) {
    const Folder folder;
    folder.write("k.ptx", kernel(R"(mov.u32 %r2, %tid.x;
setp.ge.u32 %p, %r2, 64;
@%p bra wait;
)" + endless + R"(
wait: bar.sync 0;)"));
    folder.write("one.json", launch("[1, 1, 1]"));
    const Ended e = run(folder, {"run", "one.json", "--time-limit", "0.3"});
    EXPECT_EQ(e.status, 130);
    EXPECT_NE(e.out.find("warps 0-1 at line 13"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("; warps 2-3 at line 14 waiting at a barrier\n"), std::string::npos)
        << e.out;
    EXPECT_NE(e.out.find("stopped: 0 of 1 CTA ended, "), std::string::npos) << e.out;
}

// No CTA after one that trapped begins.
TEST(Interrupt, ATrapEndsAGridOfAnySize) {
    const Folder folder;
    folder.write("k.ptx", kernel("trap;"));
    folder.write("one.json", launch("[2147483647, 1, 1]"));
    const Ended e = run(folder, {"run", "one.json", "--time-limit", "20"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_TRUE(e.out.starts_with("TRAP  k.ptx:10  k: trap instruction\n")) << e.out;
}

}  // namespace
}  // namespace lockwarp::tools
