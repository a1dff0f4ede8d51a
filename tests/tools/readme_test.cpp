// What the README lists is what the tables say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/list_command.hpp"

namespace {

TEST(Readme, ListsWhatTheTablesHave) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/README.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string readme = text.str();
    const std::string begin = "<!-- printed by: lockwarp list --markdown -->\n";
    const size_t at = readme.find(begin);
    ASSERT_NE(at, std::string::npos);
    const size_t end = readme.find("<!-- end -->", at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(readme.substr(at + begin.size(), end - at - begin.size()),
              lockwarp::tools::instruction_list(true));
}

}  // namespace
