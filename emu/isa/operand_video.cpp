// SPDX-License-Identifier: Apache-2.0
// Operands of the video instructions: registers and constants with a selector, and of vmad a sign.
// PTX manual, "Scalar Video Instructions", "SIMD Video Instructions".
#include "emu/isa/operands.hpp"
#include "emu/isa/video.hpp"

namespace lockwarp::isa {

namespace {

// Takes the selector off a register's name: "%r1.b0". A special register's dot is its own.
std::string take_selector(ptx::Operand& p) {
    const size_t dot = p.text.find('.');
    if (p.kind != ptx::OperandKind::name || dot == std::string::npos || special_named(p.text))
        return {};
    std::string out = p.text.substr(dot);
    p.text.resize(dot);
    return out;
}

}  // namespace

// Of vmad, when all operands are known. Where both factors are negated, their product is not.
void OperandDecoder::check_negations(ptx::Place place) {
    const auto negated = [&](unsigned n) { return (o.negated_sources >> n & 1) != 0; };
    const bool product = negated(1) != negated(2);
    if (s.mod.plus_one && (product || negated(3)))
        refuse(place, "Conflicting use of '.po' modifier with operand negation");
    if (product && negated(3))
        refuse(place, "Operand negation limited to either (source A xor source B) or source C");
}

void OperandDecoder::video(const OperandSlot& slot, const ptx::Operand& p) {
    const unsigned elements = row(o.op).elements;
    const bool multiplies = slot.fragment != 'd' && o.op == Op::vmad;
    const bool minus = p.kind == ptx::OperandKind::minus;
    ptx::Operand plain = minus ? p.items[0] : p;
    const std::string selector = take_selector(plain);
    const std::string index = std::to_string(&p - i.operands.data());
    if (minus && !multiplies)
        refuse(p.place, "Operand negation not allowed for instruction '" + i.opcode + "'");
    if (minus) o.negated_sources |= static_cast<uint8_t>(1u << o.operands);
    if (slot.fragment == 'c') {
        if (!selector.empty())
            refuse(p.place, "Video selector is not allowed on 'source C' operand");
        if (elements > 1 && plain.kind != ptx::OperandKind::name)
            refuse(p.place, "Incorrect video selector for operand " + index);
        if (multiplies) check_negations(p.place);
        return push(source(plain, Type::u32, false));
    }
    const bool merges = slot.fragment == 'd' && elements == 1 && !selector.empty();
    if (merges && s.mod.reduce != Reduce::none)
        refuse(p.place,
               "Video instruction cannot have destination selector and secondary operation");
    if (merges && (o.op == Op::vmad || i.operands.size() < 4))
        refuse(p.place,
               "Video selector is not allowed on destination for instruction '" + i.opcode + "'");
    const bool pair = elements > 1 && slot.fragment != 'd';
    const auto select = video_select(selector, elements, slot.fragment);
    if (!select || (pair && plain.kind != ptx::OperandKind::name))
        refuse(p.place, "Incorrect video selector for operand " + index);
    o.select[static_cast<size_t>(o.operands)] = select.value_or(0);
    push(slot.fragment == 'd' ? destination(plain, Type::u32, false)
                              : source(plain, Type::u32, false));
}

}  // namespace lockwarp::isa
