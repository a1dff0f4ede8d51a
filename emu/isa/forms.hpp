// SPDX-License-Identifier: Apache-2.0
// The instructions outside the matrix tables, as rows: one row for each syntax line of the PTX
// manual that is executed. What is accepted, what the messages offer, and what the tests enumerate
// all read these rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/modifiers.hpp"
#include "emu/isa/opcodes.hpp"

namespace lockwarp::isa {

// A place in an instruction where one of several modifiers stands.
struct ModifierGroup {
    std::span<const std::string_view> alternatives;  // with their dots
    std::string_view set;  // the name of the set that they are; empty: they are listed in the row
    bool optional = false;
    // Part of the opcode's name, as ".lo|.hi" of mul: it comes first (asked of the assembler, by
    // moving modifiers back).
    bool of_name = false;
};

enum class Slot : uint8_t {
    destination,         // a register of the slot's type
    wide_destination,    // the same, but the register may be wider; of ld, atom also a vector
    source,              // a register or constant
    wide_source,         // the same, but the register may be wider; of st, atom, red also a vector
    predicate_written,   // p
    predicate_read,      // p or !p
    predicate_or_pair,   // p or p|q
    value_or_pair,       // d or d|p
    value_pair,          // d|p
    packed_destination,  // what mov writes: a register, or a vector
    packed_source,       // what mov reads: also a variable's address, a special register, a vector
    address,             // in the instruction's state space
    global_address,
    shared_address,
    tensor_map,      // of a tensor copy: the address of the map and the coordinates
    texture,         // of tex, suld, sust: an object and the coordinates
    im2col_offsets,  // a vector of two less than the coordinates
    cta_mask,        // 16 bits that stand there with .multicast::cluster only
    cache_policy,    // a .b64 that stands there with .L2::cache_hint only; it has no effect
    constant,        // an integer
    sink,            // _
    label,           // of an instruction
    branch_targets,  // the label of .branchtargets
    call,            // all operands of call
    matrices,        // a vector of .x1/.x2/.x4 32-bit registers
    fragment,        // of mma
    wmma_fragment,   // of wmma.mma; of wmma.load and wmma.store
    scale_factors,   // a register, bare or in braces
    scale_ids,       // {byte-id, thread-id}
    warpgroup_sign,  // of wgmma: imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b in their order
    video,           // a register or constant with a selector, "%r1.b0"; OperandSlot::fragment
    count_
};

// The type of a slot: the instruction's first or second, twice as wide as its first, or one that
// the row names.
enum class TypeRule : uint8_t { own, second, twice_as_wide, named };

struct OperandSlot {
    Slot slot = Slot::destination;
    bool optional = false;
    TypeRule rule = TypeRule::own;
    Type named = Type::none;
    char fragment = 0;   // 'd', 'a', 'b', 'c'; 0: of wmma.load and wmma.store
    bool fixed = false;  // of a constant: only `value` is allowed
    uint32_t value = 0;
};

// One syntax line of the manual. `syntax` and `operands` are its text (forms.cpp says how to read
// it), for messages; `groups` and `slots` are what it says.
struct Form {
    Op op;
    std::string_view opcode;
    std::string_view syntax;
    std::string_view operands;
    uint16_t target = 0;            // least .target
    uint16_t ptx = 0;               // least .version, major * 10 + minor
    std::string_view feature = {};  // the assembler's: "Feature '...' requires"; '@': the types
    uint16_t also_ptx = 0;          // least .version of what `also` names; it is asked for then
    std::string_view also = {};
    std::span<const ModifierGroup> groups = {};
    std::span<const OperandSlot> slots = {};
};

// All rows, in the order they are written.
std::span<const Form> forms();

// Those of an opcode, in the same order. Empty: there is no such opcode.
std::span<const Form* const> forms_of(std::string_view opcode);

// The alternatives of a named set. Empty for an unknown name.
std::span<const std::string_view> set_named(std::string_view name);

bool is_one_of(std::span<const std::string_view> set, std::string_view modifier);

// The type that a slot has under these modifiers.
Type type_of(const OperandSlot& slot, const Modifiers& modifiers);

// True where the modifiers are one way of writing the row, in its order.
bool matches(const Form& form, std::span<const ptx::Modifier> modifiers);

// The modifiers in the order of the row's syntax, where they are one way of writing it in any
// order: NVIDIA's assembler takes them so (13.0), but for those that belong to the opcode's name,
// which come first ("mul.lo", "bar.cta.red"), and types and state spaces, whose order says which
// operand has which.
// Empty: they are not.
std::vector<ptx::Modifier> in_order(const Form& form, std::span<const ptx::Modifier> modifiers);

// The row of an instruction, and its modifiers in that row's order. nullptr: there is none.
struct FoundForm {
    const Form* form = nullptr;
    std::vector<ptx::Modifier> modifiers;
};
FoundForm find_form(const ptx::Instruction& instruction);

// Every opcode of PTX 9.0 that no row here executes yet, so that a name the manual knows is told
// from one that it does not.
std::span<const std::string_view> opcodes_not_executed();

// True where PTX 9.0 has the opcode with this modifier and no row here executes that yet.
bool modifier_not_executed(std::string_view opcode, std::string_view modifier);

// Ways of writing a row's modifiers: its required groups in all combinations, without the optional
// groups and with each of them alone.
std::vector<std::string> expansions(const Form& form);

// The same with every subset of those optional groups that `wanted` says yes to, and without the
// others.
std::vector<std::string> expansions_of_subsets(const Form& form,
                                               bool (*wanted)(const ModifierGroup&));

}  // namespace lockwarp::isa
