// SPDX-License-Identifier: Apache-2.0
// The memory that kernels of a context may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/warp/launch.hpp"
#include "lockwarp.h"

namespace lockwarp::engine {

struct Range {
    uint64_t address = 0;  // as kernels have it
    uint64_t size = 0;
    uint8_t* bytes = nullptr;
    std::string name;
};

// What the caller gave, checked: a Failure where it cannot be used.
Range checked(const lockwarp_range& range);

// Ranges by address; those that touch or overlap are one buffer. A Failure where a byte would have
// two places.
std::vector<warp::Buffer> buffers_of(std::vector<Range> ranges);

// The range that holds the address, or the nearest one; nullptr where there is none.
const Range* nearest_range(const std::vector<Range>& ranges, uint64_t address);

// Bytes at a multiple of 256, all zero.
struct Freed {
    void operator()(uint8_t* bytes) const;
};
using Block = std::unique_ptr<uint8_t, Freed>;
Block block_of(uint64_t size);

class Memory {
  public:
    void add(Range range);
    bool remove(const void* bytes, uint64_t size);
    void* allocate(uint64_t size, std::string name);
    bool free(const void* bytes);

    // As they are now: of all launches until one is added or removed the same.
    struct Now {
        std::vector<Range> ranges;
        std::vector<warp::Buffer> buffers;
    };
    std::shared_ptr<const Now> now();

  private:
    std::mutex mutex_;
    std::multimap<uint64_t, Range> ranges_;  // by address
    std::map<const void*, std::pair<Block, uint64_t>> blocks_;
    std::shared_ptr<const Now> now_;  // nullptr: not up to date
};

}  // namespace lockwarp::engine
