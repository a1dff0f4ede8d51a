// SPDX-License-Identifier: Apache-2.0
// Attention of gpu/kernels, of CUDA and of Triton, against weights and sums in double.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

constexpr size_t head = 64;

struct Sizes {
    size_t heads, queries, keys;
};

struct Inputs {
    std::vector<double> q, k, v;
};

class Attention : public testing::TestWithParam<Build> {
  protected:
    static bool triton() { return GetParam().file.starts_with("triton"); }

    // Triton's has a file of its own for the causal one, CUDA's an entry.
    static isa::Program program(bool causal) {
        Build build = GetParam();
        std::string entry = "attention";
        if (causal)
            (triton() ? build.file.insert(build.file.find('.'), "_causal") : entry += "_causal");
        return program_of(build, entry);
    }

    // O, in f16.
    static std::vector<double> attention(const isa::Program& program, const Sizes& s,
                                         const Inputs& in, float scale) {
        const uint32_t tile = triton() ? 32 : 64;
        Given given;
        given.arch = GetParam().arch;
        given.grid = {static_cast<uint32_t>((s.queries + tile - 1) / tile),
                      static_cast<uint32_t>(s.heads), 1};
        given.block.x = 128;
        given.dynamic_shared = triton() ? 14336 : 0;
        given.buffers = {f16_bytes(in.q), f16_bytes(in.k), f16_bytes(in.v),
                         Bytes(2 * in.q.size(), 0xff)};
        append(given.arguments, static_cast<int32_t>(s.queries));
        append(given.arguments, static_cast<int32_t>(s.keys));
        append(given.arguments, scale);
        if (triton()) given.arguments.resize(32);  // two null pointers, at a multiple of 8
        return f16_values(run_well(program, given).buffers[3]);
    }

    static std::vector<Sizes> sizes() {
        if (!optimized(GetParam())) return {{1, 17, 40}, {2, 65, 33}};
        return {{1, 1, 1}, {2, 16, 31}, {1, 64, 64}, {3, 65, 33}, {1, 150, 130}, {1, 33, 100}};
    }
};

// How many elements of O are further from the weights' mean than these errors allow, all relative
// to the sum of the magnitudes |weight * value|:
//   a weight   its exponent is off by the product's error, by the rounding of the factor and of the
//              difference from the maximum; ex2.approx by 2 ulp, and so is each of the factors that
//              a new tile's maximum brings; it rounds to f16, below 2^-14 by 2^-25 of the largest
//   the sum    as the weights are
//   products   product_error, where each tile ends a block
// and O rounds to f16.
size_t count_wrong(const Sizes& s, const Inputs& in, const std::vector<double>& out, double scale,
                   bool causal) {
    constexpr double rounding = 0x1p-24;
    const double tiles = std::ceil(static_cast<double>(s.keys) / 32);
    size_t wrong = 0;
    for (size_t h = 0; h < s.heads; ++h)
        for (size_t i = 0; i < s.queries; ++i) {
            const size_t seen = causal ? std::min(i + 1, s.keys) : s.keys;
            const double* q = &in.q[(h * s.queries + i) * head];
            std::vector<double> exponent(seen);
            double product_off = 0;
            for (size_t j = 0; j < seen; ++j) {
                const double* k = &in.k[(h * s.keys + j) * head];
                double magnitudes = 0;
                for (size_t d = 0; d < head; ++d) {
                    exponent[j] += q[d] * k[d] * scale;
                    magnitudes += std::fabs(q[d] * k[d] * scale);
                }
                product_off = std::max(product_off, magnitudes * product_error(head));
            }
            const double top = *std::ranges::max_element(exponent);
            const double range = top - *std::ranges::min_element(exponent);
            const double off =
                std::log(2) *
                    (product_off + rounding * (std::max(std::fabs(top), std::fabs(range - top)) +
                                               (tiles + 1) * (range + product_off))) +
                (tiles + 1) * (0x1p-22 + rounding) + 0x1p-11;
            double sum = 0;
            for (double& e : exponent) sum += e = std::exp2(e - top);
            for (size_t d = 0; d < head; ++d) {
                double expected = 0;
                double magnitudes = 0;
                double values = 0;
                for (size_t j = 0; j < seen; ++j) {
                    const double v = in.v[(h * s.keys + j) * head + d];
                    expected += exponent[j] * v / sum;
                    magnitudes += exponent[j] * std::fabs(v) / sum;
                    values += std::fabs(v);
                }
                const auto parts = static_cast<size_t>(tiles) + 1;
                double bound = magnitudes * (2 * off + product_error(s.keys, parts)) +
                               0x1p-25 * values + 0x1p-22 * std::fabs(expected);
                bound = 1.01 * bound + 0x1p-11 * (std::fabs(expected) + bound) + 0x1p-25;
                const double o = out[(h * s.queries + i) * head + d];
                wrong += !(std::fabs(o - expected) <= bound);
            }
        }
    return wrong;
}

TEST_P(Attention, IsNearWeightsInDouble) {
    const auto scale = static_cast<float>(std::numbers::log2e / 8);
    for (const bool causal : {false, true}) {
        const isa::Program code = program(causal);
        for (const Sizes& s : sizes()) {
            const Inputs in{normal_f16(s.heads * s.queries * head, 1),
                            normal_f16(s.heads * s.keys * head, 2),
                            normal_f16(s.heads * s.keys * head, 3)};
            const std::vector<double> out = attention(code, s, in, scale);
            EXPECT_EQ(count_wrong(s, in, out, scale, causal), 0u)
                << s.heads << " heads, " << s.queries << " queries, " << s.keys << " keys"
                << (causal ? ", causal" : "");
        }
    }
}

// Its division is IEEE's, Triton's approximate.
class CudaAttention : public Attention {};

// Queries of zeros give every key the weight 1: O is a sum of integers divided by a number of keys,
// both exact; the quotient rounds to f32 and to f16.
TEST_P(CudaAttention, EqualWeightsGiveTheMeanToTheBit) {
    const Sizes s{2, 40, 37};
    const Inputs in{std::vector<double>(s.heads * s.queries * head),
                    normal_f16(s.heads * s.keys * head, 4),
                    integers(s.heads * s.keys * head, 5, 1000)};
    for (const bool causal : {false, true}) {
        std::vector<double> expected;
        for (size_t h = 0; h < s.heads; ++h)
            for (size_t i = 0; i < s.queries; ++i)
                for (size_t d = 0; d < head; ++d) {
                    const size_t seen = causal ? std::min(i + 1, s.keys) : s.keys;
                    float sum = 0;
                    for (size_t j = 0; j < seen; ++j)
                        sum += static_cast<float>(in.v[(h * s.keys + j) * head + d]);
                    expected.push_back(value_of_f16(f16_of(sum / static_cast<float>(seen))));
                }
        EXPECT_EQ(attention(program(causal), s, in, 0.5F), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaAttention, testing::ValuesIn(builds_of("attention")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, Attention, testing::ValuesIn(builds_of("attention")), name_of);
INSTANTIATE_TEST_SUITE_P(Triton, Attention, testing::ValuesIn(triton_builds_of("attention")),
                         name_of);

}  // namespace

}  // namespace lockwarp::exec
