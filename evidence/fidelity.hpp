// SPDX-License-Identifier: Apache-2.0
// How far each instruction is known to have the hardware's bits, on each architecture: computed
// from the tables of the architectures and from what was recorded, so that it says no more than
// there is evidence for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"
#include "evidence/recorded.hpp"

namespace lockwarp::evidence {

// From the best known to what cannot be run.
enum class Fidelity : uint8_t {
    exact,
    measured,
    replayed,
    literature,
    derived,
    inexact,
    not_supported,
    not_executed,
    count_
};

struct FidelityWord {
    Fidelity fidelity;
    std::string_view word;     // "exact on hardware"
    std::string_view meaning;  // a sentence
};

// In the order of Fidelity.
std::span<const FidelityWord> fidelity_words();
std::string_view word_of(Fidelity f);

// How recordings name an instruction: its spelling, or the key of the mma variant.
std::string recorded_name(const std::string& spelling);

// A row of the instruction tables on one architecture.
struct FidelityRow {
    std::string opcode;
    std::string instruction;  // opcode and syntax as in isa::Form, or the key of an mma variant
    Fidelity fidelity = Fidelity::literature;
    std::string source;      // the GPU, the publication, or why
    uint64_t values = 0;     // recorded and identical
    uint32_t spellings = 1;  // that the row has on a machine
    uint32_t recorded = 0;   // of them, without a difference
};

// mma variants first, then scalar instructions by the order of their table, then opcodes that are
// not executed.
std::vector<FidelityRow> fidelity(isa::Arch arch,
                                  std::span<const RecordedRow> recorded = recorded_rows());

// Instructions of a program that rest on less than its architecture's hardware.
struct FidelityNote {
    std::string instruction;  // a spelling, or the key of an mma variant
    uint32_t count = 0;       // of them in the program
    bool matrix = false;
    Fidelity fidelity = Fidelity::literature;
    std::string source;
};

// Inexact ones first, then mma, then the least known, then by name. `module` is what the program
// was resolved from.
std::vector<FidelityNote> less_than_exact(const isa::Program& program, const ptx::Module& module,
                                          std::span<const RecordedRow> recorded);

// With what recorded.tsv has of the program's instructions.
std::vector<FidelityNote> less_than_exact(const isa::Program& program, const ptx::Module& module);

}  // namespace lockwarp::evidence
