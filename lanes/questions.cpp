// SPDX-License-Identifier: Apache-2.0
#include "lanes/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lanes/parts.hpp"

namespace lockwarp::lanes {

namespace {

// What holds an element, short: "15:a1".
std::string short_place(const Operand& o, const Held& h) {
    return fmt::format("{}:{}{}", h.lane, lower(o.name), h.value);
}

// By element: a row of the matrix a line, in each cell who holds the element.
void grids_by_element(const Operand& o, Answer& out) {
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::string> cells;
    for (const Held& h : o.held) {
        std::string& cell = cells[{h.part, h.row, h.column}];
        cell += (cell.empty() ? "" : " ") + short_place(o, h);
    }
    for (unsigned part = 0; part < o.parts; ++part) {
        Grid g;
        g.wraps = true;
        g.title = o.parts == 1 ? o.name : fmt::format("{} of {} {}", o.name, o.part_word, part);
        g.header.push_back(o.name);
        for (unsigned c = 0; c < o.columns; ++c) g.header.push_back(std::to_string(c));
        for (unsigned r = 0; r < o.rows; ++r) {
            std::vector<std::string> row{std::to_string(r)};
            for (unsigned c = 0; c < o.columns; ++c) {
                const auto found = cells.find({part, r, c});
                row.push_back(found == cells.end() ? "-" : found->second);
            }
            g.rows.push_back(std::move(row));
        }
        out.grids.push_back(std::move(g));
    }
}

// By lane: a lane a line, in each cell the element of a value.
void grid_by_lane(const Operand& o, Answer& out) {
    Grid g;
    g.wraps = true;
    g.title = o.name;
    g.header.push_back("lane");
    for (unsigned v = 0; v < o.values; ++v) {
        const unsigned width = o.register_bits * o.registers / std::max(1u, o.values);
        g.header.push_back(fmt::format("{}{} r{}", lower(o.name), v, v * width / o.register_bits));
    }
    std::vector<std::vector<std::string>> rows(o.lanes);
    for (const Held& h : o.held) {
        auto& row = rows[h.lane];
        if (row.empty()) row.resize(o.values + 1, "-");
        std::string cell = fmt::format("[{}][{}]", h.row, h.column);
        if (o.parts > 1) cell += fmt::format(" {}{}", o.part_word == "matrix" ? "m" : "qp", h.part);
        row[h.value + 1] = cell;
    }
    for (unsigned lane = 0; lane < o.lanes; ++lane)
        if (!rows[lane].empty()) {
            rows[lane][0] = std::to_string(lane);
            g.rows.push_back(std::move(rows[lane]));
        }
    out.grids.push_back(std::move(g));
}

}  // namespace

Answer where(const Instruction& i, std::string_view operand, unsigned row, unsigned column) {
    Answer out;
    const Operand* o = needed(i, operand, out);
    if (o == nullptr) return out;
    if (row >= o->rows || column >= o->columns)
        return wrong(fmt::format("{} of {} is {} x {} ({}): rows 0 to {}, columns 0 to {}", o->name,
                                 i.key, o->rows, o->columns, coordinates(i, *o), o->rows - 1,
                                 o->columns - 1));
    const std::vector<Held> all = owners(*o, row, column);
    out.data = heading(i);
    out.data["operand"] = o->name;
    out.data["row"] = row;
    out.data["column"] = column;
    json list = json::array();
    std::string line;
    for (const Held& h : all) {
        list.push_back(place_json(*o, h));
        if (o->parts > 1)
            out.lines.push_back(fmt::format("{} = {}", element_name(*o, h), place_name(*o, h)));
        else
            line += (line.empty() ? "" : "  and  ") + place_name(*o, h);
    }
    out.data["owners"] = list;
    const std::string element = fmt::format("{}[{}][{}]", o->name, row, column);
    if (o->parts > 1) {
        out.line = fmt::format("{}: {} of them, one in each {}", element, all.size(), o->part_word);
    } else if (all.empty()) {
        out.line = fmt::format("{}: no lane holds it", element);
    } else {
        out.line = fmt::format("{} = {}", element, line);
    }
    Grid g;
    g.header = {"element", "lane", "value", "register", "bits"};
    for (const Held& h : all)
        g.rows.push_back({element_name(*o, h), std::to_string(h.lane), std::to_string(h.value),
                          std::to_string(h.reg), fmt::format("{}:{}", h.high, h.low)});
    for (const std::string& f : formula_lines(*o)) out.notes.push_back(f);
    out.grids.push_back(std::move(g));
    out.svg = [i, name = o->name, row, column] {
        return picture(i, name, [=](const Held& h) { return h.row == row && h.column == column; });
    };
    return out;
}

Answer what(const Instruction& i, std::string_view operand, unsigned lane,
            std::optional<unsigned> reg) {
    Answer out;
    const Operand* o = needed(i, operand, out);
    if (o == nullptr) return out;
    if (lane >= o->lanes)
        return wrong(fmt::format("no lane {}: {} is for {} {}, 0 to {}", lane, i.key, o->lanes,
                                 o->lanes == 32 ? "lanes" : "threads", o->lanes - 1));
    if (reg && *reg >= o->registers)
        return wrong(fmt::format("no register {}: a lane holds {} in {} register{}, 0 to {}", *reg,
                                 o->name, o->registers, o->registers == 1 ? "" : "s",
                                 o->registers - 1));
    out.data = heading(i);
    out.data["operand"] = o->name;
    out.data["lane"] = lane;
    json list = json::array();
    Grid g;
    g.header = {"value", "register", "bits", "element"};
    std::string line;
    for (const Held& h : o->held) {
        if (h.lane != lane || (reg && h.reg != *reg)) continue;
        list.push_back(place_json(*o, h));
        const std::string name = fmt::format("{}{}", lower(o->name), h.value);
        g.rows.push_back({name, fmt::format("r{}", h.reg), fmt::format("{}:{}", h.high, h.low),
                          element_name(*o, h)});
        line += fmt::format("{}{} = {}", line.empty() ? "" : ", ", name, element_name(*o, h));
    }
    out.data["elements"] = list;
    constexpr size_t short_enough = 100;
    const std::string who = lane_text(*o, lane);
    if (g.rows.empty())
        out.line = fmt::format("{} holds nothing of {}", who, o->name);
    else if (who.size() + 2 + line.size() <= short_enough)
        out.line = fmt::format("{}: {}", who, line);
    else
        out.line = fmt::format("{}: {} elements of {}", who, g.rows.size(), o->name);
    if (!g.rows.empty()) out.grids.push_back(std::move(g));
    for (const std::string& f : formula_lines(*o)) out.notes.push_back(f);
    out.svg = [i, name = o->name, lane, reg] {
        return picture(i, name,
                       [=](const Held& h) { return h.lane == lane && (!reg || h.reg == *reg); });
    };
    return out;
}

Answer table(const Instruction& i, std::string_view operand, By by) {
    Answer out;
    std::vector<const Operand*> chosen;
    if (operand.empty()) {
        for (const Operand& o : i.operands) chosen.push_back(&o);
    } else {
        const Operand* o = needed(i, operand, out);
        if (o == nullptr) return out;
        chosen.push_back(o);
    }
    out.data = heading(i);
    json list = json::array();
    std::string line;
    for (const Operand* o : chosen) {
        line += fmt::format("{}{} {} x {}", line.empty() ? "" : ", ", o->name, o->rows, o->columns);
        if (o->parts > 1) line += fmt::format(" of each of {} {}s", o->parts, o->part_word);
        std::set<std::tuple<unsigned, unsigned, unsigned>> elements;
        for (const Held& h : o->held) elements.insert({h.part, h.row, h.column});
        if (o->held.size() > elements.size())
            line += fmt::format(" (each element held {} times)", o->held.size() / elements.size());
        list.push_back(operand_json(*o, true));
        if (by == By::element)
            grids_by_element(*o, out);
        else
            grid_by_lane(*o, out);
        for (const std::string& f : formula_lines(*o)) out.notes.push_back(o->name + ": " + f);
    }
    out.data["operands"] = list;
    out.line = fmt::format(
        "{}, {}: {}", i.key,
        by == By::element ? "lane:value of each element" : "elements of each lane", line);
    if (i.mma != nullptr && i.mma->threads == isa::Threads::quad_pairs)
        out.lines.emplace_back(quad_pair_note);
    out.svg = [i, name = std::string(operand)] { return picture(i, name); };
    return out;
}

Answer moved() {
    Answer out;
    const Instruction i = *make("movmatrix.trans", std::nullopt).instruction;
    const Operand& a = *operand_named(i, "A");
    const Operand& d = *operand_named(i, "D");
    out.line = "movmatrix.trans: D[r][c] = A[c][r], an 8x8 matrix of 16-bit elements across a warp";
    out.lines = {"PTX:  " + i.ptx, "from sm_75, PTX ISA 7.8; one register in, one out"};
    Grid g;
    g.header = {"lane", "d0 = D.r0[15:0]", "from", "d1 = D.r0[31:16]", "from"};
    json rows = json::array();
    for (unsigned lane = 0; lane < 32; ++lane) {
        std::vector<std::string> row{std::to_string(lane)};
        json one{{"lane", lane}, {"from", json::array()}};
        for (const Held& h : d.held) {
            if (h.lane != lane) continue;
            const Held from = owners(a, h.column, h.row)[0];
            row.push_back(fmt::format("D[{}][{}] = A[{}][{}]", h.row, h.column, h.column, h.row));
            row.push_back(fmt::format("a{} @ lane {}", from.value, from.lane));
            one["from"].push_back({{"lane", from.lane}, {"value", from.value}});
        }
        rows.push_back(std::move(one));
        g.rows.push_back(std::move(row));
    }
    out.grids.push_back(std::move(g));
    out.data = {{"instruction", i.key}, {"lanes", rows}};
    out.svg = [i] { return picture(i, ""); };
    return out;
}

}  // namespace lockwarp::lanes
