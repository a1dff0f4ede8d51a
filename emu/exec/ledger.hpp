// SPDX-License-Identifier: Apache-2.0
// Who came to which mbarrier in its present phase: what the message of a deadlock tells of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"

namespace lockwarp::exec {

class Ledger {
  public:
    // Barriers are told apart by where their eight bytes lie.
    void begins(const uint8_t* barrier);
    void ends_phase(const uint8_t* barrier);
    void arrives(const uint8_t* barrier, uint32_t operation, uint32_t count) {
        entry(barrier, operation).arrivals += count;
    }
    // bytes > 0: they are expected; < 0: they have come.
    void counts(const uint8_t* barrier, uint32_t operation, int64_t bytes) {
        Entry& e = entry(barrier, operation);
        (bytes > 0 ? e.expected : e.brought) += bytes > 0 ? bytes : -bytes;
    }
    void clear() { barriers_.clear(); }

    // "2 phases are over; since then line 7: 3 arrivals, 64 bytes expected; line 9: 64 bytes came".
    // Empty: nothing made the barrier.
    std::string text(const uint8_t* barrier, const isa::Program& program) const;

  private:
    struct Entry {
        uint32_t operation;
        uint64_t arrivals = 0;
        int64_t expected = 0, brought = 0;  // bytes
    };
    struct Barrier {
        const uint8_t* at;
        uint64_t phases = 0;  // that are over
        std::vector<Entry> entries;
    };
    Barrier& of(const uint8_t* barrier);
    Entry& entry(const uint8_t* barrier, uint32_t operation);

    std::vector<Barrier> barriers_;
    size_t last_ = 0;  // that was asked for
};

}  // namespace lockwarp::exec
