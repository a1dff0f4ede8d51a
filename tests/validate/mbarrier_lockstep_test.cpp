// SPDX-License-Identifier: Apache-2.0
// Lockstep of kernels whose warps wait for each other at an mbarrier: how often a wait fails
// depends on time, so that it is the engine's.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;

// Warp 0 makes 16 tiles, warp 1 takes them; before the first one each goes round a loop of its own:
// %r11 times warp 0, %r10 times warp 1.
constexpr const char* pipeline = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 consumer, .param .u32 producer)
{
.reg .b32 %r<16>; .reg .b64 %rd<5>; .reg .pred %p<4>;
.shared .align 8 .b64 full, empty;
.shared .b32 tile[32];
ld.param.u64 %rd1, [out];
ld.param.u32 %r10, [consumer];
ld.param.u32 %r11, [producer];
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd1, %rd1, %rd2;
mov.u32 %r3, tile;
mad.lo.u32 %r3, %r2, 4, %r3;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [full], 32;
@%p1 mbarrier.init.shared.b64 [empty], 32;
bar.sync 0;
mov.u32 %r4, 0;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
setp.lt.u32 %p1, %r1, 32;
@%p1 bra PRODUCER;
TAKE:
mov.u32 %r7, 0;
DELAY0:
add.u32 %r7, %r7, 1;
setp.lt.u32 %p2, %r7, %r10;
@%p2 bra DELAY0;
mov.u32 %r10, 1;
and.b32 %r8, %r4, 1;
WAIT0:
mbarrier.try_wait.parity.shared.b64 %p2, [full], %r8;
@!%p2 bra WAIT0;
ld.shared.u32 %r9, [%r3];
mad.lo.u32 %r5, %r5, 31, %r9;
mbarrier.arrive.shared.b64 _, [empty];
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 16;
@%p2 bra TAKE;
st.global.u32 [%rd1], %r5;
ret;
PRODUCER:
mov.u32 %r7, 0;
DELAY1:
membar.cta; membar.cta; membar.cta; membar.cta; membar.cta;
membar.cta; membar.cta; membar.cta; membar.cta; membar.cta;
add.u32 %r7, %r7, 1;
setp.lt.u32 %p2, %r7, %r11;
@%p2 bra DELAY1;
mov.u32 %r11, 1;
mad.lo.u32 %r6, %r4, 1000, %r2;
st.shared.u32 [%r3], %r6;
mbarrier.arrive.shared.b64 _, [full];
and.b32 %r8, %r4, 1;
WAIT1:
mbarrier.test_wait.parity.shared.b64 %p2, [empty], %r8;
@!%p2 bra WAIT1;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 16;
@%p2 bra PRODUCER;
ret;
}
)";

launch::Case pipeline_case(uint32_t consumer, uint32_t producer) {
    ptx::Parsed parsed = ptx::parse(pipeline);
    EXPECT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {1, 1, 1};
    c.block = {64, 1, 1};
    c.parameters.resize(16);
    std::memcpy(c.parameters.data() + 8, &consumer, 4);
    std::memcpy(c.parameters.data() + 12, &producer, 4);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(128)};
    return c;
}

// A traced kernel takes several times the steps, more of them where registers are written, so that
// its turns end elsewhere: a wait that holds there at once may fail here, and the other way round.
TEST(MbarrierLockstep, APipelineIsIdenticalHoweverOftenItsWaitsFail) {
    for (const uint32_t consumer : {1u, 100u, 3000u, 5000u, 9000u})
        for (const uint32_t producer : {1u, 700u, 1700u, 4000u}) {
            validate::EmulatorEngine engine(isa::Arch::sm_90);
            validate::Options options;
            options.trace_bytes = uint64_t{1} << 28;
            const validate::Report r =
                run_lockstep(pipeline_case(consumer, producer), isa::Arch::sm_90, engine, options);
            ASSERT_EQ(r.problem, "");
            ASSERT_FALSE(r.first.has_value()) << consumer << " " << producer << " "
                                              << text_report(r, engine.device(), "pipeline");
            // Each lane of both warps has 16 waits that hold, and those that fail.
            EXPECT_GE(r.counts.taken, 64u * 16);
            EXPECT_EQ(r.counts.memory_bytes, 128u);
        }
}

// One lane of warp 1 comes to the mbarrier late and waits for warp 0.
constexpr const char* one_lane_waits = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 lane)
{
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
.shared .align 8 .b64 full;
.shared .b32 tile;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [lane];
mov.u32 %r2, %tid.x;
setp.eq.u32 %p1, %r2, 0;
@%p1 mbarrier.init.shared.b64 [full], 32;
@%p1 st.shared.u32 [tile], 1;
bar.sync 0;
setp.lt.u32 %p1, %r2, 32;
@%p1 bra PRODUCER;
sub.u32 %r2, %r2, 32;
setp.ne.u32 %p1, %r2, %r1;
@%p1 bra END;
mov.u32 %r3, 0;
DELAY:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 20000;
@%p2 bra DELAY;
WAIT:
mbarrier.test_wait.parity.shared.b64 %p2, [full], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r4, [tile];
add.u32 %r4, %r4, %r2;
st.global.u32 [%rd1], %r4;
bra END;
PRODUCER:
mov.u32 %r3, 0;
WORK:
membar.cta; membar.cta; membar.cta; membar.cta; membar.cta;
membar.cta; membar.cta; membar.cta; membar.cta; membar.cta;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 10000;
@%p2 bra WORK;
st.shared.u32 [tile], 4711;
mbarrier.arrive.shared.b64 _, [full];
END:
ret;
}
)";

// The traced kernel takes several times the steps where registers are written: there the producer
// is done before the lane looks; here the lane looks first, several turns before.
TEST(MbarrierLockstep, EachLaneWaitsForWhatTheEnginesLaneDidNotWaitFor) {
    for (const uint32_t lane : {0u, 1u, 17u, 30u, 31u}) {
        ptx::Parsed parsed = ptx::parse(one_lane_waits);
        ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
        launch::Case c;
        c.module = std::move(parsed.module);
        c.entry = "k";
        c.block = {64, 1, 1};
        c.parameters.resize(12);
        std::memcpy(c.parameters.data() + 8, &lane, 4);
        c.patches = {{0, 0, 0}};
        c.names = {"out"};
        c.bytes = {std::vector<uint8_t>(4)};
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
        ASSERT_EQ(r.problem, "");
        ASSERT_FALSE(r.first.has_value())
            << lane << " " << text_report(r, engine.device(), "one_lane_waits");
        EXPECT_EQ(r.counts.taken, 1u) << "the engine's lane found the phase completed at once";
        EXPECT_EQ(r.counts.memory_bytes, 4u);
    }
}

}  // namespace
