// SPDX-License-Identifier: Apache-2.0
// Operands that are places: addresses, and what mov makes of them; labels.
#include "emu/isa/operands.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::isa {

namespace {

bool takes_from_variable(Op op, ptx::Space space) {
    return !row(op).wmma || (space != ptx::Space::const_ && space != ptx::Space::param);
}

}  // namespace

void OperandDecoder::variable(const ptx::Operand& base, const Placed& v, Address& a,
                              ptx::Space& space) {
    a.offset += base.offset + static_cast<int64_t>(v.address);
    if (space == ptx::Space::none && takes_from_variable(o.op, v.space)) space = v.space;
    if (o.op == Op::st && v.space == ptx::Space::param && v.read_only)
        refuse(base.place, "Illegal to write to function input parameter '" + base.text + "'");
    if (space != v.space)
        refuse(base.place, "State space mismatch between instruction and address in instruction '" +
                               name_of(i) + "'");
    a.in_shared = v.space == ptx::Space::shared;
    if (v.in_frame) {
        space = ptx::Space::local;
        if (r.function != 0) a.base = r.frame_constant(32, 0);
    }
}

void OperandDecoder::address(const ptx::Operand& p, ptx::Space& space) {
    Address& a = o.address[addresses++];
    if (p.kind != ptx::OperandKind::address || p.items.size() != 1) {
        mismatch(p.place);
        return;
    }
    a.offset = p.offset;
    const ptx::Operand& base = p.items[0];
    if (base.kind == ptx::OperandKind::integer) {
        a.offset += static_cast<int64_t>(base.bits);
        return;
    }
    const Symbol symbol = base.kind == ptx::OperandKind::name ? r.find(base.text) : Symbol{};
    switch (symbol.kind) {
        case SymbolKind::none:
            unknown(base.place, base.text);
            break;
        case SymbolKind::reg:
            if (is_float(symbol.type) || bits(symbol.type) < 32) {
                report(base.place, "Illegal to use symbol '" + base.text + "' of type " +
                                       std::string(row(symbol.type).name) +
                                       " as address operand. Use integer or bit only.");
                break;
            }
            read.push_back(symbol.index);
            a.base = r.register_ref(symbol.index);
            a.wide = bits(symbol.type) == 64;
            break;
        case SymbolKind::variable:
            variable(base, r.program.variables[symbol.index], a, space);
            break;
        default:
            mismatch(base.place);
    }
    // In a function .param is what calls pass; only an entry has the launch's parameters.
    if (space == ptx::Space::param && r.function != 0) space = ptx::Space::local;
}

Ref OperandDecoder::address_constant(const ptx::Operand& p, Type type) {
    const Symbol symbol = r.find(p.text);
    if (symbol.kind == SymbolKind::function && bits(type) == 64)
        return r.constant(64, code_window + code_stride * r.numbers[symbol.index]);
    if (symbol.kind == SymbolKind::kernel && bits(type) == 64)
        return r.constant(64, r.kernel_address(symbol.index));
    if (symbol.kind != SymbolKind::variable) return source(p, type, false);
    if (bits(type) < 32) mismatch(p.place);
    const Placed& v = r.program.variables[symbol.index];
    const uint64_t value = v.address + static_cast<uint64_t>(p.offset);
    const unsigned width = bits(type) == 64 ? 64 : 32;
    return v.in_frame ? r.frame_constant(width, value)
                      : r.constant(width, value, v.space == ptx::Space::shared);
}

void OperandDecoder::packing_vector(const ptx::Operand& p, Type type, bool writes) {
    const size_t count = p.items.size();
    if (count == 3 || count > 4) {
        refuse(p.place, "Illegal vector size: " + std::to_string(count));
        return;
    }
    constexpr std::array elements{Type::b64, Type::b32, Type::b16, Type::b8};
    const auto* const element = std::ranges::find_if(
        elements, [&](Type t) { return count > 1 && count * bits(t) == bits(type); });
    if (element == elements.end() || row(type).kind != Kind::bits) {
        mismatch(p.place, "a vector packs the value of a .b32, .b64 or .b128 mov");
        return;
    }
    // The position tells the executor which side is the vector.
    vectors = writes ? 0 : 1;
    vector(p, *element, static_cast<unsigned>(count), false, writes);
    push(no_ref);
}

namespace {

// {v.x, v.y} of the name v.
ptx::Operand components(const ptx::Operand& p, uint32_t count) {
    ptx::Operand all;
    all.kind = ptx::OperandKind::vector;
    all.place = p.place;
    for (uint32_t k = 0; k < count; ++k) {
        ptx::Operand one;
        one.kind = ptx::OperandKind::name;
        one.text = p.text + '.' + "xyzw"[k];
        one.place = p.place;
        all.items.push_back(std::move(one));
    }
    return all;
}

}  // namespace

void OperandDecoder::packed(const ptx::Operand& p, bool writes) {
    const Type type = s.mod.type[0];
    const bool name = p.kind == ptx::OperandKind::name;
    if (o.op == Op::cvta || o.op == Op::mapa || o.op == Op::getctarank) {
        push(name ? address_constant(p, type) : source(p, type, false));
    } else if (s.mod.vec > 1) {
        vectors = writes ? 0 : 1;
        if (name && special_named(p.text + ".x") != nullptr)
            special_vector(p, type);
        else
            vector(p, type, s.mod.vec, false, writes);
        push(no_ref);
    } else if (p.kind == ptx::OperandKind::vector) {
        packing_vector(p, type, writes);
    } else if (const Symbol v = name ? r.find(p.text) : Symbol{};
               v.kind == SymbolKind::reg_vector) {
        packing_vector(components(p, v.count), type, writes);
    } else if (writes) {
        push(destination(p, type, false));
    } else if (name && special_named(p.text) == nullptr) {
        push(address_constant(p, type));
    } else {
        push(source(p, type, false));
    }
}

void OperandDecoder::special_vector(const ptx::Operand& p, Type type) {
    if (s.mod.vec != 4) {
        mismatch(p.place, "a special register's vector has 4 elements");
        return;
    }
    vector(components(p, 4), type, 4, false, false);
}

void OperandDecoder::label(const ptx::Operand& p) {
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    if (symbol.kind == SymbolKind::label)
        r.branches.emplace_back(static_cast<uint32_t>(r.program.operations.size()), symbol.index);
    else
        unknown(p.place, p.text);
}

void OperandDecoder::branch_targets(const ptx::Operand& p) {
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    if (symbol.kind != SymbolKind::targets) {
        unknown(p.place, p.text);
        return;
    }
    const ptx::Directive& table = *r.tables[symbol.index];
    o.target = static_cast<uint32_t>(r.branch_labels.size());
    o.immediate = table.operands.size();
    for (const ptx::Operand& target : table.operands) {
        const Symbol label = r.find(target.text);
        if (label.kind != SymbolKind::label) {
            unknown(target.place, target.text);
            return;
        }
        r.branch_labels.push_back(label.index);
    }
}

}  // namespace lockwarp::isa
