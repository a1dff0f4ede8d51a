// SPDX-License-Identifier: Apache-2.0
// Replay: an engine's answer, kept, compared without it.
#include <gtest/gtest.h>

#include <functional>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "tests/results.hpp"
#include "tests/validate/lockstep_cases.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::replay_test {
namespace {

using namespace lockwarp::lockstep;
using validate::DifferenceKind;

TEST(Replay, GivesTheSameCountsWithoutTheEngine) {
    for (const char* name : {"gemm_sm80_edges.json", "mma_ldmatrix.json"}) {
        const launch::Case c = case_of(name);
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{1} << 20}) {
            validate::Options options;
            options.trace_bytes = bytes;
            validate::Answer answer;
            const validate::Report live =
                run_lockstep(c, isa::Arch::sm_90, engine, options, &answer);
            ASSERT_FALSE(live.first.has_value());
            validate::Report again = replay(c, isa::Arch::sm_90, answer, {});
            EXPECT_EQ(again.problem, "");
            EXPECT_FALSE(again.first.has_value()) << text_report(again, answer.device, name);
            EXPECT_EQ(again.counts.values, live.counts.values);
            EXPECT_EQ(again.counts.memory_bytes, live.counts.memory_bytes);
            // A word of the tracks, or a byte of the memory, that is not as it was is seen.
            validate::Answer other = answer;
            other.outputs.back().back() ^= 1;
            again = replay(c, isa::Arch::sm_90, other, {});
            ASSERT_TRUE(again.first.has_value());
            EXPECT_EQ(again.first->kind, DifferenceKind::memory);
            other = answer;
            other.tracks.front().words[33 * 8] ^= 1;
            EXPECT_TRUE(replay(c, isa::Arch::sm_90, other, {}).first.has_value());
            // The CTA of a difference by itself.
            validate::Answer part = answer;
            part.tracks = {*replay(c, isa::Arch::sm_90, other, {}).tracks};
            part.outputs.clear();
            const validate::Report alone = replay(c, isa::Arch::sm_90, part, {});
            EXPECT_EQ(alone.problem, "");
            EXPECT_TRUE(alone.first.has_value());
        }
    }
}

TEST(Replay, AnAnswerOfAnotherProgramIsRefused) {
    const launch::Case c = case_of("mma_ldmatrix.json");
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_FALSE(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).first.has_value());
    const auto refused = [&](const std::function<void(validate::Answer&)>& change) {
        validate::Answer bad = answer;
        change(bad);
        return !replay(c, isa::Arch::sm_90, bad, {}).problem.empty();
    };
    EXPECT_TRUE(refused([](auto& a) { a.addresses.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.outputs.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.outputs[0].pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.traced.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].words.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].slack = 0; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.ctas = 0; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.first_cta = 7; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.words = UINT64_MAX / 256; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.first = UINT64_MAX; }));
    EXPECT_FALSE(refused([](auto&) {}));
    EXPECT_TRUE(refused([](auto& a) {
        a.tracks.clear();
        a.outputs.clear();
    }));
}

// No engine's window ends within a cluster.
TEST(Replay, APartOfAClusterIsRefused) {
    launch::Case c = case_of_text(".reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret;", 32, 4);
    c.module = ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n" +
                          ptx::print(c.module).substr(ptx::print(c.module).find(".visible")))
                   .module;
    c.grid.x = 4;
    c.cluster = warp::Dim3{4, 1, 1};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_EQ(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).problem, "");
    ASSERT_EQ(answer.tracks.size(), 1u);
    validate::Tracks& t = answer.tracks[0];
    t.window.ctas = 3;
    t.words.resize(gpu::trace_bytes(t.window, t.slack, 1));
    answer.outputs.clear();
    EXPECT_EQ(replay(c, isa::Arch::sm_90, answer, {}).problem,
              "CTAs from 0 on: a part of the grid has whole clusters, of 4 CTAs side by side");
}

// Windows and slack of so many words that their bytes, modulo 2^64, are those that are there.
TEST(Replay, TracksOfMoreBytesThanThereCanBeAreRefused) {
    launch::Case c = case_of_text(".reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret;", 32, 4);
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_EQ(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).problem, "");
    ASSERT_EQ(answer.tracks.size(), 1u);
    c.grid = {1u << 15, 1, 1};
    validate::Tracks& t = answer.tracks[0];
    t.window.ctas = c.grid.count();
    t.window.words = t.slack = uint64_t{1} << 40;
    t.words.clear();
    ASSERT_EQ(gpu::trace_bytes(t.window, t.slack, 1), 0u);
    const std::string problem = replay(c, isa::Arch::sm_90, answer, {}).problem;
    EXPECT_NE(problem.find("a window of its tracks is not right"), std::string::npos) << problem;
}

}  // namespace
}  // namespace lockwarp::replay_test
