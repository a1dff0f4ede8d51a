// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/elements.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "emu/ptx/parser.hpp"

namespace lockwarp::ptx {

namespace {

constexpr std::string_view address_name = "%lockwarp_element", index_name = "%lockwarp_index";

// By name; a range of registers by what stands before its numbers.
struct Scope {
    std::unordered_map<std::string_view, const Variable*> names, ranges;

    void add(const Variable& v) { (v.range == 0 ? names : ranges).emplace(v.name, &v); }
};

struct Lowering {
    std::vector<Diagnostic>& diagnostics;
    std::vector<Scope> scopes;

    void report(Place place, std::string message, std::string hint = {}) {
        if (diagnostics.size() < max_diagnostics)
            diagnostics.push_back({place, std::move(message), std::move(hint)});
    }
};

// Of ".u64" 64, of ".f16x2" 32; 0 of ".texref" and ".pred".
uint32_t bits_of(std::string_view type) {
    const size_t first = type.find_first_of("0123456789");
    if (first == type.npos) return 0;
    uint32_t bits = 0, lanes = 1;
    const char* const end = type.data() + type.size();
    const char* const behind = std::from_chars(type.data() + first, end, bits).ptr;
    if (behind != end && *behind == 'x') std::from_chars(behind + 1, end, lanes);
    return bits * lanes;
}

const Variable* find(const Scope& scope, std::string_view name) {
    if (const auto at = scope.names.find(name); at != scope.names.end()) return at->second;
    constexpr size_t longest_number = 7;  // largest_range
    for (size_t digits = 1; digits <= std::min(longest_number, name.size()); ++digits) {
        const std::string_view number = name.substr(name.size() - digits);
        if (number[0] < '0' || number[0] > '9') break;
        const auto at = scope.ranges.find(name.substr(0, name.size() - digits));
        uint32_t value = 0;
        std::from_chars(number.data(), number.data() + number.size(), value);
        if (at != scope.ranges.end() && value < at->second->range) return at->second;
    }
    return nullptr;
}

const Variable* find(const Lowering& l, std::string_view name) {
    for (size_t i = l.scopes.size(); i-- > 0;)
        if (const Variable* const v = find(l.scopes[i], name)) return v;
    return nullptr;
}

Operand named(std::string_view name, Place place, int64_t offset = 0) {
    Operand out;
    out.kind = OperandKind::name;
    out.place = place;
    out.text = name;
    out.offset = offset;
    return out;
}

Operand integer(uint64_t bits, Place place) {
    Operand out;
    out.kind = OperandKind::integer;
    out.place = place;
    out.bits = bits;
    return out;
}

Operand address(std::string_view name, Place place, int64_t offset = 0) {
    Operand out;
    out.kind = OperandKind::address;
    out.place = place;
    out.offset = offset;
    out.items = {named(name, place)};
    return out;
}

Statement instruction(Place place, std::string_view opcode, std::vector<std::string_view> modifiers,
                      std::vector<Operand> operands) {
    Instruction out;
    out.place = place;
    out.opcode = opcode;
    for (const std::string_view m : modifiers) out.modifiers.push_back({std::string(m), place});
    out.operands = std::move(operands);
    return {std::move(out)};
}

Statement declaration(Place place, std::string_view type, std::string_view name) {
    Variable out;
    out.place = place;
    out.space = Space::reg;
    out.type = type;
    out.name = name;
    return {std::move(out)};
}

bool is_access(const Instruction& i) {
    return i.opcode == "ld" || i.opcode == "ldu" || i.opcode == "st";
}

// What leaves the element's address in address_name, as statements of a block.
void compute(std::vector<Statement>& out, const Operand& element, const Variable& index,
             uint32_t bytes) {
    const Place place = element.place;
    const Operand from = named(element.items[0].text, place), i = named(index_name, place);
    const uint32_t bits = bits_of(index.type);
    out.push_back(declaration(place, ".b64", address_name));
    out.push_back(declaration(place, ".b32", index_name));
    if (bits == 64)
        out.push_back(instruction(place, "cvt", {".u32", ".u64"}, {i, from}));
    else if (bits == 32)
        out.push_back(instruction(place, "mov", {".b32"}, {i, from}));
    else
        out.push_back(instruction(
            place, "cvt", {".u32", index.type.starts_with(".s") ? ".s16" : ".u16"}, {i, from}));
    if (element.offset != 0)
        out.push_back(instruction(place, "add", {".u32"},
                                  {i, i, integer(static_cast<uint32_t>(element.offset), place)}));
    const Operand to = named(address_name, place);
    out.push_back(instruction(place, "mov", {".u64"}, {to, named(element.text, place)}));
    out.push_back(instruction(place, "mad", {".wide", ".u32"}, {to, i, integer(bytes, place), to}));
}

// A 32-bit mov of an address leaves its low half.
bool is_short_mov(const Instruction& i) {
    return i.opcode == "mov" && !i.modifiers.empty() && bits_of(i.modifiers.back().text) == 32;
}

// Lowers the operand; what comes before the instruction is in `before`.
void lower(Lowering& l, Instruction& i, Operand& operand, std::vector<Statement>& before) {
    const Operand element = operand;
    const auto wrong = [&](std::string message, std::string hint = {}) {
        l.report(element.place, std::move(message), std::move(hint));
        operand = named(element.text, element.place);
    };
    const Variable* const array = find(l, element.text);
    const uint32_t bytes = array == nullptr ? 0 : bits_of(array->type) / 8;
    if (bytes == 0 || array->dims.empty()) return wrong("Array indexing on non-array");
    const bool access = is_access(i), first = element.items.empty() && element.offset == 0;
    if (!access && !first && i.opcode != "mov" && i.opcode != "cvta")
        return wrong("an array element is not an operand of '" + i.opcode.substr(0, 48) + "'",
                     "move its address to a register, and use that");
    if (element.items.empty()) {
        const auto offset = static_cast<int64_t>(static_cast<uint64_t>(element.offset) * bytes);
        operand = access ? address(element.text, element.place, offset)
                         : named(element.text, element.place, offset);
        return;
    }
    const Variable* const index = find(l, element.items[0].text);
    if (index == nullptr || index->space != Space::reg || index->type.starts_with(".f") ||
        bits_of(index->type) < 16 || bits_of(index->type) > 64)
        return wrong("an array's index is a register of 16, 32 or 64 bits, or a constant");
    if (!before.empty()) return wrong("two array elements in one instruction");
    compute(before, element, *index, bytes);
    operand = access ? address(address_name, element.place) : named(address_name, element.place);
    if (is_short_mov(i)) {
        i.opcode = "cvt";
        i.modifiers = {{".u32", i.place}, {".u64", i.place}};
    }
}

// Those of vectors and lists of arguments: the first of an array alone is one there.
void lower_items(Lowering& l, Instruction& i, Operand& operand) {
    for (Operand& o : operand.items) {
        if (o.kind != OperandKind::element) {
            lower_items(l, i, o);
            continue;
        }
        std::vector<Statement> before;
        const Place place = o.place;
        const bool first = o.items.empty() && o.offset == 0;
        lower(l, i, o, before);
        if (!first)
            l.report(place, "an array element is not an operand in a list");
        else if (o.kind == OperandKind::address)
            o = Operand(o.items[0]);
    }
}

void lower(Lowering& l, std::vector<Statement>& body) {
    l.scopes.emplace_back();
    for (Statement& s : body) {
        if (const auto* v = std::get_if<Variable>(&s.node)) l.scopes.back().add(*v);
        if (auto* block = std::get_if<Block>(&s.node)) lower(l, block->body);
        auto* const i = std::get_if<Instruction>(&s.node);
        if (i == nullptr) continue;
        std::vector<Statement> before;
        for (Operand& o : i->operands)
            if (o.kind == OperandKind::element)
                lower(l, *i, o, before);
            else
                lower_items(l, *i, o);
        if (before.empty()) continue;
        Block block;
        block.place = block.end = i->place;
        block.body = std::move(before);
        block.body.push_back({std::move(*i)});
        s.node = std::move(block);
    }
    l.scopes.pop_back();
}

}  // namespace

void lower_elements(Module& module, std::vector<Diagnostic>& diagnostics) {
    Lowering l{diagnostics, {}};
    l.scopes.emplace_back();
    for (auto& item : module.items) {
        if (const auto* v = std::get_if<Variable>(&item)) l.scopes.back().add(*v);
        auto* const f = std::get_if<Function>(&item);
        if (f == nullptr) continue;
        l.scopes.emplace_back();
        for (const Variable& v : f->results) l.scopes.back().add(v);
        for (const Variable& v : f->parameters) l.scopes.back().add(v);
        lower(l, f->body.body);
        l.scopes.pop_back();
    }
}

}  // namespace lockwarp::ptx
