// SPDX-License-Identifier: Apache-2.0
// The operands of an instruction, and everything the assembler would refuse in them: the walk over
// its row's slots.
#include <algorithm>
#include <bit>

#include "emu/isa/operands.hpp"

namespace lockwarp::isa {

void OperandDecoder::report(ptx::Place place, std::string message) {
    r.error(place, std::move(message));
    failed = true;
}

void OperandDecoder::refuse(ptx::Place place, std::string message, std::string hint) {
    if (!failed) r.error(place, std::move(message), std::move(hint));
    failed = true;
}

void OperandDecoder::mismatch(ptx::Place place, std::string hint) {
    if (!failed)
        r.error(place, "Arguments mismatch for instruction '" + name_of(i) + "'", std::move(hint));
    failed = true;
}

void OperandDecoder::unknown(ptx::Place place, const std::string& name) {
    report(place, "Unknown symbol '" + name + "'");
}

// cp.async has a predicate there, too: whether the source is ignored.
void OperandDecoder::plain_source(const ptx::Operand& p, Type type) {
    if (o.op != Op::cp_async || !is_predicate(p)) {
        push(source(p, type, false));
        return;
    }
    bool negated = false;
    push(no_ref);
    push(predicate(p, negated));
    if (negated) o.negated_sources |= 2;
    if (r.version < 75 && !failed)
        r.error(p.place, "Feature 'ignore-src on cp.async' requires PTX ISA .version 7.5 or later");
}

void OperandDecoder::wide(const ptx::Operand& p, Type type, bool writes) {
    const bool plain = o.op == Op::ld || o.op == Op::st || o.op == Op::suld || o.op == Op::sust;
    // A result of a texture may be in a register of any type of its width (ptxas 13.0).
    if (row(o.op).sampled && type == Type::f32) type = Type::b32;
    if (row(o.op).memory != Memory::none || s.mod.vec > 1)
        vector(p, type, s.mod.vec, plain, writes);
    else
        push(writes ? destination(p, type, true) : source(p, type, true));
}

void OperandDecoder::negatable(const ptx::Operand& p) {
    bool negated = false;
    push(predicate(p, negated));
    if (negated) o.negated_sources |= static_cast<uint8_t>(1u << (o.operands - 1));
}

void OperandDecoder::pair(Slot slot, const ptx::Operand& p, Type type) {
    const bool both = p.kind == ptx::OperandKind::pair;
    const bool named_second = both && p.items[1].kind != ptx::OperandKind::sink;
    if (slot == Slot::value_pair && !named_second)
        refuse(p.place, "Predicate output expected for instruction '" + i.opcode + "'");
    const Type first = slot == Slot::predicate_or_pair ? Type::pred : type;
    if (both && p.items[0].kind == ptx::OperandKind::sink && !named_second)
        refuse(p.place, "Parsing error near '_': syntax error");
    push(destination(both ? p.items[0] : p, first, false,
                     both ? Result::first_of_pair : Result::only));
    push(both ? destination(p.items[1], Type::pred, false, Result::second_of_pair)
              : scratch_predicate);
}

void OperandDecoder::constant(const OperandSlot& slot, const ptx::Operand& p) {
    if (p.kind != ptx::OperandKind::integer && o.mod.field >= TensormapField::elemtype)
        refuse(p.place, "Integer constant expression expected");
    if (p.kind != ptx::OperandKind::integer) mismatch(p.place, "a constant is expected");
    o.immediate = p.bits;
    if (slot.fixed && p.bits != slot.value)
        refuse(p.place, "Argument " + std::to_string(&p - i.operands.data()) + " of instruction '" +
                            name_of(i) + "': unexpected value '" + std::to_string(p.bits) +
                            "', expected to be " + std::to_string(slot.value));
    if (o.op == Op::alloca_ && !std::has_single_bit(p.bits))
        refuse(p.place, "Alignment must be a power of two");
    if (o.op == Op::alloca_ && p.bits > uint64_t{1} << 23)
        refuse(p.place, "Alignment value too large, exceeds 2^23");
}

void OperandDecoder::sink(const ptx::Operand& p) {
    if (p.kind != ptx::OperandKind::sink)
        refuse(p.place, "Sink '_' is expected as a destination operand for instruction '" +
                            i.opcode + "' with '.shared::cluster'");
    push(scratch_register);
}

void OperandDecoder::one(const OperandSlot& slot, const ptx::Operand& p) {
    const Type type = type_of(slot, s.mod);
    ptx::Space space = slot.slot == Slot::global_address ? ptx::Space::global : ptx::Space::shared;
    switch (slot.slot) {
        case Slot::destination:
            return push(destination(p, type, false));
        case Slot::source:
            return plain_source(p, type);
        case Slot::wide_destination:
        case Slot::wide_source:
            return wide(p, type, slot.slot == Slot::wide_destination);
        case Slot::predicate_written:
            return push(destination(p, Type::pred, false));
        case Slot::predicate_read:
            return negatable(p);
        case Slot::predicate_or_pair:
        case Slot::value_or_pair:
        case Slot::value_pair:
            return pair(slot.slot, p, type);
        case Slot::packed_destination:
        case Slot::packed_source:
            return packed(p, slot.slot == Slot::packed_destination);
        case Slot::address:
            return address(p, o.mod.space);
        case Slot::global_address:
        case Slot::shared_address:
            return address(p, space);
        case Slot::tensor_map:
            return tensor_map(p);
        case Slot::texture:
            return texture(p);
        case Slot::im2col_offsets:
            return im2col_offsets(p);
        case Slot::cta_mask:
            return push(source(p, Type::u16, false));
        case Slot::cache_policy:
            source(p, Type::b64, false);
            return;
        case Slot::constant:
            return constant(slot, p);
        case Slot::sink:
            return sink(p);
        case Slot::label:
            return label(p);
        case Slot::branch_targets:
            return branch_targets(p);
        case Slot::matrices:
            return vector(p, Type::b32, s.mod.matrices, false, row(o.op).memory == Memory::load);
        case Slot::fragment:
            return fragment_operand(p, slot.fragment);
        case Slot::wmma_fragment:
            return wmma_operand(p, slot.fragment);
        case Slot::scale_factors:
            return scale_factors(p);
        case Slot::scale_ids:
            return scale_ids(p);
        case Slot::warpgroup_sign:
            return warpgroup_constant(p);
        case Slot::video:
            return video(slot, p);
        case Slot::call:  // all() decodes it
        case Slot::count_:
            return;
    }
}

void OperandDecoder::finish() {
    if (o.warpgroup != nullptr &&
        constants != warpgroup_constants(*o.warpgroup->types, o.r[0] == no_ref))
        mismatch(i.place, "operands: " + std::string(s.form->operands));
    if (!failed) failed = !check_constants(r, i, o);
    const bool counted = (o.op == Op::mbarrier_arrive || o.op == Op::mbarrier_drop) &&
                         o.operands == 2 && !o.mod.no_complete && !o.mod.expect;
    if (!counted || failed) return;
    const std::string feature =
        i.opcode + i.modifiers[0].text + " with count argument and without '.noComplete' modifier";
    const std::string why = unsupported(r, "Feature '" + feature + "'", 90, 78);
    if (!why.empty()) r.error(i.place, why);
}

void OperandDecoder::all() {
    const std::span<const OperandSlot> slots = s.form->slots;
    if (row(s.form->op).flow == Flow::call) {
        decode_call(r, i, o, read);
        return;
    }
    // The policy of a cache stands there with .L2::cache_hint only, a mask with .multicast.
    const auto absent = [&](const OperandSlot& slot) {
        return (slot.slot == Slot::cache_policy && !s.mod.cache_hint) ||
               (slot.slot == Slot::cta_mask && !s.mod.multicast);
    };
    const auto required = [&](const OperandSlot& slot) { return !slot.optional && !absent(slot); };
    size_t given = 0;
    for (size_t k = 0; k < slots.size(); ++k) {
        if (absent(slots[k])) continue;
        // An optional operand is left out where those behind it take all that is left.
        const size_t left = i.operands.size() - given;
        const auto behind = slots.subspan(k + 1);
        if (slots[k].optional &&
            left <= static_cast<size_t>(std::ranges::count_if(behind, required)))
            continue;
        if (left == 0) {
            mismatch(i.place, "operands: " + std::string(s.form->operands));
            return;
        }
        one(slots[k], i.operands[given++]);
    }
    if (given < i.operands.size()) mismatch(i.operands[given].place, "too many operands");
}

void Resolver::decode(const ptx::Instruction& instruction) {
    spell_into(instruction, spelling);
    auto known = spellings.find(spelling);
    if (known == spellings.end())
        known = spellings.emplace(spelling, spell(*this, instruction)).first;
    Spelling& s = known->second;
    ++s.uses;
    if (!s.error.empty()) {
        if (!s.reported) {
            s.reported = true;
            s.diagnostic = diagnostics.size();
            error(s.wrong_modifier < 0
                      ? instruction.place
                      : instruction.modifiers[static_cast<size_t>(s.wrong_modifier)].place,
                  s.error, s.hint);
            diagnostics.back().not_executed = s.not_executed;
        } else {
            diagnostics[s.diagnostic].hint = s.hint + (s.hint.empty() ? "" : "; ") + "occurs " +
                                             std::to_string(s.uses) + " times, first here";
        }
        return;
    }
    Operation o;
    o.op = s.form->op;
    o.mod = s.mod;
    o.mma = s.mma;
    o.wmma = s.wmma;
    o.wmma_fragment = s.wmma_fragment;
    o.warpgroup = s.warpgroup;
    o.place = instruction.place;
    OperandDecoder decoder{*this, instruction, s, o};
    if (!instruction.guard.name.empty()) {
        ptx::Operand guard;
        guard.kind = ptx::OperandKind::name;
        guard.text = instruction.guard.name;
        guard.place = instruction.guard.place;
        o.guarded = true;
        o.guard_negated = instruction.guard.negated;
        o.guard = decoder.named(guard, Type::pred, false, false);
    }
    decoder.all();
    decoder.finish();
    if (uses_carry(o) && program.carry == no_ref) program.carry = allocate(1);
    o.aligned_barrier =
        row(o.op).flow == Flow::wait && (instruction.opcode == "bar" || o.mod.aligned);
    if (row(o.op).flow == Flow::branch && !o.guarded) o.mod.uniform = true;
    o.first_use = static_cast<uint32_t>(program.uses.size());
    o.written = static_cast<uint16_t>(decoder.written.size());
    o.read = static_cast<uint16_t>(decoder.read.size());
    program.uses.insert(program.uses.end(), decoder.written.begin(), decoder.written.end());
    program.uses.insert(program.uses.end(), decoder.read.begin(), decoder.read.end());
    program.operations.push_back(o);
}

}  // namespace lockwarp::isa
