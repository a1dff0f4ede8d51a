// SPDX-License-Identifier: Apache-2.0
// A launch once more on the GPU, by a kernel in which its compiler fuses no mul with an add
// (rounding.hpp).
#pragma once

#include <functional>
#include <optional>

#include "cuda/beside/snapshot.hpp"

namespace lockwarp::beside {

using cuda::Function;
using cuda::Result;

struct Again {
    const Kernel& kernel;
    Function* function = nullptr;  // as the program launched it
    uint32_t dynamic_shared = 0;
    bool non_portable_cluster = false;
    const Snapshot& before;  // what the launch begins with
    const Snapshot& after;   // what the GPU has afterwards, for the program goes on with it
    std::function<Result(Function*)> launch;
};

// What that kernel leaves; nullopt: nothing is to be changed in it or in what it may call, it
// allocates, which would be seen twice, it did not run, or the program's own kernel does not leave
// the same when it is launched again. One that prints does so without printing.
std::optional<Snapshot> launch_unfused(const Again& again);

}  // namespace lockwarp::beside
