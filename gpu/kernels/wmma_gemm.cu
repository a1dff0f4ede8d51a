// A matrix product as nvcuda::wmma code: C = alpha * A * B + beta * C.
//
//   A: M x K f16, B: K x N f16, each row-major or column-major by the entry's name ("row_col": A by
//   rows, B by columns), C: M x N f32, row-major; all dense. M, N and K are multiples of 16; the
//   matrices begin at multiples of 32 bytes. With beta = 0 C is not read.
//   Arguments: A, B, C, M, N, K, alpha, beta. Grid: ceil(N / 64), ceil(M / 64). CTA: 512 threads.
//
// A CTA computes a 64x64 tile of C; each of its 4x4 warps owns 16x16 of it and loads its own pieces
// of A and B from global memory.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>
#include <type_traits>

using namespace nvcuda;

constexpr int side = 16;  // of the tile that a warp multiplies at once
constexpr int warps = 4;  // along each side of a CTA's tile

// The tile at (row, column) of a dense matrix, and the distance of its lines.
template <class Order>
struct Place {
    static constexpr bool by_rows = std::is_same_v<Order, wmma::row_major>;
    int64_t offset;
    int stride;
    __device__ Place(int rows, int columns, int row, int column)
        : offset(by_rows ? int64_t{columns} * row + column : int64_t{rows} * column + row),
          stride(by_rows ? columns : rows) {}
};

template <class OrderA, class OrderB>
__device__ void product(const __half* A, const __half* B, float* C, int M, int N, int K,
                        float alpha, float beta) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int row = side * (warps * static_cast<int>(blockIdx.y) + warp / warps);
    const int column = side * (warps * static_cast<int>(blockIdx.x) + warp % warps);
    if (row >= M || column >= N) return;
    wmma::fragment<wmma::matrix_a, side, side, side, __half, OrderA> a;
    wmma::fragment<wmma::matrix_b, side, side, side, __half, OrderB> b;
    wmma::fragment<wmma::accumulator, side, side, side, float> sum, c;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < K; k += side) {
        const Place<OrderA> from_a(M, K, row, k);
        const Place<OrderB> from_b(K, N, k, column);
        wmma::load_matrix_sync(a, A + from_a.offset, static_cast<unsigned>(from_a.stride));
        wmma::load_matrix_sync(b, B + from_b.offset, static_cast<unsigned>(from_b.stride));
        wmma::mma_sync(sum, a, b, sum);
    }
    const Place<wmma::row_major> at(M, N, row, column);
    wmma::fill_fragment(c, 0.0f);
    if (beta != 0)
        wmma::load_matrix_sync(c, C + at.offset, static_cast<unsigned>(at.stride),
                               wmma::mem_row_major);
    for (int i = 0; i < c.num_elements; ++i) c.x[i] = alpha * sum.x[i] + beta * c.x[i];
    wmma::store_matrix_sync(C + at.offset, c, static_cast<unsigned>(at.stride),
                            wmma::mem_row_major);
}

using row = wmma::row_major;
using col = wmma::col_major;

extern "C" __global__ void wmma_gemm_row_row(const __half* A, const __half* B, float* C, int M,
                                             int N, int K, float alpha, float beta) {
    product<row, row>(A, B, C, M, N, K, alpha, beta);
}

extern "C" __global__ void wmma_gemm_row_col(const __half* A, const __half* B, float* C, int M,
                                             int N, int K, float alpha, float beta) {
    product<row, col>(A, B, C, M, N, K, alpha, beta);
}

extern "C" __global__ void wmma_gemm_col_row(const __half* A, const __half* B, float* C, int M,
                                             int N, int K, float alpha, float beta) {
    product<col, row>(A, B, C, M, N, K, alpha, beta);
}

extern "C" __global__ void wmma_gemm_col_col(const __half* A, const __half* B, float* C, int M,
                                             int N, int K, float alpha, float beta) {
    product<col, col>(A, B, C, M, N, K, alpha, beta);
}
// SPDX-License-Identifier: Apache-2.0
