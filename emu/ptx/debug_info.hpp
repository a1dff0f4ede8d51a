// SPDX-License-Identifier: Apache-2.0
// What a module says of its source's types: layouts of structs, parameters of functions, variables.
//
// Sources: the PTX manual (PTX ISA 9.0), "Debugging Directives", .section; the DWARF standards,
// versions 2 to 5 (dwarfstd.org), chapters "Data Representation" and "Type Entries". nvcc writes it
// with -G. Of version 5's forms those that need a further table (strx, addrx) have no value here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

inline constexpr uint32_t no_type = UINT32_MAX;

enum class DebugKind : uint8_t {
    unknown,  // of functions, of members, void
    boolean,  // with `bytes`, as the next three
    floating,
    signed_,
    unsigned_,    // characters have a sign or none
    pointer,      // and a reference: to `target`
    structure,    // `members`
    union_,       // `members`, all at 0
    array,        // `count` of `target`
    enumeration,  // of `bytes`
    alias,        // typedef of `target`
    constant,     // const `target`; volatile and restrict are aliases without a name
};

struct DebugMember {
    std::string name;
    uint64_t at = 0;  // its byte in the struct
    uint32_t type = no_type;
    bool is_base = false;       // a base class
    bool is_bit_field = false;  // `at` is that of the unit it is in
};

struct DebugType {
    DebugKind kind = DebugKind::unknown;
    std::string name;
    uint64_t bytes = 0;                // 0: not said
    uint32_t target = no_type;         // no_type: void
    uint64_t count = 0;                // 0: not said
    std::vector<DebugMember> members;  // by offset
};

struct DebugVariable {
    std::string name;    // as the source has it; may be empty
    std::string symbol;  // in the PTX; empty for parameters
    uint32_t type = no_type;
};

struct DebugFunction {
    std::string name;  // in the PTX
    std::vector<DebugVariable> parameters;
};

struct DebugInfo {
    std::vector<DebugType> types;
    std::vector<DebugFunction> functions;
    std::vector<DebugVariable> variables;  // with an address

    const DebugFunction* find_function(std::string_view name) const;
    const DebugVariable* find_variable(std::string_view symbol) const;
    // The type without typedef, const and the like; no_type where there is none.
    uint32_t plain(uint32_t type) const;
    bool is_constant(uint32_t type) const;  // const, also behind a typedef
    uint64_t size_of(uint32_t type) const;  // 0: not known
    // "const float*", "float[4][8]", "Shape"; what nests too deep or has no name is "?".
    std::string spelled(uint32_t type) const;
};

// Empty where there is none. What makes no sense is left out, with what stands behind it in its
// unit; no input makes this take more than time and memory in proportion to the text.
DebugInfo debug_info(const Module& module);

}  // namespace lockwarp::ptx
