// SPDX-License-Identifier: Apache-2.0
// What is said of slow accesses and of branches that part warps, word by word, and of what is near
// to them and well: nothing.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check {
namespace {

struct How {
    uint32_t ctas = 1;
    uint32_t dynamic_shared = 0;
    bool hints = false;   // in place of the messages
    bool places = false;  // the CTA and the warp behind the count
};

// Line by line "KIND LINE xCOUNT: MESSAGE", lines counted from the body's first; 64 threads.
std::string said_of(const std::string& body, const How& how = {}) {
    constexpr uint32_t first_line = 12;
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n"
        ".visible .entry k(.param .u64 out)\n{\n.local .align 16 .b8 own[64];\n"
        ".reg .b32 %r<30>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n"
        "and.b32 %r3, %r1, 31; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %d1;\n"
        "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u64 %d3, own;\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body << parsed.diagnostics[0].message;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << body << r.diagnostics[0].message;
    std::vector<uint8_t> out(1 << 16);
    warp::Launch launch;
    launch.grid.x = how.ctas;
    launch.block.x = 64;
    launch.dynamic_shared = how.dynamic_shared;
    launch.max_steps = 100000;
    launch.threads = 1;
    launch.buffers = {{"out", 0x10000, out}};
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &launch.buffers[0].address, 8);
    const Chosen chosen = choose("performance");
    const Checking checking(chosen.rows, r.program, launch, &parsed.module, {});
    const warp::Result result = exec::launch(r.program, launch);
    EXPECT_FALSE(result.refusal || result.trap) << body;
    std::string text;
    for (const Found& f : checking.found(result)) {
        if (!f.finding.here.operation) continue;  // of shared memory that nobody uses
        EXPECT_EQ(f.finding.severity, Severity::note);
        text += std::string(f.finding.kind) + " " +
                std::to_string(r.program.operations[*f.finding.here.operation].place.line -
                               first_line) +
                " x" + std::to_string(f.finding.count) +
                (how.places ? " CTA " + std::to_string(f.finding.here.cta[0]) + " warp " +
                                  std::to_string(f.finding.here.warp)
                            : "") +
                ": " + (how.hints ? f.finding.hint : f.finding.message) + "\n";
    }
    return text;
}

// Work in which lanes are idle, behind the branch on the line before.
const std::string work =
    "add.u32 %r4, %r4, 1; add.u32 %r5, %r5, %r4; mul.lo.u32 %r4, %r5, %r4;\n"
    "add.u32 %r4, %r4, 1; add.u32 %r5, %r5, %r4; mul.lo.u32 %r4, %r5, %r4;\n"
    "add.u32 %r4, %r4, 1; add.u32 %r5, %r5, %r4; mul.lo.u32 %r4, %r5, %r4;\n";

TEST(Performance, BranchesThatPartWarps) {
    const auto branch = [](const std::string& condition) {
        return said_of("setp." + condition + ";\n@%p1 bra L;\n" + work + "L:");
    };
    EXPECT_EQ(
        branch("lt.u32 %p1, %r3, 16"),
        "divergent-branch 1 x2: parts the lanes of warps, 2 of 2 times; 25% of all lanes' turns "
        "are idle behind it\n");
    // Too few to be told.
    EXPECT_EQ(branch("eq.u32 %p1, %r1, 5"), "");
    // Taken by none, by all, by whole warps.
    EXPECT_EQ(branch("gt.u32 %p1, %r3, 31"), "");
    EXPECT_EQ(branch("lt.u32 %p1, %r3, 32"), "");
    EXPECT_EQ(branch("lt.u32 %p1, %r1, 32"), "");
    // One that none takes behind one that parts is not what parts.
    EXPECT_EQ(
        said_of("setp.lt.u32 %p1, %r3, 16; setp.gt.u32 %p2, %r3, 31;\n@%p1 bra L;\n"
                "@%p2 bra L;\n" +
                work + "L:"),
        "divergent-branch 1 x2: parts the lanes of warps, 2 of 2 times; 25% of all lanes' turns "
        "are idle behind it\n");
}

TEST(Performance, LocalMemoryInLoops) {
    const auto loops = [](unsigned first, unsigned second) {
        std::string out;
        for (const auto& [n, label] : {std::pair(first, "A"), std::pair(second, "B")})
            out += std::string("mov.u32 %r4, 0; ") + label + ":\nst.local.u32 [%d3], %r4;\n" +
                   "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, " + std::to_string(n) +
                   "; @%p1 bra " + label + ";\n";
        return said_of(out);
    };
    EXPECT_EQ(loops(1, 1), "");
    EXPECT_EQ(loops(2, 1),
              "local-in-loop 1 x4: accesses local memory 2 times a warp; 1 instructions together 2 "
              "times\n");
    EXPECT_EQ(loops(1, 2),
              "local-in-loop 4 x4: accesses local memory 2 times a warp; 1 instructions together 2 "
              "times\n");
    EXPECT_EQ(loops(3, 7),
              "local-in-loop 4 x14: accesses local memory 7 times a warp; 2 instructions together "
              "10 times\n");
    EXPECT_EQ(loops(7, 3),
              "local-in-loop 1 x14: accesses local memory 7 times a warp; 2 instructions together "
              "10 times\n");
    EXPECT_EQ(loops(4, 4),
              "local-in-loop 1 x8: accesses local memory 4 times a warp; 2 instructions together 8 "
              "times\n");
}

// Whichever comes first in the run.
TEST(Performance, TheMostOfLocalMemoryIsShown) {
    const auto loops = [](unsigned first, unsigned second) {
        const auto one = [](unsigned n, const std::string& label) {
            return "mov.u32 %r4, 0; " + label + ":\nst.local.u32 [%d3], %r4;\n" +
                   "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, " + std::to_string(n) +
                   "; @%p1 bra " + label + ";\n";
        };
        const std::string text =
            said_of("bra SECOND; FIRST: " + one(first, "A") +
                    "bra END; SECOND: " + one(second, "B") + "bra FIRST; END:");
        return text.substr(0, text.find(':'));
    };
    EXPECT_EQ(loops(3, 7), "local-in-loop 4 x14");
    EXPECT_EQ(loops(7, 3), "local-in-loop 1 x14");
    EXPECT_EQ(loops(5, 5), "local-in-loop 1 x10");
}

TEST(Performance, AccessesByStride) {
    const auto shared = [](unsigned stride) {
        return said_of("mad.lo.u32 %r6, %r3, " + std::to_string(stride) +
                       ", %r2;\nst.shared.u32 [%r6], %r4;");
    };
    for (const unsigned stride : {0u, 4u, 12u, 20u, 132u}) EXPECT_EQ(shared(stride), "") << stride;
    EXPECT_EQ(
        shared(8),
        "bank-conflict 1 x2: takes 2 wavefronts of shared memory where 1 would do, up to 2\n");
    EXPECT_EQ(
        shared(64),
        "bank-conflict 1 x2: takes 16 wavefronts of shared memory where 1 would do, up to 16\n");
    EXPECT_EQ(
        shared(128),
        "bank-conflict 1 x2: takes 32 wavefronts of shared memory where 1 would do, up to 32\n");
    const auto global = [](unsigned stride) {
        return said_of("mul.wide.u32 %d4, %r1, " + std::to_string(stride) +
                       "; add.u64 %d4, %d4, %d1;\nld.global.u32 %r6, [%d4];");
    };
    for (const unsigned stride : {0u, 4u, 8u}) EXPECT_EQ(global(stride), "") << stride;
    EXPECT_EQ(global(32),
              "uncoalesced 1 x2: moves 32 sectors of 32 bytes for each warp where 4 hold what its "
              "lanes access\n");
    EXPECT_EQ(global(256),
              "uncoalesced 1 x2: moves 32 sectors of 32 bytes for each warp where 4 hold what its "
              "lanes access\n");
    // A few lanes' bytes are one sector.
    EXPECT_EQ(said_of("setp.lt.u32 %p1, %r3, 4; mul.wide.u32 %d4, %r3, 32; add.u64 %d4, %d4, %d1;\n"
                      "@%p1 ld.global.u32 %r6, [%d4];"),
              "uncoalesced 1 x2: moves 4 sectors of 32 bytes for each warp where 1 hold what its "
              "lanes access\n");
    // Of 33 bytes two.
    EXPECT_EQ(said_of("setp.lt.u32 %p1, %r3, 3; setp.eq.u32 %p2, %r3, 2; selp.u32 %r6, 1, 16, %p2;"
                      "mad.lo.u32 %r7, %r3, 16, %r2; mul.wide.u32 %d4, %r3, 64;"
                      "add.u64 %d4, %d4, %d1;\n"
                      "@%p1 cp.async.ca.shared.global [%r7], [%d4], 16, %r6; cp.async.wait_all;"),
              "");
    // One lane's alone.
    EXPECT_EQ(said_of("setp.ne.u32 %p1, %r3, 0;\n@!%p1 ld.global.u32 %r6, [%d1+64];"), "");
}

// A loop of `times` turns, %r4 counts them.
std::string loop(unsigned times, const std::string& body) {
    return "L: " + body + "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, " + std::to_string(times) +
           "; @%p1 bra L;";
}

// What is told from which share on: half as many wavefronts again, three times the sectors, a tenth
// of the turns. Means have a digit behind the point.
TEST(Performance, WhatIsTooLittleToTell) {
    // Of so many turns the first is of two wavefronts, the others of one.
    const auto shared = [](unsigned times) {
        return said_of(loop(times,
                            "setp.eq.u32 %p2, %r4, 0; selp.u32 %r6, 8, 4, %p2;"
                            "mad.lo.u32 %r6, %r3, %r6, %r2;\nld.shared.u32 %r7, [%r6];"));
    };
    EXPECT_EQ(shared(3), "");
    EXPECT_EQ(
        shared(2),
        "bank-conflict 1 x4: takes 1.5 wavefronts of shared memory where 1 would do, up to 2\n");
    const auto global = [](unsigned stride, unsigned times = 1) {
        return said_of(loop(times, "setp.eq.u32 %p2, %r4, 0; selp.u32 %r6, " +
                                       std::to_string(stride) +
                                       ", 12, %p2; mul.wide.u32 %d4, %r1, %r6;"
                                       "add.u64 %d4, %d4, %d1;\nld.global.u32 %r7, [%d4];"));
    };
    EXPECT_EQ(global(8), "");
    const std::string moves = "uncoalesced 1 x2: moves ";
    const std::string where =
        " sectors of 32 bytes for each warp where 4 hold what its lanes access\n";
    EXPECT_EQ(global(12), moves + "12" + where);
    EXPECT_EQ(global(16), moves + "16" + where);
    // (16 + 2 * 12) / 3, (20 + 2 * 12) / 3.
    EXPECT_EQ(global(16, 3), "uncoalesced 1 x6: moves 13.3" + where);
    EXPECT_EQ(global(20, 3), "uncoalesced 1 x6: moves 14.7" + where);
    // One lane of 32 is idle in most turns: a 32nd. Three are told, if the branch is most of all.
    const auto idle = [](unsigned lanes) {
        return said_of("setp.lt.u32 %p2, %r3, " + std::to_string(lanes) + ";\n@%p2 bra M;\n" +
                       loop(200, "mul.lo.u32 %r5, %r5, %r4;") + "M:");
    };
    EXPECT_EQ(idle(3), "");
    EXPECT_EQ(idle(4),
              "divergent-branch 1 x2: parts the lanes of warps, 2 of 2 times; 12% of all lanes' "
              "turns are idle behind it\n");
}

// Of all CTAs the first eight are heard. The worst of all accesses is shown, and the first branch
// that parted.
TEST(Performance, OfSeveralCtas) {
    const std::string stride =
        "mov.u32 %r8, %ctaid.x; add.u32 %r8, %r8, 1; mul.lo.u32 %r8, %r8, 4;"
        "mad.lo.u32 %r6, %r3, %r8, %r2;\nst.shared.u32 [%r6], %r4;";
    // Strides of 1 to 8 words: 1, 2, 1, 4, 1, 2, 1, 8 wavefronts.
    const std::string eight =
        "bank-conflict 1 x16: takes 2.5 wavefronts of shared memory where 1 would do, up to 8\n";
    EXPECT_EQ(said_of(stride, {.ctas = 8}), eight);
    EXPECT_EQ(said_of(stride, {.ctas = 20}), eight);
    EXPECT_EQ(
        said_of(stride, {.ctas = 4}),
        "bank-conflict 1 x8: takes 2 wavefronts of shared memory where 1 would do, up to 4\n");
    EXPECT_EQ(said_of(stride, {.ctas = 4, .hints = true}),
              "bank-conflict 1 x8: without conflicts: tile with rows of 16 bytes padded by 4, or "
              "Swizzle<2,2,5> of the byte offset\n");
    // Where a branch first parted lanes: in CTA 1, or in warp 1.
    const auto parts = [](const std::string& where) {
        const std::string text = said_of("mov.u32 %r8, %ctaid.x; " + where +
                                             "setp.lt.u32 %p1, %r3, 16; and.pred %p1, %p1, %p2;\n"
                                             "@%p1 bra L;\n" +
                                             work + work + "L:",
                                         {.ctas = 3, .places = true});
        return text.substr(0, text.find(':'));
    };
    EXPECT_EQ(parts("setp.ge.u32 %p2, %r8, 1;"), "divergent-branch 1 x4 CTA 1 warp 0");
    EXPECT_EQ(parts("setp.ge.u32 %p2, %r1, 32;"), "divergent-branch 1 x3 CTA 0 warp 1");
    EXPECT_EQ(parts("setp.eq.u32 %p2, %r1, %r1;"), "divergent-branch 1 x6 CTA 0 warp 0");
    // 16 lanes of half of the warps, in 20 of 35 turns.
    EXPECT_EQ(said_of("mov.u32 %r8, %ctaid.x; and.b32 %r9, %r8, 1; setp.eq.u32 %p2, %r9, 1;"
                      "setp.lt.u32 %p1, %r3, 16; and.pred %p1, %p1, %p2;\n@%p1 bra L;\n" +
                          work + work + "L:",
                      {.ctas = 12}),
              "divergent-branch 1 x8: parts the lanes of warps, 8 of 16 times; 14% of all lanes' "
              "turns are idle behind it\n");
    EXPECT_EQ(
        said_of(loop(3, "\nst.local.u32 [%d3], %r4;"), {.ctas = 12}),
        "local-in-loop 1 x48: accesses local memory 3 times a warp; 1 instructions together 3 "
        "times\n");
}

// Layouts that have no conflict, of which each is tried until one does: what is accessed together
// stays together, and no other access to the variable becomes worse.
TEST(Performance, WhatRemovesConflicts) {
    struct Row {
        std::string accesses;  // [%r6] by lane
        std::string hint;      // of the first
        uint32_t dynamic_shared = 0;
    };
    const auto at = [](unsigned stride) {
        return "mad.lo.u32 %r6, %r3, " + std::to_string(stride) + ", %r2;\n";
    };
    const std::string word = "ld.shared.u32 %r7, [%r6];",
                      four = "ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r6];",
                      two = "ld.shared.v2.u32 {%r8, %r9}, [%r6];";
    const auto padded = [](unsigned row, unsigned pad, const std::string& swizzle) {
        return "without conflicts: tile with rows of " + std::to_string(row) + " bytes padded by " +
               std::to_string(pad) + ", or Swizzle<" + swizzle + "> of the byte offset";
    };
    const std::string none = "another layout of the data has none";
    const std::vector<Row> rows{
        {at(8) + word, padded(8, 4, "1,2,5")},
        {at(64) + word, padded(64, 4, "4,2,5")},
        {at(128) + word, padded(128, 4, "5,2,5")},
        {at(136) + word, padded(136, 4, "1,2,5")},
        {at(256) + word, padded(256, 4, "5,2,6")},
        {at(512) + word, padded(512, 4, "5,2,7")},
        {at(256) + "ld.shared.u16 %h1, [%r6];", padded(256, 4, "5,2,6")},
        {at(64) + two, padded(64, 8, "3,3,4")},
        {at(128) + four, padded(128, 16, "3,4,3")},
        {at(32) + four, padded(32, 16, "1,4,3")},
        // Eight bytes that are accessed together elsewhere; a column that would become worse.
        {at(128) + word + at(8) + two, none},
        {at(128) + word + at(124) + word, none},
        // By falling addresses no stride is known.
        {"sub.u32 %r6, 31, %r3; mad.lo.u32 %r6, %r6, 128, %r2;\n" + word,
         "without conflicts: tile with Swizzle<5,2,5> of the byte offset"},
        // The stride of most lanes; of two that are as many the smaller.
        {"setp.eq.u32 %p2, %r3, 31; selp.u32 %r6, 63, %r3, %p2; mad.lo.u32 %r6, %r6, 128, %r2;\n" +
             word,
         padded(128, 4, "5,2,5")},
        {"setp.eq.u32 %p2, %r3, 2; selp.u32 %r6, 3, %r3, %p2; setp.lt.u32 %p3, %r3, 3;"
         "mad.lo.u32 %r6, %r6, 128, %r2;\n@%p3 " +
             word,
         padded(128, 4, "2,2,5")},
        // Lanes that are not there have no stride: of each second one.
        {"and.b32 %r6, %r3, 1; setp.eq.u32 %p3, %r6, 0;" + at(128) + "@%p3 " + word,
         "without conflicts: tile with Swizzle<4,2,6> of the byte offset"},
        {"add.u32 %r2, %r2, 16384;" + at(128) + word,
         "without conflicts: dynamic shared memory with rows of 128 bytes padded by 4, or "
         "Swizzle<5,2,5> of the byte offset",
         4096},
    };
    for (const Row& r : rows)
        EXPECT_TRUE(said_of(".reg .b16 %h<2>;" + r.accesses,
                            {.dynamic_shared = r.dynamic_shared, .hints = true})
                        .starts_with("bank-conflict 1 x2: " + r.hint + "\n"))
            << r.accesses << "\n"
            << r.hint << "\n"
            << said_of(".reg .b16 %h<2>;" + r.accesses,
                       {.dynamic_shared = r.dynamic_shared, .hints = true});
}

TEST(Performance, WhatElseIsAdvised) {
    const auto hint = [](const std::string& body) { return said_of(body, {.hints = true}); };
    const std::string neighbours =
        "let neighbouring lanes access neighbouring bytes, or go through shared memory\n";
    const std::string load = "add.u64 %d4, %d4, %d1;\nld.global.u32 %r6, [%d4];";
    EXPECT_EQ(hint("mul.wide.u32 %d4, %r1, 40;" + load),
              "uncoalesced 1 x2: neighbouring lanes are 40 bytes apart: " + neighbours);
    // Of several distances the one that most have, and of those the least.
    const std::string apart = "uncoalesced 1 x2: neighbouring lanes are 128 bytes apart: ";
    EXPECT_EQ(hint("setp.lt.u32 %p1, %r3, 2; selp.u32 %r6, 4, 128, %p1; mul.wide.u32 %d4, %r3, "
                   "%r6;" +
                   load),
              apart + neighbours);
    EXPECT_EQ(hint("setp.lt.u32 %p1, %r3, 16; selp.u32 %r6, 128, 200, %p1; mul.wide.u32 %d4, %r3, "
                   "%r6;" +
                   load),
              apart + neighbours);
    EXPECT_EQ(hint("sub.u32 %r6, 63, %r1; mul.wide.u32 %d4, %r6, 40;" + load),
              "uncoalesced 1 x2: " + neighbours);
    EXPECT_EQ(hint("setp.lt.u32 %p1, %r3, 16;\n@%p1 bra L;\n" + work + "L:"),
              "divergent-branch 1 x2: let whole warps go one way: by the warp's number rather than "
              "the lane's\n");
    EXPECT_EQ(hint("st.local.u32 [%d3], %r4; ld.local.u32 %r4, [%d3];"), "");
    EXPECT_EQ(hint(loop(2, "\nst.local.u32 [%d3], %r4;")),
              "local-in-loop 1 x4: an array that is indexed by a variable, or registers that did "
              "not suffice: unroll the loop, or keep less alive\n");
}

// A fragment's registers by two loads or more of shared memory: ldmatrix brings up to four.
TEST(Performance, FragmentsByWords) {
    const auto of = [](const std::string& loads, bool hints = false) {
        return said_of(
            "mad.lo.u32 %r6, %r3, 4, %r2; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 "
            "%r22, 0; mov.u32 %r23, 0; mov.u32 %r24, 0; mov.u32 %r25, 0; mov.f32 %f5, "
            "0f00000000;\n" +
                loads +
                "\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, "
                "%f4}, {%r20, %r21, %r22, %r23}, {%r24, %r25}, {%f5, %f5, %f5, %f5};",
            {.hints = hints});
    };
    const auto load = [](const std::string& to, const std::string& space = "shared") {
        return "ld." + space + ".u32 %r" + to + ", [" + (space == "shared" ? "%r6" : "%d2") + "];";
    };
    const std::string filled = " loads of shared memory fill the fragment ";
    EXPECT_EQ(of(load("20")), "");
    EXPECT_EQ(of(load("20") + load("24")), "");
    EXPECT_EQ(of(load("20") + load("23")), "scalar-fragment 1 x2: 2" + filled + "A of line 14\n");
    EXPECT_EQ(of(load("20") + load("21") + load("22"), true),
              "scalar-fragment 1 x2: ldmatrix.x4 brings it with one instruction\n");
    EXPECT_EQ(of(load("20") + load("21") + load("22") + load("23")),
              "scalar-fragment 1 x2: 4" + filled + "A of line 14\n");
    EXPECT_EQ(of(load("24") + load("25")), "scalar-fragment 1 x2: 2" + filled + "B of line 14\n");
    EXPECT_EQ(of(load("24") + load("25"), true),
              "scalar-fragment 1 x2: ldmatrix.x2 brings it with one instruction\n");
    EXPECT_EQ(of(load("20", "global") + load("21", "global")), "");
    EXPECT_EQ(of("ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [tile];"), "");
    EXPECT_EQ(of("ld.shared.v2.u32 {%r20, %r21}, [tile]; ld.shared.v2.u32 {%r22, %r23}, [tile];"),
              "scalar-fragment 1 x2: 2" + filled + "A of line 14\n");
    // A store fills none.
    EXPECT_EQ(of("st.shared.u32 [%r6], %r20; st.shared.u32 [%r6], %r21;"), "");
    // Twice into one register: the last counts.
    EXPECT_EQ(of(load("20") + load("21") + "ld.shared.v2.u32 {%r20, %r21}, [tile];"), "");
    EXPECT_EQ(of("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20, %r21}, [tile];"
                 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r22, %r23}, [tile];"),
              "");
    // What stands behind a load's registers is another's.
    EXPECT_EQ(of("ld.shared.v2.u32 {%r10, %r11}, [tile];"
                 "mov.b64 {%r22, %r23}, %d2; ld.shared.v2.u32 {%r20, %r21}, [tile];"),
              "");
    // Nor does it bring an accumulator.
    EXPECT_EQ(said_of("mov.u32 %r20, 0; mov.f32 %f7, 0f00000000; mov.f32 %f8, %f7;"
                      "ld.shared.f32 %f5, [tile]; ld.shared.f32 %f6, [tile+4];\n"
                      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
                      "{%r20, %r20, %r20, %r20}, {%r20, %r20}, {%f5, %f6, %f7, %f8};"),
              "");
    // Of 64 bits ldmatrix brings nothing.
    EXPECT_EQ(said_of(".reg .f64 %e<9>; ld.shared.f64 %e1, [tile]; ld.shared.f64 %e2, [tile+8];\n"
                      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%e3, %e4, %e5, %e6}, "
                      "{%e1, %e2}, {%e1}, {%e3, %e4, %e5, %e6};"),
              "");
}

}  // namespace
}  // namespace lockwarp::check
