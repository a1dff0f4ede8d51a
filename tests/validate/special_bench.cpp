// SPDX-License-Identifier: Apache-2.0
// Operands per second of the models of the special functions, on one core.
#include <benchmark/benchmark.h>

#include "validate/special.hpp"

namespace lockwarp::validate {
namespace {

void special(benchmark::State& state, const gpu::SpecialForm& form) {
    constexpr uint64_t n = 1 << 16;
    // From 0.5 on where the operand is an f32; of those that come in pairs, random ones.
    const uint64_t first = std::min<uint64_t>(0x3f000000, gpu::operand_count(form) - n);
    for (auto _ : state)
        benchmark::DoNotOptimize(special_digest(form, num::mufu_tables, first, first + n));
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(n));
}

const int registered = [] {
    for (const gpu::SpecialForm& f : gpu::special_forms)
        benchmark::RegisterBenchmark(("special/" + std::string(gpu::spelling(f).view())).c_str(),
                                     [&f](benchmark::State& s) { special(s, f); });
    return 0;
}();

}  // namespace
}  // namespace lockwarp::validate
