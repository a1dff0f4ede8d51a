// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording: a file as it is, and as a body whose checksums fit. What is accepted is
// written and read again.
#include "tests/fuzz/fuzzer.hpp"
#include "validate/recording.hpp"

namespace lockwarp {
namespace {

// The format allows a GiB of zeros in a small file; a fuzzer would do nothing else.
bool large(const validate::Recording& r) {
    uint64_t bytes = 0;
    for (const auto& b : r.c.bytes) bytes += b.size();
    for (const auto& t : r.answer.tracks) bytes += t.words.size();
    return bytes > (1 << 20);
}

}  // namespace
}  // namespace lockwarp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    const std::span<const uint8_t> bytes(data, size);
    (void)validate::read_recording(bytes);
    const launch::Result<validate::Recording> recording = validate::detail::parse_body(bytes);
    must(recording || recording.error().sentence.size() < 5000, "a short sentence");
    if (!recording || large(*recording)) return 0;
    const std::vector<uint8_t> body = validate::detail::body_of(*recording);
    must(std::equal(body.begin(), body.end(), bytes.begin(), bytes.end()),
         "a body is written as it was read");
    return 0;
}
