// SPDX-License-Identifier: Apache-2.0
// wgmma: its variant, or what the assembler (ptxas 13.0) says where there is none.
#include <algorithm>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

std::string_view class_of(Type a) {
    return a == Type::b1 ? "boolean type" : is_float(a) ? "floating point types" : "integer types";
}

// Of sparse ones the assembler tells more classes apart.
std::string_view sparse_class_of(const WarpgroupTypes& t) {
    if (is_float(t.a)) return bits(t.a) == 8 ? "FP8 types" : class_of(t.a);
    return t.a != t.b ? "mixed integer types" : class_of(t.a);
}

// Operands of types that some variant has, whatever its shape.
const WarpgroupTypes* types_of(const Modifiers& m) {
    for (const WarpgroupTypes& t : warpgroup_types)
        if (t.d == m.type[0] && t.a == m.type[1] && t.b == m.type[2]) return &t;
    return nullptr;
}

// Why the module's .version or .target has not wgmma; empty: it has.
std::string missing(const Resolver& r, const Form& form, const std::string& instruction,
                    const std::string& feature) {
    if (r.version < form.ptx) return unsupported(r, feature, 0, form.ptx);
    if (r.program.target == form.target && r.program.suffix == row(form.op).suffix) return {};
    return "Instruction '" + instruction + "' not supported on .target 'sm_" +
           std::to_string(r.program.target) + std::string(text_of(r.program.suffix)) + "'";
}

}  // namespace

std::string name_of(const WarpgroupTypes& t, bool sparse) {
    if (sparse) return "Sparse wgmma.mma_async with " + std::string(sparse_class_of(t));
    return "wgmma.mma_async with " + std::string(class_of(t.a));
}

size_t warpgroup_constants(const WarpgroupTypes& t, bool a_in_registers) {
    if (!is_float(t.a)) return 0;
    // Operands of 16 bits may be transposed, but for A in registers.
    return bits(t.a) != 16 ? 2 : a_in_registers ? 3 : 4;
}

void choose_warpgroup(const Resolver& r, Spelling& s, std::span<const ptx::Modifier> modifiers) {
    const Modifiers& m = s.mod;
    if (s.form->op != Op::wgmma_mma) {
        s.error = missing(r, *s.form, std::string(row(s.form->op).name), "WGMMA");
        return;
    }
    const WarpgroupTypes* const t = types_of(m);
    if (t == nullptr) {
        s.error = "Unexpected instruction types specified for 'wgmma.mma_async'";
        return;
    }
    const std::string shape = std::ranges::find_if(modifiers, [](const ptx::Modifier& one) {
                                  return one.text.starts_with(".m64");
                              })->text;
    const bool boolean = t->a == Type::b1;
    if (!boolean && m.combine != Combine::none) {
        s.error = "Unexpected instruction types specified for 'wgmma.mma_async'";
        return;
    }
    const std::string name = name_of(*t, m.sparse);
    const uint16_t k = m.sparse ? t->k * 2 : t->k;
    s.error = missing(r, *s.form, name,
                      m.sparse ? "Sparse WGMMA with " + std::string(sparse_class_of(*t))
                               : "WGMMA with " + std::string(class_of(t->a)));
    if (!s.error.empty()) return;
    if (t->a != t->b && !is_float(t->a) && r.version < 84)
        s.error = "Feature 'WGMMA with mixed integer types' requires PTX ISA .version 8.4 or later";
    else if (m.k != k && is_float(t->a) && m.k != 64 &&
             (!m.sparse || (bits(t->a) == 16 && m.k == t->k)))
        s.error =
            "Illegal instruction types specified for '" + name + "' with shape '" + shape + "'";
    else if (m.k != k || !warpgroup_n(*t, m.n))
        s.error = "Illegal matrix shape '" + shape + "' for instruction '" + name + "'";
    else if (boolean && m.combine != Combine::and_)
        s.error = (m.combine == Combine::none ? std::string("Unexpected number of operations")
                                              : std::string("Incorrect operations")) +
                  " specified for " + name + " with shape '" + shape + "'";
    else if (m.satfinite && t->a != Type::s8 && t->a != Type::u8)
        s.error = "Illegal modifier '.satfinite' for instruction '" + name + "'";
    else
        s.warpgroup = find_warpgroup(m.type[0], m.type[1], m.type[2], m.n, t->k);
}

}  // namespace lockwarp::isa
