// SPDX-License-Identifier: Apache-2.0
// Texts of others as reports print them: every character of Unicode, bytes that are none, and where
// a text is cut.
#include <gtest/gtest.h>

#include <set>

#include "tools/report/findings.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {
namespace {

std::string utf8(uint32_t code) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

// Control characters but line feeds and tabs, marks of direction and lines, and what is no
// character of any version.
bool stays(uint32_t code) {
    if (code == '\n' || code == '\t') return true;
    const std::set<uint32_t> marks{0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c,
                                   0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};
    return code >= 0x20 && (code < 0x7f || code > 0x9f) && !marks.contains(code) &&
           code % 0x10000 < 0xfffe;
}

const std::string no_character = "\xef\xbf\xbd";

TEST(CleanTexts, EveryCharacter) {
    size_t kept = 0;
    for (uint32_t code = 0; code <= 0x10ffff; code += code < 0x3000          ? 1
                                                      : code % 0x400 > 0x3f0 ? 1
                                                                             : 13) {
        const std::string text = "a" + utf8(code) + "b";
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        const std::string is = surrogate ? "a" + no_character + no_character + no_character + "b"
                               : stays(code) ? text
                                             : "ab";
        ASSERT_EQ(clean(text), is) << std::hex << code;
        kept += stays(code);
    }
    EXPECT_GT(kept, 50000u);
}

TEST(CleanTexts, BytesThatAreNoCharacters) {
    const auto of = [](const std::string& bytes, size_t wrong, const std::string& rest) {
        std::string is;
        for (size_t i = 0; i < wrong; ++i) is += no_character;
        EXPECT_EQ(clean(bytes), is + rest) << bytes;
    };
    of("\x80x", 1, "x");
    of("\xbfx", 1, "x");
    of("\xc0\xafx", 2, "x");
    of("\xc1\xbfx", 2, "x");
    of("\xe0\x9f\xbfx", 3, "x");
    of("\xf0\x8f\xbf\xbfx", 4, "x");
    of("\xf4\x90\x80\x80x", 4, "x");
    of("\xf5\x80\x80\x80x", 4, "x");
    of("\xffx", 1, "x");
    of("\xc3x", 1, "x");
    of("\xe2\x82x", 2, "x");
    of("\xf0\x9f\x98x", 3, "x");
    of("\xc3", 1, "");
    of("\xe2\x82", 2, "");
    of("\xf0\x9f\x98", 3, "");
    EXPECT_EQ(clean("\xc2\xa0\xe0\xa0\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbd"),
              "\xc2\xa0\xe0\xa0\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbd");
}

TEST(CleanTexts, NoCommandsOfLogs) {
    EXPECT_EQ(clean("##[error]a##[b"), "## [error]a## [b");
    EXPECT_EQ(clean("###["), "### [");
    EXPECT_EQ(clean("##"), "##");
    EXPECT_EQ(clean("#\x01#["), "## [") << "also where what stood between is left out";
    EXPECT_EQ(clean_line("a\nb\tc\rd"), "a b cd");
}

TEST(CleanTexts, CutBetweenCharacters) {
    EXPECT_EQ(cut("abcdef", 6), "abcdef");
    EXPECT_EQ(cut("abcdefg", 6), "abc...");
    EXPECT_EQ(cut("abcdefg", 3), "...");
    EXPECT_EQ(cut("abcdefg", 2), "..");
    EXPECT_EQ(cut("abcdefg", 0), "");
    EXPECT_EQ(cut("", 0), "");
    const std::string e = "\xc3\xa9";
    EXPECT_EQ(cut("a" + e + e + e, 7), "a" + e + e + e);
    EXPECT_EQ(cut("a" + e + e + e, 6), "a" + e + "...");
    EXPECT_EQ(cut("a" + e + e + e, 5), "a...");
    EXPECT_EQ(cut(e + e + e, 5), e + "...");
    EXPECT_EQ(cut(e + e + e, 4), "...");
    EXPECT_EQ(counted(0, "case"), "0 cases");
    EXPECT_EQ(counted(1, "case"), "1 case");
    EXPECT_EQ(counted(1234567, "case"), "1,234,567 cases");
}

// Every line of a summary; of a result's text no more than forty.
TEST(SummaryTexts, EveryLine) {
    using validate::Verdict;
    validate::Summary s;
    s.command = "fuzz";
    s.cases = 1234;
    s.seconds = 12.34;
    s.devices = {{"GPU X", "580.1", 90, 1980, 0}, {"the emulator", "", 80, 0, 0}};
    s.seeds = {{1, 10}, {21, 1}, {31, 5}, {41, 5}};
    s.counts.values = 5000;
    s.counts.different = 2;
    s.counts.memory_bytes = 1;
    s.counts.masked = 3000;
    s.counts.unwritten = 4;
    s.counts.places = 1;
    s.instructions["add.s32"].values = 4999;
    s.instructions["mma"].different = 2;
    const auto result = [](const char* name, Verdict verdict, const std::string& text) {
        validate::CaseResult r;
        r.name = name;
        r.verdict = verdict;
        r.text = text;
        return r;
    };
    std::string forty, shown;
    for (int i = 0; i < 40; ++i) {
        forty += "line\n";
        shown += "  | line\n";
    }
    s.results = {result("one", Verdict::identical, "silent"),
                 result("two", Verdict::differs, "a\nb"), result("three", Verdict::differs, forty),
                 result("four", Verdict::differs, forty + "more\n"),
                 result("five", Verdict::identical, "by it\n")};
    s.results[4].compiler = "does it";
    EXPECT_EQ(summary_text(s),
              "DIFFERS: 3 of 1,234 cases; 2 of 5,000 values, 0 of 1 byte\n"
              "GPU X, sm_90, driver 580.1, 1980 MHz\nthe emulator, sm_80\n"
              "seeds 1 to 10\nseeds 21 to 21\nseeds 31 to 35, and more\n"
              "fuzz, 12.3 s\n"
              "not compared: 3,000 undefined, 0 taken from the GPU\n"
              "not compared: 4 of what nothing wrote\n"
              "not compared: 1 instruction whose results are addresses\n"
              "\ninstruction  values compared  different\n"
              "add.s32                4,999          0\n"
              "mma                        0          2\n"
              "\ndiffers: two\n  | a\n  | b\n\ndiffers: three\n" +
                  shown + "\ndiffers: four\n" + shown +
                  "  | ...\n\nidentical at --optimize 0: five\n  | by it\n");
    s.counts.masked = s.counts.unwritten = 0;
    s.counts.taken = 7;
    s.counts.places = 2;
    s.seeds.pop_back();
    s.instructions.clear();
    s.results.clear();
    EXPECT_EQ(summary_text(s),
              "DIFFERS: 0 of 1,234 cases; 2 of 5,000 values, 0 of 1 byte\n"
              "GPU X, sm_90, driver 580.1, 1980 MHz\nthe emulator, sm_80\n"
              "seeds 1 to 10\nseeds 21 to 21\nseeds 31 to 35\n"
              "fuzz, 12.3 s\n"
              "not compared: 0 undefined, 7 taken from the GPU\n"
              "not compared: 2 instructions whose results are addresses\n");
}

TEST(FindingTexts, WhereItIs) {
    check::Site site;
    site.cta = {1, 2, 3};
    site.warp = 4;
    site.lanes = 1;
    EXPECT_EQ(site_text(site), "") << "of no instruction";
    site.operation = 0;
    const std::string begin = "CTA (1,2,3), warp 4";
    for (const auto& [lanes, said] :
         std::vector<std::pair<uint32_t, std::string>>{{0, ""},
                                                       {1, ", lane 0"},
                                                       {2, ", lane 1"},
                                                       {3, ", lanes 0-1"},
                                                       {4, ", lane 2"},
                                                       {5, ", lanes 0,2"},
                                                       {UINT32_MAX, ", lanes 0-31"},
                                                       {uint32_t{1} << 31, ", lane 31"}}) {
        site.lanes = lanes;
        EXPECT_EQ(site_text(site), begin + said);
    }
    site.lanes = 0;
    site.step = 17;
    EXPECT_EQ(site_text(site), begin + ", step 17");
}

}  // namespace
}  // namespace lockwarp::tools
