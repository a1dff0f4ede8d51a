// SPDX-License-Identifier: Apache-2.0
// The line that a person sees while a command runs.
#include "tools/progress.hpp"

#include <gtest/gtest.h>

namespace lockwarp::tools {
namespace {

TEST(Progress, NothingIsDrawnWhereThereIsNoTerminal) {
    testing::internal::CaptureStderr();
    std::string printed;
    {
        const std::atomic<uint64_t> ended{1};
        Progress progress(ended, 2, "CTAs");
        progress.above([&] { printed = "between"; });
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(printed, "between");
}

TEST(Progress, HowMuchHasEndedAndWhatIsLeft) {
    EXPECT_EQ(progress_line(16, 64, "CTAs", 4),
              "[###         ] 16 of 64 CTAs, 4 s, about 12 s left  ");
    EXPECT_EQ(progress_line(0, 64, "CTAs", 4), "[            ] 0 of 64 CTAs, 4 s  ");
    EXPECT_EQ(progress_line(64, 64, "CTAs", 4), "[############] 64 of 64 CTAs, 4 s  ");
    EXPECT_EQ(progress_line(1000, 2147483647, "CTAs", 3),
              "[            ] 1,000 of 2,147,483,647 CTAs, 3 s, about 1790 h left  ");
    EXPECT_EQ(progress_line(1200, 0, "programs", 130), "1,200 programs, 2 min ");
}

}  // namespace
}  // namespace lockwarp::tools
