// SPDX-License-Identifier: Apache-2.0
// lockwarp why names mapping mistakes: tests/faults/mapping/faults.json.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/process.hpp"
#include "why/hypothesis.hpp"

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
    std::string name, launch, ptx, answer;
    std::vector<std::pair<std::string, std::string>> texts;  // right, wrong
};

std::vector<Fault> faults() {
    std::vector<Fault> out;
    const json all = json::parse(text_of("tests/faults/mapping/faults.json"));
    for (const json& j : all.at("faults")) {
        Fault f{j.at("name"), j.at("launch"), j.at("ptx"), j.at("answer"), {}};
        for (const json& t : j.at("texts")) f.texts.emplace_back(t.at(0), t.at(1));
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
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(folder, arguments);
}

std::string faulty(const Fault& f) {
    std::string ptx = text_of(f.ptx);
    for (const auto& [right, wrong] : f.texts) ptx = replaced(ptx, right, wrong);
    return ptx;
}

Fault fault_named(const std::string& name) {
    for (Fault& f : faults())
        if (f.name == name) return f;
    ADD_FAILURE() << name;
    return {};
}

// The first line, with those that it goes on in.
std::string answer_of(const std::string& out) {
    std::istringstream lines(out);
    std::string answer, line;
    std::getline(lines, answer);
    while (std::getline(lines, line) && line.starts_with("  ") &&
           !line.starts_with("  kernel.ptx") && !line.starts_with("  also explained by: "))
        answer += line.substr(1);
    return answer;
}

TEST(Why, NamesEachFaultInTheFirstLine) {
    for (const Fault& f : faults()) {
        const Folder folder;
        const Ended e = ask(folder, f, faulty(f));
        EXPECT_EQ(e.status, 1) << f.name << "\n" << e.err;
        EXPECT_EQ(answer_of(e.out), f.answer) << f.name << "\n" << e.out;
    }
    EXPECT_GE(faults().size(), 25u);
}

TEST(Why, TheDocumentShowsWhatIsPrinted) {
    const std::string page = text_of("docs/why.md");
    const size_t begin = page.find("```text\n") + 8;
    const std::string shown = page.substr(begin, page.find("```", begin) - begin);
    const Fault f = fault_named("b0 and b1 swapped at one mma");
    const Folder folder;
    const Ended e = ask(folder, f, faulty(f));
    EXPECT_EQ(e.out.substr(0, shown.size()), shown);
}

TEST(Why, TheDocumentListsTheHypotheses) {
    const std::string page = text_of("docs/why.md");
    for (const why::Hypothesis& h : why::hypotheses()) {
        std::string row = "| ";
        for (const std::string_view cell : {h.name, h.changes, h.applies})
            row += std::string(cell) + " | ";
        row.back() = '\n';
        EXPECT_NE(page.find(row), std::string::npos) << row;
    }
}

// With ones in place of A the mistake does not show; random data tell.
TEST(Why, SaysWhenTheDataCannotTell) {
    const Fault f = fault_named("b0 and b1 swapped");
    const Folder folder;
    json launch = json::parse(text_of(f.launch));
    launch["buffers"]["A"]["init"] = {{"values", {{"f16", {1}}}}};
    launch["ptx"] = "kernel.ptx";
    folder.write("ones.json", launch.dump());
    folder.write("kernel.ptx", faulty(f));
    const Ended e = run(folder, {"why", "ones.json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_NE(e.out.find("the registers b0 and b1 of lines"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("only with such data"), std::string::npos) << e.out;
}

// The result alone, without the words that it is a product.
// Of what is expected without a product the rows are those of --shape, else the buffer's.
TEST(Why, KnowsTheRowsOfWhatIsExpected) {
    const Folder folder;
    folder.write("k.ptx",
                 ".version 8.0\n.target sm_80\n.address_size 64\n"
                 ".entry k(.param .u64 p) { ret; }\n");
    const auto rows = [&](const std::string& buffer, const std::string& part,
                          std::vector<std::string> more = {}) {
        folder.write("k.json",
                     R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k", "grid": [1],
 "block": [32], "buffers": {"D": {"type": "f32", )" +
                         buffer + R"(, "init": {"fill": 0}}}, "args": [{"buffer": "D"}],
 "expect": [{"buffer": "D", "type": "f32", )" +
                         part + R"("is": {"fill": 1}}]})");
        std::vector<std::string> words{"why", "k.json", "--json", "-"};
        words.insert(words.end(), more.begin(), more.end());
        const Ended e = run_here(folder, words);
        const json j = json::parse(e.out, nullptr, false);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"k.json", "k.ptx"}));
        if (j.is_discarded()) return e.out + e.err;
        return j[0]["rows"].dump() + "x" + j[0]["columns"].dump();
    };
    for (const auto& [buffer, part, option, answer] :
         std::initializer_list<std::array<const char*, 4>>{
             {R"("shape": [3, 8])", "", "", "3x8"},
             {R"("shape": [3, 8])", "", "4x6", "4x6"},
             {R"("shape": [3, 8])", "", "5x5", "1x24"},
             {R"("bytes": 96)", "", "", "1x24"},
             {R"("bytes": 96)", "", "12x2", "12x2"},
             {R"("shape": [24])", "", "", "1x24"},
             {R"("shape": [2, 3, 4])", "", "", "1x24"},
             {R"("shape": [3, 8], "stride": 8)", "", "", "3x8"},
             {R"("shape": [3, 8], "stride": 10)", "", "", "1x28"},
             {R"("shape": [3, 8])", R"("offset": 32, "bytes": 64, )", "", "1x16"},
             {R"("shape": [3, 8])", R"("offset": 32, "bytes": 64, )", "4x4", "4x4"}}) {
        std::vector<std::string> more;
        if (*option != 0) more = {"--shape", option};
        EXPECT_EQ(rows(buffer, part, more), answer) << buffer << part << option;
    }
}

TEST(Why, FindsTheProductThatIsExpected) {
    const Fault f = fault_named(".trans missing on B");
    const Folder folder;
    json launch = json::parse(text_of(f.launch));
    launch["ptx"] = "kernel.ptx";
    folder.write("kernel.ptx", text_of(f.ptx));
    folder.write("right.json", launch.dump());
    ASSERT_EQ(run(folder, {"run", "right.json", "--out", "."}).status, 0);
    launch["expect"] =
        json::array({json::parse(R"({"buffer": "C", "type": "f32", "is": {"file": "C.bin"}})")});
    folder.write("file.json", launch.dump());
    folder.write("kernel.ptx", faulty(f));
    const Ended e = run(folder, {"why", "file.json"});
    ASSERT_EQ(e.status, 1) << e.err;
    EXPECT_EQ(answer_of(e.out), f.answer) << e.out;
    EXPECT_NE(e.out.find("what is expected is A * B, 64x64x128"), std::string::npos) << e.out;
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
    const Fault f = fault_named("b0 and b1 swapped at one mma");
    const Folder folder;
    const Ended e = ask(folder, f, faulty(f), {"--json", "why.json", "--svg", "why.svg"});
    EXPECT_EQ(e.status, 1) << e.err;
    const json j = json::parse(folder.read("why.json")).at(0);
    EXPECT_EQ(j.at("wrong"), 2048);
    const json& change = j.at("explanations").at(0).at("parts").at(0).at("changes").at(0);
    EXPECT_EQ(change.at("line"), 255);
    EXPECT_NE(change.at("is"), change.at("becomes").at(0));
    const std::string svg = folder.read("why.svg");
    EXPECT_EQ(svg.substr(0, 4), "<svg");
    EXPECT_NE(svg.find("wrong value: "), std::string::npos);
    // To stdout, and into no file of that name.
    const std::vector<std::string> names = folder.names();
    const Ended shown = ask(folder, f, faulty(f), {"--json", "-"});
    EXPECT_EQ(shown.out, folder.read("why.json"));
    EXPECT_EQ(folder.names(), names);
}

// Two mistakes at a time are looked for, but not where threads race.
TEST(Why, OfTwoMistakesWhereThreadsRaceTheMeasuredIsSaid) {
    const Fault f = fault_named("two: .trans on A, b0 and b1");
    const std::string two = "the registers b0 and b1 of lines 255, 258, 270 and 273 are swapped";
    ASSERT_TRUE(f.answer.ends_with(two)) << f.answer;
    std::string ptx = faulty(f);
    ptx.insert(ptx.find("ld.param.u64"),
               "{ .shared .b32 race; .reg .b32 %race; mov.u32 %race, %tid.x; "
               "st.shared.u32 [race], %race; } ");
    const Folder folder;
    const Ended e = ask(folder, f, ptx);
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_TRUE(answer_of(e.out).starts_with(
        "explains all 4,096 elements: A is read from other rows than D's at lines 247 and 262"))
        << e.out;
    EXPECT_EQ(e.out.find("b0 and b1"), std::string::npos) << e.out;
}

}  // namespace
}  // namespace lockwarp::tools
