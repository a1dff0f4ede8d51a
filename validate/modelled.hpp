// SPDX-License-Identifier: Apache-2.0
// The timing model's answer to a probe: the same kernel, run by the emulator and timed by
// emu/timing instead of a clock.
#pragma once

#include "emu/timing/machine.hpp"
#include "programs/clock_probe.hpp"
#include "validate/probes.hpp"

namespace lockwarp::validate {

// Cycles of one instruction of a warp, as measure() has them. An error says why there are none.
[[nodiscard]] launch::Result<double> modelled_cycles(const programs::Probe& probe, unsigned warps,
                                                     const timing::Machine& machine);

// A row of Probes beside the model.
struct Beside {
    std::string key;
    unsigned warps;
    double measured, modelled;
    double error() const { return modelled / measured - 1; }
};
struct Comparison {
    std::vector<Beside> rows;
    std::vector<std::string> left_out;  // keys that the model does not have, and why
    double mean_error = 0;              // of the absolute errors
};
// `only`: as clock_probes. Rows of memory beyond L2 are left out.
Comparison compare_probes(const Probes& measured, const timing::Machine& machine,
                          const std::vector<std::string>& only = {});

}  // namespace lockwarp::validate
