// SPDX-License-Identifier: Apache-2.0
// Differences that NVIDIA's compiler makes: those that are gone when it does not optimize.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "validate/lockstep.hpp"

namespace lockwarp::validate {

// What the compiler is known to change (ptxas 13.0, driver 580, on an H200): an instruction that
// reads what another wrote.
struct CompilerRow {
    std::string_view what;            // a clause: "takes neg.s16 of -32768 for +32768"
    std::string_view test;            // tests/compiler/NAME.ptx
    std::optional<isa::Op> result{};  // the instruction that differs; none: whichever reads it
    isa::Type result_type = isa::Type::none;  // none: any
    std::optional<isa::Op> source{};          // what wrote a register that it reads; none: any
    isa::Type source_type = isa::Type::none;
    bool saturated = false;  // .sat of the source
    // Bits of that register in the lane that differs; any_bits: whatever they are.
    uint64_t bits = any_bits;
    bool guarded = false;                     // the source
    bool at_every_level = false;              // also without optimization
    isa::Type result_from = isa::Type::none;  // the result's second type; none: any
    bool by_one = false;                      // no source: its last operand is 1.0 of f32
    bool flushed = false;                     // .ftz of the source
    // The difference is the way of a branch by a predicate that the source wrote so combined. none:
    // the difference is a value.
    isa::Combine branch_by = isa::Combine::none;
    constexpr bool branches() const { return branch_by != isa::Combine::none; }
    static constexpr uint64_t any_bits = UINT64_MAX;
};

// The same, known by what the program has and not by where it differs.
struct CompilerProgramRow {
    std::string_view what;
    std::string_view test;
    enum class Shows : uint8_t {
        fault,   // the kernel faults
        traced,  // its results are others where it is traced
    } shows;
    bool (*has)(const isa::Program&);
    bool at_every_level = false;
};

std::span<const CompilerRow> compiler_rows();
std::span<const CompilerProgramRow> compiler_program_rows();

// The row of a report's first difference; nullptr: none that is known.
const CompilerRow* known_of_compiler(const Report& report);

struct Compared {
    Report report;
    // Where the first comparison differed and one at optimization 0 does not: `report` is the
    // second, and `differed` the first.
    std::optional<Report> differed;
};

// run_lockstep, and once more without optimization where it differs. What the compiler is known to
// change at every level cannot be compared: Report::problem says what it is.
Compared compare(const launch::Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                 Answer* keep = nullptr);

// "takes neg.s16 ... (tests/compiler/neg_mul_hi.ptx)", or that it is none which is known.
std::string compilers_doing(const Report& differed);

}  // namespace lockwarp::validate
