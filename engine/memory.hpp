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

    // As they are now. A Failure as buffers_of.
    std::vector<Range> ranges();
    std::shared_ptr<const warp::Buffers> buffers();

  private:
    void renew(uint64_t begin, uint64_t end);

    std::mutex mutex_;
    std::multimap<uint64_t, Range> ranges_;  // by address
    std::map<const void*, std::pair<Block, uint64_t>> blocks_;
    // Of ranges_; launches may still have it. nullptr: to be made anew.
    std::shared_ptr<warp::Buffers> buffers_ = std::make_shared<warp::Buffers>();
};

}  // namespace lockwarp::engine
