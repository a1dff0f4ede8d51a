// SPDX-License-Identifier: Apache-2.0
// What the questions about lanes are answered, in every format, to the letter: nobody looks at the
// rules of a table or the corners of a picture again, once they are right.
#include <gtest/gtest.h>

#include <array>
#include <iomanip>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/answers.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

constexpr std::array formats{"text", "markdown", "csv", "json", "svg", "html"};

uint64_t digest(const std::string& text) {  // FNV-1a
    uint64_t out = 0xcbf29ce484222325;
    for (const char c : text) out = (out ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return out;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

std::string row_text(const AnswerRow& row, const std::array<uint64_t, formats.size()>& is) {
    std::ostringstream out;
    out << "    {\"" << row.question << "\", " << row.status << ",\n     {" << std::hex
        << std::setfill('0');
    for (size_t i = 0; i < is.size(); ++i)
        out << (i == 0 ? "0x" : i == 3 ? ",\n      0x" : ", 0x") << std::setw(16) << is[i];
    return out.str() + "}},\n";
}

class Answers : public testing::TestWithParam<std::string> {};

TEST_P(Answers, AreTheSameToTheLetter) {
    const Folder folder;
    for (const AnswerRow& row : answers) {
        const std::vector<std::string> question = words_of(row.question);
        if (question[0] != GetParam()) continue;
        std::array<uint64_t, formats.size()> is{};
        std::string printed;
        // What is wrong with a question is said alike in all.
        const size_t asked = row.status == 0 ? formats.size() : 1;
        for (size_t i = 0; i < asked; ++i) {
            std::vector<std::string> words = question;
            words.insert(words.end(), {"--format", formats[i]});
            const Ended e = run(folder, words);
            EXPECT_EQ(e.status, row.status) << row.question << " --format " << formats[i];
            is[i] = digest(e.out + e.err);
            if (is[i] != row.digests[i]) printed += e.out + e.err;
        }
        EXPECT_EQ(printed, "") << row_text(row, is);
    }
}

std::vector<std::string> commands_asked() {
    std::set<std::string> out;
    for (const AnswerRow& row : answers) out.insert(words_of(row.question)[0]);
    return {out.begin(), out.end()};
}

INSTANTIATE_TEST_SUITE_P(Lanes, Answers, testing::ValuesIn(commands_asked()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace lockwarp::tools
