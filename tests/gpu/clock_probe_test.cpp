// SPDX-License-Identifier: Apache-2.0
// Every probe is a program that runs, and no two have one key.
#include "programs/clock_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "emu/lockwarp.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/probes.hpp"

namespace {

using namespace lockwarp;
using programs::Probe;

constexpr auto all_archs = [] {
    std::array<isa::Arch, isa::arch_rows.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = isa::arch_rows[i].arch;
    return out;
}();

const std::vector<Probe>& all_of(isa::Arch arch) {
    static std::map<isa::Arch, std::vector<Probe>> made;
    const auto [found, absent] = made.try_emplace(arch);
    if (absent) found->second = programs::clock_probes(arch);
    return found->second;
}

// On an emulator that does one CTA at a time.
void run(isa::Arch arch, const std::vector<Probe>& probes, unsigned warps, size_t every) {
    validate::EmulatorEngine engine(arch, false, 1);
    validate::ProbeMemory memory;
    for (size_t i = 0; i < probes.size(); i += every) {
        const Probe& p = probes[i];
        if (std::ranges::find(p.warps, warps) == p.warps.end()) continue;
        double cycles = -1;
        const std::string why = take(validate::measure(engine, p, warps, 1, 4, memory), cycles);
        EXPECT_EQ(why, "") << p.key << ", " << warps << " warps";
        EXPECT_GE(cycles, 0) << p.key;
    }
}

TEST(ClockProbe, EachIsOneOfItsKeyAndResolves) {
    for (const isa::Arch arch : all_archs) {
        // The rows of an architecture are in most those of another one.
        const size_t every = arch == isa::Arch::sm_90 ? 5 : 19;
        const std::vector<Probe>& probes = all_of(arch);
        std::set<std::string> keys;
        for (size_t i = 0; i < probes.size(); ++i) {
            const Probe& p = probes[i];
            EXPECT_TRUE(keys.insert(p.key).second) << p.key;
            EXPECT_GT(p.instructions, 0u) << p.key;
            EXPECT_FALSE(p.warps.empty()) << p.key;
            EXPECT_TRUE(std::ranges::is_sorted(p.warps)) << p.key;
            if (i % every != 0) continue;
            const ptx::Parsed parsed = ptx::parse(p.ptx);
            ASSERT_TRUE(parsed.diagnostics.empty())
                << p.key << ": " << parsed.diagnostics[0].message;
            const isa::Resolved resolved = isa::resolve(parsed.module, arch, p.entry);
            ASSERT_TRUE(resolved.diagnostics.empty())
                << isa::row(arch).name << " " << p.key << ": " << resolved.diagnostics[0].message;
        }
        EXPECT_GT(keys.size(), 100u);
    }
}

// The sanitizers need not see them all.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t every_one = 7;
#else
constexpr size_t every_one = 1;
#endif

TEST(ClockProbe, RunsWithOneWarp) { run(isa::Arch::sm_90, all_of(isa::Arch::sm_90), 1, every_one); }

TEST(ClockProbe, RunsWithFourWarps) {
    run(isa::Arch::sm_90, all_of(isa::Arch::sm_90), 4, 53);
    run(isa::Arch::sm_120, programs::clock_probes(isa::Arch::sm_120, {"mma"}), 4, 301);
}

TEST(ClockProbe, RunsWithAllItsWarps) {
    std::vector<Probe> some = programs::clock_probes(
        isa::Arch::sm_90, {"bar.sync", "st.global", "ld.global", "cp.async", "red"});
    run(isa::Arch::sm_90, some, 32, 1);
}

TEST(ClockProbe, OnlyThoseThatBeginSo) {
    const auto keys = [](const std::vector<std::string>& only) {
        std::set<std::string> out;
        for (const Probe& p : programs::clock_probes(isa::Arch::sm_90, only)) out.insert(p.key);
        return out;
    };
    EXPECT_EQ(keys({"mma.m16n8k16.f32.f16.f16.f32 chains2"}).size(), 1u);
    EXPECT_TRUE(keys({"mma.m16n8k1"}).empty());
    EXPECT_TRUE(keys({"mm"}).empty());
    for (const std::string& key : keys({"ldmatrix.x4"}))
        EXPECT_TRUE(key.starts_with("ldmatrix.x4"));
    EXPECT_TRUE(keys({"ldmatrix"}).contains("ldmatrix.x4 stride128 latency"));
    EXPECT_TRUE(keys({}).contains("add.s32 chains4"));
}

}  // namespace
