// SPDX-License-Identifier: Apache-2.0
// shfl, vote, activemask and bar.warp.sync, from one path and from several.
#include "tests/exec/support.hpp"

namespace lockwarp::exec::warp_test {

namespace {

struct Shuffled {
    uint32_t value;
    bool in_range;
};

// The pseudocode of the PTX manual, shfl.sync.
Shuffled shuffle(std::string_view mode, uint32_t lane, uint32_t b, uint32_t c, const Words& a) {
    const int bval = static_cast<int>(b & 31);
    const int cval = static_cast<int>(c & 31);
    const int segmask = static_cast<int>(c >> 8 & 31);
    const int here = static_cast<int>(lane);
    const int max_lane = (here & segmask) | (cval & ~segmask);
    const int min_lane = here & segmask;
    int j = 0;
    bool in_range = false;
    if (mode == "up") {
        j = here - bval;
        in_range = j >= max_lane;
    } else if (mode == "down") {
        j = here + bval;
        in_range = j <= max_lane;
    } else if (mode == "bfly") {
        j = here ^ bval;
        in_range = j <= max_lane;
    } else {
        j = min_lane | (bval & ~segmask);
        in_range = j <= max_lane;
    }
    return {a[static_cast<size_t>(in_range ? j : here)], in_range};
}

class Shfl : public testing::TestWithParam<std::string> {};

TEST_P(Shfl, IsTheManualsPseudocode) {
    const std::string mode = GetParam();
    std::mt19937 random(3);
    const std::string body = R"(
mul.wide.u32 %rd10, %r1, 4;
add.u64 %rd10, %rd10, %rd1;
ld.global.u32 %r2, [%rd10];
ld.global.u32 %r3, [%rd10+128];
ld.global.u32 %r4, [%rd10+256];
shfl.sync.)" + mode + R"(.b32 %r5|%p1, %r2, %r3, %r4, 0xffffffff;
selp.u32 %r6, 1, 0, %p1;
shfl.sync.)" + mode + R"(.b32 %r2, %r2, %r3, %r4, 0xffffffff;
st.global.u32 [%rd3], %r5;
st.global.u32 [%rd3+4], %r6;
st.global.u32 [%rd3+8], %r2;
)";
    const isa::Program program = program_of(kernel(body), isa::Arch::sm_80);
    for (uint32_t round = 0; round < 2000; ++round) {
        Words in;
        for (int i = 0; i < 32; ++i) in.push_back(static_cast<uint32_t>(random()));
        // One amount for all lanes, or one for each; segments of powers of two, or anything.
        const auto amount = static_cast<uint32_t>(random());
        for (int i = 0; i < 32; ++i)
            in.push_back(round % 2 == 0 ? amount : static_cast<uint32_t>(random()));
        const uint32_t width = 1u << random() % 6;
        const uint32_t segments = (32 - width) << 8 | (mode == "up" ? 0 : 31);
        for (int i = 0; i < 32; ++i)
            in.push_back(round % 4 < 2 ? segments : static_cast<uint32_t>(random()));
        Given given;
        given.buffers = {bytes_of(in), Bytes(512)};
        const Words out = words_of(run_well(program, given).buffers[1]);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            const Shuffled expected = shuffle(mode, lane, in[32 + lane], in[64 + lane], in);
            ASSERT_EQ(out[4 * lane], expected.value) << "lane " << lane;
            ASSERT_EQ(out[4 * lane + 1], expected.in_range ? 1u : 0u) << "lane " << lane;
            ASSERT_EQ(out[4 * lane + 2], expected.value) << "lane " << lane;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, Shfl, testing::Values("up", "down", "bfly", "idx"),
                         [](const auto& tested) { return tested.param; });

TEST(Warp, ShflWithinAHalfByMembermask) {
    // Each half is a path of its own with its own membermask.
    const Words out = results_of(R"(
setp.lt.u32 %p1, %r1, 16;
mov.u32 %r3, 99;
@%p1 bra LOW;
shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xffff0000;
bra DONE;
LOW:
shfl.sync.bfly.b32 %r3, %r1, 2, 31, 0x0000ffff;
DONE:
st.global.u32 [%rd2], %r3;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane ^ (lane < 16 ? 2 : 1));
}

// The paths come to the shfl one after the other: the branch's paths meet only behind it.
constexpr const char* two_paths = R"(
setp.lt.u32 %p1, %r1, 16;
setp.eq.u32 %p2, %r1, 1000;
mov.u32 %r2, %r1;
@%p1 bra MEET;
add.u32 %r2, %r1, 100;
@%p2 bra DONE;
MEET:
)";

TEST(Warp, ShflBringsDivergedPathsTogether) {
    const Words out = results_of(std::string(two_paths) + R"(
shfl.sync.bfly.b32 %r3, %r2, 31, 31, 0xffffffff;
DONE:
st.global.u32 [%rd2], %r3;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t from = lane ^ 31;
        EXPECT_EQ(out[lane], from < 16 ? from : from + 100);
    }
}

TEST(Warp, VoteBringsDivergedPathsTogether) {
    EXPECT_EQ(results_of(std::string(two_paths) + R"(
setp.gt.u32 %p3, %r2, 10;
vote.sync.ballot.b32 %r3, %p3, 0xffffffff;
DONE:
st.global.u32 [%rd2], %r3;
)"),
              Words(32, 0xfffff800));
}

TEST(Warp, VoteModes) {
    // Of the lanes below 16: all, some or none; ballots name only the members.
    struct Case {
        const char* limit;
        uint32_t all, any, uni, ballot;
    };
    for (const Case& c : {Case{"0", 0, 0, 1, 0}, Case{"5", 0, 1, 0, 0x1f},
                          Case{"16", 1, 1, 1, 0xffff}, Case{"30", 1, 1, 1, 0xffff}}) {
        const auto out = wide_results_of(std::string(R"(
st.global.v4.u32 [%rd3], {9, 9, 9, 9};
setp.lt.u32 %p1, %r1, 16;
@!%p1 bra DONE;
setp.lt.u32 %p2, %r1, )") + c.limit + R"(;
vote.sync.all.pred %p3, %p2, 0xffff;
vote.sync.any.pred %p4, %p2, 0xffff;
vote.sync.uni.pred %p5, %p2, 0xffff;
vote.sync.ballot.b32 %r5, %p2, 0xffff;
selp.u32 %r2, 1, 0, %p3;
selp.u32 %r3, 1, 0, %p4;
selp.u32 %r4, 1, 0, %p5;
st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
DONE:
ret;
)");
        for (uint32_t lane = 0; lane < 32; ++lane)
            EXPECT_EQ(out[lane], (lane < 16 ? FourWords{c.all, c.any, c.uni, c.ballot}
                                            : FourWords{9, 9, 9, 9}))
                << c.limit << " lane " << lane;
    }
}

TEST(Warp, VoteTakesANegatedPredicate) {
    EXPECT_EQ(results_of(R"(
setp.lt.u32 %p1, %r1, 4;
vote.sync.ballot.b32 %r2, !%p1, 0xffffffff;
st.global.u32 [%rd2], %r2;
)"),
              Words(32, 0xfffffff0));
}

TEST(Warp, ExitedLanesAreNotWaitedFor) {
    const Words out = results_of(R"(
st.global.u32 [%rd2], 3;
setp.lt.u32 %p1, %r1, 8;
@%p1 exit;
setp.lt.u32 %p2, %r1, 16;
vote.sync.ballot.b32 %r2, %p2, 0xffffffff;
st.global.u32 [%rd2], %r2;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 8 ? 3u : 0xff00u);
}

TEST(Warp, ALaterExitEndsTheWait) {
    // Lanes 16 and up wait for all; those below come to their exit afterwards.
    const Words out = results_of(R"(
setp.lt.u32 %p1, %r1, 16;
st.global.u32 [%rd2], 3;
@%p1 bra LEAVE;
bar.warp.sync 0xffffffff;
activemask.b32 %r2;
st.global.u32 [%rd2], %r2;
ret;
LEAVE:
mov.u32 %r3, 0;
SPIN:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 9000;
@%p2 bra SPIN;
exit;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 16 ? 3u : 0xffff0000u);
}

// bar.warp.sync waits for all threads of the membermask to execute *a* bar.warp.sync: writes on
// one side of a branch are seen on the other.
TEST(Warp, BarWarpSyncOrdersBothSidesOfABranch) {
    for (const char* guard : {"@%p1", "@!%p1"}) {
        const Words out = results_of(std::string(R"(
.shared .u32 table[32];
mov.u32 %r9, table;
xor.b32 %r3, %r1, 16;
shl.b32 %r2, %r1, 2;
add.u32 %r2, %r2, %r9;
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r9;
setp.lt.u32 %p1, %r1, 16;
)") + guard + R"( bra OTHER;
st.shared.u32 [%r2], %r1;
bar.warp.sync 0xffffffff;
ld.shared.u32 %r4, [%r3];
bra DONE;
OTHER:
add.u32 %r5, %r1, 0;
st.shared.u32 [%r2], %r5;
bar.warp.sync 0xffffffff;
ld.shared.u32 %r4, [%r3];
DONE:
st.global.u32 [%rd2], %r4;
)");
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane ^ 16) << guard;
    }
}

// Groups that wait at one instruction are apart: that one is complete does not free another.
TEST(Warp, MembermasksAtOneInstructionAreApart) {
    // Quarters 0 and 1 exchange, and 2 and 3; each quarter comes on a path of its own.
    const Words out = results_of(R"(
shr.u32 %r2, %r1, 3;
setp.eq.u32 %p9, %r1, 1000;
setp.lt.u32 %p1, %r1, 16;
selp.b32 %r3, 0x0000ffff, 0xffff0000, %p1;
add.u32 %r4, %r1, 10;
setp.eq.u32 %p2, %r2, 2;
@%p2 bra MEET;
@%p9 bra DONE;
setp.eq.u32 %p2, %r2, 0;
@%p2 bra MEET;
@%p9 bra DONE;
setp.eq.u32 %p2, %r2, 1;
@%p2 bra MEET;
@%p9 bra DONE;
add.u32 %r4, %r1, 20;
@%p9 bra DONE;
MEET:
shfl.sync.bfly.b32 %r5, %r4, 8, 31, %r3;
DONE:
st.global.u32 [%rd2], %r5;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t from = lane ^ 8;
        EXPECT_EQ(out[lane], from + (from >= 24 ? 20 : 10)) << lane;
    }
}

TEST(Warp, LanesThatNeverComeAreADeadlock) {
    EXPECT_NE(fault_of_body(R"(
setp.lt.u32 %p1, %r1, 16;
@%p1 bra WAIT;
bar.sync 1, 64;
WAIT:
bar.warp.sync 0xffffffff;)")
                  .find("aligned instruction in a diverged warp: 16 of the warp's 32 threads are "
                        "here at line 23, CTA (0,0,0), warp 0, step "),
              std::string::npos);
    const std::string fault = fault_of_body(R"(
setp.lt.u32 %p1, %r1, 16;
@%p1 bra WAIT;
barrier.sync 1, 64;
ret;
WAIT:
bar.warp.sync 0xffffffff;)");
    EXPECT_TRUE(fault.starts_with("deadlock: ")) << fault;
}

TEST(Warp, ActivemaskNamesTheLanesOfThePath) {
    Given given;
    given.block.x = 40;
    const Words out = results_of("activemask.b32 %r2;\nst.global.u32 [%rd2], %r2;\n", {}, given);
    for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(out[i], i < 32 ? 0xffffffffu : 0xffu);
}

}  // namespace

}  // namespace lockwarp::exec::warp_test
