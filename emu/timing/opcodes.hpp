// SPDX-License-Identifier: Apache-2.0
// What each opcode is to the timing: a row of one table, in the order of Op.
#pragma once

#include "emu/timing/machine.hpp"

namespace lockwarp::timing {

// How the simulation treats an instruction.
enum class Action : uint8_t {
    free,
    plain,
    tensor,
    load,  // from memory: shared or global by what it touched
    store,
    atomic,  // that gives a value back
    copy,    // cp.async
    copy_commit,
    copy_wait,      // for all but `immediate` groups
    copy_wait_all,  // and for copies of no group
    bulk_load,      // a bulk copy to shared memory
    bulk_store,     // and from there
    bulk_commit,
    bulk_wait,   // for all but `immediate` groups of those that no mbarrier counts
    phase_wait,  // for an mbarrier
    product_commit,
    product_wait,  // for all but `immediate` groups of wgmma
    barrier,       // arrives and waits
    barrier_arrive,
    branch,
    clock,
    exit,
};

// What the assembler may make one instruction of.
enum class Fold : uint8_t {
    none,
    logic,    // chains become lop3
    sum,      // of integers: chains become iadd3; an address's is its offset
    product,  // with a sum of its type: mad, fma
    shift,    // with a sum: lea
    sign,     // of floats: a modifier of the operand
    convert,  // a widened integer: a modifier of the operand
    access,   // of neighbouring words: one access
};

// Registers of data that an access has.
enum class Data : uint8_t {
    one,
    elements,  // by type and vector
    fragment,  // by the vector's registers
};

// A value of its own, or one that an operation's modifiers choose.
template <class T>
struct ByOperation {
    T value{};
    T (*choose)(const isa::Operation&) = nullptr;
    constexpr ByOperation(T fixed) : value(fixed) {}
    constexpr ByOperation(T (*chosen)(const isa::Operation&)) : choose(chosen) {}
    T operator()(const isa::Operation& o) const { return choose != nullptr ? choose(o) : value; }
};

struct OpTiming {
    isa::Op op;
    ByOperation<Kind> kind;
    ByOperation<Action> action = Action::plain;
    Fold fold = Fold::none;
    Data data = Data::one;
    bool atomic = false;  // in memory, by its atomic unit
};

const OpTiming& op_timing(isa::Op op);

// Bits of the operands' first type.
unsigned width(const isa::Operation& o);

}  // namespace lockwarp::timing
