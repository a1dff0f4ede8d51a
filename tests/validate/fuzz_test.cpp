// SPDX-License-Identifier: Apache-2.0
// Random programs, with the emulator in the GPU's place.
#include "validate/fuzz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "emu/check/check.hpp"
#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/side.hpp"

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
            programs::GenerateOptions o;
            o.seed = seed;
            o.arch = a.arch;
            o.ctas = 1;
            const programs::Generated once = generate(o).value();
            const programs::Generated again = generate(o).value();
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
    programs::GenerateOptions o;
    o.only = {"nothing"};
    EXPECT_FALSE(generate(o));
    o.only = {"mma.m16n8k8"};
    const std::string text = generate(o)->ptx;
    EXPECT_NE(text.find("mma.sync.aligned.m16n8k8"), std::string::npos);
    EXPECT_EQ(text.find("m16n8k16"), std::string::npos);
}

// The CTAs of a cluster write into each other's shared memory, copies into tensors: a comparison
// with another machine means something only where one result is right.
TEST(Generate, ProgramsOfHopperHaveNoRaceAndOneResult) {
    size_t clusters = 0, tensors = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        programs::GenerateOptions o = small(seed, 1).generate;
        o.arch = isa::Arch::sm_90;
        const programs::Generated g = generate(o).value();
        const ptx::Parsed parsed = ptx::parse(g.ptx);
        const isa::Resolved r = isa::resolve(parsed.module, o.arch, "k");
        clusters += g.c.cluster.has_value();
        tensors += g.c.bytes.size() > 1;
        std::vector<std::vector<std::vector<uint8_t>>> results;
        for (const bool late : {false, true}) {
            std::vector<std::vector<uint8_t>>& bytes = results.emplace_back(g.c.bytes);
            warp::Launch l;
            l.grid = g.c.grid;
            l.block = g.c.block;
            l.cluster = g.c.cluster;
            std::vector<uint64_t> addresses;
            for (size_t i = 0; i < bytes.size(); ++i) {
                addresses.push_back((i + 1) << 36);
                l.buffers.push_back({g.c.names[i], addresses[i], bytes[i]});
            }
            launch::patch_buffers(g.c.buffer_patches, addresses, bytes);
            l.parameters = validate::patched(g.c, addresses);
            const check::Chosen races = check::choose("race-shared,race-global");
            std::optional<check::Checking> checking;
            if (!late) checking.emplace(races.rows, r.program, l);
            const warp::Result result = exec::launch(r.program, l, exec::Schedule{late});
            ASSERT_FALSE(result.trap) << "seed " << seed;
            ASSERT_FALSE(result.refusal) << result.refusal->what;
            if (!checking) continue;
            const std::vector<check::Found> found = checking->found(result);
            EXPECT_TRUE(found.empty())
                << "seed " << seed << ": " << found[0].finding.message << "\n"
                << g.ptx;
        }
        EXPECT_EQ(results[0], results[1]) << "seed " << seed << "\n" << g.ptx;
    }
    EXPECT_GT(clusters, 10u);
    EXPECT_GT(tensors, 10u);
}

validate::FuzzReport fuzz_beside(const validate::FuzzOptions& o, isa::Arch arch,
                                 gpu::Engine& engine) {
    gpu::Engine* const one = &engine;
    return fuzz(o, arch, {&one, 1});
}

TEST(Fuzz, FastArithmeticGivesThePlainOnesBits) {
    validate::EmulatorEngine engine(isa::Arch::sm_90, true);
    const validate::FuzzReport r = fuzz_beside(small(1, 60), isa::Arch::sm_90, engine);
    EXPECT_EQ(r.problem, "");
    EXPECT_TRUE(r.found.empty()) << r.found[0].report << r.found[0].ptx;
    EXPECT_EQ(r.summary.cases, 60u);
    EXPECT_GT(r.summary.counts.values, 60u * 48 * 64);
    uint64_t values = 0;
    for (const auto& [name, counts] : r.summary.instructions) values += counts.values;
    EXPECT_EQ(values, r.summary.counts.values);
}

// The other architecture's arithmetic stands for an error in the model: one instruction, and no
// more lanes and bits than it takes.
TEST(Fuzz, AnErrorIsFoundAndShrunk) {
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    validate::FuzzOptions o = small(7, 20);
    o.generate.only = {"mma.m8n8k4.row.col.f32.f16.f16.f32"};
    const validate::FuzzReport r = fuzz_beside(o, isa::Arch::sm_75, engine);
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

TEST(Fuzz, ManyEnginesFindWhatOneFinds) {
    validate::EmulatorEngine a(isa::Arch::sm_80);
    validate::EmulatorEngine b(isa::Arch::sm_80);
    validate::EmulatorEngine c(isa::Arch::sm_80);
    const std::array<gpu::Engine*, 3> three{&a, &b, &c};
    validate::FuzzOptions o = small(3, 12);
    o.generate.only = {"mma.m16n8k16", "mma.m8n8k4", "mma.m16n8k8"};
    const validate::FuzzReport one = fuzz_beside(o, isa::Arch::sm_75, a);
    const validate::FuzzReport all = fuzz(o, isa::Arch::sm_75, three);
    EXPECT_FALSE(one.found.empty());
    EXPECT_EQ(all.problem, "");
    ASSERT_EQ(one.found.size(), all.found.size());
    for (size_t i = 0; i < one.found.size(); ++i) {
        EXPECT_EQ(one.found[i].seed, all.found[i].seed);
        EXPECT_EQ(one.found[i].ptx, all.found[i].ptx);
        EXPECT_EQ(one.found[i].json, all.found[i].json);
    }
    EXPECT_EQ(one.summary.counts.values, all.summary.counts.values);
    ASSERT_EQ(one.summary.results.size(), all.summary.results.size());
    for (size_t i = 0; i < one.summary.results.size(); ++i)
        EXPECT_EQ(one.summary.results[i].text, all.summary.results[i].text);
}

// What one machine cannot do the others need not go on with.
TEST(Fuzz, AProblemOfOneEngineEndsAll) {
    std::atomic<bool> refused = false;
    struct Refusing : validate::EmulatorEngine {
        explicit Refusing(std::atomic<bool>& r) : EmulatorEngine(isa::Arch::sm_90), said(r) {}
        gpu::Ran run(const gpu::Job&) override {
            said = true;
            said.notify_all();
            return {gpu::Outcome::refused, "as told"};
        }
        std::atomic<bool>& said;
    } refusing(refused);
    struct Waiting : validate::EmulatorEngine {
        explicit Waiting(std::atomic<bool>& r) : EmulatorEngine(isa::Arch::sm_90), said(r) {}
        gpu::Ran run(const gpu::Job& job) override {
            said.wait(false);
            return EmulatorEngine::run(job);
        }
        std::atomic<bool>& said;
    } waiting(refused);
    const std::array<gpu::Engine*, 2> both{&refusing, &waiting};
    const validate::FuzzReport r = fuzz(small(1, 300), isa::Arch::sm_90, both);
    EXPECT_NE(r.problem.find("as told"), std::string::npos) << r.problem;
    EXPECT_LT(r.summary.cases, 250u);
    EXPECT_TRUE(r.found.empty());
}

// A machine that runs one instruction fewer cannot be shrunk to that instruction alone: what it
// reads is memory. The program loses what does not matter.
TEST(Fuzz, WhatDiffersOnlyInItsProgramIsShrunkAsAProgram) {
    class Stale : public validate::EmulatorEngine {
      public:
        Stale() : EmulatorEngine(isa::Arch::sm_90) {}
        gpu::Ran run(const gpu::Job& job) override {
            std::string text(job.ptx);
            for (size_t at = 0; (at = text.find("stmatrix", at)) != std::string::npos; ++at)
                if (text.compare(at, 31, "stmatrix.sync.aligned.m8n8.x2.s") == 0)
                    text.replace(at, text.find(';', at) - at, "bar.warp.sync 0xffffffff");
            gpu::Job other = job;
            other.ptx = text;
            return EmulatorEngine::run(other);
        }
    } engine;
    validate::FuzzOptions o = small(1, 4);
    o.generate.only = {"stmatrix", "ldmatrix", "add"};
    const validate::FuzzReport r = fuzz_beside(o, isa::Arch::sm_90, engine);
    EXPECT_EQ(r.problem, "");
    ASSERT_FALSE(r.found.empty());
    for (const validate::Found& f : r.found) {
        EXPECT_FALSE(f.isolated);
        EXPECT_TRUE(f.instruction.starts_with("ldmatrix")) << f.instruction;
        EXPECT_LT(std::ranges::count(f.ptx, '\n'), 60) << f.ptx;
        EXPECT_NE(f.ptx.find("stmatrix"), std::string::npos);
        EXPECT_EQ(f.ptx.find("add.rn.f64"), std::string::npos);
    }
}

}  // namespace
