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
#include "tests/validate/lockstep_cases.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"
#include "validate/recording.hpp"

namespace lockwarp::order_lockstep_test {
namespace {

using lockstep::case_of;
using validate::DifferenceKind;

constexpr isa::Arch arch = isa::Arch::sm_90;

// CTAs of 64 threads, with so many bytes of the one buffer for each.
launch::Case case_of_text(const char* text, uint32_t ctas, size_t bytes) {
    ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {ctas, 1, 1};
    c.block = {64, 1, 1};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(ctas * 64 * bytes)};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
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

// A plain load whose bytes another warp stores to has no order: the difference names the store,
// also where atomics have one. `before` stands before the load.
void expect_race_named(const std::string& before, uint32_t threads = 64) {
    const std::string ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x; )" +
                            before +
                            R"(
    setp.ne.u32 %p, %r0, 0;
    ld.global.u32 %r1, [%rd0];
    add.u32 %r2, %r1, 1;
    @!%p st.global.u32 [%rd0], %r2;
    ret;
}
)";
    launch::Case c = case_of_text(ptx.c_str(), 1, 4);
    c.block = {threads, 1, 1};
    validate::EmulatorEngine engine(arch, false, 1);
    engine.take_turns(3);
    const validate::Report r = run_lockstep(c, arch, engine, {});
    ASSERT_TRUE(r.first.has_value()) << r.problem;
    const std::string text = text_report(r, engine.device(), "k.ptx");
    EXPECT_NE(text.find("DIFFERS  k.ptx:12  ld.global.u32"), std::string::npos) << text;
    EXPECT_NE(text.find("  k.ptx:14 stores there too, CTA (0,0,0), warp 0: a race, where nothing "
                        "orders the\n  two (lockwarp check)\n"),
              std::string::npos)
        << text;
}

TEST(Order, TheStoreThatALoadRacesWithIsNamed) {
    expect_race_named("");
    expect_race_named("red.global.add.u32 [%rd0+64], 1;");
    // A third warp's load, as far on as the one that differs, is of other bytes.
    expect_race_named("shr.u32 %r3, %r0, 6; mad.wide.u32 %rd0, %r3, 64, %rd0;", 96);
}

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

// What was in memory stands in registers for some elements, and in the trace's for the others.
TEST(Order, ResultsOfAVectorOfWhichSomeAreThrownAway) {
    const launch::Case c = case_of_text(R"(.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b64 %rd<2>; .reg .f32 %f<7>;
ld.param.u64 %rd1, [out];
mov.f32 %f1, 0f3F800000;
mov.f32 %f2, 0f40000000;
atom.global.v4.f32.add {_, %f3, _, %f4}, [%rd1], {%f1, %f2, %f1, %f2};
atom.global.v2.f32.add {%f5, _}, [%rd1+16], {%f2, %f1};
ret;
}
)",
                                        2, 16);
    for (const uint32_t turn : {1u, 3u}) {
        validate::EmulatorEngine engine(arch, false, 1);
        engine.take_turns(turn);
        const validate::Report r = run_lockstep(c, arch, engine, {});
        EXPECT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "vector");
        // rd1 f1 f2, and the three that are named
        EXPECT_EQ(r.counts.values + r.counts.taken, 128u * 6);
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

// In every run alike, so that no second run excuses it.
validate::Report tampered(const launch::Case& c, uint64_t number, uint64_t with) {
    Tampering engine([&](std::span<uint64_t> words, int) { change_first(words, number, with); });
    return run_lockstep(c, arch, engine, {});
}

TEST(Order, AValueThatAPollNeverFindsDiffers) {
    const launch::Case c = case_of("order_ticket_lock.json");
    // load_acquire(&tickets[1]): no CTA ever stores 0x1000 there, or more.
    const uint64_t poll = number_of(c, isa::Op::ld, 3);
    const uint64_t ticket = number_of(c, isa::Op::atom);
    // Of the first turn, and of one that waits for others. The record before it, of the atomic, has
    // its value, tickets and address.
    for (const bool is_first : {true, false}) {
        uint64_t truth = UINT64_MAX, turn = UINT64_MAX;
        Tampering engine([&](std::span<uint64_t> words, int) {
            for (size_t i = 128; i + 32 < words.size(); ++i)
                if (words[i - 128] == ticket && words[i] == poll &&
                    (words[i + 32] == 0) == is_first) {
                    truth = words[i + 32];
                    turn = words[i - 96];
                    words[i + 32] ^= 0x1000;
                    return;
                }
        });
        const validate::Report r = run_lockstep(c, arch, engine, {});
        ASSERT_EQ(r.problem, "");
        ASSERT_TRUE(r.first.has_value());
        EXPECT_EQ(r.first->kind, DifferenceKind::order);
        EXPECT_EQ(r.first->operation + 1, poll);
        EXPECT_EQ(r.spellings[poll - 1], "ld.acquire.gpu.global.u32");
        EXPECT_EQ(truth == 0, is_first);
        EXPECT_EQ(r.first->other, truth ^ 0x1000);
        EXPECT_EQ(r.first->emulated, turn) << "the others go on until it is its turn";
    }
}

TEST(Order, AnArithmeticErrorDiffersThoughAnOrderIsFollowed) {
    for (const char* name : {"order_ticket_lock.json", "order_cta_lock.json"}) {
        const launch::Case c = case_of(name);
        // What a lock protects: others load what it gives.
        const uint64_t step = number_of(c, isa::Op::mad);
        const validate::Report r = tampered(c, step, 4);
        ASSERT_EQ(r.problem, "") << name;
        ASSERT_TRUE(r.first.has_value()) << name;
        EXPECT_EQ(r.first->kind, DifferenceKind::value) << name;
        EXPECT_EQ(r.first->operation + 1, step) << name;
        EXPECT_EQ(r.first->emulated ^ r.first->other, 4u) << name;
        const std::string text = text_report(r, {}, "order.ptx");
        EXPECT_NE(text.find("DIFFERS  order.ptx:"), std::string::npos) << text;
        EXPECT_NE(text.find("bits 0x4"), std::string::npos) << text;
    }
}

// What the instruction read is that of the whole launch: here of the last that had the lock.
TEST(Order, WhatAnInstructionReadBehindOthers) {
    for (const char* name : {"order_ticket_lock.json", "order_cta_lock.json"}) {
        const launch::Case c = case_of(name);
        const uint64_t step = number_of(c, isa::Op::mad);  // of a word, times 5 and 1 more
        Tampering engine([&](std::span<uint64_t> words, int) {
            size_t last = 0;
            for (size_t i = 0; i + 32 < words.size(); ++i)
                if (words[i] == step && (last == 0 || words[i + 32] > 1)) last = i;
            words[last + 32] ^= 4;
        });
        const validate::Report r = run_lockstep(c, arch, engine, {});
        ASSERT_EQ(r.problem, "") << name;
        ASSERT_TRUE(r.first.has_value()) << name;
        const validate::Difference& d = *r.first;
        ASSERT_EQ(d.operation + 1, step) << name;
        EXPECT_GT(d.emulated, 1u) << name;
        ASSERT_EQ(d.inputs.size(), 1u) << name;
        EXPECT_EQ(d.emulated, static_cast<uint32_t>(d.inputs[0].lanes[d.lane] * 5 + 1)) << name;
    }
}

// Each thread takes blocks of three sizes, gives two of four back, and leaves the addresses.
constexpr const char* blocks = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.extern .func free(.param .b64 block);
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r1, %r2, 64, %r1;
    mul.wide.u32 %rd2, %r1, 32;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r3, 0;
NEXT:
    add.u32 %r4, %r1, %r3;
    rem.u32 %r4, %r4, 3;
    shl.b32 %r4, %r4, 5;
    add.u32 %r4, %r4, 32;
    cvt.u64.u32 %rd3, %r4;
    {
        .param .b64 bytes; .param .b64 block;
        st.param.b64 [bytes], %rd3;
        call.uni (block), malloc, (bytes);
        ld.param.b64 %rd4, [block];
    }
    st.global.u32 [%rd4], %r1;
    st.global.u64 [%rd1], %rd4;
    add.u64 %rd1, %rd1, 8;
    and.b32 %r5, %r3, 1;
    setp.eq.u32 %p1, %r5, 1;
    @%p1 bra KEEP;
    {
        .param .b64 block;
        st.param.b64 [block], %rd4;
        call.uni free, (block);
    }
KEEP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 4;
    @%p2 bra NEXT;
    ret;
}
)";

// A block is one thread's, then another's: who takes it first must give it back first.
TEST(Order, BlocksOfMallocAreTakenInTheOrderOfTheMachine) {
    const launch::Case c = case_of_text(blocks, 5, 32);
    for (const uint32_t turn : {1u, 3u, 17u, 64u}) {
        validate::EmulatorEngine engine(arch, false, 1);
        engine.take_turns(turn);
        const validate::Report r = run_lockstep(c, arch, engine, {});
        ASSERT_EQ(r.problem, "") << turn;
        ASSERT_FALSE(r.first.has_value())
            << "turns of " << turn << ": " << text_report(r, engine.device(), "blocks");
        EXPECT_EQ(r.counts.memory_bytes, c.bytes[0].size());
        // The loads that bring the blocks leave their records whatever is compared.
        validate::Options predicates;
        predicates.only = {"setp"};
        const validate::Report few = run_lockstep(c, arch, engine, predicates);
        ASSERT_EQ(few.problem, "") << turn;
        ASSERT_FALSE(few.first.has_value())
            << "turns of " << turn << ": " << text_report(few, engine.device(), "blocks");
        EXPECT_EQ(few.counts.values, uint64_t{5 * 64} * 4 * 2);
        EXPECT_EQ(few.counts.memory_bytes, c.bytes[0].size());
    }
}

// The atomic is the first instruction of all.
TEST(Order, TicketsThatTheFirstInstructionTakesAreTheMachines) {
    const launch::Case c = case_of_text(R"(
.version 7.0
.target sm_80
.address_size 64
.global .u32 next;
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .pred %p;
NEXT:
    atom.global.add.u32 %r1, [next], 1;
    setp.lt.u32 %p, %r1, 2000;
    @%p bra NEXT;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r2, %r3, 64, %r2;
    ld.param.u64 %rd1, [out];
    mad.wide.u32 %rd1, %r2, 4, %rd1;
    st.global.u32 [%rd1], %r1;
    ret;
}
)",
                                        3, 4);
    for (const uint32_t turn : {1u, 3u, 17u}) {
        validate::EmulatorEngine engine(arch, false, 1);
        engine.take_turns(turn);
        const validate::Report r = run_lockstep(c, arch, engine, {});
        ASSERT_EQ(r.problem, "") << turn;
        ASSERT_FALSE(r.first.has_value())
            << "turns of " << turn << ": " << text_report(r, engine.device(), "tickets");
        EXPECT_EQ(r.counts.taken, 0u);
    }
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
}  // namespace lockwarp::order_lockstep_test
