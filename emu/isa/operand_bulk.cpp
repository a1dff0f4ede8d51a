// SPDX-License-Identifier: Apache-2.0
// Operands of tensor copies: a tensor map with coordinates, and the offsets of im2col.
#include "emu/isa/operands.hpp"

namespace lockwarp::isa {

void OperandDecoder::counted_vector(const ptx::Operand& p, Type type, size_t count,
                                    size_t argument) {
    VectorRef& v = o.vector[vectors++];
    v.first = static_cast<uint32_t>(r.program.pool.size());
    v.count = static_cast<uint32_t>(count);
    if (p.kind != ptx::OperandKind::vector) {
        refuse(p.place, "Vector expected for argument " + std::to_string(argument));
        return;
    }
    if (p.items.size() != count) {
        refuse(p.place,
               "Argument " + std::to_string(argument) + " of instruction '" + name_of(i) +
                   "': Argument vector size mismatch",
               std::to_string(count) + " expected, " + std::to_string(p.items.size()) + " given");
        return;
    }
    for (const ptx::Operand& e : p.items) r.program.pool.push_back(in_braces(e, type, false));
}

// The map is at a generic address, which a register holds; only a .global variable can be named,
// whose two addresses are the same.
void OperandDecoder::tensor_map(const ptx::Operand& p) {
    const bool plain = p.kind == ptx::OperandKind::address && p.items.size() == 2 &&
                       p.items[0].kind == ptx::OperandKind::name && p.offset == 0;
    if (!plain) {
        mismatch(p.place, "a tensor map and its coordinates: [map, {c0, c1}]");
        return;
    }
    ptx::Operand map = p;
    map.items.resize(1);
    ptx::Space space = ptx::Space::global;
    address(map, space);
    const auto argument = static_cast<size_t>(&p - i.operands.data());
    counted_vector(p.items[1], Type::s32, s.mod.dimensions, argument + 1);
}

void OperandDecoder::im2col_offsets(const ptx::Operand& p) {
    // The assembler counts the coordinates as an argument.
    const auto argument = static_cast<size_t>(&p - i.operands.data());
    counted_vector(p, Type::u16, s.mod.dimensions - 2u, argument + 1);
}

}  // namespace lockwarp::isa
