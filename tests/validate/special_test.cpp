// SPDX-License-Identifier: Apache-2.0
// The sweep of the special functions, with the emulator in the GPU's place: it runs the kernels
// that nvcc made of the model.
#include "validate/special.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "emu/isa/forms.hpp"
#include "emu/ptx/parser.hpp"
#include "gpu/special_ptx.hpp"
#include "validate/emulator_engine.hpp"

namespace lockwarp::validate {
namespace {

using gpu::SpecialForm;
using isa::Type;

std::string name_of(const SpecialForm& f) { return std::string(gpu::spelling(f).view()); }

const SpecialForm& form(const std::string& name) {
    for (const SpecialForm& f : gpu::special_forms)
        if (name_of(f) == name) return f;
    ADD_FAILURE() << name;
    return gpu::special_forms[0];
}

SpecialReport sweep(gpu::Engine& engine, const SpecialForm& f, const SpecialOptions& options) {
    gpu::Engine* const engines[]{&engine};
    return sweep_special(f, engines, options)[0];
}

// Every form of the instruction table, and no other, with its least target.
TEST(Special, FormsAreThoseOfTheInstructionTable) {
    using enum isa::Op;
    const std::set<isa::Op> ops{ex2, lg2, rcp_approx, rsqrt,      sqrt_approx,
                                sin, cos, tanh,       div_approx, div_full};
    std::map<std::string, unsigned> expected;
    for (const isa::Form& f : isa::forms())
        if (ops.contains(f.op))
            for (const std::string& modifiers : isa::expansions(f))
                expected[std::string(f.opcode) + modifiers] = std::max<unsigned>(f.target, 70);
    std::map<std::string, unsigned> swept;
    for (const SpecialForm& f : gpu::special_forms) swept[name_of(f)] = f.target;
    EXPECT_EQ(swept, expected);
}

// Of quotients every sign and exponent on both sides, each with the fractions 0, 1, all ones and
// another one, which may by chance be one of those.
TEST(Special, StructuredOperandsOfQuotients) {
    const auto kind_of = [](uint64_t word) -> uint64_t {
        const uint64_t fraction = word & 0x7fffff;
        return fraction < 2 ? fraction : fraction == 0x7fffff ? 2 : 3;
    };
    for (const char* name : {"div.approx.f32", "div.full.ftz.f32"}) {
        const SpecialForm& f = form(name);
        std::vector<bool> seen(gpu::structured_operands);
        for (uint64_t n = 0; n < gpu::structured_operands; ++n) {
            const gpu::Operand o = gpu::operand(f, n);
            seen.at((o.a >> 23) << 13 | (o.b >> 23) << 4 | kind_of(o.a) << 2 | kind_of(o.b)) = true;
        }
        EXPECT_GE(std::ranges::count(seen, true), ptrdiff_t{gpu::structured_operands} - 8) << name;
    }
}

TEST(Special, EachFormHasAKernelOfItsOwn) {
    std::set<std::string> entries;
    for (const SpecialForm& f : gpu::special_forms) {
        EXPECT_TRUE(entries.insert(special_entry(f)).second) << name_of(f);
        EXPECT_NE(gpu::special_ptx(f.target).find(special_entry(f)), std::string_view::npos);
    }
    EXPECT_FALSE(entries.contains(""));
    EXPECT_EQ(gpu::special_ptx(71), "");
}

// Around what is special: zeros, subnormal numbers, 1, infinity, NaN, both signs; for quotients
// both kinds of pairs.
TEST(Special, TheModelAndItsKernelAgree) {
    EmulatorEngine engine(isa::Arch::sm_90);
    for (const SpecialForm& f : gpu::special_forms) {
        std::vector<uint64_t> places{gpu::operand_count(f) / 2, gpu::operand_count(f) - 150};
        if (gpu::operand_count(f) > 0x10000)
            places.insert(places.end(), {0x7fff80, 0x3f7fff80, 0x7f7fff80, 0xc2fbff80});
        else
            places.insert(places.end(), {0x3c00, 0x7b80, 0x7f00, 0xce00});
        if (gpu::operands_of(f) != gpu::Operands::all)
            places.insert(places.end(), {0, 0x1ff80, 0x12ff00, gpu::structured_operands - 150});
        for (const uint64_t at : places) {
            SpecialOptions options;
            options.first = at;
            options.count = 300;
            const SpecialReport r = sweep(engine, f, options);
            EXPECT_TRUE(r.identical()) << r.name << ' ' << at << ' ' << r.problem;
            EXPECT_EQ(r.operands, std::min<uint64_t>(300, gpu::operand_count(f) - at));
            EXPECT_EQ(r.chunks, 1u);
        }
    }
}

// The PTX for sm_70 holds nothing newer.
TEST(Special, OlderMachinesRunTheirForms) {
    for (const isa::Arch arch : {isa::Arch::sm_70, isa::Arch::sm_75}) {
        EmulatorEngine engine(arch);
        SpecialOptions options;
        options.first = 1000;
        options.count = 32;
        size_t forms = 0;
        for (const SpecialForm& f : gpu::special_forms) {
            if (!isa::has(arch, f.target)) continue;
            const SpecialReport r = sweep(engine, f, options);
            EXPECT_TRUE(r.identical()) << r.name << ' ' << r.problem;
            ++forms;
        }
        EXPECT_EQ(forms, arch == isa::Arch::sm_70 ? 21u : 26u);
    }
}

struct CountingRuns : EmulatorEngine {
    using EmulatorEngine::EmulatorEngine;
    gpu::Ran run(const gpu::Job& job) override {
        ++runs;
        blocks = job.grid.count();
        optimization = job.optimization;
        return EmulatorEngine::run(job);
    }
    int runs = 0;
    uint64_t blocks = 0;  // of the last one
    uint32_t optimization = UINT32_MAX;
};

TEST(Special, ChunksAreCountedAndSwept) {
    CountingRuns engine(isa::Arch::sm_90);
    SpecialOptions options;
    options.count = gpu::chunk_operands + 5;
    std::atomic<uint64_t> done{0};
    options.done = &done;
    const SpecialReport r = sweep(engine, form("tanh.approx.f32"), options);
    EXPECT_TRUE(r.identical()) << r.problem;
    EXPECT_EQ(r.chunks, 2u);
    EXPECT_EQ(done, options.count);
    EXPECT_EQ(engine.runs, 1) << "no chunk is looked into";
    EXPECT_EQ(engine.blocks, 2u) << "each chunk is swept once";
    // A digest of two parts is their sum.
    const SpecialForm& f = form("ex2.approx.f16x2");
    EXPECT_EQ(special_digest(f, num::mufu_tables, 0, 3000),
              special_digest(f, num::mufu_tables, 0, 1000) +
                  special_digest(f, num::mufu_tables, 1000, 3000));
}

TEST(Special, TheCompilerOptimizesAsAsked) {
    for (const uint32_t level : {0u, 1u, 4u}) {
        CountingRuns engine(isa::Arch::sm_90);
        SpecialOptions options;
        options.count = 32;
        options.optimization = level;
        EXPECT_TRUE(sweep(engine, form("tanh.approx.f16"), options).identical());
        EXPECT_EQ(engine.optimization, level);
    }
}

// What an engine holds beside what was asked for and has been released.
class Counting : public EmulatorEngine {
  public:
    using EmulatorEngine::EmulatorEngine;
    uint64_t allocate(uint64_t bytes) override {
        if (refused-- == 0) return 0;
        ++held;
        return EmulatorEngine::allocate(bytes);
    }
    void release(uint64_t address) override {
        --held;
        EmulatorEngine::release(address);
    }
    int held = 0;
    int refused = -1;  // which of the next requests
};

TEST(Special, MemoryIsReleasedAgain) {
    Counting engine(isa::Arch::sm_90);
    SpecialOptions options;
    options.count = 32;
    for (const char* name : {"ex2.approx.ftz.f32", "div.full.f32"}) {
        EXPECT_TRUE(sweep(engine, form(name), options).identical());
        EXPECT_EQ(engine.held, 0) << name;
        // Where there is not enough of it, too.
        engine.refused = 0;
        EXPECT_NE(sweep(engine, form(name), options).problem, "");
        EXPECT_EQ(engine.held, 0) << name;
    }
}

// One coefficient off by one.
TEST(Special, AModelHereThatDiffersIsFound) {
    EmulatorEngine engine(isa::Arch::sm_90);
    num::MufuTables tables = num::mufu_tables;
    ++tables.power_of_two.rows[32].c0;  // the operands from 0.5 on
    SpecialOptions options;
    options.tables = &tables;
    options.first = 0x3f000000;
    options.count = 20000;
    const SpecialForm& f = form("ex2.approx.ftz.f32");
    const SpecialReport r = sweep(engine, f, options);
    EXPECT_FALSE(r.identical());
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(r.different_on_gpu, 0u);
    EXPECT_EQ(r.different_chunks, 1u);
    ASSERT_EQ(r.shown.size(), options.max_shown);
    uint64_t first = options.first;
    const auto model = [&](const num::MufuTables& t, uint64_t n) {
        return num::special_function(t, f.function, f.type, f.ftz, n);
    };
    while (model(tables, first) == model(num::mufu_tables, first)) ++first;
    EXPECT_EQ(r.shown[0].operand.a, first);
    EXPECT_EQ(r.shown[0].host_model, model(tables, first));
    EXPECT_EQ(r.shown[0].instruction, model(num::mufu_tables, first));
    EXPECT_EQ(r.shown[0].gpu_model, r.shown[0].instruction);
    EXPECT_TRUE(sweep(engine, form("lg2.approx.ftz.f32"), options).identical());
}

// An engine whose instruction is another one.
class OtherInstruction : public EmulatorEngine {
  public:
    OtherInstruction(std::string from, std::string to)
        : EmulatorEngine(isa::Arch::sm_90), from_(std::move(from)), to_(std::move(to)) {}
    gpu::Ran run(const gpu::Job& job) override {
        std::string ptx(job.ptx);
        for (size_t at = ptx.find(from_); at != std::string::npos; at = ptx.find(from_, at + 1))
            ptx.replace(at, from_.size(), to_);
        gpu::Job other = job;
        other.ptx = ptx;
        return EmulatorEngine::run(other);
    }

  private:
    std::string from_, to_;
};

TEST(Special, AnInstructionThatDiffersIsFound) {
    OtherInstruction engine("rcp.approx.ftz.f32", "rcp.approx.f32");
    SpecialOptions options;
    options.first = 0x7fff00;  // 256 subnormal numbers, then normal ones
    options.count = 512;
    const SpecialForm& f = form("rcp.approx.ftz.f32");
    const SpecialReport r = sweep(engine, f, options);
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(r.different_on_gpu, 256u);
    EXPECT_EQ(r.different_chunks, 1u);
    ASSERT_FALSE(r.shown.empty());
    EXPECT_EQ(r.shown[0].operand.a, 0x7fff00u);
    EXPECT_EQ(r.shown[0].gpu_model, 0x7f800000u);
    EXPECT_EQ(r.shown[0].host_model, 0x7f800000u);
    EXPECT_EQ(special_operand(f, r.shown[0].operand), "0x007fff00 (1.17545848e-38)");
    // Two engines: each has a report of its own.
    EmulatorEngine sound(isa::Arch::sm_90);
    gpu::Engine* const both[]{&sound, &engine};
    const auto reports = sweep_special(f, both, options);
    EXPECT_TRUE(reports[0].identical());
    EXPECT_FALSE(reports[1].identical());
}

// An engine that differs everywhere, and refuses to be looked into.
class OtherAtFirst : public OtherInstruction {
  public:
    using OtherInstruction::OtherInstruction;
    gpu::Ran run(const gpu::Job& job) override {
        return runs++ == 0 ? OtherInstruction::run(job)
                           : gpu::Ran{gpu::Outcome::refused, "no more"};
    }
    int runs = 0;
};

TEST(Special, WhatRefusedOneChunkIsAskedForNoOther) {
    OtherAtFirst engine("rcp.approx.ftz.f32", "rcp.approx.f32");
    SpecialOptions options;
    options.first = 0x400000;  // subnormal numbers
    options.count = 2 * gpu::chunk_operands;
    const SpecialReport r = sweep(engine, form("rcp.approx.ftz.f32"), options);
    EXPECT_EQ(r.chunks, 2u);
    EXPECT_EQ(r.problem, "no more");
    EXPECT_EQ(engine.runs, 2);
}

TEST(Special, NothingComparedIsNotIdentical) {
    EmulatorEngine engine(isa::Arch::sm_90);
    SpecialOptions options;
    options.first = 0x10000;
    const SpecialReport r = sweep(engine, form("tanh.approx.f16"), options);
    EXPECT_FALSE(r.identical());
    EXPECT_EQ(r.problem, "there are no such operands");
    options.first = 0;
    const std::atomic<bool> stop{true};
    options.stop = &stop;
    CountingRuns asked(isa::Arch::sm_90);
    EXPECT_FALSE(sweep(asked, form("tanh.approx.f16"), options).identical());
    EXPECT_EQ(asked.runs, 0);
    // A machine that does not have the instruction says so.
    EmulatorEngine older(isa::Arch::sm_80);
    options.stop = nullptr;
    const SpecialReport refused = sweep(older, form("tanh.approx.bf16"), options);
    EXPECT_NE(refused.problem, "");
    EXPECT_EQ(refused.operands, 0u);
    EXPECT_EQ(refused.chunks, 0u);
}

TEST(Special, ValuesAreShown) {
    EXPECT_EQ(special_value(Type::f32, 0x3fc00000), "0x3fc00000 (1.5)");
    EXPECT_EQ(special_value(Type::f64, 0x3ff8000000000000), "0x3ff8000000000000 (1.5)");
    EXPECT_EQ(special_value(Type::bf16, 0x3fc0), "0x3fc0 (1.5)");
    EXPECT_EQ(special_value(Type::f16x2, 0x3e00bc00), "0x3e00bc00 (-1, 1.5)");
    EXPECT_EQ(special_operand(form("div.full.f32"), {0x3f800000, 0x40000000}),
              "0x3f800000 (1) / 0x40000000 (2)");
}

}  // namespace
}  // namespace lockwarp::validate
