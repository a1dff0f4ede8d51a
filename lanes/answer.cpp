// SPDX-License-Identifier: Apache-2.0
#include "lanes/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockwarp::lanes {

namespace {

constexpr auto formats = std::to_array<std::pair<std::string_view, Format>>({
    {"text", Format::text},
    {"markdown", Format::markdown},
    {"csv", Format::csv},
    {"json", Format::json},
    {"svg", Format::svg},
    {"html", Format::html},
});

// Characters, not bytes.
size_t width_of(std::string_view s) {
    return static_cast<size_t>(std::ranges::count_if(
        s, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& s, size_t width) {
    const size_t w = width_of(s);
    return w < width ? s + std::string(width - w, ' ') : s;
}

std::vector<size_t> widths_of(const Grid& g) {
    std::vector<size_t> widths(g.header.size());
    for (size_t i = 0; i < g.header.size(); ++i) widths[i] = width_of(g.header[i]);
    for (const auto& row : g.rows)
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    return widths;
}

// Lines of at most 100 columns, broken at spaces.
void append_wrapped(std::string& out, const std::string& line) {
    size_t at = 0;
    const size_t indent =
        line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' ');
    bool first = true;
    while (at < line.size() || first) {
        const std::string lead(first ? 0 : indent + 2, ' ');
        std::string part = line.substr(at);
        if (width_of(lead) + width_of(part) > line_columns) {
            size_t cut = part.rfind(' ', line_columns - lead.size());
            if (cut == std::string::npos || cut <= indent) cut = part.find(' ', indent + 1);
            if (cut != std::string::npos) part = part.substr(0, cut);
        }
        out += lead + part + "\n";
        at += part.size();
        while (line[at] == ' ') ++at;
        first = false;
    }
}

// A line of cells; where it would be too long its last cell goes on below, at the same column.
void append_row(std::string& out, const std::vector<std::string>& cells,
                const std::vector<size_t>& widths) {
    std::string line;
    for (size_t i = 0; i + 1 < cells.size(); ++i) line += padded(cells[i], widths[i]) + "  ";
    const size_t indent = width_of(line);
    std::string last = cells.empty() ? "" : cells.back();
    while (indent + width_of(last) > line_columns) {
        const size_t cut =
            indent < line_columns ? last.rfind(' ', line_columns - indent) : std::string::npos;
        if (cut == std::string::npos || cut == 0) break;
        out += line + last.substr(0, cut) + "\n";
        last = last.substr(cut + 1);
        line = std::string(indent, ' ');
    }
    line += last;
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
}

void append_text(std::string& out, const Grid& g) {
    for (size_t at = 0; at < g.title.size();) {
        const size_t end = std::min(g.title.find('\n', at), g.title.size());
        append_wrapped(out, g.title.substr(at, end - at));
        at = end + 1;
    }
    const std::vector<size_t> widths = widths_of(g);
    if (!g.wraps) {
        append_row(out, g.header, widths);
        for (const auto& row : g.rows) append_row(out, row, widths);
        return;
    }
    // Blocks of as many columns as fit, each with the first.
    for (size_t from = 1; from < g.header.size();) {
        size_t to = from;
        for (size_t used = widths[0];
             to < g.header.size() && (to == from || used + 2 + widths[to] <= line_columns); ++to)
            used += 2 + widths[to];
        const auto part = [&](const auto& cells) {
            auto chosen = std::decay_t<decltype(cells)>{cells[0]};
            chosen.insert(chosen.end(), cells.begin() + static_cast<std::ptrdiff_t>(from),
                          cells.begin() + static_cast<std::ptrdiff_t>(to));
            return chosen;
        };
        if (from > 1) out += "\n";
        append_row(out, part(g.header), part(widths));
        for (const auto& row : g.rows) append_row(out, part(row), part(widths));
        from = to;
    }
}

std::string text(const Answer& a) {
    std::string out;
    append_wrapped(out, a.line);
    for (const std::string& l : a.lines) append_wrapped(out, l);
    for (const Grid& g : a.grids) {
        out += "\n";
        append_text(out, g);
    }
    if (!a.notes.empty()) out += "\n";
    for (const std::string& n : a.notes) append_wrapped(out, n);
    return out;
}

std::string markdown(const Answer& a) {
    std::string out = a.line + "\n";
    for (const std::string& l : a.lines) out += "\n" + l + "\n";
    const auto write = [&](const std::vector<std::string>& row) {
        for (const std::string& cell : row) {
            std::string c = cell;
            for (size_t at = 0; (at = c.find('|', at)) != std::string::npos; at += 2)
                c.insert(at, "\\");
            out += "| " + c + " ";
        }
        out += "|\n";
    };
    for (const Grid& g : a.grids) {
        out += "\n";
        if (!g.title.empty()) out += g.title + "\n\n";
        write(g.header);
        for (size_t i = 0; i < g.header.size(); ++i) out += "|---";
        out += "|\n";
        for (const auto& row : g.rows) write(row);
    }
    for (const std::string& n : a.notes) out += "\n" + n + "\n";
    return out;
}

std::string csv(const Answer& a) {
    std::string out;
    const auto write = [&](const std::vector<std::string>& row) {
        for (size_t i = 0; i < row.size(); ++i) {
            std::string cell = row[i];
            if (cell.find_first_of(",\"\n") != std::string::npos) {
                for (size_t at = 0; (at = cell.find('"', at)) != std::string::npos; at += 2)
                    cell.insert(at, "\"");
                cell = "\"" + cell + "\"";
            }
            out += (i == 0 ? "" : ",") + cell;
        }
        out += "\n";
    };
    // Of an answer without a table its sentences.
    if (a.grids.empty()) {
        write({"answer"});
        write({a.line});
        for (const std::string& l : a.lines) write({l});
    }
    for (const Grid& g : a.grids) {
        if (!out.empty()) out += "\n";
        write(g.header);
        for (const auto& row : g.rows) write(row);
    }
    return out;
}

constexpr std::string_view html_style =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
    "color:#1a1a1a;background:#fff}table{border-collapse:collapse;margin:1em 0;font:13px monospace}"
    "td,th{border:1px solid #bbb;padding:2px 6px;text-align:left}th{background:#eee}"
    "div.wide{overflow-x:auto}@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}"
    "td,th{border-color:#555}th{background:#2a2a2a}svg{background:#fff}}";

std::string html(const Answer& a) {
    std::string out = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        "<title>{}</title><style>{}</style></head><body>\n<h1 style=\"font-size:1.2em\">{}</h1>\n",
        escaped(a.line), html_style, escaped(a.line));
    for (const std::string& l : a.lines) out += "<p>" + escaped(l) + "</p>\n";
    if (a.svg) out += "<div class=\"wide\">" + a.svg() + "</div>\n";
    for (const Grid& g : a.grids) {
        out += "<div class=\"wide\"><table>";
        if (!g.title.empty()) out += "<caption>" + escaped(g.title) + "</caption>";
        out += "<tr>";
        for (const std::string& c : g.header) out += "<th>" + escaped(c) + "</th>";
        out += "</tr>\n";
        for (const auto& row : g.rows) {
            out += "<tr>";
            for (const std::string& c : row) out += "<td>" + escaped(c) + "</td>";
            out += "</tr>\n";
        }
        out += "</table></div>\n";
    }
    for (const std::string& n : a.notes) out += "<p>" + escaped(n) + "</p>\n";
    return out + "</body></html>\n";
}

// An answer that has no picture of its own, drawn as text is set: the lines, and tables with rules.
std::string picture(const Answer& a) {
    constexpr size_t letter = 7, line_height = 18, margin = 12, gap = 2;  // pixels; gap: letters
    std::string body;
    size_t y = margin;
    size_t width = 0;
    const auto put = [&](size_t letters, std::string_view text, std::string_view style) {
        body += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", margin + letters * letter,
                            y + line_height - 5, style, escaped(text));
        width = std::max(width, letters + width_of(text));
    };
    const auto paragraph = [&](const std::string& text, std::string_view style = "") {
        std::string lines;
        append_wrapped(lines, text);
        for (size_t at = 0; at < lines.size(); y += line_height) {
            const size_t end = lines.find('\n', at);
            put(0, std::string_view(lines).substr(at, end - at), style);
            at = end + 1;
        }
    };
    paragraph(a.line, " font-weight=\"bold\"");
    for (const std::string& l : a.lines) paragraph(l);
    for (const Grid& g : a.grids) {
        y += line_height / 2;
        if (!g.title.empty()) paragraph(g.title);
        const std::vector<size_t> widths = widths_of(g);
        const auto row = [&](const std::vector<std::string>& cells, std::string_view style) {
            size_t at = 0;
            for (size_t i = 0; i < cells.size(); at += widths[i++] + gap) put(at, cells[i], style);
            y += line_height;
        };
        row(g.header, " font-weight=\"bold\"");
        size_t letters = 0;
        for (const size_t w : widths) letters += w + gap;
        body +=
            fmt::format("<path d=\"M{} {}h{}\" stroke=\"#333\"/>\n", margin, y, letters * letter);
        for (const auto& cells : g.rows) row(cells, "");
    }
    if (!a.notes.empty()) y += line_height / 2;
    for (const std::string& n : a.notes) paragraph(n);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\"><title>{2}</title><style>text{{font:12px monospace;"
        "white-space:pre}}</style><rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{3}</svg>",
        2 * margin + width * letter + letter, y + margin, escaped(a.line), body);
}

}  // namespace

std::optional<Format> format_named(std::string_view name) {
    for (const auto& [n, f] : formats)
        if (n == name) return f;
    return std::nullopt;
}

std::string escaped(std::string_view s) {
    std::string out;
    for (const char c : s) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&apos;";
                break;
            default:
                out += c;
        }
    return out;
}

std::optional<std::string> render(const Answer& a, Format format) {
    if (!a.error.empty()) return std::nullopt;
    switch (format) {
        case Format::text:
            return text(a);
        case Format::markdown:
            return markdown(a);
        case Format::csv:
            return csv(a);
        case Format::json:
            return a.data.dump(1) + "\n";
        case Format::svg:
            return (a.svg ? a.svg() : picture(a)) + "\n";
        case Format::html:
            return html(a);
    }
    return std::nullopt;
}

}  // namespace lockwarp::lanes
