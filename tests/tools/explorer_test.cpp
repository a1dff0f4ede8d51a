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
    // Those of dense products of one type that are not too long.
    std::string products = page.substr(page.find("\"traces\":"));
    products.resize(products.find('<'));
    for (const char* key : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f32.bf16.bf16.f32",
                            "mma.m16n8k8.f32.tf32.tf32.f32", "mma.m8n8k4.f64.f64.f64.f64",
                            "mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f32.e5m2.e5m2.f32",
                            "mma.m16n8k32.s32.s8.s8.s32"})
        EXPECT_NE(products.find("\"" + std::string(key) + "\":[{\"name\""), std::string::npos)
            << key;
    for (const char* sign : {"\"mma.sp", "e4m3.e5m2", "\"mma.m16n8k64", "s32.u8", "wgmma"})
        EXPECT_EQ(products.find(sign), std::string::npos) << sign;
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
