// SPDX-License-Identifier: Apache-2.0
// What a person sees while a command runs: a bar on a terminal after two seconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tools/signals.hpp"

namespace lockwarp::tools {

// "[###         ] 16 of 64 CTAs, 4 s, about 12 s left  "
std::string progress_line(uint64_t n, uint64_t total, const std::string& what, double seconds);

// Draws on stderr while it lives, where that is a terminal: how much of `total` has ended and about
// how long the rest takes. total 0: not known. `now`: what runs, behind the bar; it may be empty.
class Progress {
  public:
    Progress(const std::atomic<uint64_t>& ended, uint64_t total, std::string what,
             std::function<std::string()> now = {});
    // Of a run of the emulator: also how many instructions a second.
    Progress(const std::atomic<uint64_t>& ctas, uint64_t total,
             const std::atomic<uint64_t>& retired);
    // Runs f with the bar out of its way: what f prints stays above the bar.
    void above(const std::function<void()>& f);

  private:
    void draw(const std::string& text);
    void begin(const std::atomic<uint64_t>& ended, uint64_t total, std::string what,
               std::function<std::string(double seconds)> now);

    std::mutex lock_;
    size_t drawn_ = 0;     // characters of the bar
    std::jthread thread_;  // the last: it ends before what it uses
};

}  // namespace lockwarp::tools
