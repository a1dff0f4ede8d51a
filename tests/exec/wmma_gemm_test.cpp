// SPDX-License-Identifier: Apache-2.0
// gpu/kernels/wmma_gemm.cu, as nvcc made it four times: A and B by rows and by columns, on several
// machines, against the same sums written out (reference.hpp).
#include <bit>
#include <cmath>

#include "tests/exec/reference.hpp"
#include "tests/exec/workloads.hpp"

namespace lockwarp::exec::wmma_gemm_test {

namespace {

using isa::Arch;

struct Shape {
    size_t m, n, k;
};

// Sides of whole tiles; CTAs that are full, that begin and end within the matrix, and one alone.
constexpr Shape shapes[] = {{16, 16, 16}, {64, 64, 16},  {16, 80, 32},
                            {80, 16, 48}, {48, 112, 64}, {128, 64, 32}};

struct Scaled {
    float alpha, beta;
};

class WmmaGemm : public testing::TestWithParam<Build> {
  protected:
    // C = alpha * A * B + beta * C of one entry; A and B are given by rows.
    static std::vector<float> product(bool a_rows, bool b_rows, Shape s,
                                      const std::vector<double>& a, const std::vector<double>& b,
                                      const std::vector<float>& c, Scaled by) {
        const auto stored = [](const std::vector<double>& m, size_t rows, size_t columns,
                               bool by_rows) {
            std::vector<double> out;
            for (size_t i = 0; i < rows * columns; ++i)
                out.push_back(by_rows ? m[i] : m[i % rows * columns + i / rows]);
            return f16_bytes(out);
        };
        Given given;
        given.arch = GetParam().arch;
        given.grid = {static_cast<uint32_t>((s.n + 63) / 64),
                      static_cast<uint32_t>((s.m + 63) / 64), 1};
        given.block.x = 512;
        given.buffers = {stored(a, s.m, s.k, a_rows), stored(b, s.k, s.n, b_rows), bytes_from(c)};
        given.arguments = bytes_of({static_cast<uint32_t>(s.m), static_cast<uint32_t>(s.n),
                                    static_cast<uint32_t>(s.k), std::bit_cast<uint32_t>(by.alpha),
                                    std::bit_cast<uint32_t>(by.beta)});
        const std::string entry =
            std::string("wmma_gemm_") + (a_rows ? "row" : "col") + (b_rows ? "_row" : "_col");
        const Outcome outcome = run_well(program_of(GetParam(), entry), given);
        EXPECT_EQ(outcome.buffers[0], given.buffers[0]);
        EXPECT_EQ(outcome.buffers[1], given.buffers[1]);
        return values_in<float>(outcome.buffers[2]);
    }
};

// Every bit: sums of 16 products after one another, each as the architecture's tensor core has it.
TEST_P(WmmaGemm, EveryBitInEveryOrder) {
    const Block how = f16_block(GetParam().arch);
    uint32_t seed = 1;
    for (const Shape& s : shapes) {
        const std::vector<double> a = normal_f16(s.m * s.k, seed++);
        const std::vector<double> b = normal_f16(s.k * s.n, seed++);
        const std::vector<float> c = normal_f32(s.m * s.n, seed++);
        // With beta = 0 C is not read: a NaN in it does not show.
        for (const Scaled by : {Scaled{1.5f, -0.75f}, Scaled{1, 0}}) {
            std::vector<float> before = c;
            if (by.beta == 0) before.assign(before.size(), std::nanf(""));
            std::vector<float> expected;
            for (size_t i = 0; i < s.m; ++i)
                for (size_t j = 0; j < s.n; ++j) {
                    float sum = 0;
                    for (size_t k = 0; k < s.k; k += 16) {
                        std::vector<double> x, y;
                        for (size_t t = k; t < k + 16; ++t) {
                            x.push_back(a[i * s.k + t]);
                            y.push_back(b[t * s.n + j]);
                        }
                        sum = dot_f32(how, x, y, sum);
                    }
                    const float old = by.beta == 0 ? 0.0f : c[i * s.n + j];
                    // Without optimization nothing is contracted.
                    const float scaled = by.beta * old;
                    expected.push_back(optimized(GetParam()) ? std::fma(by.alpha, sum, scaled)
                                                             : by.alpha * sum + scaled);
                }
            for (const bool a_rows : {true, false})
                for (const bool b_rows : {true, false})
                    EXPECT_EQ(bytes_from(product(a_rows, b_rows, s, a, b, before, by)),
                              bytes_from(expected))
                        << s.m << "x" << s.n << "x" << s.k << (a_rows ? " row" : " col")
                        << (b_rows ? " row" : " col");
        }
    }
}

std::vector<Build> builds() {
    std::vector<Build> out = builds_of("wmma_gemm");
    for (const Arch arch : {Arch::sm_70, Arch::sm_75, Arch::sm_90})
        out.push_back({"wmma_gemm.sm_70", arch});
    return out;
}

std::string named(const testing::TestParamInfo<Build>& tested) {
    std::string name = tested.param.file;
    name[name.find('.')] = '_';
    return name + "_on_" + std::string(isa::row(tested.param.arch).name);
}

INSTANTIATE_TEST_SUITE_P(Kernels, WmmaGemm, testing::ValuesIn(builds()), named);

}  // namespace

}  // namespace lockwarp::exec::wmma_gemm_test
