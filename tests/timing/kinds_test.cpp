// SPDX-License-Identifier: Apache-2.0
// Which kind each instruction is, and how many registers live at once.
#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "emu/timing/lowering.hpp"

namespace {

using namespace lockwarp;

struct Lowered {
    isa::Program program;
    timing::Lowering lowering;
};

Lowered lowered(const std::string& body) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
        ".reg .pred %p<4>; .shared .align 16 .b8 s[64];\nld.param.u64 %d0, [p];\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body;
    isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << body;
    Lowered out{std::move(r.program), {}};
    out.lowering = timing::lower(out.program, *timing::machine_named("sm_90"));
    return out;
}

// Of the instruction behind the load of the parameter.
std::string kind_of(const std::string& instruction) {
    return std::string(timing::row(lowered(instruction).lowering.operations[1].kind).name);
}

TEST(Kinds, OfInstructions) {
    const std::pair<const char*, const char*> rows[] = {
        {"mov.u32 %r1, %r2;", "free"},
        {"mov.u32 %r1, %clock;", "clock"},
        {"add.u32 %r1, %r2, %r3;", "add"},
        {"add.u64 %d1, %d2, %d3;", "alu64"},
        {"add.f32 %f1, %f2, %f3;", "f32"},
        {"add.f64 %fd1, %fd2, %fd3;", "f64"},
        {"add.rn.f16x2 %r1, %r2, %r3;", "f16x2"},
        {"mul.lo.u32 %r1, %r2, %r3;", "multiply"},
        {"mul.hi.u32 %r1, %r2, %r3;", "multiply64"},
        {"mul.wide.u32 %d1, %r2, %r3;", "multiply64"},
        {"mul.lo.u64 %d1, %d2, %d3;", "multiply64"},
        {"mul.f32 %f1, %f2, %f3;", "f32"},
        {"mad.lo.u32 %r1, %r2, %r3, %r4;", "multiply"},
        {"mad.hi.u32 %r1, %r2, %r3, %r4;", "multiply64"},
        {"fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", "f64"},
        {"div.u32 %r1, %r2, %r3;", "divide_u32"},
        {"rem.u64 %d1, %d2, %d3;", "divide_u64"},
        {"div.rn.f32 %f1, %f2, %f3;", "divide_f32"},
        {"div.rn.f64 %fd1, %fd2, %fd3;", "divide_f64"},
        {"div.approx.f32 %f1, %f2, %f3;", "divide_f32_full"},
        {"sqrt.rn.f32 %f1, %f2;", "root_f32"},
        {"rcp.rn.f64 %fd1, %fd2;", "divide_f64"},
        // Subnormal operands are scaled but with .ftz; those of 16 bits need none.
        {"ex2.approx.ftz.f32 %f1, %f2;", "mufu"},
        {"ex2.approx.f32 %f1, %f2;", "mufu_scaled"},
        {"ex2.approx.f16 %h1, %h2;", "mufu"},
        {"sin.approx.f32 %f1, %f2;", "mufu_scaled"},
        {"tanh.approx.f32 %f1, %f2;", "mufu"},
        {"popc.b32 %r1, %r2;", "count_bits"},
        {"clz.b32 %r1, %r2;", "find_bit"},
        {"bfe.u32 %r1, %r2, %r3, %r4;", "bit_field"},
        {"and.b32 %r1, %r2, %r3;", "alu"},
        {"and.b64 %d1, %d2, %d3;", "alu64"},
        {"setp.eq.u32 %p1, %r2, %r3;", "predicate"},
        {"setp.eq.u64 %p1, %d2, %d3;", "alu64"},
        {"setp.eq.f32 %p1, %f2, %f3;", "predicate"},
        {"setp.eq.f64 %p1, %fd2, %fd3;", "f64"},
        // The low half of 64 bits is there, and zeros are the other half.
        {"cvt.u32.u64 %r1, %d2;", "free"},
        {"cvt.s32.s64 %r1, %d2;", "free"},
        {"cvt.u64.u32 %d1, %r2;", "free"},
        {"cvt.s64.s32 %d1, %r2;", "alu"},
        {"cvt.u32.u16 %r1, %h2;", "alu"},
        {"cvt.u64.u16 %d1, %h2;", "alu"},
        {"cvt.u16.u64 %h1, %d2;", "alu"},
        {"cvt.rn.f32.s32 %f1, %r2;", "convert"},
        {"cvt.f32.f16 %f1, %h2;", "convert"},
        {"cvt.rn.f16.f32 %h1, %f2;", "convert"},
        {"cvt.rzi.s32.f32 %r1, %f2;", "convert64"},
        {"cvt.rn.f32.u64 %f1, %d2;", "convert64"},
        {"cvt.rn.f32.f64 %f1, %fd2;", "convert64"},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "shuffle"},
        {"shfl.sync.idx.b32 %r1, %r2, 1, 31, -1;", "shuffle_index"},
        {"vote.sync.ballot.b32 %r1, %p1, -1;", "vote"},
        {"match.any.sync.b32 %r1, %r2, -1;", "match"},
        {"redux.sync.add.u32 %r1, %r2, -1;", "reduce"},
        {"bar.warp.sync -1;", "warp_barrier"},
        {"bar.sync 0;", "barrier"},
        {"membar.cta;", "fence"},
        {"membar.gl;", "fence_wide"},
        {"fence.acq_rel.cta;", "fence"},
        {"fence.acq_rel.cluster;", "fence_wide"},
        {"fence.mbarrier_init.release.cluster;", "warp_barrier"},
        {"fence.release.cta;", "fence"},
        {"fence.release.gpu;", "fence_wide"},
        {"fence.proxy.async;", "fence_proxy"},
        {"fence.proxy.async.shared::cta;", "fence_shared"},
        {"cp.async.wait_all;", "wait"},
    };
    for (const auto& [text, kind] : rows) EXPECT_EQ(kind_of(text), kind) << text;
}

unsigned alive(const std::string& body) { return lowered(body).lowering.registers; }

// %d0, the buffer's address, is two wherever it is needed later.
TEST(Registers, ThatLiveAtOnce) {
    EXPECT_EQ(alive(""), 0u) << "nobody needs the parameter";
    EXPECT_EQ(alive("st.global.u32 [%d0], %r0;"), 3u);
    EXPECT_EQ(alive("st.global.u64 [%d0], %d1;"), 4u);
    EXPECT_EQ(alive("st.global.f64 [%d0], %fd1; st.global.u16 [%d0], %h1;"), 5u);
    // What a result takes the place of is free before it.
    EXPECT_EQ(alive("prmt.b32 %r4, %r0, %r1, 1; st.global.u32 [%d0], %r4;"), 4u);
    EXPECT_EQ(alive("prmt.b32 %r4, %r0, %r0, 1; prmt.b32 %r5, %r0, %r4, 2; prmt.b32 %r6, %r0, %r5, "
                    "3; st.global.v4.u32 [%d0], {%r0, %r4, %r5, %r6};"),
              6u);
    // Where the guard is false the register keeps what it had.
    EXPECT_EQ(alive("@%p1 prmt.b32 %r4, %r0, %r1, 1; st.global.u32 [%d0], %r4;"), 5u);
    // Predicates live elsewhere.
    EXPECT_EQ(alive("setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 1; @%p1 st.global.u32 [%d0], "
                    "%r0; @%p2 st.global.u32 [%d0], %r0;"),
              3u);
    // Around a loop: what it reads, what it changes, and what is needed behind it.
    const std::string loop =
        "L: prmt.b32 %r4, %r4, %r5, 1; setp.ne.u32 %p1, %r4, %r6;\n"
        "@%p1 bra L; st.global.u32 [%d0], %r4;";
    EXPECT_EQ(alive("mov.u32 %r4, 0;\n" + loop), 5u);
    EXPECT_EQ(alive("mov.u32 %r4, 0;\n" + loop + "st.global.u32 [%d0], %r7;"), 6u);
    // Two loops, one within the other: the inner one's registers live with the outer one's.
    EXPECT_EQ(alive("mov.u32 %r8, 0; M: mov.u32 %r4, 0;\n" + loop +
                    "add.u32 %r8, %r8, %r9; setp.ne.u32 %p2, %r8, %r10; @%p2 bra M;"),
              8u);
    // What a loop's first block reads lives in its others too.
    EXPECT_EQ(alive("L: prmt.b32 %r4, %r4, %r5, 1; @%p2 bra M;\n"
                    "M: prmt.b32 %r10, %r6, %r7, 1; prmt.b32 %r11, %r6, %r8, 1;\n"
                    "st.global.v4.u32 [%d0], {%r10, %r11, %r6, %r7}; @%p3 bra N;\n"
                    "N: setp.ne.u32 %p1, %r4, 0; @%p1 bra L;"),
              9u);
    // On one way only.
    EXPECT_EQ(alive("@%p1 bra A; st.global.u32 [%d0], %r1; bra B; A: st.global.v2.u32 [%d0], {%r2, "
                    "%r3}; B: st.global.u32 [%d0], %r4;"),
              6u);
    EXPECT_EQ(alive("@%p1 bra A; st.global.u32 [%d0], %r1; ret; A: st.global.v2.u32 [%d0], {%r2, "
                    "%r3};"),
              5u);
    // Many: more than one word of bits.
    std::string many, last;
    for (int i = 0; i < 80; ++i) {
        const std::string r = "%m" + std::to_string(i);
        many += "ld.global.u32 " + r + ", [%d0+" + std::to_string(4 * i) + "];\n";
        last += "st.global.u32 [%d0+" + std::to_string(400 + 4 * i) + "], " + r + ";\n";
    }
    EXPECT_EQ(alive(".reg .b32 %m<80>;\n" + many + last), 82u);
    EXPECT_EQ(alive(".reg .b32 %m<80>;\n" + many + "L:\n" + last), 82u);
}

}  // namespace
