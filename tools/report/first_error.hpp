// SPDX-License-Identifier: Apache-2.0
// What checks find in launches that gave a wrong result: where no mapping explains it, a race may.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "launch/state.hpp"
#include "tools/report/checked.hpp"

namespace lockwarp::tools {

// The gravest error of the launches, one after another; nothing where there is none, or where the
// launches cannot be made. stop: as warp::Launch.
std::optional<CheckedFinding> first_error(const std::vector<launch::Loaded>& steps,
                                          launch::State state, const std::atomic<bool>* stop);

}  // namespace lockwarp::tools
