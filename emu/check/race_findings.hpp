// SPDX-License-Identifier: Apache-2.0
// Races that were found, and what is said of them.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "emu/check/finding.hpp"
#include "emu/check/shadow.hpp"

namespace lockwarp::check {

// Why nothing orders two accesses.
enum class Unordered : uint8_t {
    warps,        // of a CTA: no barrier between
    ctas,         // of two CTAs
    paths,        // lanes of a warp that went different ways
    lanes,        // lanes of a warp that ran together, but met at no barrier
    convention,   // a flag between them, without a fence or of too narrow a scope
    exited,       // a barrier between them that one's warp exited before
    other_lanes,  // a release or an acquire between them by other lanes of their warps
    guess,        // a plain load of what atom.cas looks at again
    same_value,   // two stores of the same value
    one_store,    // lanes of one instruction that store different values
    in_flight,    // a copy that its own thread has not waited for
};

enum class Hazard : uint8_t { read_after_write, write_after_read, write_after_write, one_store };

struct Race {
    Hazard hazard = Hazard::read_after_write;
    Unordered why = Unordered::warps;
    Site here, other;
    uint64_t other_cta = 0;  // its index
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint64_t count = 1;
};

Severity severity_of(Unordered why);

// %ctaid of a CTA.
std::array<uint32_t, 3> cta_id(uint64_t index, const warp::Dim3& grid);

class Races {
  public:
    // Whether it is one more of a pair of instructions that is known; then it is counted.
    bool again(Hazard hazard, Unordered why, uint32_t here, uint32_t other);
    void add(const Race& race);
    void take(const Races& later);
    // In the order of the program; of two instructions one.
    std::vector<Finding> findings(const isa::Program& program, ptx::Space space,
                                  const warp::Dim3& grid) const;

  private:
    using Key = std::tuple<uint32_t, uint32_t, Hazard, Unordered>;
    std::map<Key, Race> races_;
};

}  // namespace lockwarp::check
