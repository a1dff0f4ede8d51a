// SPDX-License-Identifier: Apache-2.0
// A sum by shuffles, shared memory and atomics, with templates and lambdas.
// nvcc: --extended-lambda
#include <cstdint>
#include <vector>

#include "check.hpp"

template <typename T, typename Map>
__global__ void reduce(const T* x, int n, T* out, Map map) {
    __shared__ T part[32];
    T sum{};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += map(x[i]);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : T{};
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

template <typename T, typename Map>
void test(Map map) {
    constexpr int n = 10000;
    std::vector<T> h(n);
    T expected{};
    for (int i = 0; i < n; ++i) {
        h[i] = static_cast<T>(i % 100);
        expected += map(h[i]);
    }
    T *d = nullptr, *out = nullptr, sum{};
    OK(cudaMalloc(&d, n * sizeof(T)));
    OK(cudaMalloc(&out, sizeof(T)));
    OK(cudaMemset(out, 0, sizeof(T)));
    OK(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    reduce<<<8, 256>>>(d, n, out, map);
    OK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(sum == expected);  // exact: whole numbers
    OK(cudaFree(d));
    OK(cudaFree(out));
}

int main() {
    const int factor = 3;
    test<int>([=] __host__ __device__(int x) { return factor * x; });
    test<float>([] __host__ __device__(float x) { return x + 1; });
    test<double>([] __host__ __device__(double x) { return x * x; });
    test<unsigned long long>([] __host__ __device__(unsigned long long x) { return x; });
    return done("reduction");
}
