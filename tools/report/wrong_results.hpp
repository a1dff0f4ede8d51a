// SPDX-License-Identifier: Apache-2.0
// What a launch file expects and its run did not give, as findings of check `mapping`: the change
// to the program that explains it, where one does.
#pragma once

#include <atomic>
#include <vector>

#include "launch/state.hpp"
#include "tools/report/checked.hpp"

namespace lockwarp::tools {

// before, after: the buffers and variables around the run of all steps. trapped: it has not ended
// well; then what nothing explains is left out. pairs: whether two changes together are tried too.
// Errors: what is expected cannot be made, or does not fit.
[[nodiscard]] launch::Result<std::vector<CheckedFinding>> wrong_results(
    const std::vector<launch::Loaded>& steps, const launch::State& before,
    const launch::State& after, bool trapped, bool pairs, const std::atomic<bool>& stop);

}  // namespace lockwarp::tools
