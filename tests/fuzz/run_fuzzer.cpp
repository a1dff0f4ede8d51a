// SPDX-License-Identifier: Apache-2.0
// Any program that resolves, run for a few steps in small buffers, with the fast arithmetic and
// with the plain one: it ends or traps, and both leave the same bytes.
#include <array>

#include "emu/lockwarp.hpp"
#include "tests/fuzz/fuzzer.hpp"

namespace lockwarp {
namespace {

constexpr uint64_t max_steps = 600;
constexpr uint64_t max_bytes = 1 << 22;  // of registers, local and global memory
constexpr uint64_t buffer_bytes = 2048;
constexpr uint64_t first_address = 0x10000;

struct Left {
    std::array<std::vector<uint8_t>, 2> buffers;
    bool trapped = false;
    warp::TrapKind kind{};
    ptx::Place place;
};

Left run(const isa::Program& program, bool plain) {
    Left left;
    warp::Launch launch;
    launch.grid = {2, 1, 1};
    launch.block = {48, 1, 1};
    for (size_t i = 0; i < 3; ++i)
        if (program.required_block[0] != 0)
            (i == 0   ? launch.block.x
             : i == 1 ? launch.block.y
                      : launch.block.z) = program.required_block[i];
    if (launch.block.count() > 128) return left;
    launch.dynamic_shared = 1024;
    launch.threads = 1;
    launch.max_steps = max_steps;
    launch.plain_arithmetic = plain;
    launch.parameters.resize(program.parameter_bytes);
    for (size_t i = 0; i < left.buffers.size(); ++i) {
        left.buffers[i].resize(buffer_bytes);
        for (size_t k = 0; k < buffer_bytes; ++k)
            left.buffers[i][k] = static_cast<uint8_t>(k * (2 * i + 3) >> 2);
        launch.buffers.push_back(
            {i == 0 ? "a" : "b", first_address + i * 4 * buffer_bytes, left.buffers[i]});
    }
    // Each parameter that can hold one is the address of a buffer, the others are small.
    size_t pointer = 0;
    for (const isa::Parameter& p : program.parameters) {
        const uint64_t value =
            p.bytes == 8 ? launch.buffers[pointer++ % launch.buffers.size()].address : 3;
        for (uint32_t i = 0; i < std::min(p.bytes, 8u); ++i)
            launch.parameters[p.offset + i] = static_cast<uint8_t>(value >> (8 * i));
    }
    const warp::Result result = exec::launch(program, launch);
    if (result.trap) {
        left.trapped = true;
        left.kind = result.trap->kind;
        left.place = result.trap->place;
    }
    return left;
}

}  // namespace
}  // namespace lockwarp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    const std::string_view text = text_of(data, size);
    const ptx::Parsed parsed = ptx::parse(text);
    if (!parsed.diagnostics.empty()) return 0;
    const std::vector<std::string> names = isa::entries(parsed.module);
    if (names.empty()) return 0;
    const isa::Resolved resolved = isa::resolve(parsed.module, arch_of_input(text), names[0]);
    const isa::Program& p = resolved.program;
    if (!resolved.diagnostics.empty() || p.global_image.size() > max_bytes ||
        p.register_bytes + uint64_t{32} * p.local_bytes > max_bytes)
        return 0;
    const Left fast = run(p, false);
    const Left plain = run(p, true);
    must(fast.buffers == plain.buffers, "fast and plain arithmetic leave the same bytes");
    must(fast.trapped == plain.trapped && fast.kind == plain.kind &&
             fast.place.line == plain.place.line,
         "fast and plain arithmetic end alike");
    return 0;
}
