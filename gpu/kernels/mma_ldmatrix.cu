// The product of mma_m16n8k16.cu, as kernels usually compute it: the matrices go to shared memory,
// ldmatrix deals the fragments out to the lanes, and the accumulators are f16.
//
//   A: 16x16 f16, row-major.
//   B: 16x8 f16, column-major: element (k, n) is B[16 * n + k].
//   D: 16x8 f16, row-major.
//
// Launch with one CTA of 32 threads.
#include <cuda_fp16.h>

#include <cstdint>

// The address of p as an offset in shared memory, which is what ldmatrix takes.
static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

extern "C" __global__ void mma_ldmatrix(const __half* A, const __half* B, __half* D) {
    __shared__ alignas(16) __half a_tile[16 * 16];
    __shared__ alignas(16) __half b_tile[8 * 16];

    unsigned lane = threadIdx.x;
    for (int i = 0; i < 16 * 16; i += 32) a_tile[i + lane] = A[i + lane];
    for (int i = 0; i < 8 * 16; i += 32) b_tile[i + lane] = B[i + lane];
    __syncthreads();

    // The fragment registers a0..a3 hold the upper left, lower left, upper right and lower right
    // 8x8 matrix of A. Lanes 8 i .. 8 i + 7 give the row addresses of matrix i.
    uint32_t a_row = shared_address(&a_tile[16 * (lane % 16) + 8 * (lane / 16)]);
    uint32_t a[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(a_row)
                 : "memory");

    // Only the addresses of lanes 0..15 count for .x2; the others repeat them.
    uint32_t b_row = shared_address(&b_tile[16 * (lane % 8) + 8 * (lane / 8 % 2)]);
    uint32_t b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(b_row)
                 : "memory");

    uint32_t d[2] = {0, 0};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));

    unsigned row = lane / 4;
    unsigned column = 2 * (lane % 4);
    *reinterpret_cast<uint32_t*>(D + 8 * row + column) = d[0];
    *reinterpret_cast<uint32_t*>(D + 8 * (row + 8) + column) = d[1];
}
// SPDX-License-Identifier: Apache-2.0
