// SPDX-License-Identifier: Apache-2.0
// An engine that answers at once and fails as a test asks, in a process of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/child.hpp"

namespace lockwarp::child {

using gpu::Engine;
using gpu::Fault;
using gpu::Outcome;
using Clock = std::chrono::steady_clock;

inline constexpr double short_limit = 0.3;  // seconds
inline constexpr auto short_wait = std::chrono::milliseconds(300);

// Seen by the test and by the children it makes.
struct Counters {
    std::atomic<int> opened = 0;
    std::atomic<int> max_opened = 1 << 30;  // the opener fails from then on
    std::atomic<int> destroyed = 0;
    std::atomic<int> endless = 0;
    std::atomic<bool> slow_end = false;
};

Counters& counters();

// The entry of a job says what its run does: "fault", "hang itself", "exit", "kill", "echo",
// "describe", "print", "files", "endless"; any other is done.
std::unique_ptr<Engine> open_fake(std::string& why);
std::unique_ptr<Engine> fake(double limit_seconds = 60);
gpu::Ran run(Engine& engine, std::string_view entry, std::string_view ptx = {});

std::vector<uint8_t> pattern(size_t bytes);

// Bytes are written, read, cleared and read.
void expect_round_trip(Engine& engine, size_t bytes);

bool is_gone(pid_t pid);

}  // namespace lockwarp::child
