// SPDX-License-Identifier: Apache-2.0
// Random programs, with the emulator in the GPU's place.
#include "validate/fuzz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "emu/check/check.hpp"
#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/side.hpp"

namespace lockwarp::fuzz_test {
namespace {

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

// Products that the other architecture rounds otherwise.
validate::FuzzOptions of_three_products(uint64_t cases) {
    validate::FuzzOptions o = small(3, cases);
    o.generate.only = {"mma.m16n8k16", "mma.m8n8k4", "mma.m16n8k8"};
    return o;
}

TEST(Fuzz, EndsWhereEnoughWasDone) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::FuzzOptions o = small(5, 10);
    int asked = 0;
    std::vector<uint64_t> done;
    o.enough = [&] { return ++asked > 3; };
    o.progress = [&](uint64_t cases) { done.push_back(cases); };
    const validate::FuzzReport r = fuzz_beside(o, isa::Arch::sm_90, engine);
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(done, (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(r.summary.command, "fuzz");
    EXPECT_EQ(r.summary.cases, 3u);
    ASSERT_EQ(r.summary.seeds.size(), 1u);
    EXPECT_EQ(r.summary.seeds[0].first, 5u);
    EXPECT_EQ(r.summary.seeds[0].count, 3u);
    // Of none that was run a report has the machines, and says so.
    validate::EmulatorEngine same(isa::Arch::sm_90), other(isa::Arch::sm_80);
    const std::array<gpu::Engine*, 3> three{&engine, &same, &other};
    o.enough = [] { return true; };
    const validate::FuzzReport none = fuzz(o, isa::Arch::sm_90, three);
    EXPECT_EQ(none.problem, "nothing was compared");
    EXPECT_EQ(none.summary.cases, 0u);
    EXPECT_TRUE(none.summary.seeds.empty());
    ASSERT_EQ(none.summary.devices.size(), 2u);
    EXPECT_TRUE(none.summary.devices[0] == engine.device());
    EXPECT_TRUE(none.summary.devices[1] == other.device());
}

// As many as are wanted, one of each instruction; those that are not made small are as they were.
TEST(Fuzz, FindsAndShrinksNoMoreThanIsWanted) {
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    validate::FuzzOptions o = of_three_products(12);
    o.max_shrunk = 0;
    const validate::FuzzReport all = fuzz_beside(o, isa::Arch::sm_75, engine);
    ASSERT_GE(all.found.size(), 2u);
    std::set<std::string> instructions;
    for (const validate::Found& f : all.found) {
        EXPECT_TRUE(instructions.insert(f.instruction).second) << f.instruction;
        EXPECT_FALSE(f.isolated);
        programs::GenerateOptions g = o.generate;
        g.seed = f.seed;
        g.arch = isa::Arch::sm_75;
        EXPECT_EQ(f.ptx, generate(g)->ptx);
        EXPECT_NE(f.json.find("\"arch\": \"sm_75\""), std::string::npos);
        EXPECT_TRUE(f.report.starts_with("DIFFERS  case.ptx:")) << f.report;
        EXPECT_NE(f.report.find(f.instruction), std::string::npos) << f.report;
    }
    for (size_t n = 1; n <= 2; ++n) {
        o.max_found = n;
        const validate::FuzzReport few = fuzz_beside(o, isa::Arch::sm_75, engine);
        ASSERT_EQ(few.found.size(), n);
        EXPECT_EQ(few.found[n - 1].ptx, all.found[n - 1].ptx);
    }
    o.max_shrunk = 1;
    const validate::FuzzReport one = fuzz_beside(o, isa::Arch::sm_75, engine);
    ASSERT_EQ(one.found.size(), 2u);
    EXPECT_TRUE(one.found[0].isolated);
    EXPECT_NE(one.found[0].ptx, all.found[0].ptx);
    EXPECT_EQ(one.found[0].instruction, all.found[0].instruction);
    EXPECT_EQ(one.found[1].ptx, all.found[1].ptx);
}

TEST(Fuzz, WhatIsNotMadeSmallSaysWhy) {
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    validate::FuzzOptions o = of_three_products(12);
    o.max_found = 1;
    o.stopped = [] { return true; };
    const validate::FuzzReport stopped = fuzz_beside(o, isa::Arch::sm_75, engine);
    ASSERT_EQ(stopped.found.size(), 1u);
    const validate::Found& f = stopped.found[0];
    EXPECT_EQ(f.report, "stopped before it was made small\n");
    programs::GenerateOptions g = o.generate;
    g.seed = f.seed;
    g.arch = isa::Arch::sm_75;
    EXPECT_EQ(f.ptx, generate(g)->ptx);
    EXPECT_TRUE(f.json.starts_with("{\n  \"schema\": \"lockwarp-launch/1\"")) << f.json;
    EXPECT_FALSE(f.isolated);
    // A machine that is right after a while.
    struct Better : validate::EmulatorEngine {
        Better() : EmulatorEngine(isa::Arch::sm_75) {}
        gpu::Ran run(const gpu::Job& job) override {
            return wrong ? other.run(job) : EmulatorEngine::run(job);
        }
        uint64_t allocate(uint64_t bytes) override {
            const uint64_t address = EmulatorEngine::allocate(bytes);
            EXPECT_EQ(other.allocate(bytes), address);
            return address;
        }
        void release(uint64_t address) override {
            other.release(address);
            EmulatorEngine::release(address);
        }
        launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
            (void)other.write(address, bytes);
            return EmulatorEngine::write(address, bytes);
        }
        launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
            (void)other.clear(address, bytes);
            return EmulatorEngine::clear(address, bytes);
        }
        launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
            return wrong ? other.read(address, bytes) : EmulatorEngine::read(address, bytes);
        }
        validate::EmulatorEngine other{isa::Arch::sm_80};
        bool wrong = true;
    } better;
    o.stopped = [&] {
        better.wrong = false;
        return false;
    };
    const validate::FuzzReport second = fuzz_beside(o, isa::Arch::sm_75, better);
    EXPECT_EQ(second.problem, "");
    ASSERT_EQ(second.found.size(), 1u);
    EXPECT_EQ(second.found[0].report, "the second run of the program did not differ\n");
    EXPECT_EQ(second.found[0].ptx, f.ptx);
    EXPECT_EQ(second.found[0].json, f.json);
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
}  // namespace lockwarp::fuzz_test
