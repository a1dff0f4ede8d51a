// What ldmatrix hands to each lane: .x1, .x2 and .x4, each with and without .trans.
//
//   in:  one row-major f16 matrix, 8x8 (x1), 8x16 (x2) or 16x16 (x4). It is cut into 8x8 matrices
//        in reading order: left to right, then top to bottom.
//   out: lane-major f16: the registers of lane 0 (two elements each), then those of lane 1, ...
//        That is 8x8 (x1), 8x16 (x2) or 16x16 (x4) elements again.
//
// Launch with one CTA of 32 threads.
#include <cuda_fp16.h>

#include <cstdint>

template <int count, bool trans>
__device__ void ldmatrix(const __half* in, __half* out) {
    constexpr int columns = count == 1 ? 8 : 16;
    constexpr int elements = 64 * count;
    __shared__ alignas(16) __half tile[elements];

    unsigned lane = threadIdx.x;
    for (int i = 0; i < elements; i += 32) tile[i + lane] = in[i + lane];
    __syncthreads();

    // Lanes 8 i .. 8 i + 7 give the addresses of the eight rows of matrix i. Where there are fewer
    // matrices than groups of eight lanes, the addresses of the other lanes are not used.
    unsigned matrix = lane / 8 % count;
    unsigned row = lane % 8 + 8 * (matrix / 2);
    unsigned column = 8 * (matrix % 2);
    auto address = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[columns * row + column]));

    uint32_t r[count];
    if constexpr (count == 1 && !trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(address)
                     : "memory");
    } else if constexpr (count == 1) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(address)
                     : "memory");
    } else if constexpr (count == 2 && !trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(address)
                     : "memory");
    } else if constexpr (count == 2) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(address)
                     : "memory");
    } else if constexpr (!trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    }

    auto* registers = reinterpret_cast<uint32_t*>(out);
    for (int i = 0; i < count; ++i) registers[count * lane + i] = r[i];
}

extern "C" {
__global__ void ldmatrix_x1(const __half* in, __half* out) { ldmatrix<1, false>(in, out); }
__global__ void ldmatrix_x1_trans(const __half* in, __half* out) { ldmatrix<1, true>(in, out); }
__global__ void ldmatrix_x2(const __half* in, __half* out) { ldmatrix<2, false>(in, out); }
__global__ void ldmatrix_x2_trans(const __half* in, __half* out) { ldmatrix<2, true>(in, out); }
__global__ void ldmatrix_x4(const __half* in, __half* out) { ldmatrix<4, false>(in, out); }
__global__ void ldmatrix_x4_trans(const __half* in, __half* out) { ldmatrix<4, true>(in, out); }
}
// SPDX-License-Identifier: Apache-2.0
