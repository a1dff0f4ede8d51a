// SPDX-License-Identifier: Apache-2.0
// Speed of the executor: integer and f32 loops, shared memory, the tiled GEMM, a cold start.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "emu/lockwarp.hpp"

namespace {

using namespace lockwarp;

isa::Program program_of(const std::string& text, const char* entry, isa::Arch arch) {
    const ptx::Parsed parsed = ptx::parse(text);
    isa::Resolved resolved = isa::resolve(parsed.module, arch, entry);
    if (!parsed.diagnostics.empty() || !resolved.diagnostics.empty()) std::abort();
    return std::move(resolved.program);
}

// One warp, `body` 16 times in a loop of 1000 rounds.
std::string loop_of(const std::string& body) {
    std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<16>; .reg .f32 %f<16>; .reg .pred %p; .shared .align 16 .b8 sm[4096];\n"
        "mov.u32 %r0, 0; mov.u32 %r1, %laneid; mov.u32 %r2, 3; shl.b32 %r8, %r1, 2;\n"
        "mov.u32 %r9, sm; add.u32 %r8, %r8, %r9;\n"
        "mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f3f000000; mov.f32 %f2, 0f00000000;\nL:\n";
    for (int i = 0; i < 16; ++i) text += body + "\n";
    return text + "add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 1000; @%p bra L;\nret;\n}\n";
}

void run_loop(benchmark::State& state, const std::string& body) {
    const isa::Program program = program_of(loop_of(body), "k", isa::Arch::sm_80);
    warp::Launch launch;
    launch.block = {32, 1, 1};
    launch.threads = 1;
    uint64_t operations = 0;
    for (auto _ : state) operations += exec::launch(program, launch).statistics.lane_operations;
    state.counters["lane operations/s"] =
        benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}

void integer_and_f32(benchmark::State& state) {
    run_loop(state,
             "add.s32 %r3, %r1, %r2; xor.b32 %r4, %r3, %r1; mul.lo.s32 %r5, %r3, %r4; "
             "fma.rn.f32 %f3, %f0, %f1, %f2; add.f32 %f4, %f3, %f1; shl.b32 %r6, %r5, 3; "
             "mul.f32 %f5, %f4, %f0; and.b32 %r7, %r6, %r5;");
}
BENCHMARK(integer_and_f32);

void shared_memory(benchmark::State& state) {
    run_loop(state, "st.shared.u32 [%r8], %r1; ld.shared.u32 %r3, [%r8];");
}
BENCHMARK(shared_memory);

void gemm(benchmark::State& state, const std::string& file, const char* entry, isa::Arch arch,
          uint32_t dynamic_shared) {
    std::ifstream in(std::string(LOCKWARP_SOURCE_DIR "/gpu/kernels/") + file);
    std::stringstream text;
    text << in.rdbuf();
    const isa::Program program = program_of(text.str(), entry, arch);
    constexpr uint32_t n = 256;
    std::vector<uint8_t> a(2 * n * n, 0x3a);
    std::vector<uint8_t> b(2 * n * n, 0x2a);
    std::vector<uint8_t> c(4 * n * n);
    warp::Launch launch;
    launch.grid = {n / 64, n / 64, 1};
    launch.block = {128, 1, 1};
    launch.dynamic_shared = dynamic_shared;
    launch.threads = 1;
    launch.buffers = {{"A", 0x100000, a}, {"B", 0x200000, b}, {"C", 0x300000, c}};
    for (const uint64_t address : {0x100000ull, 0x200000ull, 0x300000ull})
        for (int i = 0; i < 8; ++i)
            launch.parameters.push_back(static_cast<uint8_t>(address >> (8 * i)));
    for (int argument = 0; argument < 3; ++argument)
        for (int i = 0; i < 4; ++i) launch.parameters.push_back(static_cast<uint8_t>(n >> (8 * i)));
    uint64_t products = 0;
    uint64_t operations = 0;
    for (auto _ : state) {
        const warp::Result result = exec::launch(program, launch);
        if (result.trap || result.refusal) std::abort();
        products += result.statistics.products;
        operations += result.statistics.lane_operations;
    }
    state.counters["products/s"] =
        benchmark::Counter(static_cast<double>(products), benchmark::Counter::kIsRate);
    state.counters["lane operations/s"] =
        benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(gemm, sm_80, "gemm.sm_80.ptx", "gemm_sm80", lockwarp::isa::Arch::sm_80, 16384);
BENCHMARK_CAPTURE(gemm, sm_75, "gemm.sm_75.ptx", "gemm_sm75", lockwarp::isa::Arch::sm_75, 0);
BENCHMARK_CAPTURE(gemm, sm_70, "gemm.sm_70.ptx", "gemm_sm70", lockwarp::isa::Arch::sm_70, 0);

// The whole program from its start: what the first command costs.
void cold_run(benchmark::State& state) {
    const std::string command = std::string(LOCKWARP_PROGRAM) +
                                " run " LOCKWARP_SOURCE_DIR
                                "/gpu/kernels/mma_m16n8k16.json >/dev/null";
    for (auto _ : state)
        if (std::system(command.c_str()) != 0) std::abort();
}
BENCHMARK(cold_run)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
