// SPDX-License-Identifier: Apache-2.0
// How many cycles whole kernels took on a GPU: medians over runs, and the file that keeps them,
// "lockwarp-clocks/1".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/clocked.hpp"
#include "launch/result.hpp"

namespace lockwarp::validate {

// One run of a clocked kernel. Cycles: from the first begin to the last end of the threads.
struct RunClocks {
    std::vector<double> ctas;  // of each CTA
    uint64_t sm_ctas = 0;      // the most CTAs that one multiprocessor (%smid) had
    uint64_t resident = 0;     // the most that one had at a time
    double sm_cycles = 0;      // of all CTAs of one, the median of those that had so many
};

// From the slots of all threads, `threads` a CTA.
[[nodiscard]] launch::Result<RunClocks> run_clocks(std::span<const gpu::Clocked> slots,
                                                   uint64_t threads);

// One launch file, measured. Cycles are medians.
struct ClockPoint {
    std::string launch;  // the file as it was given
    std::string name;
    uint64_t ctas = 0;
    uint64_t warps = 0;  // of a CTA
    uint64_t sm_ctas = 0;
    uint64_t resident = 0;
    double cta_cycles = 0;  // over CTAs and runs
    double sm_cycles = 0;   // over runs
    double first = 0;       // sm_cycles of the first run, with cold caches, which is none of `runs`
    uint64_t runs = 0;
    double spread = 0;  // (largest - smallest) / median of the runs' sm_cycles

    bool operator==(const ClockPoint&) const = default;
};

// The numbers from sm_ctas to spread. sm_ctas: the most usual one of the runs after the first;
// resident, sm_cycles and spread are of the runs that had it. There are two runs or more.
void take_medians(std::span<const RunClocks> runs, ClockPoint& point);

struct Clocks {
    std::string version;  // of the program that measured
    std::string date;     // 2026-12-31
    std::string device, arch, driver;
    uint32_t mhz = 0;
    std::vector<ClockPoint> points;

    bool operator==(const Clocks&) const = default;
};

std::string clocks_json(const Clocks& clocks);

// The text is not trusted. An error names the field.
[[nodiscard]] launch::Result<Clocks> read_clocks(std::string_view text);

}  // namespace lockwarp::validate
