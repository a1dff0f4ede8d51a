// What runs of validate, replay and fuzz found, as values: reports are printed from it, and those
// of several machines are added up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
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
    std::string name;  // "gpu/kernels/gemm.json", "seed 17"
    Verdict verdict = Verdict::identical;
    std::string text;  // for a person: the first difference, or what went wrong
    std::string file;  // the PTX file and line of the first difference; empty and 0 where none
    uint32_t line = 0;
    std::string instruction;  // its spelling
    Counts counts;
    double seconds = 0;
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
    double seconds = 0;  // merged: of the longest
};

// Adds `more` to `sum`: counts are added, devices joined (each once), results ordered. Refuses
// (a sentence, `sum` unchanged) where the commands differ or one result is in both.
std::string merge(Summary& sum, const Summary& more);

// Adds one case's report. `keep`: also where it is identical.
void add(Summary& sum, const CaseResult& result, bool keep);

// Verdict of all results: failed before differs before identical. Nothing compared: failed.
Verdict verdict(const Summary& s);

}  // namespace lockwarp::validate
