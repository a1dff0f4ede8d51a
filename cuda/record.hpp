// SPDX-License-Identifier: Apache-2.0
// A launch as a launch file: its module, its parameters, and the memory that they lead to.
#pragma once

#include <map>

#include "cuda/launch_file.hpp"
#include "cuda/memory.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::cuda {

class Record {
  public:
    // Before the launch, whose number it is. The folder is there.
    Record(std::string folder, uint64_t number, const Function& function,
           const warp::Launch& launch);
    // After it: writes the files.
    void finish(const warp::Result& result);

  private:
    void follow(const uint8_t* bytes, size_t size);

    LaunchFile file_;
    std::map<Address, FileBuffer> buffers_;
};

}  // namespace lockwarp::cuda
