// SPDX-License-Identifier: Apache-2.0
// The state of one resolution. Internal to emu/isa: resolve.cpp declares and places, spell.cpp
// finds an instruction's row, resolve_operands.cpp decodes it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/isa/nearest.hpp"
#include "emu/isa/resolve.hpp"

namespace lockwarp::isa {

enum class SymbolKind : uint8_t {
    none,
    reg,
    reg_vector,
    reg_range,
    variable,
    label,
    function,
    kernel,     // to be launched: its address alone
    targets,    // .branchtargets
    prototype,  // .callprototype, .calltargets
};

struct Symbol {
    SymbolKind kind = SymbolKind::none;
    uint32_t index = 0;  // into Program::registers, ::variables, ::functions, Resolver::tables,
                         // ::kernels, or a label's number
    Type type = Type::none;
    uint32_t count = 0;  // reg_range: N of "%r<N>"; reg_vector: components
};

// Names are looked up as views.
struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

using Scope = ByText<Symbol>;

// What "%r<16>" is found by: "%r" may be the name of a register beside it.
inline std::string range_key(std::string_view name) { return std::string(name) + '<'; }

// A decoded spelling: opcode and modifiers. Kernels use few, thousands of times.
struct Spelling {
    const Form* form = nullptr;
    Modifiers mod;
    const MmaVariant* mma = nullptr;
    const WmmaVariant* wmma = nullptr;
    const WmmaFragment* wmma_fragment = nullptr;
    const WarpgroupVariant* warpgroup = nullptr;
    std::string error;  // not empty: every use of this spelling is wrong
    std::string hint;
    bool not_executed = false;  // the error is that PTX has it and forms.cpp has no row yet
    int wrong_modifier = -1;    // that the error is about; -1: the whole instruction
    bool reported = false;
    size_t uses = 0;
    size_t diagnostic = 0;
};

struct Resolver {
    const ptx::Module& module;
    Program program;
    std::vector<ptx::Diagnostic> diagnostics;

    std::vector<Scope> scopes;
    std::vector<uint32_t> label_operation;  // by label number
    std::vector<ptx::Place> label_place;
    std::vector<std::pair<uint32_t, uint32_t>> branches;  // operation, label number
    std::vector<const ptx::Directive*> tables;            // .branchtargets
    std::vector<uint32_t> branch_labels;        // the label numbers of Program::branch_targets
    size_t function = 0;                        // that is resolved now; 0: the entry
    std::vector<uint32_t> numbers;              // by function: Function::number
    std::vector<const ptx::Function*> kernels;  // the module's
    uint32_t first_kernel = 0;                  // LaunchedKernel::number of the first
    std::vector<size_t> register_owner;         // by register: the function it is of
    std::map<std::pair<uint8_t, uint64_t>, Ref> frame_constants;  // of that function
    ByText<Spelling> spellings;
    std::string spelling;  // of the instruction that is decoded: a buffer
    std::map<std::tuple<uint8_t, uint64_t, bool>, Ref> constants;
    std::map<Special, Ref> specials;
    uint16_t version = 0;  // of the module, major * 10 + minor

    explicit Resolver(const ptx::Module& m) : module(m) {}

    void error(ptx::Place place, std::string message, std::string hint = {});

    // Names.
    Symbol find(std::string_view name);
    Ref register_ref(uint32_t index);
    uint32_t new_register(std::string name, Type type);
    Ref constant(unsigned width, uint64_t value, bool in_shared = false);
    // A slot with the address of a place in the current function's frame.
    Ref frame_constant(unsigned width, uint64_t offset);
    // That of a kernel, by `kernels`, which the program may launch then.
    uint64_t kernel_address(uint32_t index);
    Ref special(const SpecialRow& row);
    Ref allocate(unsigned bits);

    void decode(const ptx::Instruction& instruction);
};

// The names that a body's instructions and directives hold, but for what they declare.
std::vector<std::string_view> names_in(const ptx::Block& body);

using ModuleItem = std::variant<ptx::Variable, ptx::Function, ptx::Directive>;
// ".alias a, b;": its operands are the alias and the function that it stands for; nullptr: another
// item.
const ptx::Directive* alias_in(const ModuleItem& item);

// The module's functions that an entry may come to, itself first: those whose names its
// instructions, theirs, or initial values of the module's variables hold, and, where one of these
// calls by a prototype, those whose addresses any function of the module takes. Functions without a
// body are left out.
std::vector<const ptx::Function*> reachable_functions(const ptx::Module& module,
                                                      const ptx::Function& entry);

// The operands of `call`. Registers that it reads are added to `read`.
void decode_call(Resolver& r, const ptx::Instruction& i, Operation& o, std::vector<uint32_t>& read);

// Looks at what the assembler looks at of constants: numbers of barriers, sizes, shares. A count of
// 0 threads is taken out: it stands for all. false: an error was added.
bool check_constants(Resolver& r, const ptx::Instruction& i, Operation& o);

// Fills Call::recursive.
void find_recursion(Program& program);

// The instruction's opcode and modifiers, as written; into a buffer.
void spell_into(const ptx::Instruction& instruction, std::string& text);
std::string spelled(const ptx::Instruction& instruction);

// Why the module's .target or .version does not allow a feature, in the assembler's words; empty:
// they do. The feature is a name, or the words that name it ("Modifier '.tensormap'").
std::string unsupported(const Resolver& r, std::string_view feature, uint16_t target,
                        uint16_t version);

// Why the module's .target, which must be one of few, has not a variant; empty: it has.
std::string specific_unsupported(const Resolver& r, const MmaVariant& v);

// Why there is no variant with this .kind, or without one where there must be; empty: this has
// nothing to do with it. `shape` as in ".m16n8k32".
std::string kind_refusal(const Resolver& r, const MmaQuery& asked, bool block_scale,
                         std::string_view shape);

// The row and the modifiers of that, or the error of every instruction with this spelling.
Spelling spell(Resolver& r, const ptx::Instruction& instruction);

// The instruction's name in messages: the opcode, of some with the modifiers that say what it does
// ("wmma.load.a", "cp.async.bulk").
std::string name_of(const ptx::Instruction& instruction);

// The variant or fragment of a wmma instruction that a row allows; the spelling's error where the
// machine has none.
void choose_wmma(const Resolver& r, Spelling& s);

// Whether the module's .target has wgmma, and of wgmma.mma_async the variant; otherwise the
// spelling's error.
void choose_warpgroup(const Resolver& r, Spelling& s, std::span<const ptx::Modifier> modifiers);

// How many constants stand behind scale-d of a wgmma.mma_async.
size_t warpgroup_constants(const WarpgroupTypes& t, bool a_in_registers);

// How the assembler calls a wgmma.mma_async where it speaks of its constants.
std::string name_of(const WarpgroupTypes& t, bool sparse);

// What is wrong with the modifiers of a bulk copy or another of Hopper's asynchronous instructions
// that no row takes, in the assembler's words (spell_bulk.cpp). false: it is none of these.
bool wrong_bulk(const ptx::Instruction& i, Spelling& s);

// Whether one of those asks for what only sm_100 and its successors have, of a module for another.
bool wrong_later(const Resolver& r, const ptx::Instruction& i, Spelling& s);

// What is wrong with the modifiers of a wmma instruction that no row takes, in the assembler's
// words.
void wrong_wmma(const Resolver& r, const ptx::Instruction& i,
                std::span<const std::string_view> known, Spelling& s);

}  // namespace lockwarp::isa
