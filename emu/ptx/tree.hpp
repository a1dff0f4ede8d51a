// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a PTX module: what the text says, nothing of what it means.
//
// Source: the PTX manual (PTX ISA 9.0), sections "Syntax", "State Spaces, Types, and Variables",
// "Instruction Operands" and "Directives". Names of instructions, modifiers and types are kept as
// text: which of them exist is the business of emu/isa.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lockwarp::ptx {

// A span of the source text. Line and column count from 1, in bytes; line 0 means "no place".
// Any two places compare equal: two trees that differ only in places are equal, so that a printed
// and reparsed tree equals the first one.
struct Place {
    uint32_t line = 0;
    uint32_t column = 0;
    uint32_t length = 1;
    friend constexpr bool operator==(Place, Place) { return true; }
};

// One thing that is wrong with the text, at its place. `hint` may be empty; it is a second
// sentence for the user ("did you mean ...", "expected ...").
struct Diagnostic {
    Place place;
    std::string message;
    std::string hint;
    bool not_executed = false;  // PTX has it, and emu/isa has no row for it yet: a GPU would run it
    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

enum class OperandKind : uint8_t {
    name,     // text: a register, variable, parameter, label, function or special register, with
              // its component if it has one ("%tid.x", "%v4.y"); offset: "name+4" outside brackets
    integer,  // bits: the value, two's complement; is_unsigned: its type is .u64 (a suffix U, a
              // literal of 2^63 and above, or an expression with an unsigned result)
    f32,      // bits: 0f literal, its 32 bits in the low half
    f64,      // bits: 0d literal or a decimal floating-point literal as f64 bits
    address,  // [base+offset]: items[0] is the base (name or integer), offset the addend; further
              // items for forms such as [tensor, {c0, c1}]
    vector,   // {a, b, ...}: items
    list,     // (a, b, ...): items; the argument and result lists of call
    pair,     // a|b: items[0], items[1]
    negated,  // !a: items[0]
    minus,    // -a, a name: items[0]
    sink,     // _
    element,  // a[2], a[%r1+2]: text: the array, offset: the constant part, items[0]: the register
              // if there is one. Only while parse() runs: what it returns has none
};

struct Operand {
    OperandKind kind = OperandKind::sink;
    Place place;
    std::string text;
    uint64_t bits = 0;
    int64_t offset = 0;
    bool is_unsigned = false;
    std::vector<Operand> items;
    friend bool operator==(const Operand&, const Operand&) = default;
};

// One ".modifier" of an instruction or directive, dot included: ".sync", ".shared::cta",
// ".m16n8k16".
struct Modifier {
    std::string text;
    Place place;
    friend bool operator==(const Modifier&, const Modifier&) = default;
};

// "@p" or "@!p" before an instruction. An empty name: no guard.
struct Guard {
    std::string name;
    bool negated = false;
    Place place;
    friend bool operator==(const Guard&, const Guard&) = default;
};

struct Instruction {
    Place place;  // of the opcode
    Guard guard;
    std::string opcode;
    std::vector<Modifier> modifiers;
    std::vector<Operand> operands;
    friend bool operator==(const Instruction&, const Instruction&) = default;
};

enum class Space : uint8_t { none, reg, sreg, const_, global, local, param, shared, tex };
enum class Linking : uint8_t { none, extern_, visible, weak, common };

enum class InitializerKind : uint8_t {
    list,     // {a, b, ...}: items
    integer,  // bits
    f32,      // bits
    f64,      // bits
    address,  // text + offset; generic: generic(text)+offset; mask: mask(text) as in 0xFF00(text)
    bytes,    // text: the whole variable as bytes; a launch sets it, no source has it
};

struct Initializer {
    InitializerKind kind = InitializerKind::list;
    Place place;
    std::string text;
    uint64_t bits = 0;
    int64_t offset = 0;
    uint64_t mask = 0;  // 0: no mask
    bool generic = false;
    std::vector<Initializer> items;
    std::string field;  // "filter_mode" in "{filter_mode = nearest}" of a sampler; usually empty
    friend bool operator==(const Initializer&, const Initializer&) = default;
};

// A declared register, variable or parameter. One Variable for each declared name: ".reg .b32 a,
// b;" gives two.
struct Variable {
    Place place;  // of the name
    Linking linking = Linking::none;
    Space space = Space::none;
    std::string type;            // ".b32", ".f16x2", ".texref"
    uint32_t vector = 1;         // .v2, .v4, .v8
    uint32_t alignment = 0;      // .align; 0: the type's own
    std::string name;            // may be empty for the parameters of a prototype
    uint32_t range = 0;          // of .reg, "%r<16>": 16; 0: a single name
    std::vector<uint64_t> dims;  // "[4][8]"; 0 for an empty "[]"
    bool is_pointer = false;     // .ptr on a kernel parameter
    Space pointer_space = Space::none;
    uint32_t pointer_alignment = 0;
    std::vector<Modifier> attributes;      // ".attribute(.managed)" as ".managed"
    std::vector<Initializer> initializer;  // empty or one element
    friend bool operator==(const Variable&, const Variable&) = default;
};

struct Label {
    std::string name;
    Place place;
    friend bool operator==(const Label&, const Label&) = default;
};

// A directive within or beside a function. name holds the dot: ".maxntid", ".pragma", ".file".
// label: that before .branchtargets, .calltargets and .callprototype. Strings are operands of kind
// name whose text begins with a double quote. Of .callprototype, operands are [list of results,
// name "_", list of parameters], further ones as written (".noreturn", ".abi_preserve" and its
// number), and the parameters' declarations are in `parameters`, results first (result_count of
// them). Of .loc, operands are file, line and column, then "function_name" with its label and
// "inlined_at" with its place. Of .section, its name, and its text from '{' to '}', both as names.
struct Directive {
    Place place;
    std::string name;
    std::string label;
    std::vector<Operand> operands;
    std::vector<Variable> parameters;
    uint32_t result_count = 0;
    friend bool operator==(const Directive&, const Directive&) = default;
};

struct Statement;

struct Block {
    Place place;
    Place end;  // of the closing brace
    std::vector<Statement> body;
    friend bool operator==(const Block&, const Block&);
};

struct Statement {
    std::variant<Instruction, Variable, Label, Directive, Block> node;
    friend bool operator==(const Statement&, const Statement&) = default;
};

inline bool operator==(const Block& a, const Block& b) { return a.body == b.body; }

// .entry or .func. Without a body it is a declaration.
struct Function {
    Place place;  // of the name
    Linking linking = Linking::none;
    bool is_entry = false;
    bool noreturn = false;
    std::string name;
    std::vector<Variable> results;
    std::vector<Variable> parameters;
    std::vector<Directive> directives;  // .maxntid, .reqntid, .attribute, .pragma ...
    bool has_body = false;
    Block body;
    friend bool operator==(const Function&, const Function&) = default;
};

// A module: ".version", ".target", ".address_size", then variables, functions and directives in
// their order. Lines that begin with @@dwarf are not in the tree.
struct Module {
    uint32_t version_major = 0;
    uint32_t version_minor = 0;
    Place version_place;
    std::vector<Modifier> target;  // "sm_90a", "debug", "texmode_independent": no dots
    uint32_t address_size = 64;
    std::vector<std::variant<Variable, Function, Directive>> items;
    friend bool operator==(const Module&, const Module&) = default;
};

}  // namespace lockwarp::ptx
