// SPDX-License-Identifier: Apache-2.0
// Products of gpu/kernels beside those of gemm.cu: by CTAs that stay, and Triton's.
#include <cmath>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec::products_test {

namespace {

struct Product {
    size_t m, n, k;
};

// A and B row-major: B is k x n.
struct Inputs {
    std::vector<double> a, b;
};

// C = A * B and, for the bound, the same of the magnitudes.
struct Expected {
    std::vector<double> c, magnitudes;
};

Expected expected_of(const Product& p, const Inputs& in) {
    Expected out{std::vector<double>(p.m * p.n), std::vector<double>(p.m * p.n)};
    for (size_t i = 0; i < p.m; ++i)
        for (size_t j = 0; j < p.n; ++j)
            for (size_t l = 0; l < p.k; ++l) {
                const double term = in.a[i * p.k + l] * in.b[l * p.n + j];
                out.c[i * p.n + j] += term;
                out.magnitudes[i * p.n + j] += std::fabs(term);
            }
    return out;
}

// `run` gives C for a product and its inputs.
template <class Run>
void expect_products(const std::vector<Product>& products, Run run) {
    for (const Product& p : products) {
        SCOPED_TRACE(std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k));
        // Every sum is an integer below 2^24, exact in f32 whatever the order.
        const Inputs whole{integers(p.m * p.k, 1, 8), integers(p.k * p.n, 2, 8)};
        const std::vector<float> c = run(p, whole);
        EXPECT_EQ(std::vector<double>(c.begin(), c.end()), expected_of(p, whole).c);

        const Inputs normal{normal_f16(p.m * p.k, 3), normal_f16(p.k * p.n, 4)};
        const std::vector<float> near = run(p, normal);
        const Expected expected = expected_of(p, normal);
        size_t wrong = 0;
        for (size_t i = 0; i < near.size(); ++i)
            wrong += !(std::fabs(near[i] - expected.c[i]) <=
                       expected.magnitudes[i] * product_error(p.k));
        EXPECT_EQ(wrong, 0u);
    }
}

void append_sizes(Given& given, const Product& p) {
    for (const size_t size : {p.m, p.n, p.k}) append(given.arguments, static_cast<int32_t>(size));
}

class PersistentGemm : public testing::TestWithParam<Build> {};

// The counter ends at the number of tiles and one more for each CTA that found none.
TEST_P(PersistentGemm, EqualsTheProduct) {
    const isa::Program program = program_of(GetParam(), "persistent_gemm");
    std::vector<Product> products = {{1, 1, 8}, {33, 31, 40}};
    if (optimized(GetParam()))
        products.insert(products.end(), {{32, 32, 32}, {70, 100, 72}, {16, 129, 64}, {65, 64, 8}});
    expect_products(products, [&](const Product& p, const Inputs& in) {
        constexpr uint32_t ctas = 3;
        std::vector<double> b;  // its columns one after the other
        for (size_t j = 0; j < p.n; ++j)
            for (size_t l = 0; l < p.k; ++l) b.push_back(in.b[l * p.n + j]);
        Given given;
        given.arch = GetParam().arch;
        given.grid.x = ctas;
        given.block.x = 128;
        given.threads = ctas;
        given.buffers = {f16_bytes(in.a), f16_bytes(b), Bytes(4 * p.m * p.n, 0xff), Bytes(4)};
        append_sizes(given, p);
        const Outcome outcome = run_well(program, given);
        EXPECT_EQ(words_of(outcome.buffers[3])[0], (p.m + 31) / 32 * ((p.n + 31) / 32) + ctas);
        return values_in<float>(outcome.buffers[2]);
    });
}

class TritonMatmul : public testing::TestWithParam<Build> {};

TEST_P(TritonMatmul, EqualsTheProduct) {
    const isa::Program program = program_of(GetParam(), "matmul");
    const std::vector<Product> products = {{1, 1, 1},    {32, 64, 32}, {33, 65, 31}, {70, 100, 72},
                                           {64, 64, 33}, {5, 130, 17}, {100, 8, 200}};
    expect_products(products, [&](const Product& p, const Inputs& in) {
        Given given;
        given.arch = GetParam().arch;
        given.grid = {static_cast<uint32_t>(p.n + 63) / 64, static_cast<uint32_t>(p.m + 31) / 32,
                      1};
        given.block.x = 128;
        given.dynamic_shared = 8192;
        given.buffers = {f16_bytes(in.a), f16_bytes(in.b), Bytes(4 * p.m * p.n, 0xff)};
        append_sizes(given, p);
        given.arguments.resize(32);  // two null pointers, at a multiple of 8
        return values_in<float>(run_well(program, given).buffers[2]);
    });
}

INSTANTIATE_TEST_SUITE_P(Kernels, PersistentGemm, testing::ValuesIn(builds_of("persistent_gemm")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, TritonMatmul, testing::ValuesIn(triton_builds_of("matmul")),
                         name_of);

}  // namespace

}  // namespace lockwarp::exec::products_test
