// SPDX-License-Identifier: Apache-2.0
// What is said after `lockwarp exec`, of lines that its processes could have written; and which of
// several findings is said first.
#include "tools/report/exec_report.hpp"

#include <gtest/gtest.h>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

ExecReport read(const std::string& lines) {
    const Folder folder;
    folder.write("lines", lines);
    return read_exec_report((folder.path / "lines").string());
}

TEST(ExecReport, AnswersCountWhatThereIs) {
    const std::string one = R"({"kernel": "a"})"
                            "\n";
    const std::string other = R"({"kernel": "b"})"
                              "\n";
    const std::string error = R"({"kernel": "a", "finding": 1, "error": true})"
                              "\n";
    const std::string note = R"({"kernel": "b", "finding": 1, "error": false})"
                             "\n";
    const std::string trap = R"({"kernel": "b", "trap": "it fell"})"
                             "\n";
    const auto blocks = [](const std::string& heap, int left) {
        return R"({"kernel": "a", "heap": ")" + heap + R"(", "blocks": )" + std::to_string(left) +
               "}\n";
    };
    struct Row {
        std::string lines, answer;
        bool clean;
    };
    for (const Row& row : std::vector<Row>{
             {"", "no kernel was launched: nothing was checked", false},
             {error, "no kernel was launched: nothing was checked", false},
             {one, "1 launch of 1 kernel: 0 errors", true},
             {"no line\n5\n" + one + one, "2 launches of 1 kernel: 0 errors", true},
             {one + other + one, "3 launches of 2 kernels: 0 errors", true},
             {one + error, "1 launch of 1 kernel: 1 error", false},
             {one + error + error, "1 launch of 1 kernel: 2 errors", false},
             {one + other + note, "2 launches of 2 kernels: 0 errors, 1 note", true},
             {one + other + note + error + note, "2 launches of 2 kernels: 1 error, 2 notes",
              false},
             {trap, "1 launch of 1 kernel: 0 errors, 1 trap", false},
             {trap + trap, "2 launches of 1 kernel: 0 errors, 1 trap", false},
             {R"({"kernel": "a", "trap": "other"})"
              "\n" +
                  trap,
              "2 launches of 2 kernels: 0 errors, 2 traps", false},
             {blocks("h", 1), "1 launch of 1 kernel: 0 errors; 1 block of malloc was never freed",
              true},
             // The last of each heap counts.
             {blocks("h", 9) + blocks("h", 2) + blocks("i", 3),
              "3 launches of 1 kernel: 0 errors; 5 blocks of malloc were never freed", true},
             {blocks("h", 2) + blocks("h", 0), "2 launches of 1 kernel: 0 errors", true}}) {
        const ExecReport report = read(row.lines);
        EXPECT_EQ(exec_answer(report), "exec: " + row.answer + "\n");
        EXPECT_EQ(is_clean(report), row.clean) << row.answer;
    }
}

TEST(ExecReport, TimesAreOfAllLaunchesTheLongestFirst) {
    EXPECT_EQ(exec_times(read(R"({"kernel": "a", "cycles": 10, "nanoseconds": 1000}
{"kernel": "b", "cycles": 500, "nanoseconds": 2500}
{"kernel": "c", "cycles": 7, "nanoseconds": 1000}
{"kernel": "a", "cycles": 5, "nanoseconds": 230}
)")),
              "  launches  cycles of SMs           us  kernel\n"
              "         1            500         2.50  b\n"
              "         2             15         1.23  a\n"
              "         1              7         1.00  c\n");
}

TEST(ExecReport, ANameLongerThanALineGoesOnBelow) {
    const std::string first(60, 'a'), second(60, 'b');
    for (const std::string rest : {"", "c"}) {
        const ExecReport report = read("{\"kernel\": \"" + first + second + rest +
                                       "\", \"cycles\": 10, \"nanoseconds\": 1000}\n");
        EXPECT_EQ(exec_times(report),
                  "  launches  cycles of SMs           us  kernel\n"
                  "         1             10         1.00  " +
                      first + "\n" + std::string(40, ' ') + second + "\n" +
                      (rest.empty() ? "" : std::string(40, ' ') + rest + "\n"));
    }
}

TEST(ExecReport, JUnitHasACaseForEachKernel) {
    const ExecReport report = read(R"({"kernel": "a"}
{"kernel": "a", "finding": 1, "check": "memory", "kind": "bounds", "message": "m", "text": "t"}
{"trap": "first"}
{"trap": "second"}
{"finding": 1, "check": "banks", "kind": "k", "error": false, "text": "n"}
)");
    ASSERT_EQ(report.kernels.size(), 2u);
    const CheckedFile& a = report.kernels[0].checked;
    EXPECT_EQ(a.name, "a");
    ASSERT_EQ(a.findings.size(), 1u);
    EXPECT_EQ(a.findings[0].check + "/" + a.findings[0].kind, "memory/bounds");
    EXPECT_EQ(a.findings[0].severity, check::Severity::error);
    EXPECT_EQ(a.findings[0].message, "m");
    EXPECT_EQ(a.findings[0].text, "t\n");
    const CheckedFile& nameless = report.kernels[1].checked;
    EXPECT_EQ(nameless.name, "?");
    EXPECT_EQ(nameless.stopped, "first");
    EXPECT_EQ(nameless.findings.at(0).severity, check::Severity::note);
    const std::string junit = exec_junit(report);
    EXPECT_NE(junit.find("tests=\"2\" failures=\"1\" errors=\"1\""), std::string::npos) << junit;
}

CheckedFinding finding(const std::string& check, const std::string& kind, bool error = true) {
    CheckedFinding f;
    f.check = check;
    f.kind = kind;
    f.severity = error ? check::Severity::error : check::Severity::note;
    f.text = check + "/" + kind + "\nmore\n";
    return f;
}

// The likelier cause of the others comes first; every note comes behind every error.
TEST(CheckAnswer, IsTheGravestError) {
    const std::vector<std::pair<std::string, std::string>> order{{"sync", "a"},
                                                                 {"memory", "beyond-variable"},
                                                                 {"memory", "beyond-row"},
                                                                 {"mapping", "explained"},
                                                                 {"race-shared", "a"},
                                                                 {"race-global", "a"},
                                                                 {"uninitialised", "a"},
                                                                 {"memory", "a"},
                                                                 {"trap", "a"},
                                                                 {"order", "a"},
                                                                 {"mapping", "unexplained"},
                                                                 {"performance", "a"}};
    for (size_t i = 0; i < order.size(); ++i)
        for (size_t k = 0; k < order.size(); ++k) {
            const auto gravity = [&](size_t n, bool error) {
                return gravity_of(finding(order[n].first, order[n].second, error));
            };
            for (const bool error : {false, true})
                EXPECT_EQ(gravity(i, error) < gravity(k, error), i < k) << i << " " << k;
            EXPECT_LT(gravity(i, true), gravity(k, false)) << i << " " << k;
        }
    CheckReport report;
    report.files.resize(2);
    const auto answer = [&] { return check_answer(report); };
    EXPECT_EQ(answer(), "2 launch files: nothing was found");
    report.files[0].findings = {finding("sync", "note", false)};
    EXPECT_EQ(answer(), "2 launch files: 1 note");
    report.files[1].findings = {finding("trap", "first"), finding("trap", "second")};
    EXPECT_EQ(answer(), "trap/first");
    report.files[0].findings.push_back(finding("memory", "a"));
    EXPECT_EQ(answer(), "memory/a");
    report.files[0].findings.back().suppressed = true;
    EXPECT_EQ(answer(), "trap/first");
}

// Of one file and of several.
TEST(CheckCounts, SayWhatDidNotRun) {
    struct Row {
        std::vector<CheckedFile> files;
        const char* counts;
    };
    const std::vector<CheckedFinding> some{finding("sync", "a"), finding("sync", "a", false)};
    for (const Row& row : std::vector<Row>{
             {{{"a", {}, "", "", 0}}, "a: nothing was found"},
             {{{"a", some, "", "", 0}}, "a: 1 error, 1 note"},
             {{{"a", {}, "", "it was stopped", 0}}, "a: nothing was found; it was stopped"},
             {{{"a", some, "no file", "", 0}}, "a: could not be run"},
             {{{"a", {}, "", "", 0}, {"b", some, "", "", 0}}, "2 launch files: 1 error, 1 note"},
             {{{"a", {}, "x", "", 0}, {"b", {}, "x", "", 0}, {"c", {}, "", "y", 0}},
              "3 launch files: nothing was found; 2 could not be run; 1 did not end"}})
        EXPECT_EQ(check_counts({row.files, {}}), row.counts);
}

}  // namespace
}  // namespace lockwarp::tools
