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
    // Of wgmma, an operand in shared memory: the register of its descriptor, and whether its lines
    // are neighbours in memory (imm-trans).
    isa::Ref descriptor = isa::no_ref;
    bool transposed = false;
};

// What an operand should be. By element, as matrix_of has them.
struct Should {
    std::string what;  // "rows 0-15 and k 16-31 of A"
    std::vector<uint64_t> bits;
    std::vector<bool> differs;
    std::vector<std::string> is, should;  // "A[3][13]"; empty: not known
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

// The bits of an element; of several owners the first one's. Of a warpgroup, in the registers of
// the warp that has it.
uint64_t element_bits(const View& view, const FragmentOperand& o, const lanes::Held& h);

// An operand's elements, row by row (of several matrices one after another).
std::vector<uint64_t> matrix_of(const View& view, const FragmentOperand& o);

// A short number for a cell.
std::string cell_text(isa::Type type, uint64_t bits);

// A matrix with its rows' and columns' numbers, in blocks of columns that fit 100 columns. Below
// each element what `below` has for it, where it is not empty, and below that what `should` has;
// marks[i], where it is not 0, stands behind.
std::string grid_text(isa::Type type, unsigned rows, unsigned columns,
                      const std::vector<uint64_t>& bits, const std::vector<std::string>& below,
                      const std::vector<char>& marks, const std::vector<std::string>& should = {});

// The operand as a matrix, each element with its lane and register. before: as it was at the
// last stop, and should: what it should be; elements that differ are marked, '*' and '!'. Either
// may be empty.
std::string fragment_text(const View& view, const Fragments& f, const FragmentOperand& o,
                          const std::vector<uint64_t>& before, const std::optional<Should>& should);

}  // namespace lockwarp::debug
