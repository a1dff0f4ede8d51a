// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/placement.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_set>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

bool is_static_shared(const ptx::Variable& v) {
    return v.space == ptx::Space::shared && !is_dynamic_shared(v);
}

void shared_of(const ptx::Block& block, std::vector<const ptx::Variable*>& out) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* v = std::get_if<ptx::Variable>(&s.node);
            v && v->space == ptx::Space::shared)
            out.push_back(v);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) shared_of(*inner, out);
    }
}

// Puts variables one behind another.
struct Cursor {
    uint64_t next;
    SharedLayout& layout;

    void put(const ptx::Variable& v) {
        const std::optional<Placement> p = placement(v);
        const bool again =
            v.linking == ptx::Linking::extern_ &&
            std::ranges::any_of(layout.address, [&](auto& a) { return a.first->name == v.name; });
        if (!p || again) return;
        const uint64_t address = round_up(next, p->alignment);
        layout.address[&v] = address;
        next = std::min(address + p->bytes, uint64_t{1} << 40);
    }
};

}  // namespace

std::optional<Placement> placement(const ptx::Variable& v) {
    const Type type = type_named(v.type);
    const unsigned width = bits(type) / 8;
    if (width == 0) return std::nullopt;
    Placement p;
    p.alignment = std::max<uint64_t>(v.alignment, uint64_t{width} * v.vector);
    p.bytes = uint64_t{width} * v.vector;
    for (const uint64_t d : v.dims) {
        if (d != 0 && p.bytes > (uint64_t{1} << 40) / d) return std::nullopt;
        p.bytes *= d;
    }
    if (!std::has_single_bit(p.alignment)) return std::nullopt;
    return p;
}

bool is_dynamic_shared(const ptx::Variable& v) {
    if (v.space != ptx::Space::shared || v.linking != ptx::Linking::extern_) return false;
    const std::optional<Placement> p = placement(v);
    return !p || p->bytes == 0;
}

std::map<const ptx::Variable*, uint64_t> lay_out_global(const ptx::Module& module, uint64_t base) {
    struct Sized {
        const ptx::Variable* variable;
        Placement placement;
    };
    std::vector<Sized> all;
    std::unordered_set<std::string_view> names;
    // What is declared .extern alone is a variable too.
    for (const bool defined : {true, false})
        for (const auto& item : module.items) {
            const auto* const v = std::get_if<ptx::Variable>(&item);
            if (v == nullptr || v->space != ptx::Space::global) continue;
            const std::optional<Placement> p = placement(*v);
            if (p && (v->linking != ptx::Linking::extern_) == defined &&
                names.insert(v->name).second)
                all.push_back({v, *p});
        }
    std::ranges::stable_sort(all, {}, [](const Sized& s) {
        return std::tuple(!s.variable->initializer.empty(), ~s.placement.alignment,
                          s.placement.bytes);
    });
    std::map<const ptx::Variable*, uint64_t> address;
    uint64_t next = base;
    for (const Sized& s : all) {
        address[s.variable] = round_up(next, s.placement.alignment);
        next = std::min(address[s.variable] + s.placement.bytes, base + (uint64_t{1} << 40));
    }
    return address;
}

SharedLayout lay_out_shared(const ptx::Module& module,
                            const std::vector<const ptx::Function*>& functions, uint64_t base) {
    std::vector<const ptx::Variable*> of_module;
    std::unordered_set<std::string_view> defined;
    for (const auto& item : module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item);
            v && v->space == ptx::Space::shared) {
            of_module.push_back(v);
            if (v->linking != ptx::Linking::extern_) defined.insert(v->name);
        }
    std::erase_if(of_module, [&](const ptx::Variable* v) {
        return v->linking == ptx::Linking::extern_ && defined.contains(v->name);
    });
    // Those of bodies are static: .extern stands outside functions.
    std::vector<const ptx::Variable*> own;
    shared_of(functions[0]->body, own);
    std::vector<const ptx::Variable*> called;
    for (size_t i = 1; i < functions.size(); ++i) shared_of(functions[i]->body, called);
    std::unordered_set<std::string_view> named;
    for (const ptx::Function* f : functions) {
        const std::vector<std::string_view> names = names_in(f->body);
        named.insert(names.begin(), names.end());
    }

    SharedLayout layout;
    Cursor cursor{base, layout};
    const bool entry_first = functions[0]->linking != ptx::Linking::none;
    uint64_t dynamic_alignment = 16;
    for (const bool linked : {true, false}) {
        for (const ptx::Variable* v : of_module)
            if (is_static_shared(*v) && named.contains(v->name) &&
                (v->linking != ptx::Linking::none) == linked)
                cursor.put(*v);
        for (const auto* list : {&called, &own})
            for (const ptx::Variable* v : *list)
                if (named.contains(v->name) && (list == &own && entry_first) == linked)
                    cursor.put(*v);
    }
    bool has_dynamic = false;
    for (const ptx::Variable* v : of_module)
        if (!is_static_shared(*v)) {
            has_dynamic = true;
            if (named.contains(v->name))
                dynamic_alignment =
                    std::max(dynamic_alignment, placement(*v).value_or(Placement{}).alignment);
        }
    layout.dynamic = round_up(cursor.next, dynamic_alignment);
    for (const auto* list : {&called, &own})
        for (const ptx::Variable* v : *list)
            if (!layout.address.contains(v)) cursor.put(*v);
    if (!has_dynamic) layout.dynamic = round_up(cursor.next, dynamic_alignment);
    return layout;
}

bool shared_places_known(const ptx::Module& module, const std::string& entry) {
    std::unordered_set<std::string_view> shared;
    for (const auto& item : module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item); v && v->space == ptx::Space::shared)
            shared.insert(v->name);
    for (const auto& item : module.items) {
        const auto* const f = std::get_if<ptx::Function>(&item);
        if (f == nullptr || f->name != entry) continue;
        const std::vector<const ptx::Function*> functions = reachable_functions(module, *f);
        for (size_t i = 1; i < functions.size(); ++i) {
            std::vector<const ptx::Variable*> own;
            shared_of(functions[i]->body, own);
            const std::vector<std::string_view> names = names_in(functions[i]->body);
            if (!own.empty() || std::ranges::any_of(names, [&](std::string_view name) {
                    return shared.contains(name);
                }))
                return false;
        }
    }
    return true;
}

}  // namespace lockwarp::isa
