// Any text as a launch file: a problem that can be printed, or buffers of the size it says.
#include "tests/fuzz/fuzzer.hpp"
#include "tools/launch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    tools::LaunchFile file;
    const tools::Problem problem =
        tools::parse_launch_file(std::string(text_of(data, size)), "launch.json", file);
    must(problem.size() < 5000, "a short problem");
    if (!problem.empty()) return 0;
    for (const tools::BufferField& buffer : file.buffers) {
        // Files of this machine are none of the fuzzer's business.
        if (buffer.bytes > (1 << 16) || buffer.init.kind == tools::InitKind::file) continue;
        std::vector<uint8_t> bytes;
        if (tools::initial_bytes(file, buffer, bytes).empty())
            must(bytes.size() == buffer.bytes, "a buffer has its size");
    }
    return 0;
}
