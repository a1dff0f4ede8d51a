// SPDX-License-Identifier: Apache-2.0
// What cp.async brings may be read by its thread after a wait that covers the copy, and by other
// threads after a barrier behind that; what is there before may be read until then (PTX manual,
// "Data Movement and Conversion Instructions: Asynchronous copy").
#include "tests/check/said.hpp"

namespace lockwarp::check::copies_test {
namespace {

using namespace brief;

void expect(std::initializer_list<Row> rows, const Shown& shown = {}) {
    expect_each("sync", rows, shown);
}

const std::string copy = "cp.async.ca.shared.global [%r6], [%rd4], 4;\n";
const std::string wait = "cp.async.wait_all;\n";
const std::string commit = "cp.async.commit_group;\n";
const std::string bar = "bar.sync 0;\n";
const std::string own = "ld.shared.u32 %r10, [%r6];\n";
const std::string others = "ld.shared.u32 %r10, [%r7];\n";
const std::string first_warp = "setp.eq.u32 %p1, %r3, 0;\n";

TEST(Copies, AreReadBehindTheWaitThatCoversThem) {
    const std::string next = "cp.async.ca.shared.global [%r6+1024], [%rd4], 4;\n";
    const std::string next_own = "ld.shared.u32 %r10, [%r6+1024];\n";
    expect({
        {copy, {"~1 copy-pending"}},
        {copy + commit, {"~1 copy-pending"}},
        {copy + own, {"2 copy-not-awaited 1"}},
        {copy + commit + own, {"3 copy-not-awaited 1"}},
        {copy + wait + own, {}},
        {copy + commit + wait + own, {}},
        {copy + commit + "cp.async.wait_group 0;\n" + own, {}},
        {copy + commit + "cp.async.wait_group 1;\n" + own, {"4 copy-not-awaited 1"}},
        {copy + "cp.async.wait_group 0;\n" + own, {"3 copy-not-awaited 1"}},
        {copy + commit + next + commit + "cp.async.wait_group 1;\n" + own, {"~3 copy-pending"}},
        {copy + commit + next + commit + "cp.async.wait_group 1;\n" + next_own,
         {"6 copy-not-awaited 3"}},
        {copy + commit + next + commit + "cp.async.wait_group 2;\n" + own + next_own + wait,
         {"6 copy-not-awaited 1", "7 copy-not-awaited 3"}},
        {copy + commit + next + "cp.async.wait_group 0;\n" + own + next_own,
         {"6 copy-not-awaited 3"}},
    });
}

TEST(Copies, AreReadByOthersBehindABarrier) {
    expect({
        // Warp 0 reads what warp 1 has not copied yet, warp 1 what warp 0 has waited for.
        {copy + wait + others, {"3 copy-no-barrier 1", "3 copy-too-early 1"}},
        {copy + wait + bar + others, {}},
        {copy + bar + wait + own, {}},
        {copy + bar + wait + others, {"4 copy-not-awaited 1", "4 copy-no-barrier 1"}},
        {copy + bar + others + wait, {"3 copy-not-awaited 1", "3 copy-no-barrier 1"}},
        // What a thread's own store puts there is no copy's any more.
        {copy + wait + bar + "st.shared.u32 [%r6], 1;\n" + bar + others, {}},
        {copy + wait + bar + "st.shared.u32 [%r6], 1;\n" + others, {}},
        {first_warp + "@%p1 " + copy + wait + "@%p1 st.shared.u32 [%r6], 1;\n@!%p1 " + others, {}},
    });
}

// A flag and an mbarrier stand for a barrier of the CTA.
TEST(Copies, AreReadByThoseWhoWereTold) {
    const auto of = [&](const std::string& tells, const std::string& waits) {
        return brief::said(
            "setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [tile+3072], 32; bar.sync "
            "0;\n" +
                first_warp + "@!%p1 bra SECOND;\n" + copy + wait + tells + " bra END;\nSECOND:\n" +
                waits + "\n" + others + "END:\n",
            {.checks = "sync"});
    };
    const Lines early{"9 copy-no-barrier 4"};
    EXPECT_EQ(of("", ""), Lines{"9 copy-too-early 4"});
    const std::string tells = "st.release.cta.shared.u32 [%r5+2048], 1;";
    EXPECT_EQ(of("bar.arrive 1, 64;", "bar.sync 1, 64;"), Lines{});
    EXPECT_EQ(of("mbarrier.arrive.shared.b64 %rd20, [tile+3072];",
                 "W: mbarrier.try_wait.parity.shared.b64 %p4, [tile+3072], 0; @!%p4 bra W;"),
              Lines{});
    const std::string poll =
        "W: ld.acquire.cta.shared.u32 %r12, [%r5+2048];"
        "setp.eq.u32 %p4, %r12, 0; @%p4 bra W;";
    EXPECT_EQ(of(tells, poll), Lines{});
    std::string relaxed = poll;
    relaxed.replace(relaxed.find("acquire"), 7, "relaxed");
    EXPECT_EQ(of(tells, relaxed), early);
}

TEST(Copies, OfARunThatTraps) {
    EXPECT_EQ(brief::said(copy + "trap;\n", {.checks = "sync", .traps = true}), Lines{});
}

// Copies to words 1 to 2 of the array, by one lane.
TEST(Copies, OfTheWordsThatTheyBring) {
    const std::string one =
        "setp.eq.u32 %p1, %r1, 5;\n@%p1 cp.async.ca.shared.global [%r5+8], [%rd2], 8;\n";
    struct At {
        const char* access;
        bool meets;
    };
    for (const At& at : std::initializer_list<At>{{"u8 ADDRESS+7", false},
                                                  {"u8 ADDRESS+8", true},
                                                  {"u8 ADDRESS+15", true},
                                                  {"u8 ADDRESS+16", false},
                                                  {"u32 ADDRESS+4", false},
                                                  {"u32 ADDRESS+8", true},
                                                  {"u32 ADDRESS+12", true},
                                                  {"u32 ADDRESS+16", false},
                                                  {"u64 ADDRESS", false},
                                                  {"u64 ADDRESS+8", true},
                                                  {"u64 ADDRESS+16", false}}) {
        const std::string text = at.access;
        const std::string type = text.substr(0, text.find(' '));
        const std::string address = "[%r5" + text.substr(text.find("SS") + 2) + "]";
        const std::string reg = type == "u64" ? "%rd10" : "%r10";
        const Lines pending{"~2 copy-pending"};
        EXPECT_EQ(brief::said(one + "@%p1 ld.shared." + type + " " + reg + ", " + address + ";\n",
                              {.checks = "sync"}),
                  at.meets ? Lines{"3 copy-not-awaited 2"} : pending)
            << text;
        const Lines both = at.meets ? Lines{"3 copy-overwritten 2", "~2 copy-pending"} : pending;
        EXPECT_EQ(brief::said(one + "mov.u64 %rd10, 0; mov.u32 %r10, 0;" + "@%p1 st.shared." +
                                  type + " " + address + ", " + reg + ";\n",
                              {.checks = "sync"}),
                  both)
            << text;
    }
    expect({{one + "@%p1 ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5];\n",
             {"3 copy-not-awaited 2, 20 20, 16 at 8"}}},
           {.lanes = true, .at = true});
}

TEST(Copies, IntoWhatAnotherMayStillBeWriting) {
    const std::string same = copy;
    const std::string different = "cp.async.ca.shared.global [%r6], [%rd4+512], 4;\n";
    const std::string zeros = "cp.async.ca.shared.global [%r6], [%rd4], 4, 0;\n";
    expect({
        {copy + same + wait, {}},  // the same bytes
        {copy + different + wait, {"2 copy-overwritten 1"}},
        {copy + wait + different + wait, {}},
        {copy + zeros + wait, {"2 copy-overwritten 1"}},
        {zeros + zeros + wait, {}},
        {zeros + copy + wait, {"2 copy-overwritten 1"}},
        {copy + "st.shared.u32 [%r6], 1;\n" + wait, {"2 copy-overwritten 1"}},
        {copy + wait + "st.shared.u32 [%r6], 1;\n", {}},
        {copy + wait +
             "cp.async.ca.shared.global [%r6+1024], [%rd4], 4;\n"
             "st.shared.u32 [%r6], 1;\n" +
             wait,
         {}},
        // Each word of a copy has its word of the source.
        {"cp.async.ca.shared.global [%r5], [%rd2], 16;\n"
         "cp.async.ca.shared.global [%r5+4], [%rd2+4], 4;\n" +
             wait,
         {}},
        {"cp.async.ca.shared.global [%r5], [%rd2], 16;\n"
         "cp.async.ca.shared.global [%r5+4], [%rd2+8], 4;\n" +
             wait,
         {"2 copy-overwritten 1"}},
    });
}

// Stores to where copies come from: of two copies, by one lane, the one that is meant.
TEST(Copies, WhoseSourceChanges) {
    const std::string two =
        "setp.eq.u32 %p1, %r1, 33;\n"
        "@%p1 cp.async.ca.shared.global [%r5], [%rd2+256], 16;\n"
        "@%p1 cp.async.ca.shared.global [%r5+64], [%rd2+1024], 16;\n"
        "@%p1 cp.async.ca.shared.global [%r5+128], [%rd2+2048], 16, 8;\n"
        "@%p1 cp.async.ca.shared.global [%r5+256], [%rd2+4096], 16, 0;\n";
    struct At {
        const char* store;
        int line;  // of the copy; 0: none
    };
    for (const At& at : std::initializer_list<At>{{"u32 [%rd2+252]", 0},
                                                  {"u64 [%rd2+248]", 0},
                                                  {"u8 [%rd2+255]", 0},
                                                  {"u8 [%rd2+256]", 2},
                                                  {"u32 [%rd2+256]", 2},
                                                  {"u32 [%rd2+268]", 2},
                                                  {"u8 [%rd2+271]", 2},
                                                  {"u8 [%rd2+272]", 0},
                                                  {"u32 [%rd2+512]", 0},
                                                  {"u8 [%rd2+1023]", 0},
                                                  {"u8 [%rd2+1024]", 3},
                                                  {"u8 [%rd2+1039]", 3},
                                                  {"u8 [%rd2+1040]", 0},
                                                  {"u8 [%rd2+2047]", 0},
                                                  {"u8 [%rd2+2055]", 4},
                                                  {"u8 [%rd2+2056]", 0},
                                                  {"u32 [%rd2+4096]", 0},
                                                  {"u32 [%rd1+256]", 0}}) {
        const std::string text = at.store;
        const std::string store =
            "@%p1 st.global." + text + ", " + (text.starts_with("u64") ? "%rd10" : "%r10") + ";\n";
        const std::string values = "mov.u64 %rd10, 0; mov.u32 %r10, 0;";
        EXPECT_EQ(
            brief::said(two + values + store + wait, {.checks = "sync"}),
            at.line == 0 ? Lines{} : Lines{"6 copy-source-changed " + std::to_string(at.line)})
            << text;
        EXPECT_EQ(brief::said(two + wait + values + store, {.checks = "sync"}), Lines{}) << text;
        // A load changes nothing.
        EXPECT_EQ(
            brief::said(two + "@%p1 ld.global.u32 %r10, [%rd2+256];\n" + wait, {.checks = "sync"}),
            Lines{});
    }
    // Of lanes that fetch, and beside them of others that fill with zeros.
    const std::string some =
        "setp.lt.u32 %p1, %r2, 16; selp.u32 %r20, 0, 4, %p1;"
        "cp.async.ca.shared.global [%r6], [%rd4], 4, %r20;\n";
    expect({{some + "@%p1 st.global.u32 [%rd4], 1;\n" + wait, {}},
            {some + "@!%p1 st.global.u32 [%rd4], 1;\n" + wait, {"2 copy-source-changed 1"}}});
    // Where the last copy has been waited for, the next ones' sources alone count.
    expect({{"setp.eq.u32 %p1, %r1, 33;\n@%p1 cp.async.ca.shared.global [%r5], [%rd2+256], 4;\n" +
                 wait + "@%p1 cp.async.ca.shared.global [%r5], [%rd2+512], 4;\n" +
                 "@%p1 st.global.u32 [%rd2+256], 1;\n@%p1 st.global.u32 [%rd2+512], 1;\n" + wait,
             {"6 copy-source-changed 4, 2 2, 4 at 262656"}}},
           {.lanes = true, .at = true});
}

// Other warps may still read what was there.
TEST(Copies, IntoWhatIsStillRead) {
    const std::string fill = "st.shared.u32 [%r6], 1;\n";
    const std::string in_first = first_warp + "@!%p1 bra SECOND;\n";
    const std::string in_second = "setp.eq.u32 %p1, %r3, 1;\n@!%p1 bra SECOND;\n";
    const std::string in_second_first = "setp.eq.u32 %p1, %r3, 0;\n@!%p1 bra SECOND;\n";
    const std::string into_others = "cp.async.ca.shared.global [%r7], [%rd4], 4;\n";
    const std::string second = "bra END;\nSECOND:\n";
    const std::string end = "END:\n";
    expect({
        // Warp 0 copies into warp 1's words, which warp 1 then reads.
        {fill + bar + in_first + into_others + wait + second + own + end, {"9 copy-too-early 5"}},
        {fill + bar + in_first + bar + into_others + wait + second + own + bar + end,
         {"~5 barrier-parted 11"}},  // which is another matter
        // Warp 1, which opens the barrier, copies into warp 0's words, which warp 0 then reads: it
        // may mean what was there, unless it has waited for copies of its own.
        {fill + bar + in_second + into_others + wait + second + own + end, {"9 copy-too-early 5"}},
        {fill + bar + in_second + into_others + second + own + end, {"8 copy-too-early 5"}},
        {fill + bar + in_second + into_others + wait + second + wait + own + end,
         {"10 copy-no-barrier 5"}},
        {fill + bar + in_second + into_others + second + wait + own + end,
         {"9 copy-not-awaited 5"}},
        {in_second_first + into_others + wait + second + own + end, {"7 copy-no-barrier 3"}},
        // Warp 0 reads them, and then warp 1 copies there.
        {fill + bar + others + copy + wait, {"3 copy-too-early 4"}},
        {fill + bar + others + bar + copy + wait, {}},
        {fill + bar + own + copy + wait, {}},
        // Warp 1 reads what warp 0 then copies to, behind the barrier and before it.
        {fill + bar + "setp.eq.u32 %p1, %r3, 1;\n@%p1 " + others + "@!%p1 " + copy + wait,
         {"4 copy-too-early 5"}},
        {fill + "setp.eq.u32 %p1, %r3, 1;\n@%p1 " + others + bar + "@!%p1 " + copy + wait, {}},
    });
    // Not what was there: of its own warp's copy, of one that it has met the others behind, and of
    // a word that was stored since it met them.
    expect({
        {fill + bar + copy + own + wait, {"4 copy-not-awaited 3"}},
        {fill + bar + copy + bar + others + wait, {"5 copy-not-awaited 3", "5 copy-no-barrier 3"}},
        {fill + bar + copy + wait + bar + others, {}},
        {bar + in_second + "st.shared.u32 [%r7], 1;\n" + into_others + second + own + end,
         {"8 copy-not-awaited 5"}},
        {bar + in_second + "st.shared.u32 [%r7], 1;\n" + into_others + wait + second + own + end,
         {"9 copy-no-barrier 5"}},
    });
    // Of three warps the second reads the third's words, which then reads and copies itself.
    const std::string of_three =
        "setp.eq.u32 %p1, %r3, 1;\nsetp.eq.u32 %p2, %r3, 2;\n@%p1 ld.shared.u32 %r10, [%r6+128];\n"
        "@%p2 ld.shared.u32 %r10, [%r6];\n@%p2 cp.async.ca.shared.global [%r6], [%rd4], 4;\n" +
        wait;
    expect({{of_three, {"3 copy-too-early 5"}, 96}});
}

TEST(Copies, AreCounted) {
    expect({{copy + own + wait, {"2 copy-not-awaited 1, ffffffff 1, 4 at 0, 64 times"}},
            {copy + "st.shared.u32 [%r6], 1;\n" + wait,
             {"2 copy-overwritten 1, 1 1, 4 at 0, 64 times"}},
            {copy + "st.global.u32 [%rd4], 1;\n" + wait,
             {"2 copy-source-changed 1, 1 1, 4 at 262144, 64 times"}},
            {copy, {"~1 copy-pending, 1, 4 at 0, 64 times"}}},
           {.lanes = true, .at = true, .count = true});
    // Once for each access, whatever it has of what was copied.
    const std::string two =
        "mul.wide.u32 %rd10, %r1, 8; add.u64 %rd10, %rd10, %rd2; mad.lo.u32 %r20, %r1, 8, %r5;"
        "cp.async.ca.shared.global [%r20], [%rd10], 8;\n";
    expect({{two + "ld.shared.v2.u32 {%r10, %r11}, [%r20];\n" + wait,
             {"2 copy-not-awaited 1, 64 times"}},
            {two + "st.shared.v2.u32 [%r20], {%r1, %r1};\n" + wait,
             {"2 copy-overwritten 1, 128 times"}}},
           {.count = true});
    // The lanes are those of the first time.
    expect({{copy + "mov.u32 %r20, 0;\nL: setp.eq.u32 %p1, %r20, %r2; @%p1 " + own +
                 "add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 3; @%p2 bra L;\n" + wait,
             {"3 copy-not-awaited 1, 1 1, 4 at 0, 6 times"}}},
           {.lanes = true, .at = true, .count = true});
    EXPECT_EQ(brief::said(copy + own + wait, {.checks = "sync", .grid = 3}, {.count = true}),
              Lines{"2 copy-not-awaited 1, 192 times"});
}

}  // namespace
}  // namespace lockwarp::check::copies_test
