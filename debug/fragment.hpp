// SPDX-License-Identifier: Apache-2.0
// The operands of an instruction as the matrices that they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debug/view.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::debug {

struct FragmentOperand {
    lanes::Operand layout;
    std::vector<isa::Ref> registers;  // of a lane, in order
};

// An instruction of the program whose operands are fragments.
struct Fragments {
    uint32_t operation = 0;
    std::string key;                                // "mma.m16n8k16.f32.f16.f16.f32"
    std::optional<lanes::Instruction> instruction;  // mma and wmma.mma
    std::vector<FragmentOperand> operands;

    const FragmentOperand* find(std::string_view name) const;
};

// The instruction at the place, else the nearest before it in its function that has fragments, else
// the next one; none: there is none.
std::optional<Fragments> fragments_at(const Listing& listing, uint32_t pc);

// The bits of an element; of several owners the first one's.
uint64_t element_bits(const View& view, const FragmentOperand& o, const lanes::Held& h);

// An operand's elements, row by row (of several matrices one after another).
std::vector<uint64_t> matrix_of(const View& view, const FragmentOperand& o);

// A short number for a cell.
std::string cell_text(isa::Type type, uint64_t bits);

// A matrix with its rows' and columns' numbers, in blocks of columns that fit 100 columns. Below
// each element what `below` has for it, where it is not empty; marked[i]: a '*' stands behind.
std::string grid_text(isa::Type type, unsigned rows, unsigned columns,
                      const std::vector<uint64_t>& bits, const std::vector<std::string>& below,
                      const std::vector<bool>& marked);

// The operand as a matrix, each element with its lane and register. before: as it was when it was
// last shown; elements that differ are marked. May be empty.
std::string fragment_text(const View& view, const Fragments& f, const FragmentOperand& o,
                          const std::vector<uint64_t>& before);

}  // namespace lockwarp::debug
