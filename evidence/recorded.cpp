// SPDX-License-Identifier: Apache-2.0
#include "evidence/recorded.hpp"

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

// What is wrong with a line; empty: nothing.
std::string_view read_row(std::string_view line, RecordedRow& out) {
    std::array<std::string_view, fields_of_row> fields;
    for (size_t i = 0; i < fields_of_row; ++i) {
        const size_t tab = line.find('\t');
        if ((tab == std::string_view::npos) != (i + 1 == fields_of_row))
            return "a row has six fields with tabs between them";
        fields[i] = line.substr(0, tab);
        if (fields[i].empty()) return "a field is empty";
        if (i + 1 < fields_of_row) line.remove_prefix(tab + 1);
    }
    out = {fields[0], fields[1], fields[2], fields[3], 0, 0};
    if (!isa::arch_named(out.arch)) return "the architecture is not modelled";
    if (!read_number(fields[4], out.values) || !read_number(fields[5], out.different))
        return "values and different are whole numbers";
    if (out.different > out.values) return "more values differ than were compared";
    return {};
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

RecordedTable read_recorded(std::string_view text) {
    RecordedTable out;
    for (size_t number = 1; !text.empty(); ++number) {
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        std::string_view why;
        RecordedRow row{};
        if (number == 1)
            why = line == recorded_header ? "" : "the header is not that of a table of recordings";
        else
            why = read_row(line, row);
        if (why.empty() && !out.rows.empty() && key(out.rows.back()) >= key(row))
            why = "rows are sorted, and each stands once";
        if (!why.empty()) return {{}, "line " + std::to_string(number) + ": " + std::string(why)};
        if (number != 1) out.rows.push_back(row);
    }
    return out;
}

const RecordedTable& recorded_table() {
    static const RecordedTable table = read_recorded(recorded_text());
    return table;
}

}  // namespace lockwarp::evidence
