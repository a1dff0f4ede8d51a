// SPDX-License-Identifier: Apache-2.0
// Lockstep of kernels whose threads wait for each other, or add to what others add to: the emulator
// takes the order of the engine. Here the engine is the emulator with turns of another length.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "emu/lockwarp.hpp"
#include "launch/files.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"
#include "validate/recording.hpp"

namespace {

using namespace lockwarp;
using validate::DifferenceKind;

constexpr isa::Arch arch = isa::Arch::sm_90;

launch::Case case_of(const std::string& launch_file) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + launch_file}, "sm_90");
    launch::Case c;
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return c;
    }
    EXPECT_EQ(take(launch::make_case(loaded->in.launch, loaded->in.module, loaded->program), c),
              "");
    return c;
}

class EveryOrder : public testing::TestWithParam<const char*> {};

TEST_P(EveryOrder, IsFollowedRegisterByRegister) {
    const launch::Case c = case_of(GetParam());
    for (const uint32_t turn : {3u, 17u, 64u}) {
        validate::EmulatorEngine engine(arch, false, 1);
        engine.take_turns(turn);
        const validate::Report r = run_lockstep(c, arch, engine, {});
        ASSERT_EQ(r.problem, "") << turn;
        ASSERT_FALSE(r.first.has_value())
            << "turns of " << turn << ": " << text_report(r, engine.device(), GetParam());
        EXPECT_GT(r.counts.values, 1000u);
        EXPECT_EQ(r.counts.taken, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, EveryOrder,
    testing::Values("order_ticket_lock.json", "order_lane_lock.json", "order_cta_lock.json",
                    "order_look_back.json", "order_last_cta.json", "order_split_k.json",
                    "order_stream_k.json", "order_float_atomics.json", "order_cas_loop.json",
                    "order_grid_barrier.json", "order_malloc_lists.json", "life.json",
                    "histogram.json", "persistent_gemm_edges.json", "int4_gemm_edges.json"),
    [](const auto& each) {
        return std::string(each.param).substr(0, std::string(each.param).find('.'));
    });

// A machine whose tracks are changed on their way here, and its second run's otherwise.
class Tampering : public validate::EmulatorEngine {
  public:
    using Change = std::function<void(std::span<uint64_t> words, int run)>;
    explicit Tampering(Change change) : EmulatorEngine(arch, false, 1), change_(std::move(change)) {
        take_turns(5);
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> why = EmulatorEngine::read(address, bytes);
        if (bytes.size() > 60000)
            change_({reinterpret_cast<uint64_t*>(bytes.data()), bytes.size() / 8}, ++run_);
        return why;
    }

  private:
    Change change_;
    int run_ = 0;
};

// The number that the first instruction of an opcode has in records, from 1.
uint64_t number_of(const launch::Case& c, isa::Op op, unsigned which = 0) {
    const isa::Resolved program = isa::resolve(c.module, arch, c.entry);
    for (size_t i = 0; i < program.program.operations.size(); ++i)
        if (program.program.operations[i].op == op && which-- == 0) return i + 1;
    ADD_FAILURE() << "no such instruction";
    return 0;
}

// Changes the first result of lane 0 in the first record of an instruction that the whole warp has
// at the same place of its tracks; else of the first lane that has one.
void change_first(std::span<uint64_t> words, uint64_t number, uint64_t with) {
    for (size_t row = 0; row + 64 <= words.size(); row += 32)
        if (std::ranges::all_of(words.subspan(row, 32), [&](uint64_t w) { return w == number; })) {
            words[row + 32] ^= with;
            return;
        }
    for (size_t i = 0; i + 32 < words.size(); ++i)
        if (words[i] == number) {
            words[i + 32] ^= with;
            return;
        }
}

TEST(Order, AnAtomicsValueThatNoOrderGivesDiffers) {
    const launch::Case c = case_of("order_last_cta.json");
    const uint64_t atom = number_of(c, isa::Op::atom);
    Tampering engine([&](std::span<uint64_t> words, int) { change_first(words, atom, 0x100); });
    const validate::Report r = run_lockstep(c, arch, engine, {});
    ASSERT_EQ(r.problem, "");
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::order);
    EXPECT_EQ(r.first->operation + 1, atom);
    EXPECT_EQ(r.first->emulated ^ r.first->other, 0x100u);
    const std::string text = text_report(r, engine.device(), "last.ptx");
    EXPECT_NE(text.find("DIFFERS  last.ptx:"), std::string::npos) << text;
    EXPECT_NE(text.find("no order of the other"), std::string::npos) << text;
}

TEST(Order, WhatTheMachineHasOtherwiseInEachRunIsNotComparable) {
    const launch::Case c = case_of("order_split_k.json");
    // A load whose bytes no other thread stores to.
    const uint64_t load = number_of(c, isa::Op::ld, 10);
    Tampering engine([&](std::span<uint64_t> words, int run) {
        change_first(words, load, static_cast<uint64_t>(run) << 4);
    });
    const validate::Report r = run_lockstep(c, arch, engine, {});
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "split");
    EXPECT_NE(r.problem.find("not comparable: line "), std::string::npos) << r.problem;
    EXPECT_NE(r.problem.find("in one run and "), std::string::npos) << r.problem;
}

TEST(Order, ARecordingHasItsOrder) {
    for (const char* name : {"order_float_atomics.json", "order_cta_lock.json", "life.json"}) {
        const launch::Case c = case_of(name);
        validate::EmulatorEngine engine(arch, false, 1);
        engine.take_turns(11);
        validate::Answer answer;
        const validate::Report live = run_lockstep(c, arch, engine, {}, &answer);
        ASSERT_EQ(live.problem, "");
        ASSERT_FALSE(live.first.has_value()) << text_report(live, engine.device(), name);
        validate::Recording recording;
        recording.name = "order.ptx";
        recording.ptx = ptx::print(c.module);
        recording.arch = "sm_90";
        recording.c = c;
        recording.answer = answer;
        validate::Recording read;
        ASSERT_EQ(take(validate::read_recording(write_recording(recording)), read), "");
        EXPECT_EQ(read.c.cooperative, c.cooperative);
        const validate::Report again = replay(read.c, arch, read.answer, {});
        EXPECT_EQ(again.problem, "");
        EXPECT_FALSE(again.first.has_value()) << text_report(again, read.answer.device, name);
        EXPECT_EQ(again.counts.values, live.counts.values);
        EXPECT_EQ(again.counts.memory_bytes, live.counts.memory_bytes);
    }
}

// What an H200 gave, with the order of its threads (lockwarp record).
TEST(OrderLockstep, RecordingsOfAGpuReplay) {
    size_t replayed = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/tests/validate/order")) {
        const auto bytes = launch::read_file(entry.path().string(), uint64_t{1} << 20);
        ASSERT_TRUE(bytes) << entry.path();
        validate::Recording r;
        ASSERT_EQ(take(validate::read_recording(*bytes), r), "") << entry.path();
        const validate::Report report = replay(r.c, arch, r.answer, {});
        EXPECT_EQ(report.problem, "") << entry.path();
        EXPECT_FALSE(report.first.has_value()) << entry.path() << "\n"
                                               << text_report(report, r.answer.device, r.name);
        EXPECT_GT(report.counts.values, 500u) << entry.path();
        ++replayed;
    }
    EXPECT_EQ(replayed, 9u);
}

}  // namespace
