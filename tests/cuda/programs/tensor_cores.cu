// SPDX-License-Identifier: Apache-2.0
// A product on tensor cores (WMMA), in a tile of 64 by 64, with asynchronous copies.
// nvcc: -arch=sm_80
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <vector>

#include "check.hpp"

constexpr int size = 64;

__global__ void multiply(const half* a, const half* b, float* d) {
    namespace wmma = nvcuda::wmma;
    __shared__ __align__(16) half tile[16 * size];
    const int row = blockIdx.y * 16, column = threadIdx.x / 32 * 16;
    for (int i = threadIdx.x; i < 16 * size / 8; i += blockDim.x)
        __pipeline_memcpy_async(tile + 8 * i, a + row * size + 8 * i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < size; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, tile + k, size);
        wmma::load_matrix_sync(fb, b + k * size + column, size);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(d + row * size + column, sum, size, wmma::mem_row_major);
}

int main() {
    std::vector<half> a(size * size), b(size * size);
    std::vector<float> d(size * size);
    for (int i = 0; i < size * size; ++i) {
        a[i] = __float2half(static_cast<float>(i % 7 - 3));
        b[i] = __float2half(static_cast<float>(i % 5 - 2));
    }
    half *da = nullptr, *db = nullptr;
    float* dd = nullptr;
    OK(cudaMalloc(&da, sizeof(half) * a.size()));
    OK(cudaMalloc(&db, sizeof(half) * b.size()));
    OK(cudaMalloc(&dd, sizeof(float) * d.size()));
    OK(cudaMemcpy(da, a.data(), sizeof(half) * a.size(), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b.data(), sizeof(half) * b.size(), cudaMemcpyHostToDevice));
    multiply<<<dim3(1, size / 16), 128>>>(da, db, dd);
    OK(cudaGetLastError());
    OK(cudaMemcpy(d.data(), dd, sizeof(float) * d.size(), cudaMemcpyDeviceToHost));
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            float sum = 0;
            for (int k = 0; k < size; ++k)
                sum += __half2float(a[i * size + k]) * __half2float(b[k * size + j]);
            CHECK(d[i * size + j] == sum);  // exact: small whole numbers
        }
    return done("tensor_cores");
}
