// SPDX-License-Identifier: Apache-2.0
// Suppressions: what a line of one covers, and what is no such line.
#include "tools/report/suppressions.hpp"

#include <gtest/gtest.h>

#include "tests/results.hpp"

namespace lockwarp::tools {
namespace {

CheckedSite site(const std::string& ptx, uint32_t line) {
    CheckedSite out;
    out.ptx = ptx;
    out.ptx_line = line;
    return out;
}

// One at line 7 of dir/k.ptx, from line 3 of src/k.cu inlined into line 9; the other at line 8.
CheckedFinding finding() {
    CheckedFinding f;
    f.check = "sync";
    f.kind = "copy-not-awaited";
    f.ptx = "dir/k.ptx";
    f.here = site("dir/k.ptx", 7);
    f.other = site("dir/o.ptx", 8);
    for (const uint32_t line : {3u, 9u}) {
        ptx::SourcePlace p;
        p.file = "src/k.cu";
        p.line = line;
        f.here->source.push_back(p);
    }
    return f;
}

std::vector<std::string> unused(const std::string& text, std::vector<CheckedFinding> findings,
                                std::vector<bool>* suppressed = nullptr) {
    std::vector<Suppression> all;
    EXPECT_EQ(take(parse_suppressions(text, "s.txt"), all), "");
    CheckReport report;
    report.files.emplace_back();
    report.files[0].findings = std::move(findings);
    suppress(report, all);
    if (suppressed != nullptr)
        for (const CheckedFinding& f : report.files[0].findings)
            suppressed->push_back(f.suppressed);
    return report.unused_suppressions;
}

bool covers(const std::string& text, const CheckedFinding& f) {
    std::vector<bool> suppressed;
    const std::vector<std::string> left = unused(text, {f}, &suppressed);
    EXPECT_EQ(left.empty(), suppressed[0]) << text;
    if (!suppressed[0]) {
        EXPECT_EQ(left,
                  std::vector<std::string>{"s.txt:1: nothing was suppressed by \"" + text + "\""});
    }
    return suppressed[0];
}

TEST(Suppressions, CoverChecksKindsFilesAndLines) {
    const std::string kind = "sync/copy-not-awaited";
    for (const std::string& text :
         {std::string("sync"), kind, kind + " k.ptx", kind + " dir/k.ptx",
          std::string("sync k.ptx:7"), std::string("sync o.ptx:8"), std::string("sync k.cu"),
          std::string("sync src/k.cu:3"), std::string("sync k.cu:9"), std::string("sync o.ptx")})
        EXPECT_TRUE(covers(text, finding())) << text;
    for (const std::string text :
         {"memory", "sync/copy-no-barrier", "sync k.ptx:8", "sync o.ptx:7", "sync .ptx",
          "sync r/k.ptx", "sync x/dir/k.ptx", "sync k.cu:7", "sync q.ptx"})
        EXPECT_FALSE(covers(text, finding())) << text;
    CheckedFinding alone = finding();
    alone.other.reset();
    EXPECT_FALSE(covers("sync o.ptx:8", alone));
    EXPECT_TRUE(covers("sync k.ptx:7", alone));
    // Of no instruction: by its module's file, which has no line then.
    CheckedFinding nowhere = alone;
    nowhere.here.reset();
    EXPECT_TRUE(covers("sync k.ptx", nowhere));
    EXPECT_TRUE(covers("sync", nowhere));
    EXPECT_FALSE(covers("sync k.ptx:7", nowhere));
    EXPECT_FALSE(covers("sync k.cu", nowhere));
}

TEST(Suppressions, SeveralLinesAndFindings) {
    CheckedFinding other = finding();
    other.check = "memory";
    std::vector<bool> suppressed;
    EXPECT_EQ(unused("# sync\n\n  sync   k.ptx:7 # meant\nsync k.ptx:99\nsync\n",
                     {finding(), other}, &suppressed),
              std::vector<std::string>{"s.txt:4: nothing was suppressed by \"sync k.ptx:99\""});
    EXPECT_EQ(suppressed, (std::vector<bool>{true, false}));
    EXPECT_TRUE(unused("", {finding()}).empty());
}

TEST(Suppressions, LinesThatAreNone) {
    const auto problem = [](const std::string& text) {
        std::vector<Suppression> all;
        return take(parse_suppressions(text, "s.txt"), all);
    };
    std::string checks, kinds;
    for (const check::CheckRow& row : check::checks()) {
        checks += (checks.empty() ? "" : ", ") + std::string(row.name);
        EXPECT_EQ(problem(std::string(row.name)), "");
        for (const check::KindRow& k : row.kinds) {
            EXPECT_EQ(problem(std::string(row.name) + "/" + std::string(k.kind)), "");
            if (row.name == "sync") kinds += (kinds.empty() ? "" : ", ") + std::string(k.kind);
        }
    }
    EXPECT_EQ(problem("sync\nsnyc k.ptx"),
              "s.txt:2: there is no check \"snyc\"; there are " + checks);
    EXPECT_EQ(problem("sync/x"), "s.txt:1: sync finds no \"x\"; it finds " + kinds);
    EXPECT_EQ(problem("sync k.ptx more"),
              "s.txt:1: CHECK[/KIND] [FILE[:LINE]] is expected, and nothing behind it");
    for (const std::string place :
         {"k.ptx:", "k.ptx:0", "k.ptx:x", "k.ptx:1x", "k.ptx:-1", ":1", "k.ptx:4294967296"})
        EXPECT_EQ(problem("sync " + place), "s.txt:1: \"" + place + "\" is no FILE:LINE");
    EXPECT_EQ(problem("sync k.ptx:4294967295"), "");
    EXPECT_EQ(problem("sync a:b.ptx:1"), "");
}

}  // namespace
}  // namespace lockwarp::tools
