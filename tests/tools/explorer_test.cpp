// SPDX-License-Identifier: Apache-2.0
// lockwarp explorer: the page is there whole, with dot products in it, or nothing is.
#include <gtest/gtest.h>

#include "lanes/instruction.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

TEST(Explorer, WritesOneFile) {
    const Folder folder;
    const Ended e = run(folder, {"explorer", "--out", "page.html"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("page.html: ")) << e.out;
    EXPECT_NE(e.out.find(std::to_string(lanes::all_keys().size()) + " instructions"),
              std::string::npos);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"page.html"});
    const std::string page = folder.read("page.html");
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    EXPECT_TRUE(page.ends_with("</html>\n"));
    for (const char* sign : {"http://", "https://"})
        EXPECT_EQ(page.find(sign), std::string::npos) << sign;
    // Dot products by every way that an architecture has.
    for (const char* rule : {"one sum of 16 products and C", "2 sums in a chain",
                             "f64 fused multiply-adds", "an exact integer sum", "ABSORBED"})
        EXPECT_NE(page.find(rule), std::string::npos) << rule;
}

TEST(Explorer, WithoutAFileNameItIsLanesHtml) {
    const Folder folder;
    EXPECT_EQ(run(folder, {"explorer"}).status, 0);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"lanes.html"});
}

TEST(Explorer, WhereItCannotBeWrittenIsAnError) {
    const Folder folder;
    const Ended e = run(folder, {"explorer", "--out", "missing/page.html"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.out, "");
    EXPECT_NE(e.err.find("missing/page.html"), std::string::npos) << e.err;
    EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace lockwarp::tools
