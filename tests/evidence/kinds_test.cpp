// SPDX-License-Identifier: Apache-2.0
// Programs and reports with the .kind of mma.
#include <gtest/gtest.h>

#include <set>

#include "emu/lockwarp.hpp"
#include "evidence/fidelity.hpp"
#include "programs/generate.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/fuzz.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;

programs::Generated generated(isa::Arch arch, const std::string& key, uint64_t seed) {
    programs::GenerateOptions o;
    o.arch = arch;
    o.seed = seed;
    o.only = {key};
    o.instructions = 3;
    o.ctas = o.warps = 1;
    return generate(o).value();
}

TEST(Kinds, ProgramsNameTheTargetThatHasThem) {
    for (const isa::ArchRow& a : isa::arch_rows) {
        const std::vector<std::string> all = programs::generated_instructions(a.arch);
        const std::set<std::string> listed(all.begin(), all.end());
        for (const isa::MmaVariant& v : isa::mma_variants()) {
            const std::string key(v.key);
            EXPECT_EQ(listed.contains(key), isa::has(a, v.target)) << key << " " << a.name;
            if (!isa::has(a, v.target) || v.suffix() == isa::Suffix::none) continue;
            const std::string text = generated(a.arch, key, 1).ptx;
            EXPECT_NE(text.find(".target " + std::string(a.name) + "a\n"), std::string::npos)
                << key;
        }
    }
}

// Every selector that the instruction may have is drawn, and no other.
TEST(Kinds, ProgramsDrawAllSelectors) {
    const std::string key =
        "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    std::string texts;
    for (uint64_t seed = 1; seed <= 40; ++seed)
        texts += generated(isa::Arch::sm_120, key, seed).ptx;
    for (const char* ids : {"{0, 0}", "{0, 1}", "{2, 0}", "{2, 1}", "{0, 2}", "{2, 3}"})
        EXPECT_NE(texts.find(ids), std::string::npos) << ids;
    EXPECT_EQ(texts.find("{1, "), std::string::npos);
    EXPECT_NE(texts.find("{%h"), std::string::npos);
}

// A machine that takes A for another type.
class Other : public validate::EmulatorEngine {
  public:
    Other() : EmulatorEngine(isa::Arch::sm_120) {}
    gpu::Ran run(const gpu::Job& job) override {
        std::string text(job.ptx);
        for (size_t at = 0; (at = text.find(".f32.e4m3.", at)) != std::string::npos; ++at)
            text.replace(at, 10, ".f32.e5m2.");
        gpu::Job other = job;
        other.ptx = text;
        return EmulatorEngine::run(other);
    }
};

constexpr const char* scaled =
    "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0";

TEST(Kinds, ADifferenceIsShrunkToOneInstruction) {
    Other engine;
    validate::FuzzOptions o;
    o.generate.seed = 5;
    o.generate.arch = isa::Arch::sm_120;
    o.generate.ctas = o.generate.warps = 1;
    o.generate.only = {scaled};
    o.cases = 4;
    gpu::Engine* const one = &engine;
    const validate::FuzzReport r = fuzz(o, isa::Arch::sm_120, {&one, 1});
    EXPECT_EQ(r.problem, "");
    ASSERT_FALSE(r.found.empty());
    for (const validate::Found& f : r.found) {
        EXPECT_TRUE(f.isolated);
        EXPECT_NE(f.ptx.find(".target sm_120a\n"), std::string::npos) << f.ptx;
        EXPECT_EQ(evidence::recorded_name(f.instruction), scaled);
        // Registers that have to be the same in all lanes are constants here.
        EXPECT_EQ(f.ptx.find("{%h"), std::string::npos) << f.ptx;
    }
}

TEST(Kinds, AReportNamesTheFactors) {
    Other engine;
    const programs::Generated g = generated(isa::Arch::sm_120, scaled, 3);
    const validate::Report r = validate::run_lockstep(g.c, isa::Arch::sm_120, engine, {});
    ASSERT_EQ(r.problem, "");
    ASSERT_TRUE(r.first.has_value());
    const std::string text = validate::text_report(r, engine.device(), "k.ptx");
    EXPECT_NE(text.find("    A row "), std::string::npos) << text;
    for (const char* matrix : {"    A row ", "    B column "}) {
        const size_t at = text.rfind(matrix);
        ASSERT_NE(at, std::string::npos) << text;
        const std::string line = text.substr(at, text.find('\n', at) - at);
        EXPECT_NE(line.find(", factor: 0x"), std::string::npos) << text;
    }
}

}  // namespace
