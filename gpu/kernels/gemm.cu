// A tiled matrix product for any M, N and K: C = A * B.
//
//   A: M x K f16, B: K x N f16, C: M x N f32 (f16 in gemm_sm80_f16), all row-major and dense.
//   Arguments: A, B, C, M, N, K. Grid: ceil(N / 64), ceil(M / 64). CTA: 128 threads.
//
// A CTA computes a 64x64 tile of C and walks along K in steps of 32; each of its four warps owns a
// 32x32 quarter. The same program in three generations, chosen by TARGET:
//
//   gemm_sm80  cp.async into two buffers, ldmatrix, mma.m16n8k16. 16384 bytes of dynamic shared
//              memory.
//   gemm_sm75  loads through registers, ldmatrix, mma.m16n8k8.
//   gemm_sm70  loads through registers, ordinary loads of the fragments, mma.m8n8k4.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int tile_m = 64;
constexpr int tile_n = 64;
constexpr int tile_k = 32;
constexpr int threads = 128;

// One step along K in shared memory, both matrices row-major, in chunks of 16 bytes (8 elements).
// An XOR with the row swizzles the chunks so that the eight chunks which ldmatrix reads down a
// column lie in different banks. Four chunks make a row of A: two rows share the 32 banks.
struct Stage {
    uint4 a[tile_m * tile_k / 8];
    uint4 b[tile_k * tile_n / 8];
};

static __device__ int a_chunk(int row, int k) { return 4 * row + (k / 8 ^ row / 2 % 4); }
static __device__ int b_chunk(int k, int column) { return 8 * k + (column / 8 ^ k % 8); }

// Whether the chunks of a matrix lie at multiples of 16 bytes, each one in the matrix or outside of
// it as a whole.
static __device__ bool has_whole_chunks(const __half* matrix, int columns) {
    return columns % 8 == 0 && reinterpret_cast<uintptr_t>(matrix) % 16 == 0;
}

// The chunk at (row, column), read one element at a time; those outside of the matrix are zero.
static __device__ uint4 load_elements(const __half* matrix, int rows, int columns, int row,
                                      int column) {
    const auto* line = reinterpret_cast<const uint16_t*>(matrix) + int64_t{columns} * row + column;
    uint32_t pair[4] = {0, 0, 0, 0};
    for (int i = 0; i < 8; ++i) {
        uint32_t element = row < rows && column + i < columns ? line[i] : 0;
        pair[i / 2] |= element << 16 * (i % 2);
    }
    return {pair[0], pair[1], pair[2], pair[3]};
}

// Where this warp's quarter begins in the tile of C.
static __device__ int warp_row() { return threadIdx.x / 32 / 2 * 32; }
static __device__ int warp_column() { return threadIdx.x / 32 % 2 * 32; }

template <typename T>
__device__ void store(T* C, int M, int N, int row, int column, float value) {
    row += tile_m * blockIdx.y;
    column += tile_n * blockIdx.x;
    if (row < M && column < N) C[int64_t{N} * row + column] = T(value);
}

#if TARGET <= 75
static __device__ uint4 load_chunk(const __half* matrix, int rows, int columns, int row,
                                   int column) {
    if (!has_whole_chunks(matrix, columns)) {
        return load_elements(matrix, rows, columns, row, column);
    }
    if (row >= rows || column >= columns) return {0, 0, 0, 0};
    return *reinterpret_cast<const uint4*>(matrix + int64_t{columns} * row + column);
}

// Copies the tile of A and of B at k through registers. 256 chunks each: two for every thread.
static __device__ void load_stage(Stage& stage, const __half* A, const __half* B, int M, int N,
                                  int K, int k) {
    for (unsigned i = threadIdx.x; i < tile_m * tile_k / 8; i += threads) {
        int row = i / 4;
        int column = i % 4 * 8;
        stage.a[a_chunk(row, column)] = load_chunk(A, M, K, tile_m * blockIdx.y + row, k + column);
    }
    for (unsigned i = threadIdx.x; i < tile_k * tile_n / 8; i += threads) {
        int row = i / 8;
        int column = i % 8 * 8;
        stage.b[b_chunk(row, column)] = load_chunk(B, K, N, k + row, tile_n * blockIdx.x + column);
    }
}
#endif

#if TARGET >= 75
static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// The fragment of the 16x16 part of A at (row, k).
static __device__ void load_a(uint32_t (&a)[4], const Stage& stage, int row, int k) {
    unsigned lane = threadIdx.x % 32;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(&stage.a[a_chunk(row + lane % 16, k + lane / 16 * 8)]))
                 : "memory");
}

// Writes a lane's accumulators of the 16x8 part of C at (row, column).
template <typename T>
__device__ void store_16x8(T* C, int M, int N, int row, int column, const float (&c)[4]) {
    unsigned lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        store(C, M, N, row + lane / 4 + i / 2 * 8, column + lane % 4 * 2 + i % 2, c[i]);
    }
}
#endif

#if TARGET == 80

// Starts to copy a chunk to shared memory, or zeros where it is outside of the matrix: cp.async
// reads src-size bytes and fills up with zeros.
static __device__ void copy_chunk(uint4* to, const __half* matrix, int rows, int columns, int row,
                                  int column) {
    if (!has_whole_chunks(matrix, columns)) {
        *to = load_elements(matrix, rows, columns, row, column);
        return;
    }
    bool inside = row < rows && column < columns;
    const __half* from = inside ? matrix + int64_t{columns} * row + column : matrix;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)),
                   "r"(inside ? 16 : 0)
                 : "memory");
}

static __device__ void copy_stage(Stage& stage, const __half* A, const __half* B, int M, int N,
                                  int K, int k) {
    for (unsigned i = threadIdx.x; i < tile_m * tile_k / 8; i += threads) {
        int row = i / 4;
        int column = i % 4 * 8;
        copy_chunk(&stage.a[a_chunk(row, column)], A, M, K, tile_m * blockIdx.y + row, k + column);
    }
    for (unsigned i = threadIdx.x; i < tile_k * tile_n / 8; i += threads) {
        int row = i / 8;
        int column = i % 8 * 8;
        copy_chunk(&stage.b[b_chunk(row, column)], B, K, N, k + row, tile_n * blockIdx.x + column);
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// The fragments of two 16x8 parts of B, at (k, column) and (k, column + 8). B is row-major in
// shared memory and its fragments are columns: .trans.
static __device__ void load_b(uint32_t (&b)[4], const Stage& stage, int k, int column) {
    unsigned lane = threadIdx.x % 32;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(shared_address(&stage.b[b_chunk(k + lane % 16, column + lane / 16 * 8)]))
                 : "memory");
}

static __device__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <typename T>
__device__ void gemm(const __half* A, const __half* B, T* C, int M, int N, int K) {
    extern __shared__ Stage stages[];
    float c[2][4][4] = {};

    copy_stage(stages[0], A, B, M, N, K, 0);
    int stage = 0;
    for (int k = 0; k < K; k += tile_k) {
        // Past the end of K this copies zeros, which nothing reads.
        copy_stage(stages[stage ^ 1], A, B, M, N, K, k + tile_k);
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        __syncthreads();

        for (int kk = 0; kk < tile_k; kk += 16) {
            uint32_t b[2][4];
            load_b(b[0], stages[stage], kk, warp_column());
            load_b(b[1], stages[stage], kk, warp_column() + 16);
            for (int m = 0; m < 2; ++m) {
                uint32_t a[4];
                load_a(a, stages[stage], warp_row() + 16 * m, kk);
                for (int n = 0; n < 4; ++n) {
                    mma_m16n8k16(c[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads();
        stage ^= 1;
    }

    for (int m = 0; m < 2; ++m) {
        for (int n = 0; n < 4; ++n) {
            store_16x8(C, M, N, warp_row() + 16 * m, warp_column() + 8 * n, c[m][n]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(threads)
    gemm_sm80(const __half* A, const __half* B, float* C, int M, int N, int K) {
    gemm(A, B, C, M, N, K);
}

extern "C" __global__ void __launch_bounds__(threads)
    gemm_sm80_f16(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    gemm(A, B, C, M, N, K);
}

#elif TARGET == 75

// The fragments of the 16x8 part of B at (k, column), for two steps of 8 along K.
static __device__ void load_b(uint32_t (&b)[2], const Stage& stage, int k, int column) {
    unsigned lane = threadIdx.x % 32;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(shared_address(&stage.b[b_chunk(k + lane % 16, column)]))
                 : "memory");
}

static __device__ void mma_m16n8k8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b));
}

extern "C" __global__ void __launch_bounds__(threads)
    gemm_sm75(const __half* A, const __half* B, float* C, int M, int N, int K) {
    __shared__ Stage stage;
    float c[2][4][4] = {};

    for (int k = 0; k < K; k += tile_k) {
        load_stage(stage, A, B, M, N, K, k);
        __syncthreads();

        for (int kk = 0; kk < tile_k; kk += 16) {
            uint32_t a[2][4];
            load_a(a[0], stage, warp_row(), kk);
            load_a(a[1], stage, warp_row() + 16, kk);
            for (int n = 0; n < 4; ++n) {
                uint32_t b[2];
                load_b(b, stage, kk, warp_column() + 8 * n);
                for (int m = 0; m < 2; ++m) {
                    mma_m16n8k8(c[m][n], a[m][0], a[m][1], b[0]);
                    mma_m16n8k8(c[m][n], a[m][2], a[m][3], b[1]);
                }
            }
        }
        __syncthreads();
    }

    for (int m = 0; m < 2; ++m) {
        for (int n = 0; n < 4; ++n) {
            store_16x8(C, M, N, warp_row() + 16 * m, warp_column() + 8 * n, c[m][n]);
        }
    }
}

#elif TARGET == 70

// Half a chunk: four elements side by side, one lane's fragment of A or of B.
static __device__ uint2 load_fragment(const uint4* chunk, unsigned half) {
    return reinterpret_cast<const uint2*>(chunk)[half];
}

static __device__ void mma_m8n8k4(float (&c)[8], uint2 a, uint2 b) {
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7])
        : "r"(a.x), "r"(a.y), "r"(b.x), "r"(b.y));
}

extern "C" __global__ void __launch_bounds__(threads)
    gemm_sm70(const __half* A, const __half* B, float* C, int M, int N, int K) {
    __shared__ Stage stage;
    float c[2][2][8] = {};

    // Each of the four quad-pairs owns a 16x16 quarter of the warp's 32x32.
    unsigned lane = threadIdx.x % 32;
    unsigned quad_pair = lane / 4 % 4;
    unsigned high = lane / 16;
    int quarter_row = warp_row() + quad_pair / 2 * 16;
    int quarter_column = warp_column() + quad_pair % 2 * 16;

    for (int k = 0; k < K; k += tile_k) {
        load_stage(stage, A, B, M, N, K, k);
        __syncthreads();

        for (int kk = 0; kk < tile_k; kk += 4) {
            uint2 a[2], b[2];
            for (int i = 0; i < 2; ++i) {
                int row = quarter_row + 8 * i + lane % 4 + 4 * high;
                a[i] = load_fragment(&stage.a[a_chunk(row, kk)], kk / 4 % 2);
                b[i] =
                    load_fragment(&stage.b[b_chunk(kk + lane % 4, quarter_column + 8 * i)], high);
            }
            for (int m = 0; m < 2; ++m) {
                for (int n = 0; n < 2; ++n) mma_m8n8k4(c[m][n], a[m], b[n]);
            }
        }
        __syncthreads();
    }

    for (int m = 0; m < 2; ++m) {
        for (int n = 0; n < 2; ++n) {
            for (int i = 0; i < 8; ++i) {
                int row = quarter_row + 8 * m + (lane & 1) + (i & 2) + 4 * high;
                int column = quarter_column + 8 * n + (i & 4) + (lane & 2) + (i & 1);
                store(C, M, N, row, column, c[m][n][i]);
            }
        }
    }
}

#else
#error "TARGET is 70, 75 or 80"
#endif
// SPDX-License-Identifier: Apache-2.0
