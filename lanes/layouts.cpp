// SPDX-License-Identifier: Apache-2.0
// Layouts as CuTe writes them, beside each other, and one operand's registers as another's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lanes/parts.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes {

namespace {

// The layout that CuTe gives B of a warpgroup, and A in shared memory: no thread holds an element.
std::string shared_layout(unsigned rows, unsigned k) {
    return fmt::format("({},({},{})):(0,(1,{}))", isa::warpgroup_lanes, rows, k, rows);
}

std::string thread_layout(const Instruction& i) {
    if (i.family == Family::wgmma) return "128:1";
    if (!i.operands.empty() && i.operands[0].elements.threads == isa::Threads::quad_pairs)
        return "(4,2):(1,16)";
    return "32:1";
}

// ldmatrix and stmatrix as CuTe's copies: (thread, bit) -> bit, of memory and of registers.
struct CopyLayouts {
    std::string memory, registers;
};
CopyLayouts copy_layouts(const Instruction& i) {
    constexpr auto memory = std::to_array<std::string_view>(
        {"((8,4),128):((128,0),1)", "((16,2),128):((128,0),1)", "(32,128):(128,1)"});
    constexpr auto plain = std::to_array<std::string_view>(
        {"(32,32):(32,1)", "(32,(32,2)):(32,(1,1024))", "(32,(32,4)):(32,(1,1024))"});
    constexpr auto transposed = std::to_array<std::string_view>(
        {"((4,8),(16,2)):((256,16),(1,128))", "((4,8),(16,2,2)):((256,16),(1,128,1024))",
         "((4,8),(16,2,4)):((256,16),(1,128,1024))"});
    const size_t at = i.matrices == 1 ? 0 : i.matrices == 2 ? 1 : 2;
    return {std::string(memory[at]), std::string((i.trans ? transposed : plain)[at])};
}

}  // namespace

Answer layout(const Instruction& i, std::string_view name) {
    Answer out;
    out.svg = [i] { return picture(i, ""); };
    const bool copy = i.family == Family::ldmatrix || i.family == Family::stmatrix;
    Grid g;
    g.header = {"", "(T,V) ->", "layout"};
    out.data = json{{"name", name}};
    if (copy) {
        const CopyLayouts l = copy_layouts(i);
        const bool load = i.family == Family::ldmatrix;
        out.line = fmt::format("{}: source {}, destination {}", name, load ? l.memory : l.registers,
                               load ? l.registers : l.memory);
        out.data["thr_id"] = "32:1";
        out.data["src"] = load ? l.memory : l.registers;
        out.data["dst"] = load ? l.registers : l.memory;
        g.rows.push_back({"src", "bit", load ? l.memory : l.registers});
        g.rows.push_back({"dst", "bit", load ? l.registers : l.memory});
        out.notes.emplace_back(
            "Bits, counted row by row of 128 bits through the 8x8 matrices in memory.");
        out.grids.push_back(std::move(g));
        return out;
    }
    out.data["shape"] = i.k == 0 ? json{i.m, i.n} : json{i.m, i.n, i.k};
    const std::string threads = thread_layout(i);
    out.data["thr_id"] = threads;
    g.rows.push_back({"ThrID", "lane", threads});
    for (const Operand& o : i.operands) {
        if (o.name == "D" && i.family != Family::movmatrix) continue;  // as C
        if (o.elements.layout.threads() <= 1) continue;
        std::string text = text_of(o.elements.layout);
        const bool steps = o.parts == 1 && o.elements.threads == isa::Threads::quad_pairs;
        if (steps)
            text += fmt::format(
                " + quad-pair (2,2):({},{})",
                o.elements.row_step[0] + o.elements.layout_rows * o.elements.column_step[0],
                o.elements.row_step[1] + o.elements.layout_rows * o.elements.column_step[1]);
        if (o.name == "A" && i.family == Family::wgmma) {
            // As CuTe's _SS operations have it; from registers by _RS.
            const std::string shared = shared_layout(i.m, i.k);
            const bool registers = name.find("_RS") != std::string_view::npos;
            out.data["A"] = registers ? text : shared;
            out.data["B"] = shared_layout(i.n, i.k);
            g.rows.push_back({"A (_RS)", "(m,k)", text});
            g.rows.push_back({"A (_SS)", "(m,k)", shared});
            g.rows.push_back({"B", "(n,k)", shared_layout(i.n, i.k)});
            continue;
        }
        out.data[o.name] = text;
        g.rows.push_back({o.name,
                          o.name == "A"   ? "(m,k)"
                          : o.name == "B" ? "(n,k)"
                                          : "(m,n)",
                          text});
    }
    const Operand* c = operand_named(i, "C");
    const Operand* d = operand_named(i, "D");
    if (c != nullptr && d != nullptr &&
        text_of(c->elements.layout) != text_of(d->elements.layout)) {
        out.data["D"] = text_of(d->elements.layout);
        g.rows.push_back({"D", "(m,n)", text_of(d->elements.layout)});
    }
    std::string line;
    for (const auto& row : g.rows)
        if (row[0] != "ThrID")
            line += fmt::format("{}{} {}", line.empty() ? "" : "  ", row[0], row[2]);
    out.line = fmt::format("{}: {}", name, g.rows.back()[2]);
    if (c != nullptr) out.line = fmt::format("{}: C {}", name, text_of(c->elements.layout));
    out.notes.emplace_back(
        "index = row + rows * column of (m,k), (n,k) or (m,n); a mode's leftmost number runs "
        "fastest. The first mode is the thread, the second the value in the order of its "
        "registers.");
    if (name.find("C64C64C64") != std::string_view::npos)
        out.notes.push_back("Each value is a complex<double>, where that of " + i.cute +
                            " is a double.");
    else if (!i.cute.empty() && i.cute != name)
        out.notes.push_back("CuTe: " + i.cute);
    out.grids.push_back(std::move(g));
    return out;
}

Answer layout_difference(const Instruction& x, const Instruction& y) {
    Answer out;
    const auto name = [](const Instruction& i) {
        return fmt::format("{} on {}", i.key, isa::row(i.arch).name);
    };
    Grid g;
    g.header = {"", "first", "second", ""};
    out.lines = {"first:  " + name(x), "second: " + name(y)};
    json list = json::array();
    size_t different = 0;
    for (const Operand& a : x.operands) {
        const Operand* b = operand_named(y, a.name);
        if (b == nullptr) continue;
        const auto key = [](const Held& h) {
            return std::tuple(h.row, h.column, h.part, h.lane, h.reg, h.low, h.high);
        };
        std::set<decltype(key(a.held[0]))> mine;
        std::set<decltype(key(a.held[0]))> theirs;
        for (const Held& h : a.held) mine.insert(key(h));
        for (const Held& h : b->held) theirs.insert(key(h));
        const bool same = mine == theirs;
        std::string first;
        if (!same) {
            ++different;
            // The first element that lies elsewhere.
            for (const Held& h : a.held)
                if (!theirs.contains(key(h))) {
                    const std::vector<Held> there = owners(*b, h.row, h.column);
                    first = fmt::format("{}: {}; {}", element_name(a, h), place_name(a, h),
                                        there.empty() ? "nowhere" : place_name(*b, there[0]));
                    break;
                }
            if (first.empty()) first = "the second has more owners";
        }
        g.rows.push_back({a.name, text_of(a.elements.layout), text_of(b->elements.layout),
                          same ? "the same" : "differ"});
        if (!first.empty()) out.notes.push_back(first);
        list.push_back({{"operand", a.name}, {"same", same}, {"first_difference", first}});
    }
    out.line = different == 0
                   ? fmt::format("the same: all {} operands lie alike", g.rows.size())
                   : fmt::format("{} of {} operands lie differently", different, g.rows.size());
    out.data = {{"x", name(x)}, {"y", name(y)}, {"different", different}, {"operands", list}};
    out.grids.push_back(std::move(g));
    return out;
}

Answer compatible(const Instruction& x, std::string_view from, const Instruction& y,
                  std::string_view to) {
    Answer out;
    const Operand* source = needed(x, from, out);
    if (source == nullptr) return out;
    const Operand* target = needed(y, to, out);
    if (target == nullptr) return out;
    // The coordinates agree, C (m, n) as A (m, k): n is the next product's k. As B (k, n): m is.
    const auto text = fmt::format("{} of {} as {} of {}", from, x.key, to, y.key);
    if (source->lanes != target->lanes || source->parts != target->parts)
        return wrong(fmt::format("{}: one is for {} lanes, the other for {}", text, source->lanes,
                                 target->lanes));
    if (source->rows != target->rows)
        return wrong(fmt::format("{}: {} rows are not {}", text, source->rows, target->rows));
    // Tiles of the source side by side, or of the target: as many of each as fill the other.
    const unsigned width = std::max(source->columns, target->columns);
    const unsigned sources = width / source->columns;
    const unsigned targets = width / target->columns;
    if (sources * source->columns != width || targets * target->columns != width)
        return wrong(fmt::format("{}: {} columns and {} do not fit", text, source->columns,
                                 target->columns));
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::set<std::pair<unsigned, unsigned>>> at;
    for (unsigned tile = 0; tile < sources; ++tile)
        for (const Held& h : source->held)
            at[{h.part, h.row, h.column + tile * source->columns}].insert(
                {h.lane, h.value + tile * source->values});
    bool in_lane = true;
    bool identity = true;
    std::map<unsigned, std::set<unsigned>>
        order;  // of target value -> source values over the lanes
    std::string first;
    for (unsigned tile = 0; tile < targets; ++tile)
        for (const Held& h : target->held) {
            const auto& owners_there = at[{h.part, h.row, h.column + tile * target->columns}];
            const unsigned value = h.value + tile * target->values;
            const auto mine = std::ranges::find_if(
                owners_there, [&](const auto& p) { return p.first == h.lane; });
            if (mine == owners_there.end()) {
                if (in_lane && !owners_there.empty())
                    first = fmt::format("{}[{}][{}] is needed in lane {} and lies in lane {}", to,
                                        h.row, h.column, h.lane, owners_there.begin()->first);
                in_lane = false;
                continue;
            }
            if (!owners_there.contains({h.lane, value})) identity = false;
            order[value].insert(mine->second);
        }
    const bool uniform =
        std::ranges::all_of(order, [](const auto& e) { return e.second.size() == 1; });
    std::string verdict;
    if (!in_lane)
        verdict = "no: it needs a shuffle between lanes (or movmatrix, or shared memory)";
    else if (identity)
        verdict = "yes: the identity, each lane's values in their order";
    else if (uniform)
        verdict = "yes: another order of each lane's own values, no shuffle";
    else
        verdict = "yes within each lane, in an order that differs from lane to lane";
    out.line = fmt::format("{}: {}", text, verdict);
    if (sources > 1)
        out.lines.push_back(fmt::format("{} accumulators side by side fill one {}", sources, to));
    if (targets > 1) out.lines.push_back(fmt::format("one accumulator gives {} {}s", targets, to));
    if (!first.empty()) out.lines.push_back(first);
    if (source->type != target->type)
        out.lines.push_back(fmt::format(
            "each value is converted, {} to {}, and those of one register packed, the first lowest",
            isa::row(source->type).name, isa::row(target->type).name));
    if (in_lane && uniform) {
        Grid g;
        g.header = {"value of " + std::string(to), "value of " + std::string(from)};
        json list = json::array();
        for (const auto& [value, sources_of] : order) {
            const unsigned s = *sources_of.begin();
            const auto numbered = [](const std::string& letter, unsigned v, unsigned values,
                                     bool several) {
                return several ? fmt::format("{}{} of tile {}", letter, v % values, v / values)
                               : fmt::format("{}{}", letter, v);
            };
            g.rows.push_back({numbered(lower(target->name), value, target->values, targets > 1),
                              numbered(lower(source->name), s, source->values, sources > 1)});
            list.push_back({{"to", value}, {"from", s}});
        }
        out.data["values"] = list;
        out.grids.push_back(std::move(g));
    }
    out.data["verdict"] = !in_lane ? "shuffle" : identity ? "identity" : "permutation";
    return out;
}

}  // namespace lockwarp::lanes
