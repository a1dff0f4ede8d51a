// SPDX-License-Identifier: Apache-2.0
// What probes gave on a machine, and the file that holds it, "lockwarp-probes/1".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gpu/engine.hpp"
#include "launch/result.hpp"
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

// One row's number, cycles of one instruction: the smallest of `times` runs. An error is what the
// engine said. The memory of the probe is allocated once for all and kept in `memory`.
struct ProbeMemory {
    uint64_t address = 0;
    uint64_t bytes = 0;
};
[[nodiscard]] launch::Result<double> measure(gpu::Engine& engine, const programs::Probe& probe,
                                             unsigned warps, unsigned times, uint32_t optimization,
                                             ProbeMemory& memory);

std::string probes_json(const Probes& p);

// The text is not trusted. Fields that are not known are ignored.
[[nodiscard]] launch::Result<Probes> read_probes(std::string_view json);

// What the rows say of one instruction, by the part of the key before " chains", " latency" and
// " throughput". Cycles; below 0 where no row tells.
struct ProbeSummary {
    double latency = -1;   // of a chain of one warp
    double interval = -1;  // from one to the next on a sub-core: the least of all rows of 8 or more
                           // warps, or of 4 where there are none
};
std::map<std::string, ProbeSummary> summarize(const Probes& p);

}  // namespace lockwarp::validate
