// SPDX-License-Identifier: Apache-2.0
// The walk over fragments and its inverse.
#include "emu/isa/elements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace lockwarp::isa {
namespace {

void each(const std::function<void(const std::string&, const Elements&)>& f) {
    for (const MmaVariant& v : mma_variants()) {
        const std::string key(v.key);
        f(key + " A", elements_of(fragment(v.fragment_a), v.a, v.threads));
        f(key + " B", transposed(elements_of(fragment(v.fragment_b), v.b, v.threads)));
        f(key + " C", elements_of(fragment(v.fragment_c), v.c, v.threads));
        if (v.sparse) f(key + " E", metadata_elements(v));
        if (v.scales != 0) f(key + " SFA", factor_elements(v, false));
        if (v.scales != 0) f(key + " SFB", factor_elements(v, true));
    }
    for (const WmmaFragment& w : wmma_fragments())
        f(std::string(w.part.name), elements_of(w, w.type));
    for (const unsigned matrices : {1u, 2u, 4u})
        f("ldmatrix.x" + std::to_string(matrices), moved_elements(matrices));
    f("wgmma A", warpgroup_elements(warpgroup_a(16), 16, Type::f16));
    f("wgmma D", warpgroup_elements(warpgroup_accumulator(64), 64, Type::f32));
}

bool same(const Element& a, const Element& b) {
    return std::tie(a.row, a.column, a.value, a.matrix, a.lane, a.reg, a.shift) ==
           std::tie(b.row, b.column, b.value, b.matrix, b.lane, b.reg, b.shift);
}

TEST(Elements, EachLiesInsideItsMatrixAndItsRegister) {
    size_t count = 0;
    each([&](const std::string& name, const Elements& e) {
        std::set<std::tuple<int, int, int>> bits;
        for (const Element at : e) {
            ++count;
            ASSERT_LT(at.row, e.rows) << name;
            ASSERT_LT(at.column, e.columns) << name;
            ASSERT_LT(at.matrix, e.matrices) << name;
            ASSERT_LT(at.lane, e.layout.threads() > 32 ? 128 : 32) << name;
            ASSERT_LE(at.shift + e.bits, e.register_bits()) << name;
            EXPECT_TRUE(bits.insert({at.lane, at.reg, at.shift}).second) << name;
        }
    });
    EXPECT_GT(count, 100000u);
}

TEST(Elements, TheInverseFindsWhatTheWalkGives) {
    size_t count = 0;
    each([&](const std::string& name, const Elements& e) {
        const std::vector<Element> first = first_owners(e);
        ASSERT_EQ(first.size(), size_t{e.matrices} * e.rows * e.columns) << name;
        unsigned number = 0;
        for (const Element at : e) {
            if (number++ % 37 != 0) continue;  // both searches walk all of them
            ++count;
            const std::vector<Element> all = owners(e, at.matrix, at.row, at.column);
            const auto is_it = [&](const Element& other) { return same(at, other); };
            EXPECT_EQ(std::ranges::count_if(all, is_it), 1) << name;
            EXPECT_TRUE(
                same(all[0], first[(size_t{at.matrix} * e.rows + at.row) * e.columns + at.column]))
                << name;
            const std::vector<Element> in = in_register(e, at.lane, at.reg);
            EXPECT_EQ(std::ranges::count_if(in, is_it), 1) << name;
        }
    });
    EXPECT_GT(count, 3000u);
}

// PTX manual, "Block scaling for mma.sync".
TEST(Elements, FactorsAreWhereTheManualPutsThem) {
    size_t count = 0;
    for (const MmaVariant& v : mma_variants()) {
        if (v.scales == 0) continue;
        for (const Element e : factor_elements(v, false)) {
            ++count;
            EXPECT_EQ(e.lane, 4 * (e.row % 8) + e.row / 8);
            EXPECT_EQ(e.shift, 8 * e.column);
        }
        for (const Element e : factor_elements(v, true)) {
            EXPECT_EQ(e.lane, 4 * e.row);
            EXPECT_EQ(e.shift, 8 * e.column);
        }
        EXPECT_EQ(factor_elements(v, false).given, 2);
        EXPECT_EQ(factor_elements(v, true).given, 1);
    }
    EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace lockwarp::isa
