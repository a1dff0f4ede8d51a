// SPDX-License-Identifier: Apache-2.0
// Any text as a launch file: a problem that can be printed, or buffers of the size it says.
#include "launch/launch_file.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    launch::LaunchFile file;
    const launch::Problem problem =
        launch::parse_launch_file(std::string(text_of(data, size)), "launch.json", file);
    must(problem.size() < 5000, "a short problem");
    if (!problem.empty()) return 0;
    for (const launch::BufferField& buffer : file.buffers) {
        // Files of this machine are none of the fuzzer's business.
        if (buffer.bytes > (1 << 16) || buffer.init.kind == launch::InitKind::file) continue;
        std::vector<uint8_t> bytes;
        if (launch::initial_bytes(file, buffer, bytes).empty())
            must(bytes.size() == buffer.bytes, "a buffer has its size");
    }
    return 0;
}
