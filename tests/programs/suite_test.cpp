// SPDX-License-Identifier: Apache-2.0
// The suite has everything, and everything in it runs.
#include "programs/suite.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "programs/generate.hpp"
#include "tests/print.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/recording.hpp"

namespace {

using namespace lockwarp;

std::string spelling(const ptx::Instruction& i) {
    std::string text = i.opcode;
    for (const ptx::Modifier& m : i.modifiers) text += m.text;
    return text;
}

// The spellings of each program of an architecture's suite, by its name.
std::map<std::string, std::set<std::string>> spellings_of(isa::Arch arch) {
    std::map<std::string, std::set<std::string>> out;
    for (const programs::SuiteProgram& p : programs::suite(arch)) {
        const ptx::Parsed parsed = ptx::parse(p.ptx);
        EXPECT_TRUE(parsed.diagnostics.empty()) << p.name;
        std::set<std::string>& of = out[p.name];
        const isa::Resolved resolved = isa::resolve(parsed.module, arch, "k");
        EXPECT_TRUE(resolved.diagnostics.empty())
            << p.name << ": " << resolved.diagnostics[0].message;
        for (const ptx::Instruction* i : gpu::instructions_of(parsed.module, resolved.program))
            if (i != nullptr) of.insert(spelling(*i));
    }
    return out;
}

TEST(Suite, EverySpellingIsInTheProgramOfItsOpcode) {
    const auto have = spellings_of(isa::Arch::sm_90);
    const auto have_later = spellings_of(isa::Arch::sm_100);
    size_t found = 0;
    size_t left_out = 0;
    const auto expect = [&](const std::string& program, const std::string& text,
                            bool later = false) {
        if (programs::unsuited_because(text) != nullptr) {
            ++left_out;
            return;
        }
        const auto& all = later ? have_later : have;
        const auto of = all.find(program);
        EXPECT_TRUE(of != all.end() && of->second.contains(text)) << text;
        ++found;
    };
    for (const isa::Form& f : isa::forms()) {
        if (f.op == isa::Op::mma || f.op == isa::Op::wmma_mma || f.opcode == "wgmma") continue;
        if (programs::is_in_no_program(f.op)) continue;
        for (const std::string& modifiers : isa::expansions(f))
            expect(std::string(f.opcode), std::string(f.opcode) + modifiers, f.target >= 100);
    }
    const auto is_in_none = [](const std::string& name) {
        return std::ranges::any_of(isa::forms_of(name.substr(0, name.find('.'))),
                                   [&](const isa::Form* f) {
                                       return programs::is_in_no_program(f->op) &&
                                              name.starts_with(isa::row(f->op).name.substr(0, 8));
                                   });
    };
    for (const std::string& name : programs::generated_instructions(isa::Arch::sm_90))
        if (!name.starts_with("mma.") && !name.starts_with("wmma.mma.") &&
            !name.starts_with("wgmma.") && !is_in_none(name))
            expect(name.substr(0, name.find('.')), name);
    EXPECT_GT(found, 6000u);
    EXPECT_LT(left_out, 700u);
}

TEST(Suite, EveryVariantOfMmaHasItsProgramAndNoOther) {
    const auto have = spellings_of(isa::Arch::sm_120);
    const auto on_hopper = spellings_of(isa::Arch::sm_90);
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        EXPECT_EQ(on_hopper.contains(std::string(v.key)), v.target <= 90) << v.key;
        const auto of = have.find(std::string(v.key));
        ASSERT_NE(of, have.end()) << v.key;
        size_t spelled = 0;
        for (const std::string& text : of->second) spelled += text.starts_with("mma.");
        EXPECT_EQ(spelled, v.satfinite ? 2u : 1u) << v.key;
    }
    for (const auto& [name, spellings] : have) {
        if (name.starts_with("mma.")) continue;
        for (const std::string& text : spellings) EXPECT_FALSE(text.starts_with("mma.")) << name;
    }
}

// In a program with what differs only in the orders of A and B; of f64 with every rounding.
TEST(Suite, EverySpellingOfWmmaMmaIsInItsProgram) {
    const auto have = spellings_of(isa::Arch::sm_90);
    const auto have_later = spellings_of(isa::Arch::sm_100);
    size_t found = 0;
    for (const isa::Form& f : isa::forms()) {
        if (f.op != isa::Op::wmma_mma) continue;
        for (const std::string& modifiers : isa::expansions(f)) {
            const std::string text = "wmma" + modifiers;
            size_t programs = 0;
            for (const auto& [name, spellings] : have) {
                programs += spellings.contains(text);
                EXPECT_TRUE(!spellings.contains(text) || name.starts_with("wmma.mma.m")) << name;
            }
            EXPECT_EQ(programs, 1u) << text;
            ++found;
        }
    }
    EXPECT_GT(found, 96u);
}

// A row of what is left out that leaves nothing out has no reason to be there.
TEST(Suite, WhatIsLeftOutExists) {
    for (const programs::Unsuited& u : programs::unsuited()) {
        bool exists = false;
        for (const isa::Form& f : isa::forms()) {
            if (f.op == isa::Op::mma || f.op == isa::Op::wgmma_mma) continue;
            for (const std::string& modifiers : isa::expansions(f)) {
                const std::string text = std::string(f.opcode) + modifiers;
                exists |= text.starts_with(u.begins) &&
                          (u.has.empty() || text.find(u.has) != std::string::npos) &&
                          (u.lacks.empty() || text.find(u.lacks) == std::string::npos);
            }
        }
        EXPECT_TRUE(exists) << u.begins << " " << u.has;
        EXPECT_FALSE(u.why.empty());
    }
}

TEST(Suite, IsTheSameEachTime) {
    const std::vector<programs::SuiteProgram> once = programs::suite(isa::Arch::sm_90);
    const std::vector<programs::SuiteProgram> again = programs::suite(isa::Arch::sm_90);
    ASSERT_EQ(once.size(), again.size());
    std::set<std::string> names;
    for (size_t i = 0; i < once.size(); ++i) {
        EXPECT_TRUE(names.insert(once[i].name).second) << once[i].name;
        EXPECT_EQ(once[i].ptx, again[i].ptx);
        EXPECT_EQ(once[i].c.bytes, again[i].c.bytes);
        EXPECT_EQ(once[i].c.parameters, again[i].c.parameters);
    }
}

class SuiteOn : public testing::TestWithParam<isa::Arch> {};

// The fast paths of the arithmetic, compared with its definitions.
TEST_P(SuiteOn, IsIdenticalBesidePlainArithmetic) {
    const isa::Arch arch = GetParam();
    validate::EmulatorEngine engine(arch, true);
    for (const programs::SuiteProgram& p : programs::suite(arch)) {
        const ptx::Parsed parsed = ptx::parse(p.ptx);
        const isa::Resolved resolved = isa::resolve(parsed.module, arch, "k");
        ASSERT_TRUE(resolved.diagnostics.empty())
            << p.name << " line " << resolved.diagnostics[0].place.line << ": "
            << resolved.diagnostics[0].message;
        validate::Options options;
        options.trace_bytes = uint64_t{1} << 28;
        const validate::Report r = validate::run_lockstep(p.c, arch, engine, options);
        ASSERT_EQ(r.problem, "") << p.name;
        EXPECT_FALSE(r.first.has_value())
            << p.name << ": " << validate::text_report(r, engine.device(), p.name);
        EXPECT_GT(r.counts.values, 32u) << p.name;
    }
}

std::vector<isa::Arch> all_archs() {
    std::vector<isa::Arch> out;
    for (const isa::ArchRow& a : isa::arch_rows) out.push_back(a.arch);
    return out;
}

INSTANTIATE_TEST_SUITE_P(Arch, SuiteOn, testing::ValuesIn(all_archs()),
                         [](const auto& each) { return std::string(isa::row(each.param).name); });

// Recordings are kept for ever: 9 MB in all. With the emulator as the machine; each is read and
// compared again.
TEST(Suite, RecordingsAreSmallAndReplayed) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    uint64_t total = 0;
    std::string largest;
    uint64_t most = 0;
    for (const programs::SuiteProgram& p : programs::suite(isa::Arch::sm_90)) {
        validate::Answer answer;
        const validate::Report live = run_lockstep(p.c, isa::Arch::sm_90, engine, {}, &answer);
        ASSERT_EQ(live.problem, "") << p.name;
        const std::vector<uint8_t> file =
            validate::write_recording({p.name + ".ptx", p.ptx, "sm_90", "a test", p.c, answer});
        validate::Recording recording;
        ASSERT_EQ(take(validate::read_recording(file), recording), "") << p.name;
        const validate::Report again = replay(recording.c, isa::Arch::sm_90, recording.answer, {});
        EXPECT_EQ(again.problem, "") << p.name;
        EXPECT_FALSE(again.first.has_value()) << p.name;
        EXPECT_EQ(again.counts.values, live.counts.values) << p.name;
        total += file.size();
        if (file.size() > most) {
            most = file.size();
            largest = p.name;
        }
    }
    EXPECT_LT(total, 9000000u) << "the largest is " << largest << " with " << most << " bytes";
    EXPECT_GT(total, 1000000u);
}

}  // namespace
