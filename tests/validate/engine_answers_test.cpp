// SPDX-License-Identifier: Apache-2.0
// Engines that do not do what they are asked, at each request in turn, and answers that are of
// another case: each is said to be so, and none is taken for a comparison.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "emu/isa/tensor_map.hpp"
#include "tests/validate/failing_engine.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/faults.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::engine_answers_test {
namespace {

using gpu::Outcome;
using validate::Options;
using validate::Registers;
using validate::Report;

constexpr isa::Arch arch = isa::Arch::sm_90;

using validate::Failing;
using validate::Fails;

struct Mode {
    const char* name;
    Options options;
    std::array<int, 3> requests;  // at least: allocations, reads, runs
};

std::vector<Mode> modes() {
    Mode words{"words", {}, {2, 3, 2}};
    words.options.registers = Registers::words;
    Mode windows{"windows", {}, {4, 8, 5}};
    windows.options.registers = Registers::words;
    windows.options.trace_bytes = uint64_t{280} << 10;
    Mode digests{"digests", {}, {2, 3, 2}};
    digests.options.registers = Registers::digests;
    Mode memory{"memory", {}, {1, 1, 1}};
    memory.options.final_only = true;
    std::vector<Mode> all{words, windows, digests, memory};
    for (Mode& m : all) m.options.threads = 1;
    return all;
}

std::string expected(Fails what, int n) {
    const std::string name = "the emulator as sm_90";
    switch (what) {
        case Fails::allocate:
            return (n == 0 ? "no memory on " : "no memory for tracks on ") + name;
        case Fails::write:
            return "not written";
        case Fails::clear:
            return "not cleared";
        case Fails::read:
            return "not read";
        case Fails::refused:
            return n == 0 ? name + ": not so" : "the traced kernel: not so";
        case Fails::uncompiled:
            return n == 0 ? name + ": not in time" : "the traced kernel: not in time";
        case Fails::faulted:
            break;
    }
    return "";
}

TEST(EngineAnswers, WhereARequestFails) {
    const launch::Case c = lies::case_of(lies::widths);
    for (const Mode& mode : modes())
        for (const Fails what : {Fails::allocate, Fails::write, Fails::clear, Fails::read,
                                 Fails::refused, Fails::uncompiled, Fails::faulted}) {
            int n = 0;
            for (;; ++n) {
                Failing engine(arch, what, n);
                const Report r = run_lockstep(c, arch, engine, mode.options);
                EXPECT_TRUE(engine.held.empty());
                const std::string where = std::string(mode.name) + ", kind " +
                                          std::to_string(static_cast<int>(what)) + ", request " +
                                          std::to_string(n);
                if (!engine.has_failed) {
                    EXPECT_EQ(r.problem, "") << where;
                    EXPECT_FALSE(r.first.has_value()) << where;
                    break;
                }
                EXPECT_EQ(r.problem, expected(what, n)) << where;
                EXPECT_EQ(r.first.has_value(), what == Fails::faulted) << where;
                if (what != Fails::faulted || !r.first) continue;
                EXPECT_EQ(r.first->kind, validate::DifferenceKind::fault) << where;
                EXPECT_EQ(r.first->what,
                          "the emulator as sm_90: it fell; the emulator ran to its end");
                EXPECT_EQ(r.fault, "it fell");
            }
            if (what == Fails::allocate) {
                EXPECT_GE(n, mode.requests[0]) << mode.name;
            }
            if (what == Fails::read) {
                EXPECT_GE(n, mode.requests[1]) << mode.name;
            }
            if (what >= Fails::refused) {
                EXPECT_GE(n, mode.requests[2]) << mode.name;
            }
        }
}

// 5 CTAs of 80 threads: two whole warps and a half.
launch::Case five_ctas() {
    launch::Case c = lies::case_of(
        ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
        "ld.param.u64 %rd1, [out];\n"
        "mov.u32 %r1, %tid.x;\n"
        "setp.lt.u32 %p1, %r1, 7;\n"
        "st.global.u32 [%rd1], 5;\n"
        "ret;\n");
    c.grid = {5, 1, 1};
    c.block = {80, 1, 1};
    c.bytes = {std::vector<uint8_t>(12)};
    return c;
}

// Of CTAs that were asked for the whole clusters, and no other.
TEST(EngineAnswers, WholeClustersOfTheCtasThatWereAskedFor) {
    launch::Case c = five_ctas();
    c.grid = {8, 1, 1};
    for (const uint64_t slab : {1u, 2u, 4u, 8u}) {
        c.cluster = warp::Dim3{static_cast<uint32_t>(slab), 1, 1};
        for (const uint64_t first : {0u, 1u, 3u, 6u, 7u})
            for (const uint64_t ctas : std::initializer_list<uint64_t>{1, 2, 3, 8, UINT64_MAX}) {
                Options o;
                o.first_cta = first;
                o.ctas = ctas;
                o.threads = 1;
                validate::EmulatorEngine engine(arch, false, 1);
                const Report r = run_lockstep(c, arch, engine, o);
                EXPECT_EQ(r.problem, "");
                std::set<uint64_t> clusters;
                for (uint64_t cta = first; cta < 8 && cta - first < ctas; ++cta)
                    clusters.insert(cta / slab);
                EXPECT_EQ(r.counts.values, clusters.size() * slab * 80 * 3)
                    << slab << " " << first << " " << ctas;
            }
    }
}

TEST(EngineAnswers, OnlyTheCtasAndWarpsThatWereAskedFor) {
    const launch::Case c = five_ctas();
    for (const Registers registers : {Registers::words, Registers::digests, Registers::by_size})
        for (const uint64_t first : {0u, 1u, 3u, 4u, 5u, 6u})
            for (const uint64_t ctas : std::initializer_list<uint64_t>{1, 2, 4, 5, 6, UINT64_MAX})
                for (const uint32_t warps : {UINT32_MAX, 1u, 2u, 4u, 5u, 6u}) {
                    Options o;
                    o.registers = registers;
                    o.first_cta = first;
                    o.ctas = ctas;
                    o.warps = warps;
                    o.threads = 1;
                    // One CTA of tracks at a time, and all of them.
                    for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{500} << 10}) {
                        o.trace_bytes = bytes;
                        validate::EmulatorEngine engine(arch, false, 1);
                        const Report r = run_lockstep(c, arch, engine, o);
                        EXPECT_FALSE(r.first.has_value());
                        if (first >= 5) {
                            EXPECT_EQ(r.problem, "the grid has no CTA " + std::to_string(first));
                            continue;
                        }
                        EXPECT_EQ(r.problem, "");
                        const uint64_t watched = std::min<uint64_t>(ctas, 5 - first);
                        const uint64_t lanes =
                            (warps & 1 ? 32 : 0) + (warps & 2 ? 32 : 0) + (warps & 4 ? 16 : 0);
                        EXPECT_EQ(r.counts.values, watched * lanes * 3)
                            << first << " " << ctas << " " << warps;
                        EXPECT_EQ(r.counts.memory_bytes, 12u);
                        EXPECT_EQ(r.counts.different, 0u);
                        EXPECT_EQ(r.by_digest,
                                  registers == Registers::digests && warps == UINT32_MAX);
                        if (!r.by_digest) {
                            EXPECT_EQ(r.records, watched * lanes * 3);
                        }
                    }
                }
}

TEST(EngineAnswers, TooLittleMemoryForTracks) {
    const launch::Case c = five_ctas();
    validate::EmulatorEngine engine(arch, false, 1);
    Options o;
    o.registers = Registers::words;
    o.threads = 1;
    bool fits = false;
    for (uint64_t words = 4; words < 80; ++words) {
        // Two windows of one CTA of three warps, whose words have 256 bytes.
        o.trace_bytes = words * 2 * 3 * 256;
        const Report r = run_lockstep(c, arch, engine, o);
        EXPECT_EQ(r.problem, r.counts.values != 0
                                 ? ""
                                 : "too little memory for tracks: they take 1 MB at "
                                   "least, and may take 1 MB (--trace-mb)");
        EXPECT_TRUE(r.counts.values == 0 || r.counts.values == 5u * 80 * 3);
        EXPECT_TRUE(r.counts.values != 0 || !fits) << words;
        fits = fits || r.counts.values != 0;
        // A segment of three records has 6 words; its slack at both ends of a window twice as many.
        EXPECT_EQ(fits, words > 24) << words;
    }
    EXPECT_TRUE(fits);
}

struct Kept {
    launch::Case c = lies::case_of(lies::widths);
    validate::Answer answer;
    Options options;
    Kept() {
        options.registers = Registers::words;
        options.threads = 1;
        validate::EmulatorEngine engine(arch, false, 1);
        const Report r = run_lockstep(c, arch, engine, options, &answer);
        EXPECT_EQ(r.problem, "");
        EXPECT_EQ(replay(c, arch, answer, options).problem, "");
    }
};

TEST(EngineAnswers, OfAnotherCaseAreRefused) {
    const Kept kept;
    using validate::Answer;
    const char* const window = "a window of its tracks is not right";
    const uint64_t limit = uint64_t{1} << 40;
    struct Row {
        std::function<void(Answer&)> change;
        const char* why;  // "": it is accepted
    };
    const auto resized = [](std::function<void(validate::Tracks&)> change, const char* why) {
        return Row{[=](Answer& a) {
                       validate::Tracks& t = a.tracks[0];
                       change(t);
                       t.words.resize(gpu::trace_bytes(t.window, t.slack, 2));
                   },
                   why};
    };
    using validate::Tracks;
    const std::vector<Row> rows{
        {[](Answer&) {}, ""},
        {[](Answer& a) { a.addresses.clear(); }, "its buffers' addresses are not complete"},
        {[](Answer& a) { a.addresses.push_back(1); }, "its buffers' addresses are not complete"},
        {[](Answer& a) { a.outputs.push_back({}); }, "its buffers are not complete"},
        {[](Answer& a) { a.outputs[0].pop_back(); }, "a buffer has another size"},
        {[](Answer& a) { a.outputs[0].push_back(0); }, "a buffer has another size"},
        {[](Answer& a) { a.outputs.clear(); }, ""},
        {[](Answer& a) { a.traced.pop_back(); }, "its tracks are of another program"},
        {[](Answer& a) { a.traced.push_back(true); }, "its tracks are of another program"},
        {[](Answer& a) { a.orders.assign(a.traced.size() - 1, gpu::Ordered::none); },
         "its order is of another program"},
        {[](Answer& a) { a.orders.assign(a.traced.size() + 1, gpu::Ordered::none); },
         "its order is of another program"},
        {[](Answer& a) {
             a.orders.assign(a.traced.size(), gpu::Ordered::none);
             a.orders.back() = gpu::Ordered::block;
         },
         "its order is of another program"},
        {[](Answer& a) { a.tracks[0].words.pop_back(); }, window},
        {[](Answer& a) { a.tracks[0].words.push_back(0); }, window},
        {[](Answer& a) { a.tracks[0].words.clear(); }, window},
        {[](Answer& a) { a.tracks[0].window.ctas = 0; }, window},
        {[](Answer& a) { a.tracks[0].window.ctas = 4; }, window},
        {[](Answer& a) { a.tracks[0].window.ctas = UINT64_MAX; }, window},
        {[](Answer& a) { a.tracks[0].window.first_cta = 1; }, window},
        {[](Answer& a) { a.tracks[0].window.first_cta = UINT64_MAX; }, window},
        {[=](Answer& a) { a.tracks[0].window.first = limit + 1; }, window},
        {[=](Answer& a) { a.tracks[0].window.words = limit + 1; }, window},
        {[=](Answer& a) { a.tracks[0].window.words = uint64_t{1} << 60; }, window},
        {[=](Answer& a) { a.tracks[0].slack = limit + 1; }, window},
        {[=](Answer& a) { a.tracks[0].slack = UINT64_MAX; }, window},
        // A record of five words must have room behind a window.
        resized([](Tracks& t) { t.slack = 4; }, window),
        resized([](Tracks& t) { t.window.ctas = 4; }, window),
        resized([](Tracks& t) { t.window.first_cta = 3; }, window),
        resized([](Tracks& t) { t.window.first_cta = 1; }, window),
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        Answer answer = kept.answer;
        rows[i].change(answer);
        const Report r = replay(kept.c, arch, answer, kept.options);
        EXPECT_EQ(r.problem,
                  rows[i].why[0] == 0
                      ? ""
                      : "the recording does not belong to its program: " + std::string(rows[i].why))
            << "row " << i;
        EXPECT_FALSE(r.first.has_value()) << "row " << i;
        if (rows[i].why[0] == 0) {
            EXPECT_GT(r.counts.values, 0u);
        }
    }
}

// The recording's own fault is the emulator's, or a difference.
TEST(EngineAnswers, AFaultInARecording) {
    Kept kept;
    for (const Outcome outcome : {Outcome::faulted, Outcome::hung}) {
        kept.answer.ran = {outcome, "it fell", gpu::Fault::illegal_address};
        const Report r = replay(kept.c, arch, kept.answer, kept.options);
        EXPECT_EQ(r.problem, "");
        ASSERT_TRUE(r.first.has_value());
        EXPECT_EQ(r.first->what, "the emulator as sm_90: it fell; the emulator ran to its end");
        EXPECT_EQ(r.counts.values, 0u);
    }
}

// One byte of memory that differs, of each buffer, and registers left alone.
TEST(EngineAnswers, EachByteOfMemoryIsCompared) {
    Kept kept;
    launch::Case c = five_ctas();
    c.names = {"out", "other"};
    c.bytes.push_back(std::vector<uint8_t>(5, 9));
    Options o;
    o.final_only = true;
    o.threads = 1;
    validate::EmulatorEngine engine(arch, false, 1);
    validate::Answer answer;
    Report r = run_lockstep(c, arch, engine, o, &answer);
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(r.counts.memory_bytes, 17u);
    for (size_t b = 0; b < 2; ++b)
        for (size_t i = 0; i < c.bytes[b].size(); ++i) {
            answer.outputs[b][i] ^= 0x80;
            r = replay(c, arch, answer, o);
            ASSERT_TRUE(r.first.has_value());
            EXPECT_EQ(r.first->kind, validate::DifferenceKind::memory);
            EXPECT_EQ(r.first->buffer, c.names[b]);
            EXPECT_EQ(r.first->offset, i);
            EXPECT_EQ(r.first->emulated ^ r.first->other, 0x80u);
            EXPECT_EQ(r.first->other, answer.outputs[b][i]);
            EXPECT_EQ(r.counts.memory_bytes, 17u);
            EXPECT_EQ(r.counts.memory_different, 1u);
            answer.outputs[b][i] ^= 0x80;
        }
    answer.outputs[0][3] ^= 1;
    answer.outputs[0][7] ^= 1;
    answer.outputs[1][0] ^= 1;
    r = replay(c, arch, answer, o);
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->buffer, "out");
    EXPECT_EQ(r.first->offset, 3u);
    EXPECT_EQ(r.counts.memory_different, 3u);
}

class Encoder : public validate::EmulatorEngine {
  public:
    using Encode = std::function<launch::Result<std::vector<uint8_t>>(const isa::TensorMap&)>;
    explicit Encoder(Encode encode) : EmulatorEngine(arch, false, 1), encode_(std::move(encode)) {}
    launch::Result<std::vector<uint8_t>> encode(const isa::TensorMap& map) override {
        asked.push_back(map.address);
        return encode_(map);
    }
    std::vector<uint64_t> asked;

  private:
    Encode encode_;
};

TEST(EngineAnswers, TensorMapsAreThoseOfTheDriver) {
    launch::Case c = five_ctas();
    isa::TensorMap map;
    map.rank = 1;
    map.dim[0] = 16;
    map.box[0] = 8;
    c.maps = {{"first", map, 0, 0}, {"second", map, 0, 16}};
    const auto problem = [&](const Encoder::Encode& encode, size_t asked) {
        Encoder engine(encode);
        Options o;
        o.threads = 1;
        const Report r = run_lockstep(c, arch, engine, o);
        EXPECT_EQ(engine.asked.size(), asked);
        if (engine.asked.size() == 2) {
            EXPECT_EQ(engine.asked[1] - engine.asked[0], 16u);
        }
        return r.problem;
    };
    const auto right = [](const isa::TensorMap& m) {
        const isa::TensorMapBytes bytes = isa::encode(m);
        return launch::Result<std::vector<uint8_t>>(
            std::vector<uint8_t>(bytes.begin(), bytes.end()));
    };
    EXPECT_EQ(problem(right, 2), "");
    EXPECT_EQ(problem([](const isa::TensorMap&) { return std::vector<uint8_t>(); }, 2), "");
    EXPECT_EQ(problem(
                  [](const isa::TensorMap&) -> launch::Result<std::vector<uint8_t>> {
                      return launch::failure("no such map");
                  },
                  1),
              "the emulator as sm_90: tensor map 'first': no such map");
    int number = 0;
    EXPECT_EQ(problem(
                  [&](const isa::TensorMap& m) {
                      auto bytes = right(m);
                      if (++number == 2) (*bytes)[127] ^= 1;
                      return bytes;
                  },
                  2),
              "the emulator as sm_90: tensor map 'second': its driver encodes it otherwise than "
              "the emulator");
}

// Which fault of a GPU each trap is, as an H200 answered (docs/validate.md), and no other.
TEST(EngineAnswers, FaultsOfTraps) {
    using gpu::Fault;
    using warp::TrapKind;
    isa::Program program;
    program.operations.resize(2);
    program.operations[0].op = isa::Op::add;
    program.operations[1].op = isa::Op::ld;
    struct Row {
        TrapKind trap;
        Fault fault, of_memory;
        bool endless = false;
    };
    for (const Row& row : std::initializer_list<Row>{
             {TrapKind::out_of_bounds, Fault::illegal_address, Fault::illegal_address},
             {TrapKind::read_only, Fault::illegal_address, Fault::illegal_address},
             {TrapKind::misaligned, Fault::misaligned_address, Fault::misaligned_address},
             {TrapKind::wrong_space, Fault::address_space, Fault::address_space},
             {TrapKind::diverged, Fault::illegal_instruction, Fault::illegal_instruction},
             {TrapKind::bad_mask, Fault::illegal_instruction, Fault::launch_failed},
             {TrapKind::illegal, Fault::illegal_instruction, Fault::illegal_instruction},
             {TrapKind::trap, Fault::launch_failed, Fault::launch_failed},
             {TrapKind::breakpoint, Fault::launch_failed, Fault::launch_failed},
             {TrapKind::stack, Fault::launch_failed, Fault::launch_failed},
             {TrapKind::deadlock, Fault::launch_failed, Fault::launch_failed, true},
             {TrapKind::step_limit, Fault::launch_failed, Fault::launch_failed, true}}) {
        for (const uint32_t operation : {0u, 1u}) {
            warp::Trap trap;
            trap.kind = row.trap;
            trap.operation = operation;
            const Fault wanted = operation == 0 ? row.fault : row.of_memory;
            EXPECT_EQ(validate::fault_of(trap, program), wanted);
            for (const Fault said :
                 {Fault::none, Fault::illegal_address, Fault::misaligned_address,
                  Fault::address_space, Fault::illegal_instruction, Fault::launch_failed}) {
                const auto same = [&](Outcome outcome) {
                    return validate::same_fault({outcome, "", said}, trap, program);
                };
                EXPECT_EQ(same(Outcome::faulted), said == wanted && !row.endless);
                EXPECT_EQ(same(Outcome::hung), row.endless);
                for (const Outcome other : {Outcome::done, Outcome::refused, Outcome::uncompiled})
                    EXPECT_FALSE(same(other));
            }
        }
    }
    warp::Trap stopped;
    stopped.kind = TrapKind::stopped;
    EXPECT_FALSE(
        validate::same_fault({Outcome::faulted, "", Fault::launch_failed}, stopped, program));
    EXPECT_FALSE(validate::same_fault({Outcome::hung, "", Fault::none}, stopped, program));
}

}  // namespace
}  // namespace lockwarp::engine_answers_test
