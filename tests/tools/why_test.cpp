// SPDX-License-Identifier: Apache-2.0
// lockwarp why names mapping mistakes: tests/faults/mapping/faults.json.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using nlohmann::json;

std::string text_of(const std::string& path) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Fault {
    std::string name, launch, ptx, product, answer;
    std::vector<std::pair<std::string, std::string>> texts;  // right, wrong
};

std::vector<Fault> faults() {
    std::vector<Fault> out;
    for (const json& j : json::parse(text_of("tests/faults/mapping/faults.json")).at("faults")) {
        Fault f{j.at("name"),           j.at("launch"), j.at("ptx"),
                j.value("product", ""), j.at("answer"), {}};
        f.texts.emplace_back(j.at("right"), j.at("wrong"));
        if (j.contains("and right")) f.texts.emplace_back(j.at("and right"), j.at("and wrong"));
        out.push_back(std::move(f));
    }
    return out;
}

// Every place of the text, at least one.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
    size_t count = 0;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to), ++count;
    EXPECT_GE(count, 1u) << from;
    return text;
}

Ended ask(const Folder& folder, const Fault& f, const std::string& ptx,
          std::vector<std::string> more = {}) {
    folder.write("kernel.ptx", ptx);
    std::vector<std::string> arguments{"why", "kernel.ptx", LOCKWARP_SOURCE_DIR "/" + f.launch};
    if (!f.product.empty()) arguments.insert(arguments.end(), {"--product", f.product});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(folder, arguments);
}

TEST(Why, NamesEachFaultInTheFirstLine) {
    for (const Fault& f : faults()) {
        const Folder folder;
        std::string ptx = text_of(f.ptx);
        for (const auto& [right, wrong] : f.texts) ptx = replaced(ptx, right, wrong);
        const Ended e = ask(folder, f, ptx);
        EXPECT_EQ(e.status, 1) << f.name << "\n" << e.err;
        EXPECT_EQ(e.out.substr(0, f.answer.size()), f.answer) << f.name << "\n" << e.out;
    }
}

TEST(Why, FindsNothingWrongWithTheRightVersions) {
    for (const Fault& f : faults()) {
        const Folder folder;
        const Ended e = ask(folder, f, text_of(f.ptx));
        EXPECT_EQ(e.status, 0) << f.name << "\n" << e.out << e.err;
        EXPECT_NE(e.out.find("values are as expected\n"), std::string::npos) << f.name;
    }
}

TEST(Why, WritesJsonAndAPicture) {
    const Fault f = faults().front();
    const Folder folder;
    const std::string ptx = replaced(text_of(f.ptx), f.texts[0].first, f.texts[0].second);
    const Ended e = ask(folder, f, ptx, {"--json", "why.json", "--svg", "why.svg"});
    EXPECT_EQ(e.status, 1) << e.err;
    const json j = json::parse(folder.read("why.json")).at(0);
    EXPECT_EQ(j.at("wrong"), 31);
    const json& change = j.at("explanations").at(0).at("parts").at(0).at("changes").at(0);
    EXPECT_EQ(change.at("line"), 92);
    EXPECT_NE(change.at("is"), change.at("becomes").at(0));
    const std::string svg = folder.read("why.svg");
    EXPECT_EQ(svg.substr(0, 4), "<svg");
    EXPECT_NE(svg.find("wrong value: 28"), std::string::npos);
}

}  // namespace
}  // namespace lockwarp::tools
