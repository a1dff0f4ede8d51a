// SPDX-License-Identifier: Apache-2.0
// docs/library.md shows the C example as it is compiled and run.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Documents, ShowTheExampleInC) {
    const std::string example = text_of("examples/launch_from_c/launch_from_c.c");
    const size_t begin = example.find("#include");
    ASSERT_NE(begin, std::string::npos);
    const std::string page = text_of("docs/library.md");
    EXPECT_NE(page.find("```c\n" + example.substr(begin) + "```\n"), std::string::npos)
        << "docs/library.md does not have the example's code";
}

}  // namespace
