// SPDX-License-Identifier: Apache-2.0
// The memories of a run: global buffers by address, and what one CTA has of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

// Global memory: buffers in the order of their addresses. Shared by all CTAs; only their bytes
// change during a run.
class GlobalMemory {
  public:
    explicit GlobalMemory(std::vector<Buffer> buffers);

    // The buffer that holds [address, address + bytes), or nullptr.
    const Buffer* find(uint64_t address, uint64_t bytes) const;

    // Where an address lies that no buffer holds: "8 bytes past the end of buffer 'C'".
    std::string describe(uint64_t address, uint64_t bytes) const;

    // Two buffers that overlap or wrap around the address space, as a sentence; empty if none do.
    std::string overlap() const;

  private:
    std::vector<Buffer> buffers_;
};

}  // namespace lockwarp::warp
