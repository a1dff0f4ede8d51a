// SPDX-License-Identifier: Apache-2.0
// Whoever ends the process tells its children once, and leaves no file that another thread makes.
#include "launch/unfinished.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace lockwarp::launch {
namespace {

// Takes the signal that ends it, says so, and when it is asked whether another one has come.
[[noreturn]] void wait_for_signals(const sigset_t& all, int says, int asked) {
    int signal = 0;
    sigwait(&all, &signal);
    char byte = static_cast<char>(signal);
    sigset_t more;
    if (::write(says, &byte, 1) != 1 || ::read(asked, &byte, 1) != 1 || sigpending(&more) != 0)
        ::_exit(9);
    for (const int each : {SIGHUP, SIGTERM, SIGUSR1})
        if (sigismember(&more, each) == 1) ::_exit(each);
    ::_exit(0);
}

TEST(Unfinished, ChildrenAreSentTheirSignalsOnce) {
    EXPECT_FALSE(end_children());
    sigset_t all, before;
    sigemptyset(&all);
    for (const int each : {SIGHUP, SIGTERM, SIGUSR1}) sigaddset(&all, each);
    std::array<int, 2> says{}, asks{};
    ASSERT_EQ(::pipe(says.data()), 0);
    ASSERT_EQ(::pipe(asks.data()), 0);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
    const pid_t child = ::fork();
    if (child == 0) wait_for_signals(all, says[1], asks[0]);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ASSERT_GT(child, 0);
    int status = -1;
    {
        const RunningChild running(child, SIGUSR1);
        EXPECT_TRUE(end_children());
        char byte = 0;
        EXPECT_EQ(::read(says[0], &byte, 1), 1);
        EXPECT_EQ(byte, SIGUSR1);
        EXPECT_TRUE(end_children());
        EXPECT_EQ(::write(asks[1], &byte, 1), 1);
        EXPECT_EQ(::waitpid(child, &status, 0), child);
    }
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(end_children());
    for (const int file : {says[0], says[1], asks[0], asks[1]}) ::close(file);
}

TEST(Unfinished, NothingIsMadeAnyMoreWhenAllIsRemoved) {
    const std::string path = testing::TempDir() + "lockwarp_unfinished";
    EXPECT_EXIT(
        {
            const Temporary file(path);
            std::ofstream(path) << "text";
            remove_temporaries();
            const bool is_there = std::filesystem::exists(path);
            std::thread([] {
                const auto held = hold_unfinished();
                ::_exit(2);
            }).detach();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            ::_exit(is_there ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockwarp::launch
