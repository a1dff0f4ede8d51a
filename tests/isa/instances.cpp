// SPDX-License-Identifier: Apache-2.0
#include "tests/isa/instances.hpp"

#include <algorithm>
#include <bit>

#include "emu/isa/wmma.hpp"

namespace lockwarp::isa {

namespace {

// The type of the register that holds a value of a type. Values of 8 bits stand in wider registers;
// formats without registers of their own in bits.
Type held(Type t) {
    const TypeRow& r = row(t);
    const bool own = t == Type::f16 || t == Type::f16x2 || t == Type::f32 || t == Type::f64;
    if (r.bits == 8) return Type::b16;
    if (r.kind != Kind::floating && r.lanes > 1) return Type::b32;
    if (r.kind != Kind::floating || own) return t;
    return r.bits == 16 ? Type::b16 : r.bits == 64 ? Type::b64 : Type::b32;
}

std::string reg(Type t, unsigned n) {
    return "%" + std::string(row(held(t)).name.substr(1)) + "_" + std::to_string(n);
}

std::string vector_of(Type t, unsigned count, unsigned first) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + reg(t, first + i);
    return text + "}";
}

std::string address(const Form& form, const Modifiers& m) {
    if (form.op == Op::ldmatrix || form.op == Op::stmatrix) return "[sh]";
    switch (m.space) {
        case ptx::Space::shared:
            return "[sh]";
        case ptx::Space::local:
            return "[lo]";
        case ptx::Space::param:
            return "[pa]";
        case ptx::Space::const_:
            return "[co]";
        default:
            return "[%u64_39]";
    }
}

// A fragment of a wmma instruction, as Turing and its successors have it.
std::string wmma_operand(const OperandSlot& slot, const Modifiers& m, unsigned n) {
    const bool four = m.types == 4;
    const char which = slot.fragment != 0 ? slot.fragment : m.matrix;
    const bool product = which == 'a' || which == 'b';
    Type type = m.type[0];
    if (slot.fragment != 0 && product) type = four ? m.type[1] : Type::f16;
    if (slot.fragment == 'c') type = four ? m.type[3] : m.type[1];
    const WmmaOperand operand = which == 'a'   ? WmmaOperand::a
                                : which == 'b' ? WmmaOperand::b
                                               : WmmaOperand::accumulator;
    const WmmaFragment* f =
        find_wmma_fragment(Arch::sm_90, m.m, m.n, m.k, operand, type, Order::row);
    if (f == nullptr) return "{}";
    return vector_of(type == Type::f64 ? Type::b64 : Type::b32, registers_of(f->part, type), n);
}

// One that the instruction takes.
std::string constant(Op op) {
    switch (op) {
        case Op::cp_async:
            return "16";
        case Op::set_max_registers:
            return "24";
        case Op::tensormap_replace:
            return "1";
        default:
            return "5";
    }
}

// An object and its coordinates, as tex, suld and sust have them.
std::string texture(const Modifiers& m, unsigned n) {
    const Type coordinate = m.types > 1 ? m.type[1] : Type::s32;
    const unsigned axes = m.cube ? 3u : m.dimensions;
    std::string text = "[%u64_39, {";
    if (m.layered) text += reg(Type::u32, n) + ", ";
    const unsigned given = std::bit_ceil(axes + (m.layered ? 1u : 0u)) - (m.layered ? 1u : 0u);
    for (unsigned i = 0; i < given; ++i)
        text += (i == 0 ? "" : ", ") + reg(coordinate, n + std::min(i, axes - 1));
    return text + "}]";
}

// One operand; `n` numbers the registers of the instruction.
std::string operand(const Form& form, const OperandSlot& slot, const Modifiers& m, unsigned n) {
    const Type type = type_of(slot, m);
    switch (slot.slot) {
        case Slot::destination:
        case Slot::source:
            return reg(type, n);
        case Slot::packed_destination:
        case Slot::packed_source:
        case Slot::wide_destination:
        case Slot::wide_source:
            return m.vec == 1 ? reg(type, n) : vector_of(type, m.vec, n);
        case Slot::predicate_written:
            return reg(Type::pred, n);
        case Slot::predicate_read:
            return "!" + reg(Type::pred, n);
        case Slot::predicate_or_pair:
            return reg(Type::pred, n) + "|" + reg(Type::pred, n + 8);
        case Slot::value_or_pair:
        case Slot::value_pair:
            return reg(type, n) + "|" + reg(Type::pred, n);
        case Slot::address:
            return address(form, m);
        case Slot::shared_address:
            return "[sh]";
        case Slot::global_address:
            return "[%u64_39]";
        case Slot::tensor_map:
            return "[%u64_39, " + vector_of(Type::s32, m.dimensions, n) + "]";
        case Slot::texture:
            return texture(m, n);
        case Slot::im2col_offsets:
            return vector_of(Type::u16, m.dimensions - 2u, n);
        case Slot::cta_mask:
            return reg(Type::u16, n);
        case Slot::constant:
            return slot.fixed ? std::to_string(slot.value) : constant(form.op);
        case Slot::sink:
            return "_";
        case Slot::cache_policy:
            return reg(Type::b64, n);
        case Slot::label:
            return "after";
        case Slot::branch_targets:
            return "targets";
        case Slot::matrices:
            return vector_of(Type::b32, m.matrices, n);
        case Slot::wmma_fragment:
            return wmma_operand(slot, m, n);
        case Slot::video:
            return reg(Type::u32, n);
        case Slot::call:  // the tests write its operands
        case Slot::fragment:
        case Slot::scale_factors:
        case Slot::scale_ids:
        case Slot::warpgroup_sign:
        case Slot::count_:
            break;
    }
    return {};
}

}  // namespace

std::vector<ptx::Modifier> modifiers_of(std::string_view text) {
    std::vector<ptx::Modifier> out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('.', 1), text.size());
        out.push_back({std::string(text.substr(0, end)), {}});
        text.remove_prefix(end);
    }
    return out;
}

std::string declarations() {
    std::string text;
    for (const Type t :
         {Type::pred, Type::b16, Type::b32, Type::b64, Type::u16, Type::u32, Type::u64, Type::s16,
          Type::s32, Type::s64, Type::f16, Type::f16x2, Type::f32, Type::f64}) {
        text += ".reg ";
        text += row(t).name;
        text += " %";
        text += row(t).name.substr(1);
        text += "_<40>; ";
    }
    return text +
           ".shared .align 128 .b8 sh[512]; .local .align 16 .b8 lo[64];"
           "\n";
}

std::string instance(const Form& form, const std::string& modifiers) {
    Modifiers m;
    for (const ptx::Modifier& one : modifiers_of(modifiers)) apply_modifier(one.text, m);
    std::string text = std::string(form.opcode) + modifiers;
    unsigned n = 1;
    for (const OperandSlot& slot : form.slots) {
        const bool absent = (slot.slot == Slot::cache_policy && !m.cache_hint) ||
                            (slot.slot == Slot::cta_mask && !m.multicast);
        if (!slot.optional && !absent) text += (n == 1 ? " " : ", ") + operand(form, slot, m, n);
        n += 4;
    }
    if (form.op == Op::brx) text = "targets: .branchtargets after; " + text;
    return text + ";";
}

std::string instance(const MmaVariant& v) {
    const auto fragment_of = [](FragmentId id, Type type, unsigned first) {
        const Type holds =
            type == Type::f64 || type == Type::f32 || type == Type::s32 ? type : Type::b32;
        return vector_of(holds, registers_of(fragment(id), type), first);
    };
    std::string text = v.ordered ? "mma.sp::ordered_metadata" : v.sparse ? "mma.sp" : "mma";
    text += ".sync.aligned.m" + std::to_string(v.m) + "n" + std::to_string(v.n) + "k" +
            std::to_string(v.k);
    for (const Order o : {v.a_order, v.b_order}) text += o == Order::row ? ".row" : ".col";
    text += text_of(v.kind);
    if (v.scales != 0) text += ".block_scale" + std::string(scale_vec_text(v.scales));
    for (const Type t : {v.d, v.a, v.b, v.c, v.scale}) text += row(t).name;
    if (v.combine != Combine::none) text += v.combine == Combine::xor_ ? ".xor.popc" : ".and.popc";
    return text + " " + fragment_of(v.fragment_d, v.d, 0) + ", " +
           fragment_of(v.fragment_a, v.a, 8) + ", " + fragment_of(v.fragment_b, v.b, 16) + ", " +
           fragment_of(v.fragment_c, v.c, 24) + (v.sparse ? ", %b32_32, 0" : "") +
           (v.scales != 0 ? ", {%b32_33}, {0, 1}, %b32_34, {0, 3};" : ";");
}

std::string module_with(const std::vector<std::string>& instructions, std::string_view target,
                        std::string_view version) {
    std::string text = ".version " + std::string(version) + "\n.target " + std::string(target) +
                       "\n.address_size 64\n.const .align 16 .b8 co[64];\n.entry k(" +
                       std::string(parameters) + ") {\n" + declarations();
    if (version >= "8.3") text += ".reg .b128 %b128_<40>;\n";
    for (const std::string& i : instructions) text += i + "\n";
    return text + "after:\nret;\n}\n";
}

}  // namespace lockwarp::isa
