// A product by CTAs that stay: C = A * B', tile after tile from a counter in global memory until
// none is left.
//
//   A: M x K f16, B: N x K f16, both row-major, K a multiple of 8, at multiples of 16 bytes; C:
//   M x N f32, row-major. Arguments: A, B, C, counter (u32, 0 at first), M, N, K.
//   Grid: any number of CTAs, in x. CTA: 128 threads.
//
// A tile is 32x32 of C; each of the four warps owns 16x16 of it.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int tile = 32;
constexpr int tile_k = 32;
constexpr int threads = 128;

// One step along K: four chunks of 16 bytes to a row, swizzled over pairs of rows.
struct Stage {
    uint4 a[tile * tile_k / 8];
    uint4 b[tile * tile_k / 8];
};

static __device__ int chunk(int row, int k) { return 4 * row + (k / 8 ^ row / 2 % 4); }

static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Starts to copy this thread's chunk of a tile; what is outside of the matrix becomes zeros.
static __device__ void copy(uint4* to, const __half* matrix, int rows, int K, int first, int k) {
    const int row = threadIdx.x / 4;
    const int column = threadIdx.x % 4 * 8;
    const bool inside = first + row < rows && k + column < K;
    const __half* from = inside ? matrix + int64_t{K} * (first + row) + k + column : matrix;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(&to[chunk(row, column)])),
                   "l"(__cvta_generic_to_global(from)), "r"(inside ? 16 : 0)
                 : "memory");
}

static __device__ void copy_stage(Stage& stage, const __half* A, const __half* B, int M, int N,
                                  int K, int row, int column, int k) {
    copy(stage.a, A, M, K, row, k);
    copy(stage.b, B, N, K, column, k);
    asm volatile("cp.async.commit_group;" : : : "memory");
}

static __device__ void load(uint32_t (&r)[4], const uint4* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(from))
                 : "memory");
}

static __device__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ void multiply(Stage (&stages)[2], const __half* A, const __half* B, float* C,
                                int M, int N, int K, int row, int column) {
    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x / 64 * 16;
    const int warp_column = threadIdx.x / 32 % 2 * 16;
    float c[2][4] = {};
    copy_stage(stages[0], A, B, M, N, K, row, column, 0);
    int now = 0;
    for (int k = 0; k < K; k += tile_k) {
        // Past the end of K this copies zeros, which nothing reads.
        copy_stage(stages[now ^ 1], A, B, M, N, K, row, column, k + tile_k);
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        __syncthreads();
        for (int kk = 0; kk < tile_k; kk += 16) {
            uint32_t a[4], b[4];
            load(a, &stages[now].a[chunk(warp_row + lane % 16, kk + lane / 16 * 8)]);
            load(b, &stages[now]
                         .b[chunk(warp_column + lane / 16 * 8 + lane % 8, kk + lane / 8 % 2 * 8)]);
            mma(c[0], a, b[0], b[1]);
            mma(c[1], a, b[2], b[3]);
        }
        __syncthreads();
        now ^= 1;
    }
    asm volatile("cp.async.wait_all;" : : : "memory");
    for (int n = 0; n < 2; ++n) {
        for (int i = 0; i < 4; ++i) {
            const int r = row + warp_row + lane / 4 + i / 2 * 8;
            const int s = column + warp_column + 8 * n + lane % 4 * 2 + i % 2;
            if (r < M && s < N) C[int64_t{N} * r + s] = c[n][i];
        }
    }
}

extern "C" __global__ void __launch_bounds__(threads)
    persistent_gemm(const __half* A, const __half* B, float* C, unsigned* counter, int M, int N,
                    int K) {
    __shared__ Stage stages[2];
    __shared__ unsigned next;
    const unsigned across = (N + tile - 1) / tile;
    const unsigned tiles = (M + tile - 1) / tile * across;
    while (true) {
        if (threadIdx.x == 0) next = atomicAdd(counter, 1);
        __syncthreads();
        const unsigned mine = next;
        __syncthreads();
        if (mine >= tiles) return;
        multiply(stages, A, B, C, M, N, K, mine / across * tile, mine % across * tile);
    }
}
// SPDX-License-Identifier: Apache-2.0
