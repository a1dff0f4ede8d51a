// SPDX-License-Identifier: Apache-2.0
// Lies in what an engine left, one at a time: a bit of any word of a track, another instruction's
// number, a record that is missing or too many, a byte of memory, a fault that was none. Each is
// found where it is.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;
using validate::Answer;
using validate::DifferenceKind;

constexpr isa::Arch arch = isa::Arch::sm_90;
constexpr uint64_t warps = lies::threads / 32;

struct Truth {
    launch::Case c = lies::case_of(lies::widths);
    validate::Options options;
    Answer answer;
    validate::Report report;
    explicit Truth(uint64_t trace_bytes) {
        options.trace_bytes = trace_bytes;
        options.threads = 1;
        validate::EmulatorEngine engine(arch, false, 1);
        report = run_lockstep(c, arch, engine, options, &answer);
    }
};

// A record of a lane, as the format says (gpu/trace.hpp): the instruction's number from 1, then
// what it wrote.
struct Record {
    uint64_t cta;
    uint32_t warp, lane;
    uint64_t word;  // of the track
    uint32_t operation;
    uint32_t written;
};

uint64_t* word_at(Answer& a, uint64_t cta, uint32_t warp, uint32_t lane, uint64_t begin,
                  uint64_t more) {
    for (validate::Tracks& t : a.tracks) {
        const gpu::TraceWindow& w = t.window;
        if (cta < w.first_cta || cta >= w.first_cta + w.ctas) continue;
        if (begin < w.first || begin >= w.first + w.words) continue;
        const uint64_t track = (cta - w.first_cta) * warps + warp;
        const uint64_t at = track * (w.words + t.slack) + (begin + more - w.first);
        return reinterpret_cast<uint64_t*>(t.words.data()) + at * 32 + lane;
    }
    return nullptr;
}

struct Walked {
    std::vector<Record> records;
    std::vector<Record> ends;  // of each lane: where nothing more stands
};

Walked walk(Truth& truth) {
    Walked out;
    const isa::Program& p = truth.report.program;
    for (uint64_t cta = 0; cta < lies::ctas; ++cta)
        for (uint32_t warp = 0; warp < warps; ++warp)
            for (uint32_t lane = 0; lane < 32; ++lane)
                for (uint64_t word = 0;;) {
                    const uint64_t* const at = word_at(truth.answer, cta, warp, lane, word, 0);
                    const uint64_t number = at == nullptr ? 0 : *at;
                    const auto operation = static_cast<uint32_t>(number - 1);
                    if (number == 0) {
                        if (at != nullptr) out.ends.push_back({cta, warp, lane, word, 0, 0});
                        break;
                    }
                    const uint32_t written = p.operations.at(operation).written;
                    out.records.push_back({cta, warp, lane, word, operation, written});
                    word += 1 + written;
                }
    return out;
}

// The last conditional branch of a lane before each of its records, and whether it was taken.
struct Branch {
    uint32_t operation = validate::no_branch;
    bool taken = false;
};
using Branches = std::map<std::array<uint64_t, 4>, Branch>;  // by CTA, warp, lane and word

struct BranchListener : warp::Observer {
    explicit BranchListener(const gpu::Traced& t) : traced(t) {}
    struct Lane {
        uint64_t word = 0;
        Branch branch;
    };
    struct OfCta : warp::CtaObserver {
        explicit OfCta(BranchListener& l) : all(l) {}
        void retired(const warp::Retired& e) override {
            const isa::Operation& o = e.program->operations[e.operation];
            for (uint32_t l = 0; l < 32; ++l) {
                Lane& lane = lanes[e.warp * 32 + l];
                const bool executed = (e.executed >> l & 1) != 0;
                if (o.op == isa::Op::bra && o.guarded && (e.active >> l & 1) != 0)
                    lane.branch = {e.operation, executed};
                if (!executed || !all.traced[e.operation]) continue;
                all.branches[{e.cta_index, e.warp, l, lane.word}] = lane.branch;
                lane.word += 1u + o.written;
            }
        }
        BranchListener& all;
        std::array<Lane, lies::threads> lanes;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(*this);
    }
    const gpu::Traced& traced;
    Branches branches;
};

Branches branches_of(const Truth& truth) {
    warp::Launch launch;
    launch.grid = truth.c.grid;
    launch.block = truth.c.block;
    launch.threads = 1;
    std::vector<uint8_t> bytes = truth.c.bytes[0];
    const uint64_t address = truth.answer.addresses[0];
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &address, 8);
    launch.buffers = {{"out", address, bytes}};
    BranchListener listener(truth.answer.traced);
    launch.observers = {&listener};
    EXPECT_FALSE(exec::launch(truth.report.program, launch).trap.has_value());
    return listener.branches;
}

std::string text_of(const Record& r) {
    return "CTA " + std::to_string(r.cta) + ", warp " + std::to_string(r.warp) + ", lane " +
           std::to_string(r.lane) + ", word " + std::to_string(r.word);
}

// What is found of an answer whose word was changed.
std::optional<validate::Difference> found(Truth& truth, uint64_t& word, uint64_t lie) {
    const uint64_t right = std::exchange(word, lie);
    const validate::Report report = replay(truth.c, arch, truth.answer, truth.options);
    word = right;
    EXPECT_EQ(report.problem, "");
    return report.first;
}

void expect_place(const validate::Difference& d, const Record& r, DifferenceKind kind) {
    EXPECT_EQ(d.kind, kind) << text_of(r);
    EXPECT_EQ(d.cta_index, r.cta) << text_of(r);
    EXPECT_EQ(d.cta[0], r.cta) << text_of(r);
    EXPECT_EQ(d.warp, r.warp) << text_of(r);
    EXPECT_EQ(d.lane, r.lane) << text_of(r);
    EXPECT_EQ(d.word, r.word) << text_of(r);
}

class TrackLies : public testing::TestWithParam<uint64_t> {};

TEST_P(TrackLies, AreFoundWhereTheyStand) {
    Truth truth(GetParam());
    ASSERT_EQ(truth.report.problem, "");
    ASSERT_FALSE(truth.report.first.has_value());
    ASSERT_FALSE(replay(truth.c, arch, truth.answer, truth.options).first.has_value());
    const Walked walked = walk(truth);
    ASSERT_GT(walked.records.size(), 5000u);
    const Branches branches = branches_of(truth);
    ASSERT_EQ(branches.size(), walked.records.size());
    std::set<uint64_t> taken_by, passed_by;  // lanes of a difference behind a branch
    std::set<uint32_t> lanes, operations, bits;
    std::set<uint64_t> places;
    size_t values = 0;
    size_t numbers = 0;
    constexpr size_t step = 13;  // of 32 lanes: all of them in turn
    for (size_t n = 0; n < walked.records.size(); n += step) {
        const Record& r = walked.records[n];
        const validate::Counts& known = truth.report.by_operation[r.operation];
        const auto at = [&](uint64_t more) -> uint64_t& {
            return *word_at(truth.answer, r.cta, r.warp, r.lane, r.word, more);
        };
        const bool compared = known.masked + known.taken + known.unwritten + known.places == 0;
        const Branch branch = branches.at({r.cta, r.warp, r.lane, r.word});
        if (branch.operation != validate::no_branch)
            (branch.taken ? taken_by : passed_by).insert(r.lane);
        for (uint32_t i = 0; i < r.written && compared; ++i) {
            const auto bit = static_cast<uint32_t>((n / step + i * 17) % 64);
            const uint64_t right = at(1 + i);
            const auto d = found(truth, at(1 + i), right ^ uint64_t{1} << bit);
            ASSERT_TRUE(d.has_value()) << text_of(r) << ", bit " << bit;
            expect_place(*d, r, DifferenceKind::value);
            EXPECT_EQ(d->operation, r.operation);
            EXPECT_EQ(d->reg, i);
            EXPECT_EQ(d->emulated, right);
            EXPECT_EQ(d->other, right ^ uint64_t{1} << bit);
            EXPECT_NE(d->executed >> r.lane & 1, 0u);
            EXPECT_EQ(d->branch, branch.operation) << text_of(r);
            EXPECT_EQ(d->branch_taken, branch.taken) << text_of(r);
            bits.insert(bit);
            ++values;
        }
        // Of another instruction, and of none: the lane went another way, or no further.
        const uint64_t right = r.operation + 1;
        for (const uint64_t number : {n % 2 == 0 ? right + 1 : right - 1, uint64_t{0}}) {
            const auto d = found(truth, at(0), number);
            ASSERT_TRUE(d.has_value()) << text_of(r) << ", number " << number;
            expect_place(*d, r, DifferenceKind::control_flow);
            EXPECT_EQ(d->operation, r.operation);
            EXPECT_EQ(d->emulated, right);
            EXPECT_EQ(d->other, number);
            EXPECT_EQ(d->branch, branch.operation) << text_of(r);
            EXPECT_EQ(d->branch_taken, branch.taken) << text_of(r);
            ++numbers;
            if (right == 1) break;
        }
        lanes.insert(r.lane);
        operations.insert(r.operation);
        places.insert(r.cta * warps + r.warp);
    }
    EXPECT_GT(values, 500u);
    EXPECT_GT(numbers, 800u);
    EXPECT_EQ(lanes.size(), 32u);
    EXPECT_EQ(taken_by.size(), 32u);
    EXPECT_GE(passed_by.size(), 20u);
    EXPECT_EQ(bits.size(), 64u);
    EXPECT_GT(operations.size(), 35u);
    EXPECT_EQ(places.size(), lies::ctas * warps);
}

// A lane of the engine that went on behind its end, each one.
TEST_P(TrackLies, ARecordTooManyIsFound) {
    Truth truth(GetParam());
    const Walked walked = walk(truth);
    ASSERT_GT(walked.ends.size(), size_t{31});
    for (const Record& r : walked.ends) {
        uint64_t& word = *word_at(truth.answer, r.cta, r.warp, r.lane, r.word, 0);
        const uint64_t number = 1 + r.lane % truth.report.program.operations.size();
        const auto d = found(truth, word, number);
        ASSERT_TRUE(d.has_value()) << text_of(r);
        expect_place(*d, r, DifferenceKind::control_flow);
        EXPECT_EQ(d->emulated, 0u);
        EXPECT_EQ(d->other, number);
        EXPECT_EQ(d->operation, number - 1);
    }
}

// Of a CTA nothing is compared behind another way that a lane went.
TEST(WaysOfLanes, EndWhatIsComparedOfACta) {
    Truth truth(uint64_t{1} << 30);
    ASSERT_EQ(truth.report.windows, 1u);
    for (uint64_t cta = 0; cta < lies::ctas; ++cta)
        for (const uint32_t lane : {0u, 5u, 31u}) {
            uint64_t& word = *word_at(truth.answer, cta, 0, lane, 0, 0);
            const uint64_t right = std::exchange(word, 2);
            ASSERT_EQ(right, 1u);
            const validate::Report report = replay(truth.c, arch, truth.answer, truth.options);
            word = right;
            ASSERT_TRUE(report.first.has_value());
            EXPECT_EQ(report.first->kind, DifferenceKind::control_flow);
            EXPECT_EQ(report.counts.different, 1u);
            // The other CTAs', which have as many each, and those of the lanes before it.
            EXPECT_EQ(report.records, truth.report.records / lies::ctas * (lies::ctas - 1) + lane);
        }
}

// Tracks that fit whole, and in several windows.
INSTANTIATE_TEST_SUITE_P(Comparator, TrackLies,
                         testing::Values(uint64_t{1} << 30, uint64_t{280} << 10),
                         [](const testing::TestParamInfo<uint64_t>& p) {
                             return "in_" + std::to_string(p.param >> 10) + "_KiB";
                         });

TEST(MemoryLies, EveryByteIsComparedInARecording) {
    Truth truth(uint64_t{1} << 30);
    std::vector<uint8_t>& bytes = truth.answer.outputs[0];
    for (size_t at = 0; at < bytes.size(); at += at % 16 == 0 ? 5 : 11) {
        const uint8_t right = bytes[at];
        bytes[at] = static_cast<uint8_t>(right ^ 1u << at % 8);
        const validate::Report report = replay(truth.c, arch, truth.answer, truth.options);
        ASSERT_TRUE(report.first.has_value()) << at;
        EXPECT_EQ(report.first->kind, DifferenceKind::memory);
        EXPECT_EQ(report.first->buffer, "out");
        EXPECT_EQ(report.first->offset, at);
        EXPECT_EQ(report.first->emulated, right);
        EXPECT_EQ(report.first->other, bytes[at]);
        EXPECT_EQ(report.counts.memory_different, 1u);
        EXPECT_EQ(report.counts.memory_bytes, bytes.size());
        bytes[at] = right;
    }
}

// Answers for one run of the kernel otherwise: its memory, or how it ended.
class Liar : public validate::EmulatorEngine {
  public:
    Liar() : EmulatorEngine(arch, false, 1) {}
    std::set<uint32_t> runs;  // the plain kernel's is 1, the traced one's next
    std::optional<uint64_t> byte;
    gpu::Ran end;

    uint64_t allocate(uint64_t bytes) override {
        const uint64_t address = EmulatorEngine::allocate(bytes);
        if (buffer_ == 0) buffer_ = address;
        return address;
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        auto out = EmulatorEngine::read(address, bytes);
        if (byte && runs.contains(run_) && address == buffer_) bytes[*byte] ^= 0x10;
        return out;
    }
    gpu::Ran run(const gpu::Job& job) override {
        ++run_;
        const gpu::Ran ran = EmulatorEngine::run(job);
        return runs.contains(run_) && !byte ? end : ran;
    }

  private:
    uint64_t buffer_ = 0;
    uint32_t run_ = 0;
};

validate::Report compared(Liar& liar, bool digests) {
    validate::Options options;
    options.registers = digests ? validate::Registers::digests : validate::Registers::words;
    options.threads = 1;
    return run_lockstep(lies::case_of(lies::widths), arch, liar, options);
}

TEST(MemoryLies, OfAnEngineAreFoundByWordsAndByDigests) {
    for (const bool digests : {false, true})
        for (uint64_t at = 0; at < lies::ctas * lies::threads * 16; at += 61) {
            Liar liar;
            liar.byte = at;
            for (uint32_t run = 1; run < 9; ++run) liar.runs.insert(run);
            const validate::Report report = compared(liar, digests);
            ASSERT_EQ(report.problem, "");
            ASSERT_TRUE(report.first.has_value()) << at;
            EXPECT_EQ(report.first->kind, DifferenceKind::memory) << at;
            EXPECT_EQ(report.first->offset, at);
            EXPECT_EQ(report.first->emulated ^ report.first->other, 0x10u);
        }
}

// Memory that only one run of a kernel leaves so is a difference, or the engine is not sure of
// itself; beside digests it makes the words be looked at.
TEST(MemoryLies, OfOneRunAloneAreNotPassedOver) {
    for (const bool digests : {false, true})
        for (const uint32_t run : {1u, 2u}) {
            Liar liar;
            liar.byte = 100;
            liar.runs = {run};
            const validate::Report report = compared(liar, digests);
            const bool seen = report.first.has_value() || !report.problem.empty();
            if (digests && run == 2) {
                EXPECT_FALSE(report.by_digest);
                EXPECT_GT(report.windows, 0u);
            } else {
                EXPECT_TRUE(seen) << digests << ", run " << run;
            }
        }
    Liar honest;
    EXPECT_TRUE(compared(honest, true).by_digest);
}

TEST(FaultLies, OfAnyKindInAnyRunAreNeverIdentical) {
    for (const bool digests : {false, true})
        for (const uint32_t run : {1u, 2u})
            for (const gpu::Outcome outcome : {gpu::Outcome::faulted, gpu::Outcome::hung,
                                               gpu::Outcome::refused, gpu::Outcome::uncompiled}) {
                Liar liar;
                liar.runs = {run};
                liar.end = {outcome, "as told", gpu::Fault::illegal_address};
                const validate::Report report = compared(liar, digests);
                EXPECT_FALSE(report.same_fault);
                EXPECT_TRUE(report.first.has_value() || !report.problem.empty())
                    << digests << ", run " << run << ", outcome " << static_cast<int>(outcome);
                if (run != 1) continue;
                if (outcome == gpu::Outcome::faulted || outcome == gpu::Outcome::hung) {
                    ASSERT_TRUE(report.first.has_value());
                    EXPECT_EQ(report.first->kind, DifferenceKind::fault);
                } else {
                    EXPECT_NE(report.problem.find("as told"), std::string::npos) << report.problem;
                }
            }
}

// Of a digest of each CTA in turn, in the second run; the words, which the third and the fourth
// ask, are true, or not in the third.
class DigestLiar : public validate::EmulatorEngine {
  public:
    DigestLiar(uint64_t digest, bool of_words)
        : EmulatorEngine(arch, false, 1), digest_(digest), of_words_(of_words) {}
    uint64_t allocate(uint64_t bytes) override {
        const uint64_t address = EmulatorEngine::allocate(bytes);
        if (buffer_ == 0) buffer_ = address;
        return address;
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        auto out = EmulatorEngine::read(address, bytes);
        if (address == buffer_) return out;
        words[static_cast<size_t>(runs)] = bytes.size() / 8;
        if (runs == 2) bytes[digest_ * 8] ^= 1;
        if (runs == 3 && of_words_) bytes[size_t{3} * 32 * 8] ^= 1;  // the second record's value
        return out;
    }
    gpu::Ran run(const gpu::Job& job) override {
        ++runs;
        return EmulatorEngine::run(job);
    }
    int runs = 0;                   // the plain kernel's is the first
    std::array<size_t, 5> words{};  // by run: of its tracks

  private:
    uint64_t buffer_ = 0;
    const uint64_t digest_;
    const bool of_words_;
};

TEST(DigestLies, AreFollowedToTheWords) {
    constexpr uint32_t ctas = 4;
    launch::Case c = lies::case_of(lies::widths);
    c.grid.x = ctas;
    c.bytes = {std::vector<uint8_t>(ctas * lies::threads * 16)};
    validate::Options options;
    options.threads = 1;
    options.registers = validate::Registers::words;
    validate::EmulatorEngine honest(arch, false, 1);
    const validate::Report words = run_lockstep(c, arch, honest, options);
    ASSERT_EQ(words.problem, "");
    options.registers = validate::Registers::digests;
    for (const uint32_t cluster : {1u, 2u})
        for (uint64_t cta = 0; cta < ctas; ++cta)
            for (const bool of_words : {false, true}) {
                if (cluster != 1) c.cluster = warp::Dim3{cluster, 1, 1};
                DigestLiar liar((cta + 1) * lies::threads - 1, of_words);
                const validate::Report report = run_lockstep(c, arch, liar, options);
                EXPECT_EQ(report.problem, "");
                EXPECT_FALSE(report.by_digest);
                ASSERT_EQ(report.first.has_value(), of_words);
                EXPECT_EQ(liar.runs, of_words ? 3 : 4);
                if (of_words) {
                    EXPECT_EQ(report.first->kind, DifferenceKind::value);
                    EXPECT_EQ(report.first->cta_index, cta / cluster * cluster);
                    EXPECT_EQ(report.first->warp, 0u);
                } else {
                    // The cluster's alone are not counted twice.
                    EXPECT_EQ(report.counts.values, words.counts.values);
                    EXPECT_EQ(report.by_operation.size(), words.by_operation.size());
                    EXPECT_EQ(liar.words[3] * ctas, liar.words[4] * cluster);
                }
            }
}

// A lane that alone leaves a record more than the others is beside its own track from then on.
TEST(TrueTracks, OfOneLaneThatWentAnotherWayAreIdentical) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const launch::Case c = lies::case_of(
            ".reg .b32 %r<6>; .reg .pred %p<2>;\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\n"
            "setp.ne.u32 %p1, %r2, " +
            std::to_string(lane) +
            ";\n@%p1 bra JOIN;\nadd.u32 %r3, %r1, 7;\nJOIN:\nbar.sync 0;\n"
            "mul.lo.u32 %r4, %r1, 3;\nxor.b32 %r5, %r4, %r1;\nret;\n");
        validate::EmulatorEngine engine(arch, false, 1);
        validate::Options options;
        options.registers = validate::Registers::words;
        const validate::Report report = run_lockstep(c, arch, engine, options);
        ASSERT_EQ(report.problem, "") << lane;
        EXPECT_FALSE(report.first.has_value()) << lane;
        options.registers = validate::Registers::digests;
        const validate::Report digests = run_lockstep(c, arch, engine, options);
        ASSERT_EQ(digests.problem, "") << lane;
        EXPECT_FALSE(digests.first.has_value()) << lane;
        EXPECT_TRUE(digests.by_digest) << lane;
        EXPECT_EQ(digests.counts.values, report.counts.values) << lane;
    }
}

// Of a watched warp of a watched CTA a lie is found, and of no other.
TEST(WatchedLies, AreThoseThatAreWatched) {
    Truth truth(uint64_t{1} << 30);
    const Walked walked = walk(truth);
    for (size_t n = 0; n < walked.records.size(); n += 211) {
        const Record& r = walked.records[n];
        const validate::Counts& known = truth.report.by_operation[r.operation];
        if (r.written == 0 || known.masked + known.taken + known.unwritten + known.places != 0)
            continue;
        uint64_t& word = *word_at(truth.answer, r.cta, r.warp, r.lane, r.word, 1);
        for (uint64_t cta = 0; cta < lies::ctas; ++cta)
            for (uint32_t warp = 0; warp < warps; ++warp) {
                truth.options.first_cta = cta;
                truth.options.ctas = 1;
                truth.options.warps = uint32_t{1} << warp;
                EXPECT_EQ(found(truth, word, word ^ 1).has_value(), cta == r.cta && warp == r.warp)
                    << text_of(r) << ", watched: CTA " << cta << ", warp " << warp;
            }
    }
}

}  // namespace
