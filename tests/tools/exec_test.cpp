// SPDX-License-Identifier: Apache-2.0
// lockwarp exec: a program's own status, words and environment, and programs that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/tools/process.hpp"
#include "tools/cuda_runtime.hpp"

namespace lockwarp::tools {
namespace {

TEST(Exec, HasTheStatusOfTheProgram) {
    const Folder folder;
    EXPECT_EQ(run(folder, {"exec", "--", "sh", "-c", "exit 7"}).status, 7);
    EXPECT_EQ(run(folder, {"exec", "--", "true"}).status, 0);
}

TEST(Exec, LeavesTheProgramsWordsAsTheyAre) {
    const Folder folder;
    const Ended ended =
        run(folder, {"exec", "--arch", "sm_90", "--", "echo", "--arch", "run", "-h", "--", "list"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "--arch run -h -- list\n");
}

TEST(Exec, ShowsTheProgramTheDriverAndTheArchitecture) {
    const Folder folder;
    const Ended ended =
        run(folder,
            {"exec", "--arch", "sm_90", "--", "sh", "-c",
             "test -e ${LD_LIBRARY_PATH%%:*}/libcuda.so.1 && "
             "ls ${LD_LIBRARY_PATH%%:*} && echo ${LD_LIBRARY_PATH#*:} $LOCKWARP_ARCH"},
            {"LD_LIBRARY_PATH=/of/the/user"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "libcuda.so\nlibcuda.so.1\n/of/the/user sm_90\n");
}

TEST(Exec, RefusesWhatCannotRun) {
    const Folder folder;
    const Ended none = run(folder, {"exec", "--", "./nothing"});
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.err, "error: ./nothing: No such file or directory\n");
    const Ended arch = run(folder, {"exec", "--arch", "sm_1", "--", "true"});
    EXPECT_EQ(arch.status, 2);
    EXPECT_NE(arch.err.find("no architecture 'sm_1'"), std::string::npos) << arch.err;
    EXPECT_EQ(run(folder, {"exec"}).status, 2);
}

std::string own_program() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Exec, KnowsProgramsThatHoldCudasRuntime) {
    using namespace std::string_literals;
    std::string program = own_program();
    EXPECT_EQ(cuda_runtime_in(program), "");
    // A section has another name.
    const size_t at = program.rfind("\0.init_array\0"s);
    ASSERT_NE(at, std::string::npos);
    program.replace(at, 12, "\0.nv_fatbin\0"s);
    EXPECT_EQ(cuda_runtime_in(program), ".nv_fatbin");
    const Folder folder;
    folder.write("program", program);
    std::filesystem::permissions(folder.path / "program", std::filesystem::perms::owner_all);
    const Ended ended = run(folder, {"exec", "--", "./program"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.err,
              "error: ./program holds CUDA's own runtime (.nv_fatbin), whose kernels cannot run "
              "here: programs of the driver API can\n");
}

TEST(Exec, ReadsProgramsThatAreCutOff) {
    const std::string program = own_program();
    size_t read = 0;
    for (size_t n = 0; n < program.size(); n = n < 256 ? n + 1 : n * 5 / 4) {
        EXPECT_EQ(cuda_runtime_in(std::span(program.data(), n)), "");
        ++read;
    }
    EXPECT_GE(read, 256u);
}

}  // namespace
}  // namespace lockwarp::tools
