// SPDX-License-Identifier: Apache-2.0
#include "launch/parameter_uses.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace lockwarp::launch {

namespace {

void each_instruction(const ptx::Block& block,
                      const std::function<void(const ptx::Instruction&)>& f) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node)) f(*i);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) each_instruction(*inner, f);
    }
}

bool has(const ptx::Instruction& i, std::string_view modifier) {
    return std::ranges::find(i.modifiers, modifier, &ptx::Modifier::text) != i.modifiers.end();
}

// The name in "[name+4]"; nullptr: another operand.
const ptx::Operand* base_of(const ptx::Operand& o) {
    const bool named = o.kind == ptx::OperandKind::address && !o.items.empty() &&
                       o.items[0].kind == ptx::OperandKind::name;
    return named ? &o.items[0] : nullptr;
}

// ld.param. Nothing else has the address of a parameter behind what it writes.
bool loads_parameter(const ptx::Instruction& i, const std::function<bool(const std::string&)>& is) {
    const ptx::Operand* const base = i.operands.size() == 2 ? base_of(i.operands[1]) : nullptr;
    return base != nullptr && is(base->text) && (has(i, ".param") || has(i, ".param::entry"));
}

// Registers that hold addresses of global memory: what cvta.to.global takes, and what loads and
// stores of global memory go through; and what those were moved from or added to.
std::set<std::string> address_registers(const ptx::Function& entry) {
    std::set<std::string> out;
    for (size_t before = SIZE_MAX; before != out.size();) {
        before = out.size();
        each_instruction(entry.body, [&](const ptx::Instruction& i) {
            if (has(i, ".global"))
                for (const ptx::Operand& o : i.operands)
                    if (const ptx::Operand* base = base_of(o)) out.insert(base->text);
            if (i.operands.size() < 2) return;
            const std::string &to = i.operands[0].text, &from = i.operands[1].text;
            if (i.opcode == "cvta") out.insert(from);
            const bool passes = i.opcode == "mov" || i.opcode == "add";
            if (passes && !to.empty() && out.contains(to)) out.insert(from);
        });
    }
    return out;
}

// Bits have no sign and no point: u32 is what people write.
isa::Type shown_type(isa::Type t) {
    if (isa::row(t).kind != isa::Kind::bits) return t;
    const unsigned bits = isa::bits(t);
    return bits == 8    ? isa::Type::u8
           : bits == 16 ? isa::Type::u16
           : bits == 32 ? isa::Type::u32
                        : isa::Type::u64;
}

// A parameter's address and a constant.
struct InParameter {
    std::string parameter;
    uint64_t at = 0;
    friend bool operator==(const InParameter&, const InParameter&) = default;
};
using Addresses = std::map<std::string, InParameter, std::less<>>;  // by register

// What mov, cvta and add of a constant make of addresses; a register that has two of them is left
// out.
Addresses parameter_addresses(const ptx::Function& entry) {
    Addresses out;
    for (const ptx::Variable& p : entry.parameters) out.emplace(p.name, InParameter{p.name, 0});
    std::set<std::string> ambiguous;
    for (size_t before = SIZE_MAX; before != out.size();) {
        before = out.size();
        each_instruction(entry.body, [&](const ptx::Instruction& i) {
            const bool moves = i.opcode == "mov" || i.opcode == "cvta" || i.opcode == "add";
            if (!moves || i.operands.size() < 2) return;
            const auto from = out.find(i.operands[1].text);
            if (from == out.end()) return;
            InParameter to = from->second;
            to.at += static_cast<uint64_t>(i.operands[1].offset);
            if (i.opcode == "add") {
                if (i.operands.size() < 3 || i.operands[2].kind != ptx::OperandKind::integer)
                    return;
                to.at += i.operands[2].bits;
            }
            const auto known = out.emplace(i.operands[0].text, to).first;
            if (known->second != to) ambiguous.insert(known->first);
        });
    }
    for (const std::string& name : ambiguous) out.erase(name);
    return out;
}

struct DimensionRow {
    std::string_view text;
    uint32_t dimensions;
};
constexpr std::array dimension_rows{DimensionRow{".1d", 1}, DimensionRow{".2d", 2},
                                    DimensionRow{".3d", 3}, DimensionRow{".4d", 4},
                                    DimensionRow{".5d", 5}};
constexpr std::array<std::string_view, 7> modes{
    ".tile",      ".tile::gather4",  ".tile::scatter4", ".im2col",
    ".im2col::w", ".im2col::w::128", ".im2col_no_offs"};

TensorMapUse described(const ptx::Instruction& i) {
    TensorMapUse out;
    out.instruction = i.opcode;
    out.place = i.place;
    for (const ptx::Modifier& m : i.modifiers) {
        out.instruction += m.text;
        const auto row = std::ranges::find(dimension_rows, m.text, &DimensionRow::text);
        if (row != dimension_rows.end()) out.dimensions = row->dimensions;
        if (std::ranges::find(modes, m.text) != modes.end()) out.mode = m.text;
    }
    if (out.dimensions != 0 && out.mode.empty()) out.mode = modes[0];
    return out;
}

}  // namespace

std::vector<ReadField> read_fields(const ptx::Function& entry, const std::string& parameter) {
    std::vector<ReadField> out;
    const std::set<std::string> addresses = address_registers(entry);
    // Registers that hold the parameter's own address.
    std::set<std::string> names{parameter};
    each_instruction(entry.body, [&](const ptx::Instruction& i) {
        if (i.opcode == "mov" && i.operands.size() == 2 && i.operands[1].text == parameter &&
            i.operands[1].offset == 0)
            names.insert(i.operands[0].text);
    });
    each_instruction(entry.body, [&](const ptx::Instruction& i) {
        if (!loads_parameter(i, [&](const std::string& name) { return names.contains(name); }))
            return;
        const ptx::Operand& from = i.operands[1];
        if (from.offset < 0) return;
        ReadField f;
        f.at = static_cast<uint64_t>(from.offset);
        for (const ptx::Modifier& m : i.modifiers) {
            if (m.text == ".v2") f.count = 2;
            if (m.text == ".v4") f.count = 4;
            if (const isa::Type t = isa::type_named(m.text); t != isa::Type::none) {
                f.type = shown_type(t);
                if (isa::bits(t) == 128) f.count *= 2;
            }
        }
        if (f.type == isa::Type::none) return;
        f.pointer =
            isa::bits(f.type) == 64 && f.count == 1 && addresses.contains(i.operands[0].text);
        out.push_back(f);
    });
    // Of those that begin together the longest.
    std::ranges::stable_sort(out, {}, [](const ReadField& f) {
        return std::pair(f.at, ~(isa::bits(f.type) * f.count));
    });
    uint64_t end = 0;
    std::erase_if(out, [&](const ReadField& f) {
        if (f.at < end) return true;
        end = f.at + isa::bits(f.type) / 8 * f.count;
        return false;
    });
    return out;
}

bool is_only_stored_through(const ptx::Function& entry, const std::string& parameter) {
    std::set<std::string> tainted;  // registers that are made from it
    const std::function<bool(const ptx::Operand&)> is_tainted = [&](const ptx::Operand& o) {
        return tainted.contains(o.text) || std::ranges::any_of(o.items, is_tainted);
    };
    const std::function<void(const ptx::Operand&)> taint = [&](const ptx::Operand& o) {
        if (!o.text.empty()) tainted.insert(o.text);
        for (const ptx::Operand& item : o.items) taint(item);
    };
    bool stored = false, otherwise = false;
    const auto look = [&](const ptx::Instruction& i) {
        if (i.operands.empty()) return;
        const std::span sources = std::span(i.operands).subspan(1);
        const bool of_parameter =
            loads_parameter(i, [&](const std::string& name) { return name == parameter; });
        const bool takes_address =
            !of_parameter && std::ranges::any_of(sources, [&](const ptx::Operand& o) {
                return o.text == parameter ||
                       (base_of(o) != nullptr && base_of(o)->text == parameter);
            });
        otherwise |= takes_address;
        if (of_parameter) return taint(i.operands[0]);
        const bool any = std::ranges::any_of(sources, is_tainted);
        if (i.opcode == "st" || has(i, ".store")) {
            stored |= is_tainted(i.operands[0]);
            otherwise |= any;
            return;
        }
        const bool computes = std::ranges::none_of(
            i.operands, [](const ptx::Operand& o) { return o.kind == ptx::OperandKind::address; });
        if (any && computes && i.opcode != "call") return taint(i.operands[0]);
        otherwise |= any || (!computes && is_tainted(i.operands[0]));
    };
    for (size_t before = SIZE_MAX; before != tainted.size() && !otherwise;) {
        before = tainted.size();
        each_instruction(entry.body, look);
    }
    return stored && !otherwise;
}

std::vector<TensorMapUse> tensor_map_uses(const ptx::Function& entry) {
    std::vector<TensorMapUse> out;
    const Addresses addresses = parameter_addresses(entry);
    each_instruction(entry.body, [&](const ptx::Instruction& i) {
        if (!has(i, ".tensor") && !has(i, ".tensormap")) return;
        for (const ptx::Operand& o : i.operands) {
            const ptx::Operand* const base = base_of(o);
            const auto found = base == nullptr ? addresses.end() : addresses.find(base->text);
            if (found == addresses.end()) continue;
            TensorMapUse use = described(i);
            use.parameter = found->second.parameter;
            use.at = found->second.at + static_cast<uint64_t>(o.offset);
            out.push_back(std::move(use));
        }
    });
    return out;
}

}  // namespace lockwarp::launch
