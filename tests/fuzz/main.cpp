// SPDX-License-Identifier: Apache-2.0
// Feeds files, and those of folders, to a fuzz target once each: for compilers without libFuzzer.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzzer.hpp"

int main(int count, char** arguments) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (int i = 1; i < count; ++i) {
        const fs::path path = arguments[i];
        if (!fs::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        for (const fs::directory_entry& entry : fs::directory_iterator(path))
            if (entry.is_regular_file()) files.push_back(entry.path());
    }
    size_t done = 0;
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
        if (!in.eof() && !in.good()) {
            std::fprintf(stderr, "%s cannot be read\n", file.c_str());
            return 2;
        }
        std::fprintf(stderr, "%s\n", file.c_str());  // the last one, where a target aborts
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        ++done;
    }
    std::printf("%zu inputs\n", done);
    return done == 0 ? 2 : 0;
}
