// SPDX-License-Identifier: Apache-2.0
// One launch with all that it needs: what an engine runs and what a recording keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/tensor_map.hpp"
#include "emu/ptx/tree.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::launch {

// A buffer's address in the kernel's parameters, known once an engine has placed the buffer.
struct Patch {
    uint32_t at = 0;  // byte of the parameters
    size_t buffer = 0;
    uint64_t offset = 0;
};

// A buffer's address in another buffer, or in itself.
struct BufferPatch {
    size_t in = 0;    // the buffer it stands in
    uint64_t at = 0;  // byte of it
    size_t buffer = 0;
    uint64_t offset = 0;
};

// A tensor map whose bytes stand, with a patch for the address, in the parameters or in buffers.
struct CaseMap {
    std::string name;
    isa::TensorMap map;  // but for its address
    size_t buffer = 0;   // of the map's address
    uint64_t offset = 0;
};

// Buffers begin with `bytes`; their addresses are those of the engine that runs it.
struct Case {
    ptx::Module module;
    std::string entry;
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    std::optional<warp::Dim3> cluster;
    bool non_portable_cluster = false;
    bool cooperative = false;
    std::vector<warp::FunctionAddress> functions;  // none in a recording
    std::vector<uint8_t> parameters;
    std::vector<Patch> patches;
    std::vector<std::string> names;
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<BufferPatch> buffer_patches;  // none in a recording: its bytes have the addresses
    std::vector<CaseMap> maps;                // none in a recording
    std::vector<uint64_t> fixed;              // each buffer's address, 0: any; may be empty
};

// Writes the addresses of buffers into their bytes.
inline void patch_buffers(const std::vector<BufferPatch>& patches,
                          const std::vector<uint64_t>& addresses,
                          std::vector<std::vector<uint8_t>>& bytes) {
    for (const BufferPatch& p : patches) {
        const uint64_t value = addresses[p.buffer] + p.offset;
        std::memcpy(bytes[p.in].data() + p.at, &value, sizeof value);
    }
}

}  // namespace lockwarp::launch
