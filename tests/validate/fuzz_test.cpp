// Random programs, with the emulator in the GPU's place.
#include "validate/fuzz.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"

namespace {

using namespace lockwarp;

validate::FuzzOptions small(uint64_t seed, uint64_t cases) {
    validate::FuzzOptions o;
    o.generate.seed = seed;
    o.generate.ctas = 2;
    o.generate.warps = 2;
    o.cases = cases;
    return o;
}

TEST(Generate, IsDeterministicAndResolves) {
    for (const isa::ArchRow& a : isa::arch_rows)
        for (uint64_t seed = 1; seed <= 40; ++seed) {
            validate::GenerateOptions o;
            o.seed = seed;
            o.arch = a.arch;
            o.ctas = 1;
            const validate::Generated once = generate(o);
            const validate::Generated again = generate(o);
            ASSERT_EQ(once.ptx, again.ptx);
            ASSERT_EQ(once.c.bytes, again.c.bytes);
            const ptx::Parsed parsed = ptx::parse(once.ptx);
            ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
            const isa::Resolved r = isa::resolve(parsed.module, a.arch, "k");
            ASSERT_TRUE(r.diagnostics.empty())
                << a.name << " seed " << seed << " line " << r.diagnostics[0].place.line << ": "
                << r.diagnostics[0].message << "\n"
                << once.ptx;
        }
}

TEST(Generate, OnlyWhatIsNamed) {
    validate::GenerateOptions o;
    o.only = {"nothing"};
    EXPECT_NE(generate(o).problem, "");
    o.only = {"mma.m16n8k8"};
    const std::string text = generate(o).ptx;
    EXPECT_NE(text.find("mma.sync.aligned.m16n8k8"), std::string::npos);
    EXPECT_EQ(text.find("m16n8k16"), std::string::npos);
}

TEST(Fuzz, TheEmulatorAgreesWithItself) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::FuzzReport r = fuzz(small(1, 60), isa::Arch::sm_90, engine);
    EXPECT_EQ(r.problem, "");
    EXPECT_TRUE(r.found.empty()) << r.found[0].report << r.found[0].ptx;
    EXPECT_EQ(r.cases, 60u);
    EXPECT_GT(r.values, 60u * 48 * 64);
}

// The other architecture's arithmetic stands for an error in the model: one instruction, and no
// more lanes and bits than it takes.
TEST(Fuzz, AnErrorIsFoundAndShrunk) {
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    validate::FuzzOptions o = small(7, 20);
    o.generate.only = {"mma.m8n8k4.row.col.f32.f16.f16.f32"};
    const validate::FuzzReport r = fuzz(o, isa::Arch::sm_75, engine);
    EXPECT_EQ(r.problem, "");
    ASSERT_EQ(r.found.size(), 1u);
    const validate::Found& f = r.found[0];
    EXPECT_TRUE(f.isolated);
    EXPECT_EQ(f.instruction, "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
    size_t count = 0;
    for (size_t at = 0; (at = f.ptx.find("mma.sync", at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 1u);
    // Two architectures differ in what is cut off below the largest of a few terms.
    const size_t hex = f.json.find("\"hex\": \"") + 8;
    const std::string digits = f.json.substr(hex, f.json.find('"', hex) - hex);
    EXPECT_LT(std::ranges::count_if(digits, [](char c) { return c != '0'; }), 40);
}

}  // namespace
