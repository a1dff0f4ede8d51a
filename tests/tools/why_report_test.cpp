// SPDX-License-Identifier: Apache-2.0
// What lockwarp why prints of a map that is made by hand.
#include "tools/report/why_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "launch/input.hpp"
#include "tests/tools/process.hpp"
#include "why/hypothesis.hpp"

namespace lockwarp::tools::why_report_test {
namespace {

using why::Wrong;

char letter(Wrong w) { return why::wrong_rows()[static_cast<size_t>(w)].letter; }

// All right but what is told.
why::ErrorMap map_of(uint64_t rows, uint64_t columns,
                     const std::vector<std::pair<uint64_t, Wrong>>& wrong) {
    why::ErrorMap m;
    m.rows = rows;
    m.columns = columns;
    m.of.resize(rows * columns);
    for (const auto& [element, how] : wrong) m.of[element] = how;
    return m;
}

TEST(WhyMap, ACharacterForEachElement) {
    std::string second = "      1 ........ ........ .";
    second[8] = letter(Wrong::value);
    second[8 + 7] = letter(Wrong::other);
    second[8 + 9] = letter(Wrong::nan);
    second[8 + 18] = letter(Wrong::unwritten);
    EXPECT_EQ(error_map_text(map_of(2, 17,
                                    {{17, Wrong::value},
                                     {17 + 7, Wrong::other},
                                     {17 + 8, Wrong::nan},
                                     {17 + 16, Wrong::unwritten}})),
              "map, 2x17, a character for each element; . right\n"
              "      0 ........ ........ .\n" +
                  second + "\n");
    EXPECT_EQ(error_map_text(map_of(1, 8, {})),
              "map, 1x8, a character for each element; . right\n      0 ........\n");
}

// More than 32 rows or 64 columns in blocks: what most of a block is wrong by.
TEST(WhyMap, LargeOnesInBlocks) {
    const auto first_line = [](uint64_t rows, uint64_t columns) {
        const std::string text = error_map_text(map_of(rows, columns, {}));
        return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(first_line(32, 64), "map, 32x64, a character for each element; . right");
    EXPECT_EQ(first_line(33, 64),
              "map, 33x64, a character for each 2x1 elements; . right, + most of them right");
    EXPECT_EQ(first_line(32, 65),
              "map, 32x65, a character for each 1x2 elements; . right, + most of them right");
    EXPECT_EQ(first_line(256, 129),
              "map, 256x129, a character for each 8x4 elements; . right, + most of them right");
    // 3 blocks of 2 by 2 in the last columns: all of one, most of one and a few of one are wrong.
    const uint64_t columns = 66;
    const std::vector<std::pair<uint64_t, Wrong>> wrong{{60, Wrong::is_zero},
                                                        {61, Wrong::is_zero},
                                                        {columns + 60, Wrong::is_zero},
                                                        {columns + 61, Wrong::is_zero},
                                                        {62, Wrong::nan},
                                                        {63, Wrong::nan},
                                                        {columns + 62, Wrong::value},
                                                        {columns + 65, Wrong::value}};
    const std::string text = error_map_text(map_of(34, columns, wrong));
    const size_t begin = text.find("\n      0 ") + 9;
    const std::string row = text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_EQ(row, "........ ........ ........ ......" + std::string(1, letter(Wrong::is_zero)) +
                       letter(Wrong::nan) + " +");
    // 17 rows of blocks, each with the number of its first.
    EXPECT_EQ(std::ranges::count(text, '\n'), 18);
    EXPECT_NE(text.find("\n     32 ........ ........ ........ ........ .\n"), std::string::npos);
}

TEST(WhyText, WhatAnExplanationExplains) {
    why::Explanation e;
    e.explained = 1234;
    EXPECT_EQ(explains(e, 1234), "explains all 1,234 elements");
    EXPECT_EQ(explains(e, 5000), "explains 1,234 of 5,000");
    e.broken = 1;
    EXPECT_EQ(explains(e, 1234), "explains 1,234 of 1,234 (and breaks 1)");
    e.broken = 0;
    e.explained = 1;
    EXPECT_EQ(explains(e, 1), "explains all 1 element");
    e.parts.resize(2);
    e.parts[0].words = "one";
    e.parts[1].words = "two";
    EXPECT_EQ(words_of(e), "one; and two");
}

// A map with its counts.
why::ErrorMap map_with_counts(uint64_t rows, uint64_t columns,
                              const std::vector<std::pair<uint64_t, Wrong>>& wrong) {
    why::ErrorMap m = map_of(rows, columns, wrong);
    m.counts.assign(why::wrong_rows().size(), 0);
    for (const Wrong w : m.of) ++m.counts[static_cast<size_t>(w)];
    return m;
}

// A program of which explanations speak, and a launch of it.
struct Spoken {
    Spoken() {
        const Folder folder;
        folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.entry k() { .reg .b32 %r<4>;
mov.u32 %r1, 1;
mov.u32 %r2, 2;
mov.u32 %r3, 3;
ret; }
)");
        folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
            "block": [1], "buffers": {}, "args": []})");
        auto loaded = launch::load_all({(folder.path / "k.json").string()}, "", {});
        if (!loaded) {
            ADD_FAILURE() << loaded.error().sentence;
            return;
        }
        steps = std::move(*loaded);
        steps[0].in.ptx_path = "k.ptx";
        subject.steps = &steps;
        for (const isa::Operation& o : steps[0].program.operations) places.push_back(o.place);
        instruction = *why::Text(steps[0].in.module, "k").at(places[1]);
    }
    // One that changes so many lines.
    why::Candidate candidate(const std::string& words, size_t lines) const {
        why::Candidate c;
        c.of = &why::hypotheses()[0];
        c.words = words;
        for (size_t i = 0; i < lines; ++i)
            c.patch.edits.push_back({places[i], {instruction, instruction}});
        return c;
    }
    std::vector<launch::Loaded> steps;
    std::vector<ptx::Place> places;
    ptx::Instruction instruction;
    why::Subject subject;
};

why::Explanation explaining(uint64_t elements, std::vector<why::Candidate> parts,
                            double likely = 1) {
    why::Explanation e;
    e.explained = elements;
    e.parts = std::move(parts);
    e.likely = likely;
    return e;
}

const std::string two_wrong =
    "D: 2 of 6 elements are wrong: 1 wrong value (x), 1 NaN (N)\n"
    "map, 2x3, a character for each element; . right\n      0 .x.\n      1 ..N\n";

TEST(WhyText, OneThatExplainsAll) {
    const Spoken s;
    why::Answer a;
    a.map = map_with_counts(2, 3, {{1, Wrong::value}, {5, Wrong::nan}});
    const std::string shown =
        "  k.ptx:5\n-   mov.u32 %r1, 1;\n+   mov.u32 %r2, 2;\n+   mov.u32 %r2, 2;\n";
    a.explanations = {explaining(2, {s.candidate("this is so", 1)})};
    const std::string first = "explains all 2 elements: this is so\n" + shown;
    EXPECT_EQ(why_text("D", s.subject, a), first + two_wrong);
    // Others that are as likely; not those that explain less, and not what stands behind them.
    a.explanations.push_back(explaining(2, {s.candidate("or this", 1)}, 1 - 0.5e-4));
    EXPECT_EQ(why_text("D", s.subject, a), first + "  also explained by: or this\n" + two_wrong);
    a.explanations.push_back(explaining(2, {s.candidate("hardly", 1)}, 1 - 2e-4));
    a.explanations.push_back(explaining(2, {s.candidate("behind it", 1)}));
    EXPECT_EQ(why_text("D", s.subject, a), first + "  also explained by: or this\n" + two_wrong);
    a.explanations[2] = explaining(1, {s.candidate("a part", 1)});
    EXPECT_EQ(why_text("D", s.subject, a), first + "  also explained by: or this\n" + two_wrong);
    // Five at most.
    a.explanations.assign(7, a.explanations[0]);
    const std::string text = why_text("D", s.subject, a);
    size_t also = 0;
    for (size_t at = text.find("also explained"); at != std::string::npos;
         at = text.find("also explained", at + 1))
        ++also;
    EXPECT_EQ(also, 4u);
    // Two lines of each part are shown.
    a.explanations = {explaining(2, {s.candidate("one", 2), s.candidate("two", 3)})};
    const std::string both = why_text("D", s.subject, a);
    EXPECT_TRUE(both.starts_with("explains all 2 elements: one; and two\n" + shown)) << both;
    EXPECT_EQ(std::ranges::count(both, '-'), 4) << both;
    EXPECT_NE(both.find("\n  and 1 more lines alike\n"), std::string::npos) << both;
    EXPECT_EQ(both.find("and 0 more"), std::string::npos) << both;
}

TEST(WhyText, WhereNoneExplainsAll) {
    const Spoken s;
    why::Answer a;
    a.map = map_with_counts(2, 3, {{1, Wrong::value}, {5, Wrong::nan}});
    EXPECT_EQ(why_text("D", s.subject, a),
              "no hypothesis explains any of the 2 elements\n" + two_wrong);
    a.explanations = {explaining(1, {s.candidate("a part", 0)}),
                      explaining(1, {s.candidate("another", 1)})};
    a.explanations[1].broken = 3;
    const std::string best =
        "no hypothesis explains all 2 elements; the best:\n"
        "  explains 1 of 2: a part\n  explains 1 of 2 (and breaks 3): another\n";
    EXPECT_EQ(why_text("D", s.subject, a), best + two_wrong);
    a.trapped = true;
    EXPECT_EQ(why_text("D", s.subject, a),
              "the program traps; lockwarp run says where. What it left until then:\n" + best +
                  two_wrong);
    // What other data contradict explains nothing.
    a.trapped = false;
    a.explanations = {explaining(2, {s.candidate("this", 0)})};
    a.explanations[0].fresh = why::Explanation::Fresh::wrong;
    EXPECT_TRUE(why_text("D", s.subject, a)
                    .starts_with("no hypothesis explains all 2 elements; the best:\n"));
}

TEST(WhyText, WhatIsSaidBesides) {
    Spoken s;
    why::Answer a;
    a.map = map_with_counts(2, 3, {{1, Wrong::value}, {5, Wrong::nan}});
    a.explanations = {explaining(2, {s.candidate("this", 0)})};
    a.trapped = true;
    a.measured = {"rows are odd", "columns are even"};
    a.reservation = "only with such data";
    a.out_of_time = true;
    a.map.permutation = {"row r has the values of row r^1"};
    s.subject.product.emplace();
    s.subject.product->a = "A";
    s.subject.product->b = "B";
    s.subject.product->m = 2;
    s.subject.product->n = 3;
    s.subject.product->k = 16;
    const std::string permuted = std::string(two_wrong).insert(
        two_wrong.find("map, "), "  row r has the values of row r^1\n");
    const auto text = [&](const std::string& found) {
        return "explains all 2 elements: this\n"
               "note: the program traps; lockwarp run says where\n" +
               found +
               "measured: rows are odd\nmeasured: columns are even\n"
               "note: only with such data\nnote: the time limit ended the search\n" +
               permuted;
    };
    EXPECT_EQ(why_text("D", s.subject, a), text(""));
    s.subject.product_is_found = true;
    EXPECT_EQ(why_text("D", s.subject, a), text("note: what is expected is A * B, 2x3x16\n"));
    s.subject.product->b_transposed = true;
    EXPECT_EQ(why_text("D", s.subject, a), text("note: what is expected is A * B', 2x3x16\n"));
    s.subject.product->b_transposed = false;
    s.subject.product->a_transposed = true;
    EXPECT_EQ(why_text("D", s.subject, a), text("note: what is expected is A' * B, 2x3x16\n"));
    a.map = map_with_counts(2, 3, {});
    EXPECT_EQ(why_text("D", s.subject, a), "D: all 6 values are as expected\n");
}

// A line of 100 columns stays whole.
TEST(WhyText, LongLinesAreWrapped) {
    const Spoken s;
    why::Answer a;
    a.map = map_with_counts(1, 1, {{0, Wrong::value}});
    const std::string head = "explains all 1 element: ";
    for (const size_t length : {100u, 101u}) {
        // Of words of four letters.
        std::string words;
        while (words.size() + 5 <= length - head.size()) words += "word ";
        words.resize(length - head.size(), 'x');
        a.explanations = {explaining(1, {s.candidate(words, 0)})};
        const std::string text = why_text("D", s.subject, a);
        const std::string whole = head + words;
        const size_t last = whole.rfind(' ');
        EXPECT_TRUE(text.starts_with(length == 100 ? whole + "\n"
                                                   : whole.substr(0, last) + "\n  " +
                                                         whole.substr(last + 1) + "\n"))
            << text;
    }
}

TEST(WhyJson, HasWhatWasFound) {
    const Spoken s;
    why::Answer a;
    a.map = map_with_counts(2, 3, {{1, Wrong::value}, {5, Wrong::nan}});
    a.map.permutation = {"p"};
    a.explanations = {explaining(2, {s.candidate("one", 1), s.candidate("two", 0)}),
                      explaining(1, {s.candidate("three", 0)}),
                      explaining(2, {s.candidate("four", 0)})};
    a.explanations[1].broken = 4;
    a.explanations[1].fresh = why::Explanation::Fresh::right;
    a.explanations[2].fresh = why::Explanation::Fresh::wrong;
    a.measured = {"m"};
    a.tried = 9;
    const std::string name(why::hypotheses()[0].name);
    const auto expected = nlohmann::ordered_json::parse(R"({
"matrix":"D","rows":2,"columns":3,"wrong":2,
"counts":{"right":4,"wrong value":1,"the value that another element should have":0,"zero":0,
          "never written":0,"NaN":1},
"permutation":["p"],
"explanations":[
 {"message":"one; and two","explained":2,"broken":0,"all":true,"other_data":"not tried","parts":[
  {"hypothesis":"H","message":"one","changes":[{"ptx":"k.ptx","line":5,"is":"mov.u32 %r1, 1;",
   "becomes":["mov.u32 %r2, 2;","mov.u32 %r2, 2;"]}]},
  {"hypothesis":"H","message":"two","changes":[]}]},
 {"message":"three","explained":1,"broken":4,"all":false,"other_data":"right","parts":[
  {"hypothesis":"H","message":"three","changes":[]}]},
 {"message":"four","explained":2,"broken":0,"all":false,"other_data":"wrong","parts":[
  {"hypothesis":"H","message":"four","changes":[]}]}],
"measured":["m"],"tried":9})");
    nlohmann::ordered_json got = why_json("D", s.subject, a);
    for (auto& e : got["explanations"])
        for (auto& part : e["parts"]) {
            EXPECT_EQ(part["hypothesis"], name);
            part["hypothesis"] = "H";
        }
    EXPECT_EQ(got, expected) << got.dump(1);
    a.reservation = "only with such data";
    EXPECT_EQ(why_json("D", s.subject, a)["note"], "only with such data");
}

// A rectangle for each element, numbers of every eighth row and column, and what the colours mean.
TEST(WhySvg, ARectangleForEachElement) {
    const std::string svg =
        error_map_svg("a<b", map_with_counts(2, 9, {{1, Wrong::value}, {10, Wrong::nan}}));
    const auto count = [&](const std::string& what) {
        size_t n = 0;
        for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
        return n;
    };
    EXPECT_TRUE(svg.starts_with(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 360 156\" width=\"360\" "
        "height=\"156\" role=\"img\"><title>errors of a&lt;b</title><style>"))
        << svg;
    EXPECT_EQ(count("width=\"24\" height=\"24\""), 18u);
    EXPECT_EQ(count("fill=\"#eeeeee\""), 16u + 1);
    const auto cell = [](int x, int y, const std::string& colour) {
        return "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
               "\" width=\"24\" height=\"24\" fill=\"" + colour + "\"/>";
    };
    EXPECT_EQ(count(cell(40 + 24, 40, "#d55e00")), 1u);
    EXPECT_EQ(count(cell(40 + 24, 40 + 24, "#cc79a7")), 1u);
    EXPECT_EQ(count(cell(40 + 8 * 24, 40 + 24, "#eeeeee") + "\n"), 1u);
    EXPECT_EQ(count("<text x=\"4\" y=\"49\">0</text>"), 1u);
    EXPECT_EQ(count("<text x=\"40\" y=\"36\">0</text>"), 1u);
    EXPECT_EQ(count("<text x=\"232\" y=\"36\">8</text>"), 1u);
    const auto key = [](int y, const std::string& colour, const std::string& words) {
        return "<rect x=\"40\" y=\"" + std::to_string(y - 9) +
               "\" width=\"10\" height=\"10\" fill=\"" + colour + "\"/><text x=\"56\" y=\"" +
               std::to_string(y) + "\">" + words + "</text>";
    };
    EXPECT_EQ(count(key(108, "#eeeeee", "right: 16") + key(124, "#d55e00", "wrong value: 1") +
                    key(140, "#cc79a7", "NaN: 1")),
              1u)
        << svg;
    EXPECT_EQ(count("<text"), 3u + 3);
}

// 8 rows and columns are numbered 0 to 7.
TEST(WhySvg, NoNumberStandsBehindTheLastRowOrColumn) {
    const std::string svg = error_map_svg("D", map_with_counts(8, 8, {}));
    EXPECT_NE(svg.find("\">0</text>"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("\">8</text>"), std::string::npos) << svg;
}

TEST(WhySvg, LargeOnesInBlocks) {
    struct Row {
        uint64_t rows, columns;
        size_t blocks;
        const char* size;
        const char* width;
    };
    for (const Row& row :
         std::initializer_list<Row>{{128, 1, 128, "\"5\" height=\"5\"", "\"360\""},
                                    {129, 1, 65, "\"9\" height=\"9\"", "\"360\""},
                                    {1, 27, 27, "\"23\" height=\"23\"", "\"701\""},
                                    {16, 257, 16 * 65, "\"9\" height=\"9\"", "\"665\""}}) {
        const std::string svg = error_map_svg("D", map_with_counts(row.rows, row.columns, {}));
        size_t n = 0;
        const std::string cell = std::string("width=") + row.size + " fill=\"#eeeeee\"/>";
        for (size_t at = svg.find(cell); at != std::string::npos; at = svg.find(cell, at + 1)) ++n;
        EXPECT_EQ(n, row.blocks) << row.rows << " " << row.columns;
        EXPECT_NE(svg.find(std::string("width=") + row.width + " height="), std::string::npos);
    }
    // Of a block with anything wrong the colour is what most of that is.
    const std::string svg = error_map_svg(
        "D", map_with_counts(129, 1, {{3, Wrong::value}, {6, Wrong::nan}, {7, Wrong::nan}}));
    for (const char* cell : {"<rect x=\"40\" y=\"49\" width=\"9\" height=\"9\" fill=\"#d55e00\"/>",
                             "<rect x=\"40\" y=\"67\" width=\"9\" height=\"9\" fill=\"#cc79a7\"/>",
                             "<text x=\"4\" y=\"121\">16</text>"})
        EXPECT_NE(svg.find(cell), std::string::npos) << cell;
}

}  // namespace
}  // namespace lockwarp::tools::why_report_test
