// SPDX-License-Identifier: Apache-2.0
// Reports for CI: JSON there and back, JUnit, GitHub.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/results.hpp"
#include "tests/tools/process.hpp"
#include "tests/validate/summary_cases.hpp"
#include "tools/commands/fuzz_command.hpp"
#include "tools/report/summary_github.hpp"
#include "tools/report/summary_json.hpp"
#include "tools/report/summary_junit.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::ordered_json;
using validate::case_of;
using validate::CaseResult;
using validate::empty_summary;
using validate::Summary;
using validate::three_cases;
using validate::Verdict;

// Everything a stranger's kernel may have for a name or a message.
const std::string hostile =
    "<a href='x'>&\"]]>\x1b[31m%0A```` ::error::x\n::set-output name=a::b\n`````\n| a | b |\xff\xc0"
    "\x80\xed\xa0\x80\xef\xbf\xbf\xc2\x9b \xe2\x82\xac\r\n##[error]c\t\x01\x7f\n";

TEST(SummaryJson, ThereAndBack) {
    Summary s = three_cases();
    s.results[1].text = "a\tb\n\xe2\x82\xac \"\\\n";
    s.results[1].source = {{"/src/k.cu", 7, 2, "_Z1fv"}, {"", 9, 0, ""}};
    s.results[1].counts.masked = 3;
    s.counts.masked = 3;
    s.results[0].compiler = "fuses";
    s.seconds = 0.1;
    const std::string text = summary_json(s);
    Summary back;
    ASSERT_EQ(take(parse_summary(text, "r.json"), back), "");
    EXPECT_EQ(summary_json(back), text);
    EXPECT_EQ(back.results[2].text, s.results[2].text);
    EXPECT_EQ(back.results[1].text, s.results[1].text);
    EXPECT_EQ(back.results[1].source, s.results[1].source);
    EXPECT_EQ(back.counts.values, s.counts.values);
    EXPECT_EQ(back.seconds, 0.1);
    EXPECT_EQ(back.devices[0].memory, 150'000'000'000u);
    EXPECT_EQ(back.results[2].instruction, "add.s32");
    EXPECT_EQ(back.results[2].line, 7u);
    EXPECT_EQ(back.results[0].compiler, "fuses");

    Summary fuzz = empty_summary("fuzz");
    add(fuzz, case_of("seed 3", Verdict::identical, 9), false);
    add(fuzz, case_of("seed 4", Verdict::failed, 9), false);
    fuzz.seeds = {{3, 2}};
    ASSERT_EQ(take(parse_summary(summary_json(fuzz), "r.json"), back), "");
    EXPECT_EQ(summary_json(back), summary_json(fuzz));
    EXPECT_EQ(back.seeds[0].first, 3u);
}

// What a clock that was set back measures, too, can be read back.
TEST(SummaryJson, SecondsThatAreNoTime) {
    for (const double seconds : {-0.5, HUGE_VAL, std::nan("")}) {
        Summary s = three_cases();
        s.seconds = s.results[0].seconds = seconds;
        Summary back;
        ASSERT_EQ(take(parse_summary(summary_json(s), "r.json"), back), "");
        EXPECT_EQ(back.seconds, 0);
        EXPECT_EQ(back.results[0].seconds, 0);
    }
}

TEST(SummaryJson, FieldsInOrder) {
    const Json j = Json::parse(summary_json(three_cases()));
    std::vector<std::string> names;
    for (const auto& [name, value] : j.items()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"schema", "version", "command", "verdict", "cases",
                                               "seconds", "counts", "devices", "results",
                                               "instructions"}));
    EXPECT_EQ(j["schema"], "lockwarp-report/1");
    EXPECT_EQ(j["verdict"], "differs");
    EXPECT_EQ(j["counts"]["values"], UINT64_MAX / 2 + 1500);
    EXPECT_TRUE(j["counts"]["values"].is_number_unsigned());
    EXPECT_EQ(j["results"][2]["name"], "k10.json");
}

TEST(SummaryJson, TextsThatAreNotUtf8) {
    Summary s = three_cases();
    s.results[1].text = hostile;
    Summary back;
    ASSERT_EQ(take(parse_summary(summary_json(s), "r.json"), back), "");
    EXPECT_TRUE(has(back.results[1].text, "]]>\x1b[31m"));
    EXPECT_EQ(summary_json(back), summary_json(s));
}

// The report with one field changed; the pointer is JSON's.
std::string problem_with(const std::string& pointer, const Json& value) {
    Json j = Json::parse(summary_json(three_cases()));
    if (value.is_discarded())
        j[Json::json_pointer(pointer).parent_pointer()].erase(Json::json_pointer(pointer).back());
    else
        j[Json::json_pointer(pointer)] = value;
    Summary out = empty_summary("untouched");
    const std::string why = take(parse_summary(j.dump(), "r.json"), out);
    EXPECT_EQ(out.command, why.empty() ? "validate" : "untouched");
    return why;
}

TEST(SummaryJson, WrongFields) {
    const Json missing(Json::value_t::discarded);
    const struct {
        std::string pointer;
        Json value;
        std::string problem;
    } cases[] = {
        {"/schema", missing, "'schema': is missing"},
        {"/schema", "lockwarp-report/2",
         "'schema': 'lockwarp-report/1' is expected, not \"lockwarp-report/2\""},
        {"/schema", "lockwarp-launch/1", "'schema': 'lockwarp-report/1' is expected"},
        {"/command", 5, "'command': a text of at most 1048576 bytes is expected, not 5"},
        {"/command", "frob",
         "'command': run, validate, replay, fuzz or special is expected, not \"frob\""},
        {"/cases", -1,
         "'cases': a whole number from 0 to 18446744073709551615 is expected, not -1"},
        {"/cases", 1.5, "'cases': a whole number"},
        {"/cases", 4, "'cases': is 4, but there are 3 results"},
        {"/cases", 2, "'cases': is 2, but there are 3 results"},
        {"/seconds", "1", "'seconds': a number of seconds is expected, not \"1\""},
        {"/seconds", -1, "'seconds': a number of seconds is expected, not -1"},
        {"/counts", 1, "'counts': an object is expected, not 1"},
        {"/counts/masked", missing, "'counts.masked': is missing"},
        {"/counts/values", 3, "'counts.values': is 3, the results have 9223372036854777307"},
        {"/counts/different", 0, "'counts.different': is 0, the results have 1"},
        {"/counts/memory_different", 4, "'counts.memory_different': is above 'memory_bytes'"},
        {"/devices", Json::object(), "'devices': an array is expected, not an object"},
        {"/devices/0", 3, "'devices[0]': an object is expected, not 3"},
        {"/devices/0/number", uint64_t{1} << 32, "'devices[0].number': a whole number from 0 to 4"},
        {"/devices/0/driver", nullptr, "'devices[0].driver': is missing"},
        {"/instructions", Json::array(), "'instructions': an object is expected, not an array"},
        {"/instructions/add.s32/values", 0, "'instructions.add.s32.different': is above 'values'"},
        {"/instructions/add.s32", true, "'instructions.add.s32': an object is expected, not true"},
        {"/results", missing, "'results': is missing"},
        {"/results/1", Json::array(), "'results[1]': an object is expected, not an array"},
        {"/results/1/name", "", "'results[1].name': is empty"},
        {"/results/1/name", "k10.json", "'results': a case twice: 'k10.json' is in both"},
        {"/results/1/verdict", "good", "'results[1].verdict': identical, differs or failed is"},
        {"/results/2/verdict", "identical", "'results[2].verdict': is identical, but the counts"},
        {"/results/1/counts/values", "9", "'results[1].counts.values': a whole number"},
        {"/results/1/text", 3, "'results[1].text': a text"},
        {"/results/1/line", -3, "'results[1].line': a whole number from 0 to 4294967295"},
        {"/results/1/source", 3, "'results[1].source': an array is expected, not 3"},
        {"/results/1/source", Json::parse("[{}, 3]"), "'results[1].source.file': is missing"},
        {"/results/1/source", Json::parse("[3, {}]"),
         "'results[1].source': an object is expected, not 3"},
        {"/seeds", Json::parse(R"([{"first": 1}])"), "'seeds[0].count': is missing"},
        {"/seeds", Json::parse(R"([{"first": 18446744073709551615, "count": 3}])"),
         "'seeds[0].count': a whole number from 0 to 0 is expected, not 3"},
        {"/seeds", Json::parse(R"([{"first": 1, "count": 4}])"), "'seeds': are 4, the cases 3"},
    };
    for (const auto& c : cases) {
        const std::string why = problem_with(c.pointer, c.value);
        EXPECT_TRUE(why.starts_with("r.json: field " + c.problem)) << c.problem << "\nis\n" << why;
    }
    // The longest text, and one that is longer.
    const std::string longest(1048576, 'x');
    EXPECT_EQ(problem_with("/results/1/text", longest), "");
    EXPECT_TRUE(problem_with("/results/1/text", longest + "x")
                    .starts_with("r.json: field 'results[1].text': a text of at most 1048576 "
                                 "bytes is expected, not \"xxx"));
    // Of what stands in a field at most 40 bytes are shown.
    const std::string shown =
        "r.json: field 'cases': a whole number from 0 to 18446744073709551615 "
        "is expected, not \"";
    EXPECT_EQ(problem_with("/cases", std::string(38, 'y')), shown + std::string(38, 'y') + "\"");
    EXPECT_EQ(problem_with("/cases", std::string(39, 'y')), shown + std::string(36, 'y') + "...");
    EXPECT_EQ(problem_with("/cases", "\xe2\x82\xac"), shown + "\\u20ac\"");
    EXPECT_EQ(problem_with("/later", Json::object()), "") << "unknown fields are ignored";
    EXPECT_EQ(problem_with("/verdict", "identical"), "") << "said by the results";
    Json nothing = Json::parse(summary_json(three_cases()));
    for (const char* where : {"/results/0/counts", "/counts"})
        for (const char* field : {"values", "memory_bytes"}) {
            Json& n = nothing[Json::json_pointer(where)][field];
            n = where == std::string("/counts") ? n.get<uint64_t>() : 0;
        }
    Summary out;
    EXPECT_EQ(take(parse_summary(nothing.dump(), "r.json"), out),
              "r.json: field 'results[0].verdict': is identical, but nothing was compared");
}

TEST(SummaryJson, WhatIsNoReport) {
    Summary out;
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("\xff"), std::string("{} {}"),
          summary_json(three_cases()).substr(0, 300), std::string(R"({"seconds": 1e999})")})
        EXPECT_EQ(take(parse_summary(text, "r.json"), out), "r.json: not JSON");
    EXPECT_EQ(take(parse_summary("[]", "r.json"), out),
              "r.json: a JSON object is expected, not an array");
    EXPECT_EQ(take(parse_summary("null", "r.json"), out),
              "r.json: a JSON object is expected, not missing");
    // Deeper than any stack, alone and where a field is shown.
    const std::string deep(1 << 20, '[');
    EXPECT_EQ(take(parse_summary(deep, "r.json"), out), "r.json: not JSON");
    const std::string closed = deep + std::string(1 << 20, ']');
    EXPECT_TRUE(take(parse_summary(closed, "r.json"), out).ends_with("not an array"));
    EXPECT_EQ(take(parse_summary("{\"schema\": " + closed + "}", "r.json"), out),
              "r.json: field 'schema': a text of at most 1048576 bytes is expected, not an array");
    // Every prefix and every changed byte ends in an answer.
    const std::string good = summary_json(three_cases());
    for (size_t i = 0; i + 1 < good.size(); i += 3) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x15);
        (void)take(parse_summary(bad, "r.json"), out);
        EXPECT_NE(take(parse_summary(good.substr(0, i), "r.json"), out), "");
    }
}

TEST(SummaryText, Clean) {
    EXPECT_EQ(clean("a\x1b[0m\xff\xc0\x80\xed\xa0\x80z\xe2\x82\xac\xf0\x9f\x98\x80\n"),
              "a[0m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"
              "\xe2\x82\xac\xf0\x9f\x98\x80\n");
    EXPECT_EQ(clean("\xe2\x80\xae\xc2\x9b\xef\xbf\xbf\xf4\x90\x80\x80").find('\x9b'),
              std::string::npos);
    EXPECT_EQ(clean_line("a\nb\tc"), "a b c");
    EXPECT_EQ(clean("##[x ##\x01[y"), "## [x ## [y");
    EXPECT_EQ(cut("abcdef", 6), "abcdef");
    EXPECT_EQ(cut("abcdefg", 6), "abc...");
    EXPECT_EQ(cut("ab\xe2\x82\xac\xe2\x82\xac", 7), "ab...");
}

TEST(SummaryText, Answers) {
    Summary s = empty_summary("fuzz");
    EXPECT_EQ(answer(s), "FAILED: 0 cases, nothing was compared");
    add(s, case_of("seed 1", Verdict::identical, 1234567), false);
    EXPECT_EQ(answer(s), "identical: 1 case, 1,234,567 values and 1 memory byte compared");
    EXPECT_EQ(answer(s, 3),
              "identical: 3 reports, 1 case, 1,234,567 values and 1 memory byte compared");
    add(s, case_of("seed 2", Verdict::differs, 1), false);
    EXPECT_EQ(answer(s, 2),
              "DIFFERS: 2 reports, 1 of 2 cases; 1 of 1,234,568 values, 0 of 2 bytes");
    add(s, case_of("seed 3", Verdict::failed, 1), false);
    EXPECT_EQ(answer(s), "FAILED: 1 of 3 cases could not be compared, 1 differs");
    // A large cluster's day still fits.
    Summary large = empty_summary("validate");
    add(large, case_of("a", Verdict::identical, 999'999'999'999), true);
    large.counts.memory_bytes = 999'999'999'999;
    large.cases = 9'999;
    EXPECT_LE(answer(large, 64).size(), 100u);
    large.counts.different = large.counts.memory_different = 999;
    EXPECT_LE(answer(large, 64).size(), 100u);
}

TEST(SummaryText, NarrowAndHarmless) {
    Summary s = three_cases();
    s.counts.masked = s.counts.taken = UINT64_MAX;
    s.devices[0].name = std::string(200, 'N') + hostile;
    s.results[2].name = hostile + std::string(200, 'n');
    s.results[2].text = hostile + std::string(300, 'x') + "\n" + std::string(1000, '\n');
    s.instructions[std::string(150, 'i') + hostile] = s.counts;
    const std::string text = summary_text(s);
    EXPECT_EQ(too_wide(text), "");
    EXPECT_TRUE(text.starts_with("DIFFERS: 1 of 3 cases; 1 of "));
    EXPECT_EQ(std::ranges::count_if(text, [](char c) { return c < 32 && c >= 0 && c != '\n'; }), 0);
    EXPECT_FALSE(has(text, "##["));
    EXPECT_FALSE(has(text, "\n::"));
    EXPECT_TRUE(has(text, "\n  | ::set-output"));
    EXPECT_LT(std::ranges::count(text, '\n'), 70);
    const std::string table = summary_text(three_cases());
    EXPECT_TRUE(has(table,
                    "instruction  values compared  different\n"
                    "add.s32                    5          1\n"
                    "mma.sync                  77          0\n"))
        << table;
    EXPECT_TRUE(has(table, "differs: k10.json\n  | DIFFERS  k10.json.ptx:7\n  |   second line\n"))
        << table;
}

TEST(SummaryJunit, Whole) {
    Summary s = three_cases();
    add(s, case_of("bad.json", Verdict::failed, 0), true);
    s.seconds = 2;
    EXPECT_EQ(summary_junit(s),
              R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="lockwarp" tests="4" failures="1" errors="1" time="2.000">
  <testsuite name="lockwarp validate" tests="4" failures="1" errors="1" time="2.000" skipped="0">
    <properties>
      <property name="device" value="NVIDIA H200, sm_90"/>
      <property name="driver" value="580.159.04"/>
      <property name="cases" value="4"/>
      <property name="register values compared" value="9223372036854777307"/>
      <property name="register values different" value="1"/>
      <property name="register values undefined" value="0"/>
      <property name="register values never written" value="0"/>
      <property name="register values taken" value="0"/>
      <property name="memory bytes compared" value="4"/>
      <property name="memory bytes different" value="0"/>
    </properties>
    <testcase name="bad.json" classname="lockwarp.validate" time="0.250" file="bad.json.ptx" line="7">
      <error message="DIFFERS  bad.json.ptx:7" type="add.s32">DIFFERS  bad.json.ptx:7
  second line
</error>
    </testcase>
    <testcase name="k1.json" classname="lockwarp.validate" time="0.250"/>
    <testcase name="k2.json" classname="lockwarp.validate" time="0.250"/>
    <testcase name="k10.json" classname="lockwarp.validate" time="0.250" file="k10.json.ptx" line="7">
      <failure message="DIFFERS  k10.json.ptx:7" type="add.s32">DIFFERS  k10.json.ptx:7
  second line
</failure>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(SummaryJunit, ProgramsOfFuzz) {
    Summary s = empty_summary("fuzz");
    for (int i = 0; i < 3; ++i) add(s, case_of("seed 1", Verdict::identical, 5), false);
    EXPECT_TRUE(has(summary_junit(s), "tests=\"1\" failures=\"0\" errors=\"0\""));
    EXPECT_TRUE(has(summary_junit(s),
                    "<testcase name=\"3 programs\" classname=\"lockwarp.fuzz\" "
                    "time=\"0.750\"/>"));
    add(s, case_of("seed 9", Verdict::differs, 5), false);
    EXPECT_TRUE(has(summary_junit(s), "tests=\"2\" failures=\"1\" errors=\"0\""));
    EXPECT_TRUE(has(summary_junit(s), "\"3 programs\""));
    EXPECT_TRUE(has(summary_junit(s), "\"seed 9\""));
    // A verdict that no result carries.
    EXPECT_TRUE(has(summary_junit(empty_summary("fuzz")), "errors=\"1\""));
    EXPECT_TRUE(has(summary_junit(empty_summary("fuzz")), "<testcase name=\"all\" "));
    EXPECT_TRUE(has(summary_junit(empty_summary("fuzz")),
                    "<error message=\"FAILED: 0 cases, nothing was compared\""));
    s.results.clear();
    EXPECT_TRUE(has(summary_junit(s), "failures=\"1\""));
    // Programs side by side take more seconds than all of them together.
    Summary fast = empty_summary("fuzz");
    add(fast, case_of("seed 1", Verdict::identical, 5), false);
    add(fast, case_of("seed 2", Verdict::differs, 5), false);
    fast.seconds = 0.1;
    EXPECT_TRUE(has(summary_junit(fast),
                    "<testcase name=\"1 program\" classname=\"lockwarp.fuzz\" time=\"0.000\"/>"));
}

TEST(SummaryJunit, HostileNames) {
    Summary s = three_cases();
    CaseResult& r = s.results[2];
    r.name = r.text = r.file = r.instruction = s.devices[0].name = hostile;
    const std::string xml = summary_junit(s);
    EXPECT_TRUE(has(xml, "&lt;a href=&apos;x&apos;&gt;&amp;&quot;]]&gt;[31m%0A````"));
    EXPECT_FALSE(has(xml, "<a "));
    EXPECT_FALSE(has(xml, "]]>"));
    EXPECT_FALSE(has(xml, "\xef\xbf\xbf"));
    EXPECT_FALSE(has(xml, "\xff"));
    EXPECT_TRUE(has(xml, "\xe2\x82\xac"));
    for (const char c : xml) EXPECT_TRUE(c < 0 || c >= 32 || c == '\n' || c == '\t') << int{c};
    // Within a tag no line ends, and quotes come in pairs.
    size_t quotes = 0;
    bool tag = false;
    for (const char c : xml) {
        EXPECT_NE(c, tag ? '<' : '>');
        if (c == '<' || c == '>') {
            EXPECT_EQ(quotes % 2, 0u);
            tag = c == '<';
        }
        if (tag && c == '"') ++quotes;
        EXPECT_FALSE(tag && c == '\n');
    }
}

TEST(SummaryGithub, Annotations) {
    EXPECT_EQ(github_annotations(three_cases()),
              "::error file=k10.json.ptx,line=7,title=k10.json%3A differs%3A add.s32::"
              "DIFFERS  k10.json.ptx:7%0A  second line%0A\n");
    Summary good = empty_summary("replay");
    add(good, case_of("a", Verdict::identical, 1), true);
    EXPECT_EQ(github_annotations(good), "");
    EXPECT_EQ(github_annotations(empty_summary("replay")),
              "::error title=lockwarp replay::FAILED: 0 cases, nothing was compared\n");
    Summary traced = three_cases();
    traced.results[2].source = {{"src/k.cu", 42, 3, ""}, {"", 80, 5, ""}};
    EXPECT_TRUE(github_annotations(traced).starts_with("::error file=src/k.cu,line=42,title="));
    // The first line is a place, and a title's commas end no property.
    Summary first = three_cases();
    first.results[2].line = 1;
    first.results[2].instruction = "a,b";
    EXPECT_TRUE(github_annotations(first).starts_with(
        "::error file=k10.json.ptx,line=1,title=k10.json%3A differs%3A a%2Cb::"));
    first.results[2].line = 0;
    EXPECT_TRUE(github_annotations(first).starts_with("::error file=k10.json.ptx,title="));
    first.results[2].line = 7;
    first.results[2].file = "";
    EXPECT_TRUE(github_annotations(first).starts_with("::error title="));
    Summary s = three_cases();
    s.results[2].name = s.results[2].text = s.results[2].file = hostile;
    const std::string text = github_annotations(s);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1);
    EXPECT_TRUE(has(text, "[31m%250A```` %3A%3Aerror%3A%3Ax  %3A%3Aset") || has(text, "%250A````"));
    const size_t message = text.find("::", 2);
    EXPECT_EQ(text.substr(0, message).find("::", 2), std::string::npos);
    EXPECT_TRUE(has(text.substr(message), "%0A::set-output name=a::b%0A"));

    Summary many = empty_summary("fuzz");
    for (int i = 0; i < 30; ++i)
        add(many, case_of("seed " + std::to_string(i), Verdict::differs, 5), false);
    const std::string lines = github_annotations(many);
    EXPECT_EQ(std::ranges::count(lines, '\n'), 10);
    EXPECT_TRUE(has(lines, "::error title=lockwarp fuzz::21 more: DIFFERS: 30 of 30 cases"));
}

// The headline and the table count the same cases.
TEST(SummaryGithub, TheTableAgreesWithTheHeadline) {
    Summary s;
    s.command = "replay";
    add(s, case_of("a", Verdict::differs, 5), true);
    add(s, case_of("b", Verdict::failed, 0), true);
    add(s, case_of("c", Verdict::failed, 0), true);
    const std::string text = github_markdown(s);
    EXPECT_TRUE(has(text, "FAILED\\: 2 of 3 cases could not be compared\\, 1 differs\n")) << text;
    EXPECT_TRUE(has(text, "| cases | 1 | 1 |\n")) << text;
    Summary nothing;
    nothing.command = "replay";
    add(nothing, case_of("a", Verdict::failed, 0), true);
    EXPECT_TRUE(has(github_markdown(nothing), "| cases | 0 | 0 |\n"));
    Summary without = empty_summary("fuzz");
    without.cases = 2;
    EXPECT_TRUE(has(github_markdown(without), "| programs | 0 | 0 |\n"));
}

TEST(Summary, ARunThatWasSkipped) {
    Summary s;
    s.command = "validate";
    s.skipped = "validate needs a GPU: none <here>";
    EXPECT_EQ(answer(s), "skipped: validate needs a GPU: none <here>");
    EXPECT_TRUE(has(summary_json(s), "\"verdict\": \"skipped\""));
    const std::string junit = summary_junit(s);
    EXPECT_TRUE(has(junit, " tests=\"1\" failures=\"0\" errors=\"0\" ")) << junit;
    EXPECT_TRUE(has(junit, " skipped=\"1\">")) << junit;
    EXPECT_TRUE(has(junit, "<skipped message=\"validate needs a GPU: none &lt;here&gt;\"/>"));
    EXPECT_TRUE(github_annotations(s).starts_with("::notice title=lockwarp validate::skipped"));
    const launch::Result<Summary> read = parse_summary(summary_json(s), "r.json");
    ASSERT_TRUE(read.has_value()) << read.error().sentence;
    EXPECT_EQ(read->skipped, s.skipped);
    Summary ran = three_cases();
    EXPECT_EQ(validate::merge(ran, s),
              "one of the runs was skipped: validate needs a GPU: none <here>");
}

TEST(SummaryGithub, Markdown) {
    EXPECT_EQ(github_markdown(three_cases()),
              "### lockwarp validate\n\n"
              "DIFFERS\\: 1 of 3 cases\\; 1 of 9\\,223\\,372\\,036\\,854\\,777\\,307 "
              "values\\, 0 of 3 bytes\n\n"
              "| | compared | different |\n|---|---:|---:|\n| cases | 3 | 1 |\n"
              "| register values | 9,223,372,036,854,777,307 | 1 |\n| memory bytes | 3 | 0 |\n\n"
              "- NVIDIA H200\\, sm\\_90\\, driver 580\\.159\\.04\\, 1980 MHz\n"
              "\ndiffers: k10\\.json\n\n```text\nDIFFERS  k10.json.ptx:7\n  second line\n```\n\n");
    Summary s = three_cases();
    s.results[2].name = s.results[2].text = s.devices[0].name = hostile;
    const std::string text = github_markdown(s);
    // The fence is longer than the five backticks within, and there are two of it.
    EXPECT_TRUE(has(text, "\n``````text\n<a href"));
    EXPECT_TRUE(text.ends_with("\n``````\n\n"));
    size_t fences = 0;
    for (size_t at = 0; (at = text.find("``````", at)) != std::string::npos; at += 6) ++fences;
    EXPECT_EQ(fences, 2u);
    Summary fenced = three_cases();
    fenced.results[2].text = "```\ncode\n";
    EXPECT_TRUE(github_markdown(fenced).ends_with("\n\n````text\n```\ncode\n````\n\n"));
    EXPECT_TRUE(has(text, "differs: \\<a href\\=\\'x\\'\\>\\&"));
    // Digits and letters stay as they are, and characters of several bytes, 0x80 among them.
    fenced.results[2].name = "09 az AZ \xe2\x80\x93";
    EXPECT_TRUE(has(github_markdown(fenced), "differs: 09 az AZ \xe2\x80\x93\n"));
    // A text of backticks alone, cut in their midst; and many results stay below GitHub's limit.
    for (int i = 0; i < 100; ++i) {
        CaseResult r = case_of("n" + std::to_string(i), Verdict::differs, 1);
        r.text = std::string(100'000, '`');
        r.name += std::string(100'000, '*');
        add(s, r, true);
    }
    const std::string large = github_markdown(s);
    EXPECT_LT(large.size(), size_t{900'000});
    EXPECT_TRUE(has(large, "\n81 more are not shown.\n"));
}

// How many programs of each kind, and the first of them.
TEST(FuzzText, OfWhatIsTheCompilers) {
    Summary s = empty_summary("fuzz");
    EXPECT_EQ(compilers_text(s), "");
    for (const auto& [name, compiler] :
         {std::pair("seed 3", "fuses"), std::pair("seed 4", ""), std::pair("seed 5", "contracts"),
          std::pair("seed 7", "fuses"), std::pair("seed 9", "fuses")}) {
        validate::CaseResult c = case_of(name, Verdict::identical, 9);
        c.text = std::string(name) + " says\n";
        c.compiler = compiler;
        s.results.push_back(c);
    }
    EXPECT_EQ(compilers_text(s),
              "identical at --optimize 0 alone: 1; the compiler's: contracts\n"
              "seed 5: seed 5 says\n"
              "identical at --optimize 0 alone: 3; the compiler's: fuses\n"
              "seed 3: seed 3 says\n");
}

}  // namespace
}  // namespace lockwarp::tools
