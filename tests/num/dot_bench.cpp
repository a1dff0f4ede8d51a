// SPDX-License-Identifier: Apache-2.0
// Products per second of matrix_product, plain and fast, and operations per second of the soft
// float and of the 32-lane operations.
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <vector>

#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/lanes.hpp"

namespace lockwarp::num {
namespace {

using isa::Arch;
using isa::Type;

using Product = void (*)(const DotRow&, MatrixShape, MatrixTypes, const uint64_t*, const uint64_t*,
                         const uint64_t*, uint64_t*);

// Finite values around 1 with full fractions, the same in every run.
std::vector<uint64_t> values(Type t, int count) {
    std::vector<uint64_t> all;
    uint64_t state = 1;
    for (int i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = state >> 20;
        if (!has_format(t)) {
            all.push_back(bits & ((uint64_t{1} << isa::bits(t)) - 1));
            continue;
        }
        const FormatRow& f = format(t);
        const uint64_t field = static_cast<uint64_t>(bias(f)) - 4 + (bits >> 8) % 8;
        const uint64_t mask = (uint64_t{1} << f.fraction_bits) - 1;
        all.push_back(with_sign(f, (bits & 1) != 0, field << f.fraction_bits | (bits & mask)));
    }
    return all;
}

void dot(benchmark::State& state, Product product, Arch arch, MatrixShape shape, Type a, Type d) {
    const DotRow* row = find_dot_row(arch, shape.m, shape.n, shape.k, a, d);
    const std::vector<uint64_t> x = values(a, shape.m * shape.k);
    const std::vector<uint64_t> y = values(a, shape.n * shape.k);
    const std::vector<uint64_t> c = values(d, shape.m * shape.n);
    std::vector<uint64_t> result(c.size());
    for (auto _ : state) {
        product(*row, shape, {a, a, d, d}, x.data(), y.data(), c.data(), result.data());
        benchmark::DoNotOptimize(result.data());
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * shape.m * shape.n * shape.k);
}

struct DotCase {
    std::string name;
    Arch arch;
    MatrixShape shape;
    Type a, d;
};

using Binary = uint64_t (*)(Type, uint64_t, uint64_t, Rounding, Flags);

void soft(benchmark::State& state, Binary operation, Type t) {
    const std::vector<uint64_t> x = values(t, 1024);
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(operation(t, x[i], x[i ^ 1], Rounding::rn, {}));
        i = (i + 1) % x.size();
    }
    state.SetItemsProcessed(state.iterations());
}

void soft_fma(benchmark::State& state, Type t) {
    const std::vector<uint64_t> x = values(t, 1024);
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(fma(t, x[i], x[i ^ 1], x[i ^ 2], Rounding::rn));
        i = (i + 1) % x.size();
    }
    state.SetItemsProcessed(state.iterations());
}

struct alignas(64) Lanes {
    std::array<uint32_t, 32> words;
};

Lanes lanes(int skip) {
    const std::vector<uint64_t> x = values(Type::f32, 32 * (skip + 1));
    Lanes all;
    for (size_t i = 0; i < 32; ++i) all.words[i] = static_cast<uint32_t>(x[32 * skip + i]);
    return all;
}

void lane_add(benchmark::State& state) {
    const Lanes a = lanes(0);
    const Lanes b = lanes(1);
    Lanes d;
    for (auto _ : state) {
        add_f32(a.words.data(), b.words.data(), d.words.data(), false);
        benchmark::DoNotOptimize(d);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * 32);
}

void lane_fma(benchmark::State& state) {
    const Lanes a = lanes(0);
    const Lanes b = lanes(1);
    const Lanes c = lanes(2);
    Lanes d;
    for (auto _ : state) {
        fma_f32(a.words.data(), b.words.data(), c.words.data(), d.words.data(), false);
        benchmark::DoNotOptimize(d);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * 32);
}

[[maybe_unused]] const bool registered = [] {
    constexpr MatrixShape k16{16, 8, 16};
    constexpr MatrixShape k8{16, 8, 8};
    const std::vector<DotCase> cases{
        {"sm_90/m16n8k16.f32.f16.f16.f32", Arch::sm_90, k16, Type::f16, Type::f32},
        {"sm_80/m16n8k16.f32.f16.f16.f32", Arch::sm_80, k16, Type::f16, Type::f32},
        {"sm_90/m16n8k16.f16.f16.f16.f16", Arch::sm_90, k16, Type::f16, Type::f16},
        {"sm_90/m16n8k16.f32.bf16.bf16.f32", Arch::sm_90, k16, Type::bf16, Type::f32},
        {"sm_90/m16n8k8.f32.tf32.tf32.f32", Arch::sm_90, k8, Type::tf32, Type::f32},
        {"sm_90/m16n8k16.s32.s8.s8.s32", Arch::sm_90, k16, Type::s8, Type::s32},
        {"sm_90/m16n8k16.f64.f64.f64.f64", Arch::sm_90, k16, Type::f64, Type::f64},
    };
    for (const DotCase& c : cases) {
        benchmark::RegisterBenchmark(("dot/plain/" + c.name).c_str(), dot, matrix_product, c.arch,
                                     c.shape, c.a, c.d);
        benchmark::RegisterBenchmark(("dot/fast/" + c.name).c_str(), dot, matrix_product_fast,
                                     c.arch, c.shape, c.a, c.d);
    }
    for (const Type t : {Type::f16, Type::f32, Type::f64}) {
        const std::string suffix{isa::row(t).name};
        benchmark::RegisterBenchmark(("soft/add" + suffix).c_str(), soft, add, t);
        benchmark::RegisterBenchmark(("soft/mul" + suffix).c_str(), soft, mul, t);
        benchmark::RegisterBenchmark(("soft/div" + suffix).c_str(), soft, div, t);
        benchmark::RegisterBenchmark(("soft/fma" + suffix).c_str(), soft_fma, t);
    }
    benchmark::RegisterBenchmark("lanes/add.f32", lane_add);
    benchmark::RegisterBenchmark("lanes/fma.f32", lane_fma);
    return true;
}();

}  // namespace
}  // namespace lockwarp::num
