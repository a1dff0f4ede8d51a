// SPDX-License-Identifier: Apache-2.0
// Where in its source (CUDA, Python) an instruction of PTX comes from.
//
// Source: the PTX manual (PTX ISA 9.0), "Debugging Directives": .file, .loc, .section. A .loc holds
// for the instructions that follow it in its function, up to the next one. What was inlined has two
// places, its own and that of the call; where the caller was inlined too, an earlier .loc of the
// function has the call's place and says where that was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

inline constexpr uint32_t no_link = UINT32_MAX;

// A place in a source.
struct SourceLink {
    uint32_t file = 0;        // index of SourceMap::files
    uint32_t line = 0;        // from 1; 0: made by the compiler
    uint32_t column = 0;      // from 1; 0: not known
    uint32_t function = 0;    // that was inlined, index of SourceMap::functions; 0: none was
    uint32_t call = no_link;  // the place where it was inlined: an earlier link
};

// From this place of the PTX on, up to the next.
struct SourceStart {
    Place place;
    uint32_t link = no_link;  // no_link: nothing is known
};

struct SourceMap {
    std::vector<SourceStart> starts;  // by place
    std::vector<SourceLink> links;
    std::vector<std::string> files{""};      // as .file has them; 0: a number that no .file has
    std::vector<std::string> functions{""};  // mangled
};

// Empty where the module has no .loc. Line information that makes no sense (labels that .debug_str
// lacks, numbers without a .file) is left out; it is no error.
SourceMap source_map(const Module& module);

struct SourcePlace {
    std::string file;
    uint32_t line = 0;
    uint32_t column = 0;
    std::string function;  // that was inlined, mangled; empty: it is the PTX's own function
    friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

// The places of the instruction at `place`: its own, then those of the calls through which it was
// inlined, outwards; at most 64. Empty: none is known.
std::vector<SourcePlace> places_of(const SourceMap& map, Place place);

}  // namespace lockwarp::ptx
