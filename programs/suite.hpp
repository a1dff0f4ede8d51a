// SPDX-License-Identifier: Apache-2.0
// Programs that between them have every instruction that is executed, in every spelling, on
// operands of every class: run once on a GPU and recorded, they are what a recording is compared
// with ever after. Nothing in them is random: the same tables give the same programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/opcodes.hpp"
#include "launch/case.hpp"

namespace lockwarp::programs {

struct SuiteProgram {
    std::string name;  // of a file: an opcode, or the key of an mma variant; of wmma.mma without
                       // the orders of A and B
    std::string ptx;
    launch::Case c;
};

// One program for each opcode and each mma variant that the architecture has, one for the orders of
// a wmma.mma. Every register
// that is written is a result; memory at the end is one too.
std::vector<SuiteProgram> suite(isa::Arch arch);

// Whether no program of the suite has it: its instructions go on while others run, which kernels of
// their own do (gpu/kernels), or need an object of the driver's.
bool is_in_no_program(isa::Op op);

// Spellings that no program has, and why.
struct Unsuited {
    std::string_view begins;  // the spelling begins so
    std::string_view has;     // and has this in it; empty: anything
    std::string_view lacks;   // and lacks this; empty: anything goes
    std::string_view why;
    bool refused = false;  // NVIDIA's assembler refuses it: no machine has it
};

std::span<const Unsuited> unsuited();

// The row that leaves a spelling out; nullptr: the suite has it.
const Unsuited* unsuited_because(std::string_view spelling);

}  // namespace lockwarp::programs
