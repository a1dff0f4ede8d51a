// SPDX-License-Identifier: Apache-2.0
// The instructions whose operands lie in the registers of lanes, and where each element is: as the
// questions where, what, table and layout ask. Everything is read from the tables of emu/isa.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/elements.hpp"
#include "emu/isa/layout.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/types.hpp"
#include "emu/isa/warpgroup.hpp"
#include "emu/isa/wmma.hpp"

namespace lockwarp::lanes {

enum class Family : uint8_t { mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix };

// One element in one lane. An element with several owners stands once for each.
struct Held {
    uint16_t row, column;  // as the PTX manual writes the operand: A (m, k), B (k, n), C, D (m, n)
    uint16_t value;        // a0, a1, ... of that lane, in the order of its registers
    uint8_t part;          // which of `Operand::parts` matrices: 0 where there is one
    uint8_t lane;          // 0 to 31; of a warpgroup 0 to 127
    uint8_t reg;
    uint8_t low, high;  // bits of the register
};

// An operand of an instruction. `held` goes lane by lane, value by value.
struct Operand {
    std::string name;  // "A", "B", "C", "D"; "E": metadata; "SFA", "SFB": factors
    isa::Type type{};  // of an element
    unsigned rows = 0, columns = 0;
    unsigned parts = 1;          // independent matrices of one instruction, and what one is called:
    std::string_view part_word;  // "quad-pair" of m8n8k4, "matrix" of ldmatrix
    unsigned lanes = 32;         // that the instruction is for
    unsigned values = 0;         // of one lane
    unsigned registers = 0;      // of one lane, each of
    unsigned register_bits = 32;
    isa::Elements elements;  // its layout is CuTe's: B is (n, k) there. Of factors: none
    std::vector<Held> held;
};

struct Instruction {
    Family family{};
    std::string key;   // "mma.m16n8k16.f32.f16.f16.f32", "ldmatrix.x4.trans"
    std::string cute;  // CuTe's name; empty: it has none
    std::string ptx;   // as written in a program, without operands
    unsigned m = 0, n = 0;
    unsigned k = 0;         // 0: of matrices that are moved
    isa::Arch arch{};       // that was asked for, or the default
    uint16_t target = 0;    // least architecture
    unsigned matrices = 0;  // of ldmatrix and stmatrix
    bool trans = false;
    std::vector<Operand> operands;
    const isa::MmaVariant* mma = nullptr;
    const isa::WmmaVariant* wmma = nullptr;
    const isa::WarpgroupTypes* wgmma = nullptr;
};

const Operand* operand_named(const Instruction& i, std::string_view name);

// "A, B, C, D"
std::string operand_names(const Instruction& i);

// All keys, family by family.
std::vector<std::string> all_keys();

// The instruction of a key of all_keys(), on an architecture that has it: `arch`, or without one
// sm_90 where it has it and else the first that does. `error` where there is none.
struct Found {
    std::optional<Instruction> instruction;
    std::string error;  // what is wrong and what would be right; empty: none
};
Found make(std::string_view key, std::optional<isa::Arch> arch);

// Every instruction without its operands' elements (`held`): for lists. With `arch` those that it
// has; else each as make() has it without one.
std::vector<Instruction> all_instructions(std::optional<isa::Arch> arch);

// The same by any name: a key, the PTX mnemonic, a part of either whose words fit one instruction
// only ("m16n8k16.f32.f16"), or CuTe's name ("SM80_16x8x16_F32F16F16F32_TN").
Found find(std::string_view name, std::optional<isa::Arch> arch);

// "((4,8),(2,2)):((32,1),(16,8))"
std::string text_of(const isa::Layout& l);

// All owners of an element, by lane and value.
std::vector<Held> owners(const Operand& o, unsigned row, unsigned column);

// "A[3][7]"; of several matrices "D[3][7] of quad-pair 2".
std::string element_name(const Operand& o, const Held& h);
// "a1 = A.r0[31:16] @ lane 15"
std::string place_name(const Operand& o, const Held& h);

}  // namespace lockwarp::lanes
