// SPDX-License-Identifier: Apache-2.0
// The data of a module's sections (PTX manual, PTX ISA 9.0, "Debugging Directives", .section):
// .debug_info, .debug_abbrev, .debug_str.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

struct Section {
    std::string bytes;
    std::map<std::string, size_t, std::less<>> labels;  // where they stand in the bytes
    // What the bytes at an offset refer to where that is no label or name of a section: a variable
    // or a label of code. The bytes there are 0.
    std::map<size_t, std::string> symbols;
};

// By name (".debug_info"), those of one name one after the other. A reference to a label is the
// label's offset in its section, one to a section is 0; "a-b" and "a+4" are computed. Text that is
// no data is left out. only: the name of the one section to read; empty: all.
std::map<std::string, Section, std::less<>> read_sections(const Module& module,
                                                          std::string_view only = {});

}  // namespace lockwarp::ptx
