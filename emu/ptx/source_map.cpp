// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/source_map.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "emu/ptx/sections.hpp"

namespace lockwarp::ptx {

namespace {

using Key = std::tuple<uint64_t, uint64_t, uint64_t>;  // file, line, column as .loc has them

struct Reader {
    SourceMap map;
    Section strings;                         // .debug_str
    std::map<uint64_t, uint32_t> files;      // by .file's number
    std::map<uint64_t, uint32_t> functions;  // by offset in .debug_str
    std::map<Key, uint32_t> known;           // links of the function that is read
};

uint32_t clamped(uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

uint32_t add_link(Reader& r, const Key& key, uint32_t function, uint32_t call) {
    const auto& [file, line, column] = key;
    const auto found = r.files.find(file);
    r.map.links.push_back({found == r.files.end() ? 0 : found->second, clamped(line),
                           clamped(column), function, call});
    return static_cast<uint32_t>(r.map.links.size() - 1);
}

// The name at a label of .debug_str; 0: there is none.
uint32_t function_at(Reader& r, const Operand& name) {
    const auto label = r.strings.labels.find(name.text);
    if (label == r.strings.labels.end()) return 0;
    const uint64_t at = label->second + static_cast<uint64_t>(name.offset);
    if (at >= r.strings.bytes.size()) return 0;
    const auto [known, is_new] =
        r.functions.emplace(at, static_cast<uint32_t>(r.map.functions.size()));
    if (is_new) r.map.functions.emplace_back(r.strings.bytes.c_str() + at);
    return known->second;
}

void read_loc(Reader& r, const Directive& loc) {
    const std::vector<Operand>& o = loc.operands;
    if (o.size() < 3) return;
    const Key own{o[0].bits, o[1].bits, o[2].bits};
    uint32_t function = 0;
    uint32_t call = no_link;
    if (o.size() >= 9) {  // "function_name", its label, "inlined_at", its place
        const Key at{o[6].bits, o[7].bits, o[8].bits};
        function = function_at(r, o[4]);
        if (const auto earlier = r.known.find(at); earlier != r.known.end())
            call = earlier->second;
        else
            call = add_link(r, at, 0, no_link);
    }
    const uint32_t link = add_link(r, own, function, call);
    r.known[own] = link;
    r.map.starts.push_back({loc.place, link});
}

void read_block(Reader& r, const Block& block) {
    for (const Statement& s : block.body) {
        if (const auto* directive = std::get_if<Directive>(&s.node)) {
            if (directive->name == ".loc") read_loc(r, *directive);
        } else if (const auto* inner = std::get_if<Block>(&s.node)) {
            read_block(r, *inner);
        }
    }
}

void read_tables(Reader& r, const Directive& d) {
    if (d.operands.size() < 2) return;
    if (d.name == ".file") {
        std::string_view name = d.operands[1].text;
        if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
        r.files[d.operands[0].bits] = static_cast<uint32_t>(r.map.files.size());
        r.map.files.emplace_back(name);
    }
}

// What MLIR writes for code that comes from no file.
constexpr std::string_view no_file = "<unknown>";

auto position(Place p) { return std::pair(p.line, p.column); }

}  // namespace

SourceMap source_map(const Module& module) {
    Reader r;
    for (auto& [name, section] : read_sections(module, ".debug_str"))
        r.strings = std::move(section);
    for (const auto& item : module.items)
        if (const auto* directive = std::get_if<Directive>(&item)) read_tables(r, *directive);
    for (const auto& item : module.items) {
        const auto* function = std::get_if<Function>(&item);
        if (function == nullptr || !function->has_body) continue;
        r.known.clear();
        r.map.starts.push_back({function->body.place, no_link});
        read_block(r, function->body);
    }
    if (r.map.links.empty()) return {};
    std::ranges::stable_sort(r.map.starts, {}, [](const auto& s) { return position(s.place); });
    return std::move(r.map);
}

std::vector<SourcePlace> places_of(const SourceMap& map, Place place) {
    const auto next = std::ranges::upper_bound(map.starts, position(place), {},
                                               [](const auto& s) { return position(s.place); });
    std::vector<SourcePlace> out;
    if (place.line == 0 || next == map.starts.begin()) return out;
    constexpr size_t max_places = 64;
    for (uint32_t at = std::prev(next)->link; at != no_link && out.size() < max_places;
         at = map.links[at].call) {
        const SourceLink& l = map.links[at];
        if (l.line != 0 && map.files[l.file] != no_file)
            out.push_back({map.files[l.file], l.line, l.column, map.functions[l.function]});
    }
    return out;
}

}  // namespace lockwarp::ptx
