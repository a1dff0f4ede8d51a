// SPDX-License-Identifier: Apache-2.0
// What a process would leave behind if it ended now: temporary files and folders, and processes
// that it started. Each is known from its making to its end, so that whoever ends the process on a
// signal (tools/signals.hpp) can remove them first.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>

namespace lockwarp::launch {

// A temporary file or folder; removed with all that is in it when this ends, unless kept.
class Temporary {
  public:
    Temporary() = default;
    explicit Temporary(std::string path);
    Temporary(Temporary&& other) noexcept;
    Temporary& operator=(Temporary&& other) noexcept;
    ~Temporary();
    const std::string& path() const { return path_; }
    // It is what it was to become, or is gone: nothing is removed.
    void keep();

  private:
    std::string path_;
};

// A process that has not been waited for, or, negative, the group that it leads; and the signal
// that ends it.
class RunningChild {
  public:
    RunningChild(pid_t process, int signal);
    RunningChild(const RunningChild&) = delete;
    RunningChild& operator=(const RunningChild&) = delete;
    ~RunningChild();

  private:
    pid_t process_;
};

// Sends all children their signals, each once. Whoever waits for them finds that they have ended.
// false: nobody waits for any.
bool end_children();

// Has the kernel end those that have not ended by their signal.
void kill_children();

// While this is held, remove_temporaries() waits: what belongs together becomes visible together.
[[nodiscard]] std::unique_lock<std::recursive_mutex> hold_unfinished();

// Removes all temporaries. The process ends next: nobody is to use them any more,
// and nobody can, for it keeps the lock.
void remove_temporaries();

}  // namespace lockwarp::launch
