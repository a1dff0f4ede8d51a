// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

std::atomic<bool> interrupt{false};

void on_interrupt(int) { interrupt.store(true, std::memory_order_relaxed); }

std::string line(uint64_t n, uint64_t total, const std::string& what, double seconds) {
    if (total == 0) return fmt::format("{} {}, {:.0f} s ", validate::grouped(n), what, seconds);
    const auto filled =
        static_cast<size_t>(static_cast<double>(n) / static_cast<double>(total) * 20);
    return fmt::format("[{:<20}] {} of {} {}, {:.0f} s  ", std::string(filled, '#'),
                       validate::grouped(n), validate::grouped(total), what, seconds);
}

}  // namespace

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& interrupt_flag() { return interrupt; }

bool interrupted_now() { return interrupt.load(std::memory_order_relaxed); }

void Progress::draw(const std::string& text) {
    // What the last one had more is written over.
    if (drawn_ != 0 || !text.empty()) fmt::print(stderr, "\r{:{}}\r{}", "", drawn_, text);
    std::fflush(stderr);
    drawn_ = text.size();
}

void Progress::above(const std::function<void()>& f) {
    const std::lock_guard guard(lock_);
    draw("");
    f();
}

Progress::Progress(const std::atomic<uint64_t>& ended, uint64_t total, std::string what,
                   std::function<std::string()> now) {
    if (::isatty(STDERR_FILENO) == 0) return;
    thread_ = std::jthread([this, &ended, total, what = std::move(what),
                            now = std::move(now)](const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point begin = Clock::now();
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
            if (seconds < 2 || stop.stop_requested()) continue;
            std::string text = line(ended.load(std::memory_order_relaxed), total, what, seconds);
            constexpr size_t columns = 98;
            const std::string running = now ? now() : std::string();
            if (!running.empty() && text.size() < columns)
                text += running.size() <= columns - text.size()
                            ? running
                            : running.substr(0, columns - 3 - text.size()) + "...";
            const std::lock_guard guard(lock_);
            draw(text);
        }
        const std::lock_guard guard(lock_);
        draw("");
    });
}

}  // namespace lockwarp::tools
