// SPDX-License-Identifier: Apache-2.0
// The registers of a CTA's warps.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "emu/isa/operation.hpp"

namespace lockwarp::exec {

// Which bytes of a warp's register file the program may write.
struct RegisterLayout {
    struct Range {
        uint32_t begin, end;
    };
    std::vector<Range> always;                    // the entry's registers, scratch and the carry
    std::vector<std::vector<Range>> of_function;  // by function; of the entry none
};

RegisterLayout register_layout(const isa::Program& program);

// Register files, each aligned to 64 bytes. A module may have thousands of functions of which a
// warp enters few: what it never touches is neither filled nor cleared.
class RegisterFiles {
  public:
    // `rank`: of the CTA in its cluster.
    RegisterFiles(const isa::Program& program, const RegisterLayout& layout, size_t warps,
                  uint32_t rank);
    uint8_t* of_warp(size_t warp) { return first_ + warp * bytes_; }
    // A warp calls a function: it may write that one's registers.
    void enter(size_t warp, uint32_t function) {
        entered_[warp * layout_.of_function.size() + function] = 1;
    }
    // As a warp's registers begin: zeros, and the program's constants. Special registers are not
    // touched.
    void reset(size_t warp);

  private:
    struct Free {
        void operator()(uint8_t* bytes) const { std::free(bytes); }
    };

    const RegisterLayout& layout_;
    size_t bytes_;
    std::unique_ptr<uint8_t[], Free> storage_;
    uint8_t* first_;                // the first multiple of 64 within storage_
    std::vector<uint8_t> entered_;  // by warp and function, since the reset
};

}  // namespace lockwarp::exec
