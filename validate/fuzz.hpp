// Random programs on both engines; what differs is shrunk to one instruction.
#pragma once

#include <functional>

#include "validate/generate.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

struct FuzzOptions {
    GenerateOptions generate;  // its seed is that of the first program; the next has the next seed
    uint64_t cases = 100;
    std::function<bool()> enough;  // asked before each program; empty: only `cases` counts
    unsigned threads = 0;
    uint64_t most_found = 20;  // differences, one for each instruction's spelling
};

// One difference as a case of its own: one instruction, the fewest lanes and bits.
struct Found {
    uint64_t seed = 0;        // of the program that showed it
    std::string instruction;  // its text
    bool isolated = false;    // the instruction alone differs too
    std::string ptx, json;    // a kernel and its launch file; the whole program if not isolated
    std::string report;       // text_report of the case
};

struct FuzzReport {
    std::string problem;
    uint64_t cases = 0;
    uint64_t values = 0;
    uint64_t memory_bytes = 0;
    uint64_t different = 0;  // values
    std::vector<Found> found;
    std::vector<std::pair<std::string, uint64_t>>
        instructions;  // spelling, register values compared
};

FuzzReport fuzz(const FuzzOptions& options, isa::Arch arch, gpu::Engine& engine);

}  // namespace lockwarp::validate
