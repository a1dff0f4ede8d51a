// SPDX-License-Identifier: Apache-2.0
// A kernel, memory and copies.
#include "check.hpp"

__global__ void scale(float* x, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * x[i] + 1;
}

int main() {
    constexpr int n = 1000;
    float h[n];
    for (int i = 0; i < n; ++i) h[i] = static_cast<float>(i);
    float* d = nullptr;
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    scale<<<8, 128>>>(d, 2.0f, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) CHECK(h[i] == 2.0f * static_cast<float>(i) + 1.0f);
    OK(cudaFree(d));
    OK(cudaDeviceReset());
    return done("hello");
}
