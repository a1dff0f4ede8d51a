// SPDX-License-Identifier: Apache-2.0
// lockwarp explorer: the page is there whole, with dot products in it, or nothing is.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "lanes/instruction.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using nlohmann::json;

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

// The part of the page that has dot products.
json products_of(const std::string& page) {
    constexpr std::string_view name = "\"traces\":";
    std::istringstream text(page.substr(page.find(name) + name.size()));
    json out;
    text >> out;
    return out;
}

// By its key: "mma.m16n8k32.f32.e4m3.e4m3.f32".
bool is_shown(const std::string& key) {
    static const std::regex dense(
        R"((wmma\.)?mma\.m\d+n\d+k(\d+)\.(kind::f8f6f4\.)?((row|col)\.(row|col)\.)?(\w+)\.(\w+)\.(\w+)\.(\w+))");
    static const std::set<std::string> types{"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8"};
    std::smatch m;
    return std::regex_match(key, m, dense) && std::stoi(m[2]) <= 32 && m[8] == m[9] &&
           m[7] == m[10] && types.contains(m[8]);
}

// Those of dense products of one type that are not too long, each with all examples.
void expect_common_instructions(const json& products) {
    std::set<std::string> wanted, found;
    for (const std::string& key : lanes::all_keys())
        if (is_shown(key)) wanted.insert(key);
    EXPECT_EQ(wanted.size(), 95u);
    for (const auto& [key, examples] : products["of"].items()) {
        found.insert(key);
        ASSERT_EQ(examples.size(), 3u) << key;
        for (const json& e : examples) {
            EXPECT_EQ(e["archs"].size(), examples[0]["archs"].size()) << key;
            for (const json& at : e["archs"]) EXPECT_LT(at, products["texts"].size());
        }
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(std::set<json>(products["texts"].begin(), products["texts"].end()).size(),
              products["texts"].size());
}

std::string joined(std::vector<std::string> values, unsigned k, const std::string& more) {
    values.resize(k, more);
    return fmt::format("{}", fmt::join(values, ","));
}

// What the page says is what explain says.
void expect_what_explain_says(const Folder& folder, const json& products) {
    struct Row {
        const char* key;
        const char* arch;
        unsigned k;
    };
    for (const Row& row : std::initializer_list<Row>{{"mma.m16n8k16.f32.f16.f16.f32", "sm_90", 16},
                                                     {"mma.m8n8k4.f64.f64.f64.f64", "sm_80", 4},
                                                     {"mma.m16n8k8.f32.tf32.tf32.f32", "sm_80", 8}})
        for (size_t n = 0; n < 3; ++n) {
            std::vector<std::string> arguments{"explain", row.key,  "D",      "0",
                                               "0",       "--json", "--arch", row.arch};
            const auto add = [&](const std::string& a, const std::string& b, const char* c) {
                for (const auto& [name, value] : {std::pair{"--a", a}, {"--b", b}, {"--c", c}})
                    arguments.insert(arguments.end(), {name, value});
            };
            if (n == 1)
                add(joined({"256", "0.015625", "-256", "0.015625"}, row.k, "0"),
                    joined({"256", "0.015625", "256", "0.015625"}, row.k, "0"), "0");
            const std::string same = joined({}, row.k, "0.015625");
            if (n == 2) add(same, same, "4096");
            const Ended explained = run_here(folder, arguments);
            ASSERT_EQ(explained.status, 0) << explained.err;
            const json whole = json::parse(explained.out);
            const json& wanted = whole["results"][0];
            const json& example = products["of"][row.key][n];
            const json& text = products["texts"][example["archs"][row.arch].get<size_t>()];
            for (const char* field : {"rule", "result", "value"})
                EXPECT_EQ(text[field], wanted[field]) << row.key << ' ' << n;
            EXPECT_EQ(text["c"], whole["c"]);
            for (const json& grid : text["grids"]) {
                const std::string title = grid["title"];
                EXPECT_TRUE(title.starts_with("Sum ") || title.find('\n') == std::string::npos)
                    << title;
                EXPECT_FALSE(title.empty());
            }
        }
}

TEST(Explorer, HasTheProductsOfCommonInstructions) {
    const Folder folder;
    ASSERT_EQ(run_here(folder, {"explorer", "--out", "page.html"}).status, 0);
    const json products = products_of(folder.read("page.html"));
    expect_common_instructions(products);
    expect_what_explain_says(folder, products);
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
