// SPDX-License-Identifier: Apache-2.0
// What a check found: a kind of mistake, where, and what would mend it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::check {

enum class Severity : uint8_t {
    error,  // the program is wrong
    note,   // it may be meant
};

// One side of a finding: who did what.
struct Site {
    std::optional<uint32_t> operation;  // index into Program::operations; nothing: no instruction
    std::array<uint32_t, 3> cta{};      // %ctaid
    uint32_t warp = 0;                  // of the CTA
    uint32_t lanes = 0;                 // by bits; 0: not known, or all alike
    uint64_t step = 0;                  // instructions that the warp retired before; 0: not known
};

struct Finding {
    std::string_view kind;  // KindRow::kind, which outlives it
    Severity severity = Severity::error;
    Site here;
    std::optional<Site> other;
    ptx::Space space = ptx::Space::none;  // of the address; none: there is no address
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint64_t count = 1;   // how often: at these two instructions, in the whole launch
    std::string message;  // a clause without the place: "reads what line 18 copies"
    std::string hint;     // what would mend it; may be empty
};

// Findings that share the kind and both instructions are one: the first, with a count. A listener
// of a CTA keeps one of these, its Check takes them in the order of the CTAs.
class Collection {
  public:
    // Whether this is known; then it is counted, and nothing is to be added.
    bool again(std::string_view kind, std::optional<uint32_t> here, std::optional<uint32_t> other,
               uint64_t count = 1);
    void add(Finding finding);
    void take(const Collection& later);
    bool empty() const { return findings_.empty(); }
    // In the order of the program.
    std::vector<Finding> list() const;

  private:
    using Key = std::tuple<std::optional<uint32_t>, std::optional<uint32_t>, std::string_view>;
    std::map<Key, Finding> findings_;
};

}  // namespace lockwarp::check
