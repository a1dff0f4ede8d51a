// SPDX-License-Identifier: Apache-2.0
// Summaries: the order of names, shards added up, verdicts.
#include "validate/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "emu/ptx/parser.hpp"
#include "tests/validate/summary_cases.hpp"
#include "validate/emulator_engine.hpp"

namespace lockwarp::validate {
namespace {

bool operator==(const Counts& a, const Counts& b) {
    return a.values == b.values && a.different == b.different && a.masked == b.masked &&
           a.taken == b.taken && a.memory_bytes == b.memory_bytes &&
           a.memory_different == b.memory_different;
}

// All but devices and seconds.
void expect_equal(const Summary& a, const Summary& b) {
    EXPECT_EQ(a.command, b.command);
    EXPECT_EQ(a.cases, b.cases);
    EXPECT_TRUE(a.counts == b.counts);
    EXPECT_EQ(verdict(a), verdict(b));
    ASSERT_EQ(a.instructions.size(), b.instructions.size());
    for (const auto& [spelling, counts] : a.instructions)
        EXPECT_TRUE(counts == b.instructions.at(spelling)) << spelling;
    ASSERT_EQ(a.results.size(), b.results.size());
    for (size_t i = 0; i < a.results.size(); ++i) {
        EXPECT_EQ(a.results[i].name, b.results[i].name);
        EXPECT_EQ(a.results[i].text, b.results[i].text);
        EXPECT_EQ(a.results[i].verdict, b.results[i].verdict);
        EXPECT_TRUE(a.results[i].counts == b.results[i].counts);
    }
    ASSERT_EQ(a.seeds.size(), b.seeds.size());
    for (size_t i = 0; i < a.seeds.size(); ++i) {
        EXPECT_EQ(a.seeds[i].first, b.seeds[i].first);
        EXPECT_EQ(a.seeds[i].count, b.seeds[i].count);
    }
}

TEST(Summary, NamesInOrder) {
    const std::vector<std::string> ordered{"",
                                           "a",
                                           "a1b1",
                                           "a1b2",
                                           "a01b2",
                                           "a1b10",
                                           "a2b1",
                                           "a10",
                                           "a19",
                                           "a20",
                                           "b",
                                           "seed 9",
                                           "seed 10",
                                           "seed 99",
                                           "seed 100",
                                           "seed 18446744073709551615",
                                           "seed 18446744073709551616",
                                           "seed x"};
    for (size_t i = 0; i < ordered.size(); ++i)
        for (size_t j = 0; j < ordered.size(); ++j) {
            // "a01b2" and "a1b2" are the same numbers; then the text decides.
            if (ordered[i] == "a01b2" || ordered[j] == "a01b2") continue;
            EXPECT_EQ(name_before(ordered[i], ordered[j]), i < j)
                << ordered[i] << " " << ordered[j];
        }
    EXPECT_TRUE(name_before("a01b2", "a1b2"));
    EXPECT_FALSE(name_before("a1b2", "a01b2"));
    EXPECT_TRUE(name_before("a01b2", "a1b10"));
    // What stands behind a name's end is not of it.
    constexpr std::string_view text = "seed 10";
    for (size_t x = 0; x <= text.size(); ++x)
        for (size_t y = 0; y <= text.size(); ++y)
            EXPECT_EQ(name_before(text.substr(0, x), text.substr(0, y)), x < y) << x << ' ' << y;
}

TEST(Summary, ShardsAddUpToOneRun) {
    Summary whole = empty_summary("validate"), one = whole, two = whole, three = whole;
    std::vector<CaseResult> cases;
    for (uint32_t i = 0; i < 12; ++i)
        cases.push_back(
            case_of("k" + std::to_string(i), i == 7 ? Verdict::differs : Verdict::identical, i));
    for (size_t i = 0; i < cases.size(); ++i) {
        Summary& part = i % 3 == 0 ? one : i % 3 == 1 ? two : three;
        for (Summary* s : {&whole, &part}) {
            add(*s, cases[i], true);
            s->instructions["add.s32"].values += i;
            if (i == 4) s->instructions["mma.sync"].different += 1;
        }
    }
    EXPECT_EQ(whole.results[1].name, "k1");
    EXPECT_EQ(whole.results[11].name, "k11");
    one.devices = {device_named("A"), device_named("B")};
    two.devices = {device_named("B")};
    three.devices = {device_named("A")};
    one.seconds = 1;
    two.seconds = 3;
    three.seconds = 2;
    std::vector<Summary> order{one, two, three};
    for (int i = 0; i < 3; ++i) {
        Summary sum;
        for (const Summary& s : order) EXPECT_EQ(merge(sum, s), "");
        expect_equal(sum, whole);
        EXPECT_EQ(verdict(sum), Verdict::differs);
        ASSERT_EQ(sum.devices.size(), 2u);
        EXPECT_EQ(sum.devices[0].name, "A");
        EXPECT_EQ(sum.devices[1].name, "B");
        EXPECT_EQ(sum.seconds, 3);
        std::rotate(order.begin(), order.begin() + 1, order.end());
    }
}

TEST(Summary, SeedsOfShards) {
    const auto part = [](uint64_t first, uint64_t count) {
        Summary s = empty_summary("fuzz");
        for (uint64_t i = 0; i < count; ++i)
            add(s, case_of("seed " + std::to_string(first + i), Verdict::identical, 1), false);
        s.seeds = {{first, count}};
        return s;
    };
    Summary sum;
    EXPECT_EQ(merge(sum, part(11, 5)), "");
    EXPECT_EQ(merge(sum, part(1, 5)), "");
    EXPECT_EQ(sum.seeds.size(), 2u);
    EXPECT_EQ(merge(sum, part(6, 5)), "");
    expect_equal(sum, part(1, 15));
    EXPECT_TRUE(sum.results.empty());
    // Though identical programs have no results.
    EXPECT_EQ(merge(sum, part(15, 2)), "seed 15 is in both");
    EXPECT_EQ(merge(sum, part(1, 1)), "seed 1 is in both");
    expect_equal(sum, part(1, 15));
    // All the seeds there are do not fit one count: they stay two ranges.
    Summary end = empty_summary("fuzz"), start = end;
    end.seeds = {{UINT64_MAX, 1}};
    start.seeds = {{0, UINT64_MAX}};
    EXPECT_EQ(merge(end, start), "");
    EXPECT_EQ(end.seeds.size(), 2u);
    EXPECT_EQ(merge(end, start), "seed 0 is in both");
}

TEST(Summary, RefusesAndStaysAsItWas) {
    Summary sum = empty_summary("validate");
    add(sum, case_of("a", Verdict::identical, 3), true);
    const Summary before = sum;
    Summary more = empty_summary("validate");
    add(more, case_of("b", Verdict::identical, 3), true);
    add(more, case_of("a", Verdict::differs, 4), true);
    EXPECT_EQ(merge(sum, more), "'a' is in both");
    expect_equal(sum, before);
    EXPECT_EQ(merge(sum, before), "'a' is in both");
    more.command = "replay";
    more.results.clear();
    EXPECT_EQ(merge(sum, more), "a report of 'replay' cannot be added to one of 'validate'");
    expect_equal(sum, before);
}

TEST(Summary, ARunThatWasSkippedIsAddedToSuchRunsAlone) {
    Summary skipped = empty_summary("validate");
    skipped.skipped = "no GPU";
    Summary sum;
    EXPECT_EQ(merge(sum, skipped), "");
    EXPECT_EQ(sum.skipped, "no GPU");
    EXPECT_EQ(merge(sum, skipped), "");
    Summary ran = empty_summary("validate");
    add(ran, case_of("a", Verdict::identical, 3), true);
    EXPECT_EQ(merge(sum, ran), "one of the runs was skipped: no GPU");
    EXPECT_EQ(sum.skipped, "no GPU");
    EXPECT_TRUE(sum.results.empty());
    EXPECT_EQ(merge(ran, skipped), "one of the runs was skipped: no GPU");
    EXPECT_EQ(ran.results.size(), 1u);
}

TEST(Summary, CountsStayAtTheLargest) {
    Summary sum = empty_summary("validate"), more = sum;
    sum.counts.values = UINT64_MAX - 1;
    more.counts.values = 5;
    more.counts.different = UINT64_MAX;
    sum.counts.different = 1;
    EXPECT_EQ(merge(sum, more), "");
    EXPECT_EQ(sum.counts.values, UINT64_MAX);
    EXPECT_EQ(sum.counts.different, UINT64_MAX);
}

constexpr uint64_t Counts::*counters[] = {
    &Counts::values, &Counts::different, &Counts::masked,       &Counts::unwritten,
    &Counts::taken,  &Counts::places,    &Counts::memory_bytes, &Counts::memory_different,
    &Counts::faults};

TEST(Summary, EachCountIsAddedUp) {
    Summary sum = empty_summary("validate"), more = sum;
    for (size_t i = 0; i < std::size(counters); ++i) {
        sum.counts.*counters[i] = i + 1;
        more.counts.*counters[i] = 100 * i;
        more.instructions["add"].*counters[i] = i;
    }
    EXPECT_EQ(merge(sum, more), "");
    for (size_t i = 0; i < std::size(counters); ++i) {
        EXPECT_EQ(sum.counts.*counters[i], 101 * i + 1) << i;
        EXPECT_EQ(sum.instructions["add"].*counters[i], i) << i;
        Summary most = empty_summary("validate"), one = most;
        most.counts.*counters[i] = UINT64_MAX;
        one.counts.*counters[i] = 1;
        EXPECT_EQ(merge(one, most), "");
        EXPECT_EQ(one.counts.*counters[i], UINT64_MAX) << i;
    }
}

// What makes a comparison, a difference, and a row of the table of instructions.
TEST(Summary, WhichCountsSaySomething) {
    const auto one_of = [](uint64_t Counts::*counter, const std::vector<uint64_t Counts::*>& all) {
        return std::ranges::find(all, counter) != all.end();
    };
    for (uint64_t Counts::*counter : counters) {
        Counts c;
        EXPECT_FALSE(compared(c) || different(c));
        c.*counter = 1;
        const bool compares =
            one_of(counter, {&Counts::values, &Counts::memory_bytes, &Counts::faults});
        EXPECT_EQ(compared(c), compares);
        const bool differs = one_of(counter, {&Counts::different, &Counts::memory_different});
        EXPECT_EQ(different(c), differs);
        Summary s = empty_summary("fuzz");
        s.counts = c;
        EXPECT_EQ(verdict(s), Verdict::failed) << "no case was run";
        s.cases = 1;
        EXPECT_EQ(verdict(s), differs    ? Verdict::differs
                              : compares ? Verdict::identical
                                         : Verdict::failed);
        Report report;
        report.by_operation = {Counts{}, c};
        report.spellings = {"nothing", "some"};
        add_instructions(s, report);
        const bool listed =
            compares || one_of(counter, {&Counts::masked, &Counts::unwritten, &Counts::taken});
        EXPECT_EQ(s.instructions.size(), listed ? 1u : 0u);
        if (listed) {
            EXPECT_EQ(s.instructions.at("some").*counter, 1u);
        }
    }
    EXPECT_EQ(name_of(Verdict::identical), "identical");
    EXPECT_EQ(name_of(Verdict::differs), "differs");
    EXPECT_EQ(name_of(Verdict::failed), "failed");
}

TEST(Summary, DevicesThatDifferInAnything) {
    const gpu::Device one = device_named("A");
    std::vector<gpu::Device> others(5, one);
    others[0].name = "B";
    others[1].number = 80;
    others[2].driver = "570";
    others[3].memory = 1;
    others[4].clock_mhz = 1;
    for (const gpu::Device& other : others) {
        Summary sum = empty_summary("validate"), more = sum;
        sum.devices = {one, other};
        more.devices = {other, one};
        EXPECT_EQ(merge(sum, more), "");
        EXPECT_EQ(sum.devices.size(), 2u);
    }
}

TEST(Summary, Verdicts) {
    Summary s = empty_summary("fuzz");
    EXPECT_EQ(verdict(s), Verdict::failed);
    add(s, case_of("seed 1", Verdict::identical, 5), false);
    EXPECT_EQ(verdict(s), Verdict::identical);
    EXPECT_TRUE(s.results.empty());
    Summary counted = s;
    counted.counts.memory_different = 1;
    EXPECT_EQ(verdict(counted), Verdict::differs) << "without a result";
    add(s, case_of("seed 2", Verdict::differs, 5), false);
    EXPECT_EQ(s.results.size(), 1u);
    EXPECT_EQ(verdict(s), Verdict::differs);
    add(s, case_of("seed 3", Verdict::failed, 0), false);
    EXPECT_EQ(verdict(s), Verdict::failed);
    EXPECT_EQ(s.cases, 3u);
    EXPECT_EQ(s.seconds, 0.75);
}

TEST(Summary, NothingComparedIsNotIdentical) {
    Summary s = empty_summary("validate");
    CaseResult nothing = case_of("a", Verdict::identical, 0);
    nothing.counts.memory_bytes = 0;
    nothing.counts.masked = 7;
    add(s, case_of("b", Verdict::identical, 5), true);
    add(s, nothing, true);
    EXPECT_EQ(s.results[0].verdict, Verdict::failed);
    EXPECT_EQ(s.results[0].text, "nothing was compared\n");
    EXPECT_EQ(verdict(s), Verdict::failed);
    Summary skipped = empty_summary("replay");
    skipped.cases = 4;
    EXPECT_EQ(verdict(skipped), Verdict::failed);
}

// A real kernel, beside an engine that answers wrongly.
class WrongEngine : public EmulatorEngine {
  public:
    using EmulatorEngine::EmulatorEngine;
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> done = EmulatorEngine::read(address, bytes);
        // Of the first record of the trace the value that lane 0 wrote.
        if (bytes.size() > 1024) bytes[256] ^= 1;
        return done;
    }
};

TEST(Summary, OfACase) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
        ".loc 1 42 3\nmov.u32 %r1, 5;\nadd.s32 %r2, %r1, 7;\nadd.s32 %r3, %r2, 1;\n"
        "ld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r3;\nret;\n}\n.file 1 \"gone/k.py\"\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.block = {32, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(128)};

    EmulatorEngine good(isa::Arch::sm_80);
    const Report same = run_lockstep(c, isa::Arch::sm_80, good, {});
    CaseResult r = result_of("k.json", same, "k.ptx");
    EXPECT_EQ(r.verdict, Verdict::identical) << same.problem;
    EXPECT_EQ(r.file, "");
    EXPECT_EQ(r.line, 0u);
    EXPECT_GT(r.counts.values, 0u);
    Summary s = empty_summary("validate");
    add_instructions(s, same);
    ASSERT_TRUE(s.instructions.contains("add.s32"));
    EXPECT_EQ(s.instructions["add.s32"].values, 64u);
    EXPECT_EQ(s.instructions["add.s32"].different, 0u);
    EXPECT_FALSE(s.instructions.contains("st.global.u32"));

    WrongEngine bad(isa::Arch::sm_80);
    const Report other = run_lockstep(c, isa::Arch::sm_80, bad, {});
    ASSERT_TRUE(other.first.has_value());
    r = result_of("k.json", other, "k.ptx");
    EXPECT_EQ(r.verdict, Verdict::differs);
    EXPECT_EQ(r.file, "k.ptx");
    EXPECT_EQ(r.line, 8u);
    EXPECT_EQ(r.instruction, "mov.u32");
    EXPECT_EQ(r.source, (std::vector<ptx::SourcePlace>{{"gone/k.py", 42, 3, ""}}));
    const std::string text = text_report(other, bad.device(), "k.ptx");
    EXPECT_TRUE(
        text.starts_with("DIFFERS  k.ptx:8  mov.u32   step 0, CTA (0,0,0), warp 0\n"
                         "  gone/k.py:42:3\n  %r1 lane 0"))
        << text;

    Report failed;
    failed.problem = "no room";
    r = result_of("k.json", failed, "k.ptx");
    EXPECT_EQ(r.verdict, Verdict::failed);
    EXPECT_EQ(r.text, "no room\n");
    EXPECT_EQ(r.file, "k.ptx");
    EXPECT_EQ(r.line, 0u);
    failed.problem.clear();
    failed.diagnostics = {{{7, 1}, "no such opcode", {}}, {{9, 1}, "nor this", {}}};
    r = result_of("k.json", failed, "k.ptx");
    EXPECT_EQ(r.verdict, Verdict::failed);
    EXPECT_EQ(r.text, "no such opcode\n");
    EXPECT_EQ(r.line, 7u);

    // A difference of memory, or of how it ended, is of no instruction; a trap has its line, though
    // both sides had it.
    Report memory = other;
    memory.first->kind = DifferenceKind::memory;
    warp::Trap trap;
    trap.place = {10, 1};
    for (const DifferenceKind kind : {DifferenceKind::memory, DifferenceKind::fault})
        for (const bool trapped : {false, true}) {
            memory.first->kind = kind;
            memory.trap = trapped ? std::optional(trap) : std::nullopt;
            r = result_of("k.json", memory, "k.ptx");
            EXPECT_EQ(r.verdict, Verdict::differs);
            EXPECT_EQ(r.instruction, "");
            EXPECT_EQ(r.file, "k.ptx");
            EXPECT_EQ(r.line, trapped ? 10u : 0u);
            EXPECT_EQ(r.source.size(), trapped ? 1u : 0u);
        }
    memory.first.reset();
    r = result_of("k.json", memory, "k.ptx");
    EXPECT_EQ(r.verdict, Verdict::differs);
    EXPECT_EQ(r.line, 10u);
}

}  // namespace
}  // namespace lockwarp::validate
