// SPDX-License-Identifier: Apache-2.0
// CTAs that wait for each other: all that a GPU would have at a time come on.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Each CTA waits for the one behind it, so that the last goes first. `poll` sets %p1 while the word
// at %rd1, the neighbour's, is 0.
std::string chain(const std::string& poll) {
    return kernel(R"(
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %nctaid.x;
        add.u32 %r3, %r1, 1;
        mul.wide.u32 %rd2, %r1, 4;
        ld.param.u64 %rd3, [out];
        add.u64 %rd0, %rd3, %rd2;
        add.u64 %rd1, %rd0, 4;
        mov.u32 %r9, 1;
        setp.eq.u32 %p0, %r3, %r2;
        @%p0 bra GO;
    WAIT:
        )" + poll +
                  R"(
        @%p1 bra WAIT;
    GO:
        add.u32 %r5, %r1, 100;
        st.release.gpu.global.u32 [%rd0], %r5;
        ret;)");
}

Words chained(uint32_t ctas) {
    Words out;
    for (uint32_t i = 0; i < ctas; ++i) out.push_back(i + 100);
    return out;
}

struct WaitCase {
    const char* name;
    std::string loop;  // sets %p1 while the word at %rd1 is zero
};

void PrintTo(const WaitCase& c, std::ostream* out) { *out << c.name; }

class Waits : public testing::TestWithParam<WaitCase> {};

TEST_P(Waits, ForACtaThatBeginsLater) {
    const isa::Program program = program_of(chain(GetParam().loop), isa::Arch::sm_80);
    for (const unsigned threads : {1u, 0u})
        for (const uint32_t ctas : {2u, 3u, 15u}) {
            Given given;
            given.grid = {ctas, 1, 1};
            given.block = {1, 1, 1};
            given.threads = threads;
            given.buffers = {Bytes(4), Bytes(ctas * size_t{4})};
            const Outcome o = run_well(program, std::move(given));
            EXPECT_EQ(words_of(o.buffers[1]), chained(ctas)) << threads << " threads";
            EXPECT_EQ(o.result.statistics.ctas, ctas);
        }
}

const WaitCase waits[] = {
    // Nothing changes from one round to the next.
    {"by_acquire", "ld.acquire.gpu.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;"},
    {"by_volatile", "ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;"},
    {"counting_rounds",
     "ld.acquire.gpu.global.u32 %r4, [%rd1];\nadd.u32 %r9, %r9, 1;\nsetp.eq.u32 %p1, %r4, 0;"},
    // An atomic that changes nothing, and one that stores what is there.
    {"by_atomic_or", "atom.global.or.b32 %r4, [%rd1], 0;\nsetp.eq.u32 %p1, %r4, 0;"},
    {"by_atomic_cas", "atom.global.cas.b32 %r4, [%rd1], 0, 0;\nsetp.eq.u32 %p1, %r4, 0;"},
    // Longer from time to time.
    {"sleeping",
     "ld.acquire.gpu.global.u32 %r4, [%rd1];\nnanosleep.u32 %r9;\nshl.b32 %r9, %r9, 1;\n"
     "min.u32 %r9, %r9, 1024;\nsetp.eq.u32 %p1, %r4, 0;"},
};

INSTANTIATE_TEST_SUITE_P(Grid, Waits, testing::ValuesIn(waits),
                         [](const auto& tested) { return std::string(tested.param.name); });

// As cooperative groups do it: the first CTA adds what makes the top bit change when all have come.
constexpr std::string_view grid_barrier = R"(
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    cvt.u64.u32 %rd1, %r1;
    cvt.u64.u32 %rd2, %r2;
    bfi.b64 %rd3, %rd1, %rd2, 32, 32;
    setp.ne.u64 %p1, %rd3, 0;
    @%p1 bra GIVEN;
    trap;
GIVEN:
    ld.param.u64 %rd4, [out];
    mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %nctaid.x;
    mov.u32 %r12, %tid.x;
    mov.u32 %r20, 0;
ROUND:
    // Thread 0 adds its round to its CTA's word.
    mul.wide.u32 %rd5, %r10, 4;
    add.u64 %rd6, %rd4, %rd5;
    setp.ne.u32 %p2, %r12, 0;
    @%p2 bra BEFORE;
    ld.global.u32 %r13, [%rd6];
    add.u32 %r13, %r13, %r20;
    st.global.u32 [%rd6], %r13;
BEFORE:
    barrier.sync 0;
    @%p2 bra BEHIND;
    setp.eq.u32 %p3, %r10, 0;
    sub.u32 %r14, 0x80000001, %r11;
    selp.b32 %r14, %r14, 1, %p3;
    atom.add.release.gpu.u32 %r15, [%rd3+4], %r14;
WAIT:
    ld.acquire.gpu.u32 %r16, [%rd3+4];
    xor.b32 %r16, %r16, %r15;
    setp.gt.s32 %p4, %r16, -1;
    @%p4 bra WAIT;
BEHIND:
    barrier.sync 0;
    // All threads take the next CTA's word as it is now, before anyone adds to it again.
    add.u32 %r17, %r10, 1;
    rem.u32 %r17, %r17, %r11;
    mul.wide.u32 %rd7, %r17, 4;
    add.u64 %rd8, %rd4, %rd7;
    ld.volatile.global.u32 %r18, [%rd8];
    add.u32 %r20, %r18, 1;
    barrier.sync 0;
    @%p2 bra AGAIN;
    atom.add.release.gpu.u32 %r15, [%rd3+4], %r14;
WAIT2:
    ld.acquire.gpu.u32 %r16, [%rd3+4];
    xor.b32 %r16, %r16, %r15;
    setp.gt.s32 %p4, %r16, -1;
    @%p4 bra WAIT2;
AGAIN:
    barrier.sync 0;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p5, %r21, 5;
    @%p5 bra ROUND;
    ret;)";

Given cooperative(uint32_t ctas, unsigned threads) {
    Given given;
    given.grid = {ctas, 1, 1};
    given.block = {64, 1, 1};
    given.threads = threads;
    given.cooperative = true;
    given.buffers = {Bytes(4), Bytes(ctas * size_t{4})};
    for (uint32_t i = 0; i < ctas; ++i) given.buffers[1][i * size_t{4}] = static_cast<uint8_t>(i);
    return given;
}

TEST(Grid, ABarrierOfACooperativeLaunch) {
    constexpr uint32_t ctas = 37;
    const isa::Program program =
        program_of(kernel("mov.u32 %r21, 0;\n" + std::string(grid_barrier)), isa::Arch::sm_80);
    Words expected;
    Words add(ctas, 0);
    for (uint32_t i = 0; i < ctas; ++i) expected.push_back(i);
    for (unsigned round = 0; round < 5; ++round) {
        for (uint32_t i = 0; i < ctas; ++i) expected[i] += add[i];
        for (uint32_t i = 0; i < ctas; ++i) add[i] = expected[(i + 1) % ctas] + 1;
    }
    for (const unsigned threads : {1u, 0u}) {
        const Outcome o = run_well(program, cooperative(ctas, threads));
        EXPECT_EQ(words_of(o.buffers[1]), expected) << threads << " threads";
    }
}

TEST(Grid, ABarrierOfAnyOtherLaunchIsTheTrapThatItIsOnAGpu) {
    const isa::Program program =
        program_of(kernel("mov.u32 %r21, 0;\n" + std::string(grid_barrier)), isa::Arch::sm_80);
    Given given = cooperative(2, 1);
    given.cooperative = false;
    const warp::Result r = run(program, std::move(given)).result;
    ASSERT_TRUE(r.trap.has_value());
    EXPECT_EQ(r.trap->kind, warp::TrapKind::trap);
    EXPECT_EQ(r.trap->detail,
              "the kernel asks for the workspace of a cooperative launch (%envreg1, %envreg2), "
              "which this is not");
}

// The kernel's own traps say nothing of a workspace: it has it, or does not ask for it.
TEST(Grid, ATrapOfItsOwnIsNotTheWorkspaces) {
    const std::string asks = "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;\n";
    for (const std::string stops : {"trap;", "brkpt;"})
        for (const bool is_cooperative : {true, false})
            for (const std::string& before : {std::string(), asks}) {
                const isa::Program program =
                    program_of(kernel(before + stops + "ret;"), isa::Arch::sm_80);
                Given given = cooperative(2, 1);
                given.cooperative = is_cooperative;
                const warp::Result r = run(program, std::move(given)).result;
                ASSERT_TRUE(r.trap.has_value());
                EXPECT_EQ(r.trap->kind,
                          stops == "trap;" ? warp::TrapKind::trap : warp::TrapKind::breakpoint);
                EXPECT_EQ(r.trap->detail.empty(), is_cooperative || before.empty())
                    << before << stops << is_cooperative;
            }
}

TEST(Grid, ACooperativeLaunchOfMoreCtasThanRunAtATimeIsRefused) {
    const isa::Program program = program_of(kernel("ret;"), isa::Arch::sm_80);
    Given given = cooperative(1, 1);
    given.grid = {8193, 1, 1};
    EXPECT_EQ(fault_of(run(program, std::move(given)).result),
              "refused: a cooperative launch of 8193 CTAs: all run at a time, and of this kernel "
              "8192 can");
}

// 384 MB of local memory each: of 4 GB.
TEST(Grid, ACooperativeLaunchOfMoreBytesThanThereAreAtATimeIsRefused) {
    const isa::Program program =
        program_of(kernel(".local .align 4 .b8 mine[393216];\nst.local.u32 [mine], %r1;\nret;"),
                   isa::Arch::sm_80);
    Given given = cooperative(11, 1);
    given.block = {1024, 1, 1};
    EXPECT_EQ(fault_of(run(program, std::move(given)).result),
              "refused: a cooperative launch of 11 CTAs: all run at a time, and of this kernel 10 "
              "can");
}

TEST(Grid, ATrapOfALaterCtaEndsThoseThatWaitForIt) {
    const isa::Program program = program_of(kernel(R"(
        mov.u32 %r1, %ctaid.x;
        ld.param.u64 %rd1, [out];
        setp.eq.u32 %p0, %r1, 3;
        @%p0 trap;
        setp.gt.u32 %p0, %r1, 3;
        @%p0 bra WAIT;
        ret;
    WAIT:
        ld.volatile.global.u32 %r2, [%rd1];
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra WAIT;
        ret;)"),
                                            isa::Arch::sm_80);
    for (const unsigned threads : {1u, 0u}) {
        Given given = cooperative(8, threads);
        given.cooperative = false;
        given.buffers[1] = Bytes(4);
        const warp::Result r = run(program, std::move(given)).result;
        ASSERT_TRUE(r.trap.has_value());
        EXPECT_EQ(r.trap->kind, warp::TrapKind::trap);
        EXPECT_EQ(r.trap->cta_index, 3u);
    }
}

// CTAs that wait for themselves, without a hope, on one core and on several.
TEST(Grid, WaitingForWhatNeverComesIsADeadlock) {
    const isa::Program program = program_of(
        chain("ld.volatile.global.u32 %r4, [%rd0];\nsetp.eq.u32 %p1, %r4, 0;"), isa::Arch::sm_80);
    for (const unsigned threads : {1u, 2u, 8u})
        for (const uint32_t ctas : {3u, 30u}) {
            Given given;
            given.grid = {ctas, 1, 1};
            given.block = {1, 1, 1};
            given.threads = threads;
            given.buffers = {Bytes(4), Bytes(ctas * size_t{4})};
            given.max_steps = 1'000'000;
            const warp::Result r = run(program, std::move(given)).result;
            ASSERT_TRUE(r.trap.has_value());
            EXPECT_EQ(r.trap->kind, warp::TrapKind::deadlock);
            EXPECT_EQ(r.trap->detail,
                      "waits for 0x20000000 (buffer 'B' + 0), which nothing can "
                      "change any more");
            EXPECT_EQ(r.trap->cta_index, 0u);
            // Each had the turns in which it showed that it waits.
            EXPECT_LT(r.statistics.instructions, ctas * 40'000u);
        }
}

// The clock may end such a wait: of many one has the time, and comes to the limit.
TEST(Grid, AWaitThatTheClockMayEndComesToTheLimit) {
    const isa::Program program =
        program_of(chain("ld.volatile.global.u32 %r4, [%rd0];\nmov.u64 %rd9, %clock64;\n"
                         "setp.gt.u64 %p2, %rd9, 0xffffffffffffff;\n@%p2 bra GO;\n"
                         "setp.eq.u32 %p1, %r4, 0;"),
                   isa::Arch::sm_80);
    Given given;
    given.grid = {30, 1, 1};
    given.block = {1, 1, 1};
    given.buffers = {Bytes(4), Bytes(120)};
    given.max_steps = 1'000'000;
    const warp::Result r = run(program, std::move(given)).result;
    ASSERT_TRUE(r.trap.has_value());
    EXPECT_EQ(r.trap->kind, warp::TrapKind::step_limit);
    EXPECT_EQ(r.trap->cta_index, 0u);
    EXPECT_GE(r.statistics.instructions, 1'000'000u);
    EXPECT_LT(r.statistics.instructions, 2'000'000u);
}

// One that asks the clock how long to sleep, as cuda::barrier's does, waits for ever.
TEST(Grid, AWaitThatTheClockDoesNotEndIsADeadlock) {
    const isa::Program program =
        program_of(chain("ld.volatile.global.u32 %r4, [%rd0];\nmov.u64 %rd9, %clock64;\n"
                         "setp.gt.u64 %p2, %rd9, 1000;\n@%p2 nanosleep.u32 100;\n"
                         "setp.eq.u32 %p1, %r4, 0;"),
                   isa::Arch::sm_80);
    for (const unsigned threads : {1u, 2u}) {
        Given given;
        given.grid = {3, 1, 1};
        given.block = {1, 1, 1};
        given.threads = threads;
        given.buffers = {Bytes(4), Bytes(12)};
        given.max_steps = 100'000'000;
        const warp::Result r = run(program, std::move(given)).result;
        ASSERT_TRUE(r.trap.has_value());
        EXPECT_EQ(r.trap->kind, warp::TrapKind::deadlock);
        EXPECT_LT(r.statistics.instructions, 5'000'000u);
    }
}

}  // namespace

}  // namespace lockwarp::exec
