// SPDX-License-Identifier: Apache-2.0
// The operand of tex, suld and sust: an object, in a register of 64 bits, and coordinates.
#include <bit>

#include "emu/isa/operands.hpp"

namespace lockwarp::isa {

namespace {

// A layer, then a coordinate for each dimension; what is missing to 2 or 4 is ignored.
uint32_t coordinates_of(const Modifiers& m) {
    const unsigned axes = m.cube ? 3u : m.dimensions;
    return std::bit_ceil(axes + (m.layered ? 1u : 0u));
}

}  // namespace

void OperandDecoder::texture(const ptx::Operand& p) {
    if (p.kind != ptx::OperandKind::address || p.items.size() != 2 || p.offset != 0 ||
        p.items[0].kind != ptx::OperandKind::name) {
        mismatch(p.place, "an object in a register, and coordinates: [%rd1, {%f1, %f2}]");
        return;
    }
    const Ref object = source(p.items[0], Type::b64, false);
    o.address[addresses++] = {object, true, false, 0};
    // Integers are held to their kind, floats to their width (ptxas 13.0).
    const bool floats = row(o.op).sampled && s.mod.type[1] == Type::f32;
    const Type coordinate = floats ? Type::b32 : Type::s32;
    const uint32_t count = coordinates_of(s.mod);
    VectorRef& v = o.vector[1];
    v.first = static_cast<uint32_t>(r.program.pool.size());
    v.count = count;
    const ptx::Operand& given = p.items[1];
    const Symbol symbol = given.kind == ptx::OperandKind::name ? r.find(given.text) : Symbol{};
    if (symbol.kind == SymbolKind::reg_vector) {
        if (symbol.count != count || bits(symbol.type) != 32) mismatch(given.place);
        for (uint32_t k = 0; k < count && !failed; ++k) {
            read.push_back(symbol.index + k);
            r.program.pool.push_back(r.register_ref(symbol.index + k));
        }
        return;
    }
    if (given.kind != ptx::OperandKind::vector) {
        if (count != 1 || given.kind != ptx::OperandKind::name)
            mismatch(given.place, std::to_string(count) + " coordinates are expected");
        r.program.pool.push_back(source(given, coordinate, false));
        return;
    }
    if (given.items.size() != count) {
        refuse(p.place,
               "Operand vector size doesn't match geometry for instruction '" + i.opcode + "'",
               std::to_string(count) + " coordinates are expected, " +
                   std::to_string(given.items.size()) + " given");
        return;
    }
    for (uint32_t k = 0; k < count; ++k) {
        const bool layer = k == 0 && s.mod.layered;
        const Type of_layer = row(o.op).sampled ? Type::u32 : Type::b32;
        r.program.pool.push_back(in_braces(given.items[k], layer ? of_layer : coordinate, false));
    }
}

}  // namespace lockwarp::isa
