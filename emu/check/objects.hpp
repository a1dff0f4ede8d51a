// SPDX-License-Identifier: Apache-2.0
// Which buffer or variable an address is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/check/described.hpp"
#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::check {

// A buffer, a variable of the module, or dynamic shared memory.
struct Object {
    std::string name;  // empty: the address is in none
    ptx::Space space = ptx::Space::none;
    uint64_t begin = 0, end = 0;  // addresses in the space
    uint64_t offset = 0;          // of the address asked for
    std::string element;          // "C[3][64]"; empty: its elements are not known
};

class Objects {
  public:
    Objects(const isa::Program& program, const warp::Launch& launch,
            std::vector<Shape> shapes = {});
    // Variables of local memory are at the addresses they have in the kernel's own frame.
    Object at(ptx::Space space, uint64_t address) const;
    // All of a space, by address.
    std::vector<Object> of(ptx::Space space) const;

  private:
    std::vector<Object> objects_;  // by space, then by address
    std::vector<Shape> shapes_;
};

}  // namespace lockwarp::check
