// SPDX-License-Identifier: Apache-2.0
// In which order what kernels launched themselves is run.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "emu/warp/launch.hpp"

namespace lockwarp::cuda {

// What a kernel launched comes before what was launched beside it afterwards, and what is to be
// last, behind all else of its.
class DeviceQueue {
  public:
    // Of a kernel that has just run.
    void add(std::vector<warp::DeviceLaunch> launched) {
        std::stable_partition(launched.begin(), launched.end(),
                              [](const warp::DeviceLaunch& l) { return !l.last; });
        waiting_.insert(waiting_.end(), std::make_move_iterator(launched.rbegin()),
                        std::make_move_iterator(launched.rend()));
    }
    // nullopt: there is none.
    std::optional<warp::DeviceLaunch> next() {
        if (waiting_.empty()) return std::nullopt;
        std::optional<warp::DeviceLaunch> out = std::move(waiting_.back());
        waiting_.pop_back();
        return out;
    }

  private:
    std::vector<warp::DeviceLaunch> waiting_;  // the next one at the end
};

}  // namespace lockwarp::cuda
