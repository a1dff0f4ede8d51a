// SPDX-License-Identifier: Apache-2.0
// What lockwarp check found, in each format, of findings that are made by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/report/checked.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::json;

// One launch file with an error that has everything, one that has the least, and a note; one that
// is clean, one that did not end, and one that could not be run.
CheckReport found() {
    CheckedFinding all;
    all.check = "memory";
    all.kind = "bounds";
    CheckedSite here;
    here.ptx = "k.ptx";
    here.ptx_line = 12;
    here.ptx_column = 5;
    here.source = {{"src/a b.cu", 30, 9, "_Z1fv"}, {"src/a b.cu", 40, 0, ""}};
    here.site.cta = {1, 2, 3};
    here.site.warp = 4;
    here.site.lanes = 0xf;
    here.site.step = 17;
    all.here = here;
    CheckedSite other;
    other.ptx = "k.ptx";
    other.ptx_line = 20;
    all.other = other;
    all.ptx = "k.ptx";
    all.space = "global";
    all.address = 4096;
    all.bytes = 1;
    all.object = "C";
    all.offset = 256;
    all.element = "C[3][64]";
    all.count = 7;
    all.message = "loads beyond";
    all.hint = "look there";
    ChangedLine change;
    change.ptx = "k.ptx";
    change.at.line = 12;
    change.is = "a;";
    change.becomes = {"b;", "c;"};
    all.changes = {change};
    all.text = "k.ptx:12: error: loads beyond\n  more\n";
    CheckedFinding least;
    least.check = "race";
    least.kind = "shared";
    least.ptx = "k.ptx";
    least.message = "two write";
    least.text = "k.ptx: error: two write\n";
    CheckedFinding note;
    note.check = "banks";
    note.kind = "conflicts";
    note.severity = check::Severity::note;
    note.ptx = "k.ptx";
    note.space = "shared";
    note.message = "conflicts";
    note.text = "k.ptx: note: conflicts\n";
    CheckedFinding known = least;
    known.message = known.text = "known\n";
    known.suppressed = true;
    CheckReport report;
    report.files.push_back({"one.json", {all, least, note, known}, "", "", 1.5});
    report.files.push_back({"clean.json", {}, "", "", 0.25});
    report.files.push_back({"endless.json", {}, "", "it did not end", 0});
    report.files.push_back({"wrong.json", {}, "no such file\nat all\n", "", 0});
    report.unused_suppressions = {"known.txt:3: nothing"};
    return report;
}

TEST(CheckedFormats, Json) {
    EXPECT_EQ(Json::parse(check_json(found())), Json::parse(R"({
"schema":"lockwarp-check/1",
"answer":"k.ptx:12: error: loads beyond",
"counts":"4 launch files: 2 errors, 1 note, 1 suppressed; 1 could not be run; 1 did not end",
"findings":[
 {"file":"one.json","check":"memory","kind":"bounds","severity":"error","ptx":"k.ptx",
  "ptx_line":12,"source":{"file":"src/a b.cu","line":30,"column":9,"function":"_Z1fv"},
  "inlined_at":[{"file":"src/a b.cu","line":40}],"cta":[1,2,3],"warp":4,"lanes":"0-3","step":17,
  "space":"global","address":4096,"bytes":1,
  "object":{"name":"C","offset":256,"element":"C[3][64]"},
  "other":{"ptx":"k.ptx","ptx_line":20},"count":7,"message":"loads beyond","hint":"look there",
  "changes":[{"ptx":"k.ptx","ptx_line":12,"is":"a;","becomes":["b;","c;"]}]},
 {"file":"one.json","check":"race","kind":"shared","severity":"error","ptx":"k.ptx","count":1,
  "message":"two write"},
 {"file":"one.json","check":"banks","kind":"conflicts","severity":"note","ptx":"k.ptx",
  "space":"shared","address":0,"count":1,"message":"conflicts"}],
"files":[
 {"name":"one.json","errors":2,"notes":1,"suppressed":1,"seconds":1.5},
 {"name":"clean.json","errors":0,"notes":0,"suppressed":0,"seconds":0.25},
 {"name":"endless.json","errors":0,"notes":0,"suppressed":0,"seconds":0.0,
  "stopped":"it did not end"},
 {"name":"wrong.json","errors":0,"notes":0,"suppressed":0,"seconds":0.0,
  "refused":"no such file\nat all\n"}],
"unused_suppressions":["known.txt:3: nothing"]})"));
}

TEST(CheckedFormats, JUnit) {
    const std::string totals = "tests=\"4\" failures=\"1\" errors=\"2\" time=\"1.750\"";
    EXPECT_EQ(
        check_junit(found()),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockwarp\" " + totals +
            ">\n  <testsuite name=\"lockwarp check\" " + totals +
            " skipped=\"0\">\n"
            "    <testcase name=\"one.json\" classname=\"lockwarp.check\" time=\"1.500\">\n"
            "      <failure message=\"memory/bounds: loads beyond\" type=\"check\">"
            "k.ptx:12: error: loads beyond\n  more\nk.ptx: error: two write\n</failure>\n"
            "      <system-out>k.ptx: note: conflicts\n</system-out>\n"
            "    </testcase>\n"
            "    <testcase name=\"clean.json\" classname=\"lockwarp.check\" time=\"0.250\"/>\n"
            "    <testcase name=\"endless.json\" classname=\"lockwarp.check\" time=\"0.000\">\n"
            "      <error message=\"it did not end\" type=\"not-run\">it did not end</error>\n"
            "    </testcase>\n"
            "    <testcase name=\"wrong.json\" classname=\"lockwarp.check\" time=\"0.000\">\n"
            "      <error message=\"no such file\" type=\"not-run\">no such file\nat "
            "all\n</error>\n"
            "    </testcase>\n  </testsuite>\n</testsuites>\n");
}

TEST(CheckedFormats, GitHub) {
    EXPECT_EQ(check_github(found()),
              "k.ptx:12: error: loads beyond\n"
              "::error file=src/a b.cu,line=30,title=memory/bounds%3A one.json::"
              "k.ptx:12: error: loads beyond%0A  more%0A\n"
              "::error file=k.ptx,title=race/shared%3A one.json::k.ptx: error: two write%0A\n"
              "::notice file=k.ptx,title=banks/conflicts%3A one.json::k.ptx: note: conflicts%0A\n"
              "::error title=endless.json::it did not end\n"
              "::error title=wrong.json::no such file%0Aat all%0A\n");
}

// Of every kind that there is; one of none has no rule.
TEST(CheckedFormats, SarifsRules) {
    CheckReport report;
    CheckedFile& file = report.files.emplace_back();
    file.name = "k.json";
    for (const check::CheckRow& row : check::checks())
        for (const check::KindRow& kind : row.kinds) {
            CheckedFinding& f = file.findings.emplace_back();
            f.check = row.name;
            f.kind = kind.kind;
        }
    const Json run = Json::parse(check_sarif(report))["runs"][0];
    const Json& rules = run["tool"]["driver"]["rules"];
    ASSERT_EQ(run["results"].size(), rules.size());
    ASSERT_FALSE(rules.empty());
    for (size_t i = 0; i < rules.size(); ++i) {
        const Json& result = run["results"][i];
        ASSERT_TRUE(result.contains("ruleIndex")) << result["ruleId"];
        EXPECT_EQ(rules[result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
    }
}

TEST(CheckedFormats, Sarif) {
    const Json run = Json::parse(check_sarif(found()))["runs"][0];
    EXPECT_EQ(run["invocations"], Json::parse(R"([{"executionSuccessful":false,
        "toolExecutionNotifications":[
        {"level":"error","message":{"text":"endless.json: it did not end"}},
        {"level":"error","message":{"text":"wrong.json: no such file\nat all\n"}}]}])"));
    ASSERT_EQ(run["results"].size(), 4u);
    for (const Json& result : run["results"]) {
        EXPECT_EQ(result["properties"]["launchFile"], "one.json");
        if (!result.contains("ruleIndex")) continue;
        EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"],
                  result["ruleId"]);
    }
    const Json& first = run["results"][0];
    EXPECT_EQ(first["message"]["text"], "loads beyond (C[3][64]). look there");
    EXPECT_EQ(first["level"], "error");
    EXPECT_EQ(first["occurrenceCount"], 7);
    const auto place = [](const char* file, const std::string& region) {
        return Json::parse(R"({"artifactLocation":{"uri":")" + std::string(file) + "\"}" +
                           (region.empty() ? "" : ",\"region\":{" + region + "}") + "}");
    };
    EXPECT_EQ(first["locations"][0]["physicalLocation"],
              place("src/a%20b.cu", R"("startLine":30,"startColumn":9)"));
    const Json& beside = first["relatedLocations"];
    ASSERT_EQ(beside.size(), 2u);
    EXPECT_EQ(beside[0]["message"]["text"], "the PTX");
    EXPECT_EQ(beside[0]["physicalLocation"], place("k.ptx", R"("startLine":12,"startColumn":5)"));
    EXPECT_EQ(beside[1]["message"]["text"], "the other side");
    EXPECT_EQ(beside[1]["physicalLocation"], place("k.ptx", R"("startLine":20)"));
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(beside[i]["id"], i);
    const Json& second = run["results"][1];
    EXPECT_EQ(second["message"]["text"], "two write");
    EXPECT_EQ(second["locations"][0]["physicalLocation"], place("k.ptx", ""));
    EXPECT_FALSE(second.contains("relatedLocations"));
    EXPECT_FALSE(second.contains("suppressions"));
    EXPECT_EQ(run["results"][2]["level"], "note");
    // What stays as it is in a URI: letters, digits and "-._~/" (RFC 3986, 2.3).
    CheckReport report = found();
    for (const auto& [path, uri] : std::vector<std::pair<std::string, std::string>>{
             {"@AZ[`az{/09:-._~ ", "%40AZ%5B%60az%7B/09%3A-._~%20"},
             {"/src/k.cu", "file:///src/k.cu"},
             {"\xc3\xa9", "%C3%A9"}}) {
        report.files[0].findings[0].here->source[0].file = path;
        const Json again = Json::parse(check_sarif(report))["runs"][0]["results"][0];
        EXPECT_EQ(again["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri);
    }
    EXPECT_EQ(run["results"][3]["suppressions"], Json::parse(R"([{"kind":"external"}])"));
}

TEST(CheckedFormats, Text) {
    CheckReport report = found();
    EXPECT_EQ(check_text(report),
              "k.ptx:12: error: loads beyond\n"
              "4 launch files: 2 errors, 1 note, 1 suppressed; 1 could not be run; 1 did not end\n"
              "\none.json: 2 errors, 1 note, 1 suppressed\n"
              "k.ptx:12: error: loads beyond\n  more\nk.ptx: error: two write\n"
              "k.ptx: note: conflicts\n"
              "\nendless.json: nothing was found; it did not end\n"
              "\nwrong.json: could not be run\nno such file\nat all\n"
              "known.txt:3: nothing\n");
    // Of one: what is wrong, and then the counts.
    report.files.resize(1);
    report.unused_suppressions.clear();
    EXPECT_EQ(check_text(report),
              "k.ptx:12: error: loads beyond\n  more\nk.ptx: error: two write\n"
              "k.ptx: note: conflicts\none.json: 2 errors, 1 note, 1 suppressed\n");
    report.files[0].findings.clear();
    EXPECT_EQ(check_text(report), "one.json: nothing was found\n");
}

}  // namespace
}  // namespace lockwarp::tools
