// SPDX-License-Identifier: Apache-2.0
// What a person sees and does while a command runs: a bar on a terminal after two seconds, ctrl-C.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace lockwarp::tools {

// SIGINT and SIGTERM set a flag from now on; the command ends in order.
void catch_interrupts();
const std::atomic<bool>& interrupt_flag();
bool interrupted_now();

// Draws on stderr while it lives, where that is a terminal. total 0: not known. `now`: what runs,
// behind the bar; it may be empty.
class Progress {
  public:
    Progress(const std::atomic<uint64_t>& ended, uint64_t total, std::string what,
             std::function<std::string()> now = {});
    // Runs f with the bar out of its way: what f prints stays above the bar.
    void above(const std::function<void()>& f);

  private:
    void draw(const std::string& text);

    std::mutex lock_;
    size_t drawn_ = 0;     // characters of the bar
    std::jthread thread_;  // the last: it ends before what it uses
};

}  // namespace lockwarp::tools
