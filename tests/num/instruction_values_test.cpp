// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices of small integers, which every type of every instruction has and whose
// sums are exact: beside the plain sum over k.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "emu/isa/matrix.hpp"
#include "emu/isa/sparse.hpp"
#include "emu/num/instruction.hpp"

namespace lockwarp::num {
namespace {

using isa::Type;

struct Format {
    Type type;
    unsigned exponent, fraction;  // bits
};
constexpr auto formats = std::to_array<Format>({
    {Type::f16, 5, 10},
    {Type::bf16, 8, 7},
    {Type::tf32, 8, 23},
    {Type::f32, 8, 23},
    {Type::f64, 11, 52},
    {Type::e4m3, 4, 3},
    {Type::e5m2, 5, 2},
    {Type::e2m3, 2, 3},
    {Type::e3m2, 3, 2},
    {Type::e2m1, 2, 1},
});

// The bits of a whole number that the type has.
uint64_t bits_of(Type type, int64_t value) {
    for (const Format& f : formats) {
        if (f.type != type) continue;
        if (value == 0) return 0;
        const auto size = static_cast<uint64_t>(value < 0 ? -value : value);
        const auto place = static_cast<unsigned>(std::bit_width(size) - 1);
        EXPECT_LE(place, f.fraction + 1);
        const uint64_t bias = (uint64_t{1} << (f.exponent - 1)) - 1;
        const uint64_t fraction =
            place <= f.fraction ? size << (f.fraction - place) : size >> (place - f.fraction);
        return uint64_t{value < 0} << (f.exponent + f.fraction) | (bias + place) << f.fraction |
               (fraction & ((uint64_t{1} << f.fraction) - 1));
    }
    const unsigned width = isa::bits(type);
    return static_cast<uint64_t>(value) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

// Elements in memory, as instruction.hpp says.
std::vector<uint8_t> packed(Type type, bool bytes, const std::vector<int>& values) {
    const unsigned width = isa::bits(type);
    const unsigned pitch = width >= 8 ? width : bytes || width == 6 ? 8 : width;
    std::vector<uint8_t> out((values.size() * pitch + 7) / 8);
    for (size_t i = 0; i < values.size(); ++i) {
        const uint64_t bits = bits_of(type, values[i]);
        for (unsigned b = 0; b < width; ++b)
            if ((bits >> b & 1) != 0)
                out[(i * pitch + b) / 8] |= static_cast<uint8_t>(1u << (i * pitch + b) % 8);
    }
    return out;
}

bool is_unsigned(Type t) { return t == Type::u8 || t == Type::u4 || t == Type::b1; }

void check(std::string_view key, const InstructionProduct& p, std::mt19937& random) {
    const auto numbers = [&](Type type, int count) {
        std::vector<int> out(static_cast<size_t>(count));
        const bool bit = type == Type::b1;
        for (int& v : out)
            v = static_cast<int>(random() % (bit ? 2 : 3)) - (is_unsigned(type) ? 0 : 1);
        return out;
    };
    for (const bool bytes : {false, true})
        for (const bool has_c : {false, true}) {
            const std::vector<int> a = numbers(p.types.a, p.m * p.stored_k);
            const std::vector<int> b = numbers(p.types.b, p.k * p.n);
            const std::vector<int> c = numbers(p.c, p.m * p.n);
            std::vector<uint8_t> metadata(static_cast<size_t>(p.m * p.groups));
            // The second unit of a group lies behind the first.
            constexpr std::array<uint8_t, 6> pairs{0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
            for (uint8_t& m : metadata) m = pairs[random() % pairs.size()];
            const std::vector<uint8_t> in_a = packed(p.types.a, bytes, a),
                                       in_b = packed(p.types.b, bytes, b),
                                       in_c = packed(p.c, bytes, c);
            std::vector<int> d;
            for (int i = 0; i < p.m; ++i)
                for (int j = 0; j < p.n; ++j) {
                    int sum = has_c ? c[static_cast<size_t>(i * p.n + j)] : 0;
                    std::array<uint64_t, 256> places{};
                    for (int g = 0; g < p.groups; ++g)
                        places[static_cast<size_t>(g)] =
                            metadata[static_cast<size_t>(i * p.groups + g)];
                    for (int s = 0; s < p.stored_k; ++s) {
                        int k = s;
                        if (p.groups != 0)
                            k = static_cast<int>(isa::chosen_k(
                                isa::held_bits(isa::fragment(p.mma->fragment_a), p.mma->a),
                                places.data(), static_cast<unsigned>(s)));
                        const int x = a[static_cast<size_t>(i * p.stored_k + s)];
                        const int y = b[static_cast<size_t>(k * p.n + j)];
                        sum += p.types.combine == isa::Combine::xor_   ? x ^ y
                               : p.types.combine == isa::Combine::and_ ? x & y
                                                                       : x * y;
                    }
                    d.push_back(sum);
                }
            std::vector<uint8_t> out(packed(p.d, bytes, d).size(), 0xa5);
            multiply(p, {in_a.data(), in_b.data(), has_c ? in_c.data() : nullptr, out.data(),
                         metadata.data(), nullptr, nullptr, bytes});
            ASSERT_EQ(out, packed(p.d, bytes, d))
                << key << (bytes ? ", bytes" : "") << (has_c ? ", c" : "");
        }
}

TEST(InstructionProducts, OfSmallIntegersAreExact) {
    std::mt19937 random(21);
    size_t checked = 0, sparse = 0, tiled = 0;
    for (const isa::Arch arch :
         {isa::Arch::sm_75, isa::Arch::sm_80, isa::Arch::sm_90, isa::Arch::sm_120}) {
        const auto one = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
            if (!p || p->scales != 0) return;
            check(key, *p, random);
            ++checked;
            sparse += p->groups != 0;
            tiled += p->tiled;
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) one(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) one(v.key, product_of(v, arch));
    }
    EXPECT_GT(checked, 300u);
    EXPECT_GT(sparse, 40u);
    EXPECT_GT(tiled, 10u);
}

}  // namespace
}  // namespace lockwarp::num
