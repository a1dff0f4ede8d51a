// SPDX-License-Identifier: Apache-2.0
#include "debug/fragment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "launch/values.hpp"

namespace lockwarp::debug {

using isa::Type;

const FragmentOperand* Fragments::find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        operands, [&](const FragmentOperand& o) { return o.layout.name == name; });
    return found == operands.end() ? nullptr : &*found;
}

namespace {

std::vector<isa::Ref> refs_of(const isa::Program& p, isa::VectorRef v) {
    return {p.pool.begin() + v.first, p.pool.begin() + v.first + v.count};
}

// wmma.load and wmma.store: one operand.
lanes::Operand wmma_operand(const isa::WmmaFragment& f) {
    using isa::WmmaOperand;
    lanes::Operand out;
    out.name = f.operand == WmmaOperand::a ? "A" : f.operand == WmmaOperand::b ? "B" : "D";
    out.type = f.type;
    out.elements = isa::elements_of(f, f.type);
    const isa::Elements shown =
        f.operand == WmmaOperand::b ? isa::transposed(out.elements) : out.elements;
    out.rows = shown.rows;
    out.columns = shown.columns;
    for (const isa::Element e : shown)
        out.held.push_back({e.row, e.column, e.value, e.matrix, e.lane, e.reg, e.shift,
                            static_cast<uint8_t>(e.shift + shown.bits - 1)});
    return out;
}

std::string key_of(const isa::Operation& o) {
    if (o.mma != nullptr) return std::string(o.mma->key);
    if (o.wmma != nullptr) return std::string(o.wmma->key);
    const std::string count = fmt::format(".x{}", o.vector[0].count);
    const char* const trans = o.mod.trans ? ".trans" : "";
    if (o.op == isa::Op::ldmatrix) return "ldmatrix" + count + trans;
    if (o.op == isa::Op::stmatrix) return "stmatrix" + count + trans;
    if (o.op == isa::Op::movmatrix) return "movmatrix.trans";
    return {};
}

std::optional<Fragments> fragments_of(const Listing& listing, uint32_t operation) {
    const isa::Program& p = listing.program();
    const isa::Operation& o = p.operations[operation];
    Fragments out;
    out.operation = operation;
    if (o.wmma_fragment != nullptr) {
        out.key = listing.opcode_of(operation);
        out.operands.push_back({wmma_operand(*o.wmma_fragment), refs_of(p, o.vector[0])});
        return out;
    }
    out.key = key_of(o);
    if (out.key.empty()) return std::nullopt;
    lanes::Found found = lanes::make(out.key, listing.arch());
    if (!found.instruction) return std::nullopt;
    constexpr std::array<std::string_view, 4> order{"D", "A", "B", "C"};
    for (const lanes::Operand& operand : found.instruction->operands) {
        FragmentOperand one{operand, {}};
        if (o.op == isa::Op::movmatrix) {
            one.registers = {o.r[operand.name == "D" ? 0 : 1]};
        } else if (o.mma == nullptr && o.wmma == nullptr) {
            one.registers = refs_of(p, o.vector[0]);
        } else {
            const auto n = std::ranges::find(order, operand.name);
            if (n == order.end()) continue;  // metadata and factors
            one.registers = refs_of(p, o.vector[static_cast<size_t>(n - order.begin())]);
        }
        if (one.registers.size() == operand.registers) out.operands.push_back(std::move(one));
    }
    if (o.mma != nullptr || o.wmma != nullptr) out.instruction = std::move(found.instruction);
    return out;
}

}  // namespace

std::optional<Fragments> fragments_at(const Listing& listing, uint32_t pc) {
    const isa::Function& f = listing.function_of(pc);
    for (uint32_t i = pc + 1; i-- > f.first;)
        if (std::optional<Fragments> found = fragments_of(listing, i)) return found;
    for (uint32_t i = pc; i < f.end; ++i)
        if (std::optional<Fragments> found = fragments_of(listing, i)) return found;
    return std::nullopt;
}

uint64_t element_bits(const View& view, const FragmentOperand& o, const lanes::Held& h) {
    const Type word = o.layout.register_bits == 64 ? Type::b64 : Type::b32;
    const uint64_t whole = view.slot_value(o.registers[h.reg], word, h.lane).bits;
    const unsigned width = h.high - h.low + 1u;
    return width >= 64 ? whole : whole >> h.low & ((uint64_t{1} << width) - 1);
}

std::vector<uint64_t> matrix_of(const View& view, const FragmentOperand& o) {
    std::vector<uint64_t> out(size_t{o.layout.parts} * o.layout.rows * o.layout.columns);
    std::vector<bool> known(out.size());
    for (const lanes::Held& h : o.layout.held) {
        const size_t at = (size_t{h.part} * o.layout.rows + h.row) * o.layout.columns + h.column;
        if (known[at]) continue;
        known[at] = true;
        out[at] = element_bits(view, o, h);
    }
    return out;
}

std::string cell_text(Type type, uint64_t bits) {
    if (!isa::is_float(type)) {
        if (isa::row(type).kind == isa::Kind::bits) return launch::hex_of(type, bits);
        return launch::text_of(type, bits, -1);
    }
    std::string shortest = launch::text_of(type, bits, -1);
    if (shortest.size() <= 8) return shortest;
    return fmt::format("{:.5g}", launch::value_of(type, bits));
}

std::string grid_text(Type type, unsigned rows, unsigned columns, const std::vector<uint64_t>& bits,
                      const std::vector<std::string>& below, const std::vector<bool>& marked) {
    constexpr size_t line = 98;
    std::vector<std::string> cells;
    size_t width = fmt::format("{}", columns).size();
    for (size_t i = 0; i < bits.size(); ++i) {
        cells.push_back(cell_text(type, bits[i]) + (i < marked.size() && marked[i] ? "*" : ""));
        width = std::max({width, cells[i].size(), below.empty() ? 0 : below[i].size()});
    }
    const size_t head = fmt::format("{}", rows).size() + 1;
    auto block = static_cast<unsigned>(
        std::clamp<size_t>((line - head) / (width + 1), 1, std::max(columns, 1u)));
    if (block < columns) block = std::bit_floor(block);
    std::string out;
    for (unsigned first = 0; first < columns; first += block) {
        const unsigned last = std::min(columns, first + block);
        out += std::string(head, ' ');
        for (unsigned c = first; c < last; ++c) out += fmt::format(" {:>{}}", c, width);
        out += '\n';
        for (unsigned r = 0; r < rows; ++r) {
            out += fmt::format("{:>{}}", r, head);
            for (unsigned c = first; c < last; ++c)
                out += fmt::format(" {:>{}}", cells[size_t{r} * columns + c], width);
            out += '\n';
            if (below.empty()) continue;
            out += std::string(head, ' ');
            for (unsigned c = first; c < last; ++c)
                out += fmt::format(" {:>{}}", below[size_t{r} * columns + c], width);
            out += '\n';
        }
    }
    return out;
}

std::string fragment_text(const View& view, const Fragments& f, const FragmentOperand& o,
                          const std::vector<uint64_t>& before) {
    const lanes::Operand& l = o.layout;
    const std::vector<uint64_t> now = matrix_of(view, o);
    const size_t each = size_t{l.rows} * l.columns;
    std::string out;
    size_t changed = 0;
    for (unsigned part = 0; part < l.parts; ++part) {
        std::vector<std::string> below(each);
        std::vector<bool> marked(each, false);
        for (const lanes::Held& h : l.held) {
            const size_t at = size_t{h.row} * l.columns + h.column;
            if (h.part == part && below[at].empty())
                below[at] = fmt::format("{}:r{}", h.lane, h.reg);
        }
        const auto begin = now.begin() + static_cast<std::ptrdiff_t>(part * each);
        const std::vector<uint64_t> bits(begin, begin + static_cast<std::ptrdiff_t>(each));
        for (size_t i = 0; i < each && before.size() == now.size(); ++i)
            if (before[part * each + i] != bits[i]) {
                marked[i] = true;
                ++changed;
            }
        if (l.parts > 1) out += fmt::format("{} {}\n", l.part_word, part);
        out += grid_text(l.type, l.rows, l.columns, bits, below, marked);
    }
    std::string head = fmt::format(
        "{} of {}, line {}: {} x {} {}, below each element its lane:register", l.name, f.key,
        view.listing->line_of(f.operation), l.rows, l.columns, isa::row(l.type).name.substr(1));
    if (before.size() == now.size())
        head += changed == 0 ? "; unchanged since it was shown"
                             : fmt::format("; {} changed since it was shown (*)", changed);
    return head + "\n" + out;
}

}  // namespace lockwarp::debug
