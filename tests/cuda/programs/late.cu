// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies that do their work where somebody waits for them.
// nvcc: -arch=sm_80
// exec: --async late
#include <cuda_pipeline.h>

#include "check.hpp"

// What a copy brings, before it is waited for (faulty) and after.
__global__ void bring(const int* x, int* seen) {
    __shared__ int here;
    here = 7;
    __pipeline_memcpy_async(&here, x, sizeof here);
    __pipeline_commit();
    seen[0] = *static_cast<volatile int*>(&here);
    __pipeline_wait_prior(0);
    seen[1] = *static_cast<volatile int*>(&here);
}

int main() {
    int *x, *seen, h[2] = {5, 0};
    OK(cudaMalloc(&x, sizeof *x));
    OK(cudaMalloc(&seen, sizeof h));
    OK(cudaMemcpy(x, h, sizeof *x, cudaMemcpyHostToDevice));
    bring<<<1, 1>>>(x, seen);
    OK(cudaMemcpy(h, seen, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 7 && h[1] == 5);
    return done("late");
}
