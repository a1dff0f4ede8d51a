// SPDX-License-Identifier: Apache-2.0
// Lanes that part at a branch, and where they meet again.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint32_t all = 0xffffffff;

constexpr const char* if_else = R"(
and.b32 %r2, %r1, 1;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra EVEN;
mov.u32 %r3, 100;
activemask.b32 %r4;
bra DONE;
EVEN:
mov.u32 %r3, 200;
activemask.b32 %r4;
DONE:
activemask.b32 %r5;
)";

TEST(Flow, IfElseRunsEachSideInItsLanes) {
    EXPECT_EQ(results_of(stored(if_else, "%r3")),
              by_lane([](uint32_t lane) { return lane % 2 == 0 ? 200u : 100u; }));
    EXPECT_EQ(results_of(stored(if_else, "%r4")),
              by_lane([](uint32_t lane) { return lane % 2 == 0 ? 0x55555555u : 0xaaaaaaaau; }));
}

TEST(Flow, LanesAreTogetherAfterAnIf) {
    EXPECT_EQ(results_of(stored(if_else, "%r5")), Words(32, all));
    EXPECT_EQ(results_of(stored(
                  std::string(if_else) + "vote.sync.ballot.b32 %r6, %p1, 0xffffffff;\n", "%r6")),
              Words(32, 0x55555555));
}

TEST(Flow, AnIfWithoutElseSkips) {
    const std::string body = R"(
setp.lt.u32 %p1, %r1, 5;
mov.u32 %r3, 7;
@%p1 bra DONE;
add.u32 %r3, %r3, %r1;
DONE:
activemask.b32 %r5;
)";
    EXPECT_EQ(results_of(stored(body, "%r3")),
              by_lane([](uint32_t lane) { return lane < 5 ? 7 : 7 + lane; }));
    EXPECT_EQ(results_of(stored(body, "%r5")), Words(32, all));
}

constexpr const char* nested = R"(
and.b32 %r2, %r1, 1;
and.b32 %r3, %r1, 2;
setp.ne.u32 %p1, %r2, 0;
setp.ne.u32 %p2, %r3, 0;
@%p1 bra ODD;
@%p2 bra TWO;
mov.u32 %r4, 10;
activemask.b32 %r5;
bra INNER;
TWO:
mov.u32 %r4, 12;
activemask.b32 %r5;
INNER:
activemask.b32 %r6;
bra DONE;
ODD:
mov.u32 %r4, 11;
activemask.b32 %r5;
activemask.b32 %r6;
DONE:
activemask.b32 %r7;
)";

TEST(Flow, NestedBranchesMeetInsideOut) {
    EXPECT_EQ(results_of(stored(nested, "%r4")), by_lane([](uint32_t lane) {
                  return lane % 2 != 0 ? 11u : lane & 2 ? 12u : 10u;
              }));
    EXPECT_EQ(results_of(stored(nested, "%r5")), by_lane([](uint32_t lane) {
                  return lane % 2 != 0 ? 0xaaaaaaaau : lane & 2 ? 0x44444444u : 0x11111111u;
              }));
    EXPECT_EQ(results_of(stored(nested, "%r6")),
              by_lane([](uint32_t lane) { return lane % 2 != 0 ? 0xaaaaaaaau : 0x55555555u; }));
    EXPECT_EQ(results_of(stored(nested, "%r7")), Words(32, all));
}

constexpr const char* counted_loop = R"(
mov.u32 %r2, 0;
mov.u32 %r3, 0;
LOOP:
setp.ge.u32 %p1, %r2, %r1;
@%p1 bra DONE;
add.u32 %r2, %r2, 1;
add.u32 %r3, %r3, %r2;
activemask.b32 %r4;
bra LOOP;
DONE:
activemask.b32 %r5;
)";

TEST(Flow, ALoopRunsAsOftenAsEachLaneAsks) {
    EXPECT_EQ(results_of(stored(counted_loop, "%r3")),
              by_lane([](uint32_t lane) { return lane * (lane + 1) / 2; }));
    // In its last round lane n is with those that go round n times or more.
    const Words masks = results_of(stored(counted_loop, "%r4"));
    for (uint32_t lane = 1; lane < 32; ++lane) EXPECT_EQ(masks[lane], all << lane);
    EXPECT_EQ(results_of(stored(counted_loop, "%r5")), Words(32, all));
}

TEST(Flow, LanesThatReturnEarlyAreGone) {
    const std::string body = R"(
st.global.u32 [%rd2], 1;
setp.lt.u32 %p1, %r1, 8;
@%p1 ret;
activemask.b32 %r5;
)";
    EXPECT_EQ(results_of(stored(body, "%r5")),
              by_lane([](uint32_t lane) { return lane < 8 ? 1u : 0xffffff00u; }));
}

TEST(Flow, LanesThatReturnInsideABranchAreNotWaitedFor) {
    const std::string body = R"(
st.global.u32 [%rd2], 1;
setp.lt.u32 %p1, %r1, 16;
setp.lt.u32 %p2, %r1, 4;
@!%p1 bra DONE;
@%p2 exit;
DONE:
activemask.b32 %r5;
)";
    EXPECT_EQ(results_of(stored(body, "%r5")),
              by_lane([](uint32_t lane) { return lane < 4 ? 1u : 0xfffffff0u; }));
}

// As a persistent kernel's loop is written by hand: within it the lanes still meet.
TEST(Flow, LanesMeetInALoopThatOnlyAGuardedExitLeaves) {
    const std::string body = R"(
st.global.u32 [%rd2], 0;
mov.u32 %r3, 0;
LOOP:
and.b32 %r2, %r1, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra JOIN;
add.u32 %r3, %r3, 2;
JOIN:
activemask.b32 %r5;
bar.warp.sync -1;
bar.sync 0;
st.global.u32 [%rd2], %r5;
add.u32 %r3, %r3, 1;
bar.sync 0;
mov.u32 %r4, 3;
setp.ge.u32 %p2, %r4, 2;
@%p2 exit;
bra LOOP;
)";
    EXPECT_EQ(results_of(body), Words(32, all));
}

TEST(Flow, BreakLeavesNestedLoops) {
    const std::string body = R"(
mov.u32 %r2, 0;
mov.u32 %r6, 0;
mul.lo.u32 %r7, %r1, 3;
OUTER:
mov.u32 %r3, 0;
INNER:
setp.ge.u32 %p1, %r6, %r7;
@%p1 bra OUT;
add.u32 %r6, %r6, 1;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 10;
@%p2 bra INNER;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p3, %r2, 5;
@%p3 bra OUTER;
OUT:
activemask.b32 %r5;
)";
    EXPECT_EQ(results_of(stored(body, "%r6")),
              by_lane([](uint32_t lane) { return std::min(3 * lane, 50u); }));
    EXPECT_EQ(results_of(stored(body, "%r5")), Words(32, all));
}

TEST(Flow, PathsThatNeverMeetBothEnd) {
    EXPECT_EQ(results_of(R"(
setp.lt.u32 %p1, %r1, 10;
@%p1 bra LOW;
add.u32 %r2, %r1, 1000;
st.global.u32 [%rd2], %r2;
ret;
LOW:
add.u32 %r2, %r1, 2000;
st.global.u32 [%rd2], %r2;
exit;
)"),
              by_lane([](uint32_t lane) { return lane < 10 ? 2000 + lane : 1000 + lane; }));
}

TEST(Flow, GuardsChooseLanesWithoutABranch) {
    EXPECT_EQ(results_of(R"(
setp.lt.u32 %p1, %r1, 10;
@%p1 mov.u32 %r2, 5;
@!%p1 mov.u32 %r2, 6;
@%p1 add.u32 %r2, %r2, %r1;
st.global.u32 [%rd2], %r2;
)"),
              by_lane([](uint32_t lane) { return lane < 10 ? 5 + lane : 6; }));
}

TEST(Flow, AUniformBranchSkipsForAll) {
    EXPECT_EQ(results_of(R"(
mov.u32 %r2, 1;
bra.uni OVER;
mov.u32 %r2, 2;
OVER:
st.global.u32 [%rd2], %r2;
)"),
              Words(32, 1));
}

// Independent thread scheduling (CUDA C++ programming guide, 7.x): a lane may wait for another
// lane of its own warp, whichever side of the branch it is on.
TEST(Flow, ALaneMayWaitForAnotherOfItsWarp) {
    for (const char* guard : {"@%p1", "@!%p1"}) {
        const bool waits_when_taken = guard[1] == '%';
        const std::string wait =
            "AGAIN:\nld.volatile.shared.u32 %r3, [flag];\nsetp.eq.u32 %p3, %r3, 0;\n"
            "@%p3 bra AGAIN;\n";
        const std::string give = "st.volatile.shared.u32 [flag], %r1;\nmov.u32 %r3, 1;\n";
        const std::string body = std::string(".shared .u32 flag;\n") +
                                 "st.shared.u32 [flag], 0;\nbar.warp.sync 0xffffffff;\n"
                                 "setp.lt.u32 %p1, %r1, 20;\n" +
                                 guard + " bra TAKEN;\n" + (waits_when_taken ? give : wait) +
                                 "bra DONE;\nTAKEN:\n" + (waits_when_taken ? wait : give) +
                                 "DONE:\n";
        // The highest of the lanes that store wins.
        EXPECT_EQ(results_of(stored(body, "%r3")),
                  by_lane([](uint32_t lane) { return lane < 20 ? 31u : 1u; }))
            << guard;
    }
}

// A lock that is given back after the loop that waits for it: every lane waits for its turn.
TEST(Flow, LanesOfOneWarpTakeTurns) {
    EXPECT_EQ(results_of(R"(
.shared .u32 turn;
.shared .u32 sum;
st.shared.u32 [turn], 0;
st.shared.u32 [sum], 0;
bar.warp.sync 0xffffffff;
WAIT:
ld.volatile.shared.u32 %r2, [turn];
setp.ne.u32 %p1, %r2, %r1;
@%p1 bra WAIT;
ld.volatile.shared.u32 %r3, [sum];
add.u32 %r3, %r3, %r1;
st.volatile.shared.u32 [sum], %r3;
add.u32 %r2, %r2, 1;
st.volatile.shared.u32 [turn], %r2;
st.global.u32 [%rd2], %r3;
)"),
              by_lane([](uint32_t lane) { return lane * (lane + 1) / 2; }));
}

// Random structured programs: what 32 lanes of a warp compute together is what 32 CTAs of a
// single thread compute, which never diverge.
class Generator {
  public:
    explicit Generator(uint32_t seed) : random_(seed) {}

    std::string program(bool with_returns) {
        with_returns_ = with_returns;
        text_ =
            "mul.wide.u32 %rd10, %r0, 4;\nadd.u64 %rd10, %rd10, %rd1;\n"
            "ld.global.u32 %r2, [%rd10];\nmov.u32 %r3, 1;\nmov.u32 %r5, 0;\n";
        block(0, "");
        return text_ + "st.global.u32 [%rd2], %r3;\n";
    }

  private:
    uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    std::string label() { return "L" + std::to_string(labels_++); }

    void step() {
        text_ += "mad.lo.u32 %r3, %r3, " + std::to_string(2 * pick(1000) + 1) + ", %r2;\n";
    }
    // %p1: a bit of what has been computed so far.
    void condition() {
        text_ += "shr.u32 %r4, %r3, " + std::to_string(pick(30)) +
                 ";\nand.b32 %r4, %r4, 1;\nsetp.ne.u32 %p1, %r4, 0;\n";
    }
    void block(int depth, const std::string& leave) {
        for (uint32_t i = 0, n = 1 + pick(4); i < n; ++i) statement(depth, leave);
    }
    void statement(int depth, const std::string& leave) {
        step();
        if (depth > 4) return;
        switch (pick(6)) {
            case 0: {
                const std::string other = label();
                const std::string end = label();
                condition();
                text_ += "@%p1 bra " + other + ";\n";
                block(depth + 1, leave);
                text_ += "bra " + end + ";\n" + other + ":\n";
                block(depth + 1, leave);
                text_ += end + ":\n";
                break;
            }
            case 1: {
                const std::string end = label();
                condition();
                text_ += "@!%p1 bra " + end + ";\n";
                block(depth + 1, leave);
                text_ += end + ":\n";
                break;
            }
            case 2: {
                // At most five rounds; the counter is the loop's own.
                const std::string again = label();
                const std::string end = label();
                const std::string counter = "%r" + std::to_string(10 + depth);
                text_ += "mov.u32 " + counter + ", 0;\n" + again + ":\n";
                block(depth + 1, end);
                text_ += "add.u32 " + counter + ", " + counter + ", 1;\nand.b32 %r4, %r3, 3;\n" +
                         "add.u32 %r4, %r4, 2;\nsetp.lt.u32 %p1, " + counter + ", %r4;\n@%p1 bra " +
                         again + ";\n" + end + ":\n";
                break;
            }
            case 3:
                if (leave.empty()) break;
                condition();
                text_ += "@%p1 bra " + leave + ";\n";
                break;
            case 4:
                if (!with_returns_) break;
                condition();
                text_ +=
                    "shr.u32 %r4, %r3, 7;\nand.b32 %r4, %r4, 7;\nsetp.eq.u32 %p2, %r4, 0;\n"
                    "@%p2 st.global.u32 [%rd2], %r3;\n@%p2 ret;\n";
                break;
            default:
                step();
        }
    }

    std::mt19937 random_;
    std::string text_;
    unsigned labels_ = 0;
    bool with_returns_ = false;
};

TEST(Flow, RandomProgramsComputeInAWarpWhatTheyComputeAlone) {
    std::mt19937 random(5);
    size_t differing = 0;
    for (uint32_t seed = 0; seed < 300; ++seed) {
        const std::string body = Generator(seed).program(seed % 2 == 0);
        Words in;
        for (int i = 0; i < 64; ++i) in.push_back(static_cast<uint32_t>(random()));
        Given together;
        together.block.x = 64;
        Given alone;
        alone.grid.x = 64;
        alone.block.x = 1;
        const Words expected = results_of(body, in, alone);
        ASSERT_EQ(results_of(body, in, together), expected) << body;
        differing += expected != Words(64, expected[0]);
    }
    EXPECT_GT(differing, 290u) << "the programs do not depend on their input";
}

TEST(Flow, RandomProgramsEndWithAllLanesTogether) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const std::string body = Generator(seed).program(false) + "activemask.b32 %r5;\n" +
                                 "st.global.u32 [%rd2], %r5;\n";
        Words in;
        for (uint32_t i = 0; i < 32; ++i) in.push_back(i * 2654435761u);
        ASSERT_EQ(results_of(body, in), Words(32, all)) << body;
    }
}

// Lane 0 and the others part and come together by other branches, which all go the same way, before
// a barrier that lies before the meeting of the first branch: nvcc makes this of
// `if (threadIdx.x == 0) ...; if (last) { ...; __syncthreads(); }`.
std::string ways_to_a_barrier(const std::string& last) {
    return "ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 1; setp.eq.u32 %p1, %r1, 0;\n"
           "@%p1 bra Alone;\n"
           "@%p2 bra Last; bra.uni End;\n"
           "Last: " +
           last +
           "add.u32 %r3, %r1, 1; st.global.u32 [%rd2], %r3; bra.uni End;\n"
           "Alone: @%p2 bra Reset; bra.uni Count;\n"
           "Reset: st.global.u32 [%rd1], 7; bra.uni Last;\n"
           "Count: st.global.u32 [%rd1], 8;\n"
           "End:\n";
}

TEST(Flow, WaysThatComeTogetherBeforeAnAlignedInstruction) {
    for (const std::string last :
         {"bar.sync 0;\n", "barrier.sync.aligned 0;\n",
          "barrier.red.popc.aligned.u32 %r5, 0, %p1;\n",
          "mov.b32 %r4, 0; mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
          "{%r4, %r5}, {%r4, %r4, %r4, %r4}, {%r4, %r4}, {%r4, %r4};\n"}) {
        Words expected(32);
        for (uint32_t i = 0; i < 32; ++i) expected[i] = i + 1;
        EXPECT_EQ(results_of(ways_to_a_barrier(last), {1}), expected) << last;
    }
}

TEST(Flow, AnAlignedInstructionForWhichTheOthersDoNotCome) {
    for (const std::string body :
         {"setp.eq.u32 %p1, %r1, 0; @!%p1 bra B; bar.sync 0; B: bar.sync 1;",
          "setp.eq.u32 %p1, %r1, 0; @%p1 bra B; bra.uni C; B: bar.sync 0; C: bar.sync 1;",
          "setp.eq.u32 %p1, %r1, 0; @!%p1 bra B; bar.sync 0; bra.uni C; B: bar.sync 0; C: add.u32 "
          "%r1, %r1, 1;"}) {
        const std::string fault = fault_of_body(body);
        EXPECT_NE(fault.find("aligned instruction in a diverged warp"), std::string::npos) << body;
        EXPECT_NE(fault.find(" of the warp's 32 threads are here"), std::string::npos) << fault;
    }
}

}  // namespace

}  // namespace lockwarp::exec
