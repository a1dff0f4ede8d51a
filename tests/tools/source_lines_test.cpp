// SPDX-License-Identifier: Apache-2.0
// Lines of the source, by the PTX's line information, in what commands print.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

constexpr const char* source = R"(__device__ float third(float x) { return x * x + 1.0f; }
__device__ float second(float* p, int i) {
    return third(p[i]);
}
__global__ void first(float* p, int n) { p[threadIdx.x] = second(p, threadIdx.x + n); }
)";

// As nvcc -lineinfo writes it.
constexpr const char* first_kernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 p, .param .u32 n)
{
.reg .f32 %f<3>;
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
.loc 1 5 0
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
.loc 1 5 42
mov.u32 %r2, %tid.x;
add.s32 %r3, %r2, %r1;
.loc 1 5 59
.loc 1 3 5, function_name $names, inlined_at 1 5 59
mul.wide.s32 %rd2, %r3, 4;
add.s64 %rd2, %rd1, %rd2;
ld.global.f32 %f1, [%rd2];
.loc 1 1 42, function_name $names+19, inlined_at 1 3 5
fma.rn.f32 %f2, %f1, %f1, 0f3F800000;
.loc 1 5 42
mul.wide.s32 %rd3, %r2, 4;
add.s64 %rd3, %rd1, %rd3;
st.global.f32 [%rd3], %f2;
ret;
}
.file 1 "FILE"
.section .debug_str
{
$names:
.b8 95,90,54,115,101,99,111,110,100,80,102,105,0,0,0,0,0,0,0
.b8 95,90,53,116,104,105,114,100,102,0
}
)";

std::string launch(int n) {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1], "block": [32],
               "buffers": {"P": {"bytes": 128, "init": {"fill": 0}}},
               "args": [{"buffer": "P"}, {"s32": )" +
           std::to_string(n) + R"(}], "outputs": ["P"]})";
}

void write_kernel(const Folder& folder, const std::string& file) {
    std::string text = first_kernel;
    text.replace(text.find("FILE"), 4, file);
    folder.write("k.ptx", text);
    folder.write("in.json", launch(0));
    folder.write("past.json", launch(4));
}

TEST(SourceLines, OfATrap) {
    const Folder folder;
    folder.write("k.cu", source);
    write_kernel(folder, (folder.path / "k.cu").string());
    const Ended e = run(folder, {"run", "past.json"});
    EXPECT_EQ(e.status, 1);
    EXPECT_TRUE(
        e.out.starts_with("TRAP  ./k.ptx:19  first: address out of bounds 0x7000000080\n") ||
        e.out.starts_with("TRAP  k.ptx:19  first: address out of bounds 0x7000000080\n"))
        << e.out;
    EXPECT_NE(e.out.find("  k.cu:3:5 in second(float*, int)\n    return third(p[i]);\n"
                         "  inlined at k.cu:5:59\n  CTA (0,0,0), warp 0, lane 28, "),
              std::string::npos)
        << e.out;
    EXPECT_EQ(too_wide(e.out), "");
}

// The source's lines come first, and the PTX's are called so.
TEST(SourceLines, OfFindings) {
    const Folder folder;
    folder.write("k.cu", source);
    write_kernel(folder, (folder.path / "k.cu").string());
    std::string text = folder.read("k.ptx");
    text.insert(text.find("st.global.f32"), "setp.eq.u32 %p1, %r2, 0;\n@%p1 mov.f32 %f2, %f0;\n");
    text.insert(text.find(".reg .f32"), ".reg .pred %p<2>;\n");
    folder.write("k.ptx", text);
    const Ended undefined = run(folder, {"check", "in.json"});
    EXPECT_EQ(undefined.status, 1);
    EXPECT_TRUE(
        undefined.out.starts_with("k.cu:5: error: stores register %f0, which nothing has "
                                  "written [uninitialised/stored]\n  k.ptx:28\n"))
        << undefined.out;
    EXPECT_EQ(too_wide(undefined.out), "");
    const Ended past = run(folder, {"check", "past.json"});
    EXPECT_TRUE(past.out.starts_with("k.cu:3: error: ")) << past.out;
}

// What every warp of a deadlock waits at, and where warps stood that were stopped.
TEST(SourceLines, OfADeadlock) {
    const Folder folder;
    folder.write("k.cu", "// a\n__syncthreads();\nnamed_barrier(1);\nwhile (!*p);\n");
    folder.write("k.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .pred %p<3>;
.reg .b32 %r<4>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
setp.lt.u32 %p2, %r1, 64;
@%p1 bra first;
@%p2 bra second;
.loc 1 4 1
third: ld.volatile.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra third;
ret;
.loc 1 2 1
first: bar.sync 0, 64;
ret;
.loc 1 3 1
second: bar.sync 1, 64;
ret;
}
.file 1 ")" + (folder.path / "k.cu").string() +
                              "\"\n");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
        "block": [96], "buffers": {"P": {"bytes": 4, "init": {"fill": 0}}},
        "args": [{"buffer": "P"}], "outputs": ["P"]})");
    const Ended e = run(folder, {"run", "k.json"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("  k.cu:4:1\n    while (!*p);\n"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("  line 21, k.cu:2:1\n    __syncthreads();\n"), std::string::npos)
        << e.out;
    EXPECT_NE(e.out.find("  line 24, k.cu:3:1\n    named_barrier(1);\n"), std::string::npos)
        << e.out;
    EXPECT_EQ(too_wide(e.out), "");
}

// A source that is not there, is a folder, or has a hostile name.
TEST(SourceLines, WithoutTheSource) {
    const Folder folder;
    for (const std::string& file :
         {std::string("gone.cu"), folder.path.string(), std::string("a\x1b[31m\tb\xff.cu"),
          std::string(300, 'x'), std::string("/dev/zero"), std::string("/dev/stdin")}) {
        write_kernel(folder, file);
        const Ended e = run(folder, {"run", "past.json"});
        EXPECT_EQ(e.status, 1) << e.err;
        EXPECT_NE(e.out.find("CTA (0,0,0), warp 0, lane 28, "), std::string::npos) << e.out;
        EXPECT_EQ(e.out.find("third(p[i])"), std::string::npos);
        EXPECT_EQ(e.out.find('\x1b'), std::string::npos);
        EXPECT_EQ(too_wide(e.out), "");
    }
}

TEST(SourceLines, OfCycles) {
    const Folder folder;
    write_kernel(folder, (folder.path / "k.cu").string());
    const Ended e = run(folder, {"time", "in.json", "--arch", "sm_90"});
    ASSERT_EQ(e.status, 0) << e.err;
    EXPECT_NE(e.out.find("fma.rn.f32 %f2, %f1, %f1, 0f3F800000;"), std::string::npos);
    EXPECT_NE(e.out.find("  k.cu:1\n"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("\n  issued     waited  source line\n"), std::string::npos) << e.out;
    EXPECT_EQ(too_wide(e.out), "");
    const Ended json = run(folder, {"time", "in.json", "--arch", "sm_90", "--json"});
    ASSERT_EQ(json.status, 0) << json.err;
    std::vector<std::string> sources;
    const nlohmann::json parsed = nlohmann::json::parse(json.out);
    for (const nlohmann::json& o : parsed["operations"]) sources.push_back(o.value("source", ""));
    EXPECT_EQ(sources, (std::vector<std::string>{"k.cu:5", "k.cu:5", "k.cu:5", "k.cu:5", "k.cu:3",
                                                 "k.cu:3", "k.cu:3", "k.cu:1", "k.cu:5", "k.cu:5",
                                                 "k.cu:5", "k.cu:5"}));
}

// A compiler that always makes k.ptx, and notes how it was called.
class Compiler : public Folder {
  public:
    Compiler() {
        write_kernel(*this, (path / "k.cu").string());
        write("k.cu", source);
        write("nvcc", "#!/bin/sh\necho \"$@\" > " + (path / "called").string() +
                          "\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && cp " +
                          (path / "k.ptx").string() + " \"$2\"; shift; done\n");
        std::filesystem::permissions(path / "nvcc", std::filesystem::perms::owner_all);
        std::filesystem::create_directory(path / "tmp");
    }
    Ended of(std::vector<std::string> words) const {
        return run(*this, words,
                   {"NVCC=" + (path / "nvcc").string(), "TMPDIR=" + (path / "tmp").string()});
    }
};

TEST(SourceLines, OfACompiledSource) {
    const Compiler c;
    const Ended good = c.of({"run", "k.cu", "in.json"});
    EXPECT_EQ(good.status, 0) << good.err;
    EXPECT_NE(c.read("called").find(" -lineinfo"), std::string::npos) << c.read("called");
    EXPECT_EQ(c.names("tmp"), std::vector<std::string>{}) << "no message names it";

    const Ended trap =
        c.of({"run", "k.cu", "past.json", "--arch", "sm_90", "--", "-DX=1", "-I", "a"});
    EXPECT_EQ(trap.status, 1) << trap.err;
    EXPECT_NE(c.read("called").find(" k.cu -arch=compute_90 -lineinfo -DX=1 -I a\n"),
              std::string::npos)
        << c.read("called");
    const std::vector<std::string> kept = c.names("tmp");
    ASSERT_EQ(kept.size(), 1u) << "a folder with the PTX";
    EXPECT_EQ(c.names("tmp/" + kept[0]), std::vector<std::string>{"k.ptx"});
    const std::string named = (c.path / "tmp" / kept[0] / "k.ptx").string();
    EXPECT_NE(trap.out.find(named + ":19  first: "), std::string::npos) << trap.out;
    EXPECT_EQ(c.read("tmp/" + kept[0] + "/k.ptx"), c.read("k.ptx"));
}

TEST(SourceLines, OptionsOfNvcc) {
    const Compiler c;
    for (const char* command : {"run", "time"}) {
        EXPECT_EQ(c.of({command, "k.cu", "in.json", "--", "-G"}).status, 0) << command;
        EXPECT_EQ(c.read("called").find("-lineinfo"), std::string::npos) << "-G has them already";
        EXPECT_EQ(c.of({command, "k.cu", "in.json", "--", "-arch=compute_75"}).status, 0);
        EXPECT_EQ(c.read("called").find("compute_80"), std::string::npos);
        const Ended none = c.of({command, "in.json", "--", "-G"});
        EXPECT_EQ(none.status, 2) << command;
        EXPECT_NE(none.err.find("k.ptx: options for nvcc are given, and this is no .cu"),
                  std::string::npos)
            << none.err;
    }
    // Each that compiles takes them.
    std::string named = launch(0);
    named.replace(named.find("k.ptx"), 5, "k.cu");
    c.write("cu.json", named);
    const struct {
        std::vector<std::string> words;
        int status;
    } others[] = {{{"init", "k.cu"}, 0},
                  {{"init", "cu.json"}, 0},
                  {{"record", "k.cu", "in.json"}, 77},
                  {{"measure", "cu.json", "--emulator"}, 0}};
    for (const auto& other : others) {
        c.write("called", "");
        std::vector<std::string> words = other.words;
        words.insert(words.end(), {"--", "-DX=2"});
        const Ended e = c.of(words);
        // A machine of the tests may have a GPU.
        EXPECT_TRUE(e.status == other.status || other.status == 77) << words[0] << e.err;
        EXPECT_NE(c.read("called").find("-DX=2"), std::string::npos) << words[0] << words[1];
    }
    // init compiles once more, for debug information.
    EXPECT_EQ(c.of({"init", "k.cu", "--nvcc", "-DX=3"}).status, 0);
    EXPECT_NE(c.read("called").find("-DX=3 -G\n"), std::string::npos) << c.read("called");
    for (const char* command : {"init", "record", "measure"})
        EXPECT_EQ(c.of({command, "in.json", "--", "-G"}).status, 2) << command;
    const Ended plain = c.of({"init", "k.ptx", "--", "-G"});
    EXPECT_EQ(plain.status, 2);
    EXPECT_NE(plain.err.find("k.ptx: options for nvcc are given, and this is no .cu"),
              std::string::npos)
        << plain.err;
    EXPECT_EQ(c.of({"time", "k.cu", "in.json", "in.json"}).status, 2);
    EXPECT_EQ(c.of({"validate", "in.json", "--", "-G"}).status, 2);
    EXPECT_EQ(c.names("tmp"), std::vector<std::string>{});
}

// What a header of CUDA's own does for a program is found at the program's line; a header of the
// program's stays where it is.
TEST(SourceLines, OfAFindingInAHeaderOfTheToolkit) {
    std::string text = first_kernel;
    text.replace(text.find("FILE"), 4, "/home/me/gemm.cu");
    text += ".file 2 \"/usr/local/cuda-13.0/include/cccl/cuda/barrier.h\"\n";
    for (const std::string of : {".loc 1 3 5,", ".loc 1 1 42,"})
        text.replace(text.find(of) + 5, 1, "2");
    text.replace(text.find("inlined_at 1 3 5"), 16, "inlined_at 2 3 5");
    const Folder folder;
    folder.write("k.ptx", text);
    folder.write("past.json", launch(4));
    const Ended e = run(folder, {"check", "past.json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_TRUE(e.out.starts_with("/home/me/gemm.cu:5: error: address out of bounds")) << e.out;
    EXPECT_NE(e.out.find("  /usr/local/cuda-13.0/include/cccl/cuda/barrier.h:3:5 in second"),
              std::string::npos)
        << e.out;
    const Ended github = run(folder, {"check", "past.json", "--format", "github"});
    EXPECT_NE(github.out.find("::error file=/home/me/gemm.cu,line=5,"), std::string::npos)
        << github.out;
    std::string own = text;
    own.replace(own.find("/usr/local/cuda-13.0"), 20, "/home/me/cuda-kernels");
    folder.write("k.ptx", own);
    const Ended in_own = run(folder, {"check", "past.json"});
    EXPECT_TRUE(
        in_own.out.starts_with("/home/me/cuda-kernels/include/cccl/cuda/barrier.h:3: error"))
        << in_own.out;
}

}  // namespace
}  // namespace lockwarp::tools
