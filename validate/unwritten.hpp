// SPDX-License-Identifier: Apache-2.0
// What a kernel reads though nothing wrote it: registers, and shared memory. Another machine has
// other bits there, so that what an instruction makes of them is taken from the engine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emu/warp/observer.hpp"

namespace lockwarp::validate {

// Results of an instruction as bits. The last bit stands for result 31 and all behind it.
constexpr bool is_marked(uint32_t results, uint32_t which) {
    return (results >> (which < 31 ? which : 31) & 1) != 0;
}

// What of a program may be read before it is written, by the program alone.
struct MayBeUnwritten {
    // By register: its place among those that some path reads before it writes them; or none.
    static constexpr uint32_t none = UINT32_MAX;
    std::vector<uint32_t> place;
    uint32_t registers = 0;
    uint64_t shared_begin = 0, shared_bytes = 0;
    // By operation: it reads such a register or shared memory.
    std::vector<bool> reads;
};

MayBeUnwritten may_be_unwritten(const isa::Program& program, uint64_t dynamic_shared);

// Bytes of global memory: address and how many.
using Bytes = std::pair<uint64_t, uint64_t>;

// What has been written in one CTA.
class Written {
  public:
    Written(const MayBeUnwritten& may, uint64_t warps)
        : may_(may), shared_(may.shared_bytes), registers_(warps * may.registers) {}

    // By lane, and by bits which results of the instruction come of what nothing wrote. false: none
    // of any lane. Before note().
    bool unknown(const warp::Retired& e, std::array<uint32_t, 32>& results) const;
    // The instruction has written what it writes. What it stores of unwritten registers stays as
    // unknown as it was; in global memory it is noted.
    void note(const warp::Retired& e);
    std::span<const Bytes> unknown_global() const { return global_; }
    // These bytes of its shared memory have been written, also by a peer of the cluster.
    void mark(uint64_t address, uint64_t bytes);
    // Of shared memory: all of these bytes, as far as they are the kernel's.
    bool is_written(uint64_t address, uint64_t bytes) const;

  private:
    uint32_t lanes_of_registers(const warp::Retired& e) const;
    uint32_t unwritten_elements(const warp::Retired& e, const warp::Access& a, uint32_t lane) const;

    const MayBeUnwritten& may_;
    std::vector<uint8_t> shared_;      // by byte
    std::vector<uint32_t> registers_;  // by warp and place: the lanes that wrote it
    std::vector<Bytes> global_;
};

}  // namespace lockwarp::validate
