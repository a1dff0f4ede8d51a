// SPDX-License-Identifier: Apache-2.0
// Which instructions depend on the order in which threads come to memory, and what a traced kernel
// writes down about that order.
#pragma once

#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::gpu {

enum class Ordered : uint8_t {
    none,
    weak,    // a load that no other thread should overtake, but may: cas loops begin with one
    load,    // what it reads may be what another thread stores at that time
    store,   // what it writes is there for such loads
    change,  // reads and changes memory at once: atom, red
    block,   // a call of malloc
    result,  // the load of its result, the next instruction
};

// By operation. Empty: no result of the kernel depends on an order.
//
// Loads are those that are strong (PTX manual, "Memory Consistency Model": volatile, relaxed,
// acquire, mmio) and not of .shared, and those of a loop that only waits: it stores nothing, and
// leaves by a branch that what the load brings decides alone. All others are weak. Integer
// additions and the like by red, whose order cannot be seen in memory at the end, count where
// something else is ordered.
using Orders = std::vector<Ordered>;
Orders choose_ordered(const isa::Program& program, const ptx::Module& module);

// A record of Ordered::change has behind its registers
//   a word with two tickets, numbers that one counter of the launch gave: one drawn before the
//   access in its low half, one drawn after it in its high half. Of two accesses the one whose
//   second ticket is below the other's first came first;
//   the address, with change_in_shared where it is generic and of shared memory;
//   where the instruction has no registers for what was in memory before (red, or '_' for one of
//   its results): that, a word for each element.
// One of Ordered::result has a ticket behind its register, drawn after malloc gave the block.
inline constexpr uint64_t change_words = 2;
inline constexpr uint64_t change_in_shared = uint64_t{1} << 63;

// Whether the elements' old values stand behind the registers.
bool keeps_old(const isa::Operation& o);
// Words of a record, its number included.
uint64_t record_words(const isa::Operation& o, Ordered ordered);
uint64_t record_words(const isa::Program& program, const Orders& orders, uint32_t operation);

// Bytes of the counter and what keeps it apart from what is stored (bytes_before, trace.hpp).
inline constexpr uint64_t ticket_bytes = 256;

// What the text of a traced kernel has for it: declarations; what makes the address of the counter,
// in the entry; and what stands around a change, whose guard text is "" or "@%lw_g ". stored: of
// the words behind the registers, the first `at` words behind where the segment's records go.
extern const char* const order_declarations;
extern const char* const order_prologue;
std::string before_change(const isa::Program& program, const isa::Operation& o,
                          const std::string& guard);
std::string after_change(const std::string& guard);
std::string stored_change(const isa::Program& program, const isa::Operation& o, uint64_t at);
std::string after_result(const std::string& guard);
std::string stored_result(uint64_t at);

// Writes red as atom, and '_' as a register, so that what was in memory is known.
void with_old_values(ptx::Instruction& i, const isa::Operation& o);

}  // namespace lockwarp::gpu
