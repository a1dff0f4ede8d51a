// SPDX-License-Identifier: Apache-2.0
// Differences that are gone where the engine's compiler does not optimize.
#include "validate/compiler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "launch/input.hpp"
#include "validate/emulator_engine.hpp"

namespace {

using namespace lockwarp;

// Changes one instruction of the text where it optimizes.
class Optimizing : public validate::EmulatorEngine {
  public:
    Optimizing(std::string before, std::string after, bool always = false)
        : EmulatorEngine(isa::Arch::sm_90),
          before_(std::move(before)),
          after_(std::move(after)),
          always_(always) {}
    gpu::Ran run(const gpu::Job& job) override {
        std::string text(job.ptx);
        const size_t at = text.find(before_);
        EXPECT_NE(at, std::string::npos) << before_;
        if (at != std::string::npos && (job.optimization != 0 || always_))
            text.replace(at, before_.size(), after_);
        gpu::Job changed = job;
        changed.ptx = text;
        return EmulatorEngine::run(changed);
    }

  private:
    std::string before_, after_;
    bool always_;
};

launch::Case case_of(const std::string& name) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/tests/compiler/" + name}, "sm_90");
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return {};
    }
    auto made = launch::make_case(loaded->in.launch, loaded->in.module, loaded->program);
    EXPECT_TRUE(made.has_value());
    return made ? std::move(*made) : launch::Case{};
}

constexpr const char* product = "mul.hi.s16 %h3, %h4, %h2;";
constexpr const char* other_product = "mul.hi.s16 %h3, %h4, %h2; not.b16 %h3, %h3;";

TEST(Compiler, WhatIsItsOwnIsNamedAndNoDifference) {
    Optimizing engine(product, other_product);
    const validate::Compared c =
        validate::compare(case_of("neg_mul_hi.json"), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(c.report.problem, "");
    EXPECT_FALSE(c.report.first.has_value());
    EXPECT_GT(c.report.counts.values, 0u);
    ASSERT_TRUE(c.differed.has_value());
    ASSERT_TRUE(c.differed->first.has_value());
    EXPECT_EQ(c.differed->spellings[c.differed->first->operation], "mul.hi.s16");
    EXPECT_EQ(validate::compilers_doing(*c.differed),
              "it takes neg.s16 of -32768 for +32768 in what follows "
              "(tests/compiler/neg_mul_hi.ptx)");
}

TEST(Compiler, WhatIsNotKnownSaysSo) {
    Optimizing engine("neg.s16 %h2, %h1;", "neg.s16 %h2, %h1; not.b16 %h2, %h2;");
    const validate::Compared c =
        validate::compare(case_of("neg_mul_hi.json"), isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(c.differed.has_value());
    EXPECT_EQ(validate::compilers_doing(*c.differed), "none of those that are known");
}

TEST(Compiler, WhatDiffersAtEveryLevelIsADifference) {
    Optimizing engine(product, other_product, true);
    const launch::Case c = case_of("neg_mul_hi.json");
    EXPECT_TRUE(validate::compare(c, isa::Arch::sm_90, engine, {}).report.first.has_value());
    validate::Options options;
    options.optimization = 0;
    const validate::Compared once = validate::compare(c, isa::Arch::sm_90, engine, options);
    EXPECT_TRUE(once.report.first.has_value());
    EXPECT_FALSE(once.differed.has_value());
}

TEST(Compiler, EveryRowHasItsTest) {
    EXPECT_FALSE(validate::compiler_rows().empty());
    for (const validate::CompilerRow& row : validate::compiler_rows())
        EXPECT_TRUE(std::filesystem::exists(LOCKWARP_SOURCE_DIR "/tests/compiler/" +
                                            std::string(row.test) + ".ptx"))
            << row.test;
    for (const validate::CompilerProgramRow& row : validate::compiler_program_rows())
        EXPECT_TRUE(std::filesystem::exists(LOCKWARP_SOURCE_DIR "/tests/compiler/" +
                                            std::string(row.test) + ".ptx"))
            << row.test;
}

// The known kernels as the compiler changes them.
TEST(Compiler, WhatItChangesAtEveryLevelIsNotCompared) {
    constexpr const char* convert = "cvt.u32.u16 %r3, %h1;";
    for (const auto& [name, before, after] : {
             std::array{"guarded_testp", "@%p1 testp", "testp"},
             std::array{"guarded_vadd4", "not.b32 %r4, %r3;",
                        "@!%p1 vadd4.u32.u32.u32.add %r3, %r2, %r2, %r1; not.b32 %r4, %r3;"},
             std::array{"guarded_set", convert, "@!%p1 mov.b16 %h1, 0x4780; cvt.u32.u16 %r3, %h1;"},
             std::array{"guarded_set_f16", convert,
                        "@!%p1 mov.b16 %h1, 0x4200; cvt.u32.u16 %r3, %h1;"},
             std::array{"shift_f32", "shl.b64 %rd4, %rd3, %r3;",
                        "cvt.rzi.u32.f32 %r3, %r3; shl.b64 %rd4, %rd3, %r3;"},
         }) {
        Optimizing engine(before, after, true);
        const validate::Compared c =
            validate::compare(case_of(std::string(name) + ".json"), isa::Arch::sm_90, engine, {});
        EXPECT_FALSE(c.differed.has_value());
        EXPECT_NE(c.report.problem.find("at every level: it "), std::string::npos)
            << name << ": " << c.report.problem;
        EXPECT_NE(c.report.problem.find(std::string("tests/compiler/") + name), std::string::npos)
            << c.report.problem;
    }
}

TEST(Compiler, WhatItDoesToOneInstructionIsNamed) {
    for (const auto& [name, before, after] : {
             std::array{"set_cvt", "cvt.rpi.sat.s16.f16 %h2, %h1;",
                        "cvt.rpi.sat.s16.f16 %h2, %h1; min.s16 %h2, %h2, 1;"},
             std::array{"div_one", "div.approx.f32 %f2, %f1, 0f3F800000;", "mov.f32 %f2, %f1;"},
             std::array{"cnot_shl", "shl.b16 %h3, %h4, %r2;", "mov.b16 %h3, 0;"},
             std::array{"div_rcp", "div.approx.ftz.f32 %r4, 0f404CCCCD, %r3;",
                        "mul.ftz.f32 %r4, 0f404CCCCD, %r2;"},
             std::array{"cnot_set", "cnot.b16 %h4, %h3;", "mov.b16 %h4, 0;"},
             std::array{"neg_cvt", "cvt.rzi.s16.f16 %h3, %h2;", "cvt.rni.s16.f16 %h3, %h2;"},
             std::array{"rcp_rcp", "rcp.approx.ftz.f32 %r4, %r3;", "mov.b32 %r4, %r2;"},
             std::array{"setp_branch", "@%p2 bra L;",
                        "setp.lt.and.f32 %p2, %r2, 0f00000000, %p1; @%p2 bra L;"},
         }) {
        Optimizing engine(before, after);
        const validate::Compared c =
            validate::compare(case_of(std::string(name) + ".json"), isa::Arch::sm_90, engine, {});
        ASSERT_TRUE(c.differed.has_value()) << name;
        EXPECT_NE(
            validate::compilers_doing(*c.differed).find(std::string("tests/compiler/") + name),
            std::string::npos)
            << validate::compilers_doing(*c.differed);
    }
}

// Other results where it is traced: by what the program has.
TEST(Compiler, WhatShowsInTracedKernelsAloneIsNamed) {
    for (const char* const name : {"cnot_shl", "split_result"}) {
        const launch::Case c = case_of(std::string(name) + ".json");
        validate::Report report;
        report.program = isa::resolve(c.module, isa::Arch::sm_90, c.entry).program;
        report.traced_differs = true;
        EXPECT_NE(validate::compilers_doing(report).find(std::string("tests/compiler/") + name),
                  std::string::npos)
            << validate::compilers_doing(report);
    }
}

// Faults with a copy that has a cache policy where it optimizes.
class FaultingAtCopies : public validate::EmulatorEngine {
  public:
    FaultingAtCopies() : EmulatorEngine(isa::Arch::sm_90) {}
    gpu::Ran run(const gpu::Job& job) override {
        if (job.optimization == 0) return EmulatorEngine::run(job);
        gpu::Ran out;
        out.outcome = gpu::Outcome::faulted;
        out.what = "an illegal instruction was encountered";
        return out;
    }
};

TEST(Compiler, AnIllegalInstructionOfItsOwnIsNamed) {
    FaultingAtCopies engine;
    const validate::Compared c =
        validate::compare(case_of("cache_hint_base.json"), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(c.report.problem, "");
    EXPECT_FALSE(c.report.first.has_value());
    ASSERT_TRUE(c.differed.has_value());
    EXPECT_NE(validate::compilers_doing(*c.differed).find("tests/compiler/cache_hint_base.ptx"),
              std::string::npos);
    const validate::Compared other =
        validate::compare(case_of("neg_mul_hi.json"), isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(other.differed.has_value());
    EXPECT_EQ(validate::compilers_doing(*other.differed), "none of those that are known");
}

}  // namespace
