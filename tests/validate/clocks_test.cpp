// SPDX-License-Identifier: Apache-2.0
// Clocked kernels, with the emulator in the GPU's place: its clock counts a warp's instructions.
// The medians, and the file that keeps them.
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "emu/lockwarp.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "tests/validate/failing_engine.hpp"
#include "validate/clocks.hpp"
#include "validate/measure.hpp"

namespace lockwarp::validate {
namespace {

using gpu::Clocked;

TEST(RunClocks, TakeTheLastEndLessTheFirstBegin) {
    // Two CTAs of two threads on one multiprocessor, and two on others.
    const std::vector<Clocked> slots{{10, 50, 3, 0}, {8, 40, 3, 0},  {100, 120, 1, 0},
                                     {90, 95, 1, 0}, {20, 70, 3, 0}, {21, 60, 3, 0},
                                     {0, 9, 2, 0},   {1, 5, 2, 0}};
    RunClocks run;
    EXPECT_EQ(take(run_clocks(slots, 2), run), "");
    EXPECT_EQ(run.ctas, (std::vector<double>{42, 30, 50, 9}));
    EXPECT_EQ(run.sm_ctas, 2u);
    EXPECT_EQ(run.resident, 2u);
    EXPECT_EQ(run.sm_cycles, 62);
}

TEST(RunClocks, SayHowManyCtasAMultiprocessorHadAtATime) {
    RunClocks run;
    const std::vector<Clocked> slots{{0, 10, 1, 0}, {10, 20, 1, 0}, {5, 15, 1, 0}, {18, 19, 1, 0}};
    EXPECT_EQ(take(run_clocks(slots, 1), run), "");
    EXPECT_EQ(run.sm_ctas, 4u);
    EXPECT_EQ(run.resident, 2u);
}

// One after another, or with a clock that stands still.
TEST(RunClocks, OfCtasThatDoNotMeet) {
    RunClocks run;
    EXPECT_EQ(take(run_clocks(std::vector<Clocked>{{0, 0, 1, 0}}, 1), run), "");
    EXPECT_EQ(run.ctas, std::vector<double>{0});
    EXPECT_EQ(run.sm_cycles, 0);
    EXPECT_EQ(run.resident, 1u);
    EXPECT_EQ(run.sm_ctas, 1u);
    EXPECT_EQ(take(run_clocks(std::vector<Clocked>{{0, 10, 1, 0}, {10, 12, 1, 0}}, 1), run), "");
    EXPECT_EQ(run.resident, 1u);
    EXPECT_EQ(run.sm_ctas, 2u);
    EXPECT_EQ(run.sm_cycles, 12);
}

TEST(RunClocks, NameWhatCannotBe) {
    RunClocks run;
    EXPECT_NE(take(run_clocks({}, 2), run), "");
    const std::vector<Clocked> unended{{1, 2, 1, 0}, {1, 0, 0, 0}};
    EXPECT_EQ(take(run_clocks(unended, 2), run), "a thread has not stored its clocks");
    const std::vector<Clocked> moved{{1, 2, 1, 0}, {1, 2, 2, 0}};
    EXPECT_EQ(take(run_clocks(moved, 2), run), "a CTA moved to another multiprocessor");
    EXPECT_EQ(take(run_clocks(moved, 1), run), "");
    const std::vector<Clocked> backwards{{5, 2, 1, 0}};
    EXPECT_EQ(take(run_clocks(backwards, 1), run), "a clock ran backwards");
}

TEST(Medians, LeaveTheFirstRunOut) {
    const std::vector<RunClocks> runs{{{900, 900}, 1, 1, 950},
                                      {{10, 20}, 1, 1, 30},
                                      {{12, 22}, 1, 1, 33},
                                      {{14, 24}, 1, 1, 36},
                                      {{15, 25}, 2, 2, 60}};
    ClockPoint p;
    take_medians(runs, p);
    EXPECT_EQ(p.first, 950);
    EXPECT_EQ(p.runs, 4u);
    EXPECT_EQ(p.cta_cycles, 17.5);
    // Of the runs with the usual number of CTAs a multiprocessor.
    EXPECT_EQ(p.sm_ctas, 1u);
    EXPECT_EQ(p.resident, 1u);
    EXPECT_EQ(p.sm_cycles, 33);
    EXPECT_DOUBLE_EQ(p.spread, 6.0 / 33);
}

TEST(RunClocks, TheSpreadBesideAMedianOfZero) {
    for (const double median : {0.0, 1.0}) {
        const std::vector<RunClocks> runs{
            {{9}, 1, 1, 9}, {{1}, 1, 1, median}, {{1}, 1, 1, median}, {{1}, 1, 1, median + 2}};
        ClockPoint p;
        take_medians(runs, p);
        EXPECT_EQ(p.sm_cycles, median);
        EXPECT_EQ(p.spread, median == 0 ? 0 : 2);
    }
}

Clocks example() {
    Clocks c{"1.2", "2026-12-31", "NVIDIA \"X\"", "sm_90", "580.1", 1980, {}};
    c.points.push_back({"a/b.json", "b", 132, 8, 1, 1, 1234.5, 1300, 5000, 9, 0.0125});
    c.points.push_back({"c.json", "c", 1, 1, 1, 1, 1, 1, 1, 1, 0});
    return c;
}

TEST(ClocksFile, ComesBackAsItWas) {
    Clocks back;
    EXPECT_EQ(take(read_clocks(clocks_json(example())), back), "");
    EXPECT_EQ(back, example());
    // With a name as long as any.
    Clocks longest = example();
    longest.points.back().name.assign(4096, 'c');
    EXPECT_EQ(take(read_clocks(clocks_json(longest)), back), "");
    EXPECT_EQ(back, longest);
}

TEST(ClocksFile, HostileTextIsRefused) {
    const std::string good = clocks_json(example());
    Clocks c;
    for (size_t cut = 0; cut + 2 < good.size(); ++cut)
        EXPECT_NE(take(read_clocks(std::string_view(good).substr(0, cut)), c), "") << cut;
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        std::string why = take(read_clocks(text), c);
        EXPECT_TRUE(c.points.empty());
        return why;
    };
    EXPECT_EQ(with("clocks/1", "clocks/2"), "field 'schema': lockwarp-clocks/1 is expected");
    EXPECT_EQ(with("2026-12-31", "2026-12-3x"), "field 'date': YYYY-MM-DD is expected");
    EXPECT_EQ(with("1234.5", "-1"),
              "field 'points[0].cta_cycles': a number that is not negative is expected");
    EXPECT_NE(with("1234.5", "1e999"), "");
    EXPECT_NE(with("1234.5", "null"), "");
    EXPECT_NE(with("\"ctas\": 132", "\"ctas\": -132"), "");
    EXPECT_NE(with("\"ctas\": 132", "\"ctas\": 1.5"), "");
    EXPECT_NE(with("\"mhz\": 1980", "\"mhz\": 4294967296"), "");
    EXPECT_EQ(with("\"name\": \"b\"", "\"name\": \"b\\u001b\""),
              "field 'points[0].name': a line of text is expected");
    EXPECT_NE(with("\"name\": \"b\"", "\"name\": {}"), "");
    EXPECT_NE(with("\"name\": \"b\"", "\"name\": \"" + std::string(4097, 'b') + "\""), "");
    EXPECT_NE(take(read_clocks("[]"), c), "");
    EXPECT_NE(take(read_clocks(std::string(1000000, '[')), c), "");
    EXPECT_NE(take(read_clocks(R"({"schema": "lockwarp-clocks/1", "points": {"a": 1}})"), c), "");
}

struct Measurement {
    launch::Case c;
    isa::Program program;
};

// An entry k(out) of one CTA.
Measurement measurement(const std::string& before, const std::string& body, uint32_t threads) {
    ptx::Parsed parsed = ptx::parse(".version 7.0\n.target sm_80\n.address_size 64\n" + before +
                                    ".visible .entry k(.param .u64 out)\n{\n" + body + "\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty());
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty());
    Measurement m;
    m.program = std::move(resolved.program);
    m.c.module = std::move(parsed.module);
    m.c.entry = "k";
    m.c.block = {threads, 1, 1};
    m.c.grid = {3, 2, 1};
    m.c.parameters.resize(8);
    m.c.patches = {{0, 0, 0}};
    m.c.names = {"out"};
    m.c.bytes = {std::vector<uint8_t>(1024)};
    return m;
}

Measured measured(const Measurement& m) {
    EmulatorEngine engine(isa::Arch::sm_90);
    MeasureOptions how;
    how.runs = 2;
    const Measured out = measure(m.c, m.program, engine, how);
    EXPECT_EQ(out.problem, "");
    EXPECT_TRUE(out.same_results);
    EXPECT_EQ(out.point.ctas, 6u);
    EXPECT_EQ(out.point.runs, 2u);
    EXPECT_EQ(out.point.spread, 0);
    return out;
}

// Each thread of one CTA stores its number.
Measurement stores() {
    return measurement("", R"(
        .reg .b32 %r<3>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd1, %rd1, %rd2; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;
        ret;)",
                       32);
}

TEST(Measure, CountsFromTheFirstClockToTheLast) {
    const double empty = measured(measurement("", "ret;", 32)).point.cta_cycles;
    const double ten = measured(measurement("", R"(
        .reg .b32 %r<2>;
        mov.u32 %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;
        add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;
        add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;
        ret;)",
                                            32))
                           .point.cta_cycles;
    EXPECT_EQ(ten, empty + 10);
}

TEST(Measure, EveryEndStoresTheClocks) {
    // Lanes that return early, guarded and negated; the text's end without ret; 40 threads.
    measured(measurement("", R"(
        .reg .b32 %r<3>; .reg .pred %p<4>;
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 5;
        @%p1 ret;
        setp.lt.u32 %p2, %r1, 30;
        @!%p2 exit;
        { add.u32 %r1, %r1, 1; setp.eq.u32 %p3, %r1, 8; @%p3 ret; }
        mul.lo.u32 %r1, %r1, 3;)",
                         40));
}

TEST(Measure, LanesThatBranchToTheEndLeaveTheOthersAlone) {
    measured(measurement("", R"(
        .reg .b32 %r<3>; .reg .pred %p<2>;
        mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, 40;
        @%p1 bra end;
        bar.sync 0;
        add.u32 %r1, %r1, 1;
        end: ret;)",
                         64));
}

TEST(Measure, FunctionsThatReturnAndExit) {
    measured(measurement(R"(
.func (.param .b32 result) f(.param .b32 x)
{
    .reg .b32 %r<3>; .reg .pred %p<2>;
    ld.param.b32 %r1, [x];
    setp.eq.u32 %p1, %r1, 7;
    @%p1 exit;
    add.u32 %r1, %r1, 1;
    st.param.b32 [result], %r1;
    ret;
}
)",
                         R"(
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    mov.u32 %r1, %tid.x;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), f, (a);
      ld.param.b32 %r2, [b]; }
    ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;)",
                         64));
}

TEST(Measure, EachRunBeginsWithTheFirstBytes) {
    // A counter: a second run on its result would go another way.
    measured(measurement("", R"(
        .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p<2>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; or.b32 %r1, %r1, %r2;
        mov.u32 %r2, %tid.x; or.b32 %r1, %r1, %r2; setp.ne.u32 %p1, %r1, 0;
        @%p1 ret;
        ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;
        ret;)",
                         32));
}

// Of two buffers the one that a run changes is written before each run, the other once.
TEST(Measure, WritesWhatHasChanged) {
    struct Counting : EmulatorEngine {
        Counting() : EmulatorEngine(isa::Arch::sm_90) {}
        launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
            ++writes[bytes.size()];
            return EmulatorEngine::write(address, bytes);
        }
        std::map<size_t, int> writes;
    } engine;
    Measurement m = stores();
    m.c.names.emplace_back("more");
    m.c.bytes.emplace_back(64);
    EXPECT_EQ(measure(m.c, m.program, engine, {2, 4, nullptr}).problem, "");
    EXPECT_EQ(engine.writes, (std::map<size_t, int>{{64, 1}, {1024, 1 + 3}}));
}

TEST(Measure, WhereARequestFails) {
    const Measurement m = stores();
    const std::string name = "the emulator as sm_90";
    struct Row {
        Fails what;
        int requests;
        std::string first, later;
    };
    for (const Row& row : std::vector<Row>{
             {Fails::allocate, 2, "no memory on " + name, "no memory for clocks on " + name},
             {Fails::write, 3, "not written", "not written"},
             {Fails::clear, 2, "not cleared", "not cleared"},
             {Fails::read, 4, "not read", "not read"},
             {Fails::refused, 3, "not so", "the clocked kernel: not so"},
             {Fails::uncompiled, 3, "not in time", "the clocked kernel: not in time"},
             {Fails::faulted, 3, "it fell", "the clocked kernel: it fell"}})
        for (int n = 0; n <= row.requests; ++n) {
            Failing engine(isa::Arch::sm_90, row.what, n);
            const Measured out = measure(m.c, m.program, engine, {1, 4, nullptr});
            EXPECT_EQ(engine.has_failed, n < row.requests) << row.first << n;
            EXPECT_EQ(out.problem, n == row.requests ? "" : n == 0 ? row.first : row.later) << n;
            EXPECT_TRUE(engine.held.empty());
        }
}

TEST(Measure, WhatCannotBeMeasured) {
    Measurement m = stores();
    EmulatorEngine engine(isa::Arch::sm_90);
    const std::atomic<bool> stop{true}, goes_on{false};
    EXPECT_EQ(measure(m.c, m.program, engine, {1, 4, &goes_on}).problem, "");
    EXPECT_EQ(measure(m.c, m.program, engine, {1, 4, &stop}).problem, "stopped");
    m.c.grid = {1u << 20, 1, 1};
    m.c.block = {1024, 1, 1};
    const Measured many = measure(m.c, m.program, engine, {});
    EXPECT_EQ(many.problem, "too many threads to measure");
    EXPECT_EQ(many.point.ctas, 1u << 20);
    EXPECT_EQ(many.point.warps, 32u);
    for (const bool block : {false, true}) {
        m.c.grid = {block ? 1u : 0u, 1, 1};
        m.c.block = {block ? 0u : 1u, 1, 1};
        EXPECT_EQ(measure(m.c, m.program, engine, {}).problem, "too many threads to measure");
    }
}

// The clocked kernel's memory is held against the plain one's: both are read once.
TEST(Measure, ResultsThatDiffer) {
    struct Lying : EmulatorEngine {
        explicit Lying(int n) : EmulatorEngine(isa::Arch::sm_90), left(n) {}
        launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
            launch::Result<void> done = EmulatorEngine::read(address, bytes);
            if (bytes.size() == 1024 && left-- == 0) bytes[1023] ^= 1;
            return done;
        }
        int left;
    };
    const Measurement m = stores();
    for (int n = 0; n < 3; ++n) {
        Lying engine(n);
        const Measured out = measure(m.c, m.program, engine, {2, 4, nullptr});
        EXPECT_EQ(out.problem, "");
        EXPECT_EQ(out.same_results, n == 2);
    }
}

// C of a launch file of gpu/timed.
std::vector<uint8_t> product(const std::string& name) {
    const auto loaded =
        launch::load({LOCKWARP_SOURCE_DIR "/gpu/timed/" + name + "_one.json"}, "sm_90");
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return {};
    }
    const auto& [in, arch, program] = *loaded;
    launch::Prepared prepared;
    EXPECT_EQ(take(launch::prepare(in.launch, program), prepared), "");
    const warp::Result r = exec::launch(program, prepared.launch);
    EXPECT_FALSE(r.trap || r.refusal) << name;
    return prepared.storage[2];
}

TEST(Timed, ProductsOfATileAgreeHoweverTheirDataIsBrought) {
    for (const std::string tile : {"64x64", "128x64", "128x128"}) {
        const std::vector<uint8_t> wanted = product("gemm_" + tile + "_direct_plain");
        EXPECT_NE(wanted, std::vector<uint8_t>(wanted.size(), 255));
        for (const std::string bring : {"direct", "async2", "async4"})
            for (const std::string layout : {"plain", "swizzled"})
                EXPECT_EQ(product("gemm_" + tile + "_" + bring + "_" + layout), wanted);
    }
    EXPECT_EQ(product("wmma_rr"), product("gemm_64x64_direct_plain"));
}

}  // namespace
}  // namespace lockwarp::validate
