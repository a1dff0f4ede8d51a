// SPDX-License-Identifier: Apache-2.0
// Hopper's kernels of gpu/kernels, by their launch files: the same bytes on any number of cores,
// and attention against weights and sums in double.
#include <gtest/gtest.h>
#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/lockwarp.hpp"
#include "emu/num/ieee.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

struct Ran {
    LaunchFile file;
    Memory before, after;

    std::vector<double> halves(std::string_view buffer, const Memory& memory) const {
        const auto at = static_cast<size_t>(file.find_buffer(buffer) - file.buffers.data());
        const std::vector<uint8_t>& bytes = memory.bytes[at];
        std::vector<double> out;
        for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
            const uint64_t bits =
                num::convert(isa::Type::f16, isa::Type::f64, bytes[i] | uint64_t{bytes[i + 1]} << 8,
                             num::Rounding::rn);
            out.push_back(std::bit_cast<double>(bits));
        }
        return out;
    }
};

Ran run(const std::string& name, unsigned threads) {
    Ran out;
    Loaded loaded;
    EXPECT_EQ(take(load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + name + ".json"}, ""), loaded), "");
    EXPECT_EQ(take(place_buffers(loaded.in.launch), out.before), "");
    out.after = out.before;
    warp::Launch l;
    EXPECT_EQ(take(make_launch(loaded.in.launch, loaded.in.kernel(), loaded.program, out.after), l),
              "");
    l.threads = threads;
    const warp::Result result = exec::launch(loaded.program, l);
    EXPECT_FALSE(result.refusal || result.trap) << name;
    out.file = std::move(loaded.in.launch);
    return out;
}

TEST(Specialized, HasTheSameBytesOnAnyNumberOfCores) {
    for (const char* name :
         {"specialized_gemm", "specialized_gemm_edges", "specialized_gemm_wide",
          "specialized_attention", "specialized_attention_causal", "tma_gemm", "grouped_gemm",
          "im2col_convolution", "wgmma_gemm_fp8", "wgmma_gemm_registers"}) {
        const Ran one = run(name, 1);
        EXPECT_NE(one.after.bytes, one.before.bytes) << name;
        for (const unsigned threads : {2U, 8U})
            EXPECT_EQ(run(name, threads).after.bytes, one.after.bytes) << name << ", " << threads;
    }
}

// The weights are rounded to f16, of at most 1, and so is O; the rest is small beside that.
void expect_attention(const std::string& name, size_t heads, bool causal) {
    constexpr size_t head = 64;
    const Ran ran = run(name, 2);
    const std::vector<double> q = ran.halves("Q", ran.before), k = ran.halves("K", ran.before);
    const std::vector<double> v = ran.halves("V", ran.before), o = ran.halves("O", ran.after);
    const size_t queries = q.size() / heads / head, keys = k.size() / heads / head;
    size_t wrong = 0;
    for (size_t h = 0; h < heads; ++h)
        for (size_t i = 0; i < queries; ++i) {
            const size_t seen = causal ? std::min(i + 1, keys) : keys;
            std::vector<double> weight(seen);
            for (size_t j = 0; j < seen; ++j)
                for (size_t d = 0; d < head; ++d)
                    weight[j] +=
                        q[(h * queries + i) * head + d] * k[(h * keys + j) * head + d] * 0.125;
            const double top = *std::ranges::max_element(weight);
            double sum = 0;
            for (double& w : weight) sum += w = std::exp(w - top);
            for (size_t d = 0; d < head; ++d) {
                double expected = 0, magnitudes = 0;
                for (size_t j = 0; j < seen; ++j) {
                    const double value = weight[j] / sum * v[(h * keys + j) * head + d];
                    expected += value;
                    magnitudes += std::fabs(value);
                }
                const double actual = o[(h * queries + i) * head + d];
                wrong += !(std::fabs(actual - expected) <= 0x1p-10 * magnitudes + 0x1p-20);
            }
        }
    EXPECT_EQ(wrong, 0U) << name;
}

TEST(Specialized, AttentionIsNearWeightsInDouble) {
    expect_attention("specialized_attention", 2, false);
    expect_attention("specialized_attention_causal", 1, true);
}

}  // namespace
}  // namespace lockwarp::launch
