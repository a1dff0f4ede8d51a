// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/modifiers.hpp"

#include "emu/isa/modifier_rows.hpp"

namespace lockwarp::isa {

namespace {

// Puts a value where a row says. false: the list is full.
struct Put {
    Modifiers& out;
    uint8_t value;

    bool operator()(std::monostate) const { return true; }
    template <class T>
    bool operator()(T Modifiers::*member) const {
        out.*member = static_cast<T>(value);
        return true;
    }
    template <class T, size_t size>
    bool operator()(ListMember<T, size> list) const {
        uint8_t& count = out.*list.count;
        if (count == size) return false;
        (out.*list.items)[count++] = static_cast<T>(value);
        return true;
    }
};

}  // namespace

bool apply_modifier(std::string_view text, Modifiers& out) {
    const auto& rows = modifier_table::sorted_modifiers;
    if (const size_t found = find_modifier(text); found != rows.size()) {
        bool room = true;
        for (const Setting& s : rows[found]->settings)
            room = std::visit(Put{out, s.value}, s.member) && room;
        return room;
    }
    if (const Type type = type_named(text); type != Type::none)
        return Put{out, static_cast<uint8_t>(type)}(modifier_table::types);
    const std::optional<ModifierShape> shape = shape_named(text);
    if (!shape) return false;
    out.m = shape->m;
    out.n = shape->n;
    out.k = shape->k;
    return true;
}

MmaQuery query_of(const Modifiers& m) {
    uint8_t scales = m.scales;
    if (m.block_scale && scales == 0)
        scales = m.kind == MmaKind::mxf8f6f4 ? 1 : m.kind == MmaKind::mxf4 ? 2 : 0;
    return {m.m, m.n, m.k, m.type, m.order, m.combine, m.sparse, m.kind, m.scale, scales};
}

}  // namespace lockwarp::isa
