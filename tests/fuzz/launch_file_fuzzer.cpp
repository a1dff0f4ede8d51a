// SPDX-License-Identifier: Apache-2.0
// Any text as a launch file: an error that can be printed, or buffers of the size it says.
#include "launch/launch_file.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    const launch::Result<launch::LaunchFile> file =
        launch::parse_launch_file(std::string(text_of(data, size)), "launch.json");
    must(file || file.error().sentence.size() < 5000, "a short sentence");
    if (!file) return 0;
    for (const launch::BufferField& buffer : file->buffers) {
        // Files of this machine are none of the fuzzer's business.
        if (buffer.bytes > (1 << 16) || buffer.init.kind == launch::InitKind::file) continue;
        const launch::Result<std::vector<uint8_t>> bytes = launch::initial_bytes(*file, buffer);
        if (bytes) must(bytes->size() == buffer.bytes, "a buffer has its size");
    }
    return 0;
}
