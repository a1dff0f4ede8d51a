// SPDX-License-Identifier: Apache-2.0
#include "lanes/parts.hpp"

#include <fmt/format.h>

#include "lanes/formula.hpp"

namespace lockwarp::lanes {

std::string lower(std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
}

std::string lane_text(const Operand& o, unsigned lane) {
    return o.lanes == 32 ? fmt::format("lane {}", lane)
                         : fmt::format("thread {} (warp {}, lane {})", lane, lane / 32, lane % 32);
}

std::string shape_text(const Operand& o) {
    return fmt::format("{} x {} {}", o.rows, o.columns, isa::row(o.type).name.substr(1));
}

std::string_view coordinates(const Instruction& i, const Operand& o) {
    if (i.family == Family::ldmatrix || i.family == Family::stmatrix ||
        i.family == Family::movmatrix)
        return "row, column";
    if (o.name == "A") return i.mma != nullptr && i.mma->sparse ? "m, stored k" : "m, k";
    if (o.name == "B") return "k, n";
    if (o.name == "E") return "m, group of k";
    if (o.name == "SFA") return "m, factor";
    if (o.name == "SFB") return "factor, n";
    return "m, n";
}

std::vector<std::string> formula_lines(const Operand& o) {
    std::vector<std::string> out;
    const Formulas f = formulas(o);
    const auto line = [&](const std::vector<Formula>& list) {
        std::string text;
        for (const Formula& one : list) text += (text.empty() ? "" : ",  ") + text_of(one, o);
        return text;
    };
    if (f.forward.empty()) return out;
    out.push_back(line(f.forward));
    out.push_back(line(f.backward));
    return out;
}

json heading(const Instruction& i) {
    return {{"instruction", i.key}, {"arch", isa::row(i.arch).name}};
}

json place_json(const Operand& o, const Held& h) {
    json j{{"row", h.row}, {"column", h.column}};
    if (o.parts > 1) j[o.part_word == "matrix" ? "matrix" : "quad_pair"] = h.part;
    j["lane"] = h.lane;
    j["value"] = h.value;
    j["register"] = h.reg;
    j["bits"] = json::array({h.high, h.low});
    return j;
}

json operand_json(const Operand& o, bool elements) {
    json j{{"name", o.name},
           {"type", isa::row(o.type).name.substr(1)},
           {"rows", o.rows},
           {"columns", o.columns}};
    if (o.parts > 1) j[o.part_word == "matrix" ? "matrices" : "quad_pairs"] = o.parts;
    j["lanes"] = o.lanes;
    j["values"] = o.values;
    j["registers"] = o.registers;
    j["register_bits"] = o.register_bits;
    if (o.elements.layout.threads() > 1) j["layout"] = text_of(o.elements.layout);
    json list = json::array();
    const Formulas f = formulas(o);
    for (const std::vector<Formula>& direction : {f.forward, f.backward})
        for (const Formula& one : direction) list.push_back(text_of(one, o));
    if (!list.empty()) j["formulas"] = list;
    if (elements) {
        json all = json::array();
        for (const Held& h : o.held) all.push_back(place_json(o, h));
        j["elements"] = std::move(all);
    }
    return j;
}

const Operand* needed(const Instruction& i, std::string_view name, Answer& out) {
    const Operand* o = operand_named(i, name);
    if (o == nullptr && i.family == Family::wgmma && name == "B")
        out =
            wrong(fmt::format("{}: B lies in shared memory, where its descriptor says "
                              "(lockwarp descriptor); the registers hold {}",
                              i.key, operand_names(i)));
    else if (o == nullptr)
        out =
            wrong(fmt::format("{} has no operand '{}'; it has {}", i.key, name, operand_names(i)));
    return o;
}

}  // namespace lockwarp::lanes
