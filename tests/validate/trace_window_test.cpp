// SPDX-License-Identifier: Apache-2.0
// What a traced kernel stores in a window of its tracks.
#include <gtest/gtest.h>

#include "emu/isa/resolver.hpp"
#include "launch/files.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/live.hpp"

namespace {

using namespace lockwarp;

class Traces : public testing::TestWithParam<const char*> {};

// Records begin and end anywhere in a window, and in what is stored at once.
TEST_P(Traces, AWindowHasEveryRecordThatBeginsInIt) {
    constexpr isa::Arch arch = isa::Arch::sm_90;
    auto loaded =
        launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + std::string(GetParam())}, "sm_90");
    ASSERT_TRUE(loaded);
    launch::Case c;
    ASSERT_EQ(take(launch::make_case(loaded->in.launch, loaded->in.module, loaded->program), c),
              "");
    const ptx::Module module = gpu::with_explicit_rounding(c.module);
    const isa::Program program = isa::resolve(module, arch, c.entry).program;
    const gpu::TracedKernel kernel =
        gpu::trace_kernel(module, program, gpu::choose_traced(program, {}, module));
    validate::EmulatorEngine engine(arch);
    validate::EngineMemory memory(engine);
    std::vector<uint64_t> addresses;
    for (const auto& bytes : c.bytes) addresses.push_back(memory.allocate(bytes.size()));
    validate::Live live{
        c,  engine, addresses, validate::patched(c, addresses), 4, validate::call_stack_bytes, true,
        {}, {},     0};
    const uint64_t warps = (c.block.count() + 31) / 32;
    const uint64_t ctas = std::min<uint64_t>(c.grid.count(), 2);
    const auto trace = [&](const gpu::TraceWindow& window) {
        validate::Tracks tracks;
        validate::Memory outputs;
        EXPECT_TRUE(live.trace(kernel, window, warps, tracks, outputs)) << live.problem;
        return tracks;
    };
    const validate::Tracks whole = trace({0, 1000, 0, ctas});
    const auto word = [&](const validate::Tracks& t, uint64_t cta, uint64_t warp, uint64_t lane,
                          uint64_t at) {
        const uint64_t track = (cta - t.window.first_cta) * warps + warp;
        const uint64_t length = t.window.words + t.slack;
        return reinterpret_cast<const uint64_t*>(
            t.words.data())[(track * length + at - t.window.first) * 32 + lane];
    };
    uint64_t compared = 0;
    for (const uint64_t cta : {uint64_t{0}, ctas - 1})
        for (const uint64_t first : {0u, 1u, 7u, 90u, 301u, 600u}) {
            const validate::Tracks part = trace({first, 61, cta, 1});
            for (uint64_t warp = 0; warp < warps; ++warp)
                for (uint64_t lane = 0; lane < 32; ++lane)
                    for (uint64_t at = 0; at < first + 61;) {
                        const uint64_t number = word(whole, cta, warp, lane, at);
                        const uint64_t words =
                            number == 0
                                ? 1
                                : gpu::record_words(program, {}, static_cast<uint32_t>(number - 1));
                        for (uint64_t w = at; w < at + words && at >= first; ++w) {
                            ASSERT_EQ(word(part, cta, warp, lane, w),
                                      word(whole, cta, warp, lane, w))
                                << "from " << first << ", CTA " << cta << ", warp " << warp
                                << ", lane " << lane << ", word " << w;
                            compared += number != 0;
                        }
                        at += words;
                    }
        }
    EXPECT_GT(compared, 10'000u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Traces,
                         testing::Values("attention_causal_edges.json", "calls.json",
                                         "calls_O0.json", "gemm_sm80_edges.json",
                                         "layer_norm_edges.json", "softmax_fast_edges.json",
                                         "triton_softmax_sm80.json"),
                         [](const auto& each) {
                             const std::string name = each.param;
                             return name.substr(0, name.find('.'));
                         });

}  // namespace
