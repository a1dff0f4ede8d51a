// SPDX-License-Identifier: Apache-2.0
// The rows of machines and costs, and what is made of a program with them.
#include "emu/timing/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

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
    EXPECT_EQ(timing::machine_named("rtx-3090")->name, "RTX 3090");
    EXPECT_EQ(timing::machine_named("a100")->name, "A100");
    for (const char* const digits : {"RTX 300", "RTX 39", "RTX 090", "RTX 390", "H2", "L4S", "L0S"})
        EXPECT_EQ(timing::machine_named(digits), nullptr) << digits;
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

// The elements, by A's and B's types.
bool is_of(std::string_view elements, const isa::MmaVariant& v) {
    const auto both = [&](auto... types) {
        return ((v.a == types) || ...) && ((v.b == types) || ...);
    };
    using enum isa::Type;
    if (elements == "half") return both(f16, bf16);
    if (elements == "tf32") return both(tf32);
    if (elements == "f64") return both(f64);
    if (elements == "s8") return both(s8, u8);
    if (elements == "fp8") return both(e4m3, e5m2);
    if (elements == "int4") return both(s4, u4);
    if (elements == "s4") return both(s4);
    if (elements == "u4") return both(u4);
    if (elements == "s4.u4") return v.a == s4 && v.b == u4;
    if (elements == "u4.s4") return v.a == u4 && v.b == s4;
    const auto bits = elements == "b1.xor" ? isa::Combine::xor_ : isa::Combine::and_;
    return both(b1) && v.combine == bits && elements.starts_with("b1.");
}

// A row that says so of GeForce goes before the other, and of each kind there is one.
TEST(Machines, AVariantsRowIsOfItsShapeTypesAndOrder) {
    for (const Machine& m : timing::machines())
        for (const isa::MmaVariant& v : isa::mma_variants()) {
            const timing::TensorRow* const row = timing::tensor_row(m, v);
            if (row == nullptr) continue;
            const auto name = [](isa::Order o) { return o == isa::Order::row ? "row" : "col"; };
            const std::string order = v.threads == isa::Threads::warp
                                          ? ""
                                          : std::string(name(v.a_order)) + "." + name(v.b_order);
            std::vector<const timing::TensorRow*> plain, geforce;
            for (const timing::TensorRow& r : timing::tensor_rows())
                if (r.arch == m.arch && r.m == v.m && r.n == v.n && r.k == v.k && r.d == v.d &&
                    r.sparse == v.sparse && r.order == order && is_of(r.elements, v))
                    (r.geforce ? geforce : plain).push_back(&r);
            ASSERT_EQ(plain.size(), 1u) << m.name << " " << v.key;
            ASSERT_LE(geforce.size(), 1u) << m.name << " " << v.key;
            EXPECT_EQ(row, m.geforce && !geforce.empty() ? geforce[0] : plain[0])
                << m.name << " " << v.key;
        }
}

// Orin's products are an A100's and Ada's an RTX 30's, but f64 and fp8, which are their own; and
// Volta's product is written out from sm_80 on as on sm_90.
TEST(Machines, RowsThatStandForOthers) {
    using enum isa::Arch;
    const auto rows_of = [](isa::Arch arch, bool quad_pairs) {
        std::vector<timing::TensorRow> out;
        for (const timing::TensorRow& r : timing::tensor_rows())
            if (r.arch == arch && r.order.empty() != quad_pairs && r.elements != "fp8" &&
                r.elements != "f64")
                out.push_back(r);
        return out;
    };
    const auto expect_like = [&](isa::Arch arch, isa::Arch as, bool quad_pairs) {
        const auto own = rows_of(arch, quad_pairs), other = rows_of(as, quad_pairs);
        EXPECT_EQ(own.size(), other.size()) << isa::row(arch).name;
        for (const timing::TensorRow& r : own) {
            const auto same = std::ranges::find_if(other, [&](const timing::TensorRow& x) {
                return x.m == r.m && x.n == r.n && x.k == r.k && x.elements == r.elements &&
                       x.d == r.d && x.sparse == r.sparse && x.geforce == r.geforce &&
                       x.order == r.order;
            });
            ASSERT_NE(same, other.end()) << isa::row(arch).name << " " << r.elements;
            EXPECT_EQ(same->latency, r.latency);
            EXPECT_EQ(same->interval, r.interval);
            EXPECT_EQ(same->hold, r.hold);
            EXPECT_GE(r.how, timing::Evidence::derived) << "not measured there";
            EXPECT_TRUE(r.source.find("sm_") != std::string_view::npos) << r.source;
        }
    };
    expect_like(sm_87, sm_80, false);
    expect_like(sm_89, sm_86, false);
    for (const isa::Arch a : {sm_80, sm_86, sm_87, sm_89}) expect_like(a, sm_90, true);
    EXPECT_EQ(rows_of(sm_90, true).size(), 8u) << "four orders, f16 and f32";
    const auto count = [](isa::Arch arch, std::string_view elements) {
        return std::ranges::count_if(timing::tensor_rows(), [&](const timing::TensorRow& r) {
            return r.arch == arch && r.elements == elements;
        });
    };
    EXPECT_EQ(count(sm_89, "f64"), count(sm_86, "f64"));
    EXPECT_EQ(count(sm_86, "fp8"), 0);
    EXPECT_EQ(count(sm_89, "fp8"), 8);
    for (const timing::TensorRow& r : timing::tensor_rows())
        if (r.elements == "f64" && (r.arch == sm_87 || r.arch == sm_86)) {
            EXPECT_EQ(r.interval, 51200u) << "two multiply-adds a cycle, not an A100's";
        }
}

// A wmma.mma is as many of the largest products there are as have its multiply-adds, those of
// its k one behind the other. Volta's is four sets of steps, of 128 multiply-adds a cycle.
TEST(Machines, WmmaIsMadeOfProducts) {
    struct Row {
        std::string_view machine, key;
        unsigned products, latency;
        timing::Centi interval;
    };
    constexpr auto rows = std::to_array<Row>({
        {"V100", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 4, 54, 3200},
        {"V100", "wmma.mma.m16n16k16.row.col.f16.f16.f16.f16", 4, 64, 3200},
        {"V100", "wmma.mma.m32n8k16.row.row.f16.f16.f16.f32", 4, 64, 3200},
        {"T4", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 4, 2 * 17, 4 * 800},
        {"RTX 2080 Ti", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 4, 2 * 17, 4 * 1600},
        {"T4", "wmma.mma.m8n32k16.col.row.f16.f16.f16.f16", 4, 2 * 15, 4 * 800},
        {"T4", "wmma.mma.m16n16k16.row.col.s32.u8.u8.s32", 4, 11, 4 * 400},
        {"T4", "wmma.mma.m8n8k32.row.col.s32.s4.s4.s32", 1, 11, 400},
        {"T4", "wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 1, 11, 400},
        {"A100", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f16", 2, 24, 2 * 800},
        {"A100", "wmma.mma.m32n8k16.row.col.f16.f16.f16.f16", 2, 24, 2 * 800},
        {"A100", "wmma.mma.m16n16k16.row.col.f32.bf16.bf16.f32", 2, 24, 2 * 800},
        {"A100", "wmma.mma.m16n16k8.row.col.f32.tf32.tf32.f32", 4, 2 * 17, 4 * 400},
        {"A100", "wmma.mma.m8n32k16.row.col.s32.s8.s8.s32", 2, 17, 2 * 400},
        {"A100", "wmma.mma.m8n8k32.row.col.s32.u4.u4.s32", 1, 14, 200},
        {"A100", "wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 1, 14, 200},
        {"A100", "wmma.mma.m8n8k4.row.col.f64.f64.f64.f64", 1, 26, 1600},
        {"A10", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 2, 24, 2 * 1600},
        {"RTX 3090", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 2, 33, 2 * 3200},
        {"RTX 3090", "wmma.mma.m16n16k16.row.col.f16.f16.f16.f16", 2, 24, 2 * 1600},
        {"H200", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 2, 24, 2 * 606},
        {"H200", "wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 1, 89, 2800},
        {"H200", "wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 1, 14, 405},
    });
    for (const Row& r : rows) {
        const auto v = std::ranges::find(isa::wmma_variants(), r.key, &isa::WmmaVariant::key);
        ASSERT_NE(v, isa::wmma_variants().end()) << r.key;
        const auto cost = timing::wmma_cost(*timing::machine_named(r.machine), *v);
        ASSERT_TRUE(cost) << r.machine << " " << r.key;
        EXPECT_EQ(cost->products, r.products) << r.machine << " " << r.key;
        EXPECT_EQ(cost->latency, r.latency) << r.machine << " " << r.key;
        EXPECT_EQ(cost->interval, r.interval) << r.machine << " " << r.key;
        EXPECT_GE(cost->how,
                  r.machine == "V100" ? timing::Evidence::literature : timing::Evidence::derived);
    }
    // None on what has no such product.
    const auto f64 = std::ranges::find(
        isa::wmma_variants(), "wmma.mma.m8n8k4.row.col.f64.f64.f64.f64", &isa::WmmaVariant::key);
    EXPECT_FALSE(timing::wmma_cost(*timing::machine_named("T4"), *f64));
}

// From global memory what stands the other way is given on by movmatrix, for each 8x8.
TEST(Machines, FragmentsThatAreTransposed) {
    using enum isa::WmmaOperand;
    struct Row {
        unsigned m, n, k;
        isa::WmmaOperand operand;
        isa::Order order;
        unsigned moves;
    };
    constexpr auto row = isa::Order::row, col = isa::Order::col;
    for (const Row& r :
         {Row{16, 16, 16, a, row, 0}, Row{16, 16, 16, a, col, 4}, Row{16, 16, 16, b, col, 0},
          Row{16, 16, 16, b, row, 4}, Row{32, 8, 16, a, row, 0}, Row{32, 8, 16, a, col, 8},
          Row{32, 8, 16, b, row, 2}, Row{8, 32, 16, a, col, 2}, Row{8, 32, 16, b, row, 8},
          Row{8, 32, 16, b, col, 0}, Row{16, 16, 16, accumulator, row, 0},
          Row{16, 16, 16, accumulator, col, 0}}) {
        const isa::WmmaFragment* const f = isa::find_wmma_fragment(
            isa::Arch::sm_90, r.m, r.n, r.k, r.operand, isa::Type::f16, r.order);
        ASSERT_NE(f, nullptr);
        EXPECT_EQ(timing::wmma_moves(*f, r.order), r.moves)
            << r.m << "x" << r.n << "x" << r.k << " " << static_cast<int>(r.operand) << " "
            << static_cast<int>(r.order);
    }
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

// Of each phase the words of the bank that has most of them, each word once.
TEST(Wavefronts, AsTheyAreDefined) {
    std::mt19937 random(5);
    for (int i = 0; i < 20000; ++i) {
        const unsigned bytes = 1u << random() % 5, per_phase = timing::phase_lanes(bytes);
        const uint32_t lanes =
            random() % 4 == 0 ? 0xffffffff : static_cast<uint32_t>(random() & random());
        const uint64_t begin = random() % 64 * bytes, step = random() % 5 * bytes;
        const uint64_t apart = uint64_t{1} << random() % 10;
        std::array<uint64_t, 32> at{};
        for (unsigned l = 0; l < 32; ++l)
            at[l] = begin + l * step + (random() % 8 == 0 ? random() % apart * bytes : 0);
        unsigned sum = 0;
        for (unsigned first = 0; first < 32; first += per_phase) {
            std::map<uint64_t, std::set<uint64_t>> words;  // by bank
            for (unsigned l = first; l < first + per_phase; ++l)
                for (unsigned b = 0; b < bytes && (lanes >> l & 1) != 0; ++b)
                    words[(at[l] + b) / 4 % 32].insert((at[l] + b) / 4);
            size_t most = 0;
            for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
            sum += static_cast<unsigned>(most);
        }
        ASSERT_EQ(timing::wavefronts(at, lanes, bytes, per_phase), sum)
            << bytes << " bytes, lanes " << lanes << ", " << begin << " + l * " << step;
    }
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
