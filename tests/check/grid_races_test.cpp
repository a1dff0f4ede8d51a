// SPDX-License-Identifier: Apache-2.0
// Two CTAs that touch one word of global memory, each with one access: every pair of accesses, with
// a plain model of which race (PTX manual, "Memory Consistency Model: Data-races").
#include <optional>

#include "tests/check/said.hpp"

namespace lockwarp::check::grid_races_test {
namespace {

using namespace brief;

struct Action {
    const char* text;
    uint32_t first, bytes;
    bool stores, strong;
    std::optional<uint32_t> value = {};  // from its first byte on, where that is known
};

// %r11 is 9 in CTA 0 and 10 in CTA 1.
constexpr Action actions[] = {
    {"add.u32 %r12, %r1, 1;", 0, 0, false, false},
    {"ld.global.u32 %r12, [%rd1+64];", 0, 4, false, false},
    {"ld.global.u8 %r12, [%rd1+64];", 0, 1, false, false},
    {"ld.global.u8 %r12, [%rd1+67];", 3, 1, false, false},
    {"ld.global.u16 %r12, [%rd1+66];", 2, 2, false, false},
    {"st.global.u32 [%rd1+64], 7;", 0, 4, true, false, 7},
    {"st.global.u32 [%rd1+64], 263;", 0, 4, true, false, 263},
    {"st.global.u8 [%rd1+64], 7;", 0, 1, true, false, 7},
    {"st.global.u8 [%rd1+65], 0;", 1, 1, true, false, 0},
    {"st.global.u8 [%rd1+65], 1;", 1, 1, true, false, 1},
    {"st.global.u8 [%rd1+66], 1;", 2, 1, true, false, 1},
    {"st.global.u16 [%rd1+66], 1;", 2, 2, true, false, 1},
    {"st.relaxed.gpu.global.u32 [%rd1+64], 7;", 0, 4, true, true, 7},
    {"red.global.add.u32 [%rd1+64], 7;", 0, 4, true, true},
};
constexpr Action strong_load{"ld.relaxed.gpu.global.u32 %r12, [%rd1+64];", 0, 4, false, true};

std::string body_of(const Action& a, const Action& b, bool with_order) {
    return std::string("mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0;\n") + "@%p1 " + a.text +
           "\n@!%p1 " + b.text + "\n" +
           (with_order ? "ld.relaxed.gpu.global.u32 %r12, [%rd1+512];\n" : "");
}

struct Meeting {
    uint32_t bytes = 0;  // that race, by bits
    bool same = true;    // both leave the same there
};

Meeting meeting_of(const Action& a, const Action& b) {
    Meeting out;
    if ((!a.stores && !b.stores) || (a.strong && b.strong)) return out;
    for (uint32_t i = 0; i < 4; ++i) {
        const auto has = [&](const Action& x) { return i >= x.first && i < x.first + x.bytes; };
        if (!has(a) || !has(b)) continue;
        out.bytes |= 1u << i;
        const auto left = [&](const Action& x) { return *x.value >> (8 * (i - x.first)) & 0xff; };
        out.same &= a.stores && b.stores && a.value && b.value && left(a) == left(b);
    }
    return out;
}

std::string kind_of(const Action& a, const Action& b) {
    return !b.stores ? "read-after-write" : a.stores ? "write-after-write" : "write-after-read";
}

// CTAs that run at the same time, and are compared at their ends.
TEST(GridRaces, OfEachPairOfAccesses) {
    for (const Action& a : actions)
        for (const Action& b : actions) {
            const Meeting m = meeting_of(a, b);
            Lines said;
            if (m.bytes != 0)
                said = {(m.same ? "~3 " : "3 ") + kind_of(a, b) + " 2, " +
                        std::to_string(__builtin_popcount(m.bytes)) + " at " +
                        std::to_string(0x10040 + __builtin_ctz(m.bytes))};
            EXPECT_EQ(brief::said(body_of(a, b, false),
                                  {.checks = "race-global", .block = 1, .grid = 2}, {.at = true}),
                      said)
                << a.text << " " << b.text;
        }
}

// CTAs that may order one another run one after another: the same races.
TEST(GridRaces, OfEachPairWhereCtasMayOrderEachOther) {
    const auto expect = [](const Action& a, const Action& b) {
        const Meeting m = meeting_of(a, b);
        Lines said;
        if (m.bytes != 0) said = {(m.same ? "~3 " : "3 ") + kind_of(a, b) + " 2"};
        EXPECT_EQ(
            brief::said(body_of(a, b, true), {.checks = "race-global", .block = 1, .grid = 2}),
            said)
            << a.text << " " << b.text;
    };
    for (const Action& a : actions) {
        for (const Action& b : actions) expect(a, b);
        expect(a, strong_load);
        expect(strong_load, a);
    }
}

// Whether all that store to a byte that `c` stores to leave the same there.
bool leave_the_same(const Action& a, const Action& b, const Action& c) {
    for (uint32_t i = c.first; i < c.first + c.bytes; ++i)
        for (const Action* x : {&a, &b}) {
            if (i < x->first || i >= x->first + x->bytes) continue;
            const auto left = [&](const Action& y) {
                return *y.value >> (8 * (i - y.first)) & 0xff;
            };
            if (!x->value || !c.value || left(*x) != left(c)) return false;
        }
    return true;
}

// A matrix's elements are not looked at, and so no byte of them is the same.
TEST(GridRaces, OfAMatrixThatIsStored) {
    for (const std::string byte : {"64", "65", "67"})
        EXPECT_EQ(brief::said("mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0; "
                              "setp.lt.u32 %p2, %r1, %r10; mov.f32 %f1, 0f3f818201;\n"
                              "@%p1 wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1+64], "
                              "{%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};\n"
                              "@%p2 st.global.u8 [%rd1+" +
                                  byte + "], 0;",
                              {.checks = "race-global", .block = 32, .grid = 2}),
                  Lines{"3 write-after-write 2"});
}

// Of whole pages of the shadow memory, too, that one CTA only writes and another only reads.
TEST(GridRaces, OfWholePages) {
    const std::string store = "st.global.u32 [%rd10], %r10;", load = "ld.global.u32 %r12, [%rd10];";
    for (const auto& [first, second, kind] :
         {std::tuple(store, store, "write-after-write"),
          std::tuple(store, load, "read-after-write"), std::tuple(load, store, "write-after-read"),
          std::tuple(load, load, "")})
        EXPECT_EQ(brief::said("mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0; "
                              "mul.wide.u32 %rd10, %r1, 4; add.u64 %rd10, %rd1, %rd10;\n@%p1 " +
                                  first + "\n@!%p1 " + second,
                              {.checks = "race-global", .block = 256, .grid = 2}),
                  *kind == 0 ? Lines{} : Lines{"3 " + std::string(kind) + " 2"})
            << first << second;
}

// Three CTAs: the third races with somebody where it does with one of the first two.
TEST(GridRaces, OfThreeCtas) {
    for (const Action& a : actions)
        for (const Action& b : actions)
            for (const Action& c : actions) {
                const std::string body =
                    std::string(
                        "mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0;"
                        "setp.eq.u32 %p2, %r10, 1; setp.eq.u32 %p3, %r10, 2;\n@%p1 ") +
                    a.text + "\n@%p2 " + b.text + "\n@%p3 " + c.text;
                bool first = false, third = false;
                for (const std::string& line :
                     brief::said(body, {.checks = "race-global", .block = 1, .grid = 3})) {
                    const bool of_third = line.find('4') != std::string::npos;
                    (of_third ? third : first) = true;
                    if (of_third && a.stores && b.stores && c.stores) {
                        EXPECT_EQ(line[0] == '~', leave_the_same(a, b, c)) << body;
                    }
                }
                EXPECT_EQ(first, meeting_of(a, b).bytes != 0) << body;
                EXPECT_EQ(third, (meeting_of(a, c).bytes | meeting_of(b, c).bytes) != 0) << body;
            }
}

// A weak store that a strong one came over still races with strong accesses, byte by byte.
TEST(GridRaces, OfAWeakStoreUnderAStrongOne) {
    const auto of = [](const std::string& weak, const std::string& strong,
                       const std::string& load) {
        return brief::said(
            "mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 1;"
            "setp.eq.u32 %p3, %r10, 2;\n@%p1 st.global." +
                weak + "\n@%p2 st.relaxed.gpu.global." + strong + "\n@%p3 ld.relaxed.gpu.global." +
                load + "\n",
            {.checks = "race-global", .block = 1, .grid = 3});
    };
    const std::string word = "u32 [%rd1+64], 9;", load_word = "u32 %r12, [%rd1+64];";
    const Lines both{"3 write-after-write 2", "4 read-after-write 2"};
    EXPECT_EQ(of(word, "u32 [%rd1+64], 8;", load_word), both);
    for (int i = 0; i < 4; ++i) {
        const std::string at = "[%rd1+" + std::to_string(64 + i) + "]";
        EXPECT_EQ(of(word, "u32 [%rd1+64], 8;", "u8 %r12, " + at + ";"), both) << i;
        EXPECT_EQ(of("u8 " + at + ", 9;", "u32 [%rd1+64], 8;", load_word), both) << i;
        EXPECT_EQ(of("u8 " + at + ", 9;", "u8 " + at + ", 8;", "u8 %r12, " + at + ";"), both) << i;
        for (int other = 0; other < 4; ++other)
            EXPECT_EQ(of("u8 " + at + ", 9;", "u32 [%rd1+64], 8;",
                         "u8 %r12, [%rd1+" + std::to_string(64 + other) + "];")
                          .front(),
                      both.front())
                << i << other;
    }
}

// Words side by side of one access, of which one was read before and the next was not: of the next
// one CTA reads a byte, and another stores one that nobody has read.
TEST(GridRaces, OfWordsWithOtherPasts) {
    EXPECT_EQ(
        brief::said("mov.u32 %r10, %ctaid.x; setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 1;"
                    "setp.eq.u32 %p3, %r10, 2; setp.eq.and.u32 %p4, %r1, 0, %p1;"
                    "mov.f32 %f1, 0f00000000;\n"
                    "@%p4 ld.global.u32 %r12, [%rd1];\n"
                    "@%p1 wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1, %f1, "
                    "%f1, %f1, %f1, %f1, %f1, %f1};\n"
                    "@%p2 ld.global.u8 %r12, [%rd1+4];\n"
                    "@%p3 st.relaxed.gpu.global.u8 [%rd1+7], %r1;\n",
                    {.checks = "race-global", .block = 32, .grid = 3}),
        (Lines{"4 read-after-write 3", "5 write-after-write 3"}));
}

// Of several CTAs: what any of them did, a grid of two dimensions, and the lanes and counts.
TEST(GridRaces, OfManyCtas) {
    const std::string store = "st.global.u32 [%rd3], %r10;\n",
                      load = "ld.global.u32 %r12, [%rd3];\n";
    const auto of = [](const std::string& body, uint32_t grid) {
        return brief::said("mov.u32 %r10, %ctaid.x;\n" + body,
                           {.checks = "race-global", .block = 32, .grid = grid},
                           {.lanes = true, .at = true, .count = true});
    };
    EXPECT_EQ(of(store, 1), Lines{});
    EXPECT_EQ(of(load, 3), Lines{});
    EXPECT_EQ(of(store, 2),
              Lines{"2 write-after-write 2, ffffffff ffffffff, 4 at 65536, 32 times"});
    EXPECT_EQ(of(store, 4),
              Lines{"2 write-after-write 2, ffffffff ffffffff, 4 at 65536, 96 times"});
    EXPECT_EQ(
        of("mad.lo.u32 %r13, %r10, 128, 0; cvt.u64.u32 %rd10, %r13; add.u64 %rd3, %rd3, %rd10;\n" +
               store,
           4),
        Lines{});
    // The first CTA reads, the second does nothing, the third stores.
    EXPECT_EQ(
        of("setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 2;\n@%p1 " + load + "@%p2 " + store,
           3),
        Lines{"4 write-after-read 3, ffffffff ffffffff, 4 at 65536, 32 times"});
    EXPECT_EQ(
        of("setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 2;\n@%p2 " + load + "@%p1 " + store,
           3),
        Lines{"3 read-after-write 4, ffffffff ffffffff, 4 at 65536, 32 times"});
    // Pages that all read, and of which one CTA then writes a word.
    const std::string page =
        "mov.u32 %r14, 0;\nL: ld.global.u32 %r12, [%rd3]; add.u64 %rd3, %rd3, 128;"
        "add.u32 %r14, %r14, 1; setp.lt.u32 %p3, %r14, 256; @%p3 bra L;\n";
    EXPECT_EQ(of(page, 3), Lines{});
    for (const int who : {0, 1, 2})
        EXPECT_EQ(of(page + "setp.eq.u32 %p1, %r10, " + std::to_string(who) +
                         ";\n@%p1 st.global.u32 [%rd1+8192], 5;\n",
                     3),
                  who == 2 ? Lines{"5 write-after-read 3, ffffffff ffffffff, 4 at 73728"}
                           : Lines{"3 read-after-write 5, ffffffff ffffffff, 4 at 73728, 2 times"})
            << who;
}

// Each CTA stores a word, and the last to count itself reads them all: as many pairs of CTAs as
// would take minutes if what each tells were looked through anew by each.
TEST(GridRaces, OfTheLastOfManyCtas) {
    constexpr uint32_t ctas = 1500;
    const auto of = [&](const std::string& fence, const std::string& fence_of_last) {
        return brief::said(
            "mov.u32 %r10, %ctaid.x; mul.wide.u32 %rd10, %r10, 4; add.u64 %rd10, %rd10, %rd1;\n"
            "st.global.u32 [%rd10+1024], %r10;\n" +
                fence + "atom.global.add.u32 %r11, [%rd1], 1; setp.ne.u32 %p1, %r11, " +
                std::to_string(ctas - 1) + "; @%p1 bra END;\n" + fence_of_last +
                "add.u64 %rd11, %rd1, 1024; mov.u32 %r12, 0;\n"
                "L: ld.global.u32 %r13, [%rd11];\n"
                "add.u64 %rd11, %rd11, 4; add.u32 %r12, %r12, 1; setp.lt.u32 %p2, %r12, " +
                std::to_string(ctas) + "; @%p2 bra L;\nEND:",
            {.checks = "race-global", .block = 1, .grid = ctas});
    };
    EXPECT_EQ(of("membar.gl; ", "membar.gl; "), Lines{});
    EXPECT_EQ(of("membar.gl; ", ""), Lines{"~5 read-after-write 2"});
    EXPECT_EQ(of("", "membar.gl; "), Lines{"5 read-after-write 2"});
    EXPECT_EQ(of("membar.cta; ", "membar.gl; "), Lines{"5 read-after-write 2"});
}

// A word that very many CTAs read, and that one of them then stores to.
TEST(GridRaces, OfAWordThatManyCtasRead) {
    constexpr uint32_t ctas = 2000;
    const auto of = [&](const std::string& behind, uint32_t who) {
        return brief::said(
            "ld.global.u32 %r12, [%rd1+64];\n" + behind +
                "atom.acq_rel.gpu.global.add.u32 %r11, [%rd1], 1; setp.ne.u32 %p1, %r11, " +
                std::to_string(who) + "; @%p1 bra END;\nst.global.u32 [%rd1+64], 1;\nEND:",
            {.checks = "race-global", .block = 1, .grid = ctas});
    };
    const std::string again = "ld.global.u32 %r12, [%rd1+64];\n";
    EXPECT_EQ(of("", ctas - 1), Lines{});
    EXPECT_EQ(of("", ctas - 2), Lines{"1 read-after-write 3"});
    EXPECT_EQ(of(again, ctas - 1), Lines{});
    // Those that do not count themselves are not known to have read before.
    EXPECT_EQ(of("mov.u32 %r10, %ctaid.x; setp.eq.u32 %p2, %r10, 7; @%p2 bra END;\n", ctas - 2),
              Lines{"4 write-after-read 1"});
}

}  // namespace
}  // namespace lockwarp::check::grid_races_test
