// SPDX-License-Identifier: Apache-2.0
// The memories of a run: global buffers by address, and what one CTA has of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

// Global memory. Shared by all CTAs; only the buffers' bytes change during a run.
class GlobalMemory {
  public:
    GlobalMemory(std::vector<Buffer> own, std::shared_ptr<const Buffers> common);

    // The buffer that holds [address, address + bytes), or nullptr.
    const Buffer* find(uint64_t address, uint64_t bytes) const;

    // Where an address lies that no buffer holds: "8 bytes past the end of buffer 'C'".
    std::string describe(uint64_t address, uint64_t bytes) const;

    // Two buffers that overlap or wrap around the address space, as a sentence; empty if none do.
    std::string overlap() const;

  private:
    // The last buffer that begins at the address or below it, and the first above; or nullptr.
    struct Neighbours {
        const Buffer* below = nullptr;
        const Buffer* above = nullptr;
    };
    Neighbours own_neighbours(uint64_t address) const;
    Neighbours common_neighbours(uint64_t address) const;

    std::vector<Buffer> own_;  // by address
    std::shared_ptr<const Buffers> common_;
};

// All that a launch may touch but what the run adds: the module's variables, the heap.
std::vector<const Buffer*> buffers_of(const Launch& launch);

}  // namespace lockwarp::warp
