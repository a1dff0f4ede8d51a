// SPDX-License-Identifier: Apache-2.0
// The picture of an access to shared memory, to the letter: a row of cells for each phase, a column
// for each bank, and in a cell the words that are wanted of the bank, one below the other.
#include <gtest/gtest.h>

#include <map>

#include "lanes/banks.hpp"

namespace lockwarp::lanes {
namespace {

using Cells = std::map<unsigned, std::vector<std::string>>;  // by bank: who wants each word

struct PicturedPhase {
    std::string lanes;
    Cells cells;
};

std::string label(unsigned x, unsigned y, const std::string& words) {
    return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\">" + words +
           "</text>";
}

std::string rectangle(unsigned x, unsigned y, unsigned height, const std::string& fill) {
    return "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
           "\" width=\"30\" height=\"" + std::to_string(height) + "\" fill=\"" + fill + "\"/>";
}

// 32 columns of 30 from 70 on; lines of 12, with 4 below the last and 8 between two phases.
std::string picture_of(const std::string& name, const std::vector<PicturedPhase>& phases) {
    std::string body;
    for (unsigned bank = 0; bank < 32; ++bank)
        body += label(85 + 30 * bank, 24, std::to_string(bank));
    body += label(35, 24, "bank");
    unsigned y = 30;
    for (const PicturedPhase& p : phases) {
        size_t lines = 1;
        for (const auto& [bank, words] : p.cells) lines = std::max(lines, words.size());
        const unsigned height = 12 * static_cast<unsigned>(lines) + 4;
        body += label(35, y + 12, p.lanes);
        for (unsigned bank = 0; bank < 32; ++bank) {
            const auto found = p.cells.find(bank);
            const std::vector<std::string> words =
                found == p.cells.end() ? std::vector<std::string>() : found->second;
            body += rectangle(70 + 30 * bank, y, height,
                              words.empty()       ? "#fff"
                              : words.size() == 1 ? "#cfe6f7"
                                                  : "#e69f00");
            for (unsigned line = 0; line < words.size(); ++line)
                body += label(85 + 30 * bank, y + 12 * (line + 1), words[line]);
        }
        y += height + 8;
    }
    const std::string bottom = std::to_string(y + 20);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1050 " + bottom +
           "\" width=\"1050\" height=\"" + bottom + "\" role=\"img\"><title>" + name +
           ": lanes of each bank, by phase</title><style>rect{stroke:#333;stroke-width:.6}"
           "text{font:9px sans-serif;text-anchor:middle}</style><rect width=\"1050\" height=\"" +
           bottom + "\" fill=\"#fff\" stroke=\"none\"/>" + body + "</svg>";
}

Cells cells(unsigned first, unsigned end, const auto& words_of) {
    Cells out;
    for (unsigned bank = first; bank < end; ++bank) out[bank] = words_of(bank);
    return out;
}

std::string thread(unsigned lane) { return "T" + std::to_string(lane); }

TEST(BankPicture, ToTheLetter) {
    using Words = std::vector<std::string>;
    const auto from = [](unsigned lane) {
        Words out;
        for (unsigned i = 0; i < 8; ++i) out.push_back(thread(lane + i));
        return [out](unsigned) { return out; };
    };
    struct Row {
        const char* access;
        Pattern pattern;
        std::vector<PicturedPhase> phases;
    };
    Cells every_second;
    for (unsigned i = 0; i < 16; ++i) every_second[2 * i] = {thread(i), thread(i + 16)};
    const std::vector<Row> rows{
        // A word of its own for each lane, and a bank.
        {"ld.shared.b32",
         {"", 4, {}, 1},
         {{"T0 to T31", cells(0, 32, [](unsigned bank) { return Words{thread(bank)}; })}}},
        {"ld.shared.b32", {"", 8, {}, 1}, {{"T0 to T31", every_second}}},
        {"ld.shared.b32", {"0", 0, {}, 1}, {{"T0 to T31", {{0, {"32 T"}}}}}},
        {"st.shared.b16",
         {"", 2, {}, 1},
         {{"T0 to T31", cells(0, 16, [](unsigned) { return Words{"2 T"}; })}}},
        // Two phases, each over all banks.
        {"st.shared.v2.b32",
         {"", 8, {}, 1},
         {{"T0 to T15", cells(0, 32, [](unsigned bank) { return Words{thread(bank / 2)}; })},
          {"T16 to T31",
           cells(0, 32, [](unsigned bank) { return Words{thread(16 + bank / 2)}; })}}},
        // Eight rows of 128 bytes: all in the same four banks.
        {"ldmatrix.x2",
         {"", 128, {}, 1},
         {{"T0 to T7", cells(0, 4, from(0))}, {"T8 to T15", cells(4, 8, from(8))}}}};
    for (const Row& row : rows) {
        std::string error;
        const auto access = access_named(row.access, error);
        ASSERT_TRUE(access) << error;
        const std::string expected = picture_of(row.access, row.phases);
        EXPECT_EQ(banks(*access, row.pattern).svg(), expected) << row.access;
        if (access->matrix) {
            EXPECT_EQ(matrix_rows(*access, row.pattern).svg(), expected);
        }
    }
}

}  // namespace
}  // namespace lockwarp::lanes
