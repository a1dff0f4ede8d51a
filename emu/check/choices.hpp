// SPDX-License-Identifier: Apache-2.0
// Branches that do nothing but choose among values of registers, as a compiler makes of `a ? b :
// c`: between them and where their ways meet nothing touches memory, waits or ends.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "emu/check/definedness.hpp"

namespace lockwarp::check {

struct Choice {
    uint32_t end = 0;               // the operation at which the ways meet
    std::vector<uint32_t> written;  // registers that one of them writes
};

// By branch. Loops, and longer ways than a few dozen operations, are not among them.
class Choices {
  public:
    explicit Choices(const isa::Program& program);
    const Choice* of(uint32_t operation) const {
        const auto found = all_.find(operation);
        return found == all_.end() ? nullptr : &found->second;
    }

  private:
    std::map<uint32_t, Choice> all_;
};

// What undefined values chose in a warp, and is not known to have met yet.
class OpenChoices {
  public:
    // Lanes go one way or the other as an undefined value, of that origin, says.
    void begin(const Choice& choice, uint32_t lanes, uint32_t origin) {
        open_.push_back({&choice, lanes, origin});
    }
    // Before each operation: where the ways meet, what either of them writes is undefined.
    void meet(uint32_t operation, uint32_t active, const Registers& all, WarpRegisters& registers);

  private:
    struct Open {
        const Choice* choice;
        uint32_t lanes;
        uint32_t origin;
    };
    std::vector<Open> open_;
};

}  // namespace lockwarp::check
