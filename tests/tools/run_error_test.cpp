// SPDX-License-Identifier: Apache-2.0
// lockwarp run, as a process, where something is wrong: status 2 with a clear message and nothing
// written, 1 for a trap, 130 when interrupted.
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <unistd.h>
#include <regex>

#include <chrono>
#include <csignal>
#include <thread>

#include "emu/isa/arch.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools::run_error_test {
namespace {

constexpr const char* header = ".version 7.0\n.target sm_80\n.address_size 64\n";

std::string kernel(const std::string& body, const std::string& before = header) {
    return before +
           ".entry k(.param .u64 out) {\n.reg .u64 %rd<4>; .reg .b32 %r<4>;\n"
           "ld.param.u64 %rd1, [out];\n" +
           body + "\n}\n";
}

// A launch file of one buffer; `fields` are added.
std::string launch(const std::string& fields = "", const std::string& buffer = R"("bytes": 64)") {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1], "block": [32],
 "buffers": {"A": {)" +
           buffer + R"(}}, "args": [{"buffer": "A"}], "outputs": ["A"])" + fields + "}";
}

// "sm_70, sm_75, ..."
std::string architectures() {
    std::string out;
    for (const isa::ArchRow& a : isa::arch_rows)
        out += (out.empty() ? "" : ", ") + std::string(a.name);
    return out;
}

// The folder holds k.ptx and k.json, and nothing else may remain.
Ended run_both(const std::string& ptx, const std::string& json,
               std::vector<std::string> options = {}) {
    const Folder folder;
    folder.write("k.ptx", ptx);
    folder.write("k.json", json);
    std::vector<std::string> words{"run", "k.json", "--out", "out"};
    words.insert(words.end(), options.begin(), options.end());
    Ended e = run(folder, words);
    EXPECT_EQ(folder.names("out"), std::vector<std::string>{});
    for (const std::string& name : folder.names())
        EXPECT_TRUE(name == "k.ptx" || name == "k.json" || name == "out") << name;
    // A message of one line may be as long as the names in it.
    EXPECT_EQ(e.err.starts_with("error: ") ? "" : too_wide(e.err), "");
    return e;
}

const std::string good = kernel("st.global.u32 [%rd1], 5;");

TEST(RunError, InputsThatAreWrong) {
    const struct {
        std::string ptx, json;
        std::vector<std::string> options;
        std::string message;
    } cases[] = {
        {good, "{", {}, "error: k.json:1:2: not JSON from here on\n"},
        {good, "{\n \"a\": \xff}", {}, "error: k.json:2:7: not JSON from here on\n"},
        {good, "{}", {}, "error: k.json: field 'schema': is missing\n"},
        {good,
         launch("", R"("bytes": 64, "init": {"file": "none.bin"})"),
         {},
         "error: k.json: field 'buffers.A.init.file': none.bin: No such file or directory\n"},
        {good,
         launch("", R"("bytes": 64, "init": {"file": "k.json"})"),
         {},
         "error: k.json: field 'buffers.A.init.file': k.json has 182 bytes, the buffer 64\n"},
        {good,
         launch("", R"("bytes": 18446744073709551615)"),
         {},
         "error: k.json: field 'buffers.A.bytes': a whole number from 0 to 17592186044416 is "
         "expected, not 18446744073709551615\n"},
        {good,
         launch("", R"("bytes": 17592186044416)"),
         {},
         "error: k.json: the buffers have 17592186044416 bytes, more than this machine\n"},
        {good,
         launch(R"(, "arch": "sm_99")"),
         {},
         "error: k.json: field 'arch': 'sm_99' is not modelled; one of " + architectures() + "\n"},
        {good,
         launch(),
         {"--arch", "sm_1"},
         "error: --arch: 'sm_1' is not modelled; one of " + architectures() + "\n"},
        {good,
         launch(),
         {"--print", "Z:f16:1x1"},
         "error: --print: there is no buffer 'Z'; buffers: A\n"},
        {good,
         launch(),
         {"--print", "A:f16"},
         "error: --print A:f16: BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex] is expected\n"},
        {good,
         launch(),
         {"--print", "A:f32:5x4"},
         "error: --print: buffer 'A' has 64 bytes, 5x4 of f32 need 80\n"},
        {good,
         launch(),
         {"--print", "A:f32:4294967296x4294967296"},
         "error: --print: buffer 'A' has 64 bytes, 4294967296x4294967296 of f32"},
        {good,
         launch(),
         {"--product", "A=B*C:1x1x1:f16:f16"},
         "error: --product: there is no buffer 'B'; buffers: A\n"},
        {good, launch(), {"--product", "A"}, "error: --product A: D=A*B:MxNxK:AB_TYPE:D_TYPE"},
        {good.substr(0, 120), launch(), {}, "k.ptx:6:14: error: the text ends inside function 'k'"},
        {kernel("frobnicate.b32 %r1, %r2;"),
         launch(),
         {},
         "k.ptx:7:1: error: Not a name of any known instruction: 'frobnicate'\n"
         "  7 | frobnicate.b32 %r1, %r2;\n"
         "    | ^~~~~~~~~~\n"
         "1 error in k.ptx\n"},
        {good,
         launch(),
         {"--arch", "sm_75"},
         "k.ptx:2:9: error: A module for sm_80 cannot run on sm_75\n"},
        {"", launch(), {}, "k.ptx:1:1: error: Missing .version directive"},
        {std::string("\0\xff\xfe", 3), launch(), {}, "k.ptx:1:1: error: "},
    };
    for (const auto& c : cases) {
        const Ended e = run_both(c.ptx, c.json, c.options);
        EXPECT_EQ(e.status, 2) << c.message;
        EXPECT_EQ(e.out, "");
        // The line and the column: tests/launch/launch_file_test.cpp.
        const std::string unplaced = std::regex_replace(
            e.err, std::regex("^error: k\\.json:[0-9]+:[0-9]+: field"), "error: k.json: field");
        EXPECT_TRUE(unplaced.starts_with(c.message)) << c.message << "\nis\n" << e.err;
    }
}

TEST(RunError, NoPtxFile) {
    const Folder folder;
    folder.write("k.json", launch());
    const Ended e = run(folder, {"run", "k.json"});
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(e.err.starts_with("error: k.json:1:")) << e.err;
    EXPECT_TRUE(e.err.ends_with(": field 'ptx': k.ptx: No such file or directory\n")) << e.err;
    EXPECT_EQ(run(folder, {"run", "none.json"}).err,
              "error: none.json: No such file or directory\n");
    EXPECT_EQ(run(folder, {"run", "none.ptx"}).err,
              "error: none.ptx: no launch file; name one after it, or write none.json from what "
              "'lockwarp "
              "init none.ptx' prints\n");
    EXPECT_EQ(run(folder, {"run", "."}).err, "error: .: not a regular file\n");
}

TEST(RunError, Usage) {
    const Folder folder;
    for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                  {"run"},
                                                  {"frob"},
                                                  {"run", "a", "b", "c"},
                                                  {"run", "k.json", "--frob"},
                                                  {"run", "k.json", "--threads", "0"},
                                                  {"run", "k.json", "--threads", "-1"},
                                                  {"run", "k.json", "--max-steps", "0"},
                                                  {"run", "k.json", "--max-steps", "x"},
                                                  {"run", "k.json", "--arch"}}) {
        const Ended e = run(folder, words);
        EXPECT_EQ(e.status, 2) << e.err;
        EXPECT_EQ(e.out, "");
        EXPECT_FALSE(e.err.empty());
    }
    EXPECT_TRUE(folder.names().empty());
}

TEST(RunError, ALargeLaunchFile) {
    std::string nested = "[";
    for (int i = 0; i < 1000000; ++i) nested += "[1,2,3,4],";
    nested += "0]";
    const Folder folder;
    folder.write("k.ptx", good);
    folder.write("k.json", launch(R"(, "extra": )" + nested));
    const Ended e = run(folder, {"run", "k.json"});
    EXPECT_EQ(e.status, 2) << e.err;
    EXPECT_TRUE(e.err.starts_with("error: k.json:")) << e.err;
    EXPECT_NE(e.err.find("field 'extra': is not known; known here: schema, "), std::string::npos)
        << e.err;
}

TEST(RunError, DeepBrackets) {
    const Ended deep = run_both(good, std::string(100000, '['));
    EXPECT_EQ(deep.status, 2);
    EXPECT_TRUE(deep.err.ends_with("nested too deeply\n")) << deep.err;
    const std::string both = std::string(100000, '[') + std::string(100000, ']');
    EXPECT_EQ(run_both(good, launch(R"(, "extra": )" + both.substr(0, 100) + "x")).status, 2);
    EXPECT_EQ(run_both(good, both).status, 2);
}

TEST(RunError, OutputsThatCannotBeWritten) {
    const Folder folder;
    folder.write("k.ptx", good);
    folder.write("k.json", launch());
    folder.write("file", "kept");
    const Ended on_file = run(folder, {"run", "k.json", "--out", "file"});
    EXPECT_EQ(on_file.status, 2);
    EXPECT_TRUE(on_file.err.starts_with("error: file: ")) << on_file.err;
    EXPECT_EQ(folder.read("file"), "kept");
    std::filesystem::create_directories(folder.path / "out" / "A.bin" / "in the way");
    const Ended on_folder = run(folder, {"run", "k.json", "--out", "out"});
    EXPECT_EQ(on_folder.status, 2);
    EXPECT_TRUE(on_folder.err.starts_with("error: out/A.bin: ")) << on_folder.err;
    EXPECT_EQ(folder.names("out"), std::vector<std::string>{"A.bin"});
}

TEST(RunError, AFullDisk) {
    const Folder folder;
    std::filesystem::create_directory(folder.path / "small");
    const std::string small = (folder.path / "small").string();
    if (::geteuid() != 0 || ::mount("none", small.c_str(), "tmpfs", 0, "size=16k") != 0)
        GTEST_SKIP() << "a small file system cannot be mounted here";
    folder.write("k.ptx", good);
    folder.write("k.json", launch("", R"("bytes": 1048576)"));
    const Ended e = run(folder, {"run", "k.json", "--out", "small"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: small/A.bin: No space left on device\n");
    EXPECT_EQ(folder.names("small"), std::vector<std::string>{});
    ::umount(small.c_str());
}

TEST(RunError, ATrapWritesNothing) {
    const Ended e = run_both(kernel("st.global.u32 [%rd1+64], 5;"), launch());
    EXPECT_EQ(e.status, 1);
    EXPECT_TRUE(e.out.starts_with("TRAP  k.ptx:7  k: ")) << e.out;
    EXPECT_EQ(too_wide(e.out), "");
    EXPECT_EQ(e.err, "");
}

TEST(RunError, ATrapSaysWhoCalled) {
    const std::string functions = std::string(header) +
                                  ".func f(.reg .u64 p) { st.global.u32 [p+64], 5; ret; }\n"
                                  ".func g(.reg .u64 p) {\ncall f, (p);\nret; }\n";
    const Ended two = run_both(kernel("call g, (%rd1);\nret;", functions), launch());
    EXPECT_EQ(two.status, 1);
    EXPECT_TRUE(two.out.starts_with("TRAP  k.ptx:4  f: ")) << two.out;
    EXPECT_TRUE(two.out.ends_with("\n  called from k.ptx:6 (g)\n  called from k.ptx:11 (k)\n"))
        << two.out;
    // At most eight.
    for (const int calls : {8, 9}) {
        const std::string deep =
            std::string(header) +
            ".func f(.reg .u64 p, .reg .u32 n) { .reg .pred q; setp.eq.u32 q, n, 1;\n"
            "@q st.global.u32 [p+64], 5;\nsub.u32 n, n, 1;\ncall f, (p, n);\nret; }\n";
        const Ended e = run_both(
            kernel("call f, (%rd1, " + std::to_string(calls) + ");\nret;", deep), launch());
        std::string expected;
        for (int i = 1; i < std::min(calls, 9); ++i) expected += "  called from k.ptx:7 (f)\n";
        expected += calls == 8 ? "  called from k.ptx:12 (k)\n" : "  called from further calls\n";
        EXPECT_TRUE(e.out.starts_with("TRAP  k.ptx:5  f: ")) << e.out;
        EXPECT_TRUE(e.out.ends_with("\n" + expected)) << e.out;
    }
}

// A cooperative launch has no cycles and no registers beside a GPU.
TEST(RunError, WhatDoesNotTakeACooperativeLaunch) {
    const Folder folder;
    folder.write("k.ptx", good);
    folder.write("k.json", launch(R"(, "cooperative": true)"));
    EXPECT_EQ(run(folder, {"run", "k.json"}).status, 0);
    const Ended time = run(folder, {"time", "k.json", "--arch", "sm_80"});
    EXPECT_EQ(time.status, 2);
    EXPECT_EQ(time.err,
              "error: k.json: the cycle model has no CTAs that wait for each other "
              "(cooperative)\n");
}

TEST(RunError, TheStepLimitIsATrap) {
    const Ended e = run_both(kernel("again: bra again;"), launch(), {"--max-steps", "1000"});
    EXPECT_EQ(e.status, 1);
    EXPECT_TRUE(e.out.starts_with("TRAP  k.ptx:7  k: ")) << e.out;
}

TEST(RunError, AnInterruptEndsAnEndlessKernel) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const Folder folder;
        // A loop that changes nothing would be a deadlock.
        folder.write("k.ptx", kernel("again: add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; "
                                     "bra again;"));
        folder.write("k.json", launch());
        const Started started = start(folder, {"run", "k.json", "--out", "out"});
        // The folder appears right before the kernel starts.
        for (int i = 0; i < 500 && !std::filesystem::exists(folder.path / "out"); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const auto begin = std::chrono::steady_clock::now();
        ASSERT_EQ(::kill(started.child, signal), 0);
        const Ended e = finish(started);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
        EXPECT_EQ(e.status, 130);
        EXPECT_TRUE(e.out.starts_with("STOPPED  k.ptx:")) << e.out;
        EXPECT_NE(e.out.find("\n  warp 0 at line "), std::string::npos) << e.out;
        EXPECT_NE(e.out.find("\nstopped: 0 of 1 CTA ended, "), std::string::npos) << e.out;
        EXPECT_EQ(e.err, "error: interrupted\n");
        EXPECT_EQ(folder.names("out"), std::vector<std::string>{});
    }
}

TEST(RunError, HintsAreFolded) {
    const Ended e = run_both(kernel("cvt.frob.u8.u8 %r1, %r2;"), launch());
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(e.err.starts_with("k.ptx:7:4: error: Unknown modifier '.frob'\n")) << e.err;
}

}  // namespace
}  // namespace lockwarp::tools::run_error_test
