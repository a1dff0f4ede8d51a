// SPDX-License-Identifier: Apache-2.0
// Lines of an input that is no terminal, and what a signal makes of them.
#include "tools/line_editor.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>

namespace lockwarp::tools {
namespace {

// A pipe in place of the standard input, as long as it lives.
class Piped {
  public:
    Piped() {
        EXPECT_EQ(::pipe(ends_), 0);
        EXPECT_EQ(::dup2(ends_[0], STDIN_FILENO), STDIN_FILENO);
        ::close(ends_[0]);
        std::clearerr(stdin);
    }
    ~Piped() {
        end();
        ::dup2(before_, STDIN_FILENO);
        ::close(before_);
        std::clearerr(stdin);
    }
    Piped(const Piped&) = delete;
    Piped& operator=(const Piped&) = delete;

    void put(std::string_view text) const {
        EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void end() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

  private:
    int before_ = ::dup(STDIN_FILENO);
    int ends_[2] = {-1, -1};
};

LineEditor without_words() {
    return {"", [](const std::string&) { return std::vector<std::string>(); }};
}

TEST(LineEditor, LinesUntilTheEnd) {
    Piped in;
    LineEditor lines = without_words();
    in.put("step 2\n\nlast");
    in.end();
    EXPECT_EQ(lines.read(), "step 2");
    EXPECT_EQ(lines.read(), "");
    EXPECT_EQ(lines.read(), "last");
    errno = EINTR;  // of something else, long ago
    EXPECT_EQ(lines.read(), std::nullopt);
}

TEST(LineEditor, ASignalGivesAnEmptyLine) {
    struct sigaction interrupts {};
    struct sigaction before {};
    interrupts.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &interrupts, &before), 0);
    Piped in;
    LineEditor lines = without_words();
    {
        // Again and again: the first may come before it reads.
        const pthread_t reader = ::pthread_self();
        const std::jthread sender([reader](const std::stop_token& stop) {
            for (; !stop.stop_requested();
                 std::this_thread::sleep_for(std::chrono::milliseconds(5)))
                ::pthread_kill(reader, SIGUSR1);
        });
        EXPECT_EQ(lines.read(), "");
    }
    in.put("go\n");
    EXPECT_EQ(lines.read(), "go");
    in.end();
    EXPECT_EQ(lines.read(), std::nullopt);
    ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace lockwarp::tools
