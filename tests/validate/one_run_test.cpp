// SPDX-License-Identifier: Apache-2.0
// Lockstep of a whole run at once: tracks that are taken in shares, what an answer keeps of them,
// results that differ from run to run, and what bulk copies write.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "emu/lockwarp.hpp"
#include "gpu/ordered.hpp"
#include "launch/case.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::one_run_test {
namespace {

constexpr uint32_t ctas = 2, threads = 64;

launch::Case whole_case(const std::string& body, const std::string& tile = "shared") {
    ptx::Parsed parsed = ptx::parse(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>; ." +
        tile +
        " .align 16 .b8 tile[1024];\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
        "mad.lo.u32 %r3, %r2, 64, %r1; mad.wide.u32 %rd2, %r3, 4, %rd1; mov.u32 %r4, tile;\n"
        "mad.lo.u32 %r5, %r1, 4, %r4;\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << body;
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {ctas, 1, 1};
    c.block = {threads, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(4096)};
    return c;
}

// A machine that leaves another byte behind in each run, or finds other bytes in shared memory.
class Varying : public validate::EmulatorEngine {
  public:
    explicit Varying(bool leaves) : EmulatorEngine(isa::Arch::sm_90, false, 1), leaves_(leaves) {}
    gpu::Ran run(const gpu::Job& job) override {
        fill_unwritten(static_cast<uint8_t>(++runs_));
        return EmulatorEngine::run(job);
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> why = EmulatorEngine::read(address, bytes);
        if (leaves_ && bytes.size() == 4096) bytes[17] = static_cast<uint8_t>(bytes[17] ^ ++reads_);
        return why;
    }

  private:
    bool leaves_;
    int runs_ = 0, reads_ = 0;
};

validate::Report beside(const launch::Case& c, const validate::Options& options = {},
                        validate::Answer* answer = nullptr) {
    validate::EmulatorEngine engine(isa::Arch::sm_90, false, 1);
    engine.fill_unwritten(0xa5);
    engine.take_turns(7);
    return run_lockstep(c, isa::Arch::sm_90, engine, options, answer);
}

// What the emulator cannot know: what shared memory held, what shfl gives from lanes that do not
// take part, a clock, and the order of atomics.
const std::string unknowable =
    "mov.u32 %r15, 0;\nL: ld.shared.u32 %r6, [%r5];\n"
    "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.down.b32 %r7, %r1, 16, 31, 0xffff;\n"
    "mov.u32 %r8, %clock;\n"
    "atom.global.add.u32 %r9, [%rd1+2048], 1;\n"
    "add.u32 %r11, %r3, 1; add.u32 %r12, %r3, 2; add.u32 %r13, %r3, 3; add.u32 %r14, %r3, 4;\n"
    "xor.b32 %r10, %r6, %r8; add.u32 %r10, %r10, %r9;\n"
    "st.global.u32 [%rd2], %r10;\n"
    "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 12; @%p2 bra L;\n";

TEST(OneRun, IsTakenInShares) {
    const launch::Case c = whole_case(unknowable);
    const validate::Report whole = beside(c);
    ASSERT_EQ(whole.problem, "");
    ASSERT_FALSE(whole.first.has_value()) << text_report(whole, {}, "k.ptx");
    EXPECT_EQ(whole.counts.unwritten, uint64_t{ctas} * threads * 12);
    const uint64_t warps = uint64_t{ctas} * threads / 32;
    for (const uint64_t words : {240u, 300u, 360u}) {
        validate::Options options;
        options.trace_bytes = words * 32 * 8 * warps;
        const validate::Report r = beside(c, options);
        ASSERT_EQ(r.problem, "") << words;
        EXPECT_GT(r.windows, 1u) << words;
        EXPECT_FALSE(r.first.has_value()) << words << "\n" << text_report(r, {}, "k.ptx");
        // Each instruction is compared once.
        for (size_t i = 0; i < r.by_operation.size(); ++i)
            EXPECT_EQ(r.by_operation[i].values, whole.by_operation[i].values)
                << words << ": " << r.spellings[i];
        // What is kept is of one run.
        for (const bool drop : {false, true}) {
            options.drop_tracks = drop;
            validate::Answer answer;
            const std::string problem = beside(c, options, &answer).problem;
            EXPECT_EQ(problem.find("the tracks do not fit") != std::string::npos, !drop)
                << words << problem;
        }
    }
}

// A machine whose shfl gives lanes that it leaves undefined another value.
class OtherLanes : public validate::EmulatorEngine {
  public:
    OtherLanes() : EmulatorEngine(isa::Arch::sm_90, false, 1) {}
    gpu::Ran run(const gpu::Job& job) override {
        const std::string shfl = "shfl.sync.down.b32 %r7, %r1, 16, 31, 65535;";
        std::string text(job.ptx);
        const size_t at = text.find(shfl);
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.replace(at, shfl.size(), "xor.b32 %r7, %r1, 0x5500;");
        gpu::Job changed = job;
        changed.ptx = text;
        return EmulatorEngine::run(changed);
    }
};

TEST(OneRun, WhatIsUndefinedIsTakenInEveryShare) {
    // Two sums: whichever the share of shfl, one of them is of another.
    const launch::Case c = whole_case(
        "mov.u32 %r15, 0;\nL: mov.u32 %r8, %clock; setp.lt.u32 %p1, %r1, 16; mov.u32 %r7, 0;\n"
        "@%p1 shfl.sync.down.b32 %r7, %r1, 16, 31, 0xffff;\n"
        "add.u32 %r11, %r7, 1; add.u32 %r12, %r7, 2; add.u32 %r13, %r3, 3; add.u32 %r14, %r3, 4;\n"
        "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 12; @%p2 bra L;\n");
    const uint64_t warps = uint64_t{ctas} * threads / 32;
    uint64_t windows = 0;
    for (const uint64_t words : {200u, 240u, 10000u}) {
        OtherLanes engine;
        validate::Options options;
        options.registers = validate::Registers::words;
        options.trace_bytes = words * 32 * 8 * warps;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "") << words;
        EXPECT_FALSE(r.first.has_value()) << words << "\n" << text_report(r, {}, "k.ptx");
        EXPECT_EQ(r.counts.masked, uint64_t{ctas} * 16 * 12) << words;
        windows = std::max(windows, r.windows);
    }
    EXPECT_GT(windows, 1u);
}

// So is what atomics give, and what is made of memory that nothing wrote: instructions of every
// share need it. Where there is shared memory, whatever reads memory may read of that.
TEST(OneRun, WhatIsOrderedOrUnwrittenIsInEveryShare) {
    struct Row {
        const char* gives;  // %r6
        const char* tile;   // its state space
    };
    for (const Row& row : std::initializer_list<Row>{
             {"atom.global.add.u32 %r6, [%rd1+2048], 1;", "local"},
             {"mov.u32 %r8, %clock; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r4];",
              "shared"}}) {
        const launch::Case c =
            whole_case("mov.u32 %r15, 0;\nL: " + std::string(row.gives) +
                           "add.u32 %r11, %r6, 1; add.u32 %r12, %r6, 2; add.u32 %r13, %r6, 3;\n"
                           "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 12; @%p2 bra L;\n",
                       row.tile);
        validate::Options options;
        options.registers = validate::Registers::words;
        options.trace_bytes = uint64_t{130} * 32 * 8 * (ctas * threads / 32);
        const validate::Report r = beside(c, options);
        EXPECT_EQ(r.problem, "") << row.gives;
        EXPECT_GT(r.windows, 1u) << row.gives;
        EXPECT_FALSE(r.first.has_value()) << text_report(r, {}, "k.ptx");
    }
}

// Of a cooperative launch the CTAs are never compared apart.
TEST(OneRun, IsACooperativeLaunch) {
    launch::Case c = whole_case("add.u32 %r6, %r1, 3;");
    for (const bool cooperative : {false, true}) {
        c.cooperative = cooperative;
        validate::Options options;
        options.registers = validate::Registers::words;
        options.trace_bytes = uint64_t{80} * 32 * 8 * (threads / 32) * ctas;
        validate::Answer answer;
        const validate::Report r = beside(c, options, &answer);
        EXPECT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value()) << text_report(r, {}, "k.ptx");
        EXPECT_EQ(answer.tracks.size(), cooperative ? 1u : ctas);
    }
}

TEST(OneRun, AnAnswerHasItsTracksUnlessTheyAreDropped) {
    const launch::Case c = whole_case(unknowable);
    for (const bool drop : {false, true}) {
        validate::Options options;
        options.drop_tracks = drop;
        validate::Answer answer;
        const validate::Report r = beside(c, options, &answer);
        ASSERT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value());
        EXPECT_EQ(answer.tracks.empty(), drop);
    }
}

// Of a run with an order, or with clusters, all tracks are kept beside a difference; else those of
// its CTA.
TEST(OneRun, TheTracksBesideADifference) {
    struct Row {
        const char* body;
        uint32_t cluster;
        uint64_t ctas;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"add.u32 %r6, %r1, 3;", 1, 1},
             {"add.u32 %r6, %r1, 3;", 2, ctas},
             {"add.u32 %r6, %r1, 3; atom.global.add.u32 %r7, [%rd1], 1;", 1, ctas}}) {
        launch::Case c = whole_case(row.body);
        if (row.cluster > 1) c.cluster = warp::Dim3{row.cluster, 1, 1};
        validate::Options options;
        options.registers = validate::Registers::words;
        validate::Answer answer;
        ASSERT_EQ(beside(c, options, &answer).problem, "");
        // A lie in the second CTA: its lane 3's first value of the addition.
        validate::Tracks& tracks = answer.tracks.back();
        const uint64_t length = (tracks.window.words + tracks.slack) * 32;
        auto* const words = reinterpret_cast<uint64_t*>(tracks.words.data());
        const uint64_t cta = 1 - tracks.window.first_cta;
        const validate::Report truth = replay(c, isa::Arch::sm_90, answer, options);
        ASSERT_FALSE(truth.first.has_value());
        uint64_t number = 0;
        while (truth.spellings.at(number) != "add.u32") ++number;
        uint64_t at = cta * 2 * length + 3;
        while (words[at] != number + 1) at += 32;
        words[at + 32] ^= 4;
        const validate::Report r = replay(c, isa::Arch::sm_90, answer, options);
        ASSERT_TRUE(r.first.has_value()) << row.body;
        EXPECT_EQ(r.first->cta_index, 1u);
        EXPECT_EQ(r.first->lane, 3u);
        ASSERT_TRUE(r.tracks.has_value());
        EXPECT_EQ(r.tracks->window.ctas, row.ctas) << row.body << row.cluster;
        EXPECT_EQ(r.tracks->window.first_cta, row.ctas == 1 ? 1u : 0u);
    }
}

// A lane that did something else, where the others read the clock, has no value that could be
// taken.
TEST(OneRun, NothingIsTakenOfALaneThatWentAnotherWay) {
    launch::Case c = whole_case("mov.u32 %r6, %clock; add.u32 %r7, %r6, 1;");
    c.grid = {1, 1, 1};
    c.block = {32, 1, 1};
    validate::Options options;
    options.registers = validate::Registers::words;
    validate::Answer answer;
    const validate::Report truth = beside(c, options, &answer);
    ASSERT_FALSE(truth.first.has_value());
    EXPECT_EQ(truth.counts.taken, 32u);
    uint64_t number = 0;
    while (truth.spellings.at(number) != "add.u32") ++number;
    auto* const words = reinterpret_cast<uint64_t*>(answer.tracks.at(0).words.data());
    uint64_t at = 3;
    while (words[at] != number) at += 32;  // of the instruction before the addition
    words[at] = number + 1;
    const validate::Report r = replay(c, isa::Arch::sm_90, answer, options);
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, validate::DifferenceKind::control_flow);
    EXPECT_EQ(r.first->lane, 3u);
    EXPECT_EQ(r.counts.taken, 31u);
}

// A machine where one lane of an instruction finds, or seems to, another value in each run.
class VaryingLane : public validate::EmulatorEngine {
  public:
    VaryingLane(uint64_t number, uint64_t word, bool varies)
        : EmulatorEngine(isa::Arch::sm_90, false, 1),
          number_(number),
          word_(word),
          varies_(varies) {}
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> why = EmulatorEngine::read(address, bytes);
        if (bytes.size() <= 4096) return why;
        auto* const words = reinterpret_cast<uint64_t*>(bytes.data());
        uint64_t at = 3;
        while (at * 8 < bytes.size() && words[at] != number_) at += 32;
        EXPECT_LT(at * 8, bytes.size());
        words[at + word_ * 32] = 5000 + (varies_ ? ++runs_ : 0);
        return why;
    }

  private:
    uint64_t number_, word_;  // the instruction's, from 1, and of its record
    bool varies_;
    uint64_t runs_ = 0;
};

TEST(OneRun, WhatARedFindsMayVary) {
    const launch::Case c = whole_case("red.global.add.f32 [%rd1+2048], 0f3f800000;");
    const validate::Report truth = beside(c);
    ASSERT_FALSE(truth.first.has_value()) << truth.problem;
    uint64_t number = 0;
    while (!truth.spellings.at(number).starts_with("red")) ++number;
    validate::Options options;
    options.registers = validate::Registers::words;
    for (const bool varies : {true, false}) {
        VaryingLane engine(number + 1, 1 + gpu::change_words, varies);
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options, nullptr);
        EXPECT_EQ(r.problem, varies ? "not comparable: line 10, red.global.add.f32, CTA 0, warp 0, "
                                      "lane 3: the emulator as sm_90 has 0x1389 in one run and "
                                      "0x138a in another, and no order of its threads that was "
                                      "tried gives the first"
                                    : "");
        EXPECT_EQ(r.first.has_value(), !varies);
    }
}

// A matrix's load too, which follows no order; arithmetic of the same operands does not vary.
TEST(OneRun, WhatLdmatrixFindsMayVary) {
    const launch::Case c = whole_case(
        "atom.global.add.u32 %r9, [%rd1+2048], 1; st.shared.u32 [%r5], %r1; bar.sync 0; "
        "mad.lo.u32 %r6, %r1, 16, %r4; "
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r6]; not.b32 %r7, %r1;");
    const validate::Report truth = beside(c);
    ASSERT_FALSE(truth.first.has_value()) << truth.problem;
    for (const std::string name : {"ldmatrix", "not.b32"}) {
        uint64_t number = 0;
        while (!truth.spellings.at(number).starts_with(name)) ++number;
        for (const bool varies : {true, false}) {
            VaryingLane engine(number + 1, 1, varies);
            const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {}, nullptr);
            const bool is_other_each_time = varies && name == "ldmatrix";
            EXPECT_EQ(r.problem.starts_with("not comparable: line 10, " + name), is_other_each_time)
                << r.problem;
            EXPECT_EQ(r.first.has_value(), !is_other_each_time) << name;
        }
    }
}

// Between two instructions that are compared there may be any number of others.
TEST(OneRun, NamedLinesLieFarApart) {
    const launch::Case c = whole_case(
        "atom.global.add.u32 %r9, [%rd1+2048], 1;\nmov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1;\n"
        "setp.lt.u32 %p1, %r6, 150000; @%p1 bra L;\nnot.b32 %r7, %r6;");
    validate::Options lines, only;
    lines.lines = {{14, 14}};
    only.only = {"not"};
    for (const validate::Options& options : {lines, only}) {
        const validate::Report r = beside(c, options);
        EXPECT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value());
        EXPECT_GE(r.counts.values, uint64_t{ctas} * threads);
        EXPECT_GT(r.statistics.instructions, uint64_t{3} * 150000 * ctas * threads / 32);
    }
}

// The least memory that the message names is enough for the instructions, and less is not.
TEST(OneRun, TellsHowMuchMemoryTheTracksTake) {
    launch::Case c = whole_case(
        "atom.global.add.u32 %r9, [%rd1+2048], 1; add.u32 %r8, %r1, 1; add.u32 %r7, %r1, 2;");
    c.grid = {16, 1, 1};
    c.block = {1024, 1, 1};
    const std::string start = "too little memory for tracks: they take ";
    const auto said_with = [&](uint64_t megabytes) {
        validate::Options options;
        options.trace_bytes = megabytes << 20;
        const std::string said = beside(c, options).problem;
        return said.substr(0, said.find(" at least"));
    };
    const std::string said = said_with(1);
    ASSERT_TRUE(said.starts_with(start)) << said;
    const uint64_t megabytes = std::stoull(said.substr(start.size()));
    EXPECT_GT(megabytes, 2u);
    EXPECT_EQ(said_with(megabytes - 1), said);
    EXPECT_FALSE(said_with(megabytes).starts_with(start));
}

// A machine whose first tracks have one other value, and whose results another byte.
class LyingAtFirst : public validate::EmulatorEngine {
  public:
    explicit LyingAtFirst(uint64_t number)
        : EmulatorEngine(isa::Arch::sm_90, false, 1), number_(number) {}
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> why = EmulatorEngine::read(address, bytes);
        if (bytes.size() == 4096) bytes[1001] ^= 1;
        if (bytes.size() <= 4096 || std::exchange(lied_, true)) return why;
        auto* const words = reinterpret_cast<uint64_t*>(bytes.data());
        uint64_t at = 3;
        while (words[at] != number_) at += 32;
        words[at + 32] ^= 4;
        return why;
    }

  private:
    uint64_t number_;
    bool lied_ = false;
};

// What the tracks of a run showed that was made again, with longer ones, is forgotten.
TEST(OneRun, ADifferenceOfMemoryHasNoTracksOfAnEarlierRun) {
    const launch::Case c = whole_case(
        "mov.u32 %r15, 0;\nL: mov.u32 %r8, %clock; add.u32 %r11, %r3, 1; add.u32 %r12, %r3, 2;\n"
        "add.u32 %r13, %r3, 3; add.u32 %r14, %r3, 4;\n"
        "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 12; @%p2 bra L;\n");
    const std::vector<std::string> spellings = beside(c).spellings;
    const auto add = std::ranges::find(spellings, "add.u32");
    ASSERT_NE(add, spellings.end());
    for (const uint64_t words : {160u, 10000u}) {
        LyingAtFirst engine(static_cast<uint64_t>(add - spellings.begin()) + 1);
        validate::Options options;
        options.registers = validate::Registers::words;
        options.trace_bytes = words * 32 * 8 * (ctas * threads / 32);
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "") << words;
        ASSERT_TRUE(r.first.has_value()) << words;
        const bool again = words == 160;
        EXPECT_EQ(r.first->kind == validate::DifferenceKind::memory, again) << words;
        EXPECT_EQ(r.tracks.has_value(), !again) << words;
    }
}

// Bytes that differ from run to run are excused by what nothing wrote, and by nothing else.
TEST(OneRun, OutputsThatVary) {
    struct Row {
        const char* body;
        bool leaves;  // a byte that the kernel's instructions do not give
        bool excused;
        uint64_t bytes;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"st.global.u32 [%rd2], %r3;", true, false, 0},
             {"st.global.u32 [%rd2], %r19;", true, true, 1},
             {"ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;", false, true,
              uint64_t{ctas} * threads * 4},
             {"ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r5], 1;", false, true, 0}}) {
        const launch::Case c = whole_case(row.body);
        Varying engine(row.leaves);
        validate::Options options;
        options.registers = validate::Registers::words;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem.empty(), row.excused) << row.body << "\n" << r.problem;
        EXPECT_EQ(r.varying_bytes, row.bytes) << row.body;
    }
}

// Those of the last run alone, however many shares of the tracks were taken.
TEST(OneRun, OutputsThatVaryAreOfOneRun) {
    const launch::Case c = whole_case(
        "mov.u32 %r15, 0;\nL: ld.shared.u32 %r6, [%r5]; mov.u32 %r8, %clock;\n"
        "add.u32 %r11, %r3, 1; add.u32 %r12, %r3, 2; add.u32 %r13, %r3, 3; add.u32 %r14, %r3, 4;\n"
        "st.global.u32 [%rd2], %r6;\n"
        "add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 24; @%p2 bra L;\n");
    const uint64_t warps = uint64_t{ctas} * threads / 32;
    uint64_t windows = 0;
    for (const uint64_t words : {200u, 300u, 400u, 10000u}) {
        Varying engine(false);
        validate::Options options;
        options.registers = validate::Registers::words;
        options.trace_bytes = words * 32 * 8 * warps;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "") << words;
        EXPECT_EQ(r.varying_bytes, uint64_t{ctas} * threads * 4) << words;
        windows = std::max(windows, r.windows);
    }
    EXPECT_GT(windows, 2u);
}

// What a bulk copy brings is written; what it sends is not.
TEST(OneRun, BulkCopiesWriteSharedMemory) {
    const std::string made =
        "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [tile+768], 1; bar.sync 0;\n";
    const launch::Case brings = whole_case(
        made +
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd5, [tile+768], 256;\n"
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], "
        "256, [tile+768];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p2, [tile+768], 0; @!%p2 bra W;\n"
        "ld.shared.u32 %r6, [%r5];\n");
    const validate::Report brought = beside(brings);
    EXPECT_EQ(brought.problem, "");
    EXPECT_FALSE(brought.first.has_value()) << text_report(brought, {}, "k.ptx");
    EXPECT_EQ(brought.counts.unwritten, 0u);
    const launch::Case sends = whole_case(
        "setp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bar.sync 0;\n"
        "ld.shared.u32 %r6, [%r5];\n");
    validate::Options registers;
    registers.registers = validate::Registers::words;
    const validate::Report sent = beside(sends, registers);
    EXPECT_EQ(sent.counts.unwritten, uint64_t{ctas} * threads);
    EXPECT_TRUE(!sent.first || sent.first->kind == validate::DifferenceKind::memory);
}

}  // namespace
}  // namespace lockwarp::one_run_test
