// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/faults, and how they run.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check::fault {

namespace fs = std::filesystem;

inline std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// A number of the line "// launch: grid 2 block 64".
inline uint32_t number_behind(const std::string& text, const std::string& word,
                              uint32_t otherwise = 1) {
    const size_t line = text.find("// launch:");
    const size_t at = text.find(word + " ", line);
    if (at == std::string::npos || at > text.find('\n', line)) return otherwise;
    return static_cast<uint32_t>(std::stoul(text.substr(at + word.size())));
}

// tests/faults/mapping and specialised have tables of their own (tests/tools/why_test.cpp,
// specialised_test.cpp).
inline std::vector<std::string> names() {
    std::vector<std::string> out;
    const fs::path root = std::string(LOCKWARP_SOURCE_DIR) + "/tests/faults";
    for (const auto& e : fs::recursive_directory_iterator(root))
        if (e.path().extension() == ".ptx" && e.path().parent_path() != root &&
            e.path().parent_path().filename() != "mapping" &&
            e.path().parent_path().filename() != "specialised")
            out.push_back(fs::relative(e.path(), root).replace_extension().string());
    std::ranges::sort(out);
    return out;
}

inline warp::Launch launch_of(const std::string& text, const isa::Program& program,
                              std::vector<uint8_t>& out, std::vector<uint8_t>& in) {
    // The words of `in` differ, also modulo 16.
    for (size_t i = 0; i < in.size(); i += 4) in[i] = static_cast<uint8_t>(1 + 7 * i / 4);
    warp::Launch launch;
    launch.dynamic_shared = number_behind(text, "shared", 0);
    launch.grid.x = number_behind(text, "grid");
    launch.block.x = number_behind(text, "block");
    launch.max_steps = 100000;
    launch.buffers = {{"out", 0x10000, out}, {"in", 0x40000, in}};
    launch.buffers[0].undefined = number_behind(text, "undefined", 0) != 0;
    launch.parameters.resize(program.parameter_bytes);
    for (size_t i = 0; i < 2; ++i)
        std::memcpy(launch.parameters.data() + 8 * i, &launch.buffers[i].address, 8);
    return launch;
}

// What all checks find in an entry of a file, its trap last.
inline std::vector<Found> found_in(const std::string& text, const ptx::Module& module,
                                   const isa::Program& program, unsigned threads,
                                   std::string& refusal) {
    std::vector<uint8_t> out(1 << 16), in(1 << 16);
    warp::Launch launch = launch_of(text, program, out, in);
    launch.threads = threads;
    const Chosen chosen = choose("all");
    // "row 20 stride 32": `out` is rows of 20 words, 32 apart.
    Described described;
    if (const uint32_t columns = number_behind(text, "row", 0); columns != 0) {
        const uint32_t stride = number_behind(text, "stride", columns);
        for (const warp::Buffer& b : launch.buffers)
            described.shapes.push_back(
                {b.address, 4, {b.bytes.size() / 4 / stride, columns}, stride});
    }
    const Checking checking(chosen.rows, program, launch, &module, described);
    const warp::Result result = exec::launch(program, launch);
    refusal = result.refusal ? result.refusal->what : "";
    std::vector<Found> found = checking.found(result);
    if (result.trap)
        if (std::optional<Found> trap = checking.found(*result.trap)) found.push_back(*trap);
    return found;
}

}  // namespace lockwarp::check::fault
