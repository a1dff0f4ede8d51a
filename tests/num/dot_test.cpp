// SPDX-License-Identifier: Apache-2.0
// matrix_product against the second definition, the fast path against the plain one, and the table
// of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "emu/isa/matrix.hpp"
#include "emu/num/dot.hpp"
#include "emu/num/lanes.hpp"
#include "tests/num/dot_oracle.hpp"
#include "tests/num/inputs.hpp"
#include "tests/num/targets.hpp"
#include "tests/num/to_the_end.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Arch;
using isa::Type;

// A sanitizer looks at the paths, which few products take as well as many.
#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

std::string describe(const DotRow& row, MatrixTypes types, MatrixShape shape) {
    return std::string(isa::row(row.arch).name) + " m" + std::to_string(shape.m) + "n" +
           std::to_string(shape.n) + "k" + std::to_string(shape.k) +
           std::string(isa::row(types.d).name) + std::string(isa::row(types.a).name) +
           std::string(isa::row(types.b).name) + std::string(isa::row(types.c).name);
}

// The type combinations and lengths of k that one row answers for.
std::vector<MatrixTypes> types_of(const DotRow& row) {
    std::vector<MatrixTypes> all;
    if (row.a == Type::b1) {
        for (const isa::Combine combine : {isa::Combine::xor_, isa::Combine::and_})
            all.push_back({row.a, row.a, row.d, row.d, false, combine});
        return all;
    }
    std::vector<Type> stands_for{row.a};
    if (row.a == Type::s8) stands_for.push_back(Type::u8);
    if (row.a == Type::s4) stands_for.push_back(Type::u4);
    if (row.a == Type::e4m3) stands_for.push_back(Type::e5m2);
    for (const Type a : stands_for)
        for (const Type b : stands_for) {
            all.push_back({a, b, row.d, row.d});
            if (row.method == Method::integer) all.push_back({a, b, row.d, row.d, true});
        }
    // The other pairs: tests/exec/matrix_definitions_test.cpp.
    if (row.a == Type::e4m3 && isa::has(row.arch, 120))
        for (const auto& [a, b] : {std::pair{Type::e3m2, Type::e4m3},
                                   {Type::e5m2, Type::e2m3},
                                   {Type::e2m1, Type::e2m1},
                                   {Type::e2m3, Type::e2m1}})
            all.push_back({a, b, row.d, row.d});
    if (row.a == Type::f16 && row.d == Type::f32) all.push_back({row.a, row.a, Type::f16, row.d});
    return all;
}

std::vector<int> lengths_of(const DotRow& row) {
    if (row.k != 0) return {row.k};
    if (row.a == Type::b1) return {128, 256};
    if (row.method == Method::f16_halves) return {16, 32};
    if (row.method == Method::fused_blocks)
        return {row.sum.block / 2, row.sum.block, 2 * row.sum.block};
    return {4, 16};
}

// Architectures share arithmetic: one row of each.
std::vector<DotRow> different_rows() {
    std::vector<DotRow> out;
    for (const DotRow& row : dot_rows()) {
        const auto same = [&](const DotRow& other) {
            const FusedSum& s = row.sum;
            const FusedSum& t = other.sum;
            return row.a == other.a && row.d == other.d && row.kind == other.kind &&
                   row.k == other.k && row.method == other.method && s.block == t.block &&
                   s.fraction == t.fraction && s.zero_exponent == t.zero_exponent &&
                   s.kept == t.kept && s.rounding == t.rounding;
        };
        if (std::ranges::none_of(out, same)) out.push_back(row);
    }
    return out;
}
bool is_scaled(const DotRow& row) { return row.kind != isa::MmaKind::none; }

// Calls visit(row, types, shape, operands) for about a thousand outputs of each row, type
// combination, length and input class.
template <class Visit>
void each_product(MatrixShape base, int repeats, Visit visit) {
    Random random(20240611);
    for (const DotRow& row : different_rows())
        for (const MatrixTypes types : is_scaled(row) ? std::vector<MatrixTypes>{} : types_of(row))
            for (const int k : lengths_of(row))
                for (int input = 0; input < input_classes; ++input)
                    for (int i = 0; i < repeats; ++i) {
                        const MatrixShape shape{base.m, base.n, k};
                        const auto input_class = static_cast<InputClass>(input);
                        visit(row, types, shape, input_class,
                              make_operands(input_class, shape, types, random));
                    }
}

TEST(Dot, EqualsTheSecondDefinition) {
    int compared = 0;
    each_product(
        {16, 8, 0}, sanitized ? 1 : 8,
        [&](const DotRow& row, MatrixTypes types, MatrixShape shape, InputClass input,
            const Operands& x) {
            std::vector<uint64_t> d(x.c.size());
            matrix_product(row, shape, types, x.a.data(), x.b.data(), x.c.data(), d.data());
            int different = 0;
            for (int i = 0; i < shape.m; ++i)
                for (int j = 0; j < shape.n; ++j) {
                    const int at = i * shape.n + j;
                    const uint64_t expected = oracle_element(row, types, shape.k, &x.a[i * shape.k],
                                                             &x.b[j * shape.k], x.c[at]);
                    ++compared;
                    different += d[at] != expected;
                }
            ASSERT_EQ(different, 0) << describe(row, types, shape) << ", " << name(input);
        });
    EXPECT_GT(compared, sanitized ? 60000 : 500000);
}

TEST(Dot, FastEqualsPlain) {
    int compared = 0;
    for (const MatrixShape base : {MatrixShape{16, 8, 0}, MatrixShape{64, 24, 0},
                                   MatrixShape{8, 32, 0}, MatrixShape{5, 3, 0}})
        each_product(
            base, sanitized ? 1 : 4,
            [&](const DotRow& row, MatrixTypes types, MatrixShape shape, InputClass input,
                const Operands& x) {
                std::vector<uint64_t> plain(x.c.size());
                matrix_product(row, shape, types, x.a.data(), x.b.data(), x.c.data(), plain.data());
                each_lane_target([&] {
                    // D in the place of C, as an instruction may have it.
                    std::vector<uint64_t> fast = x.c;
                    matrix_product_fast(row, shape, types, x.a.data(), x.b.data(), fast.data(),
                                        fast.data());
                    compared += static_cast<int>(fast.size());
                    ASSERT_EQ(fast, plain) << describe(row, types, shape) << ", " << name(input);
                });
            });
    EXPECT_GT(compared, sanitized ? 250000 : 1000000);
}

// Matrices that end within a tile, and where memory ends: what is read or written beyond them ends
// the test. Infinities are left to the plain way, a tile at a time.
TEST(Dot, FastStaysWithinItsMatrices) {
    Random random(77);
    int products = 0;
    for (const DotRow& row : different_rows()) {
        if (is_scaled(row)) continue;
        const MatrixTypes types = types_of(row)[0];
        for (const auto& [m, n] : {std::pair{24, 20}, {16, 16}, {15, 17}, {1, 1}})
            for (const InputClass input : {InputClass::narrow, InputClass::special}) {
                const MatrixShape shape{m, n, lengths_of(row)[0]};
                const Operands x = make_operands(input, shape, types, random);
                const auto at_end = [](const std::vector<uint64_t>& from) {
                    auto out = std::make_unique<ToTheEnd>(8 * from.size());
                    std::memcpy(out->bytes().data(), from.data(), 8 * from.size());
                    return out;
                };
                const auto a = at_end(x.a), b = at_end(x.b), c = at_end(x.c), d = at_end(x.c);
                const auto of = [](const auto& memory) {
                    return reinterpret_cast<uint64_t*>(memory->bytes().data());
                };
                std::vector<uint64_t> plain(x.c.size());
                matrix_product(row, shape, types, x.a.data(), x.b.data(), x.c.data(), plain.data());
                matrix_product_fast(row, shape, types, of(a), of(b), of(c), of(d));
                EXPECT_TRUE(std::equal(plain.begin(), plain.end(), of(d)))
                    << describe(row, types, shape) << ", " << name(input);
                for (const auto* memory : {&a, &b, &c, &d})
                    EXPECT_TRUE((*memory)->is_whole_before()) << describe(row, types, shape);
                ++products;
            }
    }
    EXPECT_GT(products, 100);
}

// Products of a wide range, and of a narrow one, at both ends of it: which range a sum's scale
// covers decides how terms are scaled.
TEST(Dot, FastEqualsPlainAtTheEndsOfTheRange) {
    for (const DotRow& row : different_rows()) {
        if (row.method != Method::fused_blocks || isa::bits(row.a) < 8 || is_scaled(row)) continue;
        const MatrixTypes types = types_of(row)[0];
        const MatrixShape shape{16, 8, lengths_of(row)[0]};
        const FormatRow& f = format(row.a);
        const FormatRow& g = format(row.d);
        const uint64_t one = static_cast<uint64_t>(bias(f)) << f.fraction_bits;
        const std::vector<uint64_t> values{1,
                                           3,
                                           uint64_t{1} << f.fraction_bits,
                                           one,
                                           largest_magnitude(f) / 2,
                                           largest_magnitude(f)};
        const uint64_t of_c = static_cast<uint64_t>(bias(g)) << g.fraction_bits;
        for (const uint64_t left : values)
            for (const uint64_t right : values)
                for (const uint64_t sum : {uint64_t{0}, uint64_t{1}, of_c}) {
                    std::vector<uint64_t> a(static_cast<size_t>(shape.m) * shape.k, left),
                        b(static_cast<size_t>(shape.n) * shape.k, right),
                        c(static_cast<size_t>(shape.m) * shape.n, sum), plain(c.size()),
                        fast(c.size());
                    matrix_product(row, shape, types, a.data(), b.data(), c.data(), plain.data());
                    matrix_product_fast(row, shape, types, a.data(), b.data(), c.data(),
                                        fast.data());
                    EXPECT_EQ(fast, plain) << describe(row, types, shape) << std::hex << ' ' << left
                                           << ' ' << right << ' ' << sum;
                }
    }
}

// The comparison can fail: with the floor one higher, a term that just reaches it is lost.
TEST(Dot, SecondDefinitionNoticesAnotherFloor) {
    int noticed = 0;
    for (const DotRow& row : dot_rows()) {
        if (row.method != Method::fused_blocks || row.a != Type::bf16) continue;
        const MatrixTypes types{row.a, row.a, row.d, row.d};
        const int k = row.sum.block;
        // 2^-149 less the last place that the floor keeps, both as products with 2^-126; the rest
        // are zeros.
        const int last_place = row.sum.zero_exponent - row.sum.fraction;
        std::vector<uint64_t> a(k, 0);
        std::vector<uint64_t> b(k, 0);
        a[0] = static_cast<uint64_t>(127 - 23) << 7;
        a[1] = 0x8000 | static_cast<uint64_t>(127 + last_place + 126) << 7;
        b[0] = b[1] = 0x0080;
        const uint64_t c = 0;
        const uint64_t expected = oracle_element(row, types, k, a.data(), b.data(), c);
        uint64_t d = 0;
        matrix_product(row, {1, 1, k}, types, a.data(), b.data(), &c, &d);
        EXPECT_EQ(d, expected);
        DotRow other = row;
        ++other.sum.zero_exponent;
        matrix_product(other, {1, 1, k}, types, a.data(), b.data(), &c, &d);
        EXPECT_NE(d, expected) << describe(row, types, {1, 1, k});
        ++noticed;
    }
    EXPECT_GT(noticed, 0);
}

TEST(DotRows, AnswerByShapeAndType) {
    const DotRow* any = find_dot_row(Arch::sm_80, 16, 8, 16, Type::f16, Type::f32);
    ASSERT_NE(any, nullptr);
    EXPECT_EQ(any->method, Method::fused_blocks);
    const DotRow* one = find_dot_row(Arch::sm_80, 8, 8, 4, Type::f16, Type::f32);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->method, Method::fma_routine);
    for (const Arch arch : {Arch::sm_70, Arch::sm_75}) {
        const DotRow* volta = find_dot_row(arch, 8, 8, 4, Type::f16, Type::f32);
        ASSERT_NE(volta, nullptr);
        EXPECT_EQ(volta->method, Method::fused_blocks);
    }
    EXPECT_EQ(find_dot_row(Arch::sm_75, 16, 8, 16, Type::u8, Type::s32),
              find_dot_row(Arch::sm_75, 16, 8, 16, Type::s8, Type::s32));
    EXPECT_EQ(find_dot_row(Arch::sm_70, 16, 8, 8, Type::bf16, Type::f32), nullptr);
    EXPECT_EQ(find_dot_row(Arch::sm_75, 16, 8, 8, Type::f64, Type::f64), nullptr);
}

// What a GPU was asked about says so, on that architecture alone.
TEST(DotRows, SayWhichSparseProductsWereMeasured) {
    unsigned measured = 0, derived = 0;
    for (const DotRow& row : dot_rows())
        for (const isa::MmaVariant& v : isa::mma_variants()) {
            if (row.warpgroup || find_dot_row(row.arch, v.m, v.n, v.k, v.a, v.d, v.kind) != &row)
                continue;
            const Known dense = known(row, v.k);
            const Known k = known(row, v);
            if (!v.sparse) {
                EXPECT_EQ(k.evidence, dense.evidence) << v.key;
                EXPECT_EQ(k.source, dense.source) << v.key;
            } else if (row.arch == Arch::sm_90) {
                EXPECT_EQ(k.evidence, isa::Evidence::measured) << v.key;
                EXPECT_EQ(k.source, "H200") << v.key;
                ++measured;
            } else {
                EXPECT_EQ(k.evidence, isa::Evidence::derived) << v.key;
                EXPECT_EQ(k.source, v.scales != 0
                                        ? "as dense; how factors meet a sparse A is unknown"
                                        : "as the dense product of the elements that A holds")
                    << v.key;
                ++derived;
            }
        }
    EXPECT_GT(measured, 0u);
    EXPECT_GT(derived, 0u);
}

// The products of 16 bits and more have the fast way: without it they are right, and slow.
TEST(DotRows, ProductsWithAFusedTile) {
    std::set<std::string> without;
    unsigned with = 0;
    for (const DotRow& row : dot_rows()) {
        if (row.method != Method::fused_blocks || isa::bits(row.a) < 16) continue;
        for (const MatrixTypes types : types_of(row)) {
            if (types.c != types.d) {
                EXPECT_FALSE(has_fused_tile(row, types));
            } else if (has_fused_tile(row, types))
                ++with;
            else
                without.insert(describe(row, types, {0, 0, 0}));
        }
    }
    EXPECT_GT(with, 0u);
    EXPECT_EQ(without, std::set<std::string>{});
}

// Sums that it would give other bits: a product has more bits than are kept below the largest
// exponent, or C has; D has others than the sum; two halves of a block are not below 2^31; it is
// rounded otherwise than sums of its type are.
TEST(FusedTile, IsForSumsThatFitItsWords) {
    const auto has = [](auto change, Type a = Type::f16, Type d = Type::f32) {
        DotRow row = *find_dot_row(Arch::sm_90, 16, 8, 16, Type::f16, Type::f32);
        row.a = a;
        row.d = d;
        MatrixTypes types{a, a, d, d};
        change(row, types);
        return has_fused_tile(row, types);
    };
    const auto kept = [&](unsigned bits, Type a, Type d) {
        return has(
            [&](DotRow& row, MatrixTypes&) {
                row.sum.fraction = static_cast<uint8_t>(bits);
                row.sum.kept = d == Type::f32 ? 24 : 11;
                row.sum.rounding = d == Type::f32 ? Rounding::rz : Rounding::rn;
            },
            a, d);
    };
    EXPECT_TRUE(has([](DotRow&, MatrixTypes&) {}));
    EXPECT_FALSE(has([](DotRow& row, MatrixTypes&) { row.method = Method::f16_halves; }));
    EXPECT_FALSE(has([](DotRow&, MatrixTypes& types) { types.c = Type::f16; }));
    EXPECT_TRUE(kept(20, Type::f16, Type::f16));
    EXPECT_FALSE(kept(19, Type::f16, Type::f16));
    EXPECT_TRUE(kept(23, Type::bf16, Type::f32));
    EXPECT_FALSE(kept(22, Type::bf16, Type::f32));
    for (const uint8_t bits : {uint8_t{23}, uint8_t{25}})
        EXPECT_FALSE(has([&](DotRow& row, MatrixTypes&) { row.sum.kept = bits; }));
    for (const bool good : {true, false})
        EXPECT_EQ(has([&](DotRow& row, MatrixTypes&) {
                      row.sum.fraction = 24;
                      row.sum.block = good ? 62 : 63;
                  }),
                  good);
    for (const Rounding r : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna})
        EXPECT_EQ(has([&](DotRow& row, MatrixTypes&) { row.sum.rounding = r; }), r == Rounding::rz);
    EXPECT_FALSE(has(
        [](DotRow& row, MatrixTypes&) {
            row.sum.kept = 11;
            row.sum.rounding = Rounding::rz;
        },
        Type::f16, Type::f16));
}

TEST(DotRows, CoverEveryArchitecture) {
    std::set<Arch> seen;
    for (const DotRow& row : dot_rows()) seen.insert(row.arch);
    EXPECT_EQ(seen.size(), static_cast<size_t>(Arch::count_));
}

}  // namespace
}  // namespace lockwarp::num::testing
