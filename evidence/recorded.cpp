// SPDX-License-Identifier: Apache-2.0
#include "evidence/recorded.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "emu/isa/arch.hpp"
#include "evidence/recorded_text.hpp"

namespace lockwarp::evidence {

namespace {

constexpr size_t fields_of_row = 6;

bool read_number(std::string_view text, uint64_t& out) {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, out);
    return error == std::errc{} && at == end;
}

auto key(const RecordedRow& r) { return std::tie(r.instruction, r.arch, r.device, r.driver); }

launch::Result<RecordedRow> read_row(std::string_view line) {
    std::array<std::string_view, fields_of_row> fields;
    for (size_t i = 0; i < fields_of_row; ++i) {
        const size_t tab = line.find('\t');
        if ((tab == std::string_view::npos) != (i + 1 == fields_of_row))
            return launch::failure("a row has six fields with tabs between them");
        fields[i] = line.substr(0, tab);
        if (fields[i].empty()) return launch::failure("a field is empty");
        if (i + 1 < fields_of_row) line.remove_prefix(tab + 1);
    }
    RecordedRow out{fields[0], fields[1], fields[2], fields[3], 0, 0};
    if (!isa::arch_named(out.arch)) return launch::failure("the architecture is not modelled");
    if (!read_number(fields[4], out.values) || !read_number(fields[5], out.different))
        return launch::failure("values and different are whole numbers");
    if (out.different > out.values) return launch::failure("more values differ than were compared");
    return out;
}

}  // namespace

std::string write_recorded(std::span<const RecordedRow> rows) {
    std::string out = std::string(recorded_header) + "\n";
    for (const RecordedRow& r : rows) {
        for (const std::string_view field : {r.instruction, r.arch, r.device, r.driver})
            out += std::string(field) + "\t";
        out += std::to_string(r.values) + "\t" + std::to_string(r.different) + "\n";
    }
    return out;
}

launch::Result<std::vector<RecordedRow>> read_recorded(std::string_view text) {
    std::vector<RecordedRow> out;
    for (size_t number = 1; !text.empty(); ++number) {
        const auto wrong = [&](const std::string& why) {
            return launch::failure("line " + std::to_string(number) + ": " + why);
        };
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (number == 1) {
            if (line != recorded_header)
                return wrong("the header is not that of a table of recordings");
            continue;
        }
        const launch::Result<RecordedRow> row = read_row(line);
        if (!row) return wrong(row.error().sentence);
        if (!out.empty() && key(out.back()) >= key(*row))
            return wrong("rows are sorted, and each stands once");
        out.push_back(*row);
    }
    return out;
}

std::span<const RecordedRow> recorded_rows() {
    static const std::vector<RecordedRow> rows = read_recorded(recorded_text()).value();
    return rows;
}

std::vector<RecordedRow> recorded_rows_of(std::string_view instruction) {
    std::string_view rest = recorded_text();
    rest.remove_prefix(std::string_view(recorded_header).size() + 1);
    // The rows stand sorted: by halves to the first that is not before the instruction.
    const auto line_at = [](std::string_view text, size_t at) {
        return text.substr(at, text.find('\n', at) - at);
    };
    const auto instruction_of = [](std::string_view line) {
        return line.substr(0, line.find('\t'));
    };
    size_t low = 0;
    for (size_t high = rest.size(); low < high;) {
        const size_t middle = low + (high - low) / 2;
        const size_t newline = middle == 0 ? std::string_view::npos : rest.rfind('\n', middle - 1);
        const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
        const std::string_view line = line_at(rest, start);
        if (instruction_of(line) < instruction)
            low = std::min(start + line.size() + 1, rest.size());
        else
            high = start;
    }
    std::vector<RecordedRow> out;
    while (low < rest.size()) {
        const std::string_view line = line_at(rest, low);
        if (instruction_of(line) != instruction) break;
        out.push_back(read_row(line).value());
        low = std::min(low + line.size() + 1, rest.size());
    }
    return out;
}

}  // namespace lockwarp::evidence
