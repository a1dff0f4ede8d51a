// SPDX-License-Identifier: Apache-2.0
// One small answer in every format, to the letter, and where lines and tables are broken.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "lanes/answer.hpp"

namespace lockwarp::lanes::render_test {
namespace {

Answer small() {
    Answer a;
    a.line = "ab <&>";
    a.lines = {"it's \"c\"", "d"};
    a.grids = {{"t", {"h", "k|l"}, {{"1", "x,y"}, {"22", "q\"r"}}, false},
               {"", {"one"}, {{"a\nb"}}, false}};
    a.notes = {"n", "o"};
    a.data = {{"z", 1}, {"a", {2, 3}}};
    return a;
}

std::string rendered(const Answer& a, Format format) { return render(a, format).value_or("none"); }

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

TEST(Render, Text) {
    EXPECT_EQ(rendered(small(), Format::text),
              "ab <&>\nit's \"c\"\nd\n\nt\nh   k|l\n1   x,y\n22  q\"r\n\none\na\nb\n\nn\no\n");
    Answer a;
    a.line = "only this";
    EXPECT_EQ(rendered(a, Format::text), "only this\n");
    a.line = "";
    EXPECT_EQ(rendered(a, Format::text), "\n");
}

TEST(Render, Markdown) {
    EXPECT_EQ(rendered(small(), Format::markdown),
              "ab <&>\n\nit's \"c\"\n\nd\n\nt\n\n| h | k\\|l |\n|---|---|\n| 1 | x,y |\n"
              "| 22 | q\"r |\n\n| one |\n|---|\n| a\nb |\n\nn\n\no\n");
    Answer a;
    a.grids = {{"", {"||a|"}, {}, false}};
    EXPECT_EQ(rendered(a, Format::markdown), "\n\n| \\|\\|a\\| |\n|---|\n");
}

TEST(Render, Csv) {
    EXPECT_EQ(rendered(small(), Format::csv), "h,k|l\n1,\"x,y\"\n22,\"q\"\"r\"\n\none\n\"a\nb\"\n");
    Answer a;
    a.line = "one";
    a.lines = {"\"two\" \"\"", "three"};
    EXPECT_EQ(rendered(a, Format::csv), "answer\none\n\"\"\"two\"\" \"\"\"\"\"\nthree\n");
}

TEST(Render, Json) {
    EXPECT_EQ(rendered(small(), Format::json), "{\n \"z\": 1,\n \"a\": [\n  2,\n  3\n ]\n}\n");
}

TEST(Render, Html) {
    const std::string text = rendered(small(), Format::html);
    EXPECT_TRUE(
        text.starts_with("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                         "<meta name=\"viewport\" "
                         "content=\"width=device-width,initial-scale=1\">"
                         "<title>ab &lt;&amp;&gt;</title><style>"))
        << text;
    const size_t body = text.find("</style></head><body>\n");
    ASSERT_NE(body, std::string::npos);
    const std::string before_tables =
        "</style></head><body>\n<h1 style=\"font-size:1.2em\">ab &lt;&amp;&gt;</h1>\n"
        "<p>it&apos;s &quot;c&quot;</p>\n<p>d</p>\n";
    const std::string tables =
        "<div class=\"wide\"><table><caption>t</caption><tr><th>h</th><th>k|l</th></tr>\n"
        "<tr><td>1</td><td>x,y</td></tr>\n<tr><td>22</td><td>q&quot;r</td></tr>\n"
        "</table></div>\n<div class=\"wide\"><table><tr><th>one</th></tr>\n"
        "<tr><td>a\nb</td></tr>\n</table></div>\n<p>n</p>\n<p>o</p>\n</body></html>\n";
    EXPECT_EQ(text.substr(body), before_tables + tables);
    Answer drawn = small();
    drawn.svg = [] { return std::string("<svg/>"); };
    const std::string picture = rendered(drawn, Format::html);
    EXPECT_EQ(picture.substr(picture.find("</style></head>")),
              before_tables + "<div class=\"wide\"><svg/></div>\n" + tables);
}

// An answer that has no picture of its own: letters of 7 pixels, lines of 18, a margin of 12.
TEST(Render, Svg) {
    Answer a;
    a.line = "ab";
    a.lines = {"c&"};
    a.grids = {{"t", {"h", "k"}, {{"1", "22"}}, false}};
    a.notes = {"n"};
    const auto text_at = [](int x, int y, const std::string& text, bool bold = false) {
        return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" +
               (bold ? " font-weight=\"bold\"" : "") + ">" + text + "</text>\n";
    };
    const std::string begin = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ";
    const std::string style =
        "</title><style>text{font:12px monospace;white-space:pre}</style><rect width=\"";
    EXPECT_EQ(rendered(a, Format::svg),
              begin + "66 150\" width=\"66\" height=\"150\" role=\"img\"><title>ab" + style +
                  "66\" height=\"150\" fill=\"#fff\"/>\n" + text_at(12, 25, "ab", true) +
                  text_at(12, 43, "c&amp;") + text_at(12, 70, "t") + text_at(12, 88, "h", true) +
                  text_at(33, 88, "k", true) + "<path d=\"M12 93h49\" stroke=\"#333\"/>\n" +
                  text_at(12, 106, "1") + text_at(33, 106, "22") + text_at(12, 133, "n") +
                  "</svg>\n");
    // Without a title, without notes; a line that is broken.
    a.line = std::string(60, 'a') + " " + std::string(60, 'b');
    a.lines.clear();
    a.grids[0].title.clear();
    a.notes.clear();
    EXPECT_EQ(rendered(a, Format::svg),
              begin + "465 105\" width=\"465\" height=\"105\" role=\"img\"><title>" + a.line +
                  style + "465\" height=\"105\" fill=\"#fff\"/>\n" +
                  text_at(12, 25, std::string(60, 'a'), true) +
                  text_at(12, 43, "  " + std::string(60, 'b'), true) + text_at(12, 70, "h", true) +
                  text_at(33, 70, "k", true) + "<path d=\"M12 75h49\" stroke=\"#333\"/>\n" +
                  text_at(12, 88, "1") + text_at(33, 88, "22") + "</svg>\n");
    a.svg = [] { return std::string("<svg/>"); };
    EXPECT_EQ(rendered(a, Format::svg), "<svg/>\n");
}

TEST(Render, NothingOfWhatIsWrong) {
    for (const Format f :
         {Format::text, Format::markdown, Format::csv, Format::json, Format::svg, Format::html})
        EXPECT_FALSE(render(wrong("no"), f));
    EXPECT_EQ(wrong("no").error, "no");
}

TEST(Render, FormatsByName) {
    const std::pair<std::string_view, Format> rows[] = {
        {"text", Format::text}, {"markdown", Format::markdown}, {"csv", Format::csv},
        {"json", Format::json}, {"svg", Format::svg},           {"html", Format::html}};
    std::string names;
    for (const auto& [name, format] : rows) {
        EXPECT_EQ(format_named(name), format) << name;
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    EXPECT_EQ(format_names, names);
    for (const char* name : {"", "Text", "png", "tex", "texts"}) EXPECT_FALSE(format_named(name));
}

TEST(Render, EscapesWhatMarkupReads) {
    EXPECT_EQ(escaped("a<b>&'\"c"), "a&lt;b&gt;&amp;&apos;&quot;c");
    EXPECT_EQ(escaped(""), "");
}

// A line as few as 100 columns hold it: as many words as fit, what goes on two columns further in.
std::vector<std::string> wrapped(const std::vector<std::string>& words, size_t indent) {
    std::vector<std::string> out{std::string(indent, ' ') + words[0]};
    for (size_t i = 1; i < words.size(); ++i)
        if (out.back().size() + 1 + words[i].size() <= 100)
            out.back() += " " + words[i];
        else
            out.push_back(std::string(indent + 2, ' ') + words[i]);
    return out;
}

TEST(Render, LongLinesAreBrokenAtSpaces) {
    std::mt19937 random(1);
    size_t broken = 0;
    for (int round = 0; round < 500; ++round) {
        const size_t indent = random() % 5;
        std::vector<std::string> words;
        for (uint64_t n = 1 + random() % 40; n > 0; --n)
            words.emplace_back(6 + random() % 15, static_cast<char>('a' + n % 26));
        Answer a;
        a.line = std::string(indent, ' ');
        for (size_t i = 0; i < words.size(); ++i) a.line += (i == 0 ? "" : " ") + words[i];
        const std::vector<std::string> is = wrapped(words, indent);
        EXPECT_EQ(lines_of(rendered(a, Format::text)), is) << a.line;
        Answer elsewhere;
        elsewhere.line = "x";
        elsewhere.lines = {a.line};
        elsewhere.notes = {a.line};
        std::vector<std::string> both{"x"};
        both.insert(both.end(), is.begin(), is.end());
        both.emplace_back();
        both.insert(both.end(), is.begin(), is.end());
        EXPECT_EQ(lines_of(rendered(elsewhere, Format::text)), both);
        broken += is.size() > 1;
    }
    EXPECT_GT(broken, 100u);
}

TEST(Render, AtTheHundredthColumn) {
    const auto text = [](const std::string& line) {
        Answer a;
        a.line = line;
        return rendered(a, Format::text);
    };
    const std::string ninety(90, 'a');
    EXPECT_EQ(text(ninety + " 123456789"), ninety + " 123456789\n");
    EXPECT_EQ(text(ninety + " 1234567890"), ninety + "\n  1234567890\n");
    // Words that are longer than a line stand on one of their own.
    const std::string longer(120, 'b');
    EXPECT_EQ(text(longer), longer + "\n");
    EXPECT_EQ(text("  " + longer + " c"), "  " + longer + "\n    c\n");
    EXPECT_EQ(text("a " + longer + " c"), "a\n  " + longer + "\n  c\n");
    // A character of several bytes is one column.
    std::string wide;
    for (int i = 0; i < 100; ++i) wide += "\xc3\xa9";
    EXPECT_EQ(text(wide), wide + "\n");
    EXPECT_EQ(text("   "), "   \n");
}

TEST(Render, TablesHaveTheWidthsOfTheirCells) {
    Answer a;
    a.line = "x";
    a.grids = {{"Title:\nsecond", {"a", "", "last"}, {}, false}};
    a.grids[0].rows = {{"\xc3\xa9\xc3\xa9\xc3\xa9", "1", "z"}, {"", "22", ""}};
    EXPECT_EQ(rendered(a, Format::text),
              "x\n\nTitle:\nsecond\na        last\n\xc3\xa9\xc3\xa9\xc3\xa9  1   z\n     22\n");
}

// The last cell of a row goes on below, at its column.
TEST(Render, LastCellsThatAreTooLong) {
    const auto row = [](const std::string& first, const std::string& last) {
        Answer a;
        a.line = "x";
        a.grids = {{"", {"h", "l"}, {{first, last}}, false}};
        std::vector<std::string> lines = lines_of(rendered(a, Format::text));
        lines.erase(lines.begin(), lines.begin() + 3);
        return lines;
    };
    using Lines = std::vector<std::string>;
    const std::string ninety(90, 'a');
    EXPECT_EQ(row("12345678", ninety), Lines{"12345678  " + ninety});
    EXPECT_EQ(row("12345678", ninety + " b"),
              (Lines{"12345678  " + ninety, std::string(10, ' ') + "b"}));
    EXPECT_EQ(row("12345678", "a " + ninety),
              (Lines{"12345678  a", std::string(10, ' ') + ninety}));
    EXPECT_EQ(row("12345678", ninety + "b"), Lines{"12345678  " + ninety + "b"});
    // Behind the hundredth column nothing can be broken.
    const std::string far(99, 'c');
    EXPECT_EQ(row(far, "a b"), Lines{far + "  a b"});
    EXPECT_EQ(row(std::string(97, 'c'), "a b"),
              (Lines{std::string(97, 'c') + "  a", std::string(99, ' ') + "b"}));
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> words;
        for (uint64_t n = 1 + random() % 50; n > 0; --n)
            words.emplace_back(1 + random() % 12, static_cast<char>('a' + n % 26));
        std::string cell;
        for (size_t i = 0; i < words.size(); ++i) cell += (i == 0 ? "" : " ") + words[i];
        Lines is{"12345  " + words[0]};
        for (size_t i = 1; i < words.size(); ++i)
            if (is.back().size() + 1 + words[i].size() <= 100)
                is.back() += " " + words[i];
            else
                is.push_back(std::string(7, ' ') + words[i]);
        EXPECT_EQ(row("12345", cell), is) << cell;
    }
}

// Wide tables in blocks: as many columns as fit, each block with the first.
TEST(Render, WideTablesInBlocks) {
    std::mt19937 random(3);
    size_t several = 0;
    for (int round = 0; round < 200; ++round) {
        const size_t columns = 1 + random() % 30;
        Grid g;
        g.wraps = true;
        for (size_t c = 0; c < columns; ++c)
            g.header.push_back("h" + std::string(random() % 12, 'x'));
        for (int r = 0; r < 3; ++r) {
            auto& row = g.rows.emplace_back();
            for (size_t c = 0; c < columns; ++c)
                row.push_back("r" + std::string(random() % 12, 'y'));
        }
        std::vector<size_t> widths(columns);
        for (size_t c = 0; c < columns; ++c) {
            widths[c] = g.header[c].size();
            for (const auto& row : g.rows) widths[c] = std::max(widths[c], row[c].size());
        }
        std::vector<std::string> is{"x", ""};
        for (size_t from = 1; from < columns;) {
            size_t to = from;
            size_t used = widths[0];
            while (to < columns && (to == from || used + 2 + widths[to] <= 100))
                used += 2 + widths[to++];
            if (from != 1) {
                is.emplace_back();
                ++several;
            }
            for (int r = -1; r < 3; ++r) {
                const auto& cells = r < 0 ? g.header : g.rows[static_cast<size_t>(r)];
                std::string line = cells[0];
                for (size_t c = from; c < to; ++c) {
                    line.resize(line.size() + 2 +
                                    (c == from ? widths[0] - cells[0].size()
                                               : widths[c - 1] - cells[c - 1].size()),
                                ' ');
                    line += cells[c];
                }
                is.push_back(line);
            }
            from = to;
        }
        Answer a;
        a.line = "x";
        a.grids = {g};
        EXPECT_EQ(lines_of(rendered(a, Format::text)), is);
    }
    EXPECT_GT(several, 100u);
}

// A column alone that is wider than a line, and one that ends at the hundredth.
TEST(Render, BlocksAtTheirEdges) {
    Answer a;
    a.line = "x";
    const std::string wide(120, 'w');
    a.grids = {{"", {"a", wide, "c"}, {{"1", "2", "3"}}, true}};
    EXPECT_EQ(rendered(a, Format::text), "x\n\na  " + wide + "\n1  2\n\na  c\n1  3\n");
    const std::string half(47, 'h');
    a.grids = {{"", {"aa", half, half}, {{"1", "2", "3"}}, true}};
    EXPECT_EQ(lines_of(rendered(a, Format::text))[2], "aa  " + half + "  " + half);
    a.grids[0].header[2] += "h";
    EXPECT_EQ(lines_of(rendered(a, Format::text))[2], "aa  " + half);
}

}  // namespace
}  // namespace lockwarp::lanes::render_test
