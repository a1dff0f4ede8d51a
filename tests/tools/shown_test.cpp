// SPDX-License-Identifier: Apache-2.0
// A line of a source with a mark below a place in it, and text that is broken into lines.
#include "tools/report/shown.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace lockwarp::tools {
namespace {

std::vector<std::string> shown_lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

ptx::Place place_at(uint32_t line, uint32_t column, uint32_t length) {
    ptx::Place out;
    out.line = line;
    out.column = column;
    out.length = length;
    return out;
}

TEST(Marked, ShortLines) {
    const std::string source = "first\n\tadd.s32\t%r1;\n\nlast \x01\x7f\xff~";
    struct Row {
        ptx::Place place;
        const char* text;
    };
    for (const Row& row :
         std::initializer_list<Row>{{place_at(1, 1, 5), "  1 | first\n    | ^~~~~\n"},
                                    {place_at(1, 5, 1), "  1 | first\n    |     ^\n"},
                                    // Without a length or a column, and at the end of the line.
                                    {place_at(1, 2, 0), "  1 | first\n    |  ^\n"},
                                    {place_at(1, 0, 2), "  1 | first\n    | ^~\n"},
                                    {place_at(1, 6, 1), "  1 | first\n    |      ^\n"},
                                    {place_at(2, 2, 7), "  2 |  add.s32 %r1;\n    |  ^~~~~~~\n"},
                                    {place_at(3, 1, 1), "  3 | \n    | ^\n"},
                                    {place_at(4, 1, 4), "  4 | last ...~\n    | ^~~~\n"},
                                    // No such lines.
                                    {place_at(5, 1, 1), "  5 | \n    | ^\n"},
                                    {place_at(0, 1, 1), ""}})
        EXPECT_EQ(marked(source, row.place), row.text) << row.place.line << " " << row.place.column;
    const std::string many = std::string(99, '\n') + "abc";
    EXPECT_EQ(marked(many, place_at(100, 3, 1)), "  100 | abc\n      |   ^\n");
}

// Of a long line that part is shown in which the place is: never more than 100 columns, and the
// mark below its first character.
TEST(Marked, LongLines) {
    std::string source;
    for (unsigned i = 0; i < 400; ++i) source += static_cast<char>('!' + i % 94);
    const std::string beside = "  1 | ";
    const size_t room = 100 - beside.size() - 1;
    for (uint32_t column = 1; column <= source.size(); ++column)
        for (const uint32_t length : {1u, 2u, 30u, 93u, 94u, 300u}) {
            const auto lines = shown_lines(marked(source, place_at(1, column, length)));
            ASSERT_EQ(lines.size(), 2u);
            ASSERT_TRUE(lines[0].starts_with(beside) && lines[1].starts_with("    | "));
            const std::string text = lines[0].substr(beside.size());
            const std::string under = lines[1].substr(beside.size());
            ASSERT_LE(lines[0].size(), 100u);
            ASSERT_LE(lines[1].size(), 100u);
            const size_t at = under.find('^');
            ASSERT_EQ(under.find_first_not_of(' '), at);
            ASSERT_EQ(source.find(text), (column - 1 - at) % 94) << "is a part of the line";
            EXPECT_EQ(text[at], source[column - 1]) << column;
            // As many marks as its length, or to the end of what has room.
            EXPECT_EQ(under.find_first_not_of('~', at + 1), std::string::npos);
            EXPECT_GE(under.size() - at, std::min<size_t>(length, room - at)) << column;
            EXPECT_LE(under.size() - at, length) << column;
            // The begin of the line as long as the place is well inside it.
            EXPECT_TRUE(column > 70 || at == column - 1) << column;
            EXPECT_TRUE(column <= 70 || at == room / 2) << column;
        }
    // Beyond the end of its line: nothing that could be shown.
    EXPECT_NE(marked("abc", place_at(1, 50, 1)), "");
    EXPECT_EQ(marked("abc", place_at(1, 150, 1)), "");
}

TEST(Folded, BreaksAtSpaces) {
    EXPECT_EQ(folded(""), "");
    EXPECT_EQ(folded("one two"), "  one two\n");
    const std::string a(98, 'a'), b(97, 'b'), c(40, 'c');
    EXPECT_EQ(folded(a), "  " + a + "\n");
    EXPECT_EQ(folded(a + " " + c), "  " + a + "\n  " + c + "\n");
    EXPECT_EQ(folded(a + "a"), "  " + a + "\n  a\n");
    EXPECT_EQ(folded(b + " c"), "  " + b + "\n  c\n");
    EXPECT_EQ(folded(c + " " + c + " " + c + " " + c),
              "  " + c + " " + c + "\n  " + c + " " + c + "\n");
    EXPECT_EQ(folded(a + " "), "  " + a + "\n");
    // What begins with a space and has no other has no word to break behind.
    EXPECT_EQ(folded(" " + a + a), "   " + std::string(97, 'a') + "\n  " + a + "\n  a\n");
}

}  // namespace
}  // namespace lockwarp::tools
