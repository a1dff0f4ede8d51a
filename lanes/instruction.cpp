// SPDX-License-Identifier: Apache-2.0
#include "lanes/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockwarp::lanes {

namespace {

using isa::Type;

enum class Wanted : uint8_t { none, all };

// What follows from the elements, and with `wanted` all of them.
void fill(Operand& o, const isa::Elements& elements, Wanted wanted) {
    o.rows = elements.rows;
    o.columns = elements.columns;
    o.parts = elements.matrices;
    o.values = elements.values();
    o.registers = elements.registers();
    o.register_bits = elements.register_bits();
    o.elements = elements;
    if (wanted == Wanted::none) return;
    for (const isa::Element e : elements)
        o.held.push_back({e.row, e.column, e.value, e.matrix, e.lane, e.reg, e.shift,
                          static_cast<uint8_t>(e.shift + elements.bits - 1)});
    std::ranges::sort(o.held, {}, [](const Held& h) { return std::tie(h.lane, h.part, h.value); });
}

Operand make_operand(std::string name, const isa::Elements& elements, Type type, Wanted wanted) {
    Operand o;
    o.name = std::move(name);
    o.type = type;
    fill(o, elements, wanted);
    return o;
}

// Metadata of a sparse A, for selector 0: four bits a group of A's row.
Operand metadata_operand(const isa::MmaVariant& v, Wanted wanted) {
    return make_operand("E", isa::metadata_elements(v), Type::u4, wanted);
}

// Factors, for byte-id 0 and thread-id 0: of A by (row, factor), of B by (factor, column).
Operand factor_operand(const isa::MmaVariant& v, bool of_b) {
    const isa::Elements elements = isa::factor_elements(v, of_b);
    Operand o = make_operand(of_b ? "SFB" : "SFA", of_b ? isa::transposed(elements) : elements,
                             v.scale, Wanted::all);
    o.registers = 1;
    o.elements = {};  // CuTe's layouts of them are of another kind
    return o;
}

std::string_view word(Type t) { return isa::row(t).name.substr(1); }

std::string upper(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

// "F32F16F16F32"; CuTe writes b1 as U1.
std::string cute_types(std::initializer_list<Type> types) {
    std::string out;
    for (const Type t : types) out += t == Type::b1 ? "U1" : upper(word(t));
    return out;
}

// CuTe has no operation for sparse products and none of these names for kinds.
std::string cute_name(const isa::MmaVariant& v) {
    if (v.sparse || v.kind != isa::MmaKind::none) return "";
    const char* orders = v.a_order == isa::Order::row ? (v.b_order == isa::Order::col ? "TN" : "TT")
                         : v.b_order == isa::Order::col ? "NN"
                                                        : "NT";
    if (v.c != v.d) return "";
    return fmt::format("SM{}_{}x{}x{}_{}_{}{}", v.target, v.m, v.n, v.k,
                       cute_types({v.d, v.a, v.b, v.c}), orders,
                       v.combine == isa::Combine::xor_   ? "_XORPOPC"
                       : v.combine == isa::Combine::and_ ? "_ANDPOPC"
                                                         : "");
}

std::string_view order_text(isa::Order o) { return o == isa::Order::row ? ".row" : ".col"; }

std::string ptx_text(const isa::MmaVariant& v) {
    return fmt::format("mma{}.sync.aligned.m{}n{}k{}{}{}{}{}{}{}{}{}{}{}{}",
                       !v.sparse   ? ""
                       : v.ordered ? ".sp::ordered_metadata"
                                   : ".sp",
                       v.m, v.n, v.k, order_text(v.a_order), order_text(v.b_order),
                       isa::text_of(v.kind), v.scales != 0 ? ".block_scale" : "",
                       isa::scale_vec_text(v.scales), isa::row(v.d).name, isa::row(v.a).name,
                       isa::row(v.b).name, isa::row(v.c).name,
                       v.combine == isa::Combine::xor_   ? ".xor.popc"
                       : v.combine == isa::Combine::and_ ? ".and.popc"
                                                         : "",
                       v.scales != 0 ? isa::row(v.scale).name : "");
}

Instruction from_mma(const isa::MmaVariant& v, Wanted wanted) {
    Instruction i;
    i.family = Family::mma;
    i.key = v.key;
    i.cute = cute_name(v);
    i.ptx = ptx_text(v);
    i.m = v.m;
    i.n = v.n;
    i.k = v.k;
    i.target = v.target;
    i.mma = &v;
    const auto add = [&](const char* name, isa::FragmentId f, Type type) {
        const isa::Elements e = isa::elements_of(isa::fragment(f), type, v.threads);
        Operand& o = i.operands.emplace_back(
            make_operand(name, *name == 'B' ? isa::transposed(e) : e, type, wanted));
        if (o.parts > 1) o.part_word = "quad-pair";
    };
    add("A", v.fragment_a, v.a);
    add("B", v.fragment_b, v.b);
    add("C", v.fragment_c, v.c);
    add("D", v.fragment_d, v.d);
    if (v.sparse) i.operands.push_back(metadata_operand(v, wanted));
    if (v.scales != 0) {
        i.operands.push_back(factor_operand(v, false));
        i.operands.push_back(factor_operand(v, true));
    }
    return i;
}

// No operands where the architecture's fragments are not known.
Instruction from_wmma(const isa::WmmaVariant& v, isa::Arch arch, Wanted wanted) {
    Instruction i;
    i.family = Family::wmma;
    i.key = v.key;
    i.ptx = fmt::format("wmma.mma{}.sync.aligned{}{}.m{}n{}k{}{}",
                        v.combine == isa::Combine::xor_   ? ".xor.popc"
                        : v.combine == isa::Combine::and_ ? ".and.popc"
                                                          : "",
                        order_text(v.a_order), order_text(v.b_order), v.m, v.n, v.k,
                        isa::row(v.d).name);
    if (v.ab != Type::f16) i.ptx += fmt::format("{}{}", isa::row(v.ab).name, isa::row(v.ab).name);
    i.ptx += isa::row(v.c).name;
    i.m = v.m;
    i.n = v.n;
    i.k = v.k;
    i.target = v.target;
    i.wmma = &v;
    const auto add = [&](const char* name, isa::WmmaOperand operand, Type type, isa::Order order) {
        if (const isa::WmmaFragment* f =
                isa::find_wmma_fragment(arch, v.m, v.n, v.k, operand, type, order))
            i.operands.push_back(make_operand(name,
                                              *name == 'B'
                                                  ? isa::transposed(isa::elements_of(*f, type))
                                                  : isa::elements_of(*f, type),
                                              type, wanted));
    };
    add("A", isa::WmmaOperand::a, v.ab, v.a_order);
    add("B", isa::WmmaOperand::b, v.ab, v.b_order);
    add("C", isa::WmmaOperand::accumulator, v.c, isa::Order::row);
    add("D", isa::WmmaOperand::accumulator, v.d, isa::Order::row);
    return i;
}

Instruction from_wgmma(const isa::WarpgroupVariant& v, Wanted wanted) {
    const isa::WarpgroupTypes& t = *v.types;
    const unsigned n = v.n;
    Instruction i;
    i.family = Family::wgmma;
    i.key = v.key();
    i.cute = fmt::format("SM90_64x{}x{}_{}_SS{}", n, t.k, cute_types({t.d, t.a, t.b}),
                         isa::bits(t.a) == 16 ? "" : "_TN");
    if (t.a == Type::b1) i.cute.clear();
    i.ptx = "wgmma.mma_async.sync.aligned" + i.key.substr(i.key.find('.'));
    i.m = isa::warpgroup_rows;
    i.n = n;
    i.k = t.k;
    i.target = 90;
    i.wgmma = &t;
    const auto add = [&](const char* name, const isa::Layout& layout, unsigned columns, Type type) {
        Operand& o = i.operands.emplace_back(
            make_operand(name, isa::warpgroup_elements(layout, columns, type), type, wanted));
        o.lanes = isa::warpgroup_lanes;
    };
    add("A", isa::warpgroup_a(isa::bits(t.a)), t.k, t.a);
    add("C", isa::warpgroup_accumulator(n), n, t.d);
    add("D", isa::warpgroup_accumulator(n), n, t.d);
    return i;
}

// The matrices that ldmatrix loads and stmatrix stores, by row and column as memory has them, and
// movmatrix's A and D.
Instruction from_move(Family family, unsigned matrices, bool trans) {
    Instruction i;
    i.family = family;
    i.matrices = matrices;
    i.trans = trans;
    i.m = i.n = 8;
    i.target = family == Family::stmatrix ? 90 : 75;
    const auto add = [&](const char* name, bool transposed) {
        const isa::Elements e = isa::moved_elements(matrices);
        Operand& o = i.operands.emplace_back(
            make_operand(name, transposed ? isa::transposed(e) : e, Type::b16, Wanted::all));
        if (matrices > 1) o.part_word = "matrix";
    };
    const std::string count = fmt::format(".x{}", matrices);
    const char* t = trans ? ".trans" : "";
    if (family == Family::movmatrix) {
        i.key = "movmatrix.trans";
        i.ptx = "movmatrix.sync.aligned.m8n8.trans.b16";
        add("A", false);
        add("D", false);
    } else if (family == Family::ldmatrix) {
        i.key = fmt::format("ldmatrix{}{}", count, t);
        i.ptx = fmt::format("ldmatrix.sync.aligned.m8n8{}{}.shared.b16", count, t);
        i.cute = trans ? fmt::format("SM75_U16x{}_LDSM_T", 2 * matrices)
                       : fmt::format("SM75_U32x{}_LDSM_N", matrices);
        add("D", trans);
    } else {
        i.key = fmt::format("stmatrix{}{}", count, t);
        i.ptx = fmt::format("stmatrix.sync.aligned.m8n8{}{}.shared.b16", count, t);
        i.cute = trans ? fmt::format("SM90_U16x{}_STSM_T", 2 * matrices)
                       : fmt::format("SM90_U32x{}_STSM_N", matrices);
        add("A", trans);
    }
    return i;
}

struct Move {
    Family family;
    unsigned matrices;
    bool trans;
    uint16_t target;
    std::string_view key;
};
constexpr auto moves = std::to_array<Move>({
    {Family::ldmatrix, 1, false, 75, "ldmatrix.x1"},
    {Family::ldmatrix, 2, false, 75, "ldmatrix.x2"},
    {Family::ldmatrix, 4, false, 75, "ldmatrix.x4"},
    {Family::ldmatrix, 1, true, 75, "ldmatrix.x1.trans"},
    {Family::ldmatrix, 2, true, 75, "ldmatrix.x2.trans"},
    {Family::ldmatrix, 4, true, 75, "ldmatrix.x4.trans"},
    {Family::stmatrix, 1, false, 90, "stmatrix.x1"},
    {Family::stmatrix, 2, false, 90, "stmatrix.x2"},
    {Family::stmatrix, 4, false, 90, "stmatrix.x4"},
    {Family::stmatrix, 1, true, 90, "stmatrix.x1.trans"},
    {Family::stmatrix, 2, true, 90, "stmatrix.x2.trans"},
    {Family::stmatrix, 4, true, 90, "stmatrix.x4.trans"},
    {Family::movmatrix, 1, true, 75, "movmatrix.trans"},
});

// The architecture to answer for; `error` where the one that was asked for lacks the instruction.
std::optional<isa::Arch> choose(std::string_view key, uint16_t target, isa::Suffix suffix,
                                std::optional<isa::Arch> arch, std::string& error) {
    const auto has = [&](const isa::ArchRow& a) { return isa::has(a, target, suffix); };
    if (arch && has(isa::row(*arch))) return arch;
    std::string names;
    for (const isa::ArchRow& a : isa::arch_rows)
        if (has(a)) names += fmt::format("{}{}", names.empty() ? "" : ", ", a.name);
    if (arch) {
        error = fmt::format("{} does not have {}; these do: {}", isa::row(*arch).name, key, names);
        return std::nullopt;
    }
    if (has(isa::row(isa::default_arch))) return isa::default_arch;
    return std::ranges::find_if(isa::arch_rows, has)->arch;
}

}  // namespace

const Operand* operand_named(const Instruction& i, std::string_view name) {
    const auto found = std::ranges::find(i.operands, name, &Operand::name);
    return found == i.operands.end() ? nullptr : &*found;
}

std::string operand_names(const Instruction& i) {
    std::string out;
    for (const Operand& o : i.operands) out += (out.empty() ? "" : ", ") + o.name;
    return out;
}

namespace {

// One row of the tables: what it takes to find and to build an instruction.
struct Row {
    std::string key;
    uint16_t target;
    isa::Suffix suffix = isa::Suffix::none;  // that .target must have for any machine to run it
    const isa::MmaVariant* mma = nullptr;
    const isa::WmmaVariant* wmma = nullptr;
    const Move* move = nullptr;
    const isa::WarpgroupVariant* wgmma = nullptr;
};

// Calls f(row) for every instruction, until it returns false.
void each_row(const auto& f) {
    for (const isa::MmaVariant& v : isa::mma_variants())
        if (!f(Row{.key = std::string(v.key), .target = v.target, .mma = &v})) return;
    for (const isa::WmmaVariant& v : isa::wmma_variants())
        if (!f(Row{.key = std::string(v.key), .target = v.target, .wmma = &v})) return;
    for (const Move& m : moves)
        if (!f(Row{.key = std::string(m.key), .target = m.target, .move = &m})) return;
    for (const isa::WarpgroupVariant& v : isa::warpgroup_variants())
        if (!f(Row{
                .key = std::string(v.key()), .target = 90, .suffix = isa::Suffix::a, .wgmma = &v}))
            return;
}

Instruction build(const Row& r, isa::Arch arch, Wanted wanted) {
    Instruction i = r.mma != nullptr    ? from_mma(*r.mma, wanted)
                    : r.wmma != nullptr ? from_wmma(*r.wmma, arch, wanted)
                    : r.move != nullptr ? from_move(r.move->family, r.move->matrices, r.move->trans)
                                        : from_wgmma(*r.wgmma, wanted);
    i.arch = arch;
    return i;
}

}  // namespace

std::vector<std::string> all_keys() {
    std::vector<std::string> keys;
    each_row([&](Row&& r) {
        keys.push_back(std::move(r.key));
        return true;
    });
    return keys;
}

Found make(std::string_view key, std::optional<isa::Arch> arch) {
    Found out;
    out.error = fmt::format("no instruction '{}'", key);
    each_row([&](const Row& r) {
        if (r.key != key) return true;
        out.error.clear();
        if (const auto chosen = choose(key, r.target, r.suffix, arch, out.error))
            out.instruction = build(r, *chosen, Wanted::all);
        return false;
    });
    return out;
}

std::vector<Instruction> all_instructions(std::optional<isa::Arch> arch) {
    std::vector<Instruction> out;
    each_row([&](const Row& r) {
        std::string error;
        if (const auto chosen = choose(r.key, r.target, r.suffix, arch, error))
            out.push_back(build(r, *chosen, Wanted::none));
        return true;
    });
    return out;
}

std::string text_of(const isa::Layout& l) {
    if (!l.text.empty()) return std::string(l.text);
    const auto modes = [](const std::array<isa::LayoutMode, 4>& list,
                          uint16_t isa::LayoutMode::*field) {
        size_t count = list.size();
        while (count > 1 && list[count - 1].shape == 1 && list[count - 1].stride == 0) --count;
        if (count == 1) return fmt::format("{}", list[0].*field);
        std::string out;
        for (size_t i = 0; i < count; ++i)
            out += fmt::format("{}{}", i == 0 ? "(" : ",", list[i].*field);
        return out + ")";
    };
    return fmt::format("({},{}):({},{})", modes(l.thread, &isa::LayoutMode::shape),
                       modes(l.value, &isa::LayoutMode::shape),
                       modes(l.thread, &isa::LayoutMode::stride),
                       modes(l.value, &isa::LayoutMode::stride));
}

std::vector<Held> owners(const Operand& o, unsigned row, unsigned column) {
    std::vector<Held> out;
    for (const Held& h : o.held)
        if (h.row == row && h.column == column) out.push_back(h);
    return out;
}

std::string element_name(const Operand& o, const Held& h) {
    std::string out = fmt::format("{}[{}][{}]", o.name, h.row, h.column);
    if (o.parts > 1) out += fmt::format(" of {} {}", o.part_word, h.part);
    return out;
}

std::string place_name(const Operand& o, const Held& h) {
    std::string letter = o.name;
    for (char& c : letter) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string bits = h.low == 0 && h.high + 1u == o.register_bits ? ""
                             : h.low == h.high ? fmt::format("[{}]", h.low)
                                               : fmt::format("[{}:{}]", h.high, h.low);
    const std::string lane = o.lanes == 32
                                 ? fmt::format("lane {}", h.lane)
                                 : fmt::format("warp {} lane {}", h.lane / 32, h.lane % 32);
    return fmt::format("{}{} = {}.r{}{} @ {}", letter, h.value, o.name, h.reg, bits, lane);
}

}  // namespace lockwarp::lanes
