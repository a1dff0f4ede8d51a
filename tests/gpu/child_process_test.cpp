// SPDX-License-Identifier: Apache-2.0
// The process of an engine: what it has of the one that made it, what it leaves, when it ends.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/gpu/child_support.hpp"
#include "tests/results.hpp"

namespace lockwarp::child {

namespace {

size_t open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// This process stays the one that asks; and where it has no standard input its files have its
// number.
TEST(ChildProcess, TheOneThatAsksIsTheOneThatWasThere) {
    EXPECT_EXIT(
        {
            close(STDIN_FILENO);
            const auto engine = fake();
            expect_round_trip(*engine, 100);
            _exit(testing::Test::HasFailure() ? 4 : 3);
        },
        testing::ExitedWithCode(3), "");
}

TEST(ChildProcess, NothingIsLeftOfIt) {
    const size_t files = open_files();
    const int destroyed = counters().destroyed;
    for (int i = 0; i < 3; ++i) {
        auto engine = fake();
        expect_round_trip(*engine, 100);
        const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
        engine.reset();
        EXPECT_TRUE(is_gone(pid));
        // Ended by itself: it was not killed.
        EXPECT_EQ(counters().destroyed, destroyed + i + 1);
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_files(), files);
}

TEST(ChildProcess, HoldsOnlyItsOwnFiles) {
    const auto other = fake();
    const auto engine = fake();
    // The seventh is the listing's own.
    EXPECT_EQ(std::ranges::count(run(*engine, "files").what, ' '), 7);
}

TEST(ChildProcess, OneOutlivesAnother) {
    auto first = fake();
    auto second = fake();
    auto third = fake();
    const int destroyed = counters().destroyed;
    first.reset();
    EXPECT_EQ(counters().destroyed, destroyed + 1);
    expect_round_trip(*second, 100);
    EXPECT_EQ(run(*third, "kill").outcome, Outcome::faulted);
    expect_round_trip(*second, 100);
    expect_round_trip(*third, 100);
    second.reset();
    EXPECT_EQ(counters().destroyed, destroyed + 2);
    expect_round_trip(*third, 100);
}

TEST(ChildProcess, TwoThreadsUseTwoAtOnce) {
    const auto first = fake();
    const auto second = fake();
    const auto use = [](Engine& engine) {
        for (int i = 0; i < 20; ++i) {
            expect_round_trip(engine, 30000);
            EXPECT_EQ(run(engine, "anything").outcome, Outcome::done);
        }
    };
    std::thread one(use, std::ref(*first));
    std::thread two(use, std::ref(*second));
    one.join();
    two.join();
}

#ifndef __SANITIZE_ADDRESS__  // child.hpp says why
TEST(ChildProcess, TwoThreadsOpenAndLoseTheirs) {
    const auto use = [](std::string_view bad) {
        for (int i = 0; i < 4; ++i) {
            const auto engine = fake();
            for (int j = 0; j < 4; ++j) {
                expect_round_trip(*engine, 30000);
                EXPECT_EQ(run(*engine, bad).outcome, Outcome::faulted);
            }
        }
    };
    std::thread one(use, "fault");
    std::thread two(use, "kill");
    one.join();
    two.join();
}
#endif

TEST(ChildProcess, LivesLongerThanTheThreadThatOpenedIt) {
    std::unique_ptr<Engine> engine;
    std::thread([&] { engine = fake(); }).join();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int opened = counters().opened;
    expect_round_trip(*engine, 100);
    EXPECT_EQ(counters().opened, opened);
}

TEST(ChildProcess, TakesNoNoticeOfInterrupts) {
    const auto engine = fake();
    const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
    const uint64_t address = engine->allocate(5);
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    EXPECT_EQ(sentence_of(engine->clear(address, 5)), "");
}

// Signals that the engine waits for come to it, and no other thread of the process takes them.
TEST(ChildProcess, LeavesSignalsToItsEngine) {
    std::string why;
    const auto engine = gpu::open_in_child(
        [](std::string& said) -> std::unique_ptr<Engine> {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, SIGUSR1);
            pthread_sigmask(SIG_BLOCK, &one, nullptr);
            std::this_thread::sleep_for(short_wait / 4);  // the others have begun
            kill(getpid(), SIGUSR1);
            const timespec patience{.tv_sec = 5, .tv_nsec = 0};
            said = "no signal";
            if (sigtimedwait(&one, nullptr, &patience) != SIGUSR1) return nullptr;
            return open_fake(said);
        },
        {short_limit * 100}, why);
    EXPECT_NE(engine, nullptr) << why;
}

#ifndef __SANITIZE_ADDRESS__  // child.hpp says why
// Threads of this process that look for symbols have no end there: a driver that loads and unloads
// a library does not wait for them.
TEST(ChildProcess, LoadsLibrariesWhateverItsParentBound) {
    std::atomic<bool> enough = false;
    std::vector<std::jthread> threads(2);
    for (std::jthread& thread : threads)
        thread = std::jthread([&] {
            while (!enough) dlsym(RTLD_DEFAULT, "lockwarp_no_such_symbol");
        });
    for (int i = 0; i < 8; ++i) {
        std::string why;
        const auto engine = gpu::open_in_child(
            [](std::string& said) -> std::unique_ptr<Engine> {
                alarm(10);
                void* const library = dlopen(LOCKWARP_LOADED_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
                if (library == nullptr || dlclose(library) != 0) {
                    said = dlerror();
                    return nullptr;
                }
                alarm(0);
                return open_fake(said);
            },
            {}, why);
        EXPECT_NE(engine, nullptr) << why;
    }
    enough = true;
}
#endif

TEST(ChildProcess, WritesNothingToStandardOutput) {
    testing::internal::CaptureStdout();
    std::printf("once");  // in the buffer that the child has a copy of
    auto engine = fake();
    run(*engine, "print");
    engine.reset();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "once");
}

// A process opens a child and is killed, while the child is idle or busy; the child must go too.
void expect_end_with_parent(bool busy) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    counters().endless = 0;
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        const auto engine = fake(0);
        const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
        if (write(ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        if (busy) run(*engine, "endless");
        while (true) pause();
    }
    close(ends[1]);
    pid_t child = 0;
    ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    close(ends[0]);
    while (busy && counters().endless != child)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(kill(child, 0), 0);
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    const auto begin = Clock::now();
    while (waitpid(child, nullptr, WNOHANG) == 0 && Clock::now() - begin < std::chrono::seconds(20))
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
    EXPECT_TRUE(is_gone(child));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(ChildProcess, EndsWithItsParentWhenIdle) { expect_end_with_parent(false); }
TEST(ChildProcess, EndsWithItsParentWhenBusy) { expect_end_with_parent(true); }

}  // namespace

}  // namespace lockwarp::child
