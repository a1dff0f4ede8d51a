#include "lanes/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "emu/num/dot.hpp"
#include "lanes/formula.hpp"

namespace lockwarp::lanes {

namespace {

using json = nlohmann::ordered_json;

std::string lane_text(const Operand& o, unsigned lane) {
    return o.lanes == 32 ? fmt::format("lane {}", lane)
                         : fmt::format("thread {} (warp {}, lane {})", lane, lane / 32, lane % 32);
}

std::string lower(std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
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

json heading(const Instruction& i) {
    return {{"instruction", i.key}, {"arch", isa::row(i.arch).name}};
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

// "m x k", as the coordinates are called.
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

// What holds an element, short: "15:a1".
std::string short_place(const Operand& o, const Held& h) {
    return fmt::format("{}:{}{}", h.lane, lower(o.name), h.value);
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

std::string_view method_text(num::Method m) {
    switch (m) {
        case num::Method::fused_blocks:
            return "fused sums";
        case num::Method::fma_routine:
            return "no tensor core: f32 multiply-adds";
        case num::Method::fma_chain_f64:
            return "a chain of f64 fused multiply-adds";
        case num::Method::integer:
            return "an exact integer sum";
        case num::Method::f16_halves:
            return "two products of f16 operands, then C";
        case num::Method::scaled_block:
            return "one fused sum of scaled products";
        case num::Method::scaled_groups:
            return "exact sums of 16 scaled products, then one fused sum";
    }
    return "";
}

std::string_view evidence_text(num::Evidence e) {
    switch (e) {
        case num::Evidence::measured:
            return "measured";
        case num::Evidence::replayed:
            return "replayed";
        case num::Evidence::literature:
            return "literature";
        case num::Evidence::derived:
            return "derived";
    }
    return "";
}

std::string_view rounding_text(num::Rounding r) {
    switch (r) {
        case num::Rounding::rn:
            return "to nearest even";
        case num::Rounding::rz:
            return "toward zero";
        case num::Rounding::rm:
            return "down";
        case num::Rounding::rp:
            return "up";
        case num::Rounding::rna:
            return "to nearest, ties away";
    }
    return "";
}

// What an instruction's product is on an architecture; nullptr: it is none, or has none there.
const num::DotRow* product_row(const Instruction& i, const isa::ArchRow& a) {
    if (a.number < i.target) return nullptr;
    if (i.mma != nullptr)
        return num::find_dot_row(a.arch, i.mma->m, i.mma->n, i.mma->k, i.mma->a, i.mma->d,
                                 i.mma->kind);
    if (i.wmma != nullptr)
        return num::find_dot_row(a.arch, i.wmma->m, i.wmma->n, i.wmma->k, i.wmma->ab,
                                 isa::sum_type(*i.wmma));
    return nullptr;
}

std::string become(const num::DotRow& row, unsigned k) {
    if (row.method == num::Method::fused_blocks && row.sum.block != 0 && k > row.sum.block)
        return fmt::format("{} sums of {} products, one after another", k / row.sum.block,
                           row.sum.block);
    if (row.method == num::Method::fused_blocks) return fmt::format("one sum of {} products", k);
    return std::string(method_text(row.method));
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
    if (o.layout.threads() > 1) j["layout"] = text_of(o.layout);
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

constexpr std::string_view quad_pair_note =
    "Four products, one of each quad-pair: quad-pair q is lanes 4q to 4q+3 and 16+4q to 19+4q. "
    "Each has an A, B, C and D of its own; all of them are valid.";

std::string_view wmma_known_text(isa::WmmaKnown known) {
    switch (known) {
        case isa::WmmaKnown::recorded:
            return "recorded";
        case isa::WmmaKnown::assembler:
            return "read from the assembler's code";
        case isa::WmmaKnown::derived:
            return "derived";
    }
    return "";
}

// The layout that CuTe gives B of a warpgroup, and A in shared memory: no thread holds an element.
std::string shared_layout(unsigned rows, unsigned k) {
    return fmt::format("({},({},{})):(0,(1,{}))", isa::warpgroup_lanes, rows, k, rows);
}

std::string thread_layout(const Instruction& i) {
    if (i.family == Family::wgmma) return "128:1";
    if (!i.operands.empty() && i.operands[0].threads == isa::Threads::quad_pairs)
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

std::string shape_text(const Operand& o) {
    return fmt::format("{} x {} {}", o.rows, o.columns, isa::row(o.type).name.substr(1));
}

}  // namespace

Answer list(std::optional<isa::Arch> arch) {
    Answer out;
    Grid g;
    g.header = {"from", "instruction, CuTe's name"};
    json all = json::array();
    std::map<Family, size_t> count;
    for (const Instruction& i : all_instructions(arch)) {
        ++count[i.family];
        json counts;
        for (const Operand& o : i.operands) counts[o.name] = o.registers;
        g.rows.push_back(
            {fmt::format("sm_{}", i.target), i.cute.empty() ? i.key : i.key + "  " + i.cute});
        all.push_back(
            {{"name", i.key}, {"cute", i.cute}, {"target", i.target}, {"registers", counts}});
    }
    out.line =
        fmt::format("{} instructions{}: {} mma, {} wmma, {} wgmma, {} moves of matrices",
                    g.rows.size(), arch ? fmt::format(" of {}", isa::row(*arch).name) : "",
                    count[Family::mma], count[Family::wmma], count[Family::wgmma],
                    count[Family::ldmatrix] + count[Family::stmatrix] + count[Family::movmatrix]);
    out.data = {{"instructions", all}};
    out.grids.push_back(std::move(g));
    return out;
}

Answer info(const Instruction& i) {
    Answer out;
    out.svg = [i] { return picture(i, ""); };
    out.data = heading(i);
    out.data["ptx"] = i.ptx;
    if (!i.cute.empty()) out.data["cute"] = i.cute;
    if (i.k != 0) out.data["shape"] = {i.m, i.n, i.k};
    out.data["target"] = i.target;
    switch (i.family) {
        case Family::ldmatrix:
            out.line = fmt::format(
                "{}: loads {} 8x8 matri{} of 16-bit elements{}; lane 8j+r gives the address of row "
                "r of matrix j",
                i.key, i.matrices, i.matrices == 1 ? "x" : "ces",
                i.trans ? ", each transposed" : "");
            break;
        case Family::stmatrix:
            out.line = fmt::format(
                "{}: stores {} 8x8 matri{} of 16-bit elements{}; lane 8j+r gives the address of "
                "row r of matrix j",
                i.key, i.matrices, i.matrices == 1 ? "x" : "ces",
                i.trans ? ", each transposed" : "");
            break;
        case Family::movmatrix:
            out.line = fmt::format(
                "{}: D[r][c] = A[c][r], an 8x8 matrix of 16-bit elements across a warp's registers",
                i.key);
            break;
        default:
            out.line = fmt::format("{}: D[{}x{}] = A[{}x{}] * B[{}x{}] + C", i.key, i.m, i.n, i.m,
                                   i.k, i.k, i.n);
    }
    out.lines.push_back("PTX:  " + i.ptx);
    if (!i.cute.empty()) out.lines.push_back("CuTe: " + i.cute);
    if (i.family == Family::movmatrix)
        out.lines.push_back("PTX ISA 7.8; one instruction (MOVM), no shared memory");
    const bool quad_pairs = i.mma != nullptr && i.mma->threads == isa::Threads::quad_pairs;
    if (quad_pairs) out.lines.emplace_back(quad_pair_note);

    Grid operands;
    operands.title = "Operands, a lane's value i:";
    operands.header = {"", "matrix", "coordinates", "registers"};
    json list = json::array();
    for (const Operand& o : i.operands) {
        operands.rows.push_back({o.name, shape_text(o), std::string(coordinates(i, o)),
                                 fmt::format("{} of {} bits", o.registers, o.register_bits)});
        list.push_back(operand_json(o, false));
        for (const std::string& f : formula_lines(o)) out.notes.push_back(o.name + ": " + f);
    }
    out.grids.push_back(std::move(operands));
    out.data["operands"] = list;

    Grid archs;
    archs.title = "On each architecture:";
    archs.header = {"arch", "becomes", "bits", "known"};
    json becomes = json::object();
    for (const isa::ArchRow& a : isa::arch_rows) {
        const num::DotRow* row = product_row(i, a);
        if (row == nullptr) continue;
        const num::Known known =
            i.mma != nullptr ? num::known(*row, *i.mma) : num::known(*row, static_cast<int>(i.k));
        const bool fused = row->sum.fraction != 0;
        const unsigned products = i.mma != nullptr ? i.mma->stored_k() : i.k;
        const std::string what_is = become(*row, products);
        std::string how = fmt::format("{}: {}", evidence_text(known.evidence), known.source);
        if (i.wmma != nullptr)
            if (const isa::WmmaMachine* m = isa::wmma_machine(a.arch))
                how += fmt::format("; fragments {}", wmma_known_text(m->known));
        archs.rows.push_back({std::string(a.name), what_is,
                              fused ? fmt::format("{}/{} {}", row->sum.fraction, row->sum.kept,
                                                  rounding_text(row->sum.rounding))
                                    : "-",
                              how});
        json j{{"becomes", what_is},
               {"evidence", evidence_text(known.evidence)},
               {"source", known.source}};
        if (fused) {
            j["block"] = row->sum.block;
            j["fraction_bits"] = row->sum.fraction;
            j["kept_bits"] = row->sum.kept;
            j["rounding"] = rounding_text(row->sum.rounding);
            j["zero_exponent"] = row->sum.zero_exponent;
        }
        becomes[std::string(a.name)] = j;
    }
    if (!archs.rows.empty()) {
        out.grids.push_back(std::move(archs));
        out.notes.emplace_back(
            "bits: kept of each term below the largest exponent / of the "
            "result, and how that is rounded");
        out.data["architectures"] = becomes;
    }
    if (i.mma != nullptr && i.mma->sparse) {
        const unsigned given = isa::metadata_lanes(*i.mma);
        out.notes.push_back(
            fmt::format("E: four bits a group of A's row, the places of its first and "
                        "second element{}",
                        given == 4 ? ""
                                   : fmt::format("; for selector 0, selector s is {} "
                                                 "lanes further on for each",
                                                 given)));
    }
    if (i.mma != nullptr && i.mma->scales != 0)
        out.notes.emplace_back(
            "SFA[m][s]: lane = 4*(m%8) + 2*thread-id + m/8, byte = byte-id + s; SFB[s][n]: lane = "
            "4*n + thread-id, byte = byte-id + s. The tables are for byte-id 0 and thread-id 0.");
    if (i.family == Family::wgmma)
        out.notes.emplace_back(
            "B, and A of the _SS form, lie in shared memory by descriptor: "
            "lockwarp descriptor");
    return out;
}

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
    out.data["shape"] = i.family == Family::movmatrix ? json{8, 8} : json{i.m, i.n, i.k};
    const std::string threads = thread_layout(i);
    out.data["thr_id"] = threads;
    g.rows.push_back({"ThrID", "lane", threads});
    for (const Operand& o : i.operands) {
        if (o.name == "D" && i.family != Family::movmatrix) continue;  // as C
        if (o.layout.threads() <= 1) continue;
        std::string text = text_of(o.layout);
        const bool steps = o.parts == 1 && o.threads == isa::Threads::quad_pairs;
        if (steps)
            text += fmt::format(" + quad-pair (2,2):({},{})",
                                o.row_step[0] + o.layout_rows * o.column_step[0],
                                o.row_step[1] + o.layout_rows * o.column_step[1]);
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
    if (c != nullptr && d != nullptr && text_of(c->layout) != text_of(d->layout)) {
        out.data["D"] = text_of(d->layout);
        g.rows.push_back({"D", "(m,n)", text_of(d->layout)});
    }
    std::string line;
    for (const auto& row : g.rows)
        if (row[0] != "ThrID")
            line += fmt::format("{}{} {}", line.empty() ? "" : "  ", row[0], row[2]);
    out.line = fmt::format("{}: {}", name, g.rows.back()[2]);
    if (c != nullptr) out.line = fmt::format("{}: C {}", name, text_of(c->layout));
    out.notes.emplace_back(
        "index = row + rows * column of (m,k), (n,k) or (m,n); a mode's leftmost number runs "
        "fastest. The first mode is the thread, the second the value in the order of its "
        "registers.");
    if (!i.cute.empty() && i.cute != name) out.notes.push_back("CuTe: " + i.cute);
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
        g.rows.push_back(
            {a.name, text_of(a.layout), text_of(b->layout), same ? "the same" : "differ"});
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
