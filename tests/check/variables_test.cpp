// SPDX-License-Identifier: Apache-2.0
// Accesses that leave the variable that their address was made from, and those that are wider than
// its alignment.
#include "tests/check/said.hpp"

namespace lockwarp::check::variables_test {
namespace {

using namespace brief;

const std::string two = ".shared .align 4 .b8 a[64]; .shared .align 4 .b8 b[64];";

// Shared variables lie in the order of their first use, which is that of their declarations.
Lines of(const std::string& body, const std::string& outside = two, const Shown& shown = {}) {
    std::string uses;
    for (const char* name : {"first", "d", "a", "b", "v"})
        if (outside.find(" " + std::string(name) + "[") != std::string::npos)
            uses += "mov.u64 %rd3" + std::to_string(5 + uses.size() / 18) + ", " + name + "; ";
    return said(uses + body,
                {.checks = "memory", .block = 32, .outside = outside, .dynamic_shared = 256},
                shown);
}

const Lines beyond{"2 beyond-variable"}, none{};

TEST(Variables, AreLeftAtTheirEnds) {
    const std::string base = "mov.u32 %r10, b; mov.u64 %rd10, 0;\n";
    struct At {
        const char* access;
        bool leaves;
    };
    for (const At& at : std::initializer_list<At>{{"u8 -1", true},
                                                  {"u8 0", false},
                                                  {"u8 63", false},
                                                  {"u8 64", true},
                                                  {"u32 -4", true},
                                                  {"u32 0", false},
                                                  {"u32 60", false},
                                                  {"u32 64", true},
                                                  {"u16 62", false}}) {
        const std::string text = at.access;
        const std::string type = text.substr(0, text.find(' '));
        const std::string to = text.substr(text.find(' ') + 1);
        const std::string load = "ld.shared." + type + " %r11, ";
        // By the register, by the name, and by a sum.
        EXPECT_EQ(of(base + load + "[%r10+" + to + "];"), at.leaves ? beyond : none) << text;
        EXPECT_EQ(of(base + load + "[b+" + to + "];"), at.leaves ? beyond : none) << text;
        EXPECT_EQ(of(base + "add.s32 %r10, %r10, " + to + "; " + load + "[%r10];"),
                  at.leaves ? beyond : none)
            << text;
        EXPECT_EQ(of(base + "st.shared." + type + " [%r10+" + to + "], %r2;"),
                  at.leaves ? beyond : none)
            << text;
        EXPECT_EQ(
            of(base + "red.shared.add.u32 [%r10+" + std::to_string(std::stoi(to) & ~3) + "], 1;"),
            at.leaves ? beyond : none)
            << text;
    }
    // The lanes that do.
    EXPECT_EQ(of("mov.u32 %r10, a; mad.lo.u32 %r11, %r2, 4, %r10;\nst.shared.u32 [%r11+16], 1;",
                 two, {.lanes = true, .at = true}),
              Lines{"2 beyond-variable, fffff000, 4 at 64"});
    EXPECT_EQ(of("mov.u32 %r10, b; mad.lo.u32 %r11, %r2, 4, %r10;\nld.shared.u32 %r12, [%r11+-8];",
                 two, {.lanes = true, .at = true}),
              Lines{"2 beyond-variable, fffc0003, 4 at 56"});
}

// How many threads came with an address of `a` is no address of it.
TEST(Variables, ACountIsNoAddress) {
    EXPECT_EQ(of("mov.u32 %r10, a; mov.u32 %r11, b; setp.ne.u32 %p1, %r10, 0;"
                 "bar.red.popc.u32 %r12, 0, %p1; add.u32 %r11, %r11, %r12;\n"
                 "ld.shared.u32 %r13, [%r11+32];"),
              beyond);
}

TEST(Variables, OfOtherStateSpaces) {
    const std::string globals =
        ".global .align 4 .b8 g[16]; .global .align 4 .b8 h[16]; .const .align 4 .b8 c[16];"
        ".const .align 4 .b8 d[16];";
    EXPECT_EQ(of("mov.u64 %rd10, g;\nld.global.u32 %r10, [%rd10+16];", globals), beyond);
    EXPECT_EQ(of("mov.u64 %rd10, h;\nld.global.u32 %r10, [%rd10+-4];", globals), beyond);
    EXPECT_EQ(of("mov.u64 %rd10, g;\nld.global.u32 %r10, [%rd10+12];", globals), none);
    EXPECT_EQ(of("mov.u64 %rd10, g; cvta.global.u64 %rd10, %rd10;\nst.u32 [%rd10+16], 1;", globals),
              beyond);
    EXPECT_EQ(of("mov.u64 %rd10, c;\nld.const.u32 %r10, [%rd10+16];", globals), none);
    const std::string local = ".local .align 4 .b8 v[16]; .local .align 4 .b8 w[16]; ";
    EXPECT_EQ(of(local + "\nld.local.u32 %r10, [v+16];"), beyond);
    EXPECT_EQ(of(local + "\nld.local.u32 %r10, [w+-4];"), beyond);
    EXPECT_EQ(of(local + "\nld.local.u32 %r10, [v+12];"), none);
    // Where there are frames of functions, or alloca, a name is no one place.
    const std::string f = ".func f() { ret; } ";
    EXPECT_EQ(of(local + "call f, ();\nld.local.u32 %r10, [v+16];", f), none);
    EXPECT_EQ(of(local + "\nld.local.u32 %r10, [v+16];", f), beyond);
    EXPECT_EQ(of(local + "alloca.u64 %rd10, 16;\nld.local.u32 %r10, [v+16];"), none);
    // An address that is of another space is of nobody.
    EXPECT_EQ(of(local + "mov.u32 %r10, a; mov.u64 %rd10, v; cvt.u64.u32 %rd11, %r10;"
                         "sub.u64 %rd12, %rd10, %rd11; add.u64 %rd12, %rd12, %rd11;\n"
                         "ld.local.u32 %r11, [%rd12+16];"),
              none);
    EXPECT_EQ(of("mov.u32 %r10, a; mul.wide.u32 %rd10, %r10, 0; add.u64 %rd10, %rd10, %rd3;\n"
                 "ld.global.u32 %r11, [%rd10+128];"),
              none);
}

TEST(Variables, AreThoseThatRegistersComeFrom) {
    const std::string ends = "\nst.shared.u32 [%r10+64], 1;";
    EXPECT_EQ(of("mov.u32 %r10, a;" + ends), beyond);
    EXPECT_EQ(of("mov.u32 %r11, a; mov.u32 %r10, %r11;" + ends), beyond);
    EXPECT_EQ(of("mov.u32 %r11, a; mov.u32 %r12, 0; add.u32 %r10, %r12, %r11;" + ends), beyond);
    EXPECT_EQ(of("mov.u32 %r11, a; mad.lo.u32 %r10, 0, 4, %r11;" + ends), beyond);
    // The second of two results.
    EXPECT_EQ(
        of("mov.u32 %r11, a; mov.b64 %rd10, {%r2, %r11}; mov.b64 {%r12, %r10}, %rd10;" + ends),
        beyond);
    // Whatever the order in which they run.
    EXPECT_EQ(of("mov.u32 %r12, 0; bra B; A:" + ends +
                 "\nbra C; B: mov.u32 %r11, a; D: mov.u32 %r10, %r11; bra A; C:"),
              beyond);
    EXPECT_EQ(of("mov.u32 %r11, a; bra B; A:" + ends +
                 "\nbra C; D: mov.u32 %r10, %r12; bra A; B: mov.u32 %r12, %r11; bra D; C:"),
              beyond);
    // Of two of them it may be either.
    EXPECT_EQ(of("mov.u32 %r11, a; mov.u32 %r12, b; setp.lt.u32 %p1, %r2, 20;"
                 "selp.u32 %r10, %r11, %r12, %p1;" +
                 ends),
              none);
    EXPECT_EQ(of("mov.u32 %r11, a; mov.u32 %r12, a; setp.lt.u32 %p1, %r2, 20;"
                 "selp.u32 %r10, %r11, %r12, %p1;" +
                 ends),
              beyond);
    EXPECT_EQ(of("mov.u32 %r10, a; setp.lt.u32 %p1, %r2, 40; @!%p1 mov.u32 %r10, b;" + ends), none);
    // What memory, another lane or a function gives is none's.
    EXPECT_EQ(of("mov.u32 %r11, a; st.shared.u32 [b], %r11; ld.shared.u32 %r10, [b];" + ends),
              none);
    EXPECT_EQ(of("mov.u32 %r11, a; shfl.sync.idx.b32 %r10, %r11, 0, 31, -1;" + ends), none);
    EXPECT_EQ(of("ld.shared.u32 %r12, [b]; mov.u32 %r12, 0; mov.u32 %r11, a;"
                 "ld.shared.u32 %r13, [b]; and.b32 %r13, %r13, 0; add.u32 %r10, %r11, %r13;" +
                 ends),
              beyond);
    EXPECT_EQ(of("mov.u32 %r11, b; atom.shared.add.u32 %r13, [%r11], 0; and.b32 %r13, %r13, 0;"
                 "mov.u32 %r12, a; add.u32 %r10, %r12, %r13;" +
                 ends),
              beyond);
    // A constant is none of those that are followed.
    EXPECT_EQ(
        of("mov.u32 %r11, a; mov.u64 %rd10, c; cvt.u32.u64 %r12, %rd10; and.b32 %r12, %r12, 0;"
           "add.u32 %r10, %r11, %r12;" +
               ends,
           two + " .const .align 4 .b8 c[16];"),
        beyond);
    // Names of several variables in one, each in a block of its own.
    EXPECT_EQ(of("{ .shared .align 4 .b8 x[64]; mov.u32 %r10, x; }\nst.shared.u32 [%r10+64], 1;"),
              beyond);
    EXPECT_EQ(of("{ .shared .align 4 .b8 x[64]; mov.u32 %r10, x; } { .shared .align 4 .b8 x[64];"
                 "mov.u32 %r10, x; }\nst.shared.u32 [%r10+64], 1;"),
              none);
}

// What is dynamic has all that the launch gives.
TEST(Variables, WithoutASize) {
    const std::string dynamic = ".extern .shared .align 16 .b8 d[];" + two;
    EXPECT_EQ(of("mov.u32 %r10, d;\nst.shared.u32 [%r10+252], 1;", dynamic), none);
    EXPECT_EQ(of("mov.u32 %r10, d;\nst.shared.u32 [%r10+-4], 1;", dynamic), beyond);
    EXPECT_EQ(of("mov.u32 %r10, tile;\nst.shared.u32 [%r10+4096], 1;", dynamic), beyond);
    EXPECT_EQ(of("mov.u32 %r10, a;\nst.shared.u32 [%r10+64], 1;", dynamic), beyond);
}

TEST(Variables, AlignedByLuck) {
    const auto luck = [](const std::string& declared, const std::string& access) {
        return of("mov.u32 %r10, v;\n" + access, ".shared .align 128 .b8 first[128]; " + declared);
    };
    const Lines narrow{"~2 aligned-by-luck"};
    for (unsigned alignment = 1; alignment <= 32; alignment *= 2)
        for (const auto& [access, bytes] :
             {std::pair{"ld.shared.u8 %r11, [%r10];", 1u},
              {"ld.shared.u16 %r11, [%r10];", 2u},
              {"ld.shared.u32 %r11, [%r10];", 4u},
              {"ld.shared.u64 %rd11, [%r10];", 8u},
              {"ld.shared.v2.u32 {%r11, %r12}, [%r10];", 8u},
              {"ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r10];", 16u},
              {"red.shared.add.u32 [%r10], 1;", 4u}})
            EXPECT_EQ(luck(".shared .align " + std::to_string(alignment) + " .b8 v[64];", access),
                      bytes > alignment ? narrow : none)
                << alignment << access;
    // An element's own alignment, and a vector's.
    EXPECT_EQ(luck(".shared .b64 v[8];", "ld.shared.u64 %rd11, [%r10];"), none);
    EXPECT_EQ(luck(".shared .b32 v[8];", "ld.shared.u64 %rd11, [%r10];"), narrow);
    EXPECT_EQ(luck(".shared .v4 .b32 v[8];", "ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r10];"),
              none);
    EXPECT_EQ(luck(".shared .v2 .b32 v[8];", "ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r10];"),
              narrow);
    EXPECT_EQ(luck(".shared .align 4 .b8 v[64];", "mbarrier.init.shared.b64 [%r10], 1;"), none);
    // What leaves it is said alone.
    EXPECT_EQ(luck(".shared .align 4 .b8 v[64];", "ld.shared.u64 %rd11, [%r10+64];"), beyond);
}

TEST(Variables, InWords) {
    const Shown words{.message = true};
    EXPECT_EQ(
        of("mov.u32 %r10, a;\nst.shared.u32 [%r10+68], 1;", two, words),
        Lines{"2 beyond-variable: stores to byte 68 of a, which has 64: that is byte 4 of b"});
    EXPECT_EQ(of("mov.u32 %r10, b;\nld.shared.u32 %r11, [%r10+-8];", two, words),
              Lines{"2 beyond-variable: reads 8 bytes before b: that is byte 56 of a"});
    EXPECT_EQ(of("mov.u32 %r10, tile;\nld.shared.u32 %r11, [%r10+4096];", two, words),
              Lines{"2 beyond-variable: reads byte 4096 of tile, which has 4096"});
    EXPECT_EQ(of("mov.u32 %r10, a;\nld.shared.u64 %rd11, [%r10];", two, words),
              Lines{"~2 aligned-by-luck: accesses 8 bytes at once of a, which is declared with an "
                    "alignment of 4"});
    // Of its own state space: shared memory begins at byte 1024.
    EXPECT_EQ(of(".local .align 4 .b8 v[1040]; .local .align 4 .b8 w[16];\n"
                 "st.local.u32 [v+1044], 1;",
                 two, words),
              Lines{"2 beyond-variable: stores to byte 1044 of v, which has 1040: that is byte 4 "
                    "of w"});
}

// As LLVM writes an array of no elements: dynamic shared memory, 256 bytes behind the 16 of `v`.
TEST(Variables, AScalarAlignedBeyondItsSizeIsTheDynamicMemory) {
    const auto at = [](const std::string& declared, const std::string& offset) {
        return said("mov.u64 %rd10, v;\nld.shared.u32 %r11, [%rd10+" + offset + "];",
                    {.checks = "memory", .block = 32, .outside = declared, .dynamic_shared = 256});
    };
    const std::string demoted = ".shared .align 16 .b8 v;";
    EXPECT_EQ(at(demoted, "0"), none);
    EXPECT_EQ(at(demoted, "252"), none);
    for (const char* const other : {".shared .align 16 .b8 v[1];", ".shared .align 4 .b32 v;"})
        EXPECT_EQ(at(other, "252"), beyond) << other;
    // Where there is no dynamic memory it is a scalar.
    EXPECT_EQ(said("mov.u64 %rd10, v;\nld.shared.u32 %r11, [%rd10+16];",
                   {.checks = "memory",
                    .outside = ".shared .align 16 .b32 v; .shared .align 16 .b8 w[64];"}),
              beyond);
}

}  // namespace
}  // namespace lockwarp::check::variables_test
