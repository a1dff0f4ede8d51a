// SPDX-License-Identifier: Apache-2.0
// What makers of programs share: what can be written for an architecture, and the parts of an
// instruction's text. Internal to this room.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/warpgroup.hpp"
#include "emu/isa/wmma.hpp"

namespace lockwarp::programs {

// An instruction that can be written: a row of the forms with modifiers, or a variant of mma or
// wmma.mma.
struct Choice {
    const isa::Form* form = nullptr;  // a scalar instruction
    const isa::MmaVariant* mma = nullptr;
    bool matrix_move = false;  // ldmatrix, stmatrix, wmma.load, wmma.store
    std::string spelling;      // opcode and modifiers; of mma, wmma.mma and wgmma its key
    const isa::WmmaVariant* wmma = nullptr;
    const isa::WarpgroupVariant* warpgroup = nullptr;
    bool sparse = false;   // of wgmma
    bool goes_on = false;  // a copy that goes on beside the program, or a cluster's barrier
};

// What a chain of values is made of, in the order of the tables.
std::vector<Choice> choices(isa::Arch arch);

// A mov of 128 bits or of a vector, whose registers are not one of a width.
bool is_wide(const isa::Form& form);

// The least .target of a spelling of the row: some modifiers want a newer one than the row.
uint16_t least_target(const isa::Form& form, const std::string& spelling);

// The modifiers of "cvt.rn.f16.f32", as they are written and decoded.
std::vector<ptx::Modifier> modifiers_of(std::string_view spelling);
isa::Modifiers decoded(const std::string& spelling);

// Width of the register that holds a value of a type: 16, 32 or 64.
unsigned register_width(isa::Type type);

// The registers of one fragment of a variant: how many, of how many bits, and what each is full of,
// with `held` bits for an element.
struct FragmentRegisters {
    unsigned count;
    unsigned width;
    isa::Type element;
    unsigned held;
};
FragmentRegisters fragment_registers(isa::FragmentId id, isa::Type element);

// As the assembler wants it, of a key.
std::string warpgroup_spelling(const isa::WarpgroupVariant& v, bool sparse, bool satfinite);
// "wgmma.sp.m64n128k32.f32.f16.f16"
std::string sparse_key(const isa::WarpgroupVariant& v);

// The .version that a program for an architecture begins with: at least 8.3, and what the variants
// of mma in it ask for.
std::string module_version(isa::Arch arch, uint16_t asked);
uint16_t version_of(const isa::MmaVariant& v);

// The .target of a program for an architecture: "sm_120a" where an instruction in it asks for a
// suffix. A .version before 8.8 has no sm_120f.
std::string target_of(isa::Arch arch, isa::Suffix suffix);

// The byte-id and thread-id of a variant's factors, of A or of B. `n`: any number; all that there
// are take their turn.
std::array<unsigned, 2> scale_ids(const isa::MmaVariant& v, bool of_a, uint64_t n);

// "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
std::string mma_spelling(const isa::MmaVariant& v, bool satfinite);

// The same of wmma: a fragment on an architecture that has it.
FragmentRegisters wmma_registers(isa::Arch arch, const isa::WmmaVariant& v, char which);
FragmentRegisters wmma_registers(const isa::WmmaFragment& f, isa::Type element);

// The fragment that a wmma.load or wmma.store of these modifiers moves.
const isa::WmmaFragment* moved_fragment(isa::Arch arch, const isa::Modifiers& m);

// A matrix as it lies in memory: lines of so many elements.
struct Lines {
    unsigned count, elements;
};
Lines lines_of(const isa::WmmaFragment& f, isa::Order order);

// "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
std::string wmma_spelling(const isa::WmmaVariant& v, bool satfinite,
                          std::string_view rounding = {});

// The selectors and signs of a video instruction's operands, the n-th of many.
struct VideoOperands {
    std::array<std::string, 3> select;  // of d, a, b
    std::array<std::string, 3> sign;    // of a, b, c
    bool third = true;                  // c is written
};
VideoOperands video_operands(const isa::Form& form, const isa::Modifiers& m, uint64_t n);

// "{%r1, %r2}"
std::string braced(const std::vector<std::string>& names);

}  // namespace lockwarp::programs
