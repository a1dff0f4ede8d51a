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

// How modifiers are written in `syntax`: ".a" must stand there, ".a|.b" one of these, "{...}" may
// be left out, "<name>" is one of a named set (set_named).
//
// Operands, separated by spaces; in braces: may be left out.
//   D  register of the instruction's type    S  register or constant of that type
//   d, s  the same, but the register may be wider (ld, st, cvt); of ld, st, atom, red also a vector
//   P  predicate written    Q  predicate read, may be negated
//   DP, PP  "d|p" and "p|q", the second part optional    DE  "d|p", p must be there
//   M  what mov reads: also a variable's address, a special register, a vector
//   V  what mov writes: also a vector
//   A  address in the instruction's state space; AS in .shared, AG in .global
//   H  cache policy, a .b64 that stands there with .L2::cache_hint only; it has no effect
//   I  integer constant, after ':' the only one allowed    X  the sink '_'
//   L  label    T  label of .branchtargets    C  all operands of call
//   N  vector of .x1/.x2/.x4 32-bit registers
//   Fd Fa Fb Fc  fragments of mma
//   W  the fragment of wmma.load, wmma.store    Wd Wa Wb Wc  those of wmma.mma
//   G  register of scale factors, bare or in braces    K  {byte-id, thread-id}
// A .sync instruction's last operand is its membermask. Of bar, an operand in braces is left out
// before those behind it.
// Types: first in the instruction, or after ':' the second (1), twice as wide (w), or one named.
struct Form {
    Op op;
    std::string_view opcode;
    std::string_view syntax;
    std::string_view operands;
    uint16_t target = 0;            // least .target
    uint16_t ptx = 0;               // least .version, major * 10 + minor
    std::string_view feature = {};  // the assembler's: "Feature '...' requires"; '@': the types
};

std::span<const Form> forms();

// The alternatives of a named set, as ".a|.b". Empty for an unknown name.
std::string_view set_named(std::string_view name);

// The type that an operand of a pattern ("S", "S:1", "D:w", "S:.u32") has under these modifiers.
Type operand_type(std::string_view token, const Modifiers& modifiers);

// True where the modifiers are one way of writing `syntax`.
bool matches(std::string_view syntax, std::span<const ptx::Modifier> modifiers);

// The modifiers in the order of the row's syntax, where they are one way of writing it in any
// order: NVIDIA's assembler takes them so (13.0), but for those that belong to the opcode's name,
// which come first ("mul.lo", "bar.cta.red"), and types, whose order says which operand has which.
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

// Ways of writing a syntax: its required parts in all combinations, without the optional parts and
// with each of them alone. For tests.
std::vector<std::string> expansions(std::string_view syntax);

}  // namespace lockwarp::isa
