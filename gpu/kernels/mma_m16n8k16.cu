// One warp multiplies A (16x16) by B (16x8) with a single mma.m16n8k16. The fragments come straight
// from global memory, so the index arithmetic below is the whole fragment layout.
//
//   A: 16x16 f16, row-major.
//   B: 16x8 f16, column-major: element (k, n) is B[16 * n + k].
//   D: 16x8 f16, row-major. The accumulators are f32 and are rounded once, at the end.
//
// Launch with one CTA of 32 threads.
#include <cuda_fp16.h>

#include <cstdint>

static __device__ uint32_t load_pair(const __half* p) {
    return *reinterpret_cast<const uint32_t*>(p);
}

extern "C" __global__ void mma_m16n8k16(const __half* A, const __half* B, __half* D) {
    unsigned lane = threadIdx.x;
    unsigned group = lane / 4;            // groupID
    unsigned thread_in_group = lane % 4;  // threadID_in_group
    unsigned k = 2 * thread_in_group;

    uint32_t a[4] = {
        load_pair(A + 16 * group + k),
        load_pair(A + 16 * (group + 8) + k),
        load_pair(A + 16 * group + k + 8),
        load_pair(A + 16 * (group + 8) + k + 8),
    };
    uint32_t b[2] = {
        load_pair(B + 16 * group + k),
        load_pair(B + 16 * group + k + 8),
    };

    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));

    unsigned column = 2 * thread_in_group;
    D[8 * group + column] = __float2half_rn(d[0]);
    D[8 * group + column + 1] = __float2half_rn(d[1]);
    D[8 * (group + 8) + column] = __float2half_rn(d[2]);
    D[8 * (group + 8) + column + 1] = __float2half_rn(d[3]);
}
// SPDX-License-Identifier: Apache-2.0
