// SPDX-License-Identifier: Apache-2.0
// A launch of the GPU's on the emulator, with what its threads launch themselves.
#pragma once

#include <string>
#include <vector>

#include "cuda/beside/kernels.hpp"
#include "cuda/beside/snapshot.hpp"
#include "cuda/beside/watched.hpp"

namespace lockwarp::beside {

struct Emulated {
    std::string why;         // it did not come to its end; empty: it did
    bool is_beyond = false;  // that is no fault: it needs what the GPU alone has
    bool allocates = false;  // a kernel of its
};

// `memory` becomes what it leaves. function: the kernel's on the GPU.
Emulated emulate(const Kernel& kernel, Function* function, const Shape& shape,
                 const std::vector<uint8_t>& parameters, Snapshot& memory);

}  // namespace lockwarp::beside
