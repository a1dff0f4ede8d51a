// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices: what they read and write of the arrays that they are given.
#include "emu/num/instruction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "emu/isa/matrix.hpp"
#include "tests/num/to_the_end.hpp"

namespace lockwarp::num {
namespace {

using testing::ToTheEnd;

void multiply_at_ends(std::string_view key, const InstructionProduct& p) {
    std::mt19937 random(11);
    for (const bool bytes : {false, true}) {
        const auto area = [&](isa::Type type, int rows, int columns) {
            return bytes_of(type, bytes, static_cast<uint64_t>(rows * columns));
        };
        const ToTheEnd a(area(p.types.a, p.m, p.stored_k)), b(area(p.types.b, p.k, p.n)),
            c(area(p.c, p.m, p.n)), d(area(p.d, p.m, p.n)),
            metadata(static_cast<uint64_t>(p.m * p.groups)),
            a_scales(static_cast<uint64_t>(p.m * p.scales)),
            b_scales(static_cast<uint64_t>(p.n * p.scales));
        // Of zeros the fast ways make something, of infinities and NaNs they do not.
        for (const bool zeros : {true, false}) {
            for (const ToTheEnd* x : {&a, &b, &c, &a_scales, &b_scales})
                for (uint8_t& byte : x->bytes()) byte = zeros ? 0 : static_cast<uint8_t>(random());
            std::ranges::fill(metadata.bytes(), uint8_t{4});
            multiply(p, {a.bytes().data(), b.bytes().data(), c.bytes().data(), d.bytes().data(),
                         metadata.bytes().data(), a_scales.bytes().data(), b_scales.bytes().data(),
                         bytes});
            for (const ToTheEnd* x : {&a, &b, &c, &d, &metadata, &a_scales, &b_scales})
                EXPECT_TRUE(x->is_whole_before()) << key;
            const bool is_zero = std::ranges::all_of(d.bytes(), [](uint8_t x) { return x == 0; });
            EXPECT_TRUE(!zeros || is_zero) << key;
        }
    }
}

// A fault of one that does not ends the test.
TEST(InstructionProducts, StayWithinTheirArrays) {
    unsigned products = 0, sparse = 0, tiled = 0, scaled = 0;
    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_90, isa::Arch::sm_120}) {
        const auto one = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
            if (!p) return;
            multiply_at_ends(key, *p);
            ++products;
            sparse += p->groups != 0;
            tiled += p->tiled;
            scaled += p->scales != 0;
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) one(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) one(v.key, product_of(v, arch));
    }
    EXPECT_GT(products, 100u);
    EXPECT_GT(sparse, 20u);
    EXPECT_GT(tiled, 10u);
    EXPECT_GT(scaled, 2u);
}

// Those have the fast way, without which they are right and slow: floats of 8, 16 and 32 bits.
TEST(InstructionProducts, OfWholeWordsAreTiled) {
    std::set<std::string> tiled;
    const auto note = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
        if (p && p->tiled) tiled.insert(std::string(key));
    };
    for (const isa::Arch arch : {isa::Arch::sm_89, isa::Arch::sm_90, isa::Arch::sm_120}) {
        for (const isa::MmaVariant& v : isa::mma_variants()) note(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) note(v.key, product_of(v, arch));
    }
    std::set<std::string> expected{"mma.m16n8k16.f16.f16.f16.f16", "mma.m16n8k16.f32.bf16.bf16.f32",
                                   "mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k4.f32.tf32.tf32.f32",
                                   "mma.m16n8k8.f16.f16.f16.f16",  "mma.m16n8k8.f32.bf16.bf16.f32",
                                   "mma.m16n8k8.f32.f16.f16.f32",  "mma.m16n8k8.f32.tf32.tf32.f32"};
    for (const std::string shape : {"m16n8k16", "m16n8k32"})
        for (const std::string types : {"e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2"})
            expected.insert("mma." + shape + ".f16." + types + ".f16");
    for (const std::string order : {".row.row", ".row.col", ".col.row", ".col.col"}) {
        for (const std::string types :
             {".f16.f16.f16.f16", ".f32.bf16.bf16.f32", ".f32.f16.f16.f32"})
            expected.insert("wmma.mma.m16n16k16" + order + types);
        expected.insert("wmma.mma.m16n16k8" + order + ".f32.tf32.tf32.f32");
    }
    EXPECT_EQ(tiled, expected);
}

}  // namespace
}  // namespace lockwarp::num
