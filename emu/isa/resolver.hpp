// The state of one resolution. Internal to emu/isa: resolve.cpp declares and places,
// spell.cpp finds
// an instruction's row, resolve_operands.cpp decodes it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/isa/resolve.hpp"

namespace lockwarp::isa {

enum class SymbolKind : uint8_t { none, reg, reg_vector, reg_range, variable, label, function };

struct Symbol {
    SymbolKind kind = SymbolKind::none;
    uint32_t index = 0;  // into Program::registers or ::variables, or a label's number
    Type type = Type::none;
    uint32_t count = 0;  // reg_range: N of "%r<N>"; reg_vector: components
};

// A decoded spelling: opcode and modifiers. Kernels use few, thousands of times.
struct Spelling {
    const Form* form = nullptr;
    Modifiers mod;
    const MmaVariant* mma = nullptr;
    std::string error;  // not empty: every use of this spelling is wrong
    std::string hint;
    bool reported = false;
    size_t uses = 0;
    size_t diagnostic = 0;
};

struct Resolver {
    const ptx::Module& module;
    Program program;
    std::vector<ptx::Diagnostic> diagnostics;

    std::vector<std::unordered_map<std::string, Symbol>> scopes;
    std::vector<uint32_t> label_operation;  // by label number
    std::vector<ptx::Place> label_place;
    std::vector<std::pair<uint32_t, uint32_t>> branches;  // operation, label number
    std::unordered_map<std::string, Spelling> spellings;
    std::map<std::pair<uint8_t, uint64_t>, Ref> constants;
    std::map<Special, Ref> specials;
    uint16_t version = 0;  // of the module, major * 10 + minor

    explicit Resolver(const ptx::Module& m) : module(m) {}

    void error(ptx::Place place, std::string message, std::string hint = {});

    // Names.
    Symbol find(std::string_view name);
    Ref register_ref(uint32_t index);
    uint32_t new_register(std::string name, Type type);
    Ref constant(unsigned width, uint64_t value);
    Ref special(const SpecialRow& row);
    Ref allocate(unsigned bits);

    void decode(const ptx::Instruction& instruction);
};

// The instruction's opcode and modifiers, as written.
std::string spelled(const ptx::Instruction& instruction);

// The row and the modifiers of that, or the error of every instruction with this spelling.
Spelling spell(Resolver& r, const ptx::Instruction& instruction);

// The nearest of `candidates` to a misspelt name, or empty where none is near.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace lockwarp::isa
