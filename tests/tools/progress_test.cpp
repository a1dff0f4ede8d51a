// SPDX-License-Identifier: Apache-2.0
// The line that a person sees while a command runs.
#include "tools/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

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

// Of a run it also says how many instructions have retired a second, from the first line on, which
// comes after two seconds.
TEST(Progress, ATerminalShowsInstructionsASecond) {
    const int before = ::dup(STDERR_FILENO);
    const int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_EQ(::grantpt(screen), 0);
    ASSERT_EQ(::unlockpt(screen), 0);
    const int terminal = ::open(::ptsname(screen), O_RDWR | O_NOCTTY);
    ASSERT_EQ(::dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    ::close(terminal);
    std::string shown;
    {
        const std::atomic<uint64_t> ctas{1}, retired{1200};
        const Progress progress(ctas, 2, retired);
        for (char c = 0; !shown.ends_with("/s") && ::read(screen, &c, 1) == 1;) shown += c;
    }
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    ::close(screen);
    std::smatch words;
    ASSERT_TRUE(std::regex_search(shown, words, std::regex("of 2 CTAs, .*  (\\S+) instructions/s")))
        << shown;
    const double rate = std::stod(words[1]);
    EXPECT_GT(rate, 0);
    EXPECT_LE(rate, 1200 / 2.0);
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
