// SPDX-License-Identifier: Apache-2.0
// What comes before what: a thread stores a word and tells others, who read it then. PTX manual,
// "Memory Consistency Model: Causality order".
#include "tests/check/said.hpp"

namespace lockwarp::check::causality_test {
namespace {

using namespace brief;

// The first of these roles is the warp's that runs first. Each is one line: 2, 3 and so on; the
// roles of a block of 32 threads each.
Lines of_roles(const std::vector<std::string>& roles, const std::string& before = "") {
    std::string body = before + "mov.u32 %r40, 0;\n";
    for (size_t i = 0; i < roles.size(); ++i) {
        const std::string n = std::to_string(i);
        body += "setp.ne.u32 %p1, %r3, " + n + "; @%p1 bra AFTER" + n + "; " + roles[i] + " AFTER" +
                n + ":\n";
    }
    return brief::said(body, {.checks = "race-shared,race-global",
                              .block = static_cast<uint32_t>(32 * roles.size())});
}

// Warp 0's word of the array, of whichever warp's same lane.
const std::string stores = "mad.lo.u32 %r41, %r2, 4, %r5; st.shared.u32 [%r41], 1; ";
const std::string loads = "mad.lo.u32 %r42, %r2, 4, %r5; ld.shared.u32 %r10, [%r42]; ";
const std::string stores_next = "mad.lo.u32 %r43, %r2, 4, %r5; st.shared.u32 [%r43+1024], 1; ";
const std::string loads_next = "mad.lo.u32 %r44, %r2, 4, %r5; ld.shared.u32 %r11, [%r44+1024]; ";
const Lines race{"3 read-after-write 2"}, by_convention{"~3 read-after-write 2"};

// A barrier of the whole CTA opens when who does not come to it has exited.
TEST(Causality, ExitsBeforeABarrier) {
    EXPECT_EQ(of_roles({stores + "ret;", "bar.sync 0; " + loads}), by_convention);
    EXPECT_EQ(of_roles({stores + "ret;", "bar.sync 0; bar.sync 0; " + loads}), by_convention);
    EXPECT_EQ(of_roles({stores + "ret;", "bar.sync 0;", "bar.sync 0; " + loads}),
              Lines{"~4 read-after-write 2"});
    EXPECT_EQ(of_roles({loads + "ret;", "bar.sync 0; " + stores}), Lines{"~3 write-after-read 2"});
    EXPECT_EQ(of_roles({stores + "bar.sync 0; ret;", "bar.sync 0; " + loads}), Lines{});
    // It tells of nothing that comes before, and a barrier with a count waits for no exit.
    EXPECT_EQ(of_roles({stores + "ret;", loads + "bar.sync 0;"}), race);
    EXPECT_EQ(of_roles({stores + "ret;", "bar.sync 0, 32; " + loads}), race);
    // It is no flag of another, who is still there.
    EXPECT_EQ(of_roles({stores, "ret;", "bar.sync 0, 32; " + loads}),
              Lines{"4 read-after-write 2"});
}

TEST(Causality, FlagsOfOneCta) {
    struct Row {
        const char* tells;
        const char* sees;
        Lines said;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"", "", race},
             {"st.release.cta.shared.u32 [%r5+2048], 1;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2048];",
              {}},
             {"st.release.gpu.shared.u32 [%r5+2048], 1;",
              "ld.acquire.gpu.shared.u32 %r12, [%r5+2048];",
              {}},
             {"st.release.cta.shared.u32 [%r5+2048], 1;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2052];", race},
             {"st.release.cta.shared.u32 [%r5+2048], 1;",
              "ld.relaxed.cta.shared.u32 %r12, [%r5+2048];", by_convention},
             {"st.relaxed.cta.shared.u32 [%r5+2048], 1;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2048];", by_convention},
             {"st.volatile.shared.u32 [%r5+2048], 1;", "ld.volatile.shared.u32 %r12, [%r5+2048];",
              by_convention},
             {"fence.acq_rel.cta; st.relaxed.cta.shared.u32 [%r5+2048], 1;",
              "ld.relaxed.cta.shared.u32 %r12, [%r5+2048]; fence.acq_rel.cta;",
              {}},
             {"fence.sc.cta; st.volatile.shared.u32 [%r5+2048], 1;",
              "ld.volatile.shared.u32 %r12, [%r5+2048]; fence.sc.cta;",
              {}},
             {"membar.cta; st.volatile.shared.u32 [%r5+2048], 1;",
              "ld.volatile.shared.u32 %r12, [%r5+2048]; membar.gl;",
              {}},
             {"fence.acq_rel.cta; st.relaxed.cta.shared.u32 [%r5+2048], 1;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2048];",
              {}},
             {"st.release.cta.shared.u32 [%r5+2048], 1;",
              "ld.relaxed.cta.shared.u32 %r12, [%r5+2048]; fence.acq_rel.cta;",
              {}},
             {"st.relaxed.cta.shared.u32 [%r5+2048], 1; fence.acq_rel.cta;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2048];", by_convention},
             {"st.release.cta.shared.u32 [%r5+2048], 1;",
              "fence.acq_rel.cta; ld.relaxed.cta.shared.u32 %r12, [%r5+2048];", by_convention},
             // Atomics of each order, at either side.
             {"red.release.cta.shared.add.u32 [%r5+2048], 1;",
              "ld.acquire.cta.shared.u32 %r12, [%r5+2048];",
              {}},
             {"atom.release.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              "atom.acquire.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              {}},
             {"atom.acq_rel.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              "atom.acq_rel.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              {}},
             {"atom.acquire.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              "atom.acquire.cta.shared.add.u32 %r12, [%r5+2048], 1;", by_convention},
             {"atom.release.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              "atom.release.cta.shared.add.u32 %r12, [%r5+2048], 1;", by_convention},
             {"atom.relaxed.cta.shared.add.u32 %r12, [%r5+2048], 1;",
              "atom.relaxed.cta.shared.add.u32 %r12, [%r5+2048], 1;", by_convention},
             // A weak flag is none.
             {"fence.acq_rel.cta; red.shared.add.u32 [%r5+2048], 1;",
              "ld.shared.u32 %r12, [%r5+2052]; fence.acq_rel.cta;", race},
         })
        EXPECT_EQ(of_roles({stores + row.tells, row.sees + loads}), row.said)
            << row.tells << " " << row.sees;
}

// What is done behind the flag is not told by it.
TEST(Causality, WhatComesBehindTheFlag) {
    const std::string tells = "st.release.cta.shared.u32 [%r5+2048], 1; ",
                      sees = "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; ";
    EXPECT_EQ(of_roles({tells + stores, sees + loads}), race);
    EXPECT_EQ(of_roles({stores + tells + stores_next, sees + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + tells + stores_next, sees + loads_next}), race);
    EXPECT_EQ(of_roles({stores + tells, loads + sees}), race);
    // A fence lets go what stands before it.
    const std::string fence = "fence.acq_rel.cta; ",
                      relaxed = "st.relaxed.cta.shared.u32 [%r5+2048], 1; ";
    EXPECT_EQ(of_roles({stores + fence + stores_next + relaxed, sees + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + fence + stores_next + relaxed, sees + loads_next}), by_convention);
}

// Who has learnt of it tells others.
TEST(Causality, IsPassedOn) {
    const std::string tells = "st.release.cta.shared.u32 [%r5+2048], 1; ",
                      sees = "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; ",
                      tells_on = "st.release.cta.shared.u32 [%r5+2052], 1; ",
                      sees_on = "ld.acquire.cta.shared.u32 %r12, [%r5+2052]; ";
    EXPECT_EQ(of_roles({stores + tells, sees + tells_on, sees_on + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + tells, tells_on, sees_on + loads}), Lines{"4 read-after-write 2"});
    // An update goes on with what was told before it; a store does not.
    const std::string adds = "red.release.cta.shared.add.u32 [%r5+2048], 1; ";
    const Lines first{"4 read-after-write 2"};
    EXPECT_EQ(of_roles({stores + adds, adds, sees + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + tells, adds, sees + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + adds, tells, sees + loads}), first);
    EXPECT_EQ(of_roles({stores + adds, stores_next + adds, sees + loads + loads_next}), Lines{});
    EXPECT_EQ(of_roles({stores + adds, stores_next, sees + loads + loads_next}),
              Lines{"4 read-after-write 3"});
    EXPECT_EQ(of_roles({stores, stores_next + adds, sees + loads + loads_next}), first);
}

// Of flags that one instruction stored, each is then another's update: who sees one of them learns
// what that one told, and nothing else.
TEST(Causality, FlagsThatBeganAlike) {
    const std::string tells =
                          "mad.lo.u32 %r45, %r2, 4, %r5; "
                          "st.release.cta.shared.u32 [%r45+2048], 1; ",
                      one = "bar.warp.sync -1; setp.eq.u32 %p2, %r2, 0; ",
                      adds = one + "@%p2 red.release.cta.shared.add.u32 [%r5+2048], 1; ",
                      adds_other = one + "@%p2 red.release.cta.shared.add.u32 [%r5+2052], 1; ",
                      sees = "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; ",
                      sees_other = "ld.acquire.cta.shared.u32 %r12, [%r5+2052]; ";
    const auto with = [&](const std::string& last) {
        return of_roles({tells, stores + adds, stores_next + adds_other, last});
    };
    EXPECT_EQ(with(sees + loads), Lines{});
    EXPECT_EQ(with(sees_other + loads_next), Lines{});
    EXPECT_EQ(with(sees + sees_other + loads + loads_next), Lines{});
    EXPECT_EQ(with(sees_other + loads), Lines{"5 read-after-write 3"});
    EXPECT_EQ(with(sees + loads_next), Lines{"5 read-after-write 4"});
}

// A relaxed atomic on global memory tells by convention where a fence comes before it: its own,
// which no other strong access has used up.
TEST(Causality, FencesBeforeAtomics) {
    const std::string data =
        "mad.lo.u32 %r41, %r2, 4, 0; cvt.u64.u32 %rd20, %r41;"
        "add.u64 %rd20, %rd20, %rd1; ";
    const std::string store = data + "st.global.u32 [%rd20], 1; ",
                      load = data + "ld.global.u32 %r10, [%rd20]; ";
    const std::string fence = "fence.acq_rel.gpu; ";
    const std::string flag = "atom.relaxed.gpu.global.add.u32 %r12, [%rd20+1024], 1; ",
                      other = "atom.relaxed.gpu.global.add.u32 %r12, [%rd20+2048], 1; ",
                      other_red = "red.relaxed.gpu.global.add.u32 [%rd20+2048], 1; ",
                      other_store = "st.relaxed.gpu.global.u32 [%rd20+2048], 1; ",
                      other_load = "ld.relaxed.gpu.global.u32 %r12, [%rd20+2048]; ",
                      weak_load = "ld.global.u32 %r12, [%rd20+3072]; ";
    const std::string sees = data + "ld.relaxed.gpu.global.u32 %r12, [%rd20+1024]; ";
    EXPECT_EQ(of_roles({store + fence + flag, sees + fence + load}), Lines{});
    EXPECT_EQ(of_roles({store + fence + flag, sees + load}), by_convention);
    EXPECT_EQ(of_roles({store + flag, sees + fence + load}), race);
    EXPECT_EQ(of_roles({data + fence + store + flag, sees + fence + load}), by_convention);
    // Of what comes between, a weak load does not count.
    EXPECT_EQ(of_roles({data + fence + store + weak_load + flag, sees + fence + load}),
              by_convention);
    for (const std::string& between : {other, other_red, other_store, other_load})
        EXPECT_EQ(of_roles({data + fence + between + store + flag, sees + fence + load}), race)
            << between;
    EXPECT_EQ(of_roles({data + fence + other + store + fence + flag, sees + load}), by_convention);
    // A volatile store, shared memory, and what is of the CTA alone, need none.
    EXPECT_EQ(of_roles({store + "st.volatile.global.u32 [%rd20+1024], 1; ", sees + load}),
              by_convention);
    EXPECT_EQ(of_roles({store + "atom.relaxed.gpu.shared.add.u32 %r12, [%r5+1024], 1; ",
                        "ld.relaxed.gpu.shared.u32 %r12, [%r5+1024]; " + load}),
              by_convention);
    EXPECT_EQ(of_roles({store + "atom.relaxed.cta.global.add.u32 %r12, [%rd20+1024], 1; ",
                        data + "ld.relaxed.cta.global.u32 %r12, [%rd20+1024]; " + load}),
              by_convention);
}

// Lanes of a warp by themselves: what one of them releases is its own, and what those did that it
// has met since (bar.warp.sync), in that order.
TEST(Causality, LanesOfAWarp) {
    const std::string lane =
        "setp.eq.u32 %p5, %r2, 0; setp.eq.u32 %p6, %r2, 1; setp.eq.u32 %p7, "
        "%r2, 2; setp.lt.u32 %p8, %r2, 2; sub.u32 %r45, %r2, 1;"
        "setp.lt.u32 %p9, %r45, 2; ";
    const std::string meet_01 = "@%p8 bar.warp.sync 3; ", meet_12 = "@%p9 bar.warp.sync 6; ";
    const std::string store_1 = "@%p6 st.shared.u32 [%r5], 1; ",
                      store_2 = "@%p7 st.shared.u32 [%r5], 1; ";
    const std::string release_0 = "@%p5 st.release.cta.shared.u32 [%r5+2048], 1; ";
    const std::string seen = "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; ";
    const std::string load_0 = "@%p5 ld.shared.u32 %r10, [%r5]; ",
                      load_1 = "@%p6 ld.shared.u32 %r10, [%r5]; ";
    const std::string both = "bar.sync 1, 64; ";
    const auto of = [&](const std::string& first, const std::string& second) {
        return of_roles({lane + first, lane + second});
    };
    EXPECT_EQ(of(store_1 + meet_01 + release_0, seen + load_0), Lines{});
    EXPECT_EQ(of(store_1 + release_0, seen + load_0), by_convention);
    EXPECT_EQ(of(store_2 + meet_12 + meet_01 + release_0, seen + load_0), Lines{});
    EXPECT_EQ(of(store_2 + meet_01 + meet_12 + release_0, seen + load_0), by_convention);
    EXPECT_EQ(of(store_2 + meet_12 + release_0, seen + load_0), by_convention);
    // What was before all of them met comes along, and who met before that does not count. (The
    // second warp opens the barrier, and goes on.)
    EXPECT_EQ(of(both + seen + load_0, store_1 + both + release_0), Lines{});
    EXPECT_EQ(of(both + seen + load_0, both + store_1 + meet_01 + release_0), Lines{});
    EXPECT_EQ(of(both + seen + load_0, meet_01 + both + store_1 + release_0),
              Lines{"~2 read-after-write 3"});
    EXPECT_EQ(of(store_1 + "bar.warp.sync -1; " + release_0, seen + load_0), Lines{});
    EXPECT_EQ(of(meet_01 + "bar.warp.sync -1; " + store_1 + release_0, seen + load_0),
              by_convention);
    // What one acquires is known to those that it meets behind that.
    const std::string seen_0 = "@%p5 " + seen;
    const std::string store_0 = "@%p5 st.shared.u32 [%r5], 1; ";
    EXPECT_EQ(of(store_0 + release_0, seen_0 + load_0), Lines{});
    EXPECT_EQ(of(store_0 + release_0, seen_0 + load_1), by_convention);
    EXPECT_EQ(of(store_0 + release_0, seen_0 + meet_01 + load_1), Lines{});
    EXPECT_EQ(of(store_0 + release_0, meet_01 + seen_0 + load_1), by_convention);
    EXPECT_EQ(of(store_0 + release_0, seen_0 + meet_12 + load_1), by_convention);
    EXPECT_EQ(of(store_0 + release_0, seen_0 + "bar.warp.sync -1; " + load_1), Lines{});
    // A fence of others makes it no more theirs.
    EXPECT_EQ(of(store_0 + release_0, seen_0 + "fence.acq_rel.cta; " + load_1), by_convention);
    // And is passed on by those alone.
    const std::string pass_1 = "@%p6 st.release.cta.shared.u32 [%r5+2052], 1; ",
                      pass_0 = "@%p5 st.release.cta.shared.u32 [%r5+2052], 1; ";
    const auto passed = [&](const std::string& second) {
        return of_roles({lane + store_0 + release_0, lane + seen_0 + second,
                         lane + "ld.acquire.cta.shared.u32 %r12, [%r5+2052]; " + load_0});
    };
    EXPECT_EQ(passed(pass_0), Lines{});
    EXPECT_EQ(passed(meet_01 + pass_1), Lines{});
    EXPECT_EQ(passed(pass_1), Lines{"~4 read-after-write 2"});
    EXPECT_EQ(passed(meet_12 + pass_1), Lines{"~4 read-after-write 2"});
    EXPECT_EQ(passed("bar.warp.sync -1; " + pass_1), Lines{});
}

TEST(Causality, NamedBarriers) {
    const std::string arrives = "bar.arrive 1, 64; ", waits = "bar.sync 1, 64; ";
    EXPECT_EQ(of_roles({stores + arrives, waits + loads}), Lines{});
    EXPECT_EQ(of_roles({arrives + stores, waits + loads}), race);
    EXPECT_EQ(of_roles({stores + arrives + stores_next, waits + loads}), Lines{});
    EXPECT_EQ(of_roles({stores + arrives + stores_next, waits + loads_next}), race);
    EXPECT_EQ(of_roles({stores + waits, waits + loads}), Lines{});
    // Each barrier, and each of its phases, by itself.
    EXPECT_EQ(of_roles({stores + "bar.sync 2, 32; ", "bar.sync 1, 32; " + loads}), race);
    EXPECT_EQ(of_roles({stores + "bar.sync 1, 32; ", "bar.sync 1, 32; " + loads}), race);
    EXPECT_EQ(of_roles({"bar.sync 1, 32; " + stores, "bar.sync 1, 32; " + loads}), race);
    EXPECT_EQ(of_roles({stores + arrives, waits, loads}), Lines{"4 read-after-write 2"});
    // A fence before the barrier, and a relaxed flag behind it.
    EXPECT_EQ(of_roles({stores + "fence.acq_rel.cta; " + arrives,
                        waits + "st.relaxed.cta.shared.u32 [%r5+2048], 1; ",
                        "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; " + loads}),
              Lines{});
    EXPECT_EQ(of_roles({stores + arrives, waits + "st.relaxed.cta.shared.u32 [%r5+2048], 1; ",
                        "ld.acquire.cta.shared.u32 %r12, [%r5+2048]; " + loads}),
              Lines{"~4 read-after-write 2"});
}

// What a thread of another CTA let go is learnt by a fence that reaches it, whatever fences stand
// between the flag and that one.
TEST(Causality, FencesBehindAFlagOfAnotherCta) {
    const std::string cta = "fence.acq_rel.cta; ", gpu = "fence.acq_rel.gpu; ";
    const Lines of_grid{"~4 read-after-write 2"};
    for (const auto& [fences, said] : std::initializer_list<std::pair<std::string, Lines>>{
             {gpu, {}}, {cta + gpu, {}}, {gpu + cta, {}}, {cta, of_grid}, {"", of_grid}})
        EXPECT_EQ(brief::said("mov.u32 %r10, %ctaid.x; setp.ne.u32 %p1, %r10, 0; @%p1 bra SEES;\n"
                              "st.global.u32 [%rd1], 1; fence.acq_rel.gpu; "
                              "st.relaxed.gpu.global.u32 [%rd1+64], 1; bra DONE;\n"
                              "SEES: ld.relaxed.gpu.global.u32 %r11, [%rd1+64]; " +
                                  fences + "\nld.global.u32 %r12, [%rd1];\nDONE:",
                              {.checks = "race-global", .block = 1, .grid = 2}),
                  said)
            << fences;
}

// What a thread told its own CTA, by a word that another CTA has stored to since, tells nothing.
TEST(Causality, AFlagThatAnotherCtaStoredToSince) {
    const auto with = [](const std::string& stores_over) {
        return brief::said(
            "mov.u32 %r10, %ctaid.x; setp.ne.u32 %p1, %r10, 0; @%p1 bra OTHER;\n"
            "setp.ne.u32 %p2, %r3, 0; @%p2 bra SEES;\n"
            "st.global.u32 [%rd1], 1; st.release.cta.global.u32 [%rd1+64], 1; bra DONE;\n"
            "OTHER: ld.relaxed.gpu.global.u32 %r11, [%rd1+64]; setp.eq.u32 %p3, %r11, 0;"
            "@%p3 bra OTHER; " +
                stores_over +
                "st.relaxed.gpu.global.u32 [%rd1+128], 1; bra DONE;\n"
                "SEES: ld.relaxed.gpu.global.u32 %r11, [%rd1+128]; setp.eq.u32 %p3, %r11, 0;"
                "@%p3 bra SEES; ld.acquire.cta.global.u32 %r12, [%rd1+64];\n"
                "ld.global.u32 %r12, [%rd1];\nDONE:",
            {.checks = "race-global", .block = 64, .grid = 2});
    };
    // The flag itself is told to its own CTA alone.
    EXPECT_EQ(with(""), Lines{"4 read-after-write 3"});
    EXPECT_EQ(with("st.relaxed.gpu.global.u32 [%rd1+64], 1; "),
              (Lines{"6 read-after-write 3", "4 read-after-write 3", "4 write-after-write 3"}));
}

// An mbarrier of the array; its phases by their parities.
TEST(Causality, Mbarriers) {
    const auto made = [](unsigned count) {
        return "setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [tile+3072], " +
               std::to_string(count) + "; bar.sync 0; ";
    };
    const std::string one = "setp.eq.u32 %p3, %r2, 0; ";
    const std::string all = "mbarrier.arrive.shared.b64 %rd20, [tile+3072]; ";
    const auto waits = [](unsigned parity, const std::string& order = "") {
        const std::string n = std::to_string(parity);
        return "W" + n + ": mbarrier.try_wait.parity" + order + ".shared.b64 %p4, [tile+3072], " +
               n + "; @!%p4 bra W" + n + "; ";
    };
    const std::string braces = "{ ", end = "} ";
    const auto of = [&](unsigned count, std::vector<std::string> roles) {
        for (std::string& r : roles) r = braces + r + end;
        return of_roles(roles, made(count));
    };
    EXPECT_EQ(of(32, {stores + all, waits(0) + loads}), Lines{});
    EXPECT_EQ(of(32, {all + stores, waits(0) + loads}), race);
    EXPECT_EQ(of(32, {stores + all + stores_next, waits(0) + loads}), Lines{});
    EXPECT_EQ(of(32, {stores + all + stores_next, waits(0) + loads_next}), race);
    // (Warp 1 opens the barrier of the beginning, and goes on.)
    EXPECT_EQ(of(32, {stores + all, loads}), Lines{"2 write-after-read 3"});
    // Arrivals without order, and with.
    for (const std::string order : {".release.cta", ".release.cluster", ".relaxed.cta"})
        EXPECT_EQ(of(32, {stores + "mbarrier.arrive" + order + ".shared.b64 %rd20, [tile+3072]; ",
                          waits(0) + loads}),
                  order.starts_with(".relaxed") ? by_convention : Lines{})
            << order;
    for (const std::string order : {".acquire.cta", ".acquire.cluster", ".relaxed.cta"})
        EXPECT_EQ(of(32, {stores + all, waits(0, order) + loads}),
                  order.starts_with(".relaxed") ? by_convention : Lines{})
            << order;
    // Two warps arrive, and what both did is known.
    EXPECT_EQ(of(64, {stores + all, stores_next + all, waits(0) + loads + loads_next}), Lines{});
    // Counts: of one that arrives for all, and of one that goes.
    EXPECT_EQ(of(32, {stores + one + "@%p3 mbarrier.arrive.shared.b64 %rd20, [tile+3072], 32; ",
                      waits(0) + loads}),
              Lines{"~3 read-after-write 2"});  // of the lane that arrived all is known
    EXPECT_EQ(of(32, {stores + "bar.warp.sync -1; " + one +
                          "@%p3 mbarrier.arrive.shared.b64 %rd20, [tile+3072], 32; ",
                      waits(0) + loads}),
              Lines{});
    EXPECT_EQ(of(64, {stores + all + all, waits(0) + loads}), Lines{});
    // Lanes that arrive together end two phases, and are of both. (Warp 1 goes on first.)
    EXPECT_EQ(of(16, {waits(1) + loads, stores + all}), Lines{});
    EXPECT_EQ(
        of(64, {"mbarrier.arrive_drop.shared.b64 %rd20, [tile+3072]; ",
                "mbarrier.arrive.shared.b64 %rd20, [tile+3072]; bar.sync 3, 64; " + stores + all,
                waits(0) + "bar.sync 3, 64; " + waits(1) + loads}),
        Lines{});
    // A phase tells of its own arrivals: here those of warp 1, which may know nothing of warp 0's.
    for (const std::string order : {".acquire.cta", ".relaxed.cta"})
        EXPECT_EQ(of(32, {stores + all, waits(0, order) + "bar.sync 3, 64; " + stores_next + all,
                          "bar.sync 3, 64; " + waits(1) + loads + loads_next}),
                  order == ".acquire.cta" ? Lines{} : Lines{"~4 read-after-write 2"})
            << order;
}

}  // namespace
}  // namespace lockwarp::check::causality_test
