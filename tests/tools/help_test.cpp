// SPDX-License-Identifier: Apache-2.0
// The end of each command's --help: examples of that command, with options that it has.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/tools/process.hpp"
#include "tools/commands/commands.hpp"

namespace lockwarp::tools {
namespace {

// "  lockwarp where m16n8k16.f32.f16 A 3 7          which lane ..." -> its words, without the
// remark
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> out;
    std::istringstream in(line.substr(2, line.find("  ", 2) - 2));
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

TEST(Help, ExamplesAreOfTheCommandAndItsOptions) {
    const Folder folder;
    size_t examples = 0;
    for (const Command& c : commands) {
        std::istringstream lines{std::string(c.examples)};
        std::string name;
        for (std::string line; std::getline(lines, line); ++examples) {
            const std::vector<std::string> words = words_of(line);
            ASSERT_GE(words.size(), 2u) << line;
            EXPECT_EQ(words[0], "lockwarp") << line;
            if (name.empty()) name = words[1];
            EXPECT_EQ(words[1], name) << line;
            EXPECT_LE(line.size(), 100u) << line;
            const auto help = run_here(folder, {name, "--help"});
            ASSERT_EQ(help.status, 0) << line;
            EXPECT_NE(help.out.find("\nExamples:\n" + std::string(c.examples)), std::string::npos)
                << help.out;
            EXPECT_TRUE(help.out.ends_with(std::string(c.exits) + "\n")) << help.out;
            for (const std::string& word : words) {
                if (!word.starts_with("--")) continue;
                const size_t listed = help.out.find(word);
                EXPECT_LT(listed, help.out.find("\nExamples:\n")) << line << ": " << word;
            }
        }
    }
    EXPECT_GE(examples, 30u);
}

// Those that need neither a GPU nor a file of the user's; files of gpu/ are the project's.
TEST(Help, ExamplesOfQuestionsAreAnswered) {
    const Folder folder;
    size_t answered = 0;
    for (const Command& c : commands) {
        if (c.group != about_lanes) continue;
        std::istringstream lines{std::string(c.examples)};
        for (std::string line; std::getline(lines, line);) {
            std::vector<std::string> words = words_of(line);
            words.erase(words.begin());
            for (std::string& word : words)
                if (word.starts_with("gpu/")) word.insert(0, LOCKWARP_SOURCE_DIR "/");
            if (line.find("operands.json") != std::string::npos || words[0] == "explorer") continue;
            const auto answer = run_here(folder, words);
            EXPECT_EQ(answer.status, 0) << line << "\n" << answer.err;
            EXPECT_FALSE(answer.out.empty()) << line;
            ++answered;
        }
    }
    EXPECT_GE(answered, 15u);
}

}  // namespace
}  // namespace lockwarp::tools
