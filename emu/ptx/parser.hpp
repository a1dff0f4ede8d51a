// SPDX-License-Identifier: Apache-2.0
// PTX text to its syntax tree (PTX manual, ISA 9.0). Syntax only: whether an instruction, modifier
// or type exists is not asked here.
//
// Any bytes are accepted: the parser never throws, its time is linear in the length of the text and
// its recursion is limited. After an error it goes on with the next statement, so that one call
// reports several errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

// What one call of parse accepts.
inline constexpr size_t max_diagnostics = 100;
inline constexpr uint32_t deepest_nesting = 200;     // of blocks, operands, expressions, braces
inline constexpr uint32_t largest_range = 1U << 20;  // N of "%r<N>"
inline constexpr size_t longest_text = size_t{1} << 30;
inline constexpr uint64_t largest_tree = uint64_t{4} << 30;  // the sum of its nodes, in bytes

// The module is the tree of the text only when there are no diagnostics; otherwise it holds what
// could be understood. Diagnostics stand in the order of their places.
struct Parsed {
    Module module;
    std::vector<Diagnostic> diagnostics;
};

Parsed parse(std::string_view text);

}  // namespace lockwarp::ptx
