// SPDX-License-Identifier: Apache-2.0
// Decodes the operands of one instruction. Internal to emu/isa: resolve_operands.cpp walks the
// slots, operand_values.cpp, operand_places.cpp, operand_bulk.cpp, operand_texture.cpp,
// operand_fragments.cpp and operand_video.cpp decode one operand each.
#pragma once

#include <string>
#include <vector>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

struct OperandDecoder {
    Resolver& r;
    const ptx::Instruction& i;
    const Spelling& s;
    Operation& o;
    size_t vectors = 0;    // of Operation::vector that are filled
    size_t addresses = 0;  // of Operation::address
    size_t scale_id = 0;   // of Operation::scale_refs
    size_t constants = 0;  // of Operation::warpgroup_operands
    std::vector<uint32_t> written = {};
    std::vector<uint32_t> read = {};
    bool failed = false;

    // All operands, and what can be looked at only once all are there.
    void all();
    void finish();

    // The operand in a slot.
    void one(const OperandSlot& slot, const ptx::Operand& p);
    void plain_source(const ptx::Operand& p, Type type);
    void wide(const ptx::Operand& p, Type type, bool writes);
    void negatable(const ptx::Operand& p);
    void pair(Slot slot, const ptx::Operand& p, Type type);
    void packed(const ptx::Operand& p, bool writes);
    void constant(const OperandSlot& slot, const ptx::Operand& p);
    void sink(const ptx::Operand& p);
    // operand_bulk.cpp: [map, {coordinates}], and the offsets of im2col.
    void tensor_map(const ptx::Operand& p);
    void im2col_offsets(const ptx::Operand& p);
    // operand_texture.cpp: [object, {coordinates}].
    void texture(const ptx::Operand& p);
    // `argument`: its number among the instruction's, where the assembler names it.
    void counted_vector(const ptx::Operand& p, Type type, size_t count, size_t argument);
    void label(const ptx::Operand& p);
    void branch_targets(const ptx::Operand& p);
    void fragment_operand(const ptx::Operand& p, char which);
    // The fragment of wmma.load or wmma.store (which: 0), or one of wmma.mma.
    void wmma_operand(const ptx::Operand& p, char which);
    // D, A or the descriptor of A, and that of B, of wgmma.mma_async.
    void warpgroup_operand(const ptx::Operand& p, char which);
    void warpgroup_constant(const ptx::Operand& p);
    void scale_factors(const ptx::Operand& p);
    // {byte-id, thread-id}; check_constants looks at constants.
    void scale_ids(const ptx::Operand& p);
    void video(const OperandSlot& slot, const ptx::Operand& p);
    void check_negations(ptx::Place place);
    // `space`: of the instruction; where it has none, the variable's is put there.
    void address(const ptx::Operand& p, ptx::Space& space);
    void variable(const ptx::Operand& base, const Placed& v, Address& a, ptx::Space& space);

    // Values. A register's slot, checked against the type; no_ref after an error. relaxed: the
    // register may be wider.
    Ref named(const ptx::Operand& p, Type type, bool relaxed, bool writes);
    // Which of an instruction's results it is: not every one may be '_'.
    enum class Result : uint8_t { only, first_of_pair, second_of_pair, element };
    Ref destination(const ptx::Operand& p, Type type, bool relaxed, Result result = Result::only);
    Ref source(const ptx::Operand& p, Type type, bool relaxed);
    // A literal as the bits of `type`; PTX manual, "Constants": a decimal floating-point literal is
    // f64 and converts to the instruction's type.
    Ref literal(const ptx::Operand& p, Type type);
    // A source among a vector's elements.
    Ref element(const ptx::Operand& p, Type type, bool relaxed);
    Ref in_braces(const ptx::Operand& p, Type type, bool relaxed);
    Ref special_register(const SpecialRow& which, const ptx::Operand& p, Type type, bool relaxed);
    Ref special_read(const SpecialRow& which, const ptx::Operand& p, bool fits);
    // "p" or "!p" or a constant.
    Ref predicate(const ptx::Operand& p, bool& negated);
    bool is_predicate(const ptx::Operand& p);
    // What mov and cvta read besides registers and literals: an address in its state space.
    Ref address_constant(const ptx::Operand& p, Type type);
    void vector(const ptx::Operand& p, Type type, unsigned count, bool relaxed, bool writes);
    // A vector that packs or unpacks the one value of a mov.
    void packing_vector(const ptx::Operand& p, Type type, bool writes);
    // "%tid" stands for {%tid.x, %tid.y, %tid.z, %tid.w}.
    void special_vector(const ptx::Operand& p, Type type);

    void push(Ref ref) { o.r[o.operands++] = ref; }

    // An error; of several of one instruction only the first is reported.
    void refuse(ptx::Place place, std::string message, std::string hint = {});
    void mismatch(ptx::Place place, std::string hint = {});
    void unknown(ptx::Place place, const std::string& name);
    // Reported whatever was before.
    void report(ptx::Place place, std::string message);
};

}  // namespace lockwarp::isa
