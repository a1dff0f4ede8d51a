// SPDX-License-Identifier: Apache-2.0
// C = A * B' by tiles of 64 x 64, A and B with rows of K: two stages of cp.async, both tiles
// swizzled in shared memory alike, ldmatrix, mma.m16n8k16. M and N are multiples of 64, K of 32.
// Grid: N / 64, M / 64. CTA: 128 threads, each warp 32 x 32 of C.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int tile = 64, depth = 32, stages = 2;

static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Where the 8 elements of a row from `chunk` * 8 on lie: pairs of rows share the banks.
static __device__ int place(unsigned row, unsigned chunk) {
    return row * depth + (chunk ^ row / 2 % 4) * 8;
}

struct Stage {
    __half a[tile * depth];
    __half b[tile * depth];
};

static __device__ void copy(__half* to, const __half* from, int K) {
    for (unsigned i = threadIdx.x; i < tile * depth / 8; i += 128) {
        unsigned row = i / 4, chunk = i % 4;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(to + place(row, chunk))),
                     "l"(from + row * K + chunk * 8));
    }
}

extern "C" __global__ void swizzled_gemm(const __half* A, const __half* B, float* C, int N, int K) {
    __shared__ alignas(1024) Stage stage[stages];
    unsigned lane = threadIdx.x % 32, row = threadIdx.x / 64 * 32,
             column = threadIdx.x / 32 % 2 * 32;
    A += blockIdx.y * tile * K;
    B += blockIdx.x * tile * K;
    float c[2][4][4] = {};
    copy(stage[0].a, A, K);
    copy(stage[0].b, B, K);
    asm volatile("cp.async.commit_group;");
#pragma unroll 1
    for (int t = 0; t < K / depth; ++t) {
        if (t + 1 < K / depth) {
            copy(stage[(t + 1) % stages].a, A + (t + 1) * depth, K);
            copy(stage[(t + 1) % stages].b, B + (t + 1) * depth, K);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        const Stage& s = stage[t % stages];
#pragma unroll
        for (unsigned k = 0; k < depth / 8; k += 2) {
            uint32_t a[2][4], b[2][4];
            for (unsigned i = 0; i < 2; ++i) {
                asm volatile(
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                    : "r"(shared_address(&s.a[place(row + i * 16 + lane % 16, k + lane / 16)])));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(b[i][0]), "=r"(b[i][1]), "=r"(b[i][2]), "=r"(b[i][3])
                             : "r"(shared_address(&s.b[place(
                                 column + i * 16 + lane % 8 + lane / 16 * 8, k + lane / 8 % 2)])));
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(c[i][j][0]), "+f"(c[i][j][1]), "+f"(c[i][j][2]), "+f"(c[i][j][3])
                        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]),
                          "r"(b[j / 2][j % 2 * 2]), "r"(b[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int n = 0; n < 4; ++n) {
                int r = blockIdx.y * tile + row + i * 16 + lane / 4 + n / 2 * 8;
                C[r * N + blockIdx.x * tile + column + j * 8 + lane % 4 * 2 + n % 2] = c[i][j][n];
            }
}
