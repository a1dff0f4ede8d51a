// SPDX-License-Identifier: Apache-2.0
// A random program under way: its text, the registers that hold values, what each thread loads.
// Internal to this room.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "emu/isa/tensor_copy.hpp"
#include "launch/random.hpp"
#include "programs/generate.hpp"
#include "programs/operands.hpp"
#include "programs/program_writer.hpp"

namespace lockwarp::programs {

using isa::Op;
using isa::Type;

enum class Holds : uint8_t { operand, fragment, metadata, factors };

// A register that every thread loads from its own part of the input.
struct Load {
    Holds holds;
    Type type;      // of a fragment and of metadata: of the matrix's elements
    unsigned held;  // of a fragment: the bits that hold an element
    OperandClass from;
    uint32_t offset;  // in the thread's part
    unsigned width;
};

struct Writer {
    const GenerateOptions& options;
    launch::Random r;
    std::string body;
    std::vector<Load> loads;
    uint32_t thread_bytes = 0;
    // Registers by width: names that hold values.
    std::vector<std::string> b16, b32, b64, predicates;
    unsigned registers = 0;
    unsigned labels = 0;
    uint16_t version = 0;                    // least .version of what was drawn, major * 10 + minor
    isa::Suffix suffix = isa::Suffix::none;  // and what its .target must end with
    OperandClass from = OperandClass::random;
    std::string guard;
    explicit Writer(const GenerateOptions& o) : options(o), r{o.seed, 0} {}
    void line(const std::string& text) { body += "    " + guard + text + ";\n"; }
    void unguarded(const std::string& text) { body += "    " + text + ";\n"; }
    std::vector<std::string>& pool(unsigned width) {
        return width <= 16 ? b16 : width == 32 ? b32 : b64;
    }
    std::string fresh(unsigned width) {
        const char* const prefix = width == 1    ? "%p"
                                   : width <= 16 ? "%h"
                                   : width == 32 ? "%r"
                                                 : "%q";
        return prefix + std::to_string(++registers);
    }
    // A register written by an instruction; later ones may read it.
    std::string destination(unsigned width);
    std::string before;
    std::vector<std::pair<unsigned, std::string>> written;
    void publish() {
        for (auto& [width, name] : written) (width == 1 ? predicates : pool(width)).push_back(name);
        written.clear();
    }
    std::string load(Holds holds, Type type, unsigned width, unsigned held = 0);
    std::string load(Type type) { return load(Holds::operand, type, register_width(type)); }
    std::string source(Holds holds, Type type, unsigned width, unsigned held = 0);
    std::string source(Type type) { return source(Holds::operand, type, register_width(type)); }
    std::string predicate();
    // The control of shfl: clamp and segments.
    std::string control() {
        constexpr std::array<const char*, 5> controls{"0x1f", "0", "0x181f", "0x1c1f", "0x1c00"};
        return controls[r.below(controls.size())];
    }
    std::string operand_text(const isa::OperandSlot& slot, Type type);
    void scalar(const Choice& choice);
    void emit(const std::string& text);
    std::string fragment(FragmentRegisters f, bool reads);
    void mma(const isa::MmaVariant& v);
    // As constants or in registers.
    std::string drawn_ids(const isa::MmaVariant& v, bool of_a);
    void wmma(const isa::WmmaVariant& v);
    // Four warps' product: each thread writes its 32 bytes of the warpgroup's four kilobytes, where
    // descriptors put A and B anywhere, lines over each other too.
    void warpgroup(const isa::WarpgroupVariant& v, bool sparse);
    // A register with the descriptor of an operand of `lines` lines of 32 bytes, or of 64 where A
    // is sparse, somewhere in the four kilobytes.
    std::string descriptor(unsigned lines, bool transposed, bool sparse = false);
    // A matrix anywhere in the warp's own kilobyte of shared memory, its lines as far apart as that
    // allows.
    void wmma_move(const Choice& choice);
    // Rows at any 16-byte step of the warp's own kilobyte of shared memory.
    void matrix_move(const Choice& choice);
    // Families first, so that one with many spellings does not crowd out the others.
    const Choice& draw(const std::vector<std::vector<Choice>>& families);
    // NVIDIA's compiler (ptxas 13.0, its code read; driver 580, an H200) runs testp whatever its
    // guard says, and vadd4 and vsub4 of u32 with .add, the only ones of 484 video instructions; a
    // set to f16 or bf16 changes the old value where the guard is false (tests/compiler).
    static bool loses_guard(const Choice& choice);
    // It converts the amount of a 64-bit shift where an instruction on f32 wrote it (ptxas 13.0,
    // its code read; an H200).
    static bool converts_amount(const Choice& choice);
    void one(const Choice& choice);
    // A part of the warp runs some instructions more than the other.
    void branch(const std::vector<std::vector<Choice>>& families);
    std::string module() const;
    // Copies that go on beside the program (generate_copies.cpp).
    struct Tensor {
        isa::TensorMap map;
        uint64_t place, bytes;  // in the buffer of tensors
        OperandClass from;
    };
    bool copies = false;
    bool in_cluster = false;
    unsigned phases = 0;  // of each warp's mbarrier
    std::vector<Tensor> tensors;
    unsigned cluster_size() const;
    uint32_t warps() const { return options.ctas * options.warps; }
    void meet_cluster();
    void flush();
    void begin_copy(bool of_cluster);
    void expect(unsigned bytes);
    void await();
    void await_stores();
    void look();
    uint32_t reserve(Type element);
    void fill(unsigned offset, Type element);
    std::string hint(const isa::Modifiers& m) const;
    std::string mask(const isa::Modifiers& m);
    void copy(const Choice& choice);
    void bulk_load(const Choice& choice, const isa::Modifiers& m);
    void bulk_store(const Choice& choice, const isa::Modifiers& m);
    void send(const Choice& choice, const isa::Modifiers& m);
    void tensor(const Choice& choice, const isa::Modifiers& m);
    isa::TensorCopy draw_copy(const isa::Modifiers& m, bool im2col, isa::TensorDirection direction,
                              bool reduces);
    std::string copies_setup() const;
    void add_tensors(launch::Case& c) const;

    uint32_t stride() const { return (thread_bytes + 15) / 16 * 16; }
};

}  // namespace lockwarp::programs
