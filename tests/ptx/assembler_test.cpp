// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's assembler makes of a printed module: the same code as of the text it was read from.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "emu/ptx/printer.hpp"
#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

namespace fs = std::filesystem;

// Where ptxas is; empty: nowhere.
std::string assembler() {
    for (const char* path : {"ptxas", "/usr/local/cuda/bin/ptxas"})
        if (std::system((std::string(path) + " --version > /dev/null 2>&1").c_str()) == 0)
            return path;
    return {};
}

// The code of a text; empty, and a failure, where the assembler refuses it.
std::string assembled(const std::string& ptxas, const fs::path& folder, const std::string& text,
                      const std::string& options, const fs::path& what) {
    const fs::path source = folder / "a.ptx";
    std::ofstream(source) << text;
    const std::string command = ptxas + " -c -arch=sm_90a " + options + " -o " +
                                (folder / "a.cubin").string() + " " + source.string() + " > " +
                                (folder / "log").string() + " 2>&1";
    const bool done = std::system(command.c_str()) == 0;
    EXPECT_TRUE(done) << what << "\n" << read_file(folder / "log");
    return done ? read_file(folder / "a.cubin") : std::string();
}

TEST(Assembler, ReadsWhatIsPrinted) {
    const std::string ptxas = assembler();
    if (ptxas.empty()) GTEST_SKIP() << "no ptxas";
    std::string name = (fs::temp_directory_path() / "lockwarp-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const fs::path folder = name;
    const fs::path root = LOCKWARP_SOURCE_DIR;
    std::vector<fs::path> paths = ptx_files(root / "tests/ptx/data");
    for (const char* kernel : {"attention_G", "calls_G", "printf_G", "gemm", "triton_attention"})
        paths.push_back(root / "gpu/kernels" / (std::string(kernel) + ".sm_80.ptx"));
    size_t sections = 0;
    size_t same = 0;
    for (const fs::path& path : paths) {
        const std::string text = read_file(path);
        const std::string printed = print(parse(text).module);
        sections += printed.find(".section") != std::string::npos;
        const bool debug = text.find(", debug") != std::string::npos;
        // The places of lines, which are those of the text itself, stand beside the code.
        assembled(ptxas, folder, printed, debug ? "-g -O0" : "-lineinfo -O3", path);
        if (debug || text.find(".loc") != std::string::npos) continue;
        EXPECT_TRUE(assembled(ptxas, folder, text, "-O3", path) ==
                    assembled(ptxas, folder, printed, "-O3", path))
            << path;
        ++same;
    }
    EXPECT_GE(same, 2u);
    EXPECT_GE(sections, 5u);
    fs::remove_all(folder);
}

}  // namespace
}  // namespace lockwarp::ptx
