// SPDX-License-Identifier: Apache-2.0
// Machine code alone: kernels have no image, and what is not a kernel works.
// nvcc: -gencode arch=compute_80,code=sm_80
#include "check.hpp"

__device__ int variable;
__global__ void store(int* x) { *x = 1; }

int main() {
    int* x = nullptr;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    for (int i = 0; i < 2; ++i) {
        store<<<1, 1>>>(x);
        EXPECT_ERROR(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    }
    cudaFuncAttributes a;
    EXPECT_ERROR(cudaFuncGetAttributes(&a, store), cudaErrorNoKernelImageForDevice);
    void* address = nullptr;
    EXPECT_ERROR(cudaGetSymbolAddress(&address, variable), cudaErrorNoKernelImageForDevice);
    cudaGetLastError();
    int h = 9;
    OK(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost));
    CHECK(h == 0);
    return done("no_ptx");
}
