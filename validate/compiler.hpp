// SPDX-License-Identifier: Apache-2.0
// Differences that NVIDIA's compiler makes: those that are gone when it does not optimize.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "validate/lockstep.hpp"

namespace lockwarp::validate {

// What the compiler is known to change (ptxas 13.0, driver 580, on an H200).
struct CompilerRow {
    std::string_view what;  // a clause: "takes neg.s16 of -32768 for +32768"
    std::string_view test;  // tests/compiler/NAME.ptx
    isa::Op result;         // the instruction that differs
    isa::Type result_type;
    isa::Op source;  // what wrote a register that it reads
    isa::Type source_type;
    bool saturated = false;  // .sat of the source
    // Bits of that register in the lane that differs; any_bits: whatever they are.
    uint64_t bits = any_bits;
    static constexpr uint64_t any_bits = UINT64_MAX;
};

std::span<const CompilerRow> compiler_rows();

// The row of a report's first difference; nullptr: none that is known.
const CompilerRow* known_of_compiler(const Report& report);

struct Compared {
    Report report;
    // Where the first comparison differed and one at optimization 0 does not: `report` is the
    // second, and `differed` the first.
    std::optional<Report> differed;
};

// run_lockstep, and once more without optimization where it differs.
Compared compare(const launch::Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                 Answer* keep = nullptr);

// "takes neg.s16 ... (tests/compiler/neg_mul_hi.ptx)", or that it is none which is known.
std::string compilers_doing(const Report& differed);

}  // namespace lockwarp::validate
