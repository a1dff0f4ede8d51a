// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

std::string time_text(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.0f} h", seconds / 3600);
}

}  // namespace

std::string progress_line(uint64_t n, uint64_t total, const std::string& what, double seconds) {
    if (total == 0)
        return fmt::format("{} {}, {} ", validate::grouped(n), what, time_text(seconds));
    const double part = static_cast<double>(std::min(n, total)) / static_cast<double>(total);
    std::string out =
        fmt::format("[{:<12}] {} of {} {}, {}", std::string(static_cast<size_t>(part * 12), '#'),
                    validate::grouped(n), validate::grouped(total), what, time_text(seconds));
    if (n != 0 && n < total)
        out += fmt::format(", about {} left", time_text(seconds * (1 - part) / part));
    return out + "  ";
}

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
    begin(ended, total, std::move(what),
          [now = std::move(now)](double) { return now ? now() : std::string(); });
}

Progress::Progress(const std::atomic<uint64_t>& ctas, uint64_t total,
                   const std::atomic<uint64_t>& retired) {
    begin(ctas, total, "CTAs", [&retired](double seconds) {
        const auto n = static_cast<double>(retired.load(std::memory_order_relaxed));
        return fmt::format("{:.3g} instructions/s", n / seconds);
    });
}

void Progress::begin(const std::atomic<uint64_t>& ended, uint64_t total, std::string what,
                     std::function<std::string(double)> now) {
    if (::isatty(STDERR_FILENO) == 0) return;
    thread_ = std::jthread([this, &ended, total, what = std::move(what),
                            now = std::move(now)](const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point begin = Clock::now();
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
            if (seconds < 2 || stop.stop_requested()) continue;
            std::string text =
                progress_line(ended.load(std::memory_order_relaxed), total, what, seconds);
            constexpr size_t columns = 98;
            const std::string running = now(seconds);
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
