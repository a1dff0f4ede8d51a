// SPDX-License-Identifier: Apache-2.0
// The entries of .debug_info that describe types, functions and variables, as they stand there.
//
// Source: the DWARF standard, version 5 (dwarfstd.org), chapter 7 "Data Representation", and those
// of versions 2 to 4 for what these have differently. Numbers are the standard's.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "emu/ptx/sections.hpp"

namespace lockwarp::ptx {

enum class DwarfTag : uint16_t {
    array_type = 0x01,
    class_type = 0x02,
    enumeration_type = 0x04,
    formal_parameter = 0x05,
    member = 0x0d,
    pointer_type = 0x0f,
    reference_type = 0x10,
    structure_type = 0x13,
    subroutine_type = 0x15,
    typedef_ = 0x16,
    union_type = 0x17,
    inheritance = 0x1c,
    ptr_to_member_type = 0x1f,
    subrange_type = 0x21,
    base_type = 0x24,
    const_type = 0x26,
    subprogram = 0x2e,
    variable = 0x34,
    volatile_type = 0x35,
    restrict_type = 0x37,
    unspecified_type = 0x3b,
    rvalue_reference_type = 0x42,
};

inline constexpr uint64_t no_offset = UINT64_MAX;
inline constexpr uint32_t no_parent = UINT32_MAX;

// What one entry says. Offsets are in .debug_info; no_offset: it says nothing of the kind. Texts
// point into the sections.
struct DwarfEntry {
    uint64_t at = 0;
    DwarfTag tag{};
    uint32_t parent = no_parent;  // index of an entry; no_parent: none that is listed
    std::string_view name;
    std::string_view linkage_name;
    std::string_view symbol;        // of a variable's address
    uint64_t type = no_offset;      // the entry at that offset
    uint64_t origin = no_offset;    // what it completes: DW_AT_abstract_origin, _specification
    uint64_t bytes = 0;             // DW_AT_byte_size
    uint64_t encoding = 0;          // DW_AT_encoding
    uint64_t location = no_offset;  // DW_AT_data_member_location
    uint64_t count = no_offset;
    uint64_t upper_bound = no_offset;
    bool has_bit_size = false;
    bool is_declaration = false;  // or of static storage, in a struct
};

// In the order of their offsets; those of other tags are left out. A unit ends where it makes no
// sense. At most a million entries.
std::vector<DwarfEntry> dwarf_entries(const std::map<std::string, Section, std::less<>>& sections);

}  // namespace lockwarp::ptx
