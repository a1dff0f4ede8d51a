// SPDX-License-Identifier: Apache-2.0
// Accesses that leave a row of a matrix for the next one: which row lanes and loops mean.
#include "tests/check/said.hpp"

namespace lockwarp::check::rows_test {
namespace {

using namespace brief;

constexpr uint64_t out_at = 0x10000, in_at = 0x40000;

// Rows of 20 words.
Shape matrix(uint64_t stride = 20, uint64_t rows = 40, uint64_t address = out_at) {
    return {address, 4, {rows, 20}, stride};
}

struct How {
    uint32_t warps = 1, ctas = 1;
    std::vector<Shape> shapes{matrix()};
    Shown shown{.lanes = true, .at = true, .count = true};
};

Lines of(const std::string& body, const How& how = {}) {
    return said(
        body, {.checks = "memory", .block = 32 * how.warps, .grid = how.ctas, .shapes = how.shapes},
        how.shown);
}

const Lines none{};

// Lane l of warp w accesses word begin + l * step, begin being `row` words behind that of the warp
// before. On line 2.
std::string lanes(const std::string& access, int row, int step, const std::string& which = "%r3",
                  int begin = 0) {
    return "mul.wide.s32 %rd10, " + which + ", " + std::to_string(4 * row) +
           "; mul.wide.s32 %rd11, %r2, " + std::to_string(4 * step) +
           "; add.s64 %rd10, %rd10, %rd11; add.s64 %rd10, %rd10, " + std::to_string(4 * begin) +
           "; add.s64 %rd10, %rd10, %rd1;\n" + access;
}

const std::string store = "st.global.u32 [%rd10], 1;";

TEST(Rows, AreMeantByLanes) {
    const How two{.warps = 2};
    EXPECT_EQ(of(lanes(store, 20, 1), two), Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes("red.global.add.u32 [%rd10], 1;", 20, 1), two),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes("atom.global.add.u32 %r10, [%rd10], 1;", 20, 1), two),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes("ld.global.u32 %r10, [%rd10];", 20, 1), two),
              Lines{"~2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes("st.global.u64 [%rd10], 1;", 20, 2), two),
              Lines{"2 beyond-row, 400, 8 at 65616, 10 times"});
    EXPECT_EQ(of(lanes("st.global.u8 [%rd10], 1;", 20, 1), two),
              Lines{"2 beyond-row, 100000, 1 at 65616, 12 times"});
    // At a distance below the length of a row, which is the same for all.
    EXPECT_EQ(of(lanes(store, 20, 10), two), Lines{"2 beyond-row, 4, 4 at 65616, 2 times"});
    EXPECT_EQ(of(lanes(store, 20, 19), {.warps = 2}), Lines{"2 beyond-row, 4, 4 at 65688"}) << "";
    EXPECT_EQ(of(lanes(store, 20, 20), two), none);
    EXPECT_EQ(of(lanes(store, 20, 0), two), none);
    EXPECT_EQ(of(lanes(store, 20, -1, "%r3", 40), two), none);
    EXPECT_EQ(of("setp.lt.u32 %p1, %r2, 19; selp.u32 %r10, 0, 1, %p1; add.u32 %r2, %r2, %r10;" +
                     lanes(store, 20, 1),
                 two),
              none);
    EXPECT_EQ(of("setp.lt.u32 %p1, %r2, 17; selp.u32 %r10, 0, 1, %p1; add.u32 %r2, %r2, %r10;" +
                     lanes(store, 20, 1),
                 two),
              Lines{"2 beyond-row, 80000, 4 at 65616, 13 times"});
    // A lane side by side with the one before, but not at the distance of those before it.
    EXPECT_EQ(of("mad.lo.u32 %r10, %r2, 2, 17; min.u32 %r10, %r10, 20; mul.wide.u32 %rd10, %r10, 4;"
                 "add.u64 %rd10, %rd10, %rd1;\n" +
                 store),
              none);
    // The next row is meant too, by lanes that go backwards; by two whose words are side by side,
    // with a lane between that accesses another buffer.
    EXPECT_EQ(of("setp.eq.u32 %p1, %r3, 0; sub.u32 %r10, 39, %r2; max.s32 %r10, %r10, 20;"
                 "selp.u32 %r10, %r2, %r10, %p1; mul.wide.u32 %rd10, %r10, 4;"
                 "add.u64 %rd10, %rd10, %rd1;\n" +
                     store,
                 two),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of("setp.eq.u32 %p1, %r3, 0; mad.lo.u32 %r10, %r2, 3, 19; shr.u32 %r11, %r2, 1;"
                 "add.u32 %r11, %r11, 21; selp.u32 %r10, %r10, %r11, %p1; setp.lt.u32 %p2, %r2, 7;"
                 "and.b32 %r12, %r2, 29; setp.eq.u32 %p3, %r12, 0; @!%p1 mov.pred %p2, %p3;"
                 "selp.b64 %rd11, %rd1, %rd2, %p2; mul.wide.u32 %rd10, %r10, 4;"
                 "add.u64 %rd10, %rd10, %rd11;\n" +
                     store,
                 two),
              Lines{"2 beyond-row, 2, 4 at 65624, 6 times"});
    // Lanes of the first row and no others.
    EXPECT_EQ(of("setp.lt.u32 %p1, %r2, 20;" + lanes("@%p1 " + store, 20, 1), two), none);
    EXPECT_EQ(of("setp.ge.u32 %p1, %r2, 20;" + lanes("@%p1 " + store, 20, 1), two), none);
    // A flat array: the rows are not what it means.
    EXPECT_EQ(of(lanes(store, 32, 1), {.warps = 5}), none);
    EXPECT_EQ(of(lanes(store, 32, 1), {.warps = 1}), none);
    EXPECT_EQ(of(lanes(store, 31, 1), {.warps = 2}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
}

TEST(Rows, AreMeantByLoops) {
    const auto loop = [](const std::string& access, int count, int step, const std::string& also) {
        return "mul.wide.u32 %rd10, %r2, 80; add.u64 %rd10, %rd10, %rd1; mov.u32 %r10, 0;\nL: " +
               access + also + " add.u64 %rd10, %rd10, " + std::to_string(4 * step) +
               "; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, " + std::to_string(count) +
               "; @%p1 bra L;";
    };
    EXPECT_EQ(of(loop(store, 20, 1, "")), none);
    EXPECT_EQ(of(loop(store, 21, 1, "")), Lines{"2 beyond-row, 1, 4 at 65616, 31 times"});
    EXPECT_EQ(of(loop("st.global.v2.u32 [%rd10], {%r1, %r1};", 10, 2, "")), none);
    EXPECT_EQ(of(loop("st.global.v2.u32 [%rd10], {%r1, %r1};", 11, 2, "")),
              Lines{"2 beyond-row, 1, 8 at 65616, 31 times"});
    // One lane of each warp.
    for (const uint32_t lane : {0u, 1u, 31u}) {
        const std::string one =
            "mov.u32 %r11, %r2; mov.u32 %r2, %r3; setp.eq.u32 %p3, %r11, " + std::to_string(lane);
        EXPECT_EQ(of(one + ";" + loop("@%p3 " + store, 20, 1, ""), {.warps = 4}), none);
        EXPECT_EQ(of(one + ";" + loop("@%p3 " + store, 21, 1, ""), {.warps = 4}),
                  Lines{"2 beyond-row, " + hex(uint64_t{1} << lane) + ", 4 at 65616, 3 times"});
    }
    // By another distance once it begins anew, and at the length of a row each time.
    EXPECT_EQ(of(loop(store, 20, 1, "setp.eq.u32 %p2, %r10, 18; @%p2 add.u64 %rd10, %rd10, 4;")),
              none);
    EXPECT_EQ(of(loop(store, 3, 20, "")), none);
    EXPECT_EQ(of(loop(store, 20, 1, "setp.eq.u32 %p2, %r10, 10; @%p2 add.u64 %rd10, %rd10, 4;")),
              Lines{"2 beyond-row, 1, 4 at 65616, 31 times"});
    EXPECT_EQ(of("add.u64 %rd1, %rd1, 800;" + loop(store, 20, -1, "")), none);
    EXPECT_EQ(of(loop("atom.global.add.u32 %r11, [%rd10], 1;", 21, 1, "")),
              Lines{"2 beyond-row, 1, 4 at 65616, 31 times"});
    // Each instruction by itself, and each warp.
    EXPECT_EQ(of(loop(store, 21, 1, " st.global.u32 [%rd2], 1; st.global.u32 [%rd1+4], 1;")),
              Lines{"2 beyond-row, 1, 4 at 65616, 31 times"});
    EXPECT_EQ(of("mul.wide.u32 %rd11, %r3, 40;" + loop(store, 21, 1, ""), {.warps = 2}),
              Lines{"2 beyond-row, 1, 4 at 65616, 62 times"});
}

TEST(Rows, WithPaddingBehind) {
    const How padded{.warps = 2, .shapes = {matrix(32)}};
    EXPECT_EQ(of(lanes(store, 32, 1), padded),
              Lines{"~2 beyond-row, 100000, 4 at 65616, 24 times"});
    EXPECT_EQ(of("setp.lt.u32 %p1, %r2, 20;" + lanes("@%p1 " + store, 32, 1), padded), none);
    EXPECT_EQ(of(lanes(store, 64, 2), padded), Lines{"~2 beyond-row, 400, 4 at 65616, 24 times"});
    EXPECT_EQ(of(lanes(store, 32, 2), padded), Lines{"2 beyond-row, 10000, 4 at 65664, 34 times"});
    EXPECT_EQ(of(lanes("ld.global.u32 %r10, [%rd10];", 32, 1), padded),
              Lines{"~2 beyond-row, 100000, 4 at 65616, 24 times"});
    // An access over the end is told by its parts.
    EXPECT_EQ(of("setp.eq.u32 %p1, %r1, 3;\n@%p1 st.global.v4.u32 [%rd1+192], {%r1, %r1, %r1, %r1};"
                 "\n@%p1 st.global.v2.u32 [%rd1+200], {%r1, %r1};",
                 {.shapes = {{out_at, 4, {40, 18}, 32}}}),
              (Lines{"~2 beyond-row, 8, 8 at 65736", "~3 beyond-row, 8, 8 at 65736"}));
}

TEST(Rows, OfSeveralMatrices) {
    const Shape in = matrix(20, 40, in_at);
    const std::string either =
        "and.b32 %r10, %r2, 1; setp.eq.u32 %p1, %r10, 0; shr.u32 %r11, %r2, 1;"
        "mad.lo.u32 %r11, %r3, 10, %r11; mul.wide.u32 %rd10, %r11, 8;"
        "selp.b64 %rd11, %rd1, %rd2, %p1; add.u64 %rd10, %rd10, %rd11;\n" +
        store;
    EXPECT_EQ(of(either, {.warps = 2, .shapes = {matrix(), in}}), none);
    // Behind the last row there is no matrix, nor in front of the first.
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {matrix(20, 1)}}), none);
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {matrix(20, 40, out_at + 160)}}),
              none);
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {matrix(20, 2), in}}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {in, matrix(20, 2)}}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(lanes(store, 20, 1, "%r3", 40),
                 {.warps = 2, .shapes = {in, matrix(20, 20, out_at + 160)}}),
              Lines{"2 beyond-row, 100000, 4 at 65776, 12 times"});
    // What has no rows, or lies in no buffer, is none.
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {{out_at, 4, {800}, 800}}}), none);
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {matrix(20, 40, 0x30000)}}), none);
    EXPECT_EQ(of(lanes(store, 20, 1), {.warps = 2, .shapes = {matrix(20, 40, 0x20000)}}), none);
    // Shared memory has none.
    EXPECT_EQ(of("mad.lo.u32 %r10, %r3, 80, %r5; mad.lo.u32 %r10, %r2, 4, %r10;\n"
                 "st.shared.u32 [%r10], 1;",
                 {.warps = 2, .shapes = {matrix(20, 40, 0x400)}}),
              none);
}

// What the CTAs did is put together, whichever came first.
TEST(Rows, OfSeveralCtas) {
    const std::string ctaid = "mov.u32 %r20, %ctaid.x;";
    EXPECT_EQ(of(ctaid + lanes(store, 20, 1, "%r20"), {.ctas = 2}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(ctaid + lanes(store, 20, 1, "%r20"), {.ctas = 3}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 24 times"});
    EXPECT_EQ(of(ctaid + "and.b32 %r20, %r20, 1;" + lanes(store, 20, 1, "%r20"), {.ctas = 4}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 24 times"});
    EXPECT_EQ(of(ctaid + "xor.b32 %r20, %r20, 1;" + lanes(store, 20, 1, "%r20"), {.ctas = 2}),
              Lines{"2 beyond-row, 100000, 4 at 65616, 12 times"});
    EXPECT_EQ(of(ctaid + lanes(store, 32, 1, "%r20"), {.ctas = 5}), none);
    EXPECT_EQ(of(ctaid + lanes(store, 32, 1, "%r20"), {.ctas = 3, .shapes = {matrix(32)}}),
              Lines{"~2 beyond-row, 100000, 4 at 65616, 36 times"});
}

TEST(Rows, InWords) {
    How how{.warps = 2, .shown = {.message = true}};
    EXPECT_EQ(
        of(lanes(store, 20, 1), how),
        Lines{"2 beyond-row: stores out[0][20]: the row has 20, that is out[1][0], which this "
              "line stores for its own row too"});
    EXPECT_EQ(
        of(lanes("ld.global.u32 %r10, [%rd10];", 20, 10, "%r3", 45), how),
        Lines{"~2 beyond-row: reads out[2][25]: the row has 20, that is out[3][5], which this "
              "line reads for its own row too"});
    how.shapes = {{out_at + 32, 8, {4, 5, 10}, 10}};
    EXPECT_EQ(
        of(lanes("st.global.u64 [%rd10], 1;", 20, 2, "%r3", 108), how),
        Lines{"2 beyond-row: stores out[1][0][10]: the row has 10, that is out[1][1][0], which "
              "this line stores for its own row too"});
    how.shapes = {matrix(32)};
    EXPECT_EQ(of(lanes(store, 32, 1, "%r3", 64), how),
              Lines{"~2 beyond-row: stores out[2][20]: the row has 20, and what follows is no part "
                    "of the matrix"});
}

}  // namespace
}  // namespace lockwarp::check::rows_test
