// SPDX-License-Identifier: Apache-2.0
// lockwarp::emu: runs a kernel that stores 42, and prints what came back.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <lockwarp/emu.hpp>
#include <vector>

int main() {
    const char* const text =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry answer(.param .u64 out) {\n"
        "  .reg .b64 %p;\n  ld.param.u64 %p, [out];\n  st.global.u32 [%p], 42;\n  ret;\n}\n";
    const lockwarp::ptx::Parsed parsed = lockwarp::ptx::parse(text);
    const lockwarp::isa::Resolved resolved =
        lockwarp::isa::resolve(parsed.module, lockwarp::isa::Arch::sm_90, "answer");
    if (!parsed.diagnostics.empty() || !resolved.diagnostics.empty()) return 2;

    constexpr uint64_t address = 0x10000;
    std::vector<uint8_t> memory(4);
    lockwarp::warp::Launch launch;
    launch.parameters.resize(resolved.program.parameter_bytes);
    std::memcpy(launch.parameters.data(), &address, sizeof address);
    launch.buffers.push_back({"out", address, memory});
    const lockwarp::warp::Result result = lockwarp::exec::launch(resolved.program, launch);
    uint32_t answer = 0;
    std::memcpy(&answer, memory.data(), sizeof answer);
    std::printf("lockwarp %d.%d: %u\n", LOCKWARP_VERSION_MAJOR, LOCKWARP_VERSION_MINOR, answer);
    return result.refusal || result.trap ? 1 : 0;
}
