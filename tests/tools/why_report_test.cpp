// SPDX-License-Identifier: Apache-2.0
// What lockwarp why prints of a map that is made by hand.
#include "tools/report/why_report.hpp"

#include <gtest/gtest.h>

namespace lockwarp::tools {
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

}  // namespace
}  // namespace lockwarp::tools
