// SPDX-License-Identifier: Apache-2.0
// The rows of machines and costs, and what is made of a program with them.
#include "emu/timing/machine.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emu/isa/wmma.hpp"
#include "emu/timing/wavefronts.hpp"

namespace {

using namespace lockwarp;
using timing::Machine;

TEST(Machines, AreFoundByArchitectureAndByProduct) {
    EXPECT_EQ(timing::machine_named("sm_90")->name, "H200");
    EXPECT_EQ(timing::machine_named("sm_75")->name, "T4");
    EXPECT_EQ(timing::machine_named("RTX 2080 Ti")->arch, isa::Arch::sm_75);
    EXPECT_EQ(timing::machine_named("rtx2080ti"), timing::machine_named("RTX 2080 Ti"));
    EXPECT_EQ(timing::machine_named("sm_120"), nullptr);
    EXPECT_EQ(timing::machine_named(""), nullptr);
    EXPECT_EQ(timing::machine_named("GTX 1"), nullptr);
}

TEST(Machines, EveryVariantThatRunsHasARowAndNoOtherHas) {
    size_t found = 0;
    for (const Machine& m : timing::machines())
        for (const isa::MmaVariant& v : isa::mma_variants()) {
            const bool runs = isa::has(m.arch, v.target) && v.kind == isa::MmaKind::none;
            const timing::TensorRow* const row = timing::tensor_row(m, v);
            ASSERT_EQ(row != nullptr, runs) << m.name << " " << v.key;
            found += runs;
            if (!runs) continue;
            EXPECT_GT(row->latency, 0) << v.key;
            EXPECT_GT(row->interval, 0u) << v.key;
            // A product cannot take longer to be followed than to end, but for what is a routine.
            if (row->hold == 1) {
                EXPECT_LE(row->interval, row->latency * 100u + 99) << v.key;
            }
        }
    EXPECT_GT(found, 500u);
}

TEST(Machines, EveryWmmaThatRunsHasACost) {
    for (const Machine& m : timing::machines())
        for (const isa::WmmaVariant& v : isa::wmma_variants())
            EXPECT_TRUE(!isa::has(m.arch, v.target) || timing::wmma_cost(m, v).has_value())
                << m.name << " " << v.key;
}

TEST(Machines, GeForceTakesTwiceAsLongWhereItAddsInF32) {
    const isa::MmaVariant* f32 = nullptr;
    const isa::MmaVariant* f16 = nullptr;
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        if (v.key == "mma.m16n8k8.f32.f16.f16.f32") f32 = &v;
        if (v.key == "mma.m16n8k8.f16.f16.f16.f16") f16 = &v;
    }
    const Machine& t4 = *timing::machine_named("T4");
    const Machine& ti = *timing::machine_named("RTX 2080 Ti");
    EXPECT_EQ(timing::tensor_row(ti, *f32)->interval, 2 * timing::tensor_row(t4, *f32)->interval);
    EXPECT_EQ(timing::tensor_row(ti, *f16)->interval, timing::tensor_row(t4, *f16)->interval);
}

TEST(Kinds, HaveNamesOfTheirOwn) {
    std::set<std::string_view> names;
    for (const timing::KindRow& k : timing::kind_rows()) names.insert(k.name);
    EXPECT_EQ(names.size(), timing::kind_rows().size());
}

std::array<uint64_t, 32> strided(uint64_t stride, uint64_t begin = 0) {
    std::array<uint64_t, 32> out{};
    for (unsigned l = 0; l < 32; ++l) out[l] = begin + l * stride;
    return out;
}

TEST(Wavefronts, OfStridesAndMasks) {
    const auto count = [](uint64_t stride, unsigned bytes, uint32_t lanes = 0xffffffff) {
        return timing::wavefronts(strided(stride), lanes, bytes, timing::phase_lanes(bytes));
    };
    EXPECT_EQ(count(4, 4), 1u);
    EXPECT_EQ(count(0, 4), 1u);
    EXPECT_EQ(count(8, 4), 2u);
    EXPECT_EQ(count(128, 4), 32u);
    EXPECT_EQ(count(128, 4, 0xff), 8u);
    EXPECT_EQ(count(128, 4, 0), 0u);
    EXPECT_EQ(count(8, 8), 2u);
    EXPECT_EQ(count(16, 16), 4u);
    EXPECT_EQ(count(32, 16), 8u);
    EXPECT_EQ(count(1, 1), 1u);
    EXPECT_EQ(count(2, 2), 1u);
}

TEST(Lines, CountLinesAndSectors) {
    warp::Access a;
    a.bytes = 4;
    a.bytes_of_lane.fill(4);
    a.lanes = 0xffffffff;
    a.address = strided(4);
    EXPECT_EQ(timing::lines_of(a).lines, 1u);
    EXPECT_EQ(timing::lines_of(a).sectors, 4u);
    a.address = strided(128);
    EXPECT_EQ(timing::lines_of(a).lines, 32u);
    EXPECT_EQ(timing::lines_of(a).sectors, 32u);
    a.bytes = 16;
    a.bytes_of_lane.fill(16);
    a.address = strided(16);
    EXPECT_EQ(timing::lines_of(a).lines, 4u);
    EXPECT_EQ(timing::lines_of(a).sectors, 16u);
    // Each lane's own bytes count: only the first half of each sector but the last.
    a.bytes_of_lane.fill(1);
    a.bytes_of_lane[31] = 16;
    a.address = strided(32, 24);
    EXPECT_EQ(timing::lines_of(a).sectors, 33u);
}

}  // namespace
