// SPDX-License-Identifier: Apache-2.0
// What runs of validate, replay and fuzz found, as values: reports are printed from it, and those
// of several machines are added up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

enum class Verdict : uint8_t {
    identical,
    differs,  // also: faulted on one side only, or on both
    failed,   // could not be run or compared: says nothing about the kernel
};

// One launch file, recording or program of fuzz.
struct CaseResult {
    std::string name;  // "gpu/kernels/gemm.json", "seed 17"; of a command no two have the same
    Verdict verdict = Verdict::identical;
    std::string text;  // for a person: the first difference, or what went wrong
    std::string file;  // the PTX file and line of the first difference; empty and 0 where none
    uint32_t line = 0;
    // Where the line comes from, by the PTX's line information; the innermost first.
    std::vector<ptx::SourcePlace> source;
    std::string instruction;  // its spelling
    Counts counts;
    double seconds = 0;
    // Of an identical one that differs where NVIDIA's compiler optimizes: what it does
    // (validate/compiler.hpp). The counts are those without optimization.
    std::string compiler;
};

// Programs of fuzz that were run: of these seeds one each.
struct Seeds {
    uint64_t first = 0;
    uint64_t count = 0;
};

struct Summary {
    std::string command;  // "validate", "replay", "fuzz"
    std::vector<gpu::Device> devices;
    uint64_t cases = 0;  // run; results may hold fewer
    Counts counts;       // of all cases
    // Spelling of an instruction -> what was compared of its results.
    std::map<std::string, Counts> instructions;
    // Every launch file or recording; of fuzz only those that are not identical. In the order of
    // their names (seeds as numbers).
    std::vector<CaseResult> results;
    std::vector<Seeds> seeds;  // fuzz: in order, none twice, neighbours joined
    double seconds = 0;        // merged: of the longest
    std::string skipped;       // why nothing was run (there is no GPU); empty: it was run
};

// The order of results: numbers in the names compare as numbers, "seed 9" before "seed 10".
bool name_before(std::string_view a, std::string_view b);

// Adds `more` to `sum`: counts are added (and stay at the largest number where they would pass it),
// devices joined (each once), results ordered. Refuses (a sentence, `sum` unchanged) where the
// commands differ, one result or seed is in both, or one of them was skipped. A `sum` that is still
// empty takes any command.
std::string merge(Summary& sum, const Summary& more);

// Adds one case's report, and its seconds. `keep`: also where it is identical. An identical result
// that compared nothing is added as failed.
void add(Summary& sum, const CaseResult& result, bool keep);

// Adds what a case's report counted, by instruction.
void add_instructions(Summary& sum, const Report& report);

// The result of a case: all but `text` and `seconds`; the text too where it could not be run.
// `file`: the PTX's name.
CaseResult result_of(const std::string& name, const Report& report, const std::string& file);

// Verdict of all results: failed before differs before identical. Nothing compared: failed.
Verdict verdict(const Summary& s);

// "identical", "differs", "failed"
std::string_view name_of(Verdict v);

// Whether anything was compared, and whether any of it differed.
bool compared(const Counts& c);
bool different(const Counts& c);

}  // namespace lockwarp::validate
