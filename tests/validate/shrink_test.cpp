// SPDX-License-Identifier: Apache-2.0
// A case that differs is made smaller: to the last bit that matters where one instruction differs
// by itself, else to the statements that matter.
#include "validate/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "emu/isa/resolver.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/trace.hpp"
#include "programs/generate.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/emulator_engine.hpp"

namespace lockwarp::shrink_test {
namespace {

using validate::DifferenceKind;
using validate::Report;
using validate::Shrunk;

constexpr isa::Arch arch = isa::Arch::sm_90;

// A machine that reads one instruction as another one.
class Mistaken : public validate::EmulatorEngine {
  public:
    Mistaken(std::string from, std::string to)
        : EmulatorEngine(arch, false, 1), from_(std::move(from)), to_(std::move(to)) {}
    gpu::Ran run(const gpu::Job& job) override {
        std::string text(job.ptx);
        for (size_t at = 0; (at = text.find(from_, at)) != std::string::npos; at += to_.size())
            text.replace(at, from_.size(), to_);
        gpu::Job other = job;
        other.ptx = text;
        return EmulatorEngine::run(other);
    }

  private:
    std::string from_, to_;
};

launch::Case one_warp(const std::string& body) {
    launch::Case c = lies::case_of(
        ".reg .b32 %r<12>; .reg .b64 %d<6>; .reg .pred %p<4>; .reg .b16 %h<4>;\n"
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, %laneid;\n" +
        body + "ret;\n");
    c.grid = {1, 1, 1};
    c.block = {32, 1, 1};
    return c;
}

validate::Options by_words() {
    validate::Options options;
    options.registers = validate::Registers::words;
    options.threads = 1;
    return options;
}

struct Isolated {
    Report report;
    std::optional<Shrunk> shrunk;
    size_t asked = 0;  // runs that the shrinking took
};

// What one machine that is mistaken makes of the first difference of a program.
Isolated isolated(const std::string& body, Mistaken& engine) {
    const launch::Case c = one_warp(body);
    Isolated out;
    const validate::Compare compare = [&](const launch::Case& of) {
        ++out.asked;
        return run_lockstep(of, arch, engine, by_words());
    };
    out.report = compare(c);
    EXPECT_EQ(out.report.problem, "");
    EXPECT_TRUE(out.report.first.has_value());
    if (!out.report.first) return out;
    const auto texts = gpu::instructions_of(c.module, out.report.program);
    out.asked = 0;
    out.shrunk = shrink_to_instruction(out.report, *texts[out.report.first->operation], compare);
    return out;
}

// Words of a case that are not zero: the number of the word, and its bits.
using Words = std::vector<std::pair<size_t, uint64_t>>;
Words words_of(const launch::Case& c) {
    Words out;
    for (size_t at = 0; at + 8 <= c.bytes[0].size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, c.bytes[0].data() + at, 8);
        if (word != 0) out.emplace_back(at / 8, word);
    }
    return out;
}

TEST(ShrinkToInstruction, LeavesOneBitOfOneLane) {
    Mistaken engine("xor.b32 %r4, %r2, %r3", "or.b32 %r4, %r2, %r3");
    const Isolated got = isolated(
        "add.u32 %r2, %r1, 0x40000100; mul.lo.u32 %r3, %r1, 0x2040003;\nor.b32 %r3, %r3, "
        "0x40000000;\nxor.b32 %r4, %r2, %r3;\nadd.u32 %r5, %r4, 1;\n",
        engine);
    ASSERT_TRUE(got.shrunk.has_value());
    // Of two inputs the bit that both have, the highest, in the last lane.
    EXPECT_EQ(words_of(got.shrunk->c), (Words{{31, 0x40000000}, {32 + 31, 0x40000000}}));
    // Each lane is tried, then what is left of one: no word that is zero already.
    EXPECT_LT(got.asked, 2u * 32);
    EXPECT_EQ(got.shrunk->c.bytes[0].size(), 2u * 32 * 8 + 8);
    EXPECT_EQ(got.shrunk->c.grid.count(), 1u);
    EXPECT_EQ(got.shrunk->c.block.count(), 32u);
    ASSERT_TRUE(got.shrunk->report.first.has_value());
    EXPECT_EQ(got.shrunk->report.first->kind, DifferenceKind::value);
    EXPECT_EQ(got.shrunk->report.first->lane, 31u);
    EXPECT_EQ(got.shrunk->report.first->emulated, 0u);
    EXPECT_EQ(got.shrunk->report.first->other, 0x40000000u);
    EXPECT_NE(got.shrunk->ptx.find("xor.b32 %r4, %r2, %r3;"), std::string::npos);
    EXPECT_EQ(got.shrunk->ptx.find("add.u32 %r5"), std::string::npos);
    const ptx::Parsed parsed = ptx::parse(got.shrunk->ptx);
    EXPECT_TRUE(parsed.diagnostics.empty());
    EXPECT_EQ(ptx::print(parsed.module), ptx::print(got.shrunk->c.module));
}

// A lane of two that differ, of 64 bits; and the lane that a guard leaves out is not read.
TEST(ShrinkToInstruction, OfEveryKindOfRegister) {
    Mistaken wide("and.b64 %d4, %d2, %d3", "or.b64 %d4, %d2, %d3");
    const Isolated of_wide = isolated(
        "cvt.u64.u32 %d2, %r1; mul.wide.u32 %d3, %r1, 0x80000000;\nshl.b64 %d3, %d3, 20;\n"
        "and.b64 %d4, %d2, %d3;\n",
        wide);
    ASSERT_TRUE(of_wide.shrunk.has_value());
    // One bit of one of them is enough: the highest of the last one.
    EXPECT_EQ(words_of(of_wide.shrunk->c), (Words{{32 + 31, uint64_t{1} << 55}}));

    Mistaken select("selp.b32 %r3, %r2, 7, %p1", "selp.b32 %r3, 7, %r2, %p1");
    const Isolated of_predicate = isolated(
        "add.u32 %r2, %r1, 7; setp.ne.u32 %p1, %r1, 3;\nselp.b32 %r3, %r2, 7, %p1;\n", select);
    ASSERT_TRUE(of_predicate.shrunk.has_value());
    // All lanes differ from 7 by zeros.
    EXPECT_EQ(words_of(of_predicate.shrunk->c), Words{});
    EXPECT_EQ(of_predicate.shrunk->c.bytes[0].size(), 2u * 32 * 8 + 8);
    EXPECT_NE(of_predicate.shrunk->ptx.find("setp.ne.u32 %p1, %word, 0;"), std::string::npos);

    Mistaken guarded("sub.u16 %h3, %h1, %h2", "add.u16 %h3, %h1, %h2");
    const Isolated of_guarded = isolated(
        "setp.eq.u32 %p1, %r1, 9; cvt.u16.u32 %h1, %r1; mov.u16 %h2, 6;\nmov.u16 %h3, 0;\n"
        "@%p1 sub.u16 %h3, %h1, %h2;\n",
        guarded);
    ASSERT_TRUE(of_guarded.shrunk.has_value());
    EXPECT_EQ(of_guarded.report.first->lane, 9u);
    // Its guard is left out, and not loaded.
    EXPECT_EQ(of_guarded.shrunk->c.bytes[0].size(), 2u * 32 * 8 + 8);
    EXPECT_EQ(of_guarded.shrunk->ptx.find('@'), std::string::npos);
    EXPECT_EQ(words_of(of_guarded.shrunk->c), (Words{{32 + 31, 4}}));
}

TEST(ShrinkToInstruction, NothingWhereItDoesNotDifferAlone) {
    // It reads memory, or the carry.
    Mistaken loads("ld.global.u32 %r3, [%d1+4]", "ld.global.u32 %r3, [%d1+8]");
    EXPECT_FALSE(isolated("ld.global.u32 %r3, [%d1+4];\n", loads).shrunk.has_value());
    Mistaken carries("addc.u32 %r4, %r1, 1", "addc.u32 %r4, %r1, 2");
    EXPECT_FALSE(
        isolated("add.cc.u32 %r3, %r1, -1;\naddc.u32 %r4, %r1, 1;\n", carries).shrunk.has_value());
    // Where it stands alone the machine reads it rightly.
    const launch::Case c = one_warp("add.u32 %r2, %r1, 1;\nmul.lo.u32 %r3, %r2, 3;\n");
    validate::EmulatorEngine honest(arch, false, 1);
    Mistaken other("mul.lo.u32 %r3, %r2, 3", "mul.lo.u32 %r3, %r2, 5");
    const Report report = run_lockstep(c, arch, other, by_words());
    ASSERT_TRUE(report.first.has_value());
    const auto texts = gpu::instructions_of(c.module, report.program);
    size_t asked = 0;
    const auto shrunk =
        shrink_to_instruction(report, *texts[report.first->operation], [&](const launch::Case& of) {
            ++asked;
            return run_lockstep(of, arch, honest, by_words());
        });
    EXPECT_FALSE(shrunk.has_value());
    EXPECT_EQ(asked, 1u);
    // Memory that differs is no instruction's.
    Report of_memory = run_lockstep(c, arch, other, by_words());
    of_memory.first->kind = DifferenceKind::memory;
    EXPECT_FALSE(shrink_to_instruction(of_memory, *texts[report.first->operation],
                                       [](const launch::Case&) -> Report { return {}; })
                     .has_value());
}

// Programs: here what is compared is whether an instruction stands in the text.
constexpr const char* program = R"(
.reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>;
ld.param.u64 %d1, [out];
mov.u32 %r1, %laneid;
mov.u32 %r2, 17;
mov.u32 %r3, 18;
setp.eq.u32 %p1, %r1, 3;
@%p1 bra OVER;
add.u32 %r4, %r1, %r2;
add.u32 %r5, %r1, %r3;
OVER:
add.u32 %r6, %r2, 1;
xor.b32 %r7, %r2, %r1;
add.u32 %r8, %r7, 1;
st.global.u32 [%d1], %r8;
ret;)";

struct Fake {
    std::string wanted = "xor.b32";
    DifferenceKind kind = DifferenceKind::value;
    uint64_t cta = 0;
    std::vector<launch::Case> asked;
    std::function<void(const launch::Case&, Report&)> change;

    Report operator()(const launch::Case& c) {
        asked.push_back(c);
        Report r;
        isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
        r.diagnostics = resolved.diagnostics;
        r.program = std::move(resolved.program);
        if (!r.diagnostics.empty()) return r;
        for (const ptx::Instruction* i : gpu::instructions_of(c.module, r.program))
            r.spellings.push_back(i == nullptr ? "exit" : isa::spelled(*i));
        for (uint32_t i = 0; i < r.spellings.size() && !r.first; ++i)
            if (r.spellings[i] == wanted) {
                r.first.emplace();
                r.first->kind = kind;
                r.first->operation = i;
                r.first->cta_index = cta;
            }
        if (change) change(c, r);
        return r;
    }
};

std::vector<std::string> instructions(const launch::Case& c) {
    const isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
    EXPECT_TRUE(resolved.diagnostics.empty());
    std::vector<std::string> out;
    for (const ptx::Instruction* i : gpu::instructions_of(c.module, resolved.program))
        if (i != nullptr) out.push_back(ptx::print(*i));
    return out;
}

Shrunk shrunk(Fake& fake, const launch::Case& c) {
    const Report report = fake(c);
    EXPECT_TRUE(report.first.has_value());
    fake.asked.clear();
    return shrink_program(c, report, std::ref(fake));
}

launch::Case program_of_ctas(uint64_t ctas, size_t part) {
    launch::Case c = lies::case_of(program);
    c.grid = {static_cast<uint32_t>(ctas), 1, 1};
    c.bytes[0].resize(ctas * part + programs::spare_bytes);
    for (size_t i = 0; i < c.bytes[0].size(); ++i) c.bytes[0][i] = static_cast<uint8_t>(i / 4);
    return c;
}

TEST(ShrinkProgram, KeepsWhatTheDifferenceReadsAndTheWayThere) {
    Fake fake;
    const Shrunk out = shrunk(fake, program_of_ctas(1, 16));
    EXPECT_EQ(instructions(out.c),
              (std::vector<std::string>{"mov.u32 %r1, %laneid;", "mov.u32 %r2, 17;",
                                        "setp.eq.u32 %p1, %r1, 3;", "@%p1 bra OVER;",
                                        "xor.b32 %r7, %r2, %r1;", "ret;"}));
    EXPECT_EQ(out.ptx, ptx::print(out.c.module));
    ASSERT_TRUE(out.report.first.has_value());
    EXPECT_EQ(out.report.spellings[out.report.first->operation], "xor.b32");
    EXPECT_EQ(out.report.program.operations.size(),
              isa::resolve(out.c.module, arch, "k").program.operations.size());
}

// Of a module with more than its kernel: a variable and another kernel before it.
TEST(ShrinkProgram, TheKernelOfAModuleWithOthers) {
    launch::Case c = program_of_ctas(1, 16);
    std::string text = ptx::print(c.module);
    text.insert(text.find(".visible"),
                ".global .u32 word;\n.visible .entry first(.param .u64 out)\n{\nret;\n}\n");
    ptx::Parsed parsed = ptx::parse(text);
    ASSERT_TRUE(parsed.diagnostics.empty());
    ASSERT_EQ(parsed.module.items.size(), 3u);
    c.module = std::move(parsed.module);
    Fake fake;
    EXPECT_EQ(instructions(shrunk(fake, c).c),
              (std::vector<std::string>{"mov.u32 %r1, %laneid;", "mov.u32 %r2, 17;",
                                        "setp.eq.u32 %p1, %r1, 3;", "@%p1 bra OVER;",
                                        "xor.b32 %r7, %r2, %r1;", "ret;"}));
}

// Also the carry: what writes it in every lane stays.
TEST(ShrinkProgram, KeepsWhatWritesTheCarryThatItReads) {
    const auto left = [](const std::string& body) {
        Fake fake;
        fake.wanted = "addc.u32";
        launch::Case c = lies::case_of(
            ".reg .b32 %r<12>; .reg .pred %p<2>;\nmov.u32 %r1, %laneid;\n"
            "mov.u32 %r5, 7;\nsetp.eq.u32 %p1, %r1, 3;\n" +
            body + "addc.u32 %r4, %r1, 1;\nmov.u32 %r9, 9;\nret;\n");
        c.grid = {1, 1, 1};
        std::vector<std::string> out = instructions(shrunk(fake, c).c);
        EXPECT_EQ(out.front(), "mov.u32 %r1, %laneid;");
        EXPECT_EQ(out.back(), "ret;");
        return std::vector<std::string>(out.begin() + 1, out.end() - 2);
    };
    using Left = std::vector<std::string>;
    EXPECT_EQ(left("add.cc.u32 %r3, %r1, -1;\nadd.u32 %r6, %r1, 2;\n"),
              Left{"add.cc.u32 %r3, %r1, -1;"});
    // One that only some lanes take writes no carry of the others.
    EXPECT_EQ(left("add.cc.u32 %r3, %r1, -1;\n@%p1 add.cc.u32 %r6, %r1, 2;\n"),
              Left{"add.cc.u32 %r3, %r1, -1;"});
}

// Only what differs as the whole did, and has no problem, is smaller.
TEST(ShrinkProgram, AnotherDifferenceIsNone) {
    const auto same_as_whole = [](std::function<void(const launch::Case&, Report&)> change) {
        Fake fake;
        const launch::Case c = program_of_ctas(1, 16);
        const Report report = fake(c);
        fake.change = std::move(change);
        const Shrunk out = shrink_program(c, report, std::ref(fake));
        EXPECT_GT(fake.asked.size(), 4u);
        return instructions(out.c) == instructions(c) && out.ptx == ptx::print(c.module);
    };
    EXPECT_TRUE(same_as_whole([](const launch::Case&, Report& r) { r.problem = "no machine"; }));
    EXPECT_TRUE(same_as_whole([](const launch::Case&, Report& r) { r.first.reset(); }));
    EXPECT_TRUE(same_as_whole([](const launch::Case&, Report& r) {
        if (r.first) r.first->kind = DifferenceKind::memory;
    }));
    EXPECT_TRUE(same_as_whole([](const launch::Case&, Report& r) {
        if (r.first) r.first->operation = 0;
    }));
    EXPECT_TRUE(same_as_whole([](const launch::Case&, Report& r) {
        r.diagnostics.push_back({{}, "not a program", {}});
    }));
    EXPECT_FALSE(same_as_whole([](const launch::Case&, Report&) {}));
}

TEST(ShrinkProgram, OneCtaOfSeveralWithItsBytes) {
    Fake fake;
    fake.cta = 2;
    const launch::Case c = program_of_ctas(5, 48);
    const Shrunk out = shrunk(fake, c);
    EXPECT_EQ(out.c.grid.count(), 1u);
    ASSERT_EQ(out.c.bytes[0].size(), 48 + programs::spare_bytes);
    EXPECT_TRUE(
        std::equal(out.c.bytes[0].begin(), out.c.bytes[0].end(), c.bytes[0].begin() + 2 * 48));
    // Where it differs otherwise alone, or not at all, it stays among the others.
    for (const bool none : {false, true}) {
        Fake not_alone;
        not_alone.cta = 2;
        not_alone.change = [&](const launch::Case& of, Report& r) {
            if (of.grid.count() != 1) return;
            if (none)
                r.first.reset();
            else
                r.first->kind = DifferenceKind::memory;
        };
        EXPECT_EQ(shrunk(not_alone, c).c.grid.count(), 5u);
    }
    // And where its bytes are not its own.
    const auto stays = [](auto change) {
        Fake of;
        of.cta = 2;
        launch::Case other = program_of_ctas(5, 48);
        change(other);
        return shrunk(of, other).c.grid.count() == 5;
    };
    EXPECT_FALSE(stays([](launch::Case&) {}));
    EXPECT_TRUE(stays([](launch::Case& of) { of.cluster = warp::Dim3{2, 1, 1}; }));
    EXPECT_TRUE(stays([](launch::Case& of) { of.bytes[0].push_back(0); }));
    EXPECT_TRUE(stays([](launch::Case& of) { of.bytes[0].resize(programs::spare_bytes - 4); }));
    EXPECT_TRUE(stays([](launch::Case& of) {
        of.bytes.emplace_back(4);
        of.names.emplace_back("more");
    }));
    EXPECT_FALSE(stays([](launch::Case& of) { of.bytes[0].resize(programs::spare_bytes); }));
}

TEST(ShrinkProgram, ItsLaunchFile) {
    launch::Case c = lies::case_of("ret;");
    c.grid = {3, 1, 1};
    c.block = {96, 1, 1};
    c.names = {"in"};
    c.bytes = {{0x00, 0x0f, 0xa0, 0xff}};
    EXPECT_EQ(validate::launch_json(c, "sm_75"),
              "{\n  \"schema\": \"lockwarp-launch/1\",\n  \"ptx\": \"case.ptx\",\n"
              "  \"arch\": \"sm_75\",\n  \"grid\": [3, 1, 1], \"block\": [96, 1, 1],\n"
              "  \"buffers\": {\"in\": {\"bytes\": 4, \"init\": {\"hex\": \"000fa0ff\"}}},\n"
              "  \"args\": [{\"buffer\": \"in\"}],\n  \"outputs\": [\"in\"]\n}\n");
}

// Clusters, and buffers that have addresses of others in them.
TEST(ShrinkProgram, ItsLaunchFileHasPointers) {
    launch::Case c = lies::case_of("ret;");
    c.grid = {4, 1, 1};
    c.cluster = warp::Dim3{2, 1, 1};
    c.block = {64, 1, 1};
    c.names = {"in", "out"};
    c.bytes = {std::vector<uint8_t>(32), {0x12}};
    c.buffer_patches = {{0, 8, 1, 0}, {0, 16, 0, 4}};
    EXPECT_EQ(
        validate::launch_json(c, "sm_90"),
        "{\n  \"schema\": \"lockwarp-launch/1\",\n  \"ptx\": \"case.ptx\",\n"
        "  \"arch\": \"sm_90\",\n  \"grid\": [4, 1, 1], \"cluster\": [2, 1, 1], "
        "\"block\": [64, 1, 1],\n  \"buffers\": {\"in\": {\"bytes\": 32, \"init\": {\"hex\": \"" +
            std::string(64, '0') +
            "\"}, \"pointers\": {\"8\": {\"buffer\": \"out\", \"offset\": 0}, \"16\": "
            "{\"buffer\": \"in\", \"offset\": 4}}},\n"
            "    \"out\": {\"bytes\": 1, \"init\": {\"hex\": \"12\"}}},\n"
            "  \"args\": [{\"buffer\": \"in\"}, {\"buffer\": \"out\"}],\n"
            "  \"outputs\": [\"in\", \"out\"]\n}\n");
}

}  // namespace
}  // namespace lockwarp::shrink_test
