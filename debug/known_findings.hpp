// SPDX-License-Identifier: Apache-2.0
// What the checks find in the launches of a file. A run is deterministic: what they find in one
// that goes to the end is known before another, and holds that one where it is.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/warp/launch.hpp"
#include "launch/input.hpp"
#include "launch/result.hpp"

namespace lockwarp::debug {

struct KnownFinding {
    size_t launch = 0;
    std::string check, kind;  // "race-shared", "read-after-write"
    bool is_error = true;
    std::string message;  // "reads what line 35 stores", and what would mend it; one line
    std::string text;     // the message, the other side, the address: lines, without the last break
    // The first time that it is found: the warp is about to run this operation as its instruction
    // `step`. Nothing: it is of no instruction.
    std::optional<uint32_t> operation;
    uint64_t cta = 0;
    uint32_t warp = 0, lane = 0;
    uint64_t step = 0;

    std::string name() const { return check + "/" + kind; }
};

// Runs all launches with the checks of these names ("all", or names with commas). order: nullptr,
// or that of the session. stop: set to end the runs, which is an error here. Traps are left out.
[[nodiscard]] launch::Result<std::vector<KnownFinding>> find_all(
    const std::vector<launch::Loaded>& launches, std::string_view names,
    const warp::TurnOrder* order, const std::atomic<bool>* stop);

}  // namespace lockwarp::debug
