// SPDX-License-Identifier: Apache-2.0
#include "tools/report/why_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "emu/ptx/printer.hpp"
#include "emu/ptx/source_map.hpp"
#include "lanes/answer.hpp"
#include "launch/source_text.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

using validate::grouped;
using why::Explanation;
using why::Wrong;

// A long line in several; what it is indented by stays.
std::string wrapped(const std::string& text, size_t indent) {
    size_t at = std::min(text.find_first_not_of(' '), text.size());
    std::string out, line = text.substr(0, at);
    for (bool first = true; at <= text.size(); first = false) {
        const size_t space = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, space - at);
        at = space + 1;
        if (!first && line.size() + 1 + word.size() > lanes::line_columns) {
            out += line + "\n";
            line = std::string(indent, ' ') + word;
        } else {
            line += (first ? "" : " ") + word;
        }
    }
    return out + line + "\n";
}

// The changed lines of one part of an explanation, and those of the source that they come from.
std::vector<ChangedLine> changed_lines(const why::Subject& s, const why::Candidate& c) {
    const launch::Input& in = s.loaded().in;
    const why::Text text(in.module, s.loaded().program.entry);
    std::vector<ChangedLine> out;
    for (const why::Edit& e : c.patch.edits) {
        ChangedLine& line = out.emplace_back(ChangedLine{launch::named_ptx(in), e.at, {}, {}});
        if (const ptx::Instruction* const was = text.at(e.at)) line.is = ptx::print(*was);
        for (const ptx::Instruction& now : e.becomes) line.becomes.push_back(ptx::print(now));
    }
    return out;
}

std::string changes_of(const why::Subject& s, const why::Candidate& c) {
    constexpr size_t max_shown = 2;
    const ptx::SourceMap map = ptx::source_map(s.loaded().in.module);
    const std::vector<ChangedLine> lines = changed_lines(s, c);
    std::string out;
    for (const ChangedLine& line : std::span(lines).first(std::min(max_shown, lines.size())))
        out += changed_text(line) + launch::source_text(ptx::places_of(map, line.at));
    if (lines.size() > max_shown)
        out += fmt::format("  and {} more lines alike\n", lines.size() - max_shown);
    return out;
}

std::string counts_text(const why::ErrorMap& m) {
    std::string out;
    for (const why::WrongRow& row : why::wrong_rows()) {
        const uint64_t n = m.counts[static_cast<size_t>(row.wrong)];
        if (n != 0 && row.wrong != Wrong::no)
            out += fmt::format("{}{} {} ({})", out.empty() ? "" : ", ", grouped(n), row.words,
                               row.letter);
    }
    return out;
}

// A block of the map: the letter of what most of its wrong elements are; '+' where most are right.
char letter_of(const std::array<uint64_t, 6>& counts) {
    uint64_t all = 0;
    for (const uint64_t n : counts) all += n;
    const auto right = counts[0];
    if (right == all) return '.';
    if (2 * right > all) return '+';
    const auto most = std::max_element(counts.begin() + 1, counts.end());
    return why::wrong_rows()[static_cast<size_t>(most - counts.begin())].letter;
}

struct Blocks {
    uint64_t rows, columns;  // elements of a block
};
Blocks blocks_of(const why::ErrorMap& m, uint64_t max_rows, uint64_t max_columns) {
    const auto size = [](uint64_t n, uint64_t max) {
        uint64_t block = 1;
        while ((n + block - 1) / block > max) block *= 2;
        return block;
    };
    return {size(m.rows, max_rows), size(m.columns, max_columns)};
}

std::array<uint64_t, 6> count(const why::ErrorMap& m, Blocks b, uint64_t row, uint64_t column) {
    std::array<uint64_t, 6> out{};
    for (uint64_t r = row * b.rows; r < std::min(m.rows, (row + 1) * b.rows); ++r)
        for (uint64_t c = column * b.columns; c < std::min(m.columns, (column + 1) * b.columns);
             ++c)
            ++out[static_cast<size_t>(m.of[r * m.columns + c])];
    return out;
}

}  // namespace

std::string words_of(const Explanation& e) {
    std::string out;
    for (size_t i = 0; i < e.parts.size(); ++i) out += (i == 0 ? "" : "; and ") + e.parts[i].words;
    return out;
}

std::string explains(const Explanation& e, uint64_t wrong) {
    if (e.explained == wrong && e.broken == 0)
        return fmt::format("explains all {} element{}", grouped(wrong), wrong == 1 ? "" : "s");
    std::string out = fmt::format("explains {} of {}", grouped(e.explained), grouped(wrong));
    if (e.broken != 0) out += fmt::format(" (and breaks {})", grouped(e.broken));
    return out;
}

std::vector<ChangedLine> changed_lines(const why::Subject& subject, const Explanation& e) {
    std::vector<ChangedLine> out;
    for (const why::Candidate& c : e.parts)
        for (ChangedLine& line : changed_lines(subject, c)) out.push_back(std::move(line));
    return out;
}

std::string changed_text(const ChangedLine& line) {
    std::string out = fmt::format("  {}:{}\n", line.ptx, line.at.line);
    if (!line.is.empty()) out += fmt::format("-   {}\n", line.is);
    for (const std::string& now : line.becomes) out += fmt::format("+   {}\n", now);
    return out;
}

std::string error_map_text(const why::ErrorMap& m) {
    const Blocks b = blocks_of(m, 32, 64);
    std::string out = b.rows * b.columns == 1
                          ? "a character for each element"
                          : fmt::format("a character for each {}x{} elements", b.rows, b.columns);
    out = fmt::format("map, {}x{}, {}; . right{}\n", m.rows, m.columns, out,
                      b.rows * b.columns == 1 ? "" : ", + most of them right");
    const uint64_t columns = (m.columns + b.columns - 1) / b.columns;
    for (uint64_t row = 0; row * b.rows < m.rows; ++row) {
        out += fmt::format("{:>7} ", row * b.rows);
        for (uint64_t column = 0; column < columns; ++column) {
            if (column != 0 && column % 8 == 0) out += ' ';
            out += letter_of(count(m, b, row, column));
        }
        out += '\n';
    }
    return out;
}

std::string error_map_svg(const std::string& name, const why::ErrorMap& m) {
    constexpr std::array<std::string_view, 6> colours{"#eeeeee", "#d55e00", "#e69f00",
                                                      "#56b4e9", "#999999", "#cc79a7"};
    const Blocks b = blocks_of(m, 128, 128);
    const uint64_t columns = (m.columns + b.columns - 1) / b.columns;
    const uint64_t rows = (m.rows + b.rows - 1) / b.rows;
    const uint64_t cell =
        std::max<uint64_t>(5, std::min<uint64_t>(24, 640 / std::max(rows, columns)));
    constexpr uint64_t margin = 40;
    std::string body;
    for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c) {
            const std::array<uint64_t, 6> counts = count(m, b, r, c);
            const auto most = std::max_element(counts.begin() + 1, counts.end());
            const auto kind = *most == 0 ? 0 : static_cast<size_t>(most - counts.begin());
            body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                                margin + c * cell, margin + r * cell, cell, cell, colours[kind]);
            if (c + 1 == columns) body += '\n';
        }
    const auto label = [&](uint64_t x, uint64_t y, const std::string& text) {
        body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", x, y, lanes::escaped(text));
    };
    for (uint64_t r = 0; r < rows; r += 8)
        label(4, margin + r * cell + 9, std::to_string(r * b.rows));
    for (uint64_t c = 0; c < columns; c += 8)
        label(margin + c * cell, margin - 4, std::to_string(c * b.columns));
    uint64_t y = margin + rows * cell + 20;
    for (const why::WrongRow& row : why::wrong_rows()) {
        const auto kind = static_cast<size_t>(row.wrong);
        if (m.counts[kind] == 0) continue;
        body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>",
                            margin, y - 9, colours[kind]);
        label(margin + 16, y, fmt::format("{}: {}", row.words, grouped(m.counts[kind])));
        y += 16;
    }
    const uint64_t width = std::max<uint64_t>(2 * margin + columns * cell, 360);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" "
        "height=\"{}\" role=\"img\"><title>{}</title><style>rect{{stroke:#fff;stroke-width:.5}}"
        "text{{font:9px sans-serif;fill:#000}}</style>\n<rect width=\"{}\" height=\"{}\" "
        "fill=\"#fff\"/>\n{}\n</svg>\n",
        width, y, width, y, lanes::escaped("errors of " + name), width, y, body);
}

std::string why_text(const std::string& name, const why::Subject& subject, const why::Answer& a) {
    const uint64_t wrong = a.map.wrong(), all = a.map.of.size();
    if (wrong == 0) return fmt::format("{}: all {} values are as expected\n", name, grouped(all));
    std::string out;
    const bool found = !a.explanations.empty() && a.explanations.front().all(wrong);
    constexpr std::string_view traps = "the program traps; lockwarp run says where";
    if (a.trapped && !found) out += fmt::format("{}. What it left until then:\n", traps);
    if (found)
        out += wrapped(
            explains(a.explanations.front(), wrong) + ": " + words_of(a.explanations.front()), 2);
    else if (!a.explanations.empty())
        out += "no hypothesis explains all " + grouped(wrong) + " elements; the best:\n";
    else
        out += "no hypothesis explains any of the " + grouped(wrong) + " elements\n";
    for (size_t i = 0, shown = 0; i < a.explanations.size() && shown < 5; ++i) {
        const Explanation& e = a.explanations[i];
        // What leaves the mapping less ordinary than the first one does is a cause that nobody has.
        if (found && (!e.all(wrong) || e.likely < a.explanations.front().likely - 1e-4)) break;
        if (i != 0 || !found)
            out += wrapped("  " + (found ? "also explained by: " + words_of(e)
                                         : explains(e, wrong) + ": " + words_of(e)),
                           4);
        if (i == 0)
            for (const why::Candidate& c : e.parts) out += changes_of(subject, c);
        ++shown;
    }
    if (a.trapped && found) out += fmt::format("note: {}\n", traps);
    if (subject.product_is_found)
        out += fmt::format("note: what is expected is {}{} * {}{}, {}x{}x{}\n", subject.product->a,
                           subject.product->a_transposed ? "'" : "", subject.product->b,
                           subject.product->b_transposed ? "'" : "", subject.product->m,
                           subject.product->n, subject.product->k);
    for (const std::string& sentence : a.measured) out += wrapped("measured: " + sentence, 2);
    if (!a.reservation.empty()) out += wrapped("note: " + a.reservation, 2);
    if (a.out_of_time) out += "note: the time limit ended the search\n";
    out += fmt::format("{}: {} of {} elements are wrong: {}\n", name, grouped(wrong), grouped(all),
                       counts_text(a.map));
    for (const std::string& p : a.map.permutation) out += "  " + p + "\n";
    return out + error_map_text(a.map);
}

nlohmann::ordered_json why_json(const std::string& name, const why::Subject& subject,
                                const why::Answer& a) {
    nlohmann::ordered_json out;
    const uint64_t wrong = a.map.wrong();
    out["matrix"] = name;
    out["rows"] = a.map.rows;
    out["columns"] = a.map.columns;
    out["wrong"] = wrong;
    for (const why::WrongRow& row : why::wrong_rows())
        out["counts"][std::string(row.words)] = a.map.counts[static_cast<size_t>(row.wrong)];
    out["permutation"] = a.map.permutation;
    out["explanations"] = nlohmann::ordered_json::array();
    const launch::Input& in = subject.loaded().in;
    const ptx::SourceMap map = ptx::source_map(in.module);
    for (const Explanation& e : a.explanations) {
        nlohmann::ordered_json one;
        one["message"] = words_of(e);
        one["explained"] = e.explained;
        one["broken"] = e.broken;
        one["all"] = e.all(wrong);
        one["other_data"] = e.fresh == Explanation::Fresh::right   ? "right"
                            : e.fresh == Explanation::Fresh::wrong ? "wrong"
                                                                   : "not tried";
        for (const why::Candidate& c : e.parts) {
            nlohmann::ordered_json part;
            part["hypothesis"] = c.of->name;
            part["message"] = c.words;
            part["changes"] = nlohmann::ordered_json::array();
            for (const ChangedLine& line : changed_lines(subject, c)) {
                nlohmann::ordered_json change;
                change["ptx"] = line.ptx;
                change["line"] = line.at.line;
                const auto places = ptx::places_of(map, line.at);
                if (!places.empty())
                    change["source"] = {{"file", places.front().file},
                                        {"line", places.front().line}};
                if (!line.is.empty()) change["is"] = line.is;
                for (const std::string& now : line.becomes) change["becomes"].push_back(now);
                part["changes"].push_back(std::move(change));
            }
            one["parts"].push_back(std::move(part));
        }
        out["explanations"].push_back(std::move(one));
    }
    out["measured"] = a.measured;
    if (!a.reservation.empty()) out["note"] = a.reservation;
    out["tried"] = a.tried;
    return out;
}

}  // namespace lockwarp::tools
