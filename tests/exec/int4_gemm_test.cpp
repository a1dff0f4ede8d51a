// SPDX-License-Identifier: Apache-2.0
// gpu/kernels/int4_gemm.cu against sums that are exact: small whole numbers, and scales that are
// powers of 2. Parts of k are added in their order, each sum rounded to f16.
#include <random>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

class Int4Gemm : public testing::TestWithParam<Build> {};

struct Product {
    int m, n, k, parts;
    std::vector<int> a, w;       // m x k, k x n
    std::vector<double> scales;  // k / 64 x n

    Product(int rows, int columns, int depth, int in_parts, unsigned seed)
        : m(rows), n(columns), k(depth), parts(in_parts) {
        std::mt19937 random(seed);
        for (int i = 0; i < m * k; ++i) a.push_back(static_cast<int>(random() % 7) - 3);
        for (int i = 0; i < k * n; ++i) w.push_back(static_cast<int>(random() % 16) - 8);
        for (int i = 0; i < k / 64 * n; ++i) scales.push_back(1.0 / (1 << random() % 3));
    }

    double sum(int row, int column, int first, int end) const {
        double out = 0;
        for (int i = first; i < end; ++i)
            out += a[row * k + i] * w[i * n + column] * scales[i / 64 * n + column];
        return out;
    }

    Bytes result() const {
        Bytes out;
        const int tiles = k / 64;
        for (int row = 0; row < m; ++row)
            for (int column = 0; column < n; ++column) {
                double c = 0;
                for (int z = 0; z < parts; ++z)
                    c = value_of_f16(f16_of(c + sum(row, column, tiles * z / parts * 64,
                                                    tiles * (z + 1) / parts * 64)));
                append(out, f16_of(c));
            }
        return out;
    }

    // As the kernel has them: a word for each lane, of each 32 rows and 8 columns.
    Bytes packed() const {
        constexpr int row_of_nibble[8] = {0, 8, 16, 24, 1, 9, 17, 25};
        Bytes out;
        for (int row = 0; row < k; row += 32)
            for (int column = 0; column < n; column += 8)
                for (int lane = 0; lane < 32; ++lane) {
                    uint32_t word = 0;
                    for (int i = 0; i < 8; ++i) {
                        const int at = row + 2 * (lane % 4) + row_of_nibble[i];
                        word |= static_cast<uint32_t>(w[at * n + column + lane / 4] + 8) << 4 * i;
                    }
                    append(out, word);
                }
        return out;
    }
};

Given given_of(const Product& p) {
    Given given;
    const auto tiles = static_cast<uint32_t>((p.m + 15) / 16 * (p.n / 64));
    given.grid = {static_cast<uint32_t>(p.n / 64), static_cast<uint32_t>((p.m + 15) / 16),
                  static_cast<uint32_t>(p.parts)};
    given.block = {128, 1, 1};
    Bytes a, scales;
    for (const int v : p.a) append(a, f16_of(v));
    for (const double v : p.scales) append(scales, f16_of(v));
    given.buffers = {a, p.packed(), scales, Bytes(p.result().size(), 0xff), Bytes(4 * tiles)};
    for (const int v : {p.m, p.n, p.k}) append(given.arguments, v);
    return given;
}

TEST_P(Int4Gemm, GivesTheProduct) {
    const isa::Program program = program_of(GetParam(), "int4_gemm");
    for (const Product& p :
         {Product(16, 64, 64, 1, 1), Product(35, 128, 384, 3, 2), Product(1, 64, 320, 2, 3)})
        for (const unsigned threads : {1u, 8u}) {
            Given given = given_of(p);
            given.arch = GetParam().arch;
            given.threads = threads;
            const Outcome o = run_well(program, std::move(given));
            EXPECT_EQ(o.buffers[3], p.result())
                << p.m << 'x' << p.n << 'x' << p.k << ", " << threads;
            EXPECT_EQ(o.buffers[4], Bytes(o.buffers[4].size()));
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Int4Gemm, testing::ValuesIn(builds_of("int4_gemm")), name_of);

}  // namespace

}  // namespace lockwarp::exec
