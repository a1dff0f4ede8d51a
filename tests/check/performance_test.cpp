// SPDX-License-Identifier: Apache-2.0
// What is said of slow accesses and of branches that part warps, word by word, and of what is near
// to them and well: nothing.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check {
namespace {

// Line by line "KIND LINE xCOUNT: MESSAGE", lines counted from the body's first; 64 threads.
std::string said_of(const std::string& body) {
    constexpr uint32_t first_line = 12;
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n"
        ".visible .entry k(.param .u64 out)\n{\n.local .align 16 .b8 own[64];\n"
        ".reg .b32 %r<16>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n"
        "and.b32 %r3, %r1, 31; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %d1;\n"
        "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u64 %d3, own;\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body << parsed.diagnostics[0].message;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << body << r.diagnostics[0].message;
    std::vector<uint8_t> out(1 << 16);
    warp::Launch launch;
    launch.block.x = 64;
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
        text += std::string(f.finding.kind) + " " +
                std::to_string(r.program.operations[*f.finding.here.operation].place.line -
                               first_line) +
                " x" + std::to_string(f.finding.count) + ": " + f.finding.message + "\n";
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
    // One lane's alone.
    EXPECT_EQ(said_of("setp.ne.u32 %p1, %r3, 0;\n@!%p1 ld.global.u32 %r6, [%d1+64];"), "");
}

}  // namespace
}  // namespace lockwarp::check
