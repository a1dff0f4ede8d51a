// SPDX-License-Identifier: Apache-2.0
// Events that other processes may open. One that is recorded is done when it is asked for, but
// where its stream waits (cuda/order.hpp): how many times it is still to be recorded stands in a
// file without a name, which the processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace lockwarp::cuda {

class SharedEvent {
  public:
    // Of a file that it closes. A Failure map_failed.
    explicit SharedEvent(int file);
    SharedEvent(const SharedEvent&) = delete;
    SharedEvent& operator=(const SharedEvent&) = delete;
    ~SharedEvent();

    int file() const { return file_; }
    // Whether another process is still to record it.
    bool is_awaited() const;
    // Until none is.
    void wait() const;
    // This process is still to record it while what this gives lives.
    static std::shared_ptr<void> to_be_recorded(const std::shared_ptr<SharedEvent>& event);

  private:
    int file_;
    std::atomic<uint32_t>* all_;
    std::atomic<uint32_t> own_{0};
};

// One of this process.
std::shared_ptr<SharedEvent> new_shared_event();

}  // namespace lockwarp::cuda
