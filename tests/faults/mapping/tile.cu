// SPDX-License-Identifier: Apache-2.0
// C = A * B by tiles of 32 x 32, all row-major: three stages of cp.async, A padded and B swizzled
// in shared memory, ldmatrix, mma.m16n8k16. M and N are multiples of 32, K of 32.
// Grid: N / 32, M / 32. CTA: 128 threads, each warp 16 x 16 of C.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int tile = 32, stages = 3, pitch = 40;

static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Where element (k, column) of B's tile lies: pairs of rows share the banks.
static __device__ int b_place(int k, int column) { return k * tile + (column ^ k / 2 % 4 * 8); }

struct Stage {
    __half a[tile * pitch];
    __half b[tile * tile];
};

static __device__ void copy(Stage& s, const __half* A, const __half* B, int N, int K, int k0) {
    if (k0 < K) {
        int row = threadIdx.x / 4, column = threadIdx.x % 4 * 8;
        const __half* a = A + (blockIdx.y * tile + row) * K + k0 + column;
        const __half* b = B + (k0 + row) * N + blockIdx.x * tile + column;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(&s.a[row * pitch + column])),
                     "l"(a));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(&s.b[b_place(row, column)])),
                     "l"(b));
    }
    asm volatile("cp.async.commit_group;");
}

extern "C" __global__ void tile_gemm(const __half* A, const __half* B, float* C, int N, int K) {
    __shared__ alignas(1024) Stage stage[stages];
    int lane = threadIdx.x % 32, row = threadIdx.x / 64 * 16, column = threadIdx.x / 32 % 2 * 16;
    float c[2][4] = {};
    copy(stage[0], A, B, N, K, 0);
    copy(stage[1], A, B, N, K, tile);
#pragma unroll 1
    for (int t = 0; t < K / tile; ++t) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        copy(stage[(t + 2) % stages], A, B, N, K, (t + 2) * tile);
        const Stage& s = stage[t % stages];
#pragma unroll
        for (int k = 0; k < tile; k += 16) {
            uint32_t a[4], b[4];
            asm volatile(
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                : "r"(shared_address(&s.a[(row + lane % 16) * pitch + k + lane / 16 * 8])));
            asm volatile(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                : "r"(shared_address(&s.b[b_place(k + lane % 16, column + lane / 16 * 8)])));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * j]), "r"(b[2 * j + 1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 4; ++i) {
            int r = blockIdx.y * tile + row + lane / 4 + i / 2 * 8;
            C[r * N + blockIdx.x * tile + column + j * 8 + lane % 4 * 2 + i % 2] = c[j][i];
        }
}
