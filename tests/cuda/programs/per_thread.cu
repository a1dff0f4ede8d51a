// SPDX-License-Identifier: Apache-2.0
// Each thread has a default stream of its own: other symbols of the same functions.
// nvcc: -default-stream per-thread
#include <thread>

#include "check.hpp"

__device__ int table[4];
__global__ void add(int* x, int a) { atomicAdd(x, a); }

int main() {
    int* x = nullptr;
    int h = 0;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    std::thread other([&] {
        for (int i = 0; i < 20; ++i) add<<<1, 1>>>(x, 1);
        OK(cudaStreamSynchronize(nullptr));
    });
    for (int i = 0; i < 20; ++i) add<<<1, 1>>>(x, 100);
    OK(cudaStreamSynchronize(nullptr));
    other.join();
    OK(cudaMemcpyAsync(&h, x, 4, cudaMemcpyDeviceToHost));
    OK(cudaStreamSynchronize(nullptr));
    CHECK(h == 2020);
    OK(cudaMemcpyToSymbol(table, &h, 4));
    OK(cudaMemcpyFromSymbol(&h, table, 4));
    CHECK(h == 2020);
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    OK(cudaEventRecord(e));
    OK(cudaStreamWaitEvent(nullptr, e));
    OK(cudaEventDestroy(e));
    return done("per_thread");
}
