// SPDX-License-Identifier: Apache-2.0
// lockwarp run, as a process, where everything is right: what it prints and writes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <sstream>

#include "emu/isa/arch.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools::run_test {
namespace {

constexpr const char* kernels = LOCKWARP_SOURCE_DIR "/gpu/kernels/";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Run, AKernelOfTheProject) {
    const Folder folder;
    const Ended e = run(folder, {"run", std::string(kernels) + "mma_m16n8k16.json", "--out", "a/b",
                                 "--print", "D:f16:16x8:3", "--print", "D:b16:1x2:hex", "--product",
                                 "D=A*B':16x8x16:f16:f16", "--stats", "--threads", "2"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_EQ(first_line(e.out), "done: mma_m16n8k16 on sm_80, 1 CTA, 42 instructions");
    EXPECT_TRUE(contains(e.out, "D = A*B': largest deviation from the exact product ")) << e.out;
    EXPECT_TRUE(contains(e.out, "\nproducts                      2,048 ")) << e.out;
    EXPECT_EQ(too_wide(e.out), "");
    EXPECT_EQ(folder.names("a/b"), std::vector<std::string>{"D.bin"});
    EXPECT_EQ(folder.read("a/b/D.bin").size(), 256u);
    // Row 0 as printed, and the first two elements' bits as they lie in the file.
    const std::string bytes = folder.read("a/b/D.bin");
    char bits[16];
    std::snprintf(bits, sizeof bits, "0x%02x%02x", static_cast<unsigned char>(bytes[1]),
                  static_cast<unsigned char>(bytes[0]));
    EXPECT_TRUE(contains(e.out, std::string("\n       0      1\n0 ") + bits + " 0x")) << bits;
    EXPECT_TRUE(contains(e.out, "\n        0      1 ")) << e.out;
    EXPECT_TRUE(contains(e.out, "\n 0  0.124  0.316 ")) << e.out;
}

TEST(Run, TheSameBytesWithAnyNumberOfThreads) {
    const Folder folder;
    for (const char* threads : {"1", "3"})
        EXPECT_EQ(run(folder, {"run", std::string(kernels) + "gemm_sm80.json", "--out", threads,
                               "--threads", threads})
                      .status,
                  0);
    EXPECT_EQ(folder.read("1/C.bin").size(), 98304u);
    EXPECT_EQ(folder.read("1/C.bin"), folder.read("3/C.bin"));
}

TEST(Run, AnOlderKernelOnANewerMachine) {
    const Folder folder;
    const std::string file = std::string(kernels) + "mma_m16n8k16.json";
    EXPECT_TRUE(contains(run(folder, {"run", file, "--arch", "sm_90"}).out, " on sm_90, "));
    EXPECT_TRUE(contains(run(folder, {"run", file, "--arch", "sm_90a"}).out, " on sm_90, "));
}

TEST(Run, ASourceBesideItsLaunchFile) {
    const Folder folder;
    const Ended e = run(folder, {"run", std::string(kernels) + "mma_m16n8k16.sm_80.ptx",
                                 std::string(kernels) + "mma_m16n8k16.json"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("done: mma_m16n8k16 on sm_80")) << e.out;
}

TEST(Run, OutputReplacesAnEarlierFileWhole) {
    const Folder folder;
    std::filesystem::create_directory(folder.path / "out");
    folder.write("out/D.bin", std::string(1000, 'x'));
    folder.write("out/other", "kept");
    EXPECT_EQ(
        run(folder, {"run", std::string(kernels) + "mma_m16n8k16.json", "--out", "out"}).status, 0);
    EXPECT_EQ(folder.read("out/D.bin").size(), 256u);
    EXPECT_EQ(folder.names("out"), (std::vector<std::string>{"D.bin", "other"}));
}

TEST(Run, TwoAtOnceIntoOneFolder) {
    const Folder folder;
    const std::vector<std::string> words{"run", std::string(kernels) + "gemm_sm80.json", "--out",
                                         "out"};
    const Started first = start(folder, words);
    const Started second = start(folder, words);
    EXPECT_EQ(finish(first).status, 0);
    EXPECT_EQ(finish(second).status, 0);
    EXPECT_EQ(folder.names("out"), std::vector<std::string>{"C.bin"});
    EXPECT_EQ(folder.read("out/C.bin").size(), 98304u);
}

TEST(Run, HelpFitsAndNamesEveryArchitecture) {
    const Folder folder;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                  {"run", "--help"},
                                                  {"list", "--help"},
                                                  {"validate", "--help"},
                                                  {"list"}}) {
        const Ended e = run(folder, words);
        EXPECT_EQ(e.status, 0) << words[0] << e.err;
        EXPECT_EQ(too_wide(e.out), "") << words[0];
        EXPECT_GT(e.out.size(), 100u);
    }
    // The head of the list of variants names them without "sm_".
    std::string head = run(folder, {"list"}).out;
    head.erase(0, head.find("variant, by sm_"));
    std::istringstream columns(head.substr(0, head.find('\n')));
    std::vector<std::string> names{std::istream_iterator<std::string>(columns), {}};
    ASSERT_EQ(names.size(), 3 + std::size(isa::arch_rows)) << head;
    for (size_t i = 0; i < std::size(isa::arch_rows); ++i)
        EXPECT_EQ("sm_" + names[3 + i], isa::arch_rows[i].name);
    const std::string help = run(folder, {"run", "--help"}).out;
    for (const isa::ArchRow& a : isa::arch_rows)
        EXPECT_TRUE(contains(help, std::string(a.name))) << a.name;
    EXPECT_TRUE(run(folder, {"--version"}).out.starts_with("lockwarp "));
}

TEST(Run, CudaSources) {
    const Folder folder;
    const std::string source = std::string(kernels) + "mma_m16n8k16.cu";
    const Ended missing = run(folder, {"run", source}, {"NVCC=/no/such/nvcc"});
    EXPECT_EQ(missing.status, 2);
    EXPECT_EQ(missing.err, "error: /no/such/nvcc: No such file or directory\n");
    const std::string path = std::string("/usr/local/cuda/bin/nvcc");
    if (::access(path.c_str(), X_OK) != 0) GTEST_SKIP() << "no nvcc in " << path;
    const Ended e = run(folder, {"run", source}, {"NVCC=" + path});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("done: mma_m16n8k16 on sm_80")) << e.out;
    folder.write("bad.cu", "this is no CUDA\n");
    folder.write("bad.json", R"({"schema": "lockwarp-launch/1", "ptx": "x.ptx", "grid": [1],
        "block": [1]})");
    const Ended bad = run(folder, {"run", "bad.cu"}, {"NVCC=" + path});
    EXPECT_EQ(bad.status, 2);
    EXPECT_TRUE(contains(bad.err, "error: bad.cu: nvcc could not compile it\n")) << bad.err;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"bad.cu", "bad.json"}));
}

}  // namespace
}  // namespace lockwarp::tools::run_test
