// SPDX-License-Identifier: Apache-2.0
// lockwarp check: what it prints in each format, suppressions, exit statuses, and its tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "emu/check/check.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::json;

const std::string early = LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.json";
const std::string early_ptx = LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.ptx";
const std::string beyond = LOCKWARP_SOURCE_DIR "/tests/faults/shared_beyond.json";
const std::string right = LOCKWARP_SOURCE_DIR "/gpu/kernels/mma_m16n8k16.json";

Ended check(const Folder& folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return run(folder, arguments);
}

Json json_of(const Ended& e) { return Json::parse(e.out); }

TEST(Check, TheFirstLineIsTheAnswerAndTheStatusSaysIt) {
    const Folder folder;
    const Ended wrong = check(folder, {early, "--check", "sync"});
    EXPECT_EQ(wrong.status, 1) << wrong.err;
    EXPECT_TRUE(wrong.out.starts_with(early + ": 1 error\n")) << wrong.out;
    const Ended none = check(folder, {right, "--check", "sync,memory"});
    EXPECT_EQ(none.status, 0) << none.err;
    EXPECT_EQ(none.out, right + ": nothing was found\n");
    const Ended both = check(folder, {early, right, "--check", "sync"});
    EXPECT_EQ(both.status, 1);
    EXPECT_TRUE(both.out.starts_with("2 launch files: 1 error\n")) << both.out;
}

TEST(Check, WrongInputIsStatusTwo) {
    const Folder folder;
    folder.write("bad.json", R"({"schema": "lockwarp-launch/1", "grid": 0})");
    EXPECT_EQ(check(folder, {"none.json"}).status, 2);
    const Ended bad = check(folder, {early, "bad.json"});
    EXPECT_EQ(bad.status, 2);
    EXPECT_NE(bad.out.find("bad.json:1"), std::string::npos) << bad.out;
    EXPECT_NE(bad.out.find("1 error"), std::string::npos) << "the other is checked" << bad.out;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{early, "--check", "rubbish"},
          {early, "--format", "yaml"},
          {early, "--suppress", "none.txt"},
          {early, "--output", "no/folder/x"}}) {
        const Ended e = check(folder, arguments);
        EXPECT_EQ(e.status, 2) << e.out;
        EXPECT_FALSE(e.err.empty());
    }
}

TEST(Check, PatternsStandForTheirFiles) {
    const Folder folder;
    const Ended e =
        check(folder, {LOCKWARP_SOURCE_DIR "/tests/faults/shared_*.json", "--format", "json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_GE(json_of(e)["files"].size(), 2u);
}

// It reads 16 bytes at a time of a swizzled tile, in an order that is not known.
TEST(Check, WgmmaHasNoBankConflictsOfItsOwn) {
    const Folder folder;
    const Json j = json_of(
        check(folder, {LOCKWARP_SOURCE_DIR "/gpu/kernels/wgmma_gemm.json", "--format", "json"}));
    EXPECT_EQ(j["files"].size(), 1u);
    for (const Json& f : j["findings"]) {
        EXPECT_EQ(f["severity"], "note") << f.dump(1);
        EXPECT_NE(f["kind"], "bank-conflict") << f.dump(1);
    }
}

TEST(Check, ATrapIsAFinding) {
    const Folder folder;
    const Json j = json_of(check(folder, {beyond, "--format", "json", "--check", "performance"}));
    ASSERT_EQ(j["findings"].size(), 1u) << j.dump(1);
    EXPECT_EQ(j["findings"][0]["check"], "memory");
    EXPECT_EQ(j["findings"][0]["kind"], "out-of-bounds");
    EXPECT_EQ(j["findings"][0]["ptx_line"], 13);
}

TEST(Check, EveryTrapHasItsKind) {
    for (const check::TrapRow& row : check::trap_rows()) {
        if (row.check.empty()) continue;
        const check::CheckRow* const check = check::check_named(row.check);
        ASSERT_NE(check, nullptr) << row.check;
        EXPECT_NE(std::ranges::find(check->kinds, row.kind, &check::KindRow::kind),
                  check->kinds.end())
            << row.kind;
    }
}

TEST(Check, JsonHasBothSides) {
    const Folder folder;
    const Json j = json_of(check(folder, {early, "--format", "json", "--check", "sync"}));
    EXPECT_EQ(j["schema"], "lockwarp-check/1");
    ASSERT_EQ(j["findings"].size(), 1u);
    const Json& f = j["findings"][0];
    EXPECT_EQ(f["check"], "sync");
    EXPECT_EQ(f["kind"], "copy-not-awaited");
    EXPECT_EQ(f["severity"], "error");
    EXPECT_EQ(f["ptx_line"], 25);
    EXPECT_EQ(f["other"]["ptx_line"], 20);
    EXPECT_EQ(f["warp"], 1);
    EXPECT_EQ(f["lanes"], "0-31");
    EXPECT_EQ(f["count"], 64);
    EXPECT_EQ(f["object"]["name"], "tile");
    EXPECT_FALSE(f["message"].get<std::string>().empty());
    EXPECT_FALSE(f["hint"].get<std::string>().empty());
    EXPECT_EQ(j["files"][0]["errors"], 1);
}

// SARIF 2.1.0, sections 3.13 (sarifLog) to 3.30 (region): what the standard requires of what is
// written, and that rules are referred to rightly.
TEST(Check, SarifIsAsTheStandardSays) {
    const Folder folder;
    const Ended e = check(folder, {early, beyond, "--format", "sarif"});
    const Json j = json_of(e);
    EXPECT_EQ(j["version"], "2.1.0");
    ASSERT_EQ(j["runs"].size(), 1u);
    const Json& run = j["runs"][0];
    const Json& driver = run["tool"]["driver"];
    EXPECT_TRUE(driver["name"].is_string());
    std::set<std::string> ids;
    for (const Json& rule : driver["rules"]) {
        EXPECT_TRUE(ids.insert(rule["id"].get<std::string>()).second) << rule.dump();
        EXPECT_FALSE(rule["shortDescription"]["text"].get<std::string>().empty());
    }
    ASSERT_GE(run["results"].size(), 2u);
    for (const Json& r : run["results"]) {
        EXPECT_EQ(driver["rules"][r["ruleIndex"].get<size_t>()]["id"], r["ruleId"]);
        EXPECT_TRUE(r["level"] == "error" || r["level"] == "note") << r["level"];
        EXPECT_FALSE(r["message"]["text"].get<std::string>().empty());
        EXPECT_GE(r["occurrenceCount"].get<int>(), 1);
        for (const char* list : {"locations", "relatedLocations"})
            for (const Json& l : r.value(list, Json::array())) {
                const Json& physical = l["physicalLocation"];
                const auto uri = physical["artifactLocation"]["uri"].get<std::string>();
                EXPECT_EQ(uri.find_first_of(" %\\"), std::string::npos) << uri;
                if (physical.contains("region")) {
                    EXPECT_GE(physical["region"]["startLine"].get<int>(), 1);
                }
            }
    }
    EXPECT_EQ(run["invocations"][0]["executionSuccessful"], true);
}

TEST(Check, JunitHasACaseForEachFile) {
    const Folder folder;
    folder.write("bad.json", "{");
    const Ended e = check(folder, {early, right, "bad.json", "--format", "junit", "--output",
                                   "check.xml", "--check", "sync"});
    EXPECT_EQ(e.status, 2) << e.err;
    EXPECT_EQ(e.out, "3 launch files: 1 error; 1 could not be run\n");
    const std::string xml = folder.read("check.xml");
    EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"1\""), std::string::npos) << xml;
    EXPECT_NE(xml.find("message=\"sync/copy-not-awaited: reads what line 20 copies\""),
              std::string::npos)
        << xml;
}

TEST(Check, GithubGetsAnAnnotationForEachFinding) {
    const Folder folder;
    const Ended e = check(folder, {early, "--format", "github"});
    EXPECT_NE(e.out.find("\n::error file=" + early_ptx + ",line=25,title=sync/copy-not-awaited"),
              std::string::npos)
        << e.out;
}

TEST(Check, WhatIsSuppressedIsNoError) {
    const Folder folder;
    for (const char* text :
         {"sync", "sync/copy-not-awaited", "sync in_flight.ptx  # meant", "sync in_flight.ptx:25",
          "# before\nsync questions/in_flight.ptx:20\n"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 0) << text << e.out << e.err;
        EXPECT_EQ(e.out, early + ": nothing was found, 1 suppressed\n") << text;
    }
    for (const char* text :
         {"memory", "sync/copy-no-barrier", "sync flight.ptx:25", "sync in_flight.ptx:24"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 1) << text << e.out << e.err;
        EXPECT_NE(e.out.find("known.txt:1: nothing was suppressed by \"" + std::string(text)),
                  std::string::npos)
            << e.out;
    }
    for (const char* text : {"rubbish", "sync/rubbish", "sync a.ptx:x", "sync a.ptx:1 more"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 2) << text << e.out;
        EXPECT_NE(e.err.find("known.txt:1"), std::string::npos) << e.err;
    }
}

TEST(Check, ATimeLimitEndsIt) {
    const Folder folder;
    const Ended e =
        check(folder, {LOCKWARP_SOURCE_DIR "/tests/faults/endless.json", "--time-limit", "0.3"});
    EXPECT_EQ(e.status, 130) << e.out << e.err;
    EXPECT_NE(e.out.find("the time limit was reached"), std::string::npos) << e.out;
}

// Every launch file of the project's kernels.
TEST(Check, FindsNoErrorInTheKernelsOfTheProject) {
    const Folder folder;
    const Json j =
        json_of(check(folder, {LOCKWARP_SOURCE_DIR "/gpu/kernels/*.json", "--format", "json"}));
    ASSERT_GE(j["files"].size(), 120u);
    for (const Json& file : j["files"]) {
        EXPECT_EQ(file["errors"], 0) << file["name"];
        EXPECT_FALSE(file.contains("refused")) << file.dump();
    }
}

// docs/checks.md has a row for each kind, as the table of checks says it.
TEST(Check, TheDocumentListsEveryKind) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/docs/checks.md");
    std::stringstream text;
    text << file.rdbuf();
    std::string expected = "| check | kind | | what it finds |\n|---|---|---|---|\n";
    for (const check::CheckRow& row : check::checks())
        for (const check::KindRow& k : row.kinds)
            expected += "| `" + std::string(row.name) + "` | `" + std::string(k.kind) + "` | " +
                        (k.severity == check::Severity::error ? "error" : "note") + " | " +
                        std::string(k.finds) + " |\n";
    EXPECT_NE(text.str().find("\n" + expected + "\n"), std::string::npos)
        << "docs/checks.md should have\n"
        << expected;
}

}  // namespace
}  // namespace lockwarp::tools
