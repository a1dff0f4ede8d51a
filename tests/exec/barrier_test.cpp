// SPDX-License-Identifier: Apache-2.0
// Barriers of a CTA. PTX manual, "bar, barrier".
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

Given block_of(uint32_t threads) {
    Given given;
    given.block.x = threads;
    return given;
}

// %r2 = address of this thread's word of a shared table, %r3 = of the word of thread
// (%r1 + 37) % 256.
constexpr const char* table = R"(
.shared .u32 table[256];
mov.u32 %r9, table;
shl.b32 %r2, %r1, 2;
add.u32 %r2, %r2, %r9;
add.u32 %r3, %r1, 37;
and.b32 %r3, %r3, 255;
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r9;
)";

TEST(Barrier, SyncOrdersEightWarps) {
    // Ten rounds: everyone writes its word, then reads a neighbour's, which both barriers keep.
    Words expected;
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t sum = 0;
        for (uint32_t round = 0; round < 10; ++round) sum += (i + 37) % 256 + 1000 * round;
        expected.push_back(sum);
    }
    for (const char* sync : {"bar.sync 0", "barrier.sync 3", "bar.sync 15, 256",
                             "barrier.cta.sync.aligned 0", "bar.cta.sync 1"}) {
        const std::string body = std::string(table) + R"(
mov.u32 %r4, %r1;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
LOOP:
st.shared.u32 [%r2], %r4;
)" + sync + R"(;
ld.shared.u32 %r7, [%r3];
add.u32 %r6, %r6, %r7;
)" + sync + R"(;
add.u32 %r4, %r4, 1000;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p1, %r5, 10;
@%p1 bra LOOP;
st.global.u32 [%rd2], %r6;
)";
        EXPECT_EQ(results_of(body, {}, block_of(256)), expected) << sync;
    }
}

TEST(Barrier, AWarpThatDoesNotWaitRunsAhead) {
    // Without the barrier the first warp reads before the last one writes.
    const Words out = results_of(std::string(table) + R"(
st.shared.u32 [%r2], 1;
ld.shared.u32 %r7, [%r3];
st.global.u32 [%rd2], %r7;
)",
                                 {}, block_of(256));
    EXPECT_EQ(out[0], 0u);
}

TEST(Barrier, ArriveLetsTheProducerGoOn) {
    // Warp 0 makes, warp 1 takes: barrier 1 says "full", barrier 2 "empty", five rounds.
    const std::string body = R"(
.shared .u32 box[32];
mov.u32 %r9, box;
and.b32 %r2, %r1, 31;
shl.b32 %r3, %r2, 2;
add.u32 %r3, %r3, %r9;
mov.u32 %r4, 0;
mov.u32 %r6, 0;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra TAKE;
MAKE:
mad.lo.u32 %r5, %r4, 100, %r2;
st.shared.u32 [%r3], %r5;
bar.arrive 1, 64;
bar.sync 2, 64;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 5;
@%p2 bra MAKE;
bra DONE;
TAKE:
bar.sync 1, 64;
ld.shared.u32 %r5, [%r3];
st.shared.u32 [%r3], 0;
add.u32 %r6, %r6, %r5;
bar.arrive 2, 64;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 5;
@%p2 bra TAKE;
DONE:
st.global.u32 [%rd2], %r6;
)";
    Words expected(32, 0);
    for (uint32_t i = 0; i < 32; ++i) expected.push_back(1000 + 5 * i);
    EXPECT_EQ(results_of(body, {}, block_of(64)), expected);
}

TEST(Barrier, CountsOnlyTheWarpsItNames) {
    // Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2; nobody waits for the others.
    const Words out = results_of(std::string(table) + R"(
shr.u32 %r4, %r1, 6;
add.u32 %r4, %r4, 1;
xor.b32 %r5, %r1, 32;
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r5, %r9;
st.shared.u32 [%r2], %r1;
bar.sync %r4, 64;
ld.shared.u32 %r7, [%r5];
st.global.u32 [%rd2], %r7;
)",
                                 {}, block_of(128));
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i ^ 32);
}

TEST(Barrier, ExitedWarpsAreNotWaitedFor) {
    const Words out = results_of(std::string(table) + R"(
st.shared.u32 [%r2], %r1;
st.global.u32 [%rd2], 5;
setp.ge.u32 %p1, %r1, 64;
@%p1 exit;
bar.sync 0;
xor.b32 %r5, %r1, 63;
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r5, %r9;
ld.shared.u32 %r7, [%r5];
st.global.u32 [%rd2], %r7;
)",
                                 {}, block_of(128));
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 64 ? i ^ 63 : 5u);
}

TEST(Barrier, ALaterExitOpensTheBarrier) {
    // Warp 1 exits only after warp 0 has begun to wait.
    const Words out = results_of(R"(
mov.u32 %r2, 0;
setp.lt.u32 %p1, %r1, 32;
@%p1 bra WAIT;
SPIN:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 50000;
@%p2 bra SPIN;
st.global.u32 [%rd2], %r2;
exit;
WAIT:
bar.sync 0;
st.global.u32 [%rd2], 1;
)",
                                 {}, block_of(64));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 32 ? 1u : 50000u);
}

TEST(Barrier, AnIncompleteLastWarpArrivesWhole) {
    const Words out = results_of(std::string(table) + R"(
st.shared.u32 [%r2], %r1;
bar.sync 0;
sub.u32 %r5, 49, %r1;
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r5, %r9;
ld.shared.u32 %r7, [%r5];
st.global.u32 [%rd2], %r7;
)",
                                 {}, block_of(50));
    for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(out[i], 49 - i);
}

// barrier without .aligned: threads of one warp may arrive at different instructions.
TEST(Barrier, UnalignedArrivesFromBothSidesOfABranch) {
    const Words out = results_of(std::string(table) + R"(
setp.lt.u32 %p1, %r1, 16;
@%p1 bra LOW;
st.shared.u32 [%r2], %r1;
barrier.sync 0;
bra READ;
LOW:
add.u32 %r4, %r1, 100;
st.shared.u32 [%r2], %r4;
barrier.sync 0;
READ:
xor.b32 %r5, %r1, 31;
shl.b32 %r5, %r5, 2;
add.u32 %r5, %r5, %r9;
ld.shared.u32 %r7, [%r5];
st.global.u32 [%rd2], %r7;
)",
                                 {}, block_of(64));
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t from = i ^ 31;
        EXPECT_EQ(out[i], from < 16 ? from + 100 : from);
    }
}

TEST(Barrier, UnalignedWithAGuardHoldsOnlyItsLanes) {
    // Sixteen lanes of either warp make up the count of 32. Each lane goes on once.
    const Words out = results_of(R"(
st.global.u32 [%rd2], 0;
and.b32 %r2, %r1, 16;
setp.eq.u32 %p1, %r2, 0;
@%p1 barrier.sync 1, 32;
add.u32 %r3, %r1, 1;
red.global.add.u32 [%rd2], %r3;
)",
                                 {}, block_of(64));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i + 1);
}

// Where a loop is the kernel's last, threads that leave it exit, and the barrier in it is for those
// that stay (CUDA C++ programming guide, "Volta synchronization": all non-exited threads).
TEST(Barrier, OfALoopThatOtherThreadsHaveLeftForTheirEnd) {
    constexpr std::string_view loop = R"(
and.b32 %r3, %r1, 3;
mov.u32 %r2, 0;
LOOP:
bar.sync 0;
add.u32 %r2, %r2, 1;
st.global.u32 [%rd2], %r2;
setp.le.u32 %p1, %r2, %r3;
@%p1 bra LOOP;
)";
    for (const std::string_view end : {"", "exit;"}) {
        const Words out = results_of(std::string(loop) + std::string(end), {}, block_of(64));
        for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 4 + 1) << end;
    }
    // Whatever is left to do.
    const Words out =
        results_of(std::string(loop) + "add.u32 %r2, %r2, 10; st.global.u32 [%rd2], %r2; ret;", {},
                   block_of(64));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 4 + 11);
}

// Lanes of a warp that come to no barrier go on to their end, past where they would meet those that
// stand at one: it opens then. So did an H100 (driver 580.159.04).
TEST(Barrier, AlignedThatAPartOfAWarpMeetsOpensWhenTheOthersHaveExited) {
    struct Case {
        std::string_view body;
        uint32_t threads, others;  // others: results of lanes 16 to 31 of warp 0
    };
    // Each stores what the barrier's shared word holds: 1, once those of warp 1 stored it.
    constexpr std::string_view behind = "ld.shared.u32 %r2, [word]; st.global.u32 [%rd2], %r2;";
    constexpr std::array cases{
        Case{"@%p1 bra LOW; bra.uni HIGH; LOW: bar.sync 0; HIGH: ", 64, 0},
        Case{"@!%p1 bra HIGH; barrier.sync.aligned 0; HIGH: ", 64, 0},
        Case{"@!%p1 bra HIGH; barrier.red.popc.aligned.u32 %r3, 0, %p1; HIGH: ", 64, 0},
        Case{"@!%p1 bra HIGH; bar.sync 0, 64; HIGH: ", 64, 0},
        Case{"@!%p1 bra HIGH; bar.sync 0; HIGH: ", 33, 0},
    };
    for (const Case& each : cases) {
        const std::string body =
            ".shared .u32 word; setp.lt.u32 %p1, %r1, 16;\n"
            "setp.ge.u32 %p2, %r1, 32; or.pred %p1, %p1, %p2;\n"
            "@%p2 st.shared.u32 [word], 1;\n" +
            std::string(each.body) + std::string(behind);
        const Words out = results_of(body, {}, block_of(each.threads));
        for (uint32_t i = 0; i < each.threads; ++i)
            EXPECT_EQ(out[i], i >= 16 && i < 32 ? each.others : 1) << body << i;
    }
}

// An H100 hangs.
TEST(Barrier, AlignedInADivergedWarpIsATrap) {
    EXPECT_EQ(fault_of_body(R"(
setp.lt.u32 %p1, %r1, 16;
@%p1 bra LOW;
bar.sync 0;
ret;
LOW:
bar.sync 0;
ret;)"),
              "aligned instruction in a diverged warp: 16 of the warp's 32 threads are here at "
              "line 23, CTA (0,0,0), warp 0, step 12");
    // Behind the loop, whose barrier the first wait at, the others come to the next.
    EXPECT_NE(fault_of_body(R"(
and.b32 %r3, %r1, 1;
mov.u32 %r2, 0;
LOOP:
bar.sync 0;
add.u32 %r2, %r2, 1;
setp.le.u32 %p1, %r2, %r3;
@%p1 bra LOOP;
bar.sync 0;
st.global.u32 [%rd2], %r2;
)")
                  .find("aligned instruction in a diverged warp: 16 of the warp's 32 threads"),
              std::string::npos);
}

// Those that wait for others only to exit have done so, and the rest stand apart all the same.
TEST(Barrier, AlignedApartFromOthersWhereSomeHaveExitedIsATrap) {
    const std::string fault = fault_of_body(R"(
setp.ge.u32 %p1, %r1, 16;
@%p1 bra END;
setp.lt.u32 %p2, %r1, 6;
@%p2 bra LOW;
bar.sync 0;
bra END;
LOW:
bar.sync 0;
END:
exit;)");
    EXPECT_TRUE(
        fault.starts_with("aligned instruction in a diverged warp: 10 of the warp's 16 "
                          "threads are here at line 25, CTA (0,0,0), warp 0"))
        << fault;
}

TEST(Barrier, DifferentBarriersAreADeadlock) {
    EXPECT_EQ(
        fault_of_body(R"(
shr.u32 %r2, %r1, 5;
bar.sync %r2;
ret;)",
                      block_of(64)),
        "deadlock: waits at barrier 0 for threads that have exited or wait elsewhere; warp 1 at "
        "line 22 waits at barrier 1 for threads that have exited or wait elsewhere at "
        "line 22, CTA (0,0,0), warp 0, step 12");
}

TEST(Barrier, ACountThatIsNeverReachedIsADeadlock) {
    EXPECT_EQ(fault_of_body("bar.sync 4, 96;", block_of(64)),
              "deadlock: waits at barrier 4 for threads that have exited or wait elsewhere at "
              "line 20, CTA (0,0,0), warp 0, step 11");
}

// "The barrier counts whole warps": lanes that do not exist or have exited are among them.
TEST(Barrier, ACountIsOfWholeWarps) {
    for (const uint32_t threads : {33u, 48u, 63u, 64u}) {
        for (const char* barrier : {"bar.sync 1, 64;", "bar.red.popc.u32 %r3, 1, 64, %p2;",
                                    "setp.lt.u32 %p3, %r1, 32;\n@%p3 bra FIRST;\n"
                                    "bar.arrive 2, 64;\nbra JOIN;\nFIRST:\n"
                                    "bar.sync 2, 64;\nJOIN:"})
            EXPECT_EQ(results_of(std::string("setp.eq.u32 %p2, %r1, %r1;\n") + barrier +
                                     "\nst.global.u32 [%rd2], 7;",
                                 {}, block_of(threads)),
                      Words(threads, 7))
                << threads << " " << barrier;
        EXPECT_NE(fault_of_body("bar.sync 1, 96;", block_of(threads)), "") << threads;
    }
    // Of either warp the upper lanes have exited.
    Given given = block_of(64);
    const Words out = results_of(
        "and.b32 %r5, %r1, 31;\nst.global.u32 [%rd2], 1;\nsetp.ge.u32 %p2, %r5, 20;\n"
        "@%p2 exit;\nbar.sync 3, 64;\nst.global.u32 [%rd2], 7;",
        {}, given);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 32 < 20 ? 7u : 1u) << i;
}

TEST(Barrier, BadOperandsAreTraps) {
    EXPECT_EQ(fault_of_body("mov.u32 %r2, 16;\nbar.sync %r2;"),
              "illegal operand: barrier 16: there are 16 at line 21, CTA (0,0,0), warp 0, step 11");
    EXPECT_EQ(fault_of_body("mov.u32 %r2, 33;\nbar.sync 1, %r2;"),
              "illegal operand: a barrier's thread count must be a multiple of 32, not 33 at line "
              "21, CTA (0,0,0), warp 0, step 11");
    const auto count = [](const std::string& n) {
        const std::string fault = fault_of_body("mov.u32 %r2, " + n + ";\nbar.sync 1, %r2;");
        return fault.substr(0, fault.find(" at line"));
    };
    const std::string bad = "illegal operand: a barrier's thread count must be a multiple of 32, ";
    for (const char* const n : {"0", "1", "16", "31", "48", "65"})
        EXPECT_EQ(count(n), bad + "not " + n);
    EXPECT_EQ(count("32"), "");
    EXPECT_TRUE(count("64").starts_with("deadlock")) << count("64");
    EXPECT_EQ(fault_of_body("mov.u32 %r2, 15;\nbar.sync %r2;"), "");
    // A lane names the barrier whose guard is true.
    EXPECT_EQ(fault_of_body("setp.gt.u32 %p1, %r1, 3; selp.u32 %r2, 2, 16, %p1;\n"
                            "@%p1 barrier.sync %r2;\n@!%p1 barrier.sync 2;"),
              "");
}

}  // namespace

}  // namespace lockwarp::exec
