// Kernels whose parameters are not plain: many, empty structs, structs by value, arrays of
// pointers; and two that run one after the other.
//
// eighteen: out[i] = the sum of nine scalars + i. Of its 18 parameters nine are empty structs.
// grouped: D[g] = A[g] * B[g] for each group g = blockIdx.x, all 16 x 16 of f16 and f32, row-major;
//   A, B and D are arrays of pointers. One warp a group.
// split: parts[s] = A * B over the K of split s = blockIdx.x; combine: D = the sum of the parts.
// scaled: out[i] = sum over terms of scale * in[i * stride + term], as a struct of 472 bytes says.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

struct Empty {};

extern "C" __global__ void eighteen(Empty, int a, Empty, int b, Empty, long long c, Empty, int d,
                                    Empty, short e, Empty, int f, Empty, unsigned g, Empty,
                                    unsigned char h, Empty, long long* out) {
    out[threadIdx.x] =
        a + b + c + d + e + f + static_cast<int>(g) + h + static_cast<long long>(threadIdx.x);
}

constexpr int side = 16;

__device__ void multiply(const __half* A, int lda, const __half* B, int ldb, float* D, int ldd,
                         int k) {
    wmma::fragment<wmma::matrix_a, side, side, side, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, side, side, side, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, side, side, side, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int i = 0; i < k; i += side) {
        wmma::load_matrix_sync(a, A + i, lda);
        wmma::load_matrix_sync(b, B + i * ldb, ldb);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(D, c, ldd, wmma::mem_row_major);
}

extern "C" __global__ void grouped(const __half* const* A, const __half* const* B,
                                   float* const* D) {
    const int g = static_cast<int>(blockIdx.x);
    multiply(A[g], side, B[g], side, D[g], side, side);
}

extern "C" __global__ void split(const __half* A, const __half* B, float* parts, int K) {
    const int each = K / static_cast<int>(gridDim.x);
    const int first = each * static_cast<int>(blockIdx.x);
    multiply(A + first, K, B + first * side, side, parts + side * side * blockIdx.x, side, each);
}

extern "C" __global__ void combine(const float* parts, float* D, int splits) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int s = 0; s < splits; ++s) sum += parts[s * side * side + static_cast<int>(i)];
    D[i] = sum;
}

struct Scaled {
    struct Shape {
        int terms, stride;
    } shape;
    const float* in;
    float* out;
    float scale;
    unsigned char flags[4];
    long long strides[55];
};
static_assert(sizeof(Scaled) == 472);

extern "C" __global__ void scaled(const __grid_constant__ Scaled p) {
    const int i = static_cast<int>(threadIdx.x);
    float sum = 0;
    for (int t = 0; t < p.shape.terms; ++t) sum += p.scale * p.in[i * p.shape.stride + t];
    p.out[i * p.strides[54]] = sum;
}
// SPDX-License-Identifier: Apache-2.0
