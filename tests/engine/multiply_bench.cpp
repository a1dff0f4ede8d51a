// SPDX-License-Identifier: Apache-2.0
// Products per second of lockwarp_mma, beside those of num::matrix_product_fast, which has its
// operands at hand; launches per second of a kernel of one warp.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "emu/num/dot.hpp"
#include "lockwarp.h"

namespace {

using namespace lockwarp;

constexpr size_t batch = 100'000;
constexpr size_t size_a = 16 * 16;
constexpr size_t size_b = 16 * 8;
constexpr size_t size_d = 16 * 8;

// Finite f16 around 1.
uint16_t value(std::mt19937& random) {
    const auto bits = static_cast<uint32_t>(random());
    return static_cast<uint16_t>((bits & 0x83ff) | (12 + bits / 65536 % 6) << 10);
}

void batched(benchmark::State& state) {
    std::mt19937 random(1);
    std::vector<uint16_t> a(batch * size_a), b(batch * size_b);
    for (uint16_t& x : a) x = value(random);
    for (uint16_t& x : b) x = value(random);
    std::vector<float> c(batch * size_d, 1.5f), d(batch * size_d);
    lockwarp_mma_operands o{};
    o.struct_size = sizeof o;
    o.batch = batch;
    o.a = a.data();
    o.b = b.data();
    o.c = c.data();
    o.d = d.data();
    o.threads = static_cast<uint32_t>(state.range(0));
    for (auto _ : state)
        if (lockwarp_mma("m16n8k16.f32.f16.f16.f32", "sm_90", &o, nullptr) != LOCKWARP_OK)
            std::abort();
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

void one_by_one(benchmark::State& state) {
    std::mt19937 random(1);
    std::vector<uint64_t> a(size_a), b(size_b), c(size_d, 0x3fc00000), d(size_d);
    for (uint64_t& x : a) x = value(random);
    for (uint64_t& x : b) x = value(random);
    using isa::Type;
    const num::DotRow* const row =
        num::find_dot_row(isa::Arch::sm_90, 16, 8, 16, Type::f16, Type::f32);
    const num::MatrixTypes types{Type::f16, Type::f16, Type::f32, Type::f32};
    for (auto _ : state) {
        num::matrix_product_fast(*row, {16, 8, 16}, types, a.data(), b.data(), c.data(), d.data());
        benchmark::DoNotOptimize(d.data());
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations());
}

void launches(benchmark::State& state) {
    constexpr std::string_view text =
        ".version 7.0\n.target sm_80\n.address_size 64\n.entry store(.param .u64 p) {\n"
        ".reg .b64 %p;\n.reg .b32 %r;\nld.param.u64 %p, [p];\nmov.u32 %r, %tid.x;\n"
        "st.global.u32 [%p], %r;\nret;\n}\n";
    lockwarp_context* context = nullptr;
    lockwarp_module* module = nullptr;
    const lockwarp_kernel* kernel = nullptr;
    if (lockwarp_context_create(nullptr, &context, nullptr) != LOCKWARP_OK ||
        lockwarp_module_load(context, text.data(), text.size(), nullptr, &module, nullptr) !=
            LOCKWARP_OK ||
        lockwarp_module_kernel(module, nullptr, &kernel, nullptr) != LOCKWARP_OK)
        std::abort();
    uint32_t out = 0;
    const uint64_t parameter = reinterpret_cast<uint64_t>(&out);
    const lockwarp_range range{&out, 0, sizeof out, "out"};
    lockwarp_launch_options o{};
    o.struct_size = sizeof o;
    o.block[0] = 32;
    o.parameters = &parameter;
    o.parameter_bytes = sizeof parameter;
    o.ranges = &range;
    o.range_count = 1;
    if (state.range(0) != 0) o.poll = [](void*) { return 0; };
    for (auto _ : state)
        if (lockwarp_launch(kernel, &o, nullptr, nullptr) != LOCKWARP_OK) std::abort();
    lockwarp_module_destroy(module);
    lockwarp_context_destroy(context);
}

BENCHMARK(batched)->Name("lockwarp_mma/m16n8k16/threads")->Arg(1)->Arg(0)->UseRealTime();
BENCHMARK(one_by_one)->Name("matrix_product_fast/m16n8k16");
BENCHMARK(launches)->Name("lockwarp_launch/polled")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
