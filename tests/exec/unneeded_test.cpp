// SPDX-License-Identifier: Apache-2.0
// Loads whose result nothing needs, where nothing can be loaded. An H100 (driver 580.159.04) was
// asked each of these with its compiler's default level: it faults where `faults` is.
#include "emu/exec/unneeded.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// %rd1: a buffer. %rd2: null. %r1: %tid.x, unknown to the assembler.
std::string kernel_of_loads(const std::string& body) {
    return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<4>;
    .reg .b32 %r<24>;
    .reg .f32 %f<16>;
    .reg .b64 %rd<16>;
    .shared .align 16 .b8 s[512];
    .local .align 16 .b8 l[64];
    ld.param.u64 %rd1, [a];
    mov.u64 %rd2, 0;
    mov.u32 %r1, %tid.x;
    mov.u32 %r9, 0;
)" + body + "\nst.global.u32 [%rd1], 7;\nret;\n}\n";
}

std::optional<warp::Trap> trap_of(const std::string& body, bool leave_out = true) {
    const isa::Program program = program_of(kernel_of_loads(body), isa::Arch::sm_90, "k");
    Given given;
    given.arch = isa::Arch::sm_90;
    given.buffers = {Bytes(256)};
    given.leave_out_loads = leave_out;
    const Outcome out = run(program, given);
    EXPECT_FALSE(out.result.refusal) << out.result.refusal->what;
    // It goes on behind it.
    EXPECT_EQ(out.buffers[0][0], out.result.trap ? 0 : 7) << body;
    return out.result.trap;
}

struct Row {
    const char* body;
    bool faults;
};

constexpr const char* bad_load = "ld.global.u32 %r2, [%rd2];\n";

// The load is the body's first, or the only one from %rd2.
constexpr Row rows[] = {
    {"ld.global.u32 %r2, [%rd2];", false},
    {"ld.u32 %r2, [%rd2];", false},
    {"ld.weak.global.u32 %r2, [%rd2];", false},
    {"ld.global.nc.u32 %r2, [%rd2];", false},
    {"ld.global.cv.u32 %r2, [%rd2];", false},
    {"ldu.global.u32 %r2, [%rd2];", false},
    {"ld.relaxed.gpu.global.u32 %r2, [%rd2];", false},
    {"ld.acquire.gpu.global.u32 %r2, [%rd2];", false},
    {"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];", false},
    {"ld.volatile.global.u32 %r2, [%rd2];", true},
    {"atom.global.add.u32 %r2, [%rd2], 1;", true},
    {"ld.global.u32 %r2, [%rd1+2];", false},
    {"ld.shared.u32 %r2, [s+0x100000];", false},
    {"mov.u32 %r8, 0x7fffff0; ld.local.u32 %r2, [%r8];", false},
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r2, %r3, %r4, %r5, %r6, %r7, %r10, "
     "%r11}, [%rd2], 16;",
     false},
    {"mov.u32 %r8, 0x100000; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r8];", false},
    {"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2]; st.global.u32 [%rd1+4], %r4;", true},
};

// What follows a load from null into %r2.
constexpr Row uses[] = {
    {"add.u32 %r3, %r2, 1;", false},
    {"setp.eq.u32 %p1, %r2, 0; selp.u32 %r3, 1, 2, %p1;", false},
    {"shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;", false},
    {"setp.eq.u32 %p1, %r2, 0; vote.sync.ballot.b32 %r3, %p1, -1;", false},
    {"redux.sync.add.u32 %r3, %r2, -1;", false},
    {"mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
     "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r2, %r3, %r4, "
     "%r5}, "
     "{%r5, %r6}, {%f0, %f1, %f2, %f3};",
     false},
    {"mov.u32 %r2, 5; st.global.u32 [%rd1+4], %r2;", false},
    {"cvt.u64.u32 %rd3, %r2; ld.global.u32 %r3, [%rd3];", false},
    {"mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
     "L: add.u32 %r3, %r3, %r2; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 4; @%p1 bra L;",
     false},
    {"add.cc.u32 %r3, %r2, 1; addc.u32 %r4, %r3, 0;", false},
    {"add.cc.u32 %r3, %r2, 1; addc.u32 %r4, 0, 0; st.global.u32 [%rd1+4], %r4;", true},
    {"add.cc.u32 %r3, %r2, 1; add.cc.u32 %r4, 1, 1; addc.u32 %r4, 0, 0;\n"
     "st.global.u32 [%rd1+4], %r4;",
     false},
    {"st.shared.u32 [s], %r2;", true},
    {"st.global.u32 [%rd1+4], %r2;", true},
    {"setp.gt.u32 %p1, %r1, 1000; @%p1 st.global.u32 [%rd1+4], %r2;", true},
    {"setp.gt.u32 %p1, %r1, 1000; @%p1 mov.u32 %r2, 5; st.global.u32 [%rd1+4], %r2;", true},
    {"setp.gt.u32 %p1, %r1, 1000; @%p1 bra L; mov.u32 %r2, 5;\nL: st.global.u32 [%rd1+4], %r2;",
     true},
    {"cvt.u64.u32 %rd3, %r2; st.global.u32 [%rd3], 1;", true},
    {"setp.eq.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%rd1+8], 1;\nL:", true},
};

std::string with_load(const Row& use) { return bad_load + std::string(use.body); }

}  // namespace

TEST(UnneededLoads, FaultWhereAnH100Does) {
    for (const Row& row : rows) EXPECT_EQ(trap_of(row.body).has_value(), row.faults) << row.body;
    for (const Row& use : uses)
        EXPECT_EQ(trap_of(with_load(use)).has_value(), use.faults) << use.body;
}

TEST(UnneededLoads, AreATrapWhereTheLaunchDoesNotSay) {
    for (const Row& row : rows) EXPECT_TRUE(trap_of(row.body, false)) << row.body;
    for (const Row& use : uses) EXPECT_TRUE(trap_of(with_load(use), false)) << use.body;
}

// Another trap of such an instruction is none of its address.
TEST(UnneededLoads, KeepOtherTraps) {
    const auto trap = trap_of(
        "setp.gt.u32 %p1, %r1, 3; @%p1 bra L;\n"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r9];\nL:");
    ASSERT_TRUE(trap);
    EXPECT_EQ(trap->kind, warp::TrapKind::diverged);
}

// What a function gives back its caller may need, and what it is given the function.
TEST(UnneededLoads, StandInFunctionsToo) {
    const auto text =
        [](const std::string& result, const std::string& after) {
            return R"(.version 8.0
.target sm_90
.address_size 64
.func (.reg .b32 %back) f(.reg .b64 %at)
{
    .reg .b32 %r<4>;
    ld.global.u32 %r1, [%at];
    )" + result + R"(
    ret;
}
.visible .entry k(.param .u64 a)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    mov.u64 %rd2, 0;
    call (%r2), f, (%rd2);
    )" + after + "\nst.global.u32 [%rd1], 7;\nret;\n}\n";
        };
    const auto traps = [](const std::string& ptx) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.buffers = {Bytes(256)};
        given.leave_out_loads = true;
        const isa::Program program = program_of(ptx, isa::Arch::sm_90, "k");
        return run(program, given).result.trap.has_value();
    };
    EXPECT_TRUE(traps(text("mov.u32 %back, %r1;", "st.global.u32 [%rd1+4], %r2;")));
    EXPECT_FALSE(traps(text("mov.u32 %back, 3;", "st.global.u32 [%rd1+4], %r2;")));
}

// The operations, each with its load.
TEST(UnneededLoads, AreFoundByOperation) {
    const isa::Program program =
        program_of(kernel_of_loads("ld.global.u32 %r2, [%rd1];\nld.global.u32 %r3, [%rd1];\n"
                                   "st.global.u32 [%rd1+4], %r3;"),
                   isa::Arch::sm_90, "k");
    const std::vector<bool> found = find_unneeded_loads(program);
    ASSERT_EQ(found.size(), program.operations.size());
    EXPECT_EQ(std::ranges::count(found, true), 1);
    const auto at = static_cast<size_t>(std::ranges::find(found, true) - found.begin());
    EXPECT_EQ(program.operations[at].op, isa::Op::ld);
    EXPECT_TRUE(found[at] && !found[at + 1]);
}

}  // namespace lockwarp::exec
