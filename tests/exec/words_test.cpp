// SPDX-License-Identifier: Apache-2.0
// What traps and refusals say, word by word, and which lane they name: the lowest that is at fault
// and takes part.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "emu/exec/watch.hpp"
#include "emu/isa/texture.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Up to the place, with the lane: "KIND: detail at line N ... lane L".
std::string said(const std::string& fault) {
    const size_t place = fault.rfind(" at line ");
    const size_t lane = fault.find(", lane ");
    if (place == std::string::npos) return fault;
    if (lane == std::string::npos) return fault.substr(0, place);
    return fault.substr(0, place) + fault.substr(lane, fault.find(',', lane + 1) - lane);
}

std::string trap_of(const std::string& body, const std::string& outside = {}, Given given = {},
                    const std::string& target = "sm_80") {
    if (given.buffers.empty()) given.buffers = {Bytes(4096), Bytes(4096)};
    std::string text = kernel(body, outside, target);
    if (target != "sm_80") text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    return said(fault_of(run(program_of(text, given.arch), std::move(given)).result));
}

// %p1: lanes from 5 on.
const std::string from_5 = "setp.ge.u32 %p1, %r1, 5;\n";

TEST(TrapWords, OfTheStack) {
    const std::string take = from_5 + "stacksave.u64 %rd5; mov.u64 %rd7, 64;\n";
    EXPECT_EQ(trap_of(take + "alloca.u64 %rd6, %rd7; stackrestore.u64 %rd5;"), "");
    EXPECT_EQ(trap_of(take + "stackrestore.u64 %rd5;"), "");
    EXPECT_EQ(trap_of(take + "add.u64 %rd5, %rd5, 1; @%p1 stackrestore.u64 %rd5;"),
              "illegal operand: stackrestore of an address that stacksave did not give, lane 5");
    // 524,288 bytes are all that a thread has.
    const auto room = [&](const std::string& bytes) {
        return trap_of(from_5 + "mov.u64 %rd7, " + bytes + "; @%p1 alloca.u64 %rd6, %rd7;");
    };
    EXPECT_EQ(room("524288"), "");
    EXPECT_EQ(room("524289"),
              "stack overflow: alloca of 524289 bytes; the thread has 0 of 524288, lane 5");
    EXPECT_EQ(room("-1"),
              "stack overflow: alloca of 18446744073709551615 bytes; the thread has 0 "
              "of 524288, lane 5");
    EXPECT_EQ(trap_of(from_5 + "mov.u64 %rd7, 524280; alloca.u64 %rd6, %rd7; mov.u64 %rd7, 9;\n"
                               "@%p1 alloca.u64 %rd6, %rd7;"),
              "stack overflow: alloca of 9 bytes; the thread has 524280 of 524288, lane 5");
    // Aligned, even none have a place within.
    EXPECT_EQ(trap_of(from_5 + "mov.u64 %rd7, 8; alloca.u64 %rd6, %rd7;\n"
                               "@%p1 alloca.u64 %rd6, %rd7, 1048576;"),
              "stack overflow: alloca of 8 bytes; the thread has 8 of 524288, lane 5");
    // Each call needs 400 bytes and up to 15 to align them.
    const std::string deep = trap_of(from_5 + "@%p1 call.uni deep;",
                                     ".func deep() { .local .b32 x[100]; call.uni deep; "
                                     "ret; }");
    EXPECT_TRUE(
        deep.starts_with("stack overflow: function 'deep' needs 400 bytes; the thread's "
                         "calls have 52"))
        << deep;
    EXPECT_TRUE(deep.ends_with(" of 524288, lane 5")) << deep;
}

TEST(TrapWords, OfVprintf) {
    const std::string outside =
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 "
        "a); .global .b8 text[4] = {37, 115, 33, 0}; "
        ".global .b8 number[3] = {37, 100, 0};";
    const auto print = [&](const std::string& format, const std::string& arguments) {
        return trap_of(from_5 + "mov.u64 %rd5, " + format + "; mov.u64 %rd6, " + arguments +
                           "; @!%p1 ret;\n{ .param .b64 f; .param .b64 a; .param .b32 b;\n"
                           "st.param.b64 [f], %rd5; st.param.b64 [a], %rd6;\n"
                           "call.uni (b), vprintf, (f, a); }\n",
                       outside);
    };
    EXPECT_EQ(print("16", "16"), "address out of bounds: the format of vprintf, lane 5");
    EXPECT_EQ(print("number", "16"), "address out of bounds: an argument of vprintf, lane 5");
    EXPECT_EQ(print("text", "16"), "address out of bounds: an argument of vprintf, lane 5");
    EXPECT_EQ(print("number", "%rd1"), "");
}

isa::Texture object(bool surface) {
    isa::Texture t;
    t.address = buffer_address(0) + 256;
    t.width = 4;
    t.height = 3;
    t.depth = 0;
    t.pitch = 16;
    t.slice = 48;
    t.kind = isa::TexelKind::floating;
    t.is_surface = surface;
    return t;
}

TEST(TrapWords, OfTexturesAndSurfaces) {
    Given given;
    given.buffers = {Bytes(512), Bytes(4096)};
    const auto put = [&](size_t at, const isa::Texture& t) {
        const isa::TextureBytes bytes = isa::encode(t);
        std::ranges::copy(bytes, given.buffers[0].begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(0, object(true));
    put(128, object(false));
    const auto trap = [&](const std::string& instruction, const std::string& x,
                          const std::string& y = "0") {
        return trap_of(from_5 + "mov.u32 %r8, " + x + "; mov.u32 %r9, " + y +
                           "; add.u64 %rd8, %rd1, 128; add.u64 %rd9, %rd1, 4; mov.u32 %r7, 7;\n"
                           "@%p1 " +
                           instruction,
                       {}, given);
    };
    const std::string none = "address out of bounds: no ";
    EXPECT_EQ(trap("suld.b.2d.b32.trap %r10, [%rd8, {%r8, %r9}];", "0"),
              none + "surface object has this handle, lane 5");
    EXPECT_EQ(trap("suld.b.2d.b32.trap %r10, [%rd9, {%r8, %r9}];", "0"),
              none + "surface object has this handle, lane 5");
    EXPECT_EQ(trap("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r8, %r9}];", "0"),
              none + "texture object has this handle, lane 5");
    EXPECT_EQ(trap("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd8, {%r8, %r9}];", "0"), "");
    const auto outside = [](const std::string& bytes, const std::string& at) {
        return "address out of bounds: " + bytes + " bytes at (" + at +
               ") lie outside a surface of 16 bytes by 3 by 0, lane 5";
    };
    for (const bool stores : {false, true}) {
        const auto b32 = [&](const std::string& x, const std::string& y) {
            return trap(stores ? "sust.b.2d.b32.trap [%rd1, {%r8, %r9}], %r7;"
                               : "suld.b.2d.b32.trap %r10, [%rd1, {%r8, %r9}];",
                        x, y);
        };
        const auto b64 = [&](const std::string& x, const std::string& y) {
            return trap(stores ? "sust.b.2d.v2.b32.trap [%rd1, {%r8, %r9}], {%r7, %r7};"
                               : "suld.b.2d.v2.b32.trap {%r10, %r11}, [%rd1, {%r8, %r9}];",
                        x, y);
        };
        EXPECT_EQ(b32("0", "0"), "");
        EXPECT_EQ(b32("12", "2"), "");
        EXPECT_EQ(b32("16", "2"), outside("4", "16, 2"));
        EXPECT_EQ(b32("12", "3"), outside("4", "12, 3"));
        EXPECT_EQ(b32("-4", "0"), outside("4", "-4, 0"));
        EXPECT_EQ(b32("0", "-1"), outside("4", "0, -1"));
        EXPECT_EQ(b64("8", "2"), "");
        EXPECT_EQ(b64("16", "0"), outside("8", "16, 0"));
        EXPECT_EQ(b32("2", "0"),
                  "misaligned address: byte 2 of a surface's row is no multiple of 4, lane 5");
        EXPECT_EQ(b64("4", "0"),
                  "misaligned address: byte 4 of a surface's row is no multiple of 8, lane 5");
    }
}

TEST(TrapWords, OfClusters) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.grid.x = 2;
    given.cluster = warp::Dim3{2};
    given.buffers = {Bytes(4096), Bytes(4096)};
    const auto trap = [&](const std::string& body) {
        return trap_of(from_5 + "mov.u32 %r6, own; mov.u32 %r7, bar;\n" + body,
                       ".shared .align 16 .b8 own[1024]; .shared .align 8 .b64 bar;", given,
                       "sm_90");
    };
    // Shared memory begins at 0x400 and has 1,032 bytes, which is 1,152 in whole units.
    const std::string peer = "mapa.shared::cluster.u32 %r8, %r6, 1;\n";
    EXPECT_EQ(trap(peer + "@%p1 ld.shared::cluster.u32 %r9, [%r8+1148];\n"), "");
    EXPECT_EQ(trap(peer + "@%p1 ld.shared::cluster.u32 %r9, [%r8+1152];\n"),
              "address out of bounds: 4 bytes; .shared memory of the CTA of rank 1 is [0x1000400, "
              "0x1000880), lane 5");
    EXPECT_EQ(trap("mapa.shared::cluster.u32 %r8, %r6, 3;\n"
                   "@%p1 ld.shared::cluster.u32 %r9, [%r8];\n"),
              "address out of bounds: there is no CTA of rank 3: the cluster has 2, lane 5");
    const std::string multicast =
        "mov.u16 %h1, MASK; mov.u32 %r10, 16; @!%p1 ret;\n"
        "mbarrier.init.shared.b64 [%r7], 40; cp.async.bulk.shared::cluster.global"
        ".mbarrier::complete_tx::bytes.multicast::cluster [%r6], [%rd1], %r10, [%r7], %h1;\n";
    const auto masked = [&](const std::string& mask) {
        std::string text = multicast;
        return trap(text.replace(text.find("MASK"), 4, mask));
    };
    const std::string words =
        "illegal instruction: the mask of a multicast copy names CTAs that the cluster has not, "
        "lane 5";
    EXPECT_EQ(masked("4"), words);
    EXPECT_EQ(masked("0x8000"), words);
    EXPECT_NE(masked("1"), words);
    EXPECT_NE(masked("3"), words);
    EXPECT_EQ(trap("@%p1 barrier.cluster.wait;\n"),
              "deadlock: 27 threads of the warp wait at the cluster's barrier without having "
              "arrived there");
    EXPECT_EQ(trap("setp.eq.u32 %p2, %r1, 7; @%p2 barrier.cluster.wait;\n"),
              "deadlock: a thread of the warp waits at the cluster's barrier without having "
              "arrived there");
}

std::string refusal(const warp::Launch& l, const std::string& text, isa::Arch arch) {
    return fault_of(launch(program_of(text, arch), l));
}

TEST(RefusalWords, OfLaunches) {
    const std::string text = kernel("ret;");
    warp::Launch l;
    l.grid = {4, 2, 1};
    l.block = {32, 1, 1};
    l.parameters.resize(16);
    l.first_cta = 7;
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80), "");
    l.first_cta = 8;
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80), "refused: the grid has no CTA 8");
    // A part of a grid with clusters.
    const std::string hopper = kernel("ret;", {}, "sm_90");
    const auto part = [&](warp::Dim3 cluster, uint64_t first, uint64_t ctas) {
        l.cluster = cluster;
        l.first_cta = first;
        l.ctas = ctas;
        return refusal(l, hopper, isa::Arch::sm_90);
    };
    const auto side_by_side = [](const std::string& first, const std::string& slab) {
        return "refused: CTAs from " + first + " on: a part of the grid has whole clusters, of " +
               slab + " CTAs side by side";
    };
    EXPECT_EQ(part({2}, 2, 4), "");
    EXPECT_EQ(part({2}, 6, 0), "");
    EXPECT_EQ(part({2}, 1, 2), side_by_side("1", "2"));
    EXPECT_EQ(part({2}, 2, 3), side_by_side("2", "2"));
    EXPECT_EQ(part({1, 2, 1}, 0, 8), "");
    EXPECT_EQ(part({1, 2, 1}, 4, 0), side_by_side("4", "8"));
    EXPECT_EQ(part({1, 2, 1}, 0, 4), side_by_side("0", "8"));
    l = {};
    l.block = {1024, 1, 1};
    l.grid = {4, 1, 1};
    l.cluster = {4, 1, 1};
    l.parameters.resize(16);
    EXPECT_EQ(
        refusal(l, kernel(".local .b8 big[524288]; mov.u64 %rd5, big; ret;"), isa::Arch::sm_90),
        "refused: a cluster of this kernel needs more than 2 GB for registers and local memory");
    l.grid = {};
    l.cluster.reset();
    l.block = {32, 1, 1};
    l.heap_bytes = uint64_t{1} << 30;
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80), "");
    ++l.heap_bytes;
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80),
              "refused: a heap of 1073741825 bytes: at most 1 GB is supported");
    // What is not the caller's has a name too.
    l.heap_bytes = 0;
    Bytes bytes(64);
    l.buffers = {{"mine", isa::module_global_base, bytes}};
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80), "");
    const std::string variables = refusal(l, kernel("ret;", ".global .b32 g;"), isa::Arch::sm_80);
    EXPECT_NE(variables.find("'mine'"), std::string::npos) << variables;
    EXPECT_NE(variables.find("'module variables'"), std::string::npos) << variables;
    l.cooperative = true;
    l.buffers = {{"mine", isa::grid_workspace + isa::grid_workspace_bytes, bytes}};
    EXPECT_EQ(refusal(l, text, isa::Arch::sm_80), "");
    l.buffers[0].address = isa::grid_workspace + isa::grid_workspace_bytes - 1;
    const std::string workspace = refusal(l, text, isa::Arch::sm_80);
    EXPECT_NE(workspace.find("'grid workspace'"), std::string::npos) << workspace;
}

std::string deadlock_of(const std::string& body, uint32_t warps) {
    Given given;
    given.block.x = 32 * warps;
    given.buffers = {Bytes(64), Bytes(4096 * 4)};
    const std::string fault = fault_of(
        run(program_of(kernel(body, ".shared .align 16 .b32 s[8];"), given.arch), given).result);
    const std::string kind = "deadlock: ";
    EXPECT_TRUE(fault.starts_with(kind)) << fault;
    return fault.substr(std::min(kind.size(), fault.size()));
}

// Each warp goes to a line of its own, with its number for N.
std::string each_its_own(uint32_t warps, const std::string& does) {
    std::string body = "shr.u32 %r2, %r1, 5;\n";
    for (uint32_t w = 0; w < warps; ++w)
        body += "setp.eq.u32 %p1, %r2, " + std::to_string(w) + "; @%p1 bra L" + std::to_string(w) +
                ";\n";
    for (uint32_t w = 0; w < warps; ++w) {
        std::string line = does;
        line.replace(line.find('N'), 1, std::to_string(w));
        body += "L" + std::to_string(w) + ": " + line + " ret;\n";
    }
    return body;
}

TEST(DeadlockWords, OfBarriers) {
    const std::string why = " for threads that have exited or wait elsewhere";
    const auto expected = [&](uint32_t warps, uint32_t listed) {
        std::string out = "waits at barrier 0" + why;
        for (uint32_t w = 1; w < listed; ++w)
            out += "; warp " + std::to_string(w) + " at line " +
                   std::to_string(first_body_line + 1 + warps + w) + " waits at barrier " +
                   std::to_string(w) + why;
        if (warps > listed) out += "; and " + std::to_string(warps - listed) + " more";
        return out + " at line " + std::to_string(first_body_line + 1 + warps) +
               ", CTA (0,0,0), warp 0, step ";
    };
    for (const uint32_t warps : {2u, 7u, 8u, 9u, 11u}) {
        const std::string said = deadlock_of(each_its_own(warps, "barrier.sync N, 512;"), warps);
        EXPECT_TRUE(said.starts_with(expected(warps, std::min(warps, 8u)))) << said;
    }
    // Those that wait for the same at one line are named together.
    EXPECT_TRUE(deadlock_of("setp.lt.u32 %p1, %r1, 32; @%p1 bra A;\nbarrier.sync 1, 512; ret;\n"
                            "A: barrier.sync 0, 512;\n",
                            4)
                    .starts_with("waits at barrier 0" + why +
                                 "; warps 1, 2, 3 at line 21 waits at barrier 1" + why +
                                 " at line 22, CTA (0,0,0), warp 0, step "));
}

TEST(DeadlockWords, OfMemory) {
    const std::string never = ", which nothing can change any more at line ";
    const auto spin = [](const std::string& load) {
        return "W: " + load + " setp.eq.u32 %p1, %r5, 0; @%p1 bra W;\n";
    };
    const auto starts = [](const std::string& said, const std::string& words) {
        EXPECT_TRUE(said.starts_with(words)) << said << "\n" << words;
    };
    starts(deadlock_of(spin("ld.volatile.global.u32 %r5, [%rd1+20];"), 1),
           "waits for 0x10000014 (buffer 'A' + 20)" + never + "20, ");
    starts(deadlock_of(spin("ld.volatile.shared.u32 %r5, [s+8];"), 1),
           "waits for memory at 0x8" + never + "20, ");
    // Two places, each once, however often they are looked at.
    starts(deadlock_of(spin("ld.volatile.global.u32 %r5, [%rd1];\nld.volatile.global.u32 %r6, "
                            "[%rd1+4]; or.b32 %r5, %r5, %r6;\nld.volatile.global.u32 %r6, [%rd1]; "
                            "or.b32 %r5, %r5, %r6;"),
                       1),
           "waits for 0x10000000 (buffer 'A' + 0), 0x10000004 (buffer 'A' + 4)" + never);
    // Of many lanes eight places are said.
    const std::string many =
        deadlock_of("and.b32 %r2, %r1, 15; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd5, %rd1;\n" +
                        spin("ld.volatile.global.u32 %r5, [%rd5];"),
                    1);
    starts(many, "waits for 0x10000000 (buffer 'A' + 0), 0x10000004 (buffer 'A' + 4), ");
    EXPECT_NE(many.find("0x1000001c (buffer 'A' + 28)" + never), std::string::npos) << many;
    // Who looks at memory comes first, before those that wait at a barrier.
    starts(deadlock_of("setp.lt.u32 %p2, %r1, 64; @%p2 bar.sync 0;\n" +
                           spin("ld.volatile.global.u32 %r5, [%rd1];"),
                       3),
           "waits for 0x10000000 (buffer 'A' + 0), which nothing can change any more; warps 0, 1 "
           "at line 20 waits at barrier 0 for threads that have exited or wait elsewhere at line "
           "21, CTA (0,0,0), warp 2, ");
}

// A trap has the calls that it lies in, innermost first, whatever it is.
TEST(TrapWords, HaveTheirCalls) {
    const std::pair<std::string, warp::TrapKind> rows[] = {
        {"L: bra L;", warp::TrapKind::step_limit},
        {"trap;", warp::TrapKind::trap},
        {".reg .b32 r; ld.global.b32 r, [16];", warp::TrapKind::out_of_bounds},
        {"bar.sync 0, 64;", warp::TrapKind::deadlock},
    };
    for (const auto& [does, kind] : rows) {
        const isa::Program program = program_of(
            kernel("call.uni outer;\nret;",
                   ".func inner() { " + does + " ret; } .func outer() { call.uni inner; ret; }"),
            isa::Arch::sm_80);
        Given given;
        given.max_steps = 500;
        given.buffers = {Bytes(64), Bytes(64)};
        const Outcome out = run(program, given);
        ASSERT_TRUE(out.result.trap) << does;
        EXPECT_EQ(out.result.trap->kind, kind) << fault_of(out.result);
        std::string calls;
        for (const uint32_t call : out.result.trap->calls)
            for (const isa::Function& f : program.functions)
                if (call >= f.first && call < f.end)
                    calls += f.name + (program.operations[call].op == isa::Op::call ? " " : "? ");
        EXPECT_EQ(calls, "outer k ") << does;
    }
}

TEST(Seen, KnowsWhatItWasGivenUntilItIsEmptied) {
    std::mt19937 random(4);
    Seen seen;
    for (int round = 0; round < 20; ++round) {
        std::vector<bool> known(3000, false);
        const uint32_t below = round % 2 == 0 ? 3000 : 40;
        for (int n = 0; n < 2000; ++n) {
            const auto number = static_cast<uint32_t>(random() % below);
            const uint32_t spread = number * 64;  // by hash some fall together
            ASSERT_EQ(seen.contains(spread), known[number]);
            ASSERT_EQ(seen.insert(spread), !known[number]);
            ASSERT_TRUE(seen.contains(spread));
            known[number] = true;
        }
        seen.clear();
        for (uint32_t number = 0; number < below; ++number)
            ASSERT_FALSE(seen.contains(number * 64));
    }
}

}  // namespace

}  // namespace lockwarp::exec
