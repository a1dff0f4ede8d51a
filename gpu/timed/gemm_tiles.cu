// Matrix products to measure: C = A * B by CTAs of different tiles, that bring their data in
// different ways to tiles laid out in different ways.
//
//   A: M x K f16, B: K x N f16, C: M x N f32, row-major and dense; in wmma_XY A by rows or columns
//   (X: r, c) and B by rows or columns (Y). M and N are multiples of the tile, K of 32; the
//   matrices begin at multiples of 32 bytes. Arguments: A, B, C, M, N, K. Grid: N / columns of the
//   tile, M / rows of the tile.
//
//   gemm_ROWSxCOLUMNS_BRING_LAYOUT, mma.m16n8k16 on fragments that ldmatrix loads:
//     BRING   direct    loads through registers, barrier, products; one after another
//             async2    cp.async, two stages: one is brought while one is multiplied
//             async4    cp.async, four stages
//     LAYOUT  swizzled  chunks of 16 bytes lie so that ldmatrix has no bank conflicts
//             plain     rows of the tile one after another
//   CTA: 128 threads, of 128x128 256. Dynamic shared memory: 64 bytes for each row and column of
//   the tile, by the number of stages.
//
//   wmma_XY: tile 64x64, 128 threads, loads through registers, rows of shared memory padded by 8
//   elements.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>
#include <type_traits>

using namespace nvcuda;

constexpr int tile_k = 32;

enum class Layout { plain, swizzled };

// A tile's shape, its warps and how many of its CTAs a multiprocessor shall hold.
template <int rows, int columns, int warp_rows, int warp_columns, int resident_ctas>
struct Tile {
    static constexpr int m = rows, n = columns;
    static constexpr int warps_m = warp_rows, warps_n = warp_columns;
    static constexpr int threads = 32 * warps_m * warps_n;
    static constexpr int resident = resident_ctas;
    static constexpr int warp_m = m / warps_m, warp_n = n / warps_n;  // a warp's part
    static constexpr int a_chunks = m * tile_k / 8;
    static constexpr int b_chunks = n * tile_k / 8;
};
using Tile64x64 = Tile<64, 64, 2, 2, 4>;
using Tile128x64 = Tile<128, 64, 2, 2, 2>;
using Tile128x128 = Tile<128, 128, 2, 4, 2>;

// Where the chunk (8 elements) lies that has the element.
template <Layout layout>
__device__ int a_chunk(int row, int k) {
    const int swizzle = layout == Layout::swizzled ? row / 2 % 4 : 0;
    return tile_k / 8 * row + (k / 8 ^ swizzle);
}
template <class T, Layout layout>
__device__ int b_chunk(int k, int column) {
    const int swizzle = layout == Layout::swizzled ? k % 8 : 0;
    return T::n / 8 * k + (column / 8 ^ swizzle);
}

// One step along K in shared memory.
template <class T>
struct Stage {
    uint4 a[T::a_chunks];
    uint4 b[T::b_chunks];
};

static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

static __device__ void start_copy(uint4* to, const __half* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from))
                 : "memory");
}

static __device__ void commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }

template <int pending>
__device__ void wait() {
    asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
}

// What this CTA multiplies.
template <class T>
struct Operands {
    const __half* a;
    const __half* b;
    int n, k;
    __device__ Operands(const __half* A, const __half* B, int N, int K)
        : a(A + int64_t{K} * T::m * blockIdx.y), b(B + T::n * blockIdx.x), n(N), k(K) {}
    __device__ const __half* a_at(int row, int at) const { return a + int64_t{k} * row + at; }
    __device__ const __half* b_at(int at, int column) const { return b + int64_t{n} * at + column; }
};

// Calls f(row, k) for this thread's chunks of A, then g(k, column) for those of B.
template <class T, class F, class G>
__device__ void each_chunk(F f, G g) {
#pragma unroll
    for (int i = 0; i < T::a_chunks / T::threads; ++i) {
        const int chunk = T::threads * i + static_cast<int>(threadIdx.x);
        f(i, chunk / (tile_k / 8), chunk % (tile_k / 8) * 8);
    }
#pragma unroll
    for (int i = 0; i < T::b_chunks / T::threads; ++i) {
        const int chunk = T::threads * i + static_cast<int>(threadIdx.x);
        g(i, chunk / (T::n / 8), chunk % (T::n / 8) * 8);
    }
}

template <class T, Layout layout>
__device__ void bring_direct(Stage<T>& stage, const Operands<T>& from, int k) {
    uint4 a[T::a_chunks / T::threads], b[T::b_chunks / T::threads];
    each_chunk<T>([&](int i, int row,
                      int kk) { a[i] = *reinterpret_cast<const uint4*>(from.a_at(row, k + kk)); },
                  [&](int i, int kk, int column) {
                      b[i] = *reinterpret_cast<const uint4*>(from.b_at(k + kk, column));
                  });
    each_chunk<T>(
        [&](int i, int row, int kk) { stage.a[a_chunk<layout>(row, kk)] = a[i]; },
        [&](int i, int kk, int column) { stage.b[b_chunk<T, layout>(kk, column)] = b[i]; });
}

template <class T, Layout layout>
__device__ void bring_async(Stage<T>& stage, const Operands<T>& from, int k) {
    each_chunk<T>(
        [&](int, int row, int kk) {
            start_copy(&stage.a[a_chunk<layout>(row, kk)], from.a_at(row, k + kk));
        },
        [&](int, int kk, int column) {
            start_copy(&stage.b[b_chunk<T, layout>(kk, column)], from.b_at(k + kk, column));
        });
}

static __device__ void load_a(uint32_t (&a)[4], const uint4* chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(chunk))
                 : "memory");
}

// The fragments of two 16x8 parts of B.
static __device__ void load_b(uint32_t (&b)[4], const uint4* chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(shared_address(chunk))
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

// A warp's part of C.
template <class T>
struct Accumulators {
    float c[T::warp_m / 16][T::warp_n / 8][4];
};

template <class T>
__device__ int warp_row() {
    return static_cast<int>(threadIdx.x) / 32 / T::warps_n * T::warp_m;
}
template <class T>
__device__ int warp_column() {
    return static_cast<int>(threadIdx.x) / 32 % T::warps_n * T::warp_n;
}

template <class T, Layout layout>
__device__ void multiply(Accumulators<T>& sum, const Stage<T>& stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < tile_k; k += 16) {
        uint32_t b[T::warp_n / 16][4];
#pragma unroll
        for (int n = 0; n < T::warp_n / 16; ++n)
            load_b(b[n], &stage.b[b_chunk<T, layout>(k + lane % 16,
                                                     warp_column<T>() + 16 * n + lane / 16 * 8)]);
#pragma unroll
        for (int m = 0; m < T::warp_m / 16; ++m) {
            uint32_t a[4];
            load_a(
                a,
                &stage.a[a_chunk<layout>(warp_row<T>() + 16 * m + lane % 16, k + lane / 16 * 8)]);
#pragma unroll
            for (int n = 0; n < T::warp_n / 8; ++n)
                mma_m16n8k16(sum.c[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
    }
}

template <class T>
__device__ void store(const Accumulators<T>& sum, float* C, int N) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = T::m * static_cast<int>(blockIdx.y) + warp_row<T>() + lane / 4;
    const int column = T::n * static_cast<int>(blockIdx.x) + warp_column<T>() + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < T::warp_m / 16; ++m)
#pragma unroll
        for (int n = 0; n < T::warp_n / 8; ++n)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int64_t at = int64_t{N} * (row + 16 * m + 8 * half) + column + 8 * n;
                *reinterpret_cast<float2*>(C + at) =
                    make_float2(sum.c[m][n][2 * half], sum.c[m][n][2 * half + 1]);
            }
}

// stages: 0 for loads through registers.
template <class T, Layout layout, int stages>
__device__ void gemm(const __half* A, const __half* B, float* C, int N, int K) {
    extern __shared__ uint4 memory[];
    auto* const stage = reinterpret_cast<Stage<T>*>(memory);
    const Operands<T> from(A, B, N, K);
    Accumulators<T> sum = {};
    const int steps = K / tile_k;

    if constexpr (stages == 0) {
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            bring_direct<T, layout>(stage[0], from, tile_k * step);
            __syncthreads();
            multiply<T, layout>(sum, stage[0]);
            __syncthreads();
        }
    } else {
        // Groups are committed even where nothing is left to bring, so that their number is known.
#pragma unroll
        for (int step = 0; step < stages - 1; ++step) {
            if (step < steps) bring_async<T, layout>(stage[step], from, tile_k * step);
            commit();
        }
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            wait<stages - 2>();
            __syncthreads();
            const int next = step + stages - 1;
            if (next < steps) bring_async<T, layout>(stage[next % stages], from, tile_k * next);
            commit();
            multiply<T, layout>(sum, stage[step % stages]);
        }
    }
    store<T>(sum, C, N);
}

#define GEMM(NAME, TILE, LAYOUT, STAGES)                                        \
    extern "C" __global__ void __launch_bounds__(TILE::threads, TILE::resident) \
        NAME(const __half* A, const __half* B, float* C, int, int N, int K) {   \
        gemm<TILE, Layout::LAYOUT, STAGES>(A, B, C, N, K);                      \
    }

GEMM(gemm_64x64_direct_plain, Tile64x64, plain, 0)
GEMM(gemm_64x64_direct_swizzled, Tile64x64, swizzled, 0)
GEMM(gemm_64x64_async2_plain, Tile64x64, plain, 2)
GEMM(gemm_64x64_async2_swizzled, Tile64x64, swizzled, 2)
GEMM(gemm_64x64_async4_plain, Tile64x64, plain, 4)
GEMM(gemm_64x64_async4_swizzled, Tile64x64, swizzled, 4)
GEMM(gemm_128x64_direct_plain, Tile128x64, plain, 0)
GEMM(gemm_128x64_direct_swizzled, Tile128x64, swizzled, 0)
GEMM(gemm_128x64_async2_plain, Tile128x64, plain, 2)
GEMM(gemm_128x64_async2_swizzled, Tile128x64, swizzled, 2)
GEMM(gemm_128x64_async4_plain, Tile128x64, plain, 4)
GEMM(gemm_128x64_async4_swizzled, Tile128x64, swizzled, 4)
GEMM(gemm_128x128_direct_plain, Tile128x128, plain, 0)
GEMM(gemm_128x128_direct_swizzled, Tile128x128, swizzled, 0)
GEMM(gemm_128x128_async2_plain, Tile128x128, plain, 2)
GEMM(gemm_128x128_async2_swizzled, Tile128x128, swizzled, 2)
GEMM(gemm_128x128_async4_plain, Tile128x128, plain, 4)
GEMM(gemm_128x128_async4_swizzled, Tile128x128, swizzled, 4)

// A tile of a matrix with rows x columns elements for wmma, as its order has it: lines of the
// order, padded in shared memory.
template <class Order, int rows, int columns>
struct Piece {
    static constexpr bool by_rows = std::is_same_v<Order, wmma::row_major>;
    static constexpr int line = by_rows ? columns : rows;
    static constexpr int lines = by_rows ? rows : columns;
    static constexpr unsigned stride = line + 8;
    static constexpr int threads = 128;
    __half element[lines * stride];

    __device__ const __half* at(int row, int column) const {
        return element + (by_rows ? row * stride + column : column * stride + row);
    }
    // `from`: the tile's first element; `distance`: from line to line of the matrix.
    __device__ void bring(const __half* from, int distance) {
        constexpr int chunks = line / 8;
        uint4 held[lines * chunks / threads];
#pragma unroll
        for (int i = 0; i < lines * chunks / threads; ++i) {
            const int chunk = threads * i + static_cast<int>(threadIdx.x);
            held[i] = *reinterpret_cast<const uint4*>(from + int64_t{distance} * (chunk / chunks) +
                                                      chunk % chunks * 8);
        }
#pragma unroll
        for (int i = 0; i < lines * chunks / threads; ++i) {
            const int chunk = threads * i + static_cast<int>(threadIdx.x);
            *reinterpret_cast<uint4*>(element + stride * (chunk / chunks) + chunk % chunks * 8) =
                held[i];
        }
    }
};

template <class OrderA, class OrderB>
__device__ void wmma_gemm(const __half* A, const __half* B, float* C, int M, int N, int K) {
    using PieceA = Piece<OrderA, 64, tile_k>;
    using PieceB = Piece<OrderB, tile_k, 64>;
    __shared__ __align__(32) PieceA a;
    __shared__ __align__(32) PieceB b;
    const int row = 64 * static_cast<int>(blockIdx.y);
    const int column = 64 * static_cast<int>(blockIdx.x);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int warp_row = warp / 2 * 32;
    const int warp_column = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
#pragma unroll 1
    for (int k = 0; k < K; k += tile_k) {
        a.bring(PieceA::by_rows ? A + int64_t{K} * row + k : A + int64_t{M} * k + row,
                PieceA::by_rows ? K : M);
        b.bring(PieceB::by_rows ? B + int64_t{N} * k + column : B + int64_t{K} * column + k,
                PieceB::by_rows ? N : K);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < tile_k; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, OrderA> from_a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, OrderB> from_b[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(from_a[i], a.at(warp_row + 16 * i, kk), PieceA::stride);
                wmma::load_matrix_sync(from_b[i], b.at(kk, warp_column + 16 * i), PieceB::stride);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
                wmma::mma_sync(sum[i / 2][i % 2], from_a[i / 2], from_b[i % 2], sum[i / 2][i % 2]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        wmma::store_matrix_sync(
            C + int64_t{N} * (row + warp_row + i / 2 * 16) + column + warp_column + i % 2 * 16,
            sum[i / 2][i % 2], static_cast<unsigned>(N), wmma::mem_row_major);
}

#define WMMA(NAME, ORDER_A, ORDER_B)                                            \
    extern "C" __global__ void __launch_bounds__(128, 4)                        \
        NAME(const __half* A, const __half* B, float* C, int M, int N, int K) { \
        wmma_gemm<wmma::ORDER_A, wmma::ORDER_B>(A, B, C, M, N, K);              \
    }

WMMA(wmma_rr, row_major, row_major)
WMMA(wmma_rc, row_major, col_major)
WMMA(wmma_cr, col_major, row_major)
WMMA(wmma_cc, col_major, col_major)
// SPDX-License-Identifier: Apache-2.0
