// SPDX-License-Identifier: Apache-2.0
// Waits of one lane for its CTA, for another lane, or for what never comes, in any order of CTAs.
#include <array>
#include <cstring>

#include "emu/exec/inspector.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::waits_test {

namespace {

// f(threads, outcome) on one core and on several.
template <class F>
void run_each_way(const isa::Program& program, const Given& given, F check) {
    for (const unsigned threads : {1u, 2u, 8u}) {
        Given with = given;
        with.threads = threads;
        check(threads, run(program, std::move(with)));
    }
}

Given grid_of(uint32_t ctas, uint32_t threads, Words lock, uint32_t results) {
    Given given;
    given.grid.x = ctas;
    given.block.x = threads;
    given.buffers = {bytes_of(lock), Bytes(size_t{4} * results)};
    return given;
}

// Thread 0 of every CTA but `first` waits for the flag, and its CTA at a barrier; CTA `first` works
// for `work` steps before it sets it. Then each thread stores what the first CTA left.
std::string lock_wait(const std::string& first, uint32_t work) {
    return kernel(R"(
mov.u32 %r2, )" + first +
                  R"(;
setp.eq.u32 %p1, %t0, %r2;
setp.ne.u32 %p2, %r1, 0;
@%p1 bra WORK;
@%p2 bra MEET;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd1];
setp.ne.u32 %p3, %r3, 1;
@%p3 bra WAIT;
MEET:
bar.sync 0;
ld.global.u32 %r4, [%rd1+4];
add.u32 %r4, %r4, %r1;
st.global.u32 [%rd2], %r4;
ret;
WORK:
mov.u32 %r5, 0;
mov.u32 %r6, 1;
STEP:
mad.lo.u32 %r6, %r6, 1664525, 1013904223;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p4, %r5, )" +
                  std::to_string(work) + R"(;
@%p4 bra STEP;
@%p2 bra DONE;
st.global.u32 [%rd1+4], %r6;
st.release.gpu.global.u32 [%rd1], 1;
DONE:
bar.sync 0;
st.global.u32 [%rd2], %r6;
ret;)");
}

TEST(Waits, OfOneLaneForAnotherCta) {
    for (const uint32_t work : {1u, 300u, 200'000u})
        for (const bool last : {false, true}) {
            uint32_t value = 1;
            for (uint32_t i = 0; i < work; ++i) value = value * 1664525u + 1013904223u;
            Words expected;
            for (uint32_t cta = 0; cta < 4; ++cta)
                for (uint32_t i = 0; i < 64; ++i)
                    expected.push_back(cta == (last ? 3 : 0) ? value : value + i);
            const isa::Program program =
                program_of(lock_wait(last ? "3" : "0", work), isa::Arch::sm_80);
            run_each_way(program, grid_of(4, 64, {0, 0}, 256), [&](unsigned threads, Outcome o) {
                EXPECT_EQ(fault_of(o.result), "") << threads;
                EXPECT_EQ(words_of(o.buffers[1]), expected) << threads << " threads, " << work;
            });
        }
}

// Lets go of a lock.
constexpr std::array let_go{
    "atom.release.gpu.global.exch.b32 %r4, [%rd1], 0;",
    "st.release.gpu.global.u32 [%rd1], 0;",
    "fence.acq_rel.gpu;\nst.volatile.global.u32 [%rd1], 0;",
};

// A CTA asks again and again for what another is to write, each time with the lock, between two
// barriers: whenever these give others their turn it is taken.
TEST(Waits, ForALockThatAnotherCtaTakesAgainAndAgain) {
    for (const char* const release : let_go)
        for (const bool cluster : {false, true}) {
            const isa::Program program = program_of(kernel(R"(
setp.ne.u32 %p1, %t0, 0;
setp.ne.u32 %p2, %r1, 0;
AGAIN:
@%p2 bra MEET;
TAKE:
atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1;
setp.ne.u32 %p3, %r3, 0;
@%p3 bra TAKE;
MEET:
bar.sync 0;
@%p1 st.global.u32 [%rd1+4], 7;
ld.global.u32 %r5, [%rd1+4];
bar.sync 0;
@%p2 bra ASK;
)" + std::string(release) + R"(
ASK:
setp.eq.u32 %p4, %r5, 0;
@%p4 bra AGAIN;
st.global.u32 [%rd2], %r5;
ret;)",
                                                           "", "sm_90"),
                                                    isa::Arch::sm_90);
            Given given = grid_of(2, 64, {0, 0}, 128);
            given.max_steps = 300'000;
            if (cluster) given.cluster = {2, 1, 1};
            run_each_way(program, given, [&](unsigned threads, Outcome o) {
                EXPECT_EQ(fault_of(o.result), "") << threads << ' ' << release << ' ' << cluster;
                EXPECT_EQ(words_of(o.buffers[1]), Words(128, 7));
            });
        }
}

// A warp does, in a loop of ten instructions, of which a turn has a multiple: wherever its turns
// end in the loop, they always end there. The warp that writes comes later, and is the first or the
// last.
TEST(Waits, ForALockThatAnotherWarpTakesAgainAndAgain) {
    for (const char* const release : let_go)
        for (unsigned before = 0; before < 20; ++before) {
            const bool last = before % 2 == 0;
            std::string body;
            for (unsigned i = 0; i < before / 2; ++i) body += "mov.u32 %r6, 0;\n";
            body += "setp." + std::string(last ? "ge" : "lt") + ".u32 %p1, %r1, 32;";
            body += R"(
and.b32 %r7, %r1, 31;
setp.ne.u32 %p2, %r7, 0;
@%p2 exit;
@!%p1 bra TAKE;
mov.u32 %r8, 0;
LATE:
add.u32 %r8, %r8, 1;
setp.lt.u32 %p5, %r8, 10000;
@%p5 bra LATE;
TAKE:
atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1;
setp.ne.u32 %p3, %r3, 0;
@%p3 bra TAKE;
@%p1 st.volatile.global.u32 [%rd1+4], 7;
ld.volatile.global.u32 %r5, [%rd1+4];
setp.eq.u32 %p4, %r5, 0;
mov.u32 %r6, 0;
)" + std::string(release) +
                    (std::string(release).starts_with("fence") ? "" : "\nmov.u32 %r6, 0;") + R"(
@%p4 bra TAKE;
st.global.u32 [%rd2], %r5;
ret;)";
            const isa::Program program = program_of(kernel(body), isa::Arch::sm_80);
            Given given = grid_of(1, 64, {0, 0}, 64);
            given.max_steps = 2'000'000;
            const Outcome o = run(program, std::move(given));
            EXPECT_EQ(fault_of(o.result), "") << before << ' ' << release;
            EXPECT_EQ(words_of(o.buffers[1])[0], 7u);
            EXPECT_EQ(words_of(o.buffers[1])[32], 7u);
        }
}

// Every lane spins for itself, and meets the others behind the loop: where it stands with the lock.
std::string naive_spin(const std::string& in_loop, const std::string& behind) {
    return kernel(R"(
mov.u32 %r5, 0;
SPIN:
)" + in_loop + R"(
atom.acquire.gpu.global.cas.b32 %r2, [%rd1], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra SPIN;
ld.volatile.global.u32 %r3, [%rd1+4];
mad.lo.u32 %r3, %r3, 5, 1;
st.volatile.global.u32 [%rd1+4], %r3;
atom.release.gpu.global.exch.b32 %r4, [%rd1], 0;
)" + behind + R"(
st.global.u32 [%rd2], %r4;
ret;)");
}

class SpinsByLane : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SpinsByLane, WithLanesThatStandBehindTheLoop) {
    const isa::Program program =
        program_of(naive_spin(GetParam().first, GetParam().second), isa::Arch::sm_80);
    uint32_t value = 7;
    for (uint32_t i = 0; i < 3 * 64; ++i) value = 5 * value + 1;
    run_each_way(program, grid_of(3, 64, {0, 7}, 192), [&](unsigned threads, Outcome o) {
        EXPECT_EQ(fault_of(o.result), "") << threads << " threads";
        EXPECT_EQ(words_of(o.buffers[0]), (Words{0, value})) << threads << " threads";
        EXPECT_EQ(words_of(o.buffers[1]), Words(192, 1)) << threads << " threads";
    });
}

INSTANTIATE_TEST_SUITE_P(
    Loops, SpinsByLane,
    testing::Values(std::pair{"", ""}, std::pair{"", "bar.sync 0;"},
                    // It counts its rounds; it waits between them; it parts and meets.
                    std::pair{"add.u32 %r5, %r5, 1;", "bar.sync 0;"},
                    std::pair{"nanosleep.u32 %r5;\nmad.lo.u32 %r5, %r5, 3, 1;", "bar.sync 0;"},
                    std::pair{"setp.lt.u32 %p2, %r1, 16;\n@%p2 bra LOW;\nmov.u32 %r6, 1;\nLOW:",
                              "bar.sync 0;"}));

// A call in the loop, and its state in local memory, as compilers leave them for debuggers.
TEST(Waits, OfLanesThatSpinThroughCalls) {
    const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 found) take(.param .b64 at)
{
    .local .align 8 .b8 frame[16];
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [at];
    st.local.u64 [frame], %rd1;
    ld.local.u64 %rd2, [frame];
    atom.acquire.gpu.global.cas.b32 %r1, [%rd2], 0, 1;
    st.local.u32 [frame+8], %r1;
    st.param.b32 [found], %r1;
    ret;
}
.visible .entry k(.param .u64 lock, .param .u64 out)
{
    .local .align 8 .b8 frame[16];
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [lock];
    st.local.u64 [frame], %rd1;
SPIN:
    ld.local.u64 %rd2, [frame];
    {
        .param .b64 at; .param .b32 found;
        st.param.b64 [at], %rd2;
        call.uni (found), take, (at);
        ld.param.b32 %r1, [found];
    }
    st.local.u32 [frame+8], %r1;
    ld.local.u32 %r2, [frame+8];
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r3, [%rd1+4];
    mad.lo.u32 %r3, %r3, 5, 1;
    st.volatile.global.u32 [%rd1+4], %r3;
    st.release.gpu.global.u32 [%rd1], 0;
    bar.sync 0;
    ret;
}
)";
    const isa::Program program = program_of(text, isa::Arch::sm_80);
    uint32_t value = 7;
    for (uint32_t i = 0; i < 2 * 32; ++i) value = 5 * value + 1;
    run_each_way(program, grid_of(2, 32, {0, 7}, 1), [&](unsigned threads, Outcome o) {
        EXPECT_EQ(fault_of(o.result), "") << threads << " threads";
        EXPECT_EQ(words_of(o.buffers[0]), (Words{0, value})) << threads << " threads";
    });
}

// What nobody ends is a deadlock, with what each waits for, and no endless run.
void expect_deadlock(const isa::Program& program, Given given, const std::string& text) {
    given.max_steps = 50'000'000;
    run_each_way(program, given, [&](unsigned threads, const Outcome& o) {
        const std::string fault = fault_of(o.result);
        EXPECT_EQ(fault.substr(0, fault.find(", step")), text) << threads << " threads";
        EXPECT_LT(o.result.statistics.instructions, 1'000'000u) << threads << " threads";
    });
}

TEST(Waits, AFlagThatNobodySetsIsADeadlock) {
    // The lanes that stand at the barrier have not diverged: they wait for the one that waits.
    expect_deadlock(program_of(kernel(R"(
setp.ne.u32 %p1, %r1, 0;
@%p1 bra MEET;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd1+4];
setp.ne.u32 %p3, %r3, 1;
@%p3 bra WAIT;
MEET:
bar.sync 0;
ret;)"),
                               isa::Arch::sm_80),
                    grid_of(3, 64, {0, 0}, 1),
                    "deadlock: waits for 0x10000004 (buffer 'A' + 4), which nothing can change any "
                    "more; warp 0 at line 28 waits for the other lanes of its warp, which do not "
                    "come; warp 1 at line 28 waits at barrier 0 for threads that have exited or "
                    "wait elsewhere at line 24, CTA (0,0,0), warp 0");
}

TEST(Waits, OfCtasForEachOtherAreADeadlock) {
    // Each waits for the next one's flag before it sets its own.
    expect_deadlock(program_of(kernel(R"(
add.u32 %r2, %t0, 1;
rem.u32 %r2, %r2, 3;
mul.wide.u32 %rd5, %r2, 4;
add.u64 %rd5, %rd5, %rd1;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd5];
add.u32 %r4, %r4, 1;
setp.ne.u32 %p3, %r3, 1;
@%p3 bra WAIT;
st.global.u32 [%rd1], 1;
ret;)"),
                               isa::Arch::sm_80),
                    grid_of(3, 1, {0, 0, 0}, 1),
                    "deadlock: waits for 0x10000004 (buffer 'A' + 4), which nothing can change any "
                    "more at line 26, CTA (0,0,0), warp 0");
}

TEST(Waits, AnMbarrierThatNobodyCompletesIsADeadlock) {
    // Warp 0 waits with try_wait, warp 1 with test_wait; of two arrivals one comes, of 96 bytes 32.
    const std::string body = R"(
.shared .align 8 .b64 bars[2];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READY;
mbarrier.init.shared.b64 [bars], 2;
mbarrier.init.shared.b64 [bars+8], 1;
mbarrier.arrive.shared.b64 %rd5, [bars];
mbarrier.arrive.expect_tx.shared.b64 _, [bars+8], 96;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bars+8], 32;
READY:
bar.sync 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra SECOND;
FIRST:
mbarrier.try_wait.parity.shared.b64 %p3, [bars], 0;
@!%p3 bra FIRST;
ret;
SECOND:
mbarrier.test_wait.parity.shared.b64 %p3, [bars+8], 0;
@!%p3 bra SECOND;
ret;)";
    const isa::Program program = program_of(kernel(body, {}, "sm_90"), isa::Arch::sm_90);
    Given given = grid_of(2, 64, {0}, 1);
    given.arch = isa::Arch::sm_90;
    const std::string never = ", which nothing can change any more";
    given.max_steps = 50'000'000;
    run_each_way(program, given, [&](unsigned threads, const Outcome& o) {
        const std::string fault = fault_of(o.result);
        EXPECT_EQ(fault.substr(0, fault.find(" at line 34")),
                  "deadlock: waits for the mbarrier at 0x400 (.shared; phase 0 has not ended: 1 of "
                  "2 arrivals are missing, and 0 bytes; so far line 26: 1 arrival)" +
                      never +
                      "; warp 1 at line 38 waits for the mbarrier at 0x408 (.shared; phase 0 has "
                      "not ended: 0 of 1 arrivals are missing, and 64 bytes; so far line 27: 1 "
                      "arrival, 96 bytes expected; line 28: 32 bytes came)" +
                      never)
            << threads << " threads";
        EXPECT_LT(o.result.statistics.instructions, 1'000'000u) << threads << " threads";
    });
}

struct Heard {
    void retired(const warp::Retired& e) {
        ++instructions;
        lanes += static_cast<uint64_t>(__builtin_popcount(e.executed));
    }
    uint64_t instructions = 0, lanes = 0;
};

struct Ends : Inspector {
    void begins(const warp::GlobalMemory&) override {}
    void begins(const warp::Cta&) override {}
    Pace before(const warp::Cta&, const warp::Warp& w, size_t) override {
        ++asked;
        last_step = w.step;
        return {};
    }
    void ended(const warp::Cta& cta, const warp::Trap* trap) override {
        traps.emplace_back(cta.index, trap == nullptr ? "" : warp::trap_name(trap->kind));
    }
    uint64_t asked = 0, last_step = 0;
    std::vector<std::pair<uint64_t, std::string>> traps;
};

// To say what the lanes of a deadlock wait for they are run once more round: that is no part of the
// run, for nobody who counts, listens or stands beside it.
TEST(Waits, TheLookAtADeadlockIsNoPartOfTheRun) {
    for (const std::string loop :
         {"W: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p3, %r3, 1;\n@%p3 bra W;",
          "setp.ne.u32 %p1, %r1, 0; @%p1 bra M;\n"
          "W: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p3, %r3, 1;\n@%p3 bra W;\n"
          "M: bar.sync 0;",
          "W: atom.global.cas.b32 %r3, [%rd1], 5, 6; setp.ne.u32 %p3, %r3, 5;\n@%p3 bra W;"}) {
        const isa::Program program = program_of(kernel(loop), isa::Arch::sm_80);
        Alone<Heard> heard;
        Given given = grid_of(1, 64, {0}, 1);
        given.observers = {&heard};
        const Outcome o = run(program, given);
        ASSERT_TRUE(o.result.trap) << loop;
        EXPECT_EQ(o.result.trap->kind, warp::TrapKind::deadlock) << loop;
        EXPECT_EQ(o.result.statistics.instructions, heard.listener.instructions) << loop;
        EXPECT_EQ(o.result.statistics.lane_operations, heard.listener.lanes) << loop;

        Ends ends;
        std::vector<uint8_t> flag(4);
        warp::Launch l;
        l.block = {64, 1, 1};
        l.parameters.resize(16);
        const uint64_t address = buffer_address(0);
        std::memcpy(l.parameters.data(), &address, sizeof address);
        l.buffers = {{"A", address, flag}};
        const warp::Result result = inspect(*make_ready(program, false, true), l, ends);
        ASSERT_TRUE(result.trap) << loop;
        EXPECT_EQ(ends.traps, (decltype(ends.traps){{0, "deadlock"}})) << loop;
        EXPECT_EQ(result.statistics.instructions, o.result.statistics.instructions) << loop;
    }
}

// A block that is free again is what a CTA without one waits for.
TEST(Waits, OfACtaForABlockOfAnother) {
    const std::string take =
        "{ .param .b64 n; .param .b64 p; st.param.b64 [n], 8388608;\n"
        "call.uni (p), malloc, (n); ld.param.b64 %rd5, [p]; }\n";
    const isa::Program program = program_of(
        kernel("setp.ne.u32 %p1, %t0, 0; @%p1 bra SECOND;\n" + take +
                   "setp.ne.u64 %p2, %rd5, 0; selp.u32 %r6, 1, 2, %p2;\n"
                   "st.release.gpu.global.u32 [%rd1], %r6; mov.u32 %r5, 0;\n"
                   "WORK: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 300000; @%p3 bra WORK;\n"
                   "{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }\n"
                   "st.global.u32 [%rd2], %r6; ret;\n"
                   "SECOND: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p3, %r3, 0;\n"
                   "@%p3 bra SECOND;\nAGAIN:\n" +
                   take +
                   "setp.eq.u64 %p2, %rd5, 0; @%p2 bra AGAIN;\n"
                   "st.global.u32 [%rd2], 7; ret;",
               ".extern .func (.param .b64 p) malloc(.param .b64 n); "
               ".extern .func free(.param .b64 p);"),
        isa::Arch::sm_80);
    run_each_way(program, grid_of(2, 1, {0}, 2), [&](unsigned threads, const Outcome& o) {
        EXPECT_EQ(fault_of(o.result), "") << threads << " threads";
        EXPECT_EQ(words_of(o.buffers[1]), (Words{1, 7})) << threads << " threads";
    });
}

// A CTA that waits for one that trapped: that trap is what is wrong, and not the wait.
TEST(Waits, ForACtaThatTrappedEndWithIt) {
    const isa::Program program = program_of(kernel(R"(
setp.eq.u32 %p1, %t0, 2;
@%p1 trap;
WAIT:
ld.acquire.gpu.global.u32 %r3, [%rd1];
setp.ne.u32 %p3, %r3, 1;
@%p3 bra WAIT;
ret;)"),
                                            isa::Arch::sm_80);
    run_each_way(program, grid_of(4, 32, {0}, 1), [&](unsigned threads, const Outcome& o) {
        ASSERT_TRUE(o.result.trap) << threads << " threads";
        EXPECT_EQ(o.result.trap->kind, warp::TrapKind::trap);
        EXPECT_EQ(o.result.trap->cta_index, 2u);
    });
}

// Lanes that fail in blocks of their own, and a barrier of the others in a loop.
TEST(Waits, ABarrierBehindChecksThatMayFail) {
    for (const std::string& fails :
         {std::string("trap;"), std::string("exit;"), std::string("call.uni fail;"),
          std::string("mov.u64 %rd9, 0;\n{ .param .b64 a; st.param.b64 [a], %rd9; .param .b64 b; "
                      "st.param.b64 [b], %rd9; .param .b32 c; st.param.b32 [c], 1; .param .b64 d; "
                      "st.param.b64 [d], %rd9; .param .b64 e; st.param.b64 [e], %rd9;\n"
                      "call.uni __assertfail, (a, b, c, d, e); }")}) {
        const std::string outside =
            ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 "
            "d, .param .b64 e); .func inner() { trap; } .func fail() { call.uni inner; ret; }";
        const isa::Program program = program_of(kernel(R"(
mov.u32 %r5, 0;
LOOP:
and.b32 %r2, %r1, 3;
add.u32 %r2, %r2, %r5;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra A;
setp.gt.u32 %p2, %r2, 100;
@%p2 bra F;
add.u32 %r3, %r1, 1;
bra.uni J;
A:
setp.gt.u32 %p2, %r1, 1000;
@%p2 bra F;
add.u32 %r3, %r1, 2;
J:
bar.sync 0;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p3, %r5, 3;
@%p3 bra LOOP;
st.global.u32 [%rd2], %r3;
ret;
F:
)" + fails,
                                                       outside),
                                                isa::Arch::sm_80);
        Words expected;
        for (uint32_t i = 0; i < 64; ++i) expected.push_back(i + 1);
        run_each_way(program, grid_of(1, 64, {0}, 64), [&](unsigned, const Outcome& o) {
            EXPECT_EQ(fault_of(o.result), "") << fails;
            EXPECT_EQ(words_of(o.buffers[1]), expected) << fails;
        });
    }
}

// The only way out of a loop is a guarded exit, or a branch to one: lanes meet within it.
TEST(Waits, ABarrierInALoopThatOnlyExitsLeave) {
    for (const std::string& leaves : {std::string("@%p2 exit;"), std::string("@%p2 bra X;")}) {
        const isa::Program program = program_of(kernel(R"(
mov.u32 %r5, 0;
mov.u32 %r3, 0;
LOOP:
add.u32 %r4, %r1, %r5;
and.b32 %r4, %r4, 1;
setp.eq.u32 %p1, %r4, 0;
@%p1 bra MEET;
setp.gt.u32 %p2, %r5, 6;
)" + leaves + R"(
add.u32 %r3, %r3, 1;
st.global.u32 [%rd2], %r3;
MEET:
setp.gt.u32 %p3, %r5, 8;
@%p3 bra X;
bar.sync 0;
add.u32 %r5, %r5, 1;
bra.uni LOOP;
X:
exit;)"),
                                                isa::Arch::sm_80);
        Words expected;
        for (uint32_t i = 0; i < 64; ++i) expected.push_back(i % 2 == 0 ? 3 : 4);
        run_each_way(program, grid_of(1, 64, {0}, 64), [&](unsigned, const Outcome& o) {
            EXPECT_EQ(fault_of(o.result), "") << leaves;
            EXPECT_EQ(words_of(o.buffers[1]), expected) << leaves;
        });
    }
}

// Clocks count the instructions that the warp has retired and the time that it slept. PTX manual,
// "Special Registers"; ptxas 13.0 takes special registers wherever there are braces.

// {clock, what the body leaves in %r3, in %r4, in %r5}: each reads a clock in the instruction
// behind that one.
FourWords after_a_clock(const std::string& body) {
    return wide_results_of(std::string(".reg .b64 %x; .shared .align 16 .b8 s[16];\n"
                                       "mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
                                       "mov.u32 %r2, %clock;\n") +
                           body + "\nst.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};\n")[3];
}

TEST(Clocks, AreReadByEachInstructionThatMayHaveThem) {
    const uint32_t next = after_a_clock("")[0] + 1;
    const std::pair<const char*, FourWords> expected[] = {
        {"mov.u32 %r3, %clock;", {next - 1, next, 0, 0}},
        {"mov.b64 %x, %clock64; mov.b64 {%r3, %r4}, %x;", {next - 1, next, 0, 0}},
        {"mov.b64 %x, %globaltimer; mov.b64 {%r3, %r4}, %x;", {next - 1, next, 0, 0}},
        {"mov.u32 %r3, %clock_hi; mov.u32 %r4, %globaltimer_lo; mov.u32 %r5, %globaltimer_hi;",
         {next - 1, 0, next + 1, 0}},
        {"cvt.u32.u64 %r3, %clock64;", {next - 1, next, 0, 0}},
        {"cvt.u64.u32 %x, %clock; mov.b64 {%r3, %r4}, %x;", {next - 1, next, 0, 0}},
        {"mov.b64 %x, {%r2, %clock}; mov.b64 {%r3, %r4}, %x;", {next - 1, next - 1, next, 0}},
        {"mov.b64 %x, {%clock, %laneid}; mov.b64 {%r3, %r4}, %x;", {next - 1, next, 3, 0}},
        {"st.shared.v4.u32 [s], {%clock, %r2, %laneid, %clock_hi};\n"
         "ld.shared.v4.u32 {%r3, %r4, %r5, %r2}, [s];",
         {0, next, next - 1, 31}},  // of the warp's last lane, which stores last
        {"st.shared.v2.u64 [s], {%x, %clock64}; ld.shared.v2.u32 {%r3, %r4}, [s+8];",
         {next - 1, next, 0, 0}},
        // Of those beside it, where it is not between braces.
        {"mov.u32 %r3, %laneid;", {next - 1, 3, 0, 0}},
    };
    for (const auto& [body, words] : expected) EXPECT_EQ(after_a_clock(body), words) << body;
}

// Of those lanes alone that read it.
TEST(Clocks, AreOfTheLanesThatReadThem) {
    const uint32_t next = after_a_clock("")[0] + 1;
    for (const bool equal : {true, false}) {
        std::string body = ".reg .pred %q; .reg .b32 %laneid_; mov.u32 %laneid_, %laneid;\nsetp." +
                           std::string(equal ? "eq" : "ne") +
                           ".u32 %q, %laneid_, 3; @%q cvt.u32.u64 %r3, %clock64;";
        EXPECT_EQ(after_a_clock(body)[1], equal ? next + 2 : 0u);
    }
}

// 5,000 sleeps of a millisecond each are more nanoseconds than 32 bits have.
TEST(Clocks, HaveUpperWords) {
    const FourWords words = wide_results_of(R"(
.reg .pred %q; .reg .b64 %x;
mov.u32 %r5, 0;
more:
nanosleep.u32 1000000;
add.u32 %r5, %r5, 1;
setp.lt.u32 %q, %r5, 5000;
@%q bra more;
mov.u32 %r2, %clock;
mov.u32 %r3, %clock_hi;
mov.b64 %x, {%globaltimer_lo, %globaltimer_hi};
mov.b64 {%r4, %r5}, %x;
st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
)")[3];
    constexpr uint64_t slept = 5000ull * 1'000'000;
    EXPECT_EQ(words[1], slept >> 32);
    EXPECT_EQ(words[3], slept >> 32);
    EXPECT_GE(words[0], static_cast<uint32_t>(slept));
    EXPECT_EQ(words[2], words[0] + 2);
}

}  // namespace

}  // namespace lockwarp::exec::waits_test
