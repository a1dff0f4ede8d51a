// SPDX-License-Identifier: Apache-2.0
// Lies in tracks that tell an order: of each lane what its loads saw and what its atomics found,
// one word at a time. What an earlier content of memory explains is no difference; all else is one,
// at its place, and one alone.
#include <gtest/gtest.h>

#include "gpu/trace.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;
using validate::DifferenceKind;

constexpr isa::Arch arch = isa::Arch::sm_90;
constexpr uint64_t warps = lies::threads / 32;

// Warp 1 stores 5 where all have seen 0 and look again, twice.
constexpr const char* seen_twice = R"(
.local .align 4 .b8 own[4];
.reg .b32 %r<10>; .reg .b64 %rd<6>; .reg .pred %p<2>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 32;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
mov.u64 %rd4, own;
cvta.local.u64 %rd4, %rd4;
st.u32 [%rd4], %r1;
ld.relaxed.gpu.global.u32 %r2, [%rd1];
bar.sync 0;
@%p1 st.relaxed.gpu.global.u32 [%rd1], 5;
bar.sync 0;
ld.relaxed.gpu.global.u32 %r3, [%rd1];
ld.global.u32 %r4, [%rd1];
ld.u32 %r5, [%rd4];
atom.global.add.u32 %r6, [%rd3+256], 1;
atom.global.add.u32 %r7, [%rd3+512], 2;
ret;)";

// The operations that lies are told of, by the registers that they write.
enum class Of : uint8_t { again = 3, weak, local, atom, next_atom };

struct Truth {
    launch::Case c = lies::case_of(seen_twice);
    validate::Options options;
    validate::Answer answer;
    validate::Report report;
    Truth() {
        c.grid = {1, 1, 1};
        c.bytes[0].assign(1024, 0);
        options.registers = validate::Registers::words;
        options.threads = 1;
        validate::EmulatorEngine engine(arch, false, 1);
        report = run_lockstep(c, arch, engine, options, &answer);
    }

    uint32_t operation(Of of) const {
        const std::string name = "%r" + std::to_string(static_cast<int>(of));
        const isa::Program& p = report.program;
        for (uint32_t i = 0; i < p.operations.size(); ++i) {
            const isa::Operation& o = p.operations[i];
            if (o.written == 1 && p.registers[p.uses[o.first_use]].name == name) return i;
        }
        ADD_FAILURE() << name;
        return 0;
    }

    // What a lane has in the record of an operation that it executed once.
    uint64_t& value(uint32_t warp, uint32_t lane, Of of) {
        const gpu::TraceWindow& w = answer.tracks[0].window;
        auto* const track = reinterpret_cast<uint64_t*>(answer.tracks[0].words.data()) +
                            warp * (w.words + answer.tracks[0].slack) * 32 + lane;
        const uint64_t wanted = operation(of) + 1;
        uint64_t at = 0;
        while (track[at * 32] != wanted) {
            EXPECT_NE(track[at * 32], 0u) << "no such record";
            at += gpu::record_words(report.program, answer.orders,
                                    static_cast<uint32_t>(track[at * 32] - 1));
        }
        return track[(at + 1) * 32];
    }

    struct Told {
        Of of;
        uint64_t value;
    };
    validate::Report with(uint32_t warp, uint32_t lane, std::initializer_list<Told> lies) {
        const std::vector<uint8_t> right = answer.tracks[0].words;
        for (const Told& t : lies) value(warp, lane, t.of) = t.value;
        validate::Report out = replay(c, arch, answer, options);
        answer.tracks[0].words = right;
        EXPECT_EQ(out.problem, "");
        return out;
    }
};

void expect_none(const validate::Report& r, const std::string& where) {
    EXPECT_FALSE(r.first.has_value()) << where << "\n" << text_report(r, {}, "k.ptx");
    EXPECT_EQ(r.counts.different, 0u) << where;
}

void expect_one(const Truth& truth, const validate::Report& r, DifferenceKind kind, uint32_t warp,
                uint32_t lane, Of of, uint64_t emulated, uint64_t other) {
    const std::string where = "warp " + std::to_string(warp) + ", lane " + std::to_string(lane) +
                              ", %r" + std::to_string(static_cast<int>(of));
    ASSERT_TRUE(r.first.has_value()) << where;
    EXPECT_EQ(r.first->kind, kind) << where;
    EXPECT_EQ(r.first->operation, truth.operation(of)) << where;
    EXPECT_EQ(r.first->warp, warp) << where;
    EXPECT_EQ(r.first->lane, lane) << where;
    EXPECT_EQ(r.first->emulated, emulated) << where;
    EXPECT_EQ(r.first->other, other) << where;
    EXPECT_NE(r.first->executed >> lane & 1, 0u) << where;
    EXPECT_EQ(r.counts.different, 1u) << where;
}

template <class F>
void each_lane(F f) {
    for (uint32_t warp = 0; warp < warps; ++warp)
        for (uint32_t lane = 0; lane < 32; ++lane) f(warp, lane);
}

TEST(OrderLies, TheTruthIsIdentical) {
    Truth truth;
    ASSERT_EQ(truth.report.problem, "");
    expect_none(truth.report, "beside the engine");
    ASSERT_EQ(truth.answer.tracks.size(), 1u);
    EXPECT_EQ(truth.value(0, 7, Of::again), 5u);
    EXPECT_EQ(truth.value(1, 9, Of::weak), 5u);
    EXPECT_EQ(truth.value(1, 9, Of::local), 41u);
    const validate::Report again = replay(truth.c, arch, truth.answer, truth.options);
    expect_none(again, "replayed");
    EXPECT_EQ(again.counts.values, truth.report.counts.values);
}

// A lane that does not store may see what was there since it last looked, and not what was before.
TEST(OrderLies, EarlierContentExplainsWhatALaneSaw) {
    Truth truth;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const std::string where = "lane " + std::to_string(lane);
        expect_none(truth.with(0, lane, {{Of::again, 0}}), where);
        expect_none(truth.with(0, lane, {{Of::again, 0}, {Of::weak, 0}}), where);
        expect_one(truth, truth.with(0, lane, {{Of::weak, 0}}), DifferenceKind::order, 0, lane,
                   Of::weak, 5, 0);
    }
}

TEST(OrderLies, WhatWasNeverThereDiffersInEachLane) {
    Truth truth;
    each_lane([&](uint32_t warp, uint32_t lane) {
        for (const Of of : {Of::again, Of::weak})
            expect_one(truth, truth.with(warp, lane, {{of, 7}}), DifferenceKind::order, warp, lane,
                       of, 5, 7);
        for (const Of of : {Of::atom, Of::next_atom})
            expect_one(truth, truth.with(warp, lane, {{of, 0x100}}), DifferenceKind::order, warp,
                       lane, of, 0, 0x100);
    });
}

// What is the engine's in one instruction is not in the next.
TEST(OrderLies, AreFoundBehindALoadThatWasExplained) {
    Truth truth;
    for (uint32_t lane = 0; lane < 32; ++lane)
        expect_one(truth, truth.with(0, lane, {{Of::again, 0}, {Of::local, lane ^ 0x40}}),
                   DifferenceKind::value, 0, lane, Of::local, lane, lane ^ 0x40);
    each_lane([&](uint32_t warp, uint32_t lane) {
        const uint64_t own = warp * 32 + lane;
        expect_one(truth, truth.with(warp, lane, {{Of::local, own ^ 0x40}}), DifferenceKind::value,
                   warp, lane, Of::local, own, own ^ 0x40);
    });
}

// One lane of each CTA: the first adds to Y and sets the flag; the second, behind the flag, adds to
// X and takes it back; the third, behind the flag, adds to Y; the fourth adds to X.
constexpr const char* four_adders = R"(
.reg .b32 %r<9>; .reg .b64 %rd<2>; .reg .pred %p<3>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 exit;
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra FIRST;
setp.eq.u32 %p1, %r1, 3;
@%p1 bra LAST;
POLL:
ld.acquire.gpu.global.u32 %r2, [%rd1];
setp.ne.u32 %p2, %r2, 1;
@%p2 bra POLL;
setp.eq.u32 %p1, %r1, 2;
@%p1 bra THIRD;
atom.global.add.u32 %r3, [%rd1+64], 1;
atom.global.add.u32 %r4, [%rd1+64], -1;
ret;
THIRD:
atom.global.add.u32 %r5, [%rd1+128], 1;
ret;
FIRST:
atom.global.add.u32 %r6, [%rd1+128], 1;
st.release.gpu.global.u32 [%rd1], 1;
ret;
LAST:
atom.global.add.u32 %r7, [%rd1+64], 1;
ret;)";

// A change, by its register, and its two tickets.
struct Drawn {
    unsigned reg;
    uint32_t before, after;
};

validate::Report adders_with(std::initializer_list<Drawn> tickets) {
    launch::Case c = lies::case_of(four_adders);
    c.grid = {4, 1, 1};
    c.block = {32, 1, 1};
    c.bytes[0].assign(256, 0);
    validate::Options options;
    options.registers = validate::Registers::words;
    options.threads = 1;
    validate::EmulatorEngine engine(arch, false, 1);
    validate::Answer answer;
    const validate::Report truth = run_lockstep(c, arch, engine, options, &answer);
    EXPECT_EQ(truth.problem, "");
    expect_none(truth, "beside the engine");
    const gpu::TraceWindow& w = answer.tracks.at(0).window;
    for (uint64_t cta = 0; cta < 4; ++cta) {
        auto* const track = reinterpret_cast<uint64_t*>(answer.tracks[0].words.data()) +
                            cta * (w.words + answer.tracks[0].slack) * 32;
        for (uint64_t at = 0; at < w.words && track[at * 32] != 0;) {
            const auto operation = static_cast<uint32_t>(track[at * 32] - 1);
            const isa::Operation& o = truth.program.operations[operation];
            if (answer.orders[operation] == gpu::Ordered::change) {
                const std::string& name =
                    truth.program.registers[truth.program.uses[o.first_use]].name;
                for (const Drawn& t : tickets)
                    if (name == "%r" + std::to_string(t.reg))
                        track[(at + 1 + o.written) * 32] = uint64_t{t.after} << 32 | t.before;
            }
            at += gpu::record_words(truth.program, answer.orders, operation);
        }
    }
    return replay(c, arch, answer, options);
}

// Of X the last: what it sees is there from the beginning, but the tickets say what comes first.
TEST(OrderLies, AChangeWaitsForThoseThatItsTicketsPutBeforeIt) {
    // Of Y the tickets leave the order open, and the later one of them waits for the earlier.
    expect_none(adders_with({{6, 1, 20}, {5, 2, 19}, {3, 3, 4}, {4, 5, 6}, {7, 7, 8}}), "open");
    expect_none(adders_with({{6, 1, 2}, {5, 9, 10}, {3, 3, 4}, {4, 5, 6}, {7, 7, 8}}), "told");
    // What the tickets put the other way is what the values say, where nothing else goes on.
    expect_none(adders_with({{6, 5, 6}, {5, 2, 3}, {3, 7, 8}, {4, 9, 10}, {7, 11, 12}}),
                "the other way");
}

// CTA 0 waits for CTA 1, and then counts; CTA 1 looks twice at a word that stays as it is.
constexpr const char* one_counts = R"(
.reg .b32 %r<9>; .reg .b64 %rd<2>; .reg .pred %p<3>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %ctaid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra SECOND;
POLL:
ld.acquire.gpu.global.u32 %r2, [%rd1];
setp.ne.u32 %p2, %r2, 5;
@%p2 bra POLL;
mov.u32 %r8, 0;
LOOP:
add.u32 %r8, %r8, 1;
setp.lt.u32 %p2, %r8, 1000;
@%p2 bra LOOP;
ret;
SECOND:
ld.relaxed.gpu.global.u32 %r3, [%rd1+8];
st.release.gpu.global.u32 [%rd1], 5;
ld.relaxed.gpu.global.u32 %r4, [%rd1+8];
ret;)";

// Of a run that does not come to its end the access that waited is named, not what ended it.
TEST(OrderLies, AnAccessThatWaitedToTheEnd) {
    launch::Case c = lies::case_of(one_counts);
    c.grid = {2, 1, 1};
    c.block = {32, 1, 1};
    c.bytes[0].assign(64, 0);
    c.bytes[0][8] = 3;
    validate::Options options;
    options.registers = validate::Registers::words;
    options.threads = 1;
    validate::EmulatorEngine engine(arch, false, 1);
    engine.take_turns(5);
    validate::Answer answer;
    const validate::Report truth = run_lockstep(c, arch, engine, options, &answer);
    ASSERT_EQ(truth.problem, "");
    expect_none(truth, "beside the engine");
    options.max_steps = 1500;  // CTA 0 needs more
    const validate::Report ended = replay(c, arch, answer, options);
    ASSERT_TRUE(ended.first.has_value());
    EXPECT_EQ(ended.first->kind, DifferenceKind::fault);
    ASSERT_TRUE(ended.trap.has_value());
    EXPECT_EQ(ended.trap->kind, warp::TrapKind::step_limit);
    uint32_t second = 0;
    for (uint32_t i = 0; i < truth.program.operations.size(); ++i) {
        const isa::Operation& o = truth.program.operations[i];
        if (o.written == 1 &&
            truth.program.registers[truth.program.uses[o.first_use]].name == "%r4")
            second = i;
    }
    validate::Tracks& all = answer.tracks.at(0);
    auto* const words = reinterpret_cast<uint64_t*>(all.words.data()) +
                        (all.window.words + all.slack) * 32;  // of CTA 1
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint64_t at = 0;
        while (at < all.window.words && words[at * 32 + lane] != second + 1)
            at += gpu::record_words(truth.program, answer.orders,
                                    static_cast<uint32_t>(words[at * 32 + lane] - 1));
        ASSERT_LT(at, all.window.words);
        uint64_t& value = words[(at + 1) * 32 + lane];
        ASSERT_EQ(value, 3u);
        value = 7;
        const validate::Report r = replay(c, arch, answer, options);
        value = 3;
        ASSERT_TRUE(r.first.has_value()) << lane;
        EXPECT_EQ(r.first->kind, DifferenceKind::order) << lane;
        EXPECT_EQ(r.first->operation, second) << lane;
        EXPECT_EQ(r.first->cta_index, 1u) << lane;
        EXPECT_EQ(r.first->lane, lane);
        EXPECT_EQ(r.first->emulated, 3u) << lane;
        EXPECT_EQ(r.first->other, 7u) << lane;
        EXPECT_TRUE(r.tracks.has_value());
    }
    // What differs before is told, and not who waited.
    uint32_t first = 0;
    while (truth.program.operations[first].written == 0 ||
           truth.program.registers[truth.program.uses[truth.program.operations[first].first_use]]
                   .name != "%r1")
        ++first;
    const auto value_of = [&](uint32_t operation) -> uint64_t& {
        uint64_t at = 0;
        while (words[at * 32] != operation + 1) ++at;
        return words[(at + 1) * 32];
    };
    value_of(second) = 7;
    value_of(first) ^= 2;
    const validate::Report r = replay(c, arch, answer, options);
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::value);
    EXPECT_EQ(r.first->operation, first);
    EXPECT_EQ(r.first->cta_index, 1u);
}

// Each thread takes a block, and counts on from what it wrote there.
constexpr const char* one_block = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x;
mov.u64 %rd3, 32;
{ .param .b64 bytes; .param .b64 block;
st.param.b64 [bytes], %rd3;
call.uni (block), malloc, (bytes);
ld.param.b64 %rd2, [block]; }
st.u32 [%rd2], %r1;
ld.u32 %r2, [%rd2];
add.u32 %r3, %r2, 7;
ret;
}
)";

launch::Case case_of_one_block() {
    launch::Case c = lies::case_of("ret;");
    ptx::Parsed parsed = ptx::parse(one_block);
    EXPECT_TRUE(parsed.diagnostics.empty());
    c.module = std::move(parsed.module);
    return c;
}

validate::Options words_of_one_thread() {
    validate::Options options;
    options.registers = validate::Registers::words;
    options.threads = 1;
    return options;
}

// A block that another thread has is not given once more.
TEST(OrderLies, OneBlockForTwoThreads) {
    const launch::Case c = case_of_one_block();
    const validate::Options options = words_of_one_thread();
    validate::EmulatorEngine engine(arch, false, 1);
    validate::Answer answer;
    const validate::Report truth = run_lockstep(c, arch, engine, options, &answer);
    expect_none(truth, "beside the engine");
    auto* const words = reinterpret_cast<uint64_t*>(answer.tracks.at(0).words.data());
    // Where the record of a lane of the first warp says which block it got.
    const auto block_of = [&](uint32_t lane) -> uint64_t& {
        uint64_t at = 0;
        for (auto operation = static_cast<uint32_t>(words[at * 32 + lane] - 1);
             answer.orders[operation] != gpu::Ordered::result;
             operation = static_cast<uint32_t>(words[at * 32 + lane] - 1))
            at += gpu::record_words(truth.program, answer.orders, operation);
        return words[(at + 1) * 32 + lane];
    };
    EXPECT_NE(block_of(5), block_of(6));
    block_of(6) = block_of(5);
    const validate::Report r = replay(c, arch, answer, options);
    // It waits until the other thread gives it back, which it does not.
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::fault);
    EXPECT_EQ(r.program.operations[r.first->operation].op, isa::Op::call);
    EXPECT_NE(r.first->what.find("the emulator trapped: deadlock"), std::string::npos)
        << r.first->what;
}

// A CTA that went another way takes no more blocks; those before it are compared to their end.
TEST(OrderLies, BlocksOfACtaThatIsLost) {
    const launch::Case c = case_of_one_block();
    const validate::Options options = words_of_one_thread();
    validate::EmulatorEngine engine(arch, false, 1);
    validate::Answer answer;
    const validate::Report truth = run_lockstep(c, arch, engine, options, &answer);
    ASSERT_EQ(truth.problem, "");
    expect_none(truth, "beside the engine");
    uint32_t sum = 0;  // add.u32 %r3
    for (uint32_t i = 0; i < truth.spellings.size(); ++i)
        if (truth.spellings[i] == "add.u32") sum = i;
    EXPECT_EQ(truth.by_operation[sum].values, uint64_t{lies::ctas} * lies::threads);
    const validate::Tracks& all = answer.tracks.at(0);
    const uint64_t of_cta = (all.window.words + all.slack) * 32 * warps;
    // The last take theirs first: those before them wait for it.
    const auto turn_tickets = [&] {
        auto* const words = reinterpret_cast<uint64_t*>(answer.tracks[0].words.data());
        for (uint64_t thread = 0; thread < uint64_t{lies::ctas} * lies::threads; ++thread) {
            uint64_t* const track = words + thread / 32 * (of_cta / warps) + thread % 32;
            for (uint64_t at = 0; at < all.window.words && track[at * 32] != 0;) {
                const auto operation = static_cast<uint32_t>(track[at * 32] - 1);
                if (answer.orders[operation] == gpu::Ordered::result)
                    track[(at + 2) * 32] = 1'000'000 - track[(at + 2) * 32];
                at += gpu::record_words(truth.program, answer.orders, operation);
            }
        }
    };
    for (uint32_t turned = 0; turned < 2; ++turned, turn_tickets()) {
        if (turned != 0) expect_none(replay(c, arch, answer, options), "the last first");
        for (uint32_t cta = 0; cta < lies::ctas; ++cta) {
            uint64_t& number =
                reinterpret_cast<uint64_t*>(answer.tracks[0].words.data())[cta * of_cta + 5];
            const uint64_t right = number++;
            const validate::Report r = replay(c, arch, answer, options);
            number = right;
            EXPECT_EQ(r.problem, "");
            ASSERT_TRUE(r.first.has_value()) << cta;
            EXPECT_EQ(r.first->kind, DifferenceKind::control_flow) << cta;
            EXPECT_EQ(r.first->cta_index, cta);
            EXPECT_EQ(r.first->lane, 5u);
            EXPECT_GE(r.by_operation[sum].values, uint64_t{cta} * lies::threads) << cta;
        }
    }
}

}  // namespace
