// For `lockwarp special`: each special function's instruction and its model, compiled for the GPU,
// on a range of operands (gpu/special_sweep.hpp). One kernel for each form whose least target is
// TARGET; the one whose code has the instruction is the form's.
#include <utility>

#include "gpu/special_sweep.hpp"

namespace special_check {

using namespace lockwarp;

// The tables where a GPU can index them.
__constant__ num::MufuTables tables = num::mufu_tables;

template <size_t form, class Places>
struct Text;
// The spelling as an array of its very length, as inline PTX wants it.
template <size_t form, size_t... place>
struct Text<form, std::index_sequence<place...>> {
    static constexpr auto spelled = gpu::spelling(gpu::special_forms[form]);
    static constexpr char text[] = {spelled.text[place]..., '\0'};
};
template <size_t form>
using Spelled = Text<form, std::make_index_sequence<gpu::spelling(gpu::special_forms[form]).size>>;

template <size_t form>
__device__ uint64_t instruction(gpu::Operand x) {
    constexpr gpu::SpecialForm f = gpu::special_forms[form];
    if constexpr (f.type == isa::Type::f64) {
        uint64_t d;
        asm("%1 %0, %2;" : "=l"(d) : "C"(Spelled<form>::text), "l"(x.a));
        return d;
    } else if constexpr (isa::bits(f.type) == 16) {
        uint16_t d;
        asm("%1 %0, %2;" : "=h"(d) : "C"(Spelled<form>::text), "h"(static_cast<uint16_t>(x.a)));
        return d;
    } else if constexpr (gpu::is_quotient(f)) {
        uint32_t d;
        asm("%1 %0, %2, %3;"
            : "=r"(d)
            : "C"(Spelled<form>::text), "r"(static_cast<uint32_t>(x.a)),
              "r"(static_cast<uint32_t>(x.b)));
        return d;
    } else {
        uint32_t d;
        asm("%1 %0, %2;" : "=r"(d) : "C"(Spelled<form>::text), "r"(static_cast<uint32_t>(x.a)));
        return d;
    }
}

// Operands first to end - 1, a chunk a block; what it finds of the first `kept` goes to `operands`.
template <size_t form>
__global__ void check(uint64_t first, uint64_t end, gpu::CheckedChunk* chunks, uint64_t kept,
                      gpu::CheckedOperand* operands) {
    constexpr gpu::SpecialForm f = gpu::special_forms[form];
    __shared__ gpu::CheckedChunk parts[gpu::check_threads];
    const uint64_t begin = first + blockIdx.x * gpu::chunk_operands;
    const uint64_t stop = end - begin < gpu::chunk_operands ? end : begin + gpu::chunk_operands;
    gpu::CheckedChunk mine{0, 0};
    for (uint64_t n = begin + threadIdx.x; n < stop; n += gpu::check_threads) {
        const gpu::Operand x = gpu::operand(f, n);
        const uint64_t gpu_result = instruction<form>(x);
        const uint64_t model = num::special_function(tables, f.function, f.type, f.ftz, x.a, x.b);
        mine.digest += gpu::digest_of(n, gpu_result);
        mine.different += gpu_result != model ? 1 : 0;
        if (n - first < kept) operands[n - first] = {gpu_result, model};
    }
    parts[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (uint32_t i = 1; i < gpu::check_threads; ++i) {
        mine.digest += parts[i].digest;
        mine.different += parts[i].different;
    }
    chunks[blockIdx.x] = mine;
}

using Kernel = void (*)(uint64_t, uint64_t, gpu::CheckedChunk*, uint64_t, gpu::CheckedOperand*);

template <size_t form>
constexpr Kernel kernel_here() {
    if constexpr (gpu::special_forms[form].target == TARGET) return check<form>;
    return nullptr;
}

template <size_t... form>
constexpr auto kernels_here(std::index_sequence<form...>) {
    return std::array{kernel_here<form>()...};
}

}  // namespace special_check

// Names the kernels, so that they are compiled.
extern const std::array<special_check::Kernel, lockwarp::gpu::special_forms.size()> kernels =
    special_check::kernels_here(std::make_index_sequence<lockwarp::gpu::special_forms.size()>());
// SPDX-License-Identifier: Apache-2.0
