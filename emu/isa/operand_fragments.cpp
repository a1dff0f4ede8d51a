// SPDX-License-Identifier: Apache-2.0
// Operands that a warp holds together: fragments of matrices and their scale factors.
#include <algorithm>

#include "emu/isa/operands.hpp"

namespace lockwarp::isa {

namespace {

// What a register of a wmma fragment must be declared as.
Type wmma_register(Type element) {
    switch (element) {
        case Type::f16:
            return Type::f16x2;
        case Type::bf16:
            return Type::bf16x2;
        case Type::s8:
        case Type::u8:
            return Type::s32;
        case Type::s4:
        case Type::u4:
        case Type::b1:
            return Type::b32;
        default:
            return element;
    }
}

}  // namespace

void OperandDecoder::fragment_operand(const ptx::Operand& p, char which) {
    if (s.warpgroup != nullptr) return warpgroup_operand(p, which);
    const MmaVariant& v = *s.mma;
    const Type type = which == 'd' ? v.d : which == 'a' ? v.a : which == 'b' ? v.b : v.c;
    const FragmentId id = which == 'd'   ? v.fragment_d
                          : which == 'a' ? v.fragment_a
                          : which == 'b' ? v.fragment_b
                                         : v.fragment_c;
    // The assembler asks only for the width.
    vector(p, type == Type::f64 ? Type::b64 : Type::b32, registers_of(fragment(id), type), false,
           which == 'd');
}

void OperandDecoder::warpgroup_operand(const ptx::Operand& p, char which) {
    const WarpgroupTypes& t = *s.warpgroup->types;
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    const bool registers =
        p.kind == ptx::OperandKind::vector || symbol.kind == SymbolKind::reg_vector;
    if (which == 'b' || (which == 'a' && !registers)) {
        push(source(p, Type::b64, false));
        return;
    }
    const bool sink = std::ranges::any_of(
        p.items, [](const ptx::Operand& one) { return one.kind == ptx::OperandKind::sink; });
    if (sink) refuse(p.place, "Sink '_' not allowed as a source operand");
    if (which == 'a') {
        push(no_ref);
        vector(p, Type::u32, 4, false, false);
        return;
    }
    vector(p, t.d == Type::f16 ? Type::b32 : t.d, registers_of_d(*s.warpgroup), false, true);
    read = written;
}

void OperandDecoder::warpgroup_constant(const ptx::Operand& p) {
    if (p.kind != ptx::OperandKind::integer) {
        mismatch(p.place, "a constant is expected");
        return;
    }
    const WarpgroupTypes& t = *s.warpgroup->types;
    const size_t which = constants++;
    // The assembler counts from 1 behind the fragments.
    const auto unexpected = [&](std::string_view expected) {
        refuse(p.place, "Argument " + std::to_string(&p - i.operands.data()) + " of instruction '" +
                            name_of(t, s.mod.sparse) + "': unexpected value '" +
                            std::to_string(static_cast<int64_t>(p.bits)) + "', expected to be " +
                            std::string(expected));
    };
    WarpgroupOperands& out = o.warpgroup_operands;
    if (which < 2) {
        if (p.bits != 1 && p.bits != UINT64_MAX) unexpected("-1 or 1");
        (which == 0 ? out.negate_a : out.negate_b) = p.bits != 1;
        return;
    }
    if (p.bits > 1) unexpected("0 or 1");
    (which == 2 && o.r[0] != no_ref ? out.transpose_a : out.transpose_b) = p.bits == 1;
}

void OperandDecoder::wmma_operand(const ptx::Operand& p, char which) {
    const Modifiers& m = s.mod;
    const WmmaFragment* f = s.wmma_fragment;
    Type type = m.type[0];
    if (which != 0) {
        const WmmaVariant& v = *s.wmma;
        const bool product = which == 'a' || which == 'b';
        type = which == 'd' ? v.d : which == 'c' ? v.c : v.ab;
        f = find_wmma_fragment(r.program.arch, v.m, v.n, v.k,
                               which == 'a'   ? WmmaOperand::a
                               : which == 'b' ? WmmaOperand::b
                                              : WmmaOperand::accumulator,
                               type, product && which == 'b' ? v.b_order : v.a_order);
    }
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    if (p.kind != ptx::OperandKind::vector && symbol.kind != SymbolKind::reg_vector) {
        refuse(p.place, "Vector expected for argument " + std::to_string(&p - i.operands.data()));
        return;
    }
    vector(p, wmma_register(type), registers_of(f->part, type), false,
           row(o.op).memory == Memory::load || which == 'd');
}

void OperandDecoder::scale_factors(const ptx::Operand& p) {
    const bool braced = p.kind == ptx::OperandKind::vector && p.items.size() == 1;
    const ptx::Operand& factors = braced ? p.items[0] : p;
    if (factors.kind == ptx::OperandKind::name)
        push(source(factors, Type::b32, false));
    else
        mismatch(p.place, "a register is expected");
}

void OperandDecoder::scale_ids(const ptx::Operand& p) {
    if (p.kind != ptx::OperandKind::vector) {
        refuse(p.place, "Vector expected for argument " + std::to_string(&p - i.operands.data()));
        return;
    }
    if (p.items.size() != 2) {
        refuse(p.place, "Argument vector size mismatch for instruction '" + i.opcode + "'",
               "{byte-id, thread-id} is expected");
        return;
    }
    for (const ptx::Operand& id : p.items) {
        if (id.kind == ptx::OperandKind::name)
            o.scale_refs[scale_id] = source(id, Type::u16, false);
        else if (id.kind != ptx::OperandKind::integer)
            mismatch(id.place, "a constant or a 16-bit register is expected");
        ++scale_id;
    }
}

}  // namespace lockwarp::isa
