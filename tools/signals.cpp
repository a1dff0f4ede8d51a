// SPDX-License-Identifier: Apache-2.0
#include "tools/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "launch/unfinished.hpp"
#include "tools/exit_status.hpp"

namespace lockwarp::tools {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A person waits a second at most. A part of it is for the command to say what it has, the rest for
// the system to take back the memory of one that does not: some GB take half a second.
constexpr auto patience = milliseconds(400);

// For a program that was told to end: one with a GPU takes a second or more, and only then is it
// known what was compared of it.
constexpr auto patience_with_children = std::chrono::seconds(10);

std::atomic<bool> interrupt{false};
std::atomic<bool> by_time_limit{false};
std::atomic<int64_t> limit_ms{-1};  // from the program's start; negative: none
pid_t owner = 0;
int woken = -1;  // an eventfd: signals and a new time limit

void wake() {
    constexpr uint64_t one = 1;
    // It fails only where 2^64 wishes to wake are not read yet.
    [[maybe_unused]] const ssize_t written = ::write(woken, &one, sizeof one);
}

void on_signal(int) {
    // A child between fork() and exec(): the signal is the parent's to handle.
    if (::getpid() != owner) return;
    const int before = errno;
    // The second one means: now.
    if (interrupt.exchange(true, std::memory_order_relaxed)) limit_ms = 0;
    wake();
    errno = before;
}

// poll() takes an int.
constexpr auto max_poll = milliseconds(1'000'000'000);

milliseconds ceil_ms(Clock::duration d) { return std::chrono::ceil<milliseconds>(d); }

// false: nothing came before `end`.
bool wait_until(std::optional<Clock::time_point> end) {
    pollfd waited{woken, POLLIN, 0};
    for (;;) {
        const Clock::time_point now = Clock::now();
        if (end && *end <= now) return false;
        int left = -1;
        if (end) left = static_cast<int>(std::min(ceil_ms(*end - now), max_poll).count());
        if (::poll(&waited, 1, left) <= 0) continue;
        uint64_t read = 0;
        if (::read(woken, &read, sizeof read) == sizeof read) return true;
    }
}

[[noreturn]] void end_now() {
    launch::kill_children();
    launch::remove_temporaries();
    // Not through stderr's buffer: who holds its lock may be what does not end.
    const std::string text = std::string("error: ") + why_interrupted() + "\n";
    [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(interrupted);
}

void watch(Clock::time_point begin) {
    while (!interrupt.load(std::memory_order_relaxed)) {
        const int64_t limit = limit_ms;
        std::optional<Clock::time_point> end;
        if (limit >= 0) end = begin + milliseconds(limit);
        if (wait_until(end) || interrupt.load(std::memory_order_relaxed)) continue;
        by_time_limit = true;
        interrupt = true;
    }
    launch::end_children();
    const Clock::time_point last_of_all = Clock::now() + patience_with_children;
    Clock::time_point last = Clock::now() + patience;
    // A child that was just started, and a second signal.
    while (Clock::now() < last) {
        if (wait_until(std::min(last, Clock::now() + milliseconds(50))) && limit_ms == 0) break;
        if (launch::end_children()) last = std::min(Clock::now() + patience, last_of_all);
    }
    end_now();
}

}  // namespace

void catch_interrupts() {
    owner = ::getpid();
    woken = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // It runs until the process ends.
    std::thread(watch, Clock::now()).detach();
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& interrupt_flag() { return interrupt; }

bool interrupted_now() { return interrupt.load(std::memory_order_relaxed); }

void add_time_limit(CLI::App& command) {
    command
        .add_option_function<double>(
            "--time-limit",
            [](double seconds) {
                limit_ms = static_cast<int64_t>(seconds * 1000);
                wake();
            },
            "end as if interrupted after so many seconds (default: never)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e9));
}

const char* why_interrupted() {
    return by_time_limit ? "the time limit was reached" : "interrupted";
}

}  // namespace lockwarp::tools
