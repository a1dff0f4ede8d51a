// SPDX-License-Identifier: Apache-2.0
// What the instructions of a program become on a machine: kind, pipe, latency; which are folded
// into others; and in what order a block of them runs.
//
// The program is PTX: its registers are virtual, and NVIDIA's assembler folds, fuses and reorders.
// This models what of that is regular: copies and addresses with a constant offset cost nothing,
// chains of logic and of additions become three-operand ones, a product and a sum one instruction,
// loads and stores of neighbouring words of shared memory one access,
// and each basic block is scheduled by its longest path of latencies. What the assembler does
// across blocks (loops unrolled, invariants moved, registers spilled) is not modelled.
#pragma once

#include <vector>

#include "emu/timing/opcodes.hpp"

namespace lockwarp::timing {

// Why a warp waits; the names are Nsight Compute's stall reasons.
enum class Stall : uint8_t {
    wait,              // a fixed latency
    short_scoreboard,  // shared memory, special functions, shuffles
    long_scoreboard,   // global and local memory
    math_pipe_throttle,
    mio_throttle,
    lg_throttle,
    barrier,
    branch_resolving,
    membar,
    no_instruction,  // its code is not there yet
    not_selected,
    count_
};
std::string_view text_of(Stall s);

struct Lowered {
    Action action = Action::plain;
    Kind kind = Kind::free;
    Pipe pipe = Pipe::none;
    uint8_t issue = 1;           // instructions of the machine; 0: none of its own
    uint8_t data = 1;            // registers of data of a store or load
    Centi interval = 0;          // of each on the pipe
    uint16_t latency = 0;        // until a dependent instruction may issue
    uint16_t hold = 1;           // until the same warp may issue
    uint16_t fence = 0;          // of it, cycles of a wide fence that it begins with
    Stall reason = Stall::wait;  // of those that need its result
    Evidence how = Evidence::guessed;
    uint64_t products = 0;  // multiply-adds of a warp
    uint8_t merged = 1;     // accesses side by side that are one
    uint16_t moves = 0;     // of a wmma.load from global memory, see wmma_moves
};

// A run of operations that is entered at its first and left at its last alone.
struct Block {
    uint32_t first = 0, last = 0;  // operations, both included
    std::vector<uint32_t> order;   // as the assembler would have them, operations of the block
};

struct Lowering {
    const isa::Program* program = nullptr;
    const Machine* machine = nullptr;
    std::vector<Lowered> operations;
    std::vector<Block> blocks;
    std::vector<uint32_t> block_of;
    // Beside Program::uses. Of a register read: the operation of the same block that wrote it, or
    // outside; of one written: outside if the block leaves it so, else that operation itself. The
    // assembler renames, so that a register written anew is another.
    std::vector<uint32_t> sources;
    static constexpr uint32_t outside = UINT32_MAX;
    unsigned registers = 0;  // 32-bit ones of a thread, by what lives at once in the PTX's order
    unsigned folded = 0;     // operations that cost nothing
};

Lowering lower(const isa::Program& program, const Machine& machine);

}  // namespace lockwarp::timing
