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

// A fault that optimizing removes: without it both sides fault alike, and nothing is compared.
TEST(Compiler, TheSameFaultAtTheLowestLevelTakesNoDifferenceAway) {
    launch::Case c = case_of("neg_mul_hi.json");
    std::string text = ptx::print(c.module);
    const size_t at = text.find(product);
    ASSERT_NE(at, std::string::npos);
    c.module = ptx::parse(text.insert(at, "trap;\n")).module;
    Optimizing engine("trap;", "");
    const validate::Compared out = validate::compare(c, isa::Arch::sm_90, engine, {});
    EXPECT_FALSE(out.differed.has_value());
    EXPECT_TRUE(out.report.first.has_value());
    validate::Options plain;
    plain.optimization = 0;
    EXPECT_TRUE(run_lockstep(c, isa::Arch::sm_90, engine, plain).same_fault);
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

isa::Program resolved(const std::string& text) {
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << text;
    isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << text;
    return std::move(r.program);
}

// What is known of a difference in the value that the last instruction of `op` gives, where each of
// its inputs is `bits`; "": nothing.
std::string known_of(const std::string& body, isa::Op op, uint64_t bits) {
    validate::Report report;
    report.program = resolved(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .pred %p<3>;\n" +
        body + "\nret;\n}\n");
    validate::Difference d;
    d.kind = validate::DifferenceKind::value;
    d.lane = 5;
    for (uint32_t i = 0; i < report.program.operations.size(); ++i)
        if (report.program.operations[i].op == op) d.operation = i;
    const isa::Operation& o = report.program.operations[d.operation];
    EXPECT_EQ(o.op, op) << body;
    d.inputs.resize(o.read);
    for (auto& input : d.inputs) input.lanes[5] = bits;
    report.first = d;
    const validate::CompilerRow* const row = known_of_compiler(report);
    return row == nullptr ? "" : std::string(row->test);
}

// Each part of what is known is needed.
TEST(Compiler, WhatIsNearlyKnownIsNot) {
    constexpr uint64_t least = 0x8000;
    const std::string start = "mov.u16 %h1, 0x8000; mov.u16 %h4, 3; mov.u32 %r1, 1;\n";
    const std::string negated = start + "neg.s16 %h2, %h1;\n";
    EXPECT_EQ(known_of(negated + "mul.hi.s16 %h3, %h4, %h2;", isa::Op::mul, least), "neg_mul_hi");
    EXPECT_EQ(known_of(negated + "mul.hi.s16 %h3, %h4, %h2;", isa::Op::mul, least + 1), "");
    EXPECT_EQ(known_of(negated + "mul.hi.u16 %h3, %h4, %h2;", isa::Op::mul, least), "");
    EXPECT_EQ(known_of(negated + "mul.hi.s16 %h3, %h4, %h1;", isa::Op::mul, least), "");
    EXPECT_EQ(known_of(negated + "add.s16 %h3, %h4, %h2;", isa::Op::add, least), "");
    EXPECT_EQ(known_of(start + "abs.s16 %h2, %h1;\nmul.hi.s16 %h3, %h4, %h2;", isa::Op::mul, least),
              "abs_rem");
    EXPECT_EQ(known_of(start + "not.b16 %h2, %h1;\nmul.hi.s16 %h3, %h4, %h2;", isa::Op::mul, least),
              "");
    // Through as many moves as four, and round a circle of them.
    std::string moved = negated + "mov.b16 %h5, %h2;\n";
    for (const unsigned moves : {1u, 2u, 3u, 4u, 5u}) {
        static constexpr std::array names{"%h5", "%h6", "%h7", "%h8", "%h3"};
        const std::string last = names[moves - 1];
        EXPECT_EQ(
            known_of(moved + "mul.hi.s16 %h4, " + last + ", " + last + ";", isa::Op::mul, least),
            moves <= 4 ? "neg_mul_hi" : "")
            << moves;
        if (moves < 5) moved += std::string("mov.b16 ") + names[moves] + ", " + last + ";\n";
    }
    const std::string circle = start + "L: mov.b16 %h5, %h6; mov.b16 %h6, %h5;\n";
    EXPECT_EQ(known_of(circle + "mul.hi.s16 %h3, %h4, %h5;", isa::Op::mul, least), "");
    const std::string counted = start + "cnot.b32 %r2, %r1;\n";
    EXPECT_EQ(known_of(counted + "shl.b16 %h3, %h4, %r2;", isa::Op::shl, 0), "cnot_shl");
    EXPECT_EQ(known_of(counted + "shl.b32 %r3, %r1, %r2;", isa::Op::shl, 0), "");
    EXPECT_EQ(known_of(counted + "shl.b16 %h3, %h4, %r1;", isa::Op::shl, 0), "");
}

// Where the parts of a result and the store between them must stand, and under what.
TEST(Compiler, WhatNearlySplitsAResultDoesNot) {
    const auto is_named = [](const std::string& stores, const std::string& result) {
        validate::Report report;
        report.traced_differs = true;
        report.program =
            resolved(".version 8.0\n.target sm_90\n.address_size 64\n.func " + result +
                     " f(.param .b64 where)\n{\n.local .align 4 .b8 own[8];\n"
                     ".reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %q<3>; .reg .pred %p<2>;\n"
                     "ld.param.b64 %q1, [where]; mov.u16 %h1, 1; mov.u32 %r1, 1; setp.ne.u32 %p1, "
                     "%r1, 0;\n" +
                     stores +
                     "\nret;\n}\n.visible .entry k(.param .u64 out)\n{\n.reg .b64 %q<3>;\n"
                     "ld.param.u64 %q1, [out];\n{ .param .b64 a; .param .align 4 .b8 r[4];\n"
                     "st.param.b64 [a], %q1;\ncall " +
                     (result.empty() ? "" : "(r), ") + std::string("f, (a); }\nret;\n}\n"));
        return compilers_doing(report).find("split_result") != std::string::npos;
    };
    const std::string result = "(.param .align 4 .b8 result[4])";
    const std::string low = "st.param.b16 [result], %h1;\n";
    const std::string high = "st.param.b16 [result+2], %h1;\n";
    const std::string guarded = "@%p1 st.global.b32 [%q1], %r1;\n";
    EXPECT_TRUE(is_named(low + guarded + high, result));
    EXPECT_TRUE(is_named("st.global.b32 [%q1], %r1;\n" + low + guarded + high + low, result));
    EXPECT_FALSE(is_named(low + high, result));
    EXPECT_FALSE(is_named(low + guarded, result));
    EXPECT_FALSE(is_named(guarded + low + high, result));
    EXPECT_FALSE(is_named(low + high + guarded, result));
    EXPECT_FALSE(is_named(low + "st.global.b32 [%q1], %r1;\n" + high, result));
    EXPECT_FALSE(is_named(low + "@%p1 st.local.b32 [own], %r1;\n" + high, result));
    const std::string half = "st.global.b16 [%q1], %h1;\n";
    EXPECT_FALSE(is_named(half + guarded + high, result));
    EXPECT_FALSE(is_named(low + guarded + half, result));
    EXPECT_FALSE(is_named(low + half + high, result));
    EXPECT_FALSE(is_named("st.param.b32 [result], %r1;\n" + guarded + high, result));
    EXPECT_FALSE(
        is_named("st.local.b16 [own], %h1;\n" + guarded + "st.local.b16 [own+2], %h1;\n", ""));
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
