// SPDX-License-Identifier: Apache-2.0
// The heap of malloc and free in kernels: its memory, and which blocks of it are taken. All CTAs of
// a launch share it, and launches that are given the same one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

class Heap {
  public:
    static constexpr uint64_t max_bytes = uint64_t{1} << 30;

    // Zeros; at most max_bytes of them.
    Heap(uint64_t address, uint64_t bytes);

    Buffer buffer() const { return {"heap", address_, {memory_.get(), bytes_}}; }
    uint64_t bytes() const { return bytes_; }

    // The lowest block of `bytes` that is free, at a multiple of 16; 0 where none is.
    uint64_t allocate(uint64_t bytes);

    // The block of `bytes` at an address, another machine's choice. false: some of it is not free.
    bool allocate_at(uint64_t address, uint64_t bytes);

    // false: no block begins there.
    bool release(uint64_t address);

    struct Block {
        uint64_t address;
        uint64_t bytes;  // that were asked for
        bool freed;
    };
    // The last one that begins at the address or before it: a block that is taken, or one that was
    // and that no later one overlaps.
    std::optional<Block> block_before(uint64_t address) const;
    // Those that are taken.
    uint64_t blocks() const;

  private:
    struct Memory {
        void operator()(uint8_t* bytes) const { std::free(bytes); }
    };
    void take(uint64_t address, uint64_t bytes);

    uint64_t address_, bytes_;
    std::unique_ptr<uint8_t, Memory> memory_;
    mutable std::mutex lock_;
    std::map<uint64_t, uint64_t> free_;  // bytes by address; no two of them touch
    std::map<uint64_t, Block> blocks_;   // by address
    uint64_t taken_ = 0;
};

}  // namespace lockwarp::warp
