// SPDX-License-Identifier: Apache-2.0
// Lockstep of kernels whose way depends on what atomics return: that value is the engine's.
#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"
#include "validate/treatment.hpp"

namespace {

using namespace lockwarp;

// Each CTA takes tiles from a counter until there are none; of a tile it writes 32 words.
constexpr const char* work_counter = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 counter, .param .u64 out, .param .u32 tiles)
{
.reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<3>;
.shared .u32 mine;
ld.param.u64 %rd1, [counter];
ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [tiles];
mov.u32 %r2, %tid.x;
setp.ne.u32 %p1, %r2, 0;
NEXT:
@%p1 bra TAKEN;
atom.global.add.u32 %r3, [%rd1], 1;
st.shared.u32 [mine], %r3;
TAKEN:
bar.sync 0;
ld.shared.u32 %r4, [mine];
bar.sync 0;
setp.ge.u32 %p2, %r4, %r1;
@%p2 bra END;
shl.b32 %r5, %r4, 5;
add.u32 %r5, %r5, %r2;
mul.wide.u32 %rd3, %r5, 4;
add.u64 %rd3, %rd2, %rd3;
mul.lo.u32 %r6, %r5, 0x9e3779b1;
st.global.u32 [%rd3], %r6;
red.global.add.u32 [%rd1+4], %r6;
bra NEXT;
END: ret;
}
)";

constexpr uint32_t tiles = 100;
constexpr uint32_t ctas = 8;

launch::Case work_case() {
    ptx::Parsed parsed = ptx::parse(work_counter);
    EXPECT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {ctas, 1, 1};
    c.block = {32, 1, 1};
    c.parameters.resize(20);
    c.parameters[16] = tiles;
    c.patches = {{0, 0, 0}, {8, 1, 0}};
    c.names = {"counter", "out"};
    c.bytes = {std::vector<uint8_t>(8), std::vector<uint8_t>(size_t{tiles} * 128)};
    return c;
}

TEST(AtomicLockstep, AWorkCounterIsIdenticalHoweverTheCtasShareTheWork) {
    for (const unsigned threads : {1u, 8u})
        for (int repeat = 0; repeat < 5; ++repeat) {
            validate::EmulatorEngine engine(isa::Arch::sm_90, false, threads);
            validate::Options options;
            options.threads = repeat % 2 == 0 ? 0 : 3;
            const validate::Report r = run_lockstep(work_case(), isa::Arch::sm_90, engine, options);
            ASSERT_EQ(r.problem, "");
            ASSERT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "work");
            EXPECT_EQ(r.counts.taken, 0u);
            EXPECT_GT(r.counts.values, uint64_t{tiles} * 32 * 5);
            EXPECT_EQ(r.counts.memory_bytes, 8u + tiles * 128);
        }
}

// A machine on which an addition is lost leaves another sum in memory.
class Losing : public validate::EmulatorEngine {
  public:
    Losing() : EmulatorEngine(isa::Arch::sm_90) {}
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> done = EmulatorEngine::read(address, bytes);
        if (bytes.size() == 8) bytes[4] ^= 1;
        return done;
    }
};

TEST(AtomicLockstep, ALostAdditionIsADifferenceOfMemory) {
    Losing engine;
    const validate::Report r = run_lockstep(work_case(), isa::Arch::sm_90, engine, {});
    ASSERT_EQ(r.problem, "");
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, validate::DifferenceKind::memory);
    EXPECT_EQ(r.first->buffer, "counter");
    EXPECT_EQ(r.first->offset, 4u);
}

TEST(AtomicLockstep, OnlyWhatAnAtomicReturnsIsTaken) {
    size_t found = 0;
    for (const validate::TreatmentRow& row : validate::treatment_rows()) {
        EXPECT_NE(row.op, isa::Op::red);
        if (row.op != isa::Op::atom) continue;
        EXPECT_EQ(row.treatment, validate::Treatment::taken);
        ++found;
    }
    EXPECT_EQ(found, 1u);
}

// A long loop that mixes the clock into what it computes.
constexpr const char* clocked_loop = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, 0;
NEXT:
mov.u32 %r4, %clock;
mad.lo.u32 %r1, %r1, 5, %r4;
xor.b32 %r1, %r1, %r2;
shl.b32 %r5, %r1, 3;
add.u32 %r1, %r1, %r5;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p, %r3, 300;
@%p bra NEXT;
mov.u32 %r6, %tid.x;
mad.lo.u32 %r6, %r2, 64, %r6;
mul.wide.u32 %rd2, %r6, 4;
add.u64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r1;
ret;
}
)";

// No two runs have the same clock: a window of another run would not go on from the first one's.
TEST(Taken, TracksThatDoNotFitAreComparedInShares) {
    ptx::Parsed parsed = ptx::parse(clocked_loop);
    ASSERT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {3, 1, 1};
    c.block = {64, 1, 1};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(3 * 64 * 4)};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report whole = run_lockstep(c, isa::Arch::sm_90, engine, {});
    ASSERT_EQ(whole.problem, "");
    EXPECT_EQ(whole.windows, 1u);
    EXPECT_EQ(whole.counts.taken, 3u * 64 * 300);
    // A track has 300 * 14 words and a few, of 256 bytes for each of the 6 warps.
    validate::Options options;
    for (const uint64_t words : {2200u, 1500u}) {
        options.trace_bytes = words * 6 * 256;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        ASSERT_EQ(r.problem, "") << words;
        EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "k.ptx");
        EXPECT_GE(r.windows, 2u) << words;
        EXPECT_EQ(r.counts.values, whole.counts.values) << words;
        EXPECT_EQ(r.counts.taken, whole.counts.taken) << words;
        EXPECT_EQ(r.counts.memory_bytes, c.bytes[0].size());
    }
    // What is taken does not fit by itself.
    options.trace_bytes = 400 * 6 * 256;
    EXPECT_NE(run_lockstep(c, isa::Arch::sm_90, engine, options).problem.find("do not fit"),
              std::string::npos);
}

}  // namespace
