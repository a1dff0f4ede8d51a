// SPDX-License-Identifier: Apache-2.0
// Bulk copies and Hopper's other asynchronous instructions: what the assembler (ptxas 13.0) says
// where no row takes their modifiers.
#include <algorithm>
#include <optional>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

// What sm_100 brought.
struct Later {
    std::string_view opcode;
    std::string_view modifier;
    std::string_view with;   // another modifier that is there too; empty: any
    std::string_view words;  // that the assembler names it by
    bool required;           // "requires .target sm_100"; else "not supported on"
};

constexpr auto later = std::to_array<Later>({
    {"cp", ".cp_mask", "", "Feature '.cp_mask'", true},
    {"cp", ".cta_group::1", "", "Feature '.cta_group::1'", false},
    {"cp", ".cta_group::2", "", "Feature '.cta_group::2'", false},
    {"cp", ".tile::scatter4", "", "Feature '.tile::scatter4'", false},
    {"cp", ".tile::gather4", ".prefetch",
     "Feature '.tile::gather4 with cp.async.bulk.prefetch.tensor'", false},
    {"cp", ".tile::gather4", ".shared::cta",
     "Feature '.tile::gather4 with destination state space as .shared::cta'", true},
    {"cp", ".tile::gather4", ".shared::cluster",
     "Feature '.tile::gather4 with destination state space as .shared::cluster'", false},
    {"cp", ".im2col::w", ".shared::cta",
     "Feature '.im2col::w with destination state space as .shared::cta'", true},
    {"cp", ".im2col::w", ".shared::cluster",
     "Feature '.im2col::w with destination state space as .shared::cluster'", false},
    {"st", ".async", ".global", "Feature 'st.async/red.async with .global state space'", true},
    {"red", ".async", ".global", "Feature 'st.async/red.async with .global state space'", true},
    {"tensormap", ".swizzle_atomicity", "", "Instruction 'tensormap.replace.swizzle_atomicity'",
     false},
});

// Source and destination of a bulk copy.
struct Way {
    std::string_view name;  // of the instruction
    std::string_view to;
    std::string_view from;
};

constexpr auto ways = std::to_array<Way>({
    {"cp.async", ".shared", ".global"},
    {"cp.async", ".shared::cta", ".global"},
    {"cp.async.bulk", ".shared::cluster", ".global"},
    {"cp.async.bulk", ".shared::cta", ".global"},
    {"cp.async.bulk", ".shared::cluster", ".shared::cta"},
    {"cp.async.bulk", ".global", ".shared::cta"},
    {"cp.reduce.async.bulk", ".shared::cluster", ".shared::cta"},
    {"cp.reduce.async.bulk", ".global", ".shared::cta"},
    {"cp.async.bulk.tensor", ".shared::cluster", ".global"},
    {"cp.async.bulk.tensor", ".shared::cta", ".global"},
    {"cp.async.bulk.tensor", ".global", ".shared::cta"},
    {"cp.reduce.async.bulk.tensor", ".global", ".shared::cta"},
});

constexpr std::string_view completion = ".mbarrier::complete_tx::bytes";

// The modifiers of one instruction.
struct Parts {
    std::string name;
    Modifiers mod;
    std::vector<std::string_view> all;
    std::vector<std::string_view> spaces;
    std::vector<std::string_view> types;
    std::string_view operation;  // .add, .and; empty: none
    std::string_view scope;      // .gpu; empty: none
    std::string_view order;      // .relaxed; empty: none

    bool has(std::string_view text) const { return std::ranges::find(all, text) != all.end(); }
};

// nullopt: a modifier is unknown.
std::optional<Parts> parts_of(const ptx::Instruction& i) {
    Parts p;
    p.name = name_of(i);
    for (const ptx::Modifier& m : i.modifiers) {
        Modifiers one;
        if (!apply_modifier(m.text, one) || !apply_modifier(m.text, p.mod)) return std::nullopt;
        p.all.push_back(m.text);
        if (one.space != ptx::Space::none) p.spaces.push_back(m.text);
        if (one.types != 0) p.types.push_back(m.text);
        if (one.reduce != Reduce::none || one.combine != Combine::none) p.operation = m.text;
        if (one.scope != MemoryScope::none) p.scope = m.text;
        if (one.memory_order != MemoryOrder::weak || m.text == ".weak") p.order = m.text;
    }
    return p;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string of_instruction(const Parts& p) { return " for instruction " + quoted(p.name); }

std::string illegal(const Parts& p, std::string_view modifier, const std::string& with = {}) {
    return "Illegal modifier " + quoted(modifier) + of_instruction(p) +
           (with.empty() ? "" : " with " + quoted(with));
}

std::string required(const Parts& p, std::string_view what) {
    return std::string(what) + " modifier required" + of_instruction(p);
}

std::string wrong_types(const Parts& p) {
    return "Unexpected instruction types specified for " + quoted(p.name);
}

std::string wrong_type(const Parts& p) {
    return "Incorrect type " + quoted(p.types[0]) + " for operation " + quoted(p.operation) +
           " in instruction " + quoted(p.name);
}

// The operation and the type of a reduction, where the rest is right.
std::string wrong_reduction(const Parts& p) {
    if (p.operation.empty()) return "Reduction operation is required" + of_instruction(p);
    if (p.operation == ".exch" || p.operation == ".cas")
        return "Illegal reduction operation" + of_instruction(p);
    const Type type = p.types.size() == 1 ? p.mod.type[0] : Type::none;
    const bool half = type == Type::f16 || type == Type::bf16;
    if (type == Type::none || bits(type) < 16 || type == Type::b16 || row(type).lanes > 1)
        return wrong_types(p);
    const bool add = p.operation == ".add";
    if (half && add)
        return "Modifier '.noftz' required" + of_instruction(p) + " with type " +
               quoted(p.types[0]) + " and operation '.add'";
    if (p.has(".noftz") && add) return illegal(p, ".noftz");
    return wrong_type(p);
}

std::string wrong_way(const Parts& p) {
    if (p.spaces.size() != 2 || std::ranges::none_of(ways, [&](const Way& w) {
            return w.name == p.name && w.to == p.spaces[0] && w.from == p.spaces[1];
        }))
        return "State space incorrect" + of_instruction(p);
    if (p.name == "cp.async") return {};
    const bool to_global = p.spaces[0] == ".global";
    const bool counted = p.has(completion);
    if (!counted && !p.has(".bulk_group")) return required(p, ".completion_mechanism");
    if (to_global && counted) return illegal(p, completion);
    if (!to_global && !counted) return illegal(p, ".bulk_group");
    const std::string both = std::string(p.spaces[0]) + std::string(p.spaces[1]);
    if (p.mod.multicast && both != ".shared::cluster.global")
        return illegal(p, ".multicast::cluster", both);
    if (p.mod.cache_hint && both == ".shared::cluster.shared::cta")
        return illegal(p, ".L2::cache_hint", both);
    for (const std::string_view im2col : {".im2col", ".im2col_no_offs"})
        if (p.has(im2col) && (im2col == ".im2col") == to_global) return illegal(p, im2col);
    return {};
}

std::string wrong_copy(const Parts& p) {
    const bool tensor = p.has(".tensor");
    if (tensor && p.mod.dimensions == 0) return required(p, ".dim");
    for (const std::string_view im2col : {".im2col", ".im2col_no_offs"})
        if (tensor && p.mod.dimensions < 3 && p.has(im2col))
            return "Modifier '." + std::to_string(p.mod.dimensions) +
                   "d' cannot be combined with modifier " + quoted(im2col);
    if (p.has(".prefetch"))
        return p.spaces.empty() ? "State space modifier required" + of_instruction(p) : "";
    if (p.has(".commit_group") || p.has(".wait_group") || p.has(".wait_all") || p.has(".mbarrier"))
        return {};
    if (std::string why = wrong_way(p); !why.empty()) return why;
    return p.has(".reduce") ? tensor && !p.operation.empty() ? "" : wrong_reduction(p) : "";
}

std::string wrong_store(const Parts& p) {
    const bool reduces = p.name == "red.async";
    if (reduces && p.order.empty()) return required(p, "order");
    if (reduces && !p.scope.empty() && p.scope != ".cluster")
        return "Modifier " + quoted(p.scope) + " requires '.global' space" + of_instruction(p);
    if (!p.has(completion))
        return "Modifier " + quoted(p.spaces.empty() ? ".shared::cluster" : p.spaces[0]) +
               " requires modifier '.completion_mechanism'" + of_instruction(p);
    if (!reduces) return {};
    if (!p.spaces.empty() && p.spaces[0] != ".shared::cluster")
        return "Modifier '.cluster' requires '.shared::cluster' space" + of_instruction(p);
    if (p.operation.empty() || p.types.size() != 1 || is_float(p.mod.type[0]))
        return wrong_types(p);
    return wrong_type(p);
}

std::string wrong_map(const Parts& p) {
    const bool replaces = p.name == "tensormap.replace";
    if (!replaces && !p.has(".release")) return required(p, ".release");
    if (!replaces && !p.has(".aligned")) return required(p, ".aligned");
    if (!replaces) return {};
    if (p.types.size() != 1) return wrong_types(p);
    const TensormapField field = p.mod.field;
    const bool of_64_bits =
        field == TensormapField::global_address || field == TensormapField::global_stride;
    const bool fits = of_64_bits == (p.types[0] == ".b64");
    if (!fits) {
        const auto named = std::ranges::find_if(p.all, [](std::string_view m) {
            Modifiers one;
            apply_modifier(m, one);
            return one.field != TensormapField::none;
        });
        return "Illegal modifier " + quoted(named == p.all.end() ? "" : *named) +
               of_instruction(p) + " with type " + quoted(p.types[0]);
    }
    if (field == TensormapField::none)
        return "Tensormap field modifier required" + of_instruction(p);
    if (!p.has(".b1024")) return "Tensormap size modifier required" + of_instruction(p);
    if (!p.spaces.empty() && p.spaces[0] == ".shared")
        return "State space incorrect" + of_instruction(p);
    return {};
}

std::string wrong_multimem(const Parts& p) {
    const bool loads = p.name == "multimem.ld_reduce";
    const bool stores = p.name == "multimem.st";
    const std::string with = " with " + quoted(p.name) + " instruction";
    const std::string_view other = loads ? ".release" : ".acquire";
    if (p.order == other || p.order == ".acq_rel" || (p.order == ".weak" && !loads && !stores))
        return illegal(p, p.order);
    if (p.order == ".weak" && !p.scope.empty())
        return "Modifier '.weak' cannot be combined with modifier " + quoted(p.scope);
    if (!p.order.empty() && p.order != ".weak" && p.scope.empty())
        return "Modifier " + quoted(p.order) + " requires scope" + with;
    if (p.order.empty() && !p.scope.empty())
        return "Modifier " + quoted(p.scope) + " requires order" + with;
    if (!p.spaces.empty() && p.spaces[0] != ".global")
        return "State space incorrect" + of_instruction(p);
    const Type type = p.types.size() == 1 ? p.mod.type[0] : Type::none;
    if (p.mod.vec > 1 && !is_float(type))
        return "Vector qualifier is not allowed" + of_instruction(p);
    if (p.mod.vec > 1 && p.mod.vec * bits(type) > 128)
        return "Inconsistent type " + quoted(p.types[0]) + " with vector .v" +
               std::to_string(p.mod.vec) + " for " + quoted(p.name);
    const bool alone = type == Type::f16 || type == Type::bf16;
    if (stores || type == Type::none || (alone && p.mod.vec == 1)) return wrong_types(p);
    if (p.mod.sums_in_f32 && p.operation != ".add")
        return "Illegal reduction operation for instruction " + quoted(p.name + ".acc::f32");
    if (p.operation == ".inc" || p.operation == ".dec" || p.operation == ".exch" ||
        p.operation == ".cas")
        return "Illegal reduction operation" + of_instruction(p);
    return p.operation.empty() ? wrong_types(p) : wrong_type(p);
}

std::string wrong_registers(const Parts& p) {
    return p.has(".aligned") ? wrong_types(p) : required(p, ".aligned");
}

}  // namespace

bool wrong_later(const Resolver& r, const ptx::Instruction& i, Spelling& s) {
    const auto has = [&](std::string_view text) {
        return text.empty() ||
               std::ranges::find(i.modifiers, text, &ptx::Modifier::text) != i.modifiers.end();
    };
    if (r.program.target >= 100) return false;
    for (const Later& l : later) {
        if (l.opcode != i.opcode || !has(l.modifier) || !has(l.with)) continue;
        s.error = std::string(l.words);
        if (l.required)
            s.error += " requires .target sm_100 or higher";
        else
            s.error += " not supported on .target 'sm_" + std::to_string(r.program.target) +
                       std::string(text_of(r.program.suffix)) + "'";
        return true;
    }
    return false;
}

bool wrong_bulk(const ptx::Instruction& i, Spelling& s) {
    struct Of {
        std::string_view name;
        std::string (*wrong)(const Parts&);
    };
    constexpr auto families = std::to_array<Of>({
        {"cp.", wrong_copy},
        {"st.async", wrong_store},
        {"red.async", wrong_store},
        {"tensormap.", wrong_map},
        {"multimem.", wrong_multimem},
        {"setmaxnreg.", wrong_registers},
    });
    const std::string name = name_of(i);
    for (const Of& family : families) {
        if (!name.starts_with(family.name)) continue;
        if (const std::optional<Parts> parts = parts_of(i)) s.error = family.wrong(*parts);
        return !s.error.empty();
    }
    return false;
}

}  // namespace lockwarp::isa
