// SPDX-License-Identifier: Apache-2.0
// Operands that are values: registers, literals, special registers, predicates, vectors of them.
#include <algorithm>
#include <array>
#include <bit>

#include "emu/isa/operands.hpp"

namespace lockwarp::isa {

namespace {

using Result = OperandDecoder::Result;

// Whose result may be '_' (ptxas 13.0; OpRow::discard_version). Of other instructions none may.
struct DiscardRow {
    Op op;
    Result result;
};
constexpr auto discards = std::to_array<DiscardRow>({
    {Op::atom, Result::only},
    {Op::mbarrier_arrive, Result::only},
    {Op::mbarrier_drop, Result::only},
    {Op::setp, Result::only},
    {Op::setp, Result::first_of_pair},
    {Op::match, Result::first_of_pair},
    {Op::elect, Result::first_of_pair},
    {Op::lop3, Result::only},
    {Op::lop3, Result::first_of_pair},
});

bool may_be_discarded(Op op, Result result, unsigned version) {
    if (result == Result::element || result == Result::second_of_pair) return true;
    return version >= row(op).discard_version &&
           std::ranges::any_of(
               discards, [&](const DiscardRow& d) { return d.op == op && d.result == result; });
}

bool is_sink(const ptx::Operand& p) { return p.kind == ptx::OperandKind::sink; }

// May a register of type `reg` stand where the instruction has type `type`? PTX manual, "Operand
// Size Exceeding Instruction-Type Size" and "Type Information for Instructions and Operands".
bool compatible(Type reg, Type type, bool relaxed) {
    if (reg == Type::pred || type == Type::pred) return reg == type;
    // Two slots: it does not stand for a narrower one.
    if (reg == Type::b128) return type == Type::b128;
    const unsigned have = bits(reg);
    const unsigned want = std::max(bits(type), 8u);
    if (relaxed ? have < want : have != want) return false;
    const Kind a = row(reg).kind;
    const Kind b = row(type).kind;
    if (a == Kind::bits || b == Kind::bits) return true;
    if (a == Kind::floating || b == Kind::floating) return reg == type;
    return true;
}

// Why there is no such special register on this target; its vector has the name.
std::string special_unsupported(const Resolver& r, const SpecialRow& which) {
    return unsupported(r, which.name.substr(0, which.name.find('.')), which.target, which.ptx);
}

}  // namespace

Ref OperandDecoder::named(const ptx::Operand& p, Type type, bool relaxed, bool writes) {
    const Symbol symbol = r.find(p.text);
    if (symbol.kind == SymbolKind::none) {
        unknown(p.place, p.text);
        return no_ref;
    }
    if (symbol.kind != SymbolKind::reg || p.offset != 0) {
        mismatch(p.place);
        return no_ref;
    }
    if (!compatible(symbol.type, type, relaxed)) {
        mismatch(p.place, "'" + p.text + "' is a " + std::string(row(symbol.type).name) +
                              " register, the instruction has " + std::string(row(type).name));
        return no_ref;
    }
    (writes ? written : read).push_back(symbol.index);
    if (symbol.type == Type::b128) (writes ? written : read).push_back(symbol.index + 1);
    if (relaxed)
        (writes ? o.register_bits : o.source_bits) = static_cast<uint8_t>(bits(symbol.type));
    return r.register_ref(symbol.index);
}

Ref OperandDecoder::destination(const ptx::Operand& p, Type type, bool relaxed, Result result) {
    if (p.kind == ptx::OperandKind::sink && !may_be_discarded(o.op, result, r.version))
        refuse(p.place, "Result discard mode is not allowed for instruction '" + i.opcode +
                            (row(o.op).step == StepKind::reduction ? ".red'" : "'"));
    if (p.kind == ptx::OperandKind::sink)
        return type == Type::pred ? scratch_predicate : scratch_register;
    if (p.kind != ptx::OperandKind::name) {
        mismatch(p.place);
        return no_ref;
    }
    return named(p, type, relaxed, true);
}

Ref OperandDecoder::literal(const ptx::Operand& p, Type type) {
    const unsigned width = std::max(bits(type), 32u);
    uint64_t value = p.bits;
    const bool is_bits = row(type).kind == Kind::bits;
    switch (p.kind) {
        case ptx::OperandKind::integer:
            if (type == Type::f32 || type == Type::f64) mismatch(p.place);
            if (bits(type) < 64) value &= (uint64_t{1} << bits(type)) - 1;
            break;
        case ptx::OperandKind::f32:
            if (type == Type::f64)
                value = std::bit_cast<uint64_t>(
                    static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value))));
            else if (type != Type::f32 && !(is_bits && width == bits(type)))
                mismatch(p.place);
            break;
        default:
            if (type == Type::f32)
                value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
            else if (type != Type::f64 && type != Type::b64)
                mismatch(p.place);
    }
    o.source_bits = static_cast<uint8_t>(width);
    return r.constant(width, value);
}

Ref OperandDecoder::special_register(const SpecialRow& which, const ptx::Operand& p, Type type,
                                     bool relaxed) {
    if ((o.op != Op::mov && o.op != Op::cvt) || is_float(type)) {
        report(p.place, "Special register argument not allowed for instruction '" + i.opcode + "'");
        return no_ref;
    }
    const bool low_half =
        o.op == Op::mov && bits(which.type) == 32 && (type == Type::b16 || type == Type::u16);
    o.source_bits = static_cast<uint8_t>(bits(which.type));
    return special_read(which, p, low_half || compatible(which.type, type, relaxed));
}

Ref OperandDecoder::special_read(const SpecialRow& which, const ptx::Operand& p, bool fits) {
    if (std::string why = special_unsupported(r, which); !why.empty()) {
        report(p.place, std::move(why));
        return no_ref;
    }
    if (!fits) mismatch(p.place);
    o.reads_clock |= is_clock(which.special);
    return r.special(which);
}

// Between braces any instruction may have them, of its elements' width (ptxas 13.0).
Ref OperandDecoder::in_braces(const ptx::Operand& p, Type type, bool relaxed) {
    const SpecialRow* const which =
        p.kind == ptx::OperandKind::name ? special_named(p.text) : nullptr;
    if (which == nullptr) return source(p, type, relaxed);
    if (relaxed) o.source_bits = static_cast<uint8_t>(bits(which->type));
    return special_read(*which, p, which->type != Type::pred && bits(which->type) == bits(type));
}

Ref OperandDecoder::source(const ptx::Operand& p, Type type, bool relaxed) {
    switch (p.kind) {
        case ptx::OperandKind::name:
            if (const SpecialRow* which = special_named(p.text); which != nullptr)
                return special_register(*which, p, type, relaxed);
            return named(p, type, relaxed, false);
        case ptx::OperandKind::integer:
        case ptx::OperandKind::f32:
        case ptx::OperandKind::f64:
            return literal(p, type);
        default:
            mismatch(p.place);
            return no_ref;
    }
}

// The assembler converts a floating-point literal among elements for st alone (ptxas 13.0): of
// other instructions it is its own bits, as many as the element has.
Ref OperandDecoder::element(const ptx::Operand& p, Type type, bool relaxed) {
    const bool floating = p.kind == ptx::OperandKind::f32 || p.kind == ptx::OperandKind::f64;
    const bool converted = o.op == Op::st && is_float(type);
    if (!floating || converted || bits(type) < 32 || row(type).kind == Kind::signed_int)
        return in_braces(p, type, relaxed);
    o.source_bits = static_cast<uint8_t>(bits(type));
    return r.constant(bits(type), bits(type) == 32 ? static_cast<uint32_t>(p.bits) : p.bits);
}

bool OperandDecoder::is_predicate(const ptx::Operand& p) {
    if (p.kind == ptx::OperandKind::negated) return true;
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    return symbol.type == Type::pred;
}

Ref OperandDecoder::predicate(const ptx::Operand& p, bool& negated) {
    negated = p.kind == ptx::OperandKind::negated;
    const ptx::Operand& inner = negated ? p.items[0] : p;
    if (inner.kind == ptx::OperandKind::integer) return r.constant(1, inner.bits != 0);
    if (inner.kind != ptx::OperandKind::name) {
        mismatch(p.place);
        return no_ref;
    }
    if (const SpecialRow* which = special_named(inner.text); which != nullptr && o.op == Op::mov) {
        if (std::string why = special_unsupported(r, *which); !why.empty())
            report(p.place, std::move(why));
        else if (which->type != Type::pred)
            mismatch(p.place);
        return r.special(*which);
    }
    return named(inner, Type::pred, false, false);
}

void OperandDecoder::vector(const ptx::Operand& p, Type type, unsigned count, bool relaxed,
                            bool writes) {
    VectorRef& v = o.vector[vectors++];
    v.first = static_cast<uint32_t>(r.program.pool.size());
    v.count = count;
    const auto one = [&](const ptx::Operand& e) {
        const bool only = &e == &p;
        const Ref ref = writes
                            ? destination(e, type, relaxed, only ? Result::only : Result::element)
                        : only ? source(e, type, relaxed)
                               : element(e, type, relaxed);
        r.program.pool.push_back(ref);
    };
    if (p.kind == ptx::OperandKind::vector) {
        if (p.items.size() != count) {
            refuse(
                p.place, "Argument vector size mismatch for instruction '" + name_of(i) + "'",
                std::to_string(count) + " expected, " + std::to_string(p.items.size()) + " given");
            return;
        }
        if (std::ranges::all_of(p.items, is_sink))
            refuse(p.place, "Unable to infer type of vector elements");
        for (const ptx::Operand& e : p.items) one(e);
        return;
    }
    const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
    if (symbol.kind == SymbolKind::reg_vector) {
        if (symbol.count != count || !compatible(symbol.type, type, relaxed)) mismatch(p.place);
        if (relaxed)
            (writes ? o.register_bits : o.source_bits) = static_cast<uint8_t>(bits(symbol.type));
        for (uint32_t k = 0; k < count && !failed; ++k) {
            (writes ? written : read).push_back(symbol.index + k);
            r.program.pool.push_back(r.register_ref(symbol.index + k));
        }
        return;
    }
    if (count != 1) {
        mismatch(p.place, "a vector of " + std::to_string(count) + " is expected");
        return;
    }
    one(p);
}

}  // namespace lockwarp::isa
