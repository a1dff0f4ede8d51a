// SPDX-License-Identifier: Apache-2.0
// A launch as a launch file: its module, its parameters, and the memory that they lead to.
#pragma once

#include <map>

#include "cuda/launch_file.hpp"
#include "cuda/memory.hpp"

namespace lockwarp::cuda {

class Record {
  public:
    static constexpr uint64_t no_limit = UINT64_MAX;

    // Before the launch, whose number it is. The folder is there. Of memory no more than
    // `most_bytes` are written: what is left out is zero in the launch file.
    Record(std::string folder, uint64_t number, const Function& function, const LaunchShape& shape,
           const std::vector<uint8_t>& parameters, uint64_t most_bytes = no_limit);
    // After it: writes the files. `has_ended`: without a trap, so that memory is what is expected.
    // The launch file's name.
    std::string finish(bool has_ended);
    bool left_out() const { return left_out_; }

  private:
    void follow(const uint8_t* bytes, size_t size);
    void follow_ends();
    void add(const Allocation& a);

    LaunchFile file_;
    std::map<Address, FileBuffer> buffers_;
    uint64_t rest_;  // of the bytes that may be written
    bool left_out_ = false;
};

}  // namespace lockwarp::cuda
