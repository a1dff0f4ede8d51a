// SPDX-License-Identifier: Apache-2.0
// Random programs on the emulator and on other engines; what differs is made as small as it can be.
#pragma once

#include <functional>
#include <span>

#include "programs/generate.hpp"
#include "validate/lockstep.hpp"
#include "validate/summary.hpp"

namespace lockwarp::validate {

struct FuzzOptions {
    // Its seed is that of the first program; program n has the seed after n more.
    programs::GenerateOptions generate;
    uint64_t cases = 100;
    std::function<bool()> enough;  // asked before each program; empty: only `cases` counts
    std::function<void(uint64_t)> progress;  // programs done so far; called by any thread
    unsigned threads = 0;                    // of the emulator; as warp::Launch
    uint64_t trace_bytes = uint64_t{1} << 30;
    uint32_t optimization = 4;      // of the engines' compiler, 0 to 4
    uint64_t max_found = 20;        // differences, one for each instruction's spelling
    uint64_t max_shrunk = 20;       // of these; the others are the programs as they were made
    std::function<bool()> stopped;  // asked while shrinking; empty: no
};

// One difference as a case of its own.
struct Found {
    uint64_t seed = 0;        // of the program that showed it
    std::string instruction;  // its spelling
    // The instruction alone differs too, in one warp: few lanes, few bits. Otherwise the program
    // with the fewest instructions that still shows it.
    bool isolated = false;
    std::string ptx, json;  // a kernel and its launch file
    std::string report;     // text_report of the case
};

struct FuzzReport {
    std::string problem;
    Summary summary;  // its results: the programs that differ, "seed 17"
    std::vector<Found> found;
};

// Each engine runs programs of its own at the same time. The result does not depend on how many
// there are, unless `enough` ends it early.
FuzzReport fuzz(const FuzzOptions& options, isa::Arch arch, std::span<gpu::Engine* const> engines);

}  // namespace lockwarp::validate
