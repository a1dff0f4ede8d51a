// SPDX-License-Identifier: Apache-2.0
#include "lanes/explorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "lanes/banks.hpp"
#include "lanes/formula.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes {

namespace {

using json = nlohmann::ordered_json;

constexpr int nothing = -1;

std::string_view family_name(Family f) {
    switch (f) {
        case Family::mma:
            return "mma";
        case Family::wmma:
            return "wmma";
        case Family::wgmma:
            return "wgmma";
        case Family::ldmatrix:
            return "ldmatrix";
        case Family::stmatrix:
            return "stmatrix";
        case Family::movmatrix:
            return "movmatrix";
    }
    return "";
}

// Texts and lists that stand once and are named by their place.
class Shared {
  public:
    size_t add(const json& item) {
        const auto [found, added] = places.try_emplace(item.dump(), items.size());
        if (added) items.push_back(item);
        return found->second;
    }
    const json& list() const { return items; }

  private:
    std::map<std::string, size_t> places;
    json items = json::array();
};

// Lane by lane, value by value: where the element is, (part * columns + column) * rows + row. Of an
// operand whose lanes hold the first values of another's, the other's table serves.
struct Table {
    unsigned rows, lanes, values;
    std::vector<int> at;
};

Table table_of(const Operand& o) {
    Table t{o.rows, o.lanes, o.values, std::vector<int>(size_t{o.lanes} * o.values, nothing)};
    for (const Held& h : o.held) {
        int& at = t.at[size_t{h.lane} * o.values + h.value];
        if (at != nothing) throw std::logic_error("two elements are one value of a lane");
        at = static_cast<int>((h.part * o.columns + h.column) * o.rows + h.row);
    }
    return t;
}

bool begins(const Table& whole, const Table& first) {
    if (std::pair(whole.rows, whole.lanes) != std::pair(first.rows, first.lanes) ||
        whole.values < first.values)
        return false;
    for (unsigned lane = 0; lane < first.lanes; ++lane)
        if (!std::equal(first.at.begin() + lane * first.values,
                        first.at.begin() + (lane + 1) * first.values,
                        whole.at.begin() + lane * whole.values))
            return false;
    return true;
}

// Value by value its register, lowest and highest bit, which are alike in all lanes.
std::vector<int> places_of(const Operand& o) {
    std::vector<int> out(size_t{3} * o.values, nothing);
    for (const Held& h : o.held) {
        const std::array<int, 3> place{h.reg, h.low, h.high};
        const auto at = out.begin() + 3 * h.value;
        if (*at != nothing && !std::equal(place.begin(), place.end(), at))
            throw std::logic_error("a value lies elsewhere in another lane");
        std::ranges::copy(place, at);
    }
    return out;
}

json formula_json(const Formula& f, const Operand& o) {
    json terms = json::array();
    for (const Term& t : f.terms)
        terms.push_back({std::string(1, t.source), t.divisor, t.modulus, t.scale});
    return {{"result", std::string(1, f.result)}, {"text", text_of(f, o)}, {"terms", terms}};
}

json formulas_json(const Operand& o) {
    const Formulas f = formulas(o);
    json out{{"forward", json::array()}, {"backward", json::array()}};
    for (const Formula& one : f.forward) out["forward"].push_back(formula_json(one, o));
    for (const Formula& one : f.backward) out["backward"].push_back(formula_json(one, o));
    return out;
}

// What a lane of a quad-pair belongs to.
json quad_pairs() {
    std::vector<unsigned> of(32);
    for (unsigned q = 0; q < isa::instances(isa::Threads::quad_pairs); ++q)
        for (unsigned t = 0; t < 8; ++t) of[isa::lane_of(isa::Threads::quad_pairs, q, t)] = q;
    return of;
}

// Row strides and swizzles that the page has to choose from.
constexpr unsigned stride_step = 16;
constexpr unsigned stride_most = 512;
struct Swizzled {
    std::string_view name;
    std::optional<Swizzle> swizzle;
};
constexpr std::array<Swizzled, 4> swizzles{{{"none", std::nullopt},
                                            {"32B", Swizzle{1, 4, 3}},
                                            {"64B", Swizzle{2, 4, 3}},
                                            {"128B", Swizzle{3, 4, 3}}}};

Pattern pattern(uint32_t stride, std::optional<Swizzle> swizzle) {
    Pattern p;
    p.stride = stride;
    p.swizzle = swizzle;
    return p;
}

// Lane by lane its address and first bank, phase by phase its wavefronts and who collides.
json pattern_json(const Access& a, const Pattern& p) {
    std::string error;
    const std::vector<uint32_t> all = addresses(a, p, error);
    const Answer answer = banks(a, p);
    json places = json::array();
    for (const uint32_t address : all) places.push_back({address, address / 4 % 32});
    json list = json::array();
    const std::vector<Phase> each = phases(a, all);
    for (size_t n = 0; n < each.size(); ++n)
        list.push_back({each[n].first_lane, each[n].lanes, each[n].wavefronts,
                        answer.grids[0].rows[n].back()});
    return {{"line", answer.line.substr(a.name.size() + 2)},
            {"notes", answer.notes},
            {"lanes", places},
            {"phases", list}};
}

json memory_json() {
    json out{{"strides", json::array()}, {"swizzles", json::array()}, {"access", json::object()}};
    for (unsigned stride = stride_step; stride <= stride_most; stride += stride_step)
        out["strides"].push_back(stride);
    for (const Swizzled& s : swizzles)
        out["swizzles"].push_back({s.name, s.swizzle ? text_of(*s.swizzle) : ""});
    Shared rows, patterns;
    for (const std::string& key : all_keys()) {
        if (!key.starts_with("ldmatrix") && !key.starts_with("stmatrix")) continue;
        std::string error;
        const Access a = access_named(key, error).value();
        json list = json::array();
        for (unsigned stride = stride_step; stride <= stride_most; stride += stride_step)
            for (const Swizzled& s : swizzles)
                list.push_back(patterns.add(pattern_json(a, pattern(stride, s.swizzle))));
        json who = json::array();
        const Answer described = matrix_rows(a, pattern(stride_most, {}));
        for (const json& row : described.data["rows"]) who.push_back({row["matrix"], row["row"]});
        out["access"][key] = {
            {"address", usual_expression(a)}, {"rows", rows.add(who)}, {"patterns", list}};
    }
    out["rows"] = rows.list();
    out["patterns"] = patterns.list();
    return out;
}

class Data {
  public:
    void add(const std::string& key) {
        json entry;
        json archs = json::array();
        json becomes;
        for (const isa::ArchRow& a : isa::arch_rows) {
            const Found found = make(key, a.arch);
            if (!found.instruction) continue;
            const Instruction& i = *found.instruction;
            const Answer about = info(i);
            if (entry.is_null()) {
                entry = heading(i, about);
                becomes = about.data.contains("architectures") ? about.data["architectures"]
                                                               : json::object();
            }
            json set = json::array();
            for (size_t n = 0; n < i.operands.size(); ++n)
                set.push_back(operand(i.operands[n], about.grids[0].rows[n][2]));
            const std::string name(a.name);
            archs.push_back(
                {static_cast<int>(a.arch), sets.add(set),
                 becomes.contains(name) ? static_cast<int>(products.add(becomes[name])) : nothing});
        }
        entry["archs"] = archs;
        instructions.push_back(entry);
    }

    json finished(std::string_view version) {
        json out;
        out["version"] = version;
        json archs = json::array();
        for (const isa::ArchRow& a : isa::arch_rows) archs.push_back({a.name, a.product});
        out["archs"] = archs;
        out["quad_pairs"] = quad_pairs();
        const std::vector<size_t> table_at = place_tables(out);
        json list = operands.list();
        for (json& o : list) o["table"] = table_at[o["table"].get<size_t>()];
        out["operands"] = list;
        out["places"] = places.list();
        out["formulas"] = all_formulas.list();
        out["sets"] = sets.list();
        out["products"] = products.list();
        out["instructions"] = instructions;
        out["memory"] = memory_json();
        return out;
    }

  private:
    static json heading(const Instruction& i, const Answer& about) {
        json notes = json::array();
        for (const std::string& line : about.lines)
            if (!line.starts_with("PTX:") && !line.starts_with("CuTe:")) notes.push_back(line);
        return {{"key", i.key},
                {"ptx", i.ptx},
                {"cute", i.cute},
                {"family", family_name(i.family)},
                {"about", about.line.substr(i.key.size() + 2)},
                {"notes", notes},
                {"shape", {i.m, i.n, i.k}},
                {"target", i.target}};
    }

    size_t operand(const Operand& o, const std::string& coordinates) {
        json j{{"name", o.name},
               {"type", isa::row(o.type).name.substr(1)},
               {"rows", o.rows},
               {"columns", o.columns},
               {"coordinates", coordinates},
               {"parts", o.parts},
               {"part_word", o.part_word},
               {"quad_pairs", o.elements.threads == isa::Threads::quad_pairs},
               {"lanes", o.lanes},
               {"values", o.values},
               {"registers", o.registers},
               {"register_bits", o.register_bits},
               {"layout", o.elements.layout.threads() > 1 ? text_of(o.elements.layout) : ""}};
        j["formulas"] = all_formulas.add(formulas_json(o));
        j["places"] = places.add(places_of(o));
        Table t = table_of(o);
        const size_t at = table_keys.add({t.at, t.rows, t.lanes});
        if (at == tables.size()) tables.push_back(std::move(t));
        j["table"] = at;
        return operands.add(j);
    }

    // Writes the tables, of several that begin alike the longest, and says where each is.
    std::vector<size_t> place_tables(json& out) const {
        std::vector<size_t> order(tables.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, std::ranges::greater{},
                                 [&](size_t n) { return tables[n].values; });
        std::vector<size_t> kept;
        std::vector<size_t> where(tables.size());
        for (const size_t n : order) {
            const auto found =
                std::ranges::find_if(kept, [&](size_t k) { return begins(tables[k], tables[n]); });
            where[n] = static_cast<size_t>(found - kept.begin());
            if (found == kept.end()) kept.push_back(n);
        }
        json list = json::array();
        for (const size_t n : kept)
            list.push_back({{"values", tables[n].values}, {"at", tables[n].at}});
        out["tables"] = list;
        return where;
    }

    Shared operands, places, all_formulas, sets, products, table_keys;
    std::vector<Table> tables;
    json instructions = json::array();
};

}  // namespace

json explorer_data(std::string_view version) {
    Data data;
    for (const std::string& key : all_keys()) data.add(key);
    return data.finished(version);
}

std::string explorer_page(std::string_view version, const json& traces) {
    constexpr std::string_view mark = "LOCKWARP-DATA";
    std::string page(explorer_template());
    // "<" would end the script that holds it.
    std::string text;
    json data = explorer_data(version);
    data["traces"] = traces;
    for (const char c : data.dump())
        if (c == '<')
            text += "\\u003c";
        else
            text += c;
    return page.replace(page.find(mark), mark.size(), text);
}

}  // namespace lockwarp::lanes
