// SPDX-License-Identifier: Apache-2.0
// What probes gave on a machine, and the file that holds it, "lockwarp-probes/1".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gpu/engine.hpp"
#include "programs/clock_probe.hpp"

namespace lockwarp::validate {

// Cycles of one instruction of a warp, by the warps of the CTA: the longest time that a warp took,
// divided by its instructions.
using ProbeRow = std::map<unsigned, double>;

struct Probes {
    std::string version;  // of the program that measured
    std::string date;     // "2026-11-21"
    gpu::Device device;
    std::map<std::string, ProbeRow> rows;  // by Probe::key

    bool operator==(const Probes&) const = default;
};

// One row's number: the smallest of `times` runs. A problem is what the engine said, and then
// cycles is not set. The memory of the probe is allocated once for all and kept in `memory`.
struct ProbeMemory {
    uint64_t address = 0;
    uint64_t bytes = 0;
};
gpu::Problem measure(gpu::Engine& engine, const programs::Probe& probe, unsigned warps,
                     unsigned times, uint32_t optimization, ProbeMemory& memory, double& cycles);

std::string probes_json(const Probes& p);

// A problem says what is wrong, and then `out` is not set. Fields that are not known are ignored.
gpu::Problem read_probes(std::string_view json, Probes& out);

// What the rows say of one instruction, by the part of the key before " chains", " latency" and
// " throughput". Cycles; below 0 where no row tells.
struct ProbeSummary {
    double latency = -1;   // of a chain of one warp
    double interval = -1;  // from one to the next on a sub-core: the least of all rows of 8 or more
                           // warps, or of 4 where there are none
};
std::map<std::string, ProbeSummary> summarize(const Probes& p);

}  // namespace lockwarp::validate
