// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: the first register that differs, and how far that spreads.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "launch/input.hpp"
#include "launch/result.hpp"

namespace lockwarp::debug {

struct Difference {
    bool differs = false;
    std::string text;  // whole lines, the answer first
};

// How one of the two runs.
struct Run {
    const std::vector<launch::Loaded>& launches;
    std::string name;               // what it is called
    std::optional<uint64_t> order;  // of warps and CTAs; none: the usual one
};

// Runs both on the emulator. Instructions are aligned by their place in each warp's run where both
// programs have the same opcodes; else the n-th of an opcode at a line of the source in one with
// the n-th there in the other (without line information: the n-th of the same text). An error: they
// cannot be compared, or a run does not end.
launch::Result<Difference> difference(const Run& a, const Run& b, const std::atomic<bool>* stop);

}  // namespace lockwarp::debug
