// SPDX-License-Identifier: Apache-2.0
#include "debug/listing.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "launch/entry.hpp"
#include "launch/source_text.hpp"

namespace lockwarp::debug {

namespace {

std::string trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    std::string out(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
    return out;
}

}  // namespace

bool is_file(std::string_view file, std::string_view name) {
    if (name.empty() || !file.ends_with(name)) return false;
    return file.size() == name.size() || file[file.size() - name.size() - 1] == '/';
}

Listing::Listing(const launch::Loaded& loaded)
    : loaded_(loaded),
      sources_(ptx::source_map(loaded.in.module)),
      types_(ptx::debug_info(loaded.in.module)) {
    const std::string_view text = loaded.in.source;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        lines_.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::map<std::pair<std::string, uint32_t>, uint64_t> numbers;
    for (uint32_t i = 0; i < program().operations.size(); ++i) {
        const std::vector<ptx::SourcePlace> places = places_of(i);
        // Numbers of source lines and of PTX lines are apart.
        uint64_t number = (uint64_t{1} << 32) + line_of(i);
        if (!places.empty())
            number = numbers.emplace(std::pair(places[0].file, places[0].line), numbers.size())
                         .first->second;
        step_lines_.push_back(number);
    }
}

std::string Listing::file() const {
    return std::filesystem::path(loaded_.in.ptx_path).filename().string();
}

std::string Listing::line_text(uint32_t line) const {
    return line == 0 || line > lines_.size() ? std::string() : trimmed(lines_[line - 1]);
}

uint32_t Listing::line_of(uint32_t operation) const {
    return program().operations[operation].place.line;
}

std::string Listing::text_of(uint32_t operation) const {
    constexpr size_t max_lines = 6;
    const ptx::Place at = program().operations[operation].place;
    if (at.line == 0 || at.line > lines_.size()) return {};
    std::string_view first = lines_[at.line - 1];
    const size_t column = std::min<size_t>(at.column == 0 ? 0 : at.column - 1, first.size());
    // A guard, and a label, may stand before the opcode.
    size_t begin = first.substr(0, column).find_last_of(";:{");
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    std::string out;
    for (size_t i = 0; i < max_lines && at.line - 1 + i < lines_.size(); ++i) {
        const std::string_view line = lines_[at.line - 1 + i];
        const size_t from = i == 0 ? begin : 0;
        const size_t end = line.find(';', i == 0 ? column : 0);
        const std::string part =
            trimmed(line.substr(from, end == std::string_view::npos ? end : end - from + 1));
        out += (out.empty() || part.empty() ? "" : " ") + part;
        if (end != std::string_view::npos) break;
    }
    std::ranges::replace(out, '\t', ' ');
    std::string folded;
    for (const char c : out)
        if (c != ' ' || folded.empty() || folded.back() != ' ') folded += c;
    return folded;
}

std::string Listing::opcode_of(uint32_t operation) const {
    std::string text = text_of(operation);
    if (text.starts_with('@')) text = trimmed(std::string_view(text).substr(text.find(' ') + 1));
    return text.substr(0, text.find_first_of(" ;"));
}

std::vector<ptx::SourcePlace> Listing::places_of(uint32_t operation) const {
    return ptx::places_of(sources_, program().operations[operation].place);
}

std::string Listing::short_place(uint32_t operation) const {
    return launch::short_place(places_of(operation));
}

const isa::Function& Listing::function_of(uint32_t operation) const {
    const auto& all = program().functions;
    const auto found = std::ranges::find_if(
        all, [&](const isa::Function& f) { return operation >= f.first && operation < f.end; });
    return found == all.end() ? all.front() : *found;
}

std::vector<uint32_t> Listing::at_line(uint32_t line, uint32_t& found) const {
    const auto& all = program().operations;
    found = 0;
    for (const isa::Operation& o : all)
        if (o.place.line >= line && (found == 0 || o.place.line < found)) found = o.place.line;
    std::vector<uint32_t> out;
    // Of several on a line the first is where one comes to it.
    for (uint32_t i = 0; i < all.size() && found != 0; ++i)
        if (all[i].place.line == found && (out.empty() || out.back() + 1 != i)) out.push_back(i);
    return out;
}

std::vector<uint32_t> Listing::at_source(std::string_view file, uint32_t line,
                                         uint32_t& found) const {
    const auto count = static_cast<uint32_t>(program().operations.size());
    std::vector<std::set<uint32_t>> lines(count);
    found = 0;
    for (uint32_t i = 0; i < count; ++i)
        for (const ptx::SourcePlace& p : places_of(i)) {
            if (!is_file(p.file, file) || p.line == 0) continue;
            lines[i].insert(p.line);
            if (p.line >= line && (found == 0 || p.line < found)) found = p.line;
        }
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < count && found != 0; ++i) {
        const bool before =
            i != 0 && lines[i - 1].contains(found) && &function_of(i - 1) == &function_of(i);
        if (lines[i].contains(found) && !before) out.push_back(i);
    }
    return out;
}

std::vector<uint32_t> Listing::of_opcode(std::string_view opcode) const {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < program().operations.size(); ++i) {
        const std::string own = opcode_of(i);
        if (own.starts_with(opcode) && (own.size() == opcode.size() || own[opcode.size()] == '.'))
            out.push_back(i);
    }
    return out;
}

std::vector<uint32_t> Listing::at_function(std::string_view name) const {
    std::vector<uint32_t> out;
    for (const isa::Function& f : program().functions)
        if (f.first < f.end &&
            (f.name == name || launch::base_name(launch::demangled(f.name)) == name))
            out.push_back(f.first);
    return out;
}

}  // namespace lockwarp::debug
