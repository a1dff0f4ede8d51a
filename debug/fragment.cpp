// SPDX-License-Identifier: Apache-2.0
#include "debug/fragment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

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
    if (o.warpgroup != nullptr) return std::string(o.warpgroup->key());
    if (o.wmma != nullptr) return std::string(o.wmma->key);
    const std::string count = fmt::format(".x{}", o.vector[0].count);
    const char* const trans = o.mod.trans ? ".trans" : "";
    if (o.op == isa::Op::ldmatrix) return "ldmatrix" + count + trans;
    if (o.op == isa::Op::stmatrix) return "stmatrix" + count + trans;
    if (o.op == isa::Op::movmatrix) return "movmatrix.trans";
    return {};
}

// wgmma: D, and A where it is in registers, of four warps; the others where descriptors say.
std::vector<FragmentOperand> warpgroup_operands(const isa::Program& p, const isa::Operation& o,
                                                const lanes::Instruction& instruction) {
    std::vector<FragmentOperand> out;
    const isa::WarpgroupTypes& t = *o.warpgroup->types;
    const auto in_shared = [&](const char* name, Type type, unsigned rows, unsigned columns,
                               isa::Ref descriptor, bool transposed) {
        FragmentOperand one;
        one.layout.name = name;
        one.layout.type = type;
        one.layout.rows = rows;
        one.layout.columns = columns;
        one.descriptor = descriptor;
        one.transposed = transposed;
        out.push_back(std::move(one));
    };
    if (o.r[0] != isa::no_ref)
        in_shared("A", t.a, isa::warpgroup_rows, t.k, o.r[0], o.warpgroup_operands.transpose_a);
    else
        out.push_back({*lanes::operand_named(instruction, "A"), refs_of(p, o.vector[1])});
    in_shared("B", t.b, t.k, o.warpgroup->n, o.r[1], o.warpgroup_operands.transpose_b);
    for (const char* name : {"C", "D"})
        out.push_back({*lanes::operand_named(instruction, name), refs_of(p, o.vector[0])});
    return out;
}

// An element of such an operand: its address, and its bits; nullopt: nothing is there.
struct SharedElement {
    uint32_t address = 0;
    std::optional<uint64_t> bits;
};

SharedElement shared_element(const View& view, const FragmentOperand& o, unsigned row,
                             unsigned column) {
    const isa::MatrixDescriptor d =
        isa::decode_descriptor(view.slot_value(o.descriptor, Type::b64, 0).bits);
    const unsigned width = isa::bits(o.layout.type);
    const bool is_a = o.layout.name == "A";
    const unsigned line = is_a ? row : column, k = is_a ? column : row;
    SharedElement out{isa::element_address(d, o.transposed, width, line, k), std::nullopt};
    const unsigned bytes = std::max(1u, width / 8);
    const uint8_t* const at = view.bytes_at(ptx::Space::shared, out.address, bytes);
    if (at == nullptr) return out;
    uint64_t bits = 0;
    std::memcpy(&bits, at, bytes);
    if (width < 8) bits = bits >> (k * width % 8) & ((uint64_t{1} << width) - 1);
    out.bits = bits;
    return out;
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
    if (o.warpgroup != nullptr) {
        out.operands = warpgroup_operands(p, o, *found.instruction);
        return out;
    }
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
    View of_warp = view;
    if (o.layout.lanes > 32) {
        const uint32_t warp = view.warp->index / 4 * 4 + h.lane / 32;
        if (warp < view.cta->warps.size()) of_warp.warp = &view.cta->warps[warp];
    }
    const uint64_t whole = of_warp.slot_value(o.registers[h.reg], word, h.lane % 32).bits;
    const unsigned width = h.high - h.low + 1u;
    return width >= 64 ? whole : whole >> h.low & ((uint64_t{1} << width) - 1);
}

std::vector<uint64_t> matrix_of(const View& view, const FragmentOperand& o) {
    std::vector<uint64_t> out(size_t{o.layout.parts} * o.layout.rows * o.layout.columns);
    std::vector<bool> known(out.size());
    if (o.descriptor != isa::no_ref)
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = shared_element(view, o, static_cast<unsigned>(i / o.layout.columns),
                                    static_cast<unsigned>(i % o.layout.columns))
                         .bits.value_or(0);
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
                      const std::vector<std::string>& below, const std::vector<char>& marks,
                      const std::vector<std::string>& should) {
    constexpr size_t line = 98;
    std::vector<std::string> cells;
    size_t width = fmt::format("{}", columns).size();
    for (size_t i = 0; i < bits.size(); ++i) {
        cells.push_back(cell_text(type, bits[i]));
        if (i < marks.size() && marks[i] != 0) cells.back() += marks[i];
        width = std::max({width, cells[i].size(), below.empty() ? 0 : below[i].size(),
                          should.empty() ? 0 : should[i].size()});
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
            for (const std::vector<std::string>* const under : {&below, &should}) {
                std::string text(head, ' ');
                for (unsigned c = first; c < last && !under->empty(); ++c)
                    text += fmt::format(" {:>{}}", (*under)[size_t{r} * columns + c], width);
                if (text.find_first_not_of(' ') != std::string::npos) out += text + "\n";
            }
        }
    }
    return out;
}

namespace {

// The elements that are not what they should be: where they are, what they are.
std::string wrong_text(const FragmentOperand& o, const Should& s,
                       const std::vector<uint64_t>& now) {
    constexpr size_t max_shown = 8;
    const auto wrong = static_cast<size_t>(std::ranges::count(s.differs, true));
    if (wrong == 0) return fmt::format("As it should be: {}.\n", s.what);
    std::string out =
        fmt::format("It should be {}; {} of {} elements are not (!):\n", s.what, wrong, now.size());
    const lanes::Operand& l = o.layout;
    size_t shown = 0;
    std::vector<bool> told(now.size(), false);
    for (const lanes::Held& h : l.held) {
        const size_t at = (size_t{h.part} * l.rows + h.row) * l.columns + h.column;
        if (!s.differs[at] || told[at] || shown == max_shown) continue;
        told[at] = true;
        ++shown;
        out += fmt::format(
            "  lane {}, register {}[{}:{}]: {}{}, should be {}{}\n", h.lane, h.reg, h.high, h.low,
            s.is[at].empty() ? "" : s.is[at] + " = ", cell_text(l.type, now[at]),
            s.should[at].empty() ? "" : s.should[at] + " = ", cell_text(l.type, s.bits[at]));
    }
    if (wrong > shown) out += fmt::format("  and {} more\n", wrong - shown);
    return out;
}

}  // namespace

std::string fragment_text(const View& view, const Fragments& f, const FragmentOperand& o,
                          const std::vector<uint64_t>& before,
                          const std::optional<Should>& should) {
    const lanes::Operand& l = o.layout;
    const std::vector<uint64_t> now = matrix_of(view, o);
    const size_t each = size_t{l.rows} * l.columns;
    std::string out;
    size_t changed = 0;
    const bool any_wrong =
        should && std::ranges::find(should->differs, true) != should->differs.end();
    for (unsigned part = 0; part < l.parts; ++part) {
        std::vector<std::string> below(each), beside(any_wrong ? each : 0);
        std::vector<char> marks(each, 0);
        for (const lanes::Held& h : l.held) {
            const size_t at = size_t{h.row} * l.columns + h.column;
            if (h.part == part && below[at].empty())
                below[at] = fmt::format("{}:r{}", h.lane, h.reg);
        }
        for (size_t i = 0; i < each && o.descriptor != isa::no_ref; ++i)
            below[i] =
                fmt::format("{:#x}", shared_element(view, o, static_cast<unsigned>(i / l.columns),
                                                    static_cast<unsigned>(i % l.columns))
                                         .address);
        const auto begin = now.begin() + static_cast<std::ptrdiff_t>(part * each);
        const std::vector<uint64_t> bits(begin, begin + static_cast<std::ptrdiff_t>(each));
        for (size_t i = 0; i < each; ++i) {
            if (before.size() == now.size() && before[part * each + i] != bits[i]) {
                marks[i] = '*';
                ++changed;
            }
            if (!any_wrong || !should->differs[part * each + i]) continue;
            marks[i] = '!';
            beside[i] = "=" + cell_text(l.type, should->bits[part * each + i]);
        }
        if (l.parts > 1) out += fmt::format("{} {}\n", l.part_word, part);
        out += grid_text(l.type, l.rows, l.columns, bits, below, marks, beside);
    }
    std::string head = fmt::format(
        "{} of {}, line {}: {} x {} {}, below each element its {}", l.name, f.key,
        view.listing->line_of(f.operation), l.rows, l.columns, isa::row(l.type).name.substr(1),
        o.descriptor != isa::no_ref ? "address in shared memory" : "lane:register");
    if (any_wrong) head += " and what it should be";
    if (before.size() == now.size())
        head += changed == 0 ? "; unchanged since the last stop"
                             : fmt::format("; {} changed since the last stop (*)", changed);
    if (l.lanes > 32)
        head += fmt::format("\nlanes 0 to 127 are those of warps {} to {}",
                            view.warp->index / 4 * 4, view.warp->index / 4 * 4 + 3);
    return head + "\n" + out + (should ? wrong_text(o, *should, now) : std::string());
}

}  // namespace lockwarp::debug
