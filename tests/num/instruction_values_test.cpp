// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices of small integers, which every type of every instruction has and whose
// sums are exact: beside the plain sum over k.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include "emu/isa/matrix.hpp"
#include "emu/isa/sparse.hpp"
#include "emu/isa/wmma.hpp"
#include "emu/num/instruction.hpp"
#include "emu/num/trace.hpp"

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
            // The second unit of a group lies behind the first; of .tf32 they are one element's.
            constexpr std::array<uint8_t, 6> pairs{0x4, 0xe, 0x8, 0xc, 0x9, 0xd};
            const size_t known = p.types.a == isa::Type::tf32 ? 2 : pairs.size();
            for (uint8_t& m : metadata) m = pairs[random() % known];
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
                            k = static_cast<int>(
                                isa::chosen(
                                    isa::held_bits(isa::fragment(p.mma->fragment_a), p.mma->a),
                                    places.data(), static_cast<unsigned>(s))
                                    .k);
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
        const auto of = [&](const auto& v) {
            const std::optional<InstructionProduct> p = product_of(v, arch);
            if (p) {
                EXPECT_EQ(std::tuple(p->m, p->n, p->k), std::tuple(v.m, v.n, v.k)) << v.key;
            }
            one(v.key, p);
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) of(v);
        for (const isa::WmmaVariant& v : isa::wmma_variants()) of(v);
    }
    EXPECT_GT(checked, 300u);
    EXPECT_GT(sparse, 40u);
    EXPECT_GT(tiled, 10u);
}

// Infinities among numbers that products are made of a tile at a time.
TEST(InstructionProducts, OfAnInfinity) {
    const auto infinity = [](Type type) -> uint64_t {
        for (const Format& f : formats)
            if (f.type == type) return ((uint64_t{1} << f.exponent) - 1) << f.fraction;
        return 0;
    };
    const auto has_infinity = [](Type type) {
        return type == Type::f16 || type == Type::bf16 || type == Type::tf32 ||
               type == Type::e5m2 || type == Type::f32;
    };
    size_t checked = 0;
    for (const isa::Arch arch : {isa::Arch::sm_75, isa::Arch::sm_80, isa::Arch::sm_90}) {
        const auto one = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
            if (!p || !p->tiled || !has_infinity(p->types.a)) return;
            const auto ones = [&](Type type, int rows, int columns) {
                return packed(type, false,
                              std::vector<int>(static_cast<size_t>(rows * columns), 1));
            };
            std::vector<uint8_t> a = ones(p->types.a, p->m, p->k), b = ones(p->types.b, p->k, p->n);
            std::vector<int> sums(static_cast<size_t>(p->m * p->n), p->k);
            std::vector<uint8_t> d = packed(p->d, false, sums);
            const uint64_t in_a = infinity(p->types.a), in_d = infinity(p->d);
            std::memcpy(a.data(), &in_a, isa::bits(p->types.a) / 8);
            const size_t bytes = isa::bits(p->d) / 8;
            for (int j = 0; j < p->n; ++j)
                std::memcpy(d.data() + static_cast<size_t>(j) * bytes, &in_d, bytes);
            std::vector<uint8_t> out(d.size(), 0xa5);
            multiply(*p,
                     {a.data(), b.data(), nullptr, out.data(), nullptr, nullptr, nullptr, false});
            ASSERT_EQ(out, d) << key;
            ++checked;
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) one(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) one(v.key, product_of(v, arch));
    }
    EXPECT_GT(checked, 10u);
}

// Sums of integers go round, and do not stop at the largest.
TEST(InstructionProducts, OfIntegersThatGoRound) {
    size_t checked = 0;
    for (const isa::Arch arch : {isa::Arch::sm_75, isa::Arch::sm_80, isa::Arch::sm_90}) {
        const auto one = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
            if (!p || p->d != Type::s32 || p->types.a == Type::b1 || p->groups != 0) return;
            std::vector<int> a(static_cast<size_t>(p->m * p->k)),
                b(static_cast<size_t>(p->k * p->n)), c(static_cast<size_t>(p->m * p->n)),
                d(c.size());
            a[0] = b[0] = 1;
            c[0] = INT32_MAX;
            d[0] = INT32_MIN;
            const std::vector<uint8_t> in_a = packed(p->types.a, false, a),
                                       in_b = packed(p->types.b, false, b),
                                       in_c = packed(p->c, false, c);
            std::vector<uint8_t> out(4 * d.size(), 0xa5);
            multiply(*p, {in_a.data(), in_b.data(), in_c.data(), out.data(), nullptr, nullptr,
                          nullptr, false});
            EXPECT_EQ(out, packed(p->d, false, d)) << key;
            ++checked;
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) one(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) one(v.key, product_of(v, arch));
    }
    EXPECT_GT(checked, 20u);
}

// A C of f16 beside a D of f32: 2^-24, which f16 has as a subnormal number, and a product of 2^-46,
// which stays where C has become f32 first. A machine that adds C as f16 aligns to 2^-14.
TEST(InstructionProducts, OfASubnormalC) {
    size_t converted = 0, kept = 0;
    for (const isa::Arch arch : {isa::Arch::sm_70, isa::Arch::sm_75, isa::Arch::sm_80,
                                 isa::Arch::sm_90, isa::Arch::sm_120})
        for (const isa::WmmaVariant& v : isa::wmma_variants()) {
            if (v.ab != Type::f16 || v.c != Type::f16 || v.d != Type::f32) continue;
            const std::optional<InstructionProduct> p = product_of(v, arch);
            if (!p) continue;
            std::vector<uint16_t> a(static_cast<size_t>(p->m * p->k)),
                b(static_cast<size_t>(p->k * p->n)), c(static_cast<size_t>(p->m * p->n));
            std::vector<uint32_t> d(c.size());
            a[0] = b[0] = 2;
            c[0] = 1;
            multiply(*p, {reinterpret_cast<const uint8_t*>(a.data()),
                          reinterpret_cast<const uint8_t*>(b.data()),
                          reinterpret_cast<const uint8_t*>(c.data()),
                          reinterpret_cast<uint8_t*>(d.data()), nullptr, nullptr, nullptr, false});
            const bool converts = isa::wmma_machine(arch).converts_c;
            EXPECT_EQ(d[0], converts ? 0x33800002u : 0x33800000u) << v.key;
            (converts ? converted : kept) += 1;
        }
    EXPECT_GT(converted, 0u);
    EXPECT_GT(kept, 0u);
}

// The terms of a sum are the products, each once, and C; what is left of them makes the sum, whose
// result is the next one's C, and the last one's that of the element.
TEST(TracedElements, HaveEachProductOnce) {
    std::mt19937 random(22);
    size_t fused = 0, by_steps = 0, in_many = 0;
    for (const isa::Arch arch : {isa::Arch::sm_70, isa::Arch::sm_75, isa::Arch::sm_80,
                                 isa::Arch::sm_89, isa::Arch::sm_90, isa::Arch::sm_120})
        for (const isa::MmaVariant& v : isa::mma_variants()) {
            if (v.sparse || v.scales != 0 || !isa::has(arch, v.target)) continue;
            const DotRow* const row = find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
            if (row == nullptr) continue;
            const auto number = [&](Type type) {
                const bool bit = type == Type::b1;
                return static_cast<int>(random() % (bit ? 2 : 3)) - (is_unsigned(type) ? 0 : 1);
            };
            std::vector<int> a(v.k), b(v.k);
            std::vector<uint64_t> a_bits, b_bits;
            int sum = number(v.c);
            const uint64_t c_bits = bits_of(v.c, sum);
            const int c = sum;
            for (unsigned k = 0; k < v.k; ++k) {
                a[k] = number(v.a);
                b[k] = number(v.b);
                a_bits.push_back(bits_of(v.a, a[k]));
                b_bits.push_back(bits_of(v.b, b[k]));
                sum += v.combine == isa::Combine::xor_   ? a[k] ^ b[k]
                       : v.combine == isa::Combine::and_ ? a[k] & b[k]
                                                         : a[k] * b[k];
            }
            Trace trace;
            const MatrixTypes types{v.a, v.b, v.c, v.d, false, v.combine};
            EXPECT_EQ(traced_element(*row, types, a_bits, b_bits, c_bits, trace), bits_of(v.d, sum))
                << v.key;
            if (row->method != Method::fused_blocks) {
                by_steps += !trace.steps.empty();
                for (const TracedStep& s : trace.steps) EXPECT_LT(s.k, static_cast<int>(v.k));
            }
            if (trace.blocks.empty()) continue;
            ++fused;
            in_many += trace.blocks.size() > 1;
            std::vector<int> seen(v.k);
            for (const TracedBlock& block : trace.blocks) {
                EXPECT_FALSE(block.special) << v.key;
                int64_t units = 0;
                for (const TracedTerm& t : block.terms) {
                    units += t.units;
                    EXPECT_LE(t.exponent, block.largest) << v.key;
                    // Of small integers nothing is cut off.
                    EXPECT_EQ(
                        std::ldexp(static_cast<double>(t.units), block.largest - block.fraction),
                        std::ldexp(static_cast<double>(t.significand),
                                   t.exponent - t.fraction_bits))
                        << v.key;
                    if (t.k < 0) continue;
                    ASSERT_LT(t.k, static_cast<int>(v.k)) << v.key;
                    const auto k = static_cast<size_t>(t.k);
                    ++seen[k];
                    EXPECT_EQ(std::ldexp(static_cast<double>(t.significand),
                                         t.exponent - t.fraction_bits),
                              a[k] * b[k])
                        << v.key << " " << k;
                }
                EXPECT_EQ(units, block.sum) << v.key;
            }
            EXPECT_EQ(std::ranges::count(seen, 1), v.k) << v.key;
            const TracedTerm& addend = trace.blocks[0].terms.back();
            if (row->method == Method::fused_blocks) {
                EXPECT_EQ(addend.k, -1) << v.key;
                EXPECT_EQ(std::ldexp(static_cast<double>(addend.significand),
                                     addend.exponent - addend.fraction_bits),
                          c)
                    << v.key;
                EXPECT_EQ(trace.blocks.back().result, bits_of(v.d, sum)) << v.key;
            }
        }
    EXPECT_GT(fused, 100u);
    EXPECT_GT(in_many, 20u);
    EXPECT_GT(by_steps, 5u);
}

}  // namespace
}  // namespace lockwarp::num
