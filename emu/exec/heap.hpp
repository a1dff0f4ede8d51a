// SPDX-License-Identifier: Apache-2.0
// The heap that malloc and free of all CTAs of a launch share.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace lockwarp::exec {

class Heap {
  public:
    Heap(uint64_t base, uint64_t bytes);

    // The lowest block of `bytes` that is free, at a multiple of 16; 0 where none is.
    uint64_t allocate(uint64_t bytes);

    // The block of `bytes` at an address, another machine's choice. false: some of it is not free.
    bool allocate_at(uint64_t address, uint64_t bytes);

    // false: no block begins there.
    bool release(uint64_t address);

  private:
    std::mutex lock_;
    std::map<uint64_t, uint64_t> free_;  // bytes by address; no two of them touch
    std::map<uint64_t, uint64_t> taken_;
};

}  // namespace lockwarp::exec
