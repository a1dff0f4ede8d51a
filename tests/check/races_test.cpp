// SPDX-License-Identifier: Apache-2.0
// Which accesses race: PTX manual, "Memory Consistency Model", by a few lines each.
#include "tests/check/said.hpp"

namespace lockwarp::check::races_test {
namespace {

using namespace brief;

void expect(std::initializer_list<Row> rows, const Shown& shown = {}) {
    expect_each("race-shared,race-global", rows, shown);
}

const std::string bar = "bar.sync 0;\n";

TEST(Races, OfWarps) {
    const std::string put = "st.shared.u32 [%r6], %r1;\n", get = "ld.shared.u32 %r10, [%r7];\n";
    expect({
        {put + get, {"2 read-after-write 1"}},
        {put + bar + get, {}},
        {get + put, {"1 read-after-write 2"}},
        {get + bar + put, {}},
        {put + bar + get + put, {"3 read-after-write 4"}},
        {put + bar + get + bar + put, {}},
        {put + "ld.shared.u32 %r10, [%r6];\n", {}},
        {get + get, {}},
        {"st.global.u32 [%rd3], %r1;\nld.global.u32 %r10, [%rd3];\n", {}},
        {"st.global.u32 [%rd1], %r3;\n", {"1 write-after-write 1"}},
        {"st.shared.u32 [%r5], %r3;\n", {"1 write-after-write 1"}},
        {"st.shared.u32 [%r5], 7;\n", {"~1 write-after-write 1"}},
        {"st.shared.u32 [%r5], %r1;\n", {"1 write-after-write 1", "1 lanes-disagree"}},
        {"st.shared.u32 [%r5], %r2;\n", {"1 write-after-write 1", "1 lanes-disagree"}},
        {"st.shared.u32 [%r5], 7;\nst.shared.u32 [%r5], 8;\n", {"1 write-after-write 2"}},
        {"setp.eq.u32 %p1, %r3, 0;\n@%p1 ld.shared.u32 %r10, [%r6];\n"
         "@!%p1 st.shared.u32 [%r7], 1;\n",
         {"3 write-after-read 2"}},
    });
}

// Warps that store the same matrix to the same rows, as compilers have it of what they hold twice.
TEST(Races, OfMatricesOfTheSameValue) {
    for (const std::string trans : {"", ".trans"}) {
        const auto stored = [&](const std::string& value, const std::string& count) {
            std::string registers = "%r11";
            for (int i = 1; i < std::stoi(count); ++i) registers += ", %r1" + std::to_string(i + 1);
            return "shl.b32 %r10, %r2, 4; add.u32 %r10, %r10, %r5; mov.u32 %r11, %r2; "
                   "mul.lo.u32 %r12, %r2, 0x10003; not.b32 %r13, %r2; mov.u32 %r14, 9;\n" +
                   value + "stmatrix.sync.aligned.m8n8.x" + count + trans +
                   ".shared.b16 [%r10], {" + registers + "};\n";
        };
        for (const std::string count : {"1", "2", "4"}) {
            // One element of a matrix differs: the lowest or the highest of its register.
            const std::string last = std::to_string(10 + std::stoi(count));
            for (const std::string bit : {"0x1", "0x80000000"})
                for (const std::string lane : {"0", "5", "31"})
                    expect({{stored("setp.eq.u32 %p1, %r2, " + lane +
                                        "; setp.eq.and.u32 %p1, %r3, 1, %p1; @%p1 xor.b32 %r" +
                                        last + ", %r" + last + ", " + bit + ";\n",
                                    count),
                             {"3 write-after-write 3"}}});
            expect({{stored("", count), {"~2 write-after-write 2"}}});
        }
    }
}

TEST(Races, OfStrongAccesses) {
    const std::string get = "ld.shared.u32 %r10, [%r7];\n";
    expect({
        {"st.relaxed.cta.shared.u32 [%r5], %r3;\n", {}},
        {"st.volatile.shared.u32 [%r5], %r3;\n", {}},
        {"red.shared.add.u32 [%r5], 1;\n", {}},
        {"red.global.add.u32 [%rd1], 1;\n", {}},
        {"red.shared.add.u32 [%r6], 1;\n" + get, {"2 read-after-write 1"}},
        {"red.shared.add.u32 [%r6], 1;\nld.relaxed.cta.shared.u32 %r10, [%r7];\n", {}},
        {"st.shared.u32 [%r6], 1;\nld.relaxed.cta.shared.u32 %r10, [%r7];\n",
         {"2 read-after-write 1"}},
        {"st.shared.u32 [%r6], 1;\nred.shared.add.u32 [%r7], 1;\n", {"1 write-after-write 2"}},
        // Under a strong store the weak one is still there.
        {"setp.eq.u32 %p1, %r3, 0;\n@%p1 st.shared.u32 [%r6], 1;\n"
         "@%p1 red.shared.add.u32 [%r6], 1;\n@!%p1 ld.relaxed.cta.shared.u32 %r10, [%r7];\n",
         {"4 read-after-write 2"}},
        {"setp.eq.u32 %p1, %r3, 0;\n@%p1 red.shared.add.u32 [%r6], 1;\n"
         "@%p1 st.shared.u32 [%r6], 1;\n@!%p1 ld.relaxed.cta.shared.u32 %r10, [%r7];\n",
         {"4 read-after-write 3"}},
    });
    // Of one scope that both are in.
    for (const auto& [scope, races] :
         {std::pair{"cta", true}, std::pair{"gpu", false}, std::pair{"sys", false}})
        EXPECT_EQ(brief::said("red.relaxed." + std::string(scope) + ".global.add.u32 [%rd3], 1;\n",
                              {.checks = "race-global", .grid = 2}),
                  races ? Lines{"1 write-after-write 1"} : Lines{})
            << scope;
}

// A plain load of what atom.cas looks at again may be a guess; a plain store there is none.
TEST(Races, AGuessIsALoad) {
    const auto said = [](const std::string& body) {
        return brief::said(body, {.checks = "race-global", .block = 1, .grid = 2});
    };
    const std::string cas = "atom.global.cas.b32 %r10, [%rd1], %r11, 1;\n";
    EXPECT_EQ(said("ld.global.u32 %r11, [%rd1];\n" + cas), Lines{"~1 read-after-write 2"});
    EXPECT_EQ(said("mov.u32 %r11, %ctaid.x; setp.eq.u32 %p1, %r11, 0;\n" + cas +
                   "@%p1 st.global.u32 [%rd1], 0;\n"),
              Lines{"2 write-after-write 3"});
}

// Three accesses of one word by warps, or by CTAs that may order one another, with a plain model of
// which race. The first two are of one of them, or the last two, or each of another.
struct Kind {
    const char* text;
    bool stores;
    int strong;  // 0: it is not, 1: in its CTA, 2: everywhere
};

constexpr Kind kinds[] = {
    {"ld.global.u32 %r10, [%rd1];", false, 0},
    {"ld.relaxed.cta.global.u32 %r10, [%rd1];", false, 1},
    {"ld.relaxed.gpu.global.u32 %r10, [%rd1];", false, 2},
    {"st.global.u32 [%rd1], %r11;", true, 0},
    {"st.relaxed.cta.global.u32 [%rd1], %r11;", true, 1},
    {"st.relaxed.gpu.global.u32 [%rd1], %r11;", true, 2},
};

bool are_strong(const Kind& a, const Kind& b, bool ctas) {
    return std::min(a.strong, b.strong) >= (ctas ? 2 : 1);
}

bool may_race(const Kind& a, const Kind& b, bool ctas) {
    return (a.stores || b.stores) && !are_strong(a, b, ctas);
}

TEST(Races, OfThreeAccesses) {
    const auto expect = [](const Kind& a, const Kind& b, const Kind& c, std::array<int, 3> who,
                           bool ctas) {
        std::string body = std::string(ctas ? "mov.u32 %r12, %ctaid.x;" : "mov.u32 %r12, %r3;") +
                           " ld.relaxed.gpu.global.u32 %r10, [%rd1+512]; mov.u32 %r11, %r12;"
                           "setp.ne.u32 %p0, %r2, 0;\n";
        for (const auto& [kind, by] : {std::pair{a, who[0]}, {b, who[1]}, {c, who[2]}})
            body += "setp.eq.and.u32 %p1, %r12, " + std::to_string(by) +
                    ", !%p0; add.u32 %r11, %r11, 8; @%p1 " + kind.text + "\n";
        const bool ab = who[0] != who[1] && may_race(a, b, ctas);
        // Who has seen a strong store comes behind it.
        const bool seen = who[1] == who[2] && a.stores && !b.stores && are_strong(a, b, ctas);
        const bool ac = may_race(a, c, ctas) && !seen;
        const bool bc = who[1] != who[2] && may_race(b, c, ctas);
        bool first = false, last = false;
        for (const std::string& line : brief::said(
                 body,
                 {.checks = "race-global", .block = ctas ? 32u : 96u, .grid = ctas ? 3u : 1u})) {
            const bool of_last = line[0] == '4';
            (of_last ? last : first) = true;
            const char other = line.back();
            EXPECT_TRUE(of_last ? (other == '2' && ac) || (other == '3' && bc)
                                : line[0] == '3' && other == '2')
                << line << "\n"
                << body;
        }
        EXPECT_EQ(first, ab) << body;
        // Of what was stored the last is kept: behind a store of its own a warp's accesses are not
        // compared with those that others stored, or that raced with that store.
        const bool hides = who[0] != who[1] && who[1] == who[2] && b.stores && (a.stores || ab);
        if (hides) return;
        EXPECT_EQ(last, ac || bc) << body;
    };
    for (const Kind& a : kinds)
        for (const Kind& b : kinds)
            for (const Kind& c : kinds)
                for (const bool ctas : {false, true}) {
                    expect(a, b, c, {0, 0, 1}, ctas);
                    expect(a, b, c, {0, 1, 1}, ctas);
                    expect(a, b, c, {0, 1, 2}, ctas);
                }
}

// Bytes of words, each byte of one warp.
TEST(Races, OfBytes) {
    const std::string setup =
        "shl.b32 %r20, %r2, 1; add.u32 %r20, %r20, %r3; add.u32 %r20, %r20, %r5;"
        "xor.b32 %r21, %r20, 1; mov.u32 %r22, 1;\n";
    const std::string put = "st.shared.u8 [%r20], %r22;\n", own = "ld.shared.u8 %r10, [%r20];\n",
                      others = "ld.shared.u8 %r10, [%r21];\n";
    expect({
        {setup + put + own, {}},
        {setup + put + others, {"3 read-after-write 2"}},
        {setup + put + bar + others, {}},
        {setup + own + put, {}},
        {setup + others + put, {"2 read-after-write 3"}},
        {setup + others + bar + put, {}},
        // A word at once, and its bytes.
        {setup + put + "ld.shared.u32 %r10, [%r5];\n", {"3 read-after-write 2"}},
        {setup + "ld.shared.u32 %r10, [%r5];\n" + bar + put, {}},
        {setup + "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r5], 1;\n" + bar + put + own, {}},
        {setup + put + bar + "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r5], 1;\n" + own,
         {"5 write-after-read 6"}},  // warp 1 opens the barrier, and goes on
    });
    // One byte of a word that has been taken apart, read or stored by warp 0 and stored by warp 1.
    for (int byte = 0; byte < 4; ++byte)
        for (int other = 0; other < 4; ++other)
            for (const bool loads : {true, false}) {
                const std::string at = "[%r5+" + std::to_string(byte) + "]",
                                  then = "[%r5+" + std::to_string(other) + "]";
                const std::string body =
                    "setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32; mov.u32 %r22, 1;\n"
                    "@%p1 " +
                    (loads ? "ld.shared.u8 %r10, " + at : "st.shared.u8 " + at + ", %r22") +
                    ";\n@%p2 st.shared.u8 " + then + ", %r2;\n";
                const Lines races{loads ? "3 write-after-read 2" : "3 write-after-write 2"};
                EXPECT_EQ(brief::said(body, {.checks = "race-shared"}),
                          byte == other ? races : Lines{})
                    << body;
            }
}

// A word is one until a byte of it is accessed: the word behind an access stays so.
TEST(Races, OfWordsBesideOthers) {
    const std::string warps = "setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;\n";
    for (const std::string beside :
         {"@%p2 st.shared.u32 [%r5], 7;\n", "@%p2 ld.shared.u32 %r10, [%r5];\n"})
        EXPECT_EQ(brief::said(warps + "@%p1 st.shared.u32 [%r5+4], 0x100;\n" + beside +
                                  "@%p2 st.shared.u32 [%r5+4], 0x200;\n",
                              {.checks = "race-shared"}, {.at = true}),
                  Lines{"4 write-after-write 2, 4 at 4"})
            << beside;
}

// A wait is for the copies of its own lanes; those of others still have theirs before them.
// Of two words of an access one was read by the lane itself, the other one by another warp.
TEST(Races, OfWordsWithOtherReaders) {
    const std::string store =
        "@%p3 wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r5], {%f1, %f1, %f1, %f1, %f1, "
        "%f1, %f1, %f1};\n";
    const std::string who =
        "mov.f32 %f1, 0f00000000; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32; "
        "setp.eq.u32 %p3, %r3, 1;\n";
    expect({{who + "@%p1 ld.shared.u32 %r10, [%r5+4];\n@%p2 ld.shared.u32 %r10, [%r5];\n" + store,
             {"4 write-after-read 2"}},
            {who + "@%p1 ld.shared.u32 %r10, [%r5];\n@%p2 ld.shared.u32 %r10, [%r5+4];\n" + store,
             {"4 write-after-read 2"}}});
}

TEST(Races, OfCopiesThatOtherLanesWaitFor) {
    const std::string half = "setp.lt.u32 %p1, %r2, 16;\n@%p1 ",
                      copy = "cp.async.ca.shared.global [%r6], [%rd4], 4;\n",
                      wait = "cp.async.wait_all;\n", get = "ld.shared.u32 %r10, [%r7];\n";
    expect({
        {half + copy + "@%p1 " + wait + bar + get, {}},
        {half + copy + "@%p1 " + wait + get, {"4 read-after-write 2"}},
        {half + copy + "@!%p1 " + wait + "@%p1 " + wait + bar + get, {}},
        {half + copy + "@!%p1 " + wait + "@%p1 " + wait + get, {"5 read-after-write 2"}},
    });
}

// Each word of a vector.
TEST(Races, OfVectors) {
    for (int word = -1; word <= 4; ++word)
        for (const bool loads : {true, false}) {
            const std::string body =
                "setp.eq.u32 %p1, %r1, 3; setp.eq.u32 %p2, %r1, 35;\n"
                "@%p1 " +
                std::string(loads ? "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5+16]"
                                  : "st.shared.v4.u32 [%r5+16], {%r1, %r1, %r1, %r1}") +
                ";\n@%p2 st.shared.u32 [%r5+" + std::to_string(16 + 4 * word) + "], 1;\n";
            Lines races;
            if (word >= 0 && word < 4)
                races = {std::string(loads ? "3 write-after-read 2" : "3 write-after-write 2") +
                         ", 8 8, 4 at " + std::to_string(16 + 4 * word)};
            EXPECT_EQ(brief::said(body, {.checks = "race-shared"}, {.lanes = true, .at = true}),
                      races)
                << body;
            // And the other way round.
            std::string turned = body;
            std::swap(turned[turned.find("@%p1") + 3], turned[turned.find("@%p2") + 3]);
            const Lines back{loads ? "2 read-after-write 3" : "2 write-after-write 3"};
            EXPECT_EQ(brief::said(turned, {.checks = "race-shared"}),
                      word >= 0 && word < 4 ? back : Lines{})
                << turned;
        }
}

// Who is named: the instruction that read this word, and no one who read another.
TEST(Races, NameWhoRead) {
    const std::string warps =
        "setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, 1; setp.eq.u32 %p3, %r3, 2;\n";
    const std::string one = "setp.eq.u32 %p4, %r2, 0; setp.eq.u32 %p5, %r2, 1;\n";
    expect({
        {warps + "@%p1 ld.shared.u32 %r10, [%r6];\n@%p1 ld.shared.u32 %r10, [%r6+256];\n"
                 "@%p2 st.shared.u32 [%r7+256], 1;\n",
         {"4 write-after-read 3"}},
        {warps + "@%p1 ld.shared.u32 %r10, [%r6];\n@%p1 ld.shared.u32 %r10, [%r6+256];\n"
                 "@%p2 st.shared.u32 [%r7], 1;\n",
         {"4 write-after-read 2"}},
        // Warp 0 reads word 0, warp 1 words 0 and 1, and warp 2 stores one of them.
        {warps + one +
             "and.pred %p6, %p1, %p4;\n@%p6 ld.shared.u32 %r10, [%r5];\n"
             "mad.lo.u32 %r20, %r2, 4, %r5;\n@%p2 ld.shared.u32 %r10, [%r20];\n"
             "@%p3 st.shared.u32 [%r5+4], 1;\n",
         {"7 write-after-read 6"},
         96},
        {warps + one +
             "and.pred %p6, %p1, %p4;\n@%p6 ld.shared.u32 %r10, [%r5];\n"
             "mad.lo.u32 %r20, %r2, 4, %r5;\n@%p2 ld.shared.u32 %r10, [%r20];\n"
             "@%p3 st.shared.u32 [%r5], 1;\n",
         {"7 write-after-read 6"},
         96},
        // Warp 1's second lane stores what it alone has read.
        {warps + one +
             "and.pred %p6, %p1, %p4; and.pred %p7, %p2, %p5;\n"
             "@%p6 ld.shared.u32 %r10, [%r5];\nmad.lo.u32 %r20, %r2, 4, %r5;\n"
             "@%p2 ld.shared.u32 %r10, [%r20];\n@%p7 st.shared.u32 [%r5+4], 1;\n",
         {}},
    });
}

// Warp 0 reads again what it has read, behind a barrier with warp 2: between the two reads is that
// of warp 1, for which nobody waits.
TEST(Races, OfAReaderBetweenAnothersReads) {
    expect(
        {{"setp.eq.u32 %p1, %r3, 1; setp.eq.u32 %p2, %r3, 2; setp.eq.u32 %p3, %r2, 0;\n"
          "@%p1 bra SECOND;\n@%p2 bra THIRD;\n"
          "ld.shared.u32 %r10, [%r5];\nbar.sync 1, 64;\n"
          "ld.shared.u32 %r10, [%r5];\nbar.sync 1, 64;\nbra END;\n"
          "SECOND:\nld.shared.u32 %r10, [%r5];\nbra END;\n"
          "THIRD:\nbar.sync 1, 64;\nbar.sync 1, 64;\n@%p3 st.shared.u32 [%r5], 1;\n"
          "END:\n",
          {"15 write-after-read 10"},
          96}});
}

// Lanes of one warp.
TEST(Races, OfLanes) {
    const std::string put = "st.shared.u32 [%r6], %r1;\n",
                      next = "xor.b32 %r20, %r6, 4;\nld.shared.u32 %r10, [%r20];\n";
    const std::string odd = "and.b32 %r21, %r1, 1; setp.eq.u32 %p1, %r21, 1;\n";
    expect({
        {put + next, {"~3 read-after-write 1"}, 32},
        {put + "bar.warp.sync -1;\n" + next, {}, 32},
        {put + "bar.sync 0;\n" + next, {}, 32},
        // Each pair of lanes meets.
        {put + "and.b32 %r22, %r1, 30; shl.b32 %r23, 3, %r22;\nbar.warp.sync %r23;\n" + next,
         {},
         32},
        // Other pairs do.
        {put +
             "add.u32 %r22, %r1, 1; and.b32 %r22, %r22, 30; shf.l.wrap.b32 %r23, 0, 0, 0;"
             "shl.b32 %r23, 3, %r22; shr.b32 %r23, %r23, 1; setp.eq.u32 %p2, %r22, 0;"
             "@%p2 mov.u32 %r23, 0x80000001;\nbar.warp.sync %r23;\n" +
             next,
         {"~5 read-after-write 1"},
         32},
        // On ways of their own through the code.
        {odd + "@%p1 bra ODD;\n" + put + "bra END;\nODD:\n" + next + "END:\n",
         {"3 write-after-read 7"},
         32},
        {odd + "@%p1 bra ODD;\n" + put + "ODD:\nbar.warp.sync -1;\n" + next, {}, 32},
        {odd + "@%p1 bra ODD;\n" + put + "ODD:\n" + next, {"~6 read-after-write 3"}, 32},
    });
}

// Lanes that store to one place at a time, and not the same.
TEST(Races, OfLanesOfOneStore) {
    const auto of = [](const std::string& body) {
        Lines lines = brief::said(body, {.checks = "race-shared", .block = 32},
                                  {.lanes = true, .at = true, .count = true});
        // That one comes over another in the instruction's own order is said as well.
        std::erase_if(lines, [](const std::string& line) { return line.starts_with('~'); });
        return lines;
    };
    // %r20: the lane's word, but lanes 20 and 9 have word 3.
    const std::string at =
        "setp.eq.u32 %p1, %r2, 20; setp.eq.u32 %p2, %r2, 9; mov.u32 %r21, %r2;"
        "@%p1 mov.u32 %r21, 3; @%p2 mov.u32 %r21, 3; mad.lo.u32 %r20, %r21, 4, %r5;"
        "mad.lo.u32 %r22, %r21, 16, %r5; mov.u32 %r23, 7; selp.u32 %r24, 8, 7, %p1;"
        "mov.b64 %rd10, {%r23, %r24}; mov.b64 %rd11, {%r24, %r23};\n";
    EXPECT_EQ(of(at + "st.shared.u32 [%r20], 1;"), Lines{});
    EXPECT_EQ(of(at + "st.shared.u32 [%r20], %r23;"), Lines{});
    EXPECT_EQ(of(at + "st.shared.u32 [%r20], %r2;"), Lines{"2 lanes-disagree, 208, 4 at 12"});
    EXPECT_EQ(of(at + "st.shared.u32 [%r20], %r24;"), Lines{"2 lanes-disagree, 100200, 4 at 12"});
    EXPECT_EQ(of(at + "@!%p2 st.shared.u32 [%r20], %r2;"),
              Lines{"2 lanes-disagree, 100008, 4 at 12"});
    EXPECT_EQ(of(at + "setp.lt.u32 %p3, %r2, 9;\n@%p3 st.shared.u32 [%r20], %r2;"), Lines{});
    EXPECT_EQ(of(at + "st.shared.u8 [%r20], %r24;"), Lines{"2 lanes-disagree, 100200, 1 at 12"});
    EXPECT_EQ(of(at + "st.shared.u64 [%r22], %rd10;"), Lines{"2 lanes-disagree, 100200, 8 at 48"});
    EXPECT_EQ(of(at + "st.shared.u64 [%r22], %rd11;"), Lines{"2 lanes-disagree, 100200, 8 at 48"});
    EXPECT_EQ(of(at + "st.shared.v4.u32 [%r22], {%r23, %r23, %r23, %r24};"),
              Lines{"2 lanes-disagree, 100200, 16 at 48"});
    EXPECT_EQ(of(at + "st.shared.v4.u32 [%r22], {%r23, %r23, %r23, %r23};"), Lines{});
    EXPECT_EQ(of(at + "st.relaxed.cta.shared.u32 [%r20], %r2;"), Lines{});
    EXPECT_EQ(of(at + "red.shared.add.u32 [%r20], %r2;"), Lines{});
    // Named once, whatever comes behind it.
    EXPECT_EQ(of(at + "mov.u32 %r25, 0;\nL: st.shared.u32 [%r20], %r2; bar.warp.sync -1;"
                      "add.u32 %r25, %r25, 1; setp.lt.u32 %p3, %r25, 3; @%p3 bra L;"),
              Lines{"3 lanes-disagree, 208, 4 at 12, 3 times"});
}

// Two products of a warpgroup read 16 rows of A by each warp. Who has waited for a group knows of
// the reads of all four warps, and of no later group's.
TEST(Races, OfWhatProductsRead) {
    const auto of = [](int waits_for, int waits, int arrives, int at) {
        const std::string n = std::to_string(waits_for);
        const auto multiply = [](const std::string& a) {
            return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, " + a +
                   ", %rd11, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; ";
        };
        return brief::said(
            "setp.eq.u32 %p1, %r3, 4; @%p1 bra WRITES; mov.u32 %r10, m; shr.u32 %r10, %r10, 4;"
            "cvt.u64.u32 %rd10, %r10; or.b64 %rd10, %rd10, 0x1000080000; add.u64 %rd11, %rd10, 128;"
            "add.u64 %rd12, %rd10, 160; wgmma.fence.sync.aligned;\n" +
                multiply("%rd10") + "\n" + multiply("%rd12") + "\nsetp.eq.u32 %p2, %r3, " +
                std::to_string(waits) + "; @!%p2 bra ON; wgmma.wait_group.sync.aligned " + n +
                "; ON: setp.eq.u32 %p2, %r3, " + std::to_string(arrives) +
                "; @%p2 bar.arrive 1, 64; bra END; WRITES: bar.sync 1, 64; setp.eq.u32 %p3, %r2, 0;"
                "\n@%p3 st.shared.u32 [m+" +
                std::to_string(at) + "], 1;\nEND:",
            {.checks = "race-shared", .block = 160, .outside = ".shared .align 128 .b8 m[8192];"});
    };
    constexpr int second = 2560;
    for (int warp = 0; warp < 4; ++warp)
        for (int row_of = 0; row_of < 4; ++row_of) {
            const int at = 512 * row_of;
            EXPECT_EQ(of(0, warp, warp, at), Lines{}) << warp << row_of;
            EXPECT_EQ(of(0, warp, warp, second + at), Lines{}) << warp << row_of;
            EXPECT_EQ(of(1, warp, warp, at), Lines{}) << warp << row_of;
            // (What a warp itself reads it has read when it goes on, as far as this check knows.)
            if (row_of == warp) continue;
            EXPECT_EQ(of(1, warp, warp, second + at), Lines{"5 write-after-read 3"})
                << warp << row_of;
            EXPECT_EQ(of(2, warp, warp, at), Lines{"5 write-after-read 2"}) << warp << row_of;
            EXPECT_EQ(of(0, (warp + 1) % 4, warp, at), Lines{"5 write-after-read 2"})
                << warp << row_of;
        }
}

// Another warp's stores race with the bytes that a bulk copy reads, and with none behind them.
TEST(Races, OfABulkCopysSourceEndWithIt) {
    const std::string body =
        "setp.eq.u32 %p1, %r1, 3; setp.eq.u32 %p2, %r1, 35;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5+64], 144;"
        "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;\n"
        "@%p2 st.shared.u32 [%r5+";
    for (const int at : {60, 64, 188, 192, 204, 208, 220, 316}) {
        const bool inside = at >= 64 && at < 208;
        EXPECT_EQ(brief::said(body + std::to_string(at) + "], 1;", {.checks = "race-shared"}),
                  inside ? Lines{"3 write-after-read 2"} : Lines{})
            << at;
    }
}

// What a bulk copy reads its thread may store to when it has waited for that.
TEST(Races, OfABulkCopysSource) {
    const std::string setup = "setp.eq.u32 %p1, %r2, 3;\n";
    const std::string copy =
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5+64], 32;"
        "@%p1 cp.async.bulk.commit_group;\n";
    const std::string wait = "@%p1 cp.async.bulk.wait_group.read 0;\n";
    const auto store = [](int at) {
        return "@%p1 st.shared.u32 [%r5+" + std::to_string(at) + "], 1;\n";
    };
    const auto of = [&](const std::string& body, uint32_t grid = 1) {
        return brief::said(setup + body,
                           {.checks = "race-shared,race-global", .block = 32, .grid = grid},
                           {.lanes = true, .at = true});
    };
    for (const int at : {60, 64, 80, 92, 96}) {
        const bool inside = at >= 64 && at < 96;
        EXPECT_EQ(of(copy + store(at) + wait),
                  inside ? Lines{"3 write-after-read 2, 8 8, 4 at " + std::to_string(at)} : Lines{})
            << at;
        EXPECT_EQ(of(copy + store(at)),  // nobody waits
                  inside ? Lines{"3 write-after-read 2, 8 8, 4 at " + std::to_string(at)} : Lines{})
            << at;
        EXPECT_EQ(of(copy + wait + store(at)), Lines{}) << at;
        EXPECT_EQ(of(store(at) + copy + wait), Lines{}) << at;
    }
    // A byte of a word, and two; what was stored before the copy beside it.
    const auto narrow = [](const std::string& type, int at) {
        return "@%p1 st.shared." + type + " [%r5+" + std::to_string(at) + "], 1;\n";
    };
    for (const int at : {63, 64, 81, 95, 96}) {
        const bool inside = at >= 64 && at < 96;
        EXPECT_EQ(of(copy + narrow("u8", at) + wait),
                  inside ? Lines{"3 write-after-read 2, 8 8, 1 at " + std::to_string(at)} : Lines{})
            << at;
        EXPECT_EQ(of(copy + wait + narrow("u8", at)), Lines{}) << at;
        EXPECT_EQ(of(narrow("u8", at) + copy + wait), Lines{}) << at;
    }
    EXPECT_EQ(of(copy + narrow("u16", 82) + wait), Lines{"3 write-after-read 2, 8 8, 1 at 82"});
    EXPECT_EQ(of(narrow("u16", 82) + copy + narrow("u8", 81) + wait),
              Lines{"4 write-after-read 3, 8 8, 1 at 81"});
    // A copy into it that an mbarrier counts races with it once.
    const std::string counted =
                          "@%p1 mbarrier.init.shared.b64 [%r5], 1; @%p1 "
                          "mbarrier.arrive.expect_tx.shared.b64 %rd20, "
                          "[%r5], 32;\n",
                      into =
                          "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                          "[%r5+64], [%rd2], 32, [%r5];\n",
                      phase =
                          "W: @%p1 mbarrier.try_wait.parity.shared.b64 %p4, [%r5], 0;\n"
                          "@!%p1 bra E; @!%p4 bra W; E:\n";
    EXPECT_EQ(of(counted + copy + into + wait + phase),
              Lines{"5 read-after-write 4, 8 8, 4 at 64"});
    EXPECT_EQ(of(counted + copy + wait + into + phase), Lines{});
    EXPECT_EQ(of(counted + into + phase + copy + wait), Lines{});
    // What nobody has stored, where the copy is the first that its warp does.
    EXPECT_EQ(brief::said("cp.async.bulk.global.shared::cta.bulk_group [0x10000], [tile], 32;"
                          "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
                          {.checks = "race-shared,race-global", .block = 1, .bare = true}),
              Lines{});
    // What another warp has stored before, which has come much further.
    const std::string many =
        "mov.u32 %r10, 0; L: add.u32 %r10, %r10, 1; setp.ne.u32 %p2, %r10, 99;"
        "@%p2 bra L;\n";
    EXPECT_EQ(brief::said("setp.eq.u32 %p1, %r1, 3; setp.lt.u32 %p3, %r1, 32; @%p3 bra M;\n" +
                              many + "st.shared.u32 [%r5+64], 1; M: bar.sync 0;\n" + copy + wait,
                          {.checks = "race-shared,race-global"}),
              Lines{});
    // What the same warp of another CTA of the cluster has.
    EXPECT_EQ(
        brief::said("setp.eq.u32 %p1, %r1, 3; mov.u32 %r11, %cluster_ctarank;"
                    "setp.eq.u32 %p3, %r11, 0; mapa.shared::cluster.u32 %r12, %r5, 0;"
                    "and.pred %p1, %p1, %p3; @%p3 bra M;\n" +
                        many +
                        "@!%p3 st.shared::cluster.u32 [%r12+64], 1;\n"
                        "M: barrier.cluster.arrive; barrier.cluster.wait;\n" +
                        copy + wait,
                    {.checks = "race-shared,race-global", .block = 32, .grid = 2, .cluster = 2}),
        Lines{});
    // Two CTAs that copy to one place race, and two that add to it do not.
    std::string adds = copy;
    adds.replace(adds.find("cp.async.bulk.global.shared::cta.bulk_group"), 43,
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32");
    EXPECT_EQ(of(copy + wait, 2), Lines{"2 write-after-write 2, 8 8, 4 at 65536"});
    EXPECT_EQ(of(adds + wait, 2), Lines{});
}

}  // namespace
}  // namespace lockwarp::check::races_test
