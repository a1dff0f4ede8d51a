// SPDX-License-Identifier: Apache-2.0
// lockwarp report as a process: merging, showing, on GitHub.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tools/process.hpp"
#include "tests/validate/summary_cases.hpp"
#include "tools/report/summary_github.hpp"
#include "tools/report/summary_json.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {
namespace {

using validate::case_of;
using validate::empty_summary;
using validate::Summary;
using validate::three_cases;
using validate::Verdict;

TEST(Report, Merges) {
    const Folder folder;
    Summary one = empty_summary("validate"), two = one, bad = one, other = empty_summary("fuzz");
    add(one, case_of("a", Verdict::identical, 2), true);
    add(two, case_of("b", Verdict::identical, 3), true);
    add(bad, case_of("c", Verdict::differs, 3), true);
    add(other, case_of("seed 1", Verdict::identical, 3), false);
    folder.write("1.json", summary_json(one));
    folder.write("2.json", summary_json(two));
    folder.write("3.json", summary_json(bad));
    folder.write("fuzz.json", summary_json(other));
    Summary both = one;
    ASSERT_EQ(validate::merge(both, two), "");
    const std::vector<std::string> quiet{"GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="};

    Ended e = run(folder, {"report", "merge", "1.json", "2.json"}, quiet);
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.out, summary_json(both)) << "the report alone";
    EXPECT_EQ(e.err, "identical: 2 reports, 2 cases, 5 values and 2 memory bytes compared\n");

    e = run(folder, {"report", "merge", "2.json", "1.json", "--out", "all.json"}, quiet);
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.out, "identical: 2 reports, 2 cases, 5 values and 2 memory bytes compared\n");
    EXPECT_EQ(e.err, "");
    EXPECT_EQ(folder.read("all.json"), summary_json(both));

    e = run(folder,
            {"report", "merge", "all.json", "3.json", "--out", "all.json", "--junit", "j.xml"},
            quiet);
    EXPECT_EQ(e.status, 1);
    EXPECT_TRUE(e.out.starts_with("DIFFERS: 2 reports, 1 of 3 cases; 1 of 8 values"));
    EXPECT_TRUE(has(folder.read("j.xml"), "tests=\"3\" failures=\"1\" errors=\"0\""));

    e = run(folder, {"report", "merge", "all.json", "1.json", "--out", "no.json"}, quiet);
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: 1.json and the reports before it: 'a' is in both\n");
    e = run(folder, {"report", "merge", "1.json", "fuzz.json", "--out", "no.json"}, quiet);
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err,
              "error: fuzz.json and the reports before it: a report of 'fuzz' cannot be "
              "added to one of 'validate'\n");
    e = run(folder, {"report", "merge", "none.json"}, quiet);
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: none.json: No such file or directory\n");
    EXPECT_EQ(run(folder, {"report", "merge"}, quiet).status, 2);
    EXPECT_EQ(run(folder, {"report"}, quiet).status, 2);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"1.json", "2.json", "3.json", "all.json",
                                                        "fuzz.json", "j.xml"}));
    e = run(folder, {"report", "merge", "1.json", "--out", "x", "--junit", "x"}, quiet);
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(has(e.err, "x: --json and --junit are one file"));
    e = run(folder, {"report", "merge", "1.json", "--out", "none/x.json"}, quiet);
    EXPECT_EQ(e.status, 2);
}

TEST(Report, Shows) {
    const Folder folder;
    folder.write("r.json", summary_json(three_cases()));
    Ended e = run(folder, {"report", "show", "r.json"});
    EXPECT_EQ(e.status, 1);
    EXPECT_EQ(e.out, summary_text(three_cases()));
    EXPECT_EQ(e.err, "");
    Summary failed = empty_summary("replay");
    folder.write("f.json", summary_json(failed));
    e = run(folder, {"report", "show", "f.json"});
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(e.out.starts_with("FAILED: 0 cases, nothing was compared\n"));
    folder.write("bad.json", "{}");
    e = run(folder, {"report", "show", "bad.json"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: bad.json: field 'schema': is missing\n");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"report", "--help"}, {"report", "merge", "--help"}}) {
        e = run(folder, words);
        EXPECT_EQ(e.status, 0);
        EXPECT_EQ(too_wide(e.out), "");
    }
}

TEST(Report, OnGithub) {
    const Folder folder;
    folder.write("r.json", summary_json(three_cases()));
    folder.write("steps.md", "before\n");
    Ended e = run(folder, {"report", "merge", "r.json"},
                  {"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=steps.md"});
    EXPECT_EQ(e.status, 1);
    EXPECT_EQ(e.out, summary_json(three_cases())) << "no annotation within";
    EXPECT_TRUE(has(e.err, "\n::error file=k10.json.ptx,line=7,"));
    EXPECT_EQ(folder.read("steps.md"), "before\n" + github_markdown(three_cases()));
    // Only where it is GitHub, or asked for.
    e = run(folder, {"report", "merge", "r.json"},
            {"GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=steps.md"});
    EXPECT_FALSE(has(e.err, "::error"));
    e = run(folder, {"report", "merge", "r.json", "--github"},
            {"GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="});
    EXPECT_TRUE(has(e.err, "::error"));
    EXPECT_EQ(folder.read("steps.md"), "before\n" + github_markdown(three_cases()));
    e = run(folder, {"report", "merge", "r.json", "--github"},
            {"GITHUB_STEP_SUMMARY=none/steps.md"});
    EXPECT_EQ(e.status, 2);
    EXPECT_TRUE(has(e.err, "error: none/steps.md: No such file or directory"));
}

// Where the file takes a part of it alone, that is said, and not taken for the whole.
TEST(Report, OnGithubWithoutRoom) {
    const Folder folder;
    Summary s = three_cases();
    for (validate::CaseResult& r : s.results) r.name += std::string(600, 'k');
    folder.write("r.json", summary_json(s));
    folder.write("steps.md", std::string(500, '.'));
    ASSERT_GT(github_markdown(s).size(), 524u);
    const std::string line = "cd " + folder.path.string() +
                             " && (trap '' XFSZ; ulimit -f 1; GITHUB_STEP_SUMMARY=steps.md exec " +
                             program() +
                             " report merge r.json --github) 2>&1 >/dev/null | cat >said";
    ASSERT_EQ(std::system(line.c_str()), 0);
    EXPECT_TRUE(has(folder.read("said"), "error: steps.md: File too large\n"))
        << folder.read("said");
    // A shell's unit is 512 or 1,024 bytes.
    EXPECT_EQ(folder.read("steps.md").size() % 512, 0u);
}

}  // namespace
}  // namespace lockwarp::tools
