// SPDX-License-Identifier: Apache-2.0
// What a person sees and does while a command runs: a bar on a terminal after two seconds, ctrl-C.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace lockwarp::tools {

// SIGINT and SIGTERM set a flag from now on; the command ends in order.
void catch_interrupts();
const std::atomic<bool>& interrupt_flag();
bool interrupted_now();

// Draws on stderr while it lives, where that is a terminal. total 0: not known.
class Progress {
  public:
    Progress(const std::atomic<uint64_t>& ended, uint64_t total, std::string what);

  private:
    std::jthread thread_;
};

}  // namespace lockwarp::tools
