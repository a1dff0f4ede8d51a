// SPDX-License-Identifier: Apache-2.0
// The primary context where the driver was asked for it first: the runtime takes it where none is
// current, and work in a stream of it needs none.
// nvcc: -lcuda
#include <cuda.h>

#include <thread>

#include "check.hpp"

__global__ void fill(int* x) { x[threadIdx.x] = 4; }

void use_the_runtime(CUcontext primary) {
    int* x = nullptr;
    int h[32] = {};
    OK(cudaMalloc(&x, sizeof h));
    fill<<<1, 32>>>(x);
    OK(cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost));
    for (int i : h) CHECK(i == 4);
    OK(cudaFree(x));
    CUcontext now = nullptr;
    CHECK(cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == primary);
}

int main() {
    CUcontext primary = nullptr, popped = nullptr;
    CUstream stream = nullptr;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
    CHECK(cuCtxPushCurrent(primary) == CUDA_SUCCESS);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(cuCtxPopCurrent(&popped) == CUDA_SUCCESS && popped == primary);

    CUmemoryPool pool = nullptr;
    CUdeviceptr y = 0;
    CHECK(cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
    CHECK(cuMemAllocFromPoolAsync(&y, 64, pool, stream) == CUDA_SUCCESS);
    CHECK(cuMemFreeAsync(y, stream) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CUcontext now = primary;
    CHECK(cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == nullptr);

    std::thread([&] { use_the_runtime(primary); }).join();
    use_the_runtime(primary);
    CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    return done("primary_context");
}
