// SPDX-License-Identifier: Apache-2.0
// Launches whose asynchronous instructions are done where they are issued, and where somebody waits
// for them.
#include "validate/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "launch/files.hpp"
#include "launch/state.hpp"

namespace lockwarp::validate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> kernels() {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(std::string(LOCKWARP_SOURCE_DIR) + "/gpu/kernels"))
        if (e.path().extension() == ".json") out.push_back(e.path().string());
    std::ranges::sort(out);
    return out;
}

TEST(Schedules, KernelsAreTheSameWithEither) {
    unsigned compared = 0;
    for (const std::string& file : kernels()) {
        const auto steps = launch::load_all({file}, "", {});
        ASSERT_TRUE(steps) << steps.error().sentence;
        const auto state = launch::make_state(steps->front().in.launch);
        ASSERT_TRUE(state) << state.error().sentence;
        const SchedulesResult r = try_schedules(*steps, *state, {});
        EXPECT_FALSE(r.refused) << file << ": " << *r.refused;
        compared += r.compared;
        if (r.difference)
            ADD_FAILURE() << file << ": " << element_text(r.difference->what) << " is "
                          << r.difference->what.was << " early, " << r.difference->what.is
                          << " late";
    }
    EXPECT_GE(compared, 50u);
}

}  // namespace
}  // namespace lockwarp::validate
