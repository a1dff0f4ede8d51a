// SPDX-License-Identifier: Apache-2.0
// How a command ends before it is done: SIGINT, SIGTERM, --time-limit.
#pragma once

#include <atomic>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// From now on SIGINT and SIGTERM set a flag, end the processes that this one started (nvcc), and
// leave the command a moment to end in order. One that has not ended by then is ended without its
// temporary files, and so is one that a second signal meets. Called once, before other threads are.
void catch_interrupts();

// The flag.
const std::atomic<bool>& interrupt_flag();
bool interrupted_now();

// --time-limit: the flag is set after so many seconds.
void add_time_limit(CLI::App& command);

// Of a flag that is set: "interrupted", or which time limit was reached.
const char* why_interrupted();

}  // namespace lockwarp::tools
