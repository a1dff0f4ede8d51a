// What the README lists is what the tables say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/commands/list_command.hpp"

namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Words with one space between them.
std::string plain(const std::string& text) {
    std::istringstream words(text);
    std::string out;
    for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
    return out;
}

TEST(Readme, ListsWhatTheTablesHave) {
    const std::string readme = text_of("README.md");
    const std::string begin = "<!-- printed by: lockwarp list --markdown -->\n";
    const size_t at = readme.find(begin);
    ASSERT_NE(at, std::string::npos);
    const size_t end = readme.find("<!-- end -->", at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(readme.substr(at + begin.size(), end - at - begin.size()),
              lockwarp::tools::instruction_list(true));
}

// The one row that makes a variant is a row of the table.
TEST(Readme, ShowsARowOfTheMatrixTable) {
    const std::string readme = text_of("README.md");
    const std::string begin = "```diff\n";
    const size_t at = readme.find(begin);
    ASSERT_NE(at, std::string::npos);
    const size_t end = readme.find("```", at + begin.size());
    ASSERT_NE(end, std::string::npos);
    std::string row = readme.substr(at + begin.size(), end - at - begin.size());
    for (size_t line = 0; line < row.size(); line = row.find('\n', line) + 1) {
        ASSERT_EQ(row[line], '+');
        row[line] = ' ';
    }
    EXPECT_NE(plain(text_of("emu/isa/matrix_rows.hpp")).find(plain(row)), std::string::npos) << row;
}

}  // namespace
