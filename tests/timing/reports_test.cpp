// SPDX-License-Identifier: Apache-2.0
// What holds of every report: no cycle is counted twice or lost, and its parts say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "emu/exec/grid.hpp"
#include "emu/timing/timing.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"

namespace {

using namespace lockwarp;
using timing::Report;

struct Kernel {
    launch::Loaded loaded;
    launch::Prepared prepared;
    timing::Lowering lowering;
    std::unique_ptr<timing::Listener> listener;

    explicit Kernel(const std::string& name, uint64_t max_items = 10'000'000) {
        EXPECT_EQ(
            take(launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + name + ".json"}, "sm_90"),
                 loaded),
            "");
        EXPECT_EQ(take(launch::prepare(loaded.in.launch, loaded.program), prepared), "");
        lowering = timing::lower(loaded.program, *timing::machine_of(isa::Arch::sm_90));
        listener = std::make_unique<timing::Listener>(lowering, 1, max_items, false);
        prepared.launch.observers = {listener.get()};
        const warp::Result result = exec::launch(loaded.program, prepared.launch);
        EXPECT_FALSE(result.refusal || result.trap);
    }
    Report report(const timing::Options& options) const {
        return timing::simulate(lowering, prepared.launch, *listener, options);
    }
};

constexpr std::array names{"mma_ldmatrix", "gemm_sm80_edges", "softmax", "histogram",
                           "specialized_gemm"};
constexpr auto unlimited = uint64_t{1} << 40;

uint64_t sum(const auto& values) {
    return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

TEST(Reports, EveryCycleOfAWarpIsAnIssueOrAWait) {
    for (const char* const name : names) {
        const Kernel k(name);
        const Report r = k.report({.events = unlimited});
        ASSERT_GT(r.events.size(), 20u) << name;
        // By operation and over all.
        std::array<uint64_t, static_cast<size_t>(timing::Stall::count_)> stalls{};
        uint64_t issues = 0, folded = 0;
        for (size_t i = 0; i < r.operations.size(); ++i) {
            const timing::OperationReport& o = r.operations[i];
            for (size_t s = 0; s < stalls.size(); ++s) stalls[s] += o.stalls[s];
            const bool free = k.lowering.operations[i].action == timing::Action::free;
            (free ? folded : issues) += o.issues;
            if (free) {
                EXPECT_EQ(sum(o.stalls), 0u) << name << " " << i;
            }
            EXPECT_LE(o.ideal, o.wavefronts) << name << " " << i;
        }
        EXPECT_EQ(stalls, r.stalls) << name;
        EXPECT_EQ(issues, r.events.size()) << name;
        EXPECT_EQ(issues + folded, r.retired) << name;
        // By warp: it waits from the cycle behind its last issue on.
        std::map<uint16_t, uint64_t> last;
        uint64_t waits = 0, issued = 0;
        for (const timing::Event& e : r.events) {
            if (const auto before = last.find(e.warp); before != last.end()) {
                EXPECT_EQ(e.waits, before->second + 1) << name;
            }
            EXPECT_GE(e.issue, e.waits) << name;
            EXPECT_GT(e.done, e.issue) << name;
            last[e.warp] = e.issue;
            waits += e.issue - e.waits;
            issued += k.lowering.operations[e.operation].issue;
        }
        // The cycle in which a CTA begins counts for none of its warps.
        EXPECT_EQ(waits, sum(r.stalls)) << name;
        EXPECT_EQ(issued, r.issued) << name;
        uint64_t end = 0;
        std::vector<uint64_t> cycles;
        for (const timing::CtaReport& c : r.ctas) {
            end = std::max(end, c.end);
            cycles.push_back(c.end - c.begin);
        }
        std::ranges::sort(cycles);
        EXPECT_EQ(r.cta_cycles, cycles[cycles.size() / 2]) << name;
        EXPECT_EQ(r.simulated, r.ctas.size()) << name;
        EXPECT_GE(r.sm_cycles, r.cta_cycles) << name;
        EXPECT_TRUE(std::ranges::is_sorted(r.events, {}, &timing::Event::issue)) << name;
    }
}

// Where no CTA was heard nothing is reported, and nothing divided by no cycles.
TEST(Reports, OfNothing) {
    const Kernel k("softmax");
    const timing::Listener nothing(k.lowering, 1, 1000, false);
    const Report r = timing::simulate(k.lowering, k.prepared.launch, nothing, {.events = 10});
    EXPECT_GT(r.sm_ctas, 0u);
    EXPECT_EQ(r.simulated, 0u);
    EXPECT_EQ(r.cta_cycles, 0u);
    EXPECT_EQ(r.sm_cycles, 0u);
    EXPECT_EQ(r.clock_cycles, 0u);
    EXPECT_EQ(r.retired, 0u);
    EXPECT_EQ(r.use, Report{}.use);
    EXPECT_EQ(r.tensor_share, 0.0);
    EXPECT_TRUE(r.ctas.empty() && r.events.empty());
}

// A sub-core issues one instruction a cycle.
TEST(Reports, ASubCoreIssuesOneWarpAtATime) {
    for (const char* const name : names) {
        const Report r = Kernel(name).report({.events = unlimited});
        std::map<std::pair<uint64_t, unsigned>, unsigned> issues;
        for (const timing::Event& e : r.events)
            EXPECT_EQ(++issues[std::pair(e.issue, e.warp % timing::sub_cores)], 1u)
                << name << " at " << e.issue;
    }
}

TEST(Reports, EventsAreThoseThatWereAskedFor) {
    const Kernel k("mma_ldmatrix");
    const auto places = [](const Report& r) {
        std::vector<std::array<uint64_t, 3>> out;
        for (const timing::Event& e : r.events) out.push_back({e.issue, e.warp, e.operation});
        return out;
    };
    const auto all = places(k.report({.events = unlimited}));
    ASSERT_GT(all.size(), 40u);
    EXPECT_TRUE(k.report({}).events.empty());
    for (const size_t n : {size_t{1}, size_t{7}, all.size() - 1, all.size(), all.size() + 1}) {
        const auto first = places(k.report({.events = n}));
        EXPECT_EQ(first, std::vector(all.begin(), all.begin() + static_cast<ptrdiff_t>(
                                                                    std::min(n, all.size()))));
    }
    const uint64_t from = all[all.size() / 2][0];
    for (const uint64_t cycle : {from, from + 1}) {
        auto late = all;
        std::erase_if(late, [&](const auto& e) { return e[0] < cycle; });
        EXPECT_EQ(places(k.report({.events = unlimited, .from_cycle = cycle})), late);
    }
}

// Over time a pipe is used as much as in all, however many parts there are.
TEST(Reports, UseOverTimeIsTheUse) {
    for (const char* const name : names) {
        const Kernel k(name);
        const Report whole = k.report({.buckets = 1});
        uint64_t end = 0;
        for (const timing::CtaReport& c : whole.ctas) end = std::max(end, c.end);
        for (const unsigned buckets : {1u, 2u, 3u, 7u, 100u}) {
            const Report r = k.report({.buckets = buckets});
            ASSERT_GT(r.bucket_cycles, 0u);
            EXPECT_EQ(r.bucket_cycles & (r.bucket_cycles - 1), 0u) << "256, 512, ...";
            EXPECT_GE(r.bucket_cycles, 256u);
            double most = 0;
            for (size_t p = 0; p < r.use.size(); ++p) {
                const auto& over_time = r.use_over_time[p];
                EXPECT_LE(over_time.size(), buckets) << name;
                double all = 0;
                for (const double share : over_time) all += share;
                const double cycles = all * static_cast<double>(r.bucket_cycles);
                EXPECT_NEAR(cycles, r.use[p] * static_cast<double>(end), 0.01 + cycles * 1e-9)
                    << name << " " << timing::text_of(static_cast<timing::Pipe>(p));
                EXPECT_EQ(r.use[p], whole.use[p]) << name;
                EXPECT_LE(r.use[p], 1.0) << name;
                most = std::max(most, r.use[p]);
            }
            EXPECT_GT(most, 0) << name;
        }
        const Report none = k.report({.buckets = 0});
        for (const auto& over_time : none.use_over_time) EXPECT_TRUE(over_time.empty());
        EXPECT_EQ(none.use, whole.use) << name;
    }
}

// What is said of a pipe's use is what its instructions take: each interval of theirs, a cycle of
// shared memory's for each wavefront, and one of L1's for each line.
TEST(Reports, APipesUseIsThatOfItsInstructions) {
    using timing::Action;
    for (const char* const name : names) {
        const Kernel k(name);
        const Report r = k.report({});
        const auto& operations = k.lowering.operations;
        const auto is_access = [&](uint32_t i) {
            const Action a = operations[i].action;
            return a == Action::load || a == Action::store || a == Action::atomic ||
                   a == Action::copy;
        };
        std::array<uint64_t, static_cast<size_t>(timing::Pipe::count_)> used{};
        for (uint32_t i = 0; i < operations.size(); ++i) {
            const timing::Lowered& m = operations[i];
            if (m.action == Action::free || m.pipe == timing::Pipe::none) continue;
            uint64_t& of_pipe = used[static_cast<size_t>(m.pipe)];
            if (is_access(i))
                of_pipe += 100 * r.operations[i].wavefronts;
            else if (m.pipe == timing::Pipe::shared)
                of_pipe += 100 * r.operations[i].issues;
            else
                of_pipe += r.operations[i].issues * m.issue * m.interval;
        }
        uint64_t sectors = 0, wavefronts = 0;
        for (const timing::CtaStreams* const cta : k.listener->ctas())
            for (const timing::Stream& s : cta->warps)
                for (const timing::Item& item : s.items) {
                    if (!is_access(item.operation)) continue;
                    used[static_cast<size_t>(timing::Pipe::global)] += uint64_t{100} * item.lines;
                    sectors += item.sectors;
                    wavefronts += item.wavefronts;
                }
        uint64_t end = 0, said_sectors = 0, said_wavefronts = 0;
        for (const timing::CtaReport& c : r.ctas) end = std::max(end, c.end);
        for (const timing::OperationReport& o : r.operations) {
            said_sectors += o.sectors;
            said_wavefronts += o.wavefronts;
        }
        EXPECT_EQ(said_sectors, sectors) << name;
        EXPECT_EQ(said_wavefronts, wavefronts) << name;
        for (size_t p = 0; p < used.size(); ++p) {
            const unsigned pipes =
                p >= static_cast<size_t>(timing::Pipe::shared) ? 1 : timing::sub_cores;
            EXPECT_NEAR(r.use[p] * 100 * static_cast<double>(end) * pipes,
                        static_cast<double>(used[p]), 1e-6 * static_cast<double>(used[p]))
                << name << " " << timing::text_of(static_cast<timing::Pipe>(p));
        }
        EXPECT_EQ(r.tensor_share, r.use[static_cast<size_t>(timing::Pipe::tensor)]);
    }
}

// 16 more than live at once; no more than the program allows, or than leaves room for the CTAs it
// asks for.
TEST(Reports, RegistersThatTheAssemblerTakes) {
    Kernel k("mma_ldmatrix");
    isa::Program program = k.loaded.program;
    k.lowering.program = &program;
    k.prepared.launch.block = {100, 1, 1};  // 128 lanes
    const auto registers = [&](unsigned live, unsigned most, unsigned least_ctas,
                               unsigned asked = 0) {
        k.lowering.registers = live;
        program.max_registers = most;
        program.least_ctas = least_ctas;
        timing::Options options;
        options.registers = asked;
        return k.report(options).residency.registers;
    };
    EXPECT_EQ(registers(20, 0, 0), 36u);
    EXPECT_EQ(registers(239, 0, 0), 255u);
    EXPECT_EQ(registers(240, 0, 0), 255u);
    EXPECT_EQ(registers(20, 35, 0), 35u);
    EXPECT_EQ(registers(20, 37, 0), 36u);
    // 65,536 / (5 * 128) is 102, in eights 96; of one CTA 512.
    EXPECT_EQ(registers(200, 0, 5), 96u);
    EXPECT_EQ(registers(200, 90, 5), 90u);
    EXPECT_EQ(registers(20, 0, 5), 36u);
    EXPECT_EQ(registers(200, 0, 1), 216u);
    EXPECT_EQ(registers(200, 90, 5, 123), 123u);
}

// CUDA C++ programming guide, "Technical Specifications per Compute Capability": what an H200's SM
// has for CTAs.
TEST(Reports, WhatLimitsTheCtasOfAnSm) {
    const timing::Machine& m = *timing::machine_named("H200");
    isa::Program program;
    warp::Launch l;
    const auto limit = [&](uint32_t ctas, uint32_t threads, uint32_t shared, unsigned registers) {
        l.grid = {ctas, 1, 1};
        l.block = {threads, 1, 1};
        l.dynamic_shared = shared;
        const timing::Residency r = timing::residency(m, program, l, registers);
        EXPECT_EQ(r.registers, registers);
        return std::to_string(r.ctas) + " by " + std::string(timing::text_of(r.limit));
    };
    EXPECT_EQ(limit(1, 32, 0, 16), "1 by grid");
    EXPECT_EQ(limit(132, 32, 0, 16), "1 by grid");
    EXPECT_EQ(limit(133, 32, 0, 16), "2 by grid");
    EXPECT_EQ(limit(132 * 32, 32, 0, 16), "32 by grid");
    EXPECT_EQ(limit(132 * 32 + 1, 32, 0, 16), "32 by CTAs");
    EXPECT_EQ(limit(100000, 64, 0, 16), "32 by CTAs");
    EXPECT_EQ(limit(100000, 65, 0, 16), "21 by warps");
    EXPECT_EQ(limit(100000, 1024, 0, 16), "2 by warps");
    // 233,472 bytes, 1,024 of each CTA for the driver.
    EXPECT_EQ(limit(100000, 32, 232448, 16), "1 by shared memory");
    EXPECT_EQ(limit(100000, 32, 115712, 16), "2 by shared memory");
    EXPECT_EQ(limit(100000, 32, 115713, 16), "1 by shared memory");
    program.shared_static = 1;
    EXPECT_EQ(limit(100000, 32, 115712, 16), "1 by shared memory");
    EXPECT_EQ(limit(100000, 32, 115711, 16), "2 by shared memory");
    program.shared_static = 0;
    // 65,536 registers, of a thread 16 at least, in eights.
    EXPECT_EQ(limit(100000, 256, 0, 32), "8 by warps");
    EXPECT_EQ(limit(100000, 256, 0, 33), "6 by registers");
    EXPECT_EQ(limit(100000, 256, 0, 40), "6 by registers");
    EXPECT_EQ(limit(100000, 256, 0, 41), "5 by registers");
    EXPECT_EQ(limit(100000, 256, 0, 255), "1 by registers");
    EXPECT_EQ(limit(100000, 33, 0, 255), "4 by registers");
    EXPECT_EQ(limit(100000, 1024, 0, 255), "1 by registers");
}

}  // namespace
