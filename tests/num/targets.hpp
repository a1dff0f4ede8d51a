// SPDX-License-Identifier: Apache-2.0
// Running a check once for each set of vector instructions that this processor has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "emu/num/lanes.hpp"

namespace lockwarp::num::testing {

template <class Check>
void each_lane_target(Check check) {
    const auto choose = [](int64_t targets) {
        hwy::SetSupportedTargetsForTest(targets);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    };
    int checked = 0;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        choose(target);
        SCOPED_TRACE(lane_target());
        check();
        ++checked;
    }
    choose(0);
    EXPECT_GT(checked, 0);
}

}  // namespace lockwarp::num::testing
