// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/placer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockwarp::isa {

namespace {

void write(std::vector<uint8_t>& image, uint64_t at, uint64_t value, unsigned bytes) {
    if (at + bytes > image.size()) return;
    std::memcpy(image.data() + at, &value, std::min<size_t>(bytes, sizeof value));
}

}  // namespace

SpaceCursor* Placer::cursor(ptx::Space space) {
    switch (space) {
        case ptx::Space::shared:
            return &shared;
        case ptx::Space::local:
        case ptx::Space::param:
            return &local;
        case ptx::Space::global:
            return &global;
        case ptx::Space::const_:
            return &constant;
        default:
            return nullptr;
    }
}

uint64_t Placer::address_of(std::string_view name, ptx::Place place, bool generic) {
    const Symbol s = r.find(name);
    if (s.kind == SymbolKind::function) return code_window + code_stride * r.numbers[s.index];
    if (s.kind == SymbolKind::kernel) return r.kernel_address(s.index);
    if (s.kind != SymbolKind::variable) {
        r.error(place, "Unknown symbol '" + std::string(name) + "'");
        return 0;
    }
    const Placed& p = r.program.variables[s.index];
    return p.address + (generic && p.space == ptx::Space::const_ ? const_window : 0);
}

void Placer::initialise(const ptx::Initializer& init, Type type, std::vector<uint8_t>& image,
                        uint64_t& at, uint64_t end) {
    if (init.kind == ptx::InitializerKind::list) {
        for (const ptx::Initializer& item : init.items) initialise(item, type, image, at, end);
        return;
    }
    if (init.kind == ptx::InitializerKind::bytes) {
        const uint64_t bytes = std::min<uint64_t>(init.text.size(), end - at);
        std::memcpy(image.data() + at, init.text.data(), bytes);
        at += bytes;
        return;
    }
    const unsigned width = bits(type) / 8;
    if (at + width > end) {
        r.error(init.place, "More initial values than the variable has elements");
        return;
    }
    uint64_t value = init.bits;
    if (init.kind == ptx::InitializerKind::address) {
        value =
            address_of(init.text, init.place, init.generic) + static_cast<uint64_t>(init.offset);
        if (init.mask != 0)
            value = (value & init.mask) >> static_cast<unsigned>(std::countr_zero(init.mask));
    } else if (init.kind == ptx::InitializerKind::f64 && type == Type::f32) {
        value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
    } else if (init.kind == ptx::InitializerKind::integer && is_float(type) && width >= 4) {
        const auto number = static_cast<double>(static_cast<int64_t>(value));
        value = width == 8 ? std::bit_cast<uint64_t>(number)
                           : std::bit_cast<uint32_t>(static_cast<float>(number));
    }
    write(image, at, value, width);
    at += width;
}

void Placer::declare_placed(const ptx::Variable& v, uint64_t address, uint64_t bytes,
                            bool in_frame) {
    r.scopes.back()[v.name] = {SymbolKind::variable,
                               static_cast<uint32_t>(r.program.variables.size()), Type::none, 0};
    r.program.variables.push_back({v.name, v.space, address, bytes, in_frame});
}

void Placer::place_extern(const ptx::Variable& v) {
    const auto found = definitions.find(v.name);
    if (found == definitions.end()) {
        if (const std::optional<Placement> p = placement(v);
            p && p->bytes == 0 && v.space != ptx::Space::shared)
            r.error(v.place, "Unresolved extern variable '" + v.name + "'");
        else
            place(v);
        return;
    }
    const ptx::Variable& whole = *found->second;
    const bool sized = std::ranges::find(v.dims, 0u) == v.dims.end();
    if (v.space != whole.space || v.type != whole.type || v.vector != whole.vector ||
        (sized && v.dims != whole.dims))
        r.error(whole.place, "Inconsistent redefinition of variable '" + v.name + "'");
    place(whole);
    ahead.insert(&whole);
}

void Placer::place(const ptx::Variable& v) {
    const std::optional<Placement> p = placement(v);
    if (!p) {
        r.error(v.place, "Variable '" + v.name + "' has no usable size or alignment");
        return;
    }
    const bool dynamic = is_dynamic_shared(v);
    SpaceCursor& c = *cursor(v.space);
    const bool is_shared = v.space == ptx::Space::shared;
    const auto laid = layout.address.find(&v);
    const auto in_module = globals.find(&v);
    // The assembler gives no space to a variable of the module that nothing names.
    const bool dropped = is_shared && !dynamic && laid == layout.address.end();
    const uint64_t address = dynamic || dropped           ? layout.dynamic
                             : is_shared                  ? laid->second
                             : in_module != globals.end() ? in_module->second
                                                          : round_up(c.next, p->alignment);
    if (dropped) {
        declare_placed(v, address, 0, false);
        return;
    }
    if (p->bytes > c.limit || address > c.limit - p->bytes) {
        r.error(v.place, "Variable '" + v.name + "' does not fit its state space");
        return;
    }
    const bool in_frame = &c == &local && r.scopes.size() > 1;
    if (in_frame) frame_alignment = std::max(frame_alignment, p->alignment);
    declare_placed(v, address, p->bytes, in_frame);
    if (dynamic) return;
    c.next = std::max(c.next, address + p->bytes);
    if (v.space == ptx::Space::global || v.space == ptx::Space::const_) {
        const bool in_global = v.space == ptx::Space::global;
        std::vector<uint8_t>& image = in_global ? r.program.global_image : r.program.const_image;
        image.resize(c.next - (in_global ? global_base : 0));
    }
}

void Placer::fill(const ptx::Variable& v) {
    const Symbol s = r.find(v.name);
    if (v.initializer.empty() || s.kind != SymbolKind::variable) return;
    const bool in_global = v.space == ptx::Space::global;
    if (!in_global && v.space != ptx::Space::const_) {
        r.error(v.place, "Variable '" + v.name + "' cannot be initialised in its state space");
        return;
    }
    const Placed placed = r.program.variables[s.index];
    uint64_t at = placed.address - (in_global ? global_base : 0);
    initialise(v.initializer.front(), type_named(v.type),
               in_global ? r.program.global_image : r.program.const_image, at, at + placed.bytes);
}

}  // namespace lockwarp::isa
