// SPDX-License-Identifier: Apache-2.0
// What integers with undefined parts would be more by, had the machine left something else there:
// numbers made up for what nothing wrote, and followed through moves, sums and differences. Where
// the sum is zero the undefined parts have cancelled, as in a scan that takes its own input away
// again: (a + x) - x is as defined as a is.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace lockwarp::check {

// Numbers that are all different: 64 bits by splitmix64. None of them is 0.
class MadeUp {
  public:
    uint64_t next();

  private:
    uint64_t count_ = 0;
};

// Of the registers of a warp, by register and lane.
class RegisterDifferences {
  public:
    // Of a lane in which the register is undefined; made up where it is not known.
    uint64_t get(uint32_t reg, uint32_t lane, MadeUp& made_up);
    void set(uint32_t reg, uint32_t lane, uint64_t difference);
    void forget(uint32_t reg, uint32_t lanes);

  private:
    struct OfRegister {
        std::array<uint64_t, 32> of{};
        uint32_t known = 0;  // lanes
    };
    std::unordered_map<uint32_t, OfRegister> all_;
};

// Of words in memory, by the address that they were stored to or first read at.
class MemoryDifferences {
  public:
    // bytes: 4 or 8, of a word that is undefined.
    uint64_t get(uint64_t address, uint32_t bytes, MadeUp& made_up);
    void set(uint64_t address, uint32_t bytes, uint64_t difference);
    // Of every word that shares a byte with [address, address + bytes).
    void forget(uint64_t address, uint32_t bytes);

  private:
    struct Word {
        uint32_t bytes = 0;
        uint64_t difference = 0;
    };
    std::unordered_map<uint64_t, Word> all_;
};

}  // namespace lockwarp::check
