// SPDX-License-Identifier: Apache-2.0
// Threads of the host that launch at a time, each with a stream and errors of its own.
#include <thread>
#include <vector>

#include "check.hpp"

__global__ void step(int* x) { x[threadIdx.x] += threadIdx.x + 1; }

void work(int number) {
    cudaStream_t s;
    int* x = nullptr;
    int h[64];
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc(&x, sizeof h));
    OK(cudaMemsetAsync(x, 0, sizeof h, s));
    for (int i = 0; i < 50 + number; ++i) step<<<1, 64, 0, s>>>(x);
    OK(cudaGetLastError());
    if (number % 2 == 1) {
        EXPECT_ERROR(cudaSetDevice(5), cudaErrorInvalidDevice);
        EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidDevice);
    }
    OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < 64; ++i) CHECK(h[i] == (i + 1) * (50 + number));
    EXPECT_ERROR(cudaPeekAtLastError(), cudaSuccess);
    OK(cudaFree(x));
    OK(cudaStreamDestroy(s));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(work, i);
    for (std::thread& t : threads) t.join();
    return done("threads");
}
