// SPDX-License-Identifier: Apache-2.0
// A kernel's cycles on a machine with a clock.
#pragma once

#include <atomic>
#include <string>

#include "validate/clocks.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

struct MeasureOptions {
    unsigned runs = 9;          // beside the first
    uint32_t optimization = 4;  // of the engine's compiler, 0 to 4
    const std::atomic<bool>* stop = nullptr;
};

struct Measured {
    std::string problem;       // it could not be measured
    ClockPoint point;          // all but the names
    bool same_results = true;  // of the plain kernel and the clocked one
};

// Runs the kernel as it is once, then clocked. Before each run the buffers that a run changes have
// their first bytes again.
Measured measure(const launch::Case& c, const isa::Program& program, gpu::Engine& engine,
                 const MeasureOptions& options);

}  // namespace lockwarp::validate
