// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/debug_info.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "emu/ptx/dwarf_entries.hpp"

namespace lockwarp::ptx {

namespace {

constexpr int max_depth = 32;
constexpr uint64_t no_bound = UINT64_MAX;

// DW_ATE_*: how the bits of a base type are read.
DebugKind kind_of(uint64_t encoding) {
    constexpr uint64_t boolean = 2;
    constexpr uint64_t floating = 4;
    constexpr uint64_t signed_ = 5;
    constexpr uint64_t signed_char = 6;
    constexpr uint64_t unsigned_ = 7;
    constexpr uint64_t unsigned_char = 8;
    constexpr uint64_t utf = 16;
    switch (encoding) {
        case boolean:
            return DebugKind::boolean;
        case floating:
            return DebugKind::floating;
        case signed_:
        case signed_char:
            return DebugKind::signed_;
        case unsigned_:
        case unsigned_char:
        case utf:
            return DebugKind::unsigned_;
        default:
            return DebugKind::unknown;
    }
}

struct KindRow {
    DwarfTag tag;
    DebugKind kind;
};
constexpr std::array type_kinds{
    KindRow{DwarfTag::array_type, DebugKind::array},
    KindRow{DwarfTag::class_type, DebugKind::structure},
    KindRow{DwarfTag::enumeration_type, DebugKind::enumeration},
    KindRow{DwarfTag::pointer_type, DebugKind::pointer},
    KindRow{DwarfTag::reference_type, DebugKind::pointer},
    KindRow{DwarfTag::structure_type, DebugKind::structure},
    KindRow{DwarfTag::subroutine_type, DebugKind::unknown},
    KindRow{DwarfTag::typedef_, DebugKind::alias},
    KindRow{DwarfTag::union_type, DebugKind::union_},
    KindRow{DwarfTag::ptr_to_member_type, DebugKind::unknown},
    KindRow{DwarfTag::base_type, DebugKind::unknown},
    KindRow{DwarfTag::const_type, DebugKind::constant},
    KindRow{DwarfTag::volatile_type, DebugKind::alias},
    KindRow{DwarfTag::restrict_type, DebugKind::alias},
    KindRow{DwarfTag::unspecified_type, DebugKind::unknown},
    KindRow{DwarfTag::rvalue_reference_type, DebugKind::pointer},
};

struct Maker {
    const std::vector<DwarfEntry>& entries;
    std::unordered_map<uint64_t, uint32_t> types{};    // by offset in the section
    std::vector<uint32_t> of_entry{};                  // the type that an entry is
    std::unordered_map<uint32_t, size_t> functions{};  // by entry
    std::set<uint32_t> sized{};  // arrays that have their dimension, which may be without a bound
    DebugInfo out{};

    uint32_t type_at(uint64_t reference) const {
        const auto found = types.find(reference);
        return found == types.end() ? no_type : found->second;
    }

    // What an entry says, or the one that it completes.
    const DwarfEntry* origin(const DwarfEntry& e) const {
        const auto at = std::ranges::lower_bound(entries, e.origin, {}, &DwarfEntry::at);
        return e.origin == no_offset || at == entries.end() || at->at != e.origin ? nullptr : &*at;
    }

    std::string_view name_of(const DwarfEntry& e, int depth = 0) const {
        if (!e.linkage_name.empty()) return e.linkage_name;
        const DwarfEntry* const from = depth < max_depth ? origin(e) : nullptr;
        return e.name.empty() && from != nullptr ? name_of(*from, depth + 1) : e.name;
    }

    uint32_t type_of(const DwarfEntry& e, int depth = 0) const {
        if (e.type != no_offset) return type_at(e.type);
        const DwarfEntry* const from = depth < max_depth ? origin(e) : nullptr;
        return from == nullptr ? no_type : type_of(*from, depth + 1);
    }

    void add_types() {
        of_entry.assign(entries.size(), no_type);
        for (size_t i = 0; i < entries.size(); ++i) {
            const DwarfEntry& e = entries[i];
            const auto row = std::ranges::find(type_kinds, e.tag, &KindRow::tag);
            if (row == type_kinds.end()) continue;
            DebugType t;
            t.kind = e.tag == DwarfTag::base_type ? kind_of(e.encoding) : row->kind;
            t.name = e.name;
            t.bytes = e.bytes;
            of_entry[i] = static_cast<uint32_t>(out.types.size());
            types.emplace(e.at, of_entry[i]);
            out.types.push_back(std::move(t));
        }
    }

    void add_member(const DwarfEntry& e, DebugType& to) {
        // Static ones have no place, those of a union need none.
        if (e.is_declaration || (e.location == no_bound && to.kind != DebugKind::union_)) return;
        DebugMember m;
        m.name = e.name;
        m.at = to.kind == DebugKind::union_ ? 0 : e.location;
        m.type = type_of(e);
        // nvcc has base classes as members of such names.
        m.is_base = e.tag == DwarfTag::inheritance || e.name.starts_with("__b_");
        m.is_bit_field = e.has_bit_size;
        to.members.push_back(std::move(m));
    }

    // A further dimension makes an array of arrays: the last is the innermost.
    void add_dimension(const DwarfEntry& e, uint32_t array) {
        const uint64_t count = e.count != no_bound         ? e.count
                               : e.upper_bound != no_bound ? e.upper_bound + 1
                                                           : 0;
        int depth = 0;
        while (!sized.insert(array).second) {
            const uint32_t target = out.types[array].target;
            const bool is_inner = target < out.types.size() &&
                                  out.types[target].kind == DebugKind::array &&
                                  out.types[target].name == inner;
            if (!is_inner) {
                if (++depth > max_depth) return;
                DebugType t;
                t.kind = DebugKind::array;
                t.name = inner;
                t.target = target;
                out.types[array].target = static_cast<uint32_t>(out.types.size());
                out.types.push_back(std::move(t));
            }
            array = out.types[array].target;
            if (++depth > max_depth) return;
        }
        out.types[array].count = count;
    }

    void add_child(const DwarfEntry& e, size_t i) {
        const uint32_t parent = e.parent == no_parent ? no_type : of_entry[e.parent];
        switch (e.tag) {
            case DwarfTag::member:
            case DwarfTag::inheritance:
                if (parent != no_type) add_member(e, out.types[parent]);
                return;
            case DwarfTag::subrange_type:
                if (parent != no_type && out.types[parent].kind == DebugKind::array)
                    add_dimension(e, parent);
                return;
            case DwarfTag::subprogram:
                functions.emplace(static_cast<uint32_t>(i), out.functions.size());
                out.functions.push_back({std::string(name_of(e)), {}});
                return;
            case DwarfTag::formal_parameter:
                if (const auto f = functions.find(e.parent); f != functions.end())
                    out.functions[f->second].parameters.push_back(
                        {std::string(name_of(e)), "", type_of(e)});
                return;
            case DwarfTag::variable:
                if (!e.symbol.empty())
                    out.variables.push_back(
                        {std::string(e.name), std::string(e.symbol), type_of(e)});
                return;
            default:
                return;  // a type, which stands already
        }
    }

    void make() {
        add_types();
        for (size_t i = 0; i < entries.size(); ++i)
            if (of_entry[i] != no_type) out.types[of_entry[i]].target = type_of(entries[i]);
        for (size_t i = 0; i < entries.size(); ++i) add_child(entries[i], i);
        for (DebugType& t : out.types) {
            std::ranges::stable_sort(t.members, {}, &DebugMember::at);
            if (t.name == inner) t.name.clear();
        }
        std::erase_if(out.functions, [](const DebugFunction& f) { return f.name.empty(); });
    }

    static constexpr std::string_view inner = "[]";
};

const DebugType* type_in(const DebugInfo& info, uint32_t type) {
    return type < info.types.size() ? &info.types[type] : nullptr;
}

std::string spell(const DebugInfo& info, uint32_t type, int depth) {
    if (type == no_type) return "void";
    const DebugType* t = type_in(info, type);
    if (t == nullptr || depth > max_depth) return "?";
    switch (t->kind) {
        case DebugKind::pointer:
            return spell(info, t->target, depth + 1) + "*";
        case DebugKind::constant: {
            const DebugType* const target = type_in(info, t->target);
            const std::string text = spell(info, t->target, depth + 1);
            const bool behind = target != nullptr && target->kind == DebugKind::pointer;
            return behind ? text + " const" : "const " + text;
        }
        case DebugKind::array: {
            std::string dims;
            while (t != nullptr && t->kind == DebugKind::array && ++depth <= max_depth) {
                dims += "[" + (t->count == 0 ? "" : std::to_string(t->count)) + "]";
                type = t->target;
                t = type_in(info, type);
            }
            return spell(info, type, depth + 1) + dims;
        }
        case DebugKind::alias:
            if (t->name.empty()) return spell(info, t->target, depth + 1);
            return t->name;
        case DebugKind::unknown:
        case DebugKind::boolean:
        case DebugKind::floating:
        case DebugKind::signed_:
        case DebugKind::unsigned_:
        case DebugKind::structure:
        case DebugKind::union_:
        case DebugKind::enumeration:
            break;
    }
    return t->name.empty() ? "?" : t->name;
}

}  // namespace

const DebugFunction* DebugInfo::find_function(std::string_view name) const {
    const auto found = std::ranges::find(functions, name, &DebugFunction::name);
    return found == functions.end() ? nullptr : &*found;
}

const DebugVariable* DebugInfo::find_variable(std::string_view symbol) const {
    const auto found = std::ranges::find(variables, symbol, &DebugVariable::symbol);
    return found == variables.end() ? nullptr : &*found;
}

uint32_t DebugInfo::plain(uint32_t type) const {
    for (int depth = 0; depth < max_depth; ++depth) {
        const DebugType* const t = type_in(*this, type);
        if (t == nullptr) return no_type;
        if (t->kind != DebugKind::alias && t->kind != DebugKind::constant) return type;
        type = t->target;
    }
    return no_type;
}

bool DebugInfo::is_constant(uint32_t type) const {
    for (int depth = 0; depth < max_depth; ++depth) {
        const DebugType* const t = type_in(*this, type);
        if (t == nullptr || (t->kind != DebugKind::alias && t->kind != DebugKind::constant))
            return false;
        if (t->kind == DebugKind::constant) return true;
        type = t->target;
    }
    return false;
}

uint64_t DebugInfo::size_of(uint32_t type) const {
    constexpr uint64_t address_bytes = 8;
    constexpr uint64_t max_bytes = uint64_t{1} << 48;
    uint64_t count = 1;
    for (int depth = 0; depth < max_depth; ++depth) {
        type = plain(type);
        const DebugType* const t = type_in(*this, type);
        if (t == nullptr) return 0;
        if (t->bytes > max_bytes || t->count > max_bytes) return 0;
        if (t->kind != DebugKind::array || t->bytes != 0)
            return count * (t->kind == DebugKind::pointer ? address_bytes : t->bytes);
        if (t->count != 0 && count > max_bytes / t->count) return 0;
        count *= t->count;
        type = t->target;
    }
    return 0;
}

std::string DebugInfo::spelled(uint32_t type) const { return spell(*this, type, 0); }

DebugInfo debug_info(const Module& module) {
    const auto sections = read_sections(module);
    const std::vector<DwarfEntry> entries = dwarf_entries(sections);
    Maker maker{entries};
    maker.make();
    return std::move(maker.out);
}

}  // namespace lockwarp::ptx
