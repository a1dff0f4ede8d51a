// SPDX-License-Identifier: Apache-2.0
// Which of the runtime's functions need a context; and the primary one where the driver was asked
// for it first: the runtime takes it where none is current, and work in a stream of it needs none.
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

bool is_current() {
    CUcontext now = nullptr;
    return cuCtxGetCurrent(&now) == CUDA_SUCCESS && now != nullptr;
}

bool is_active() {
    unsigned flags = 0;
    int active = 0;
    return cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// An H200 makes no context for what is asked of devices, pools and pointers.
void ask_of_devices() {
    int n = 0;
    unsigned flags = 0;
    char bus[32];
    cudaDeviceProp properties;
    cudaMemPool_t pool, mine;
    cudaMemPoolProps of_mine{};
    cudaPointerAttributes attributes;
    uint64_t threshold = 0;
    OK(cudaGetDeviceCount(&n));
    OK(cudaGetDevice(&n));
    CHECK(n == 0);
    OK(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0));
    OK(cudaGetDeviceProperties(&properties, 0));
    OK(cudaChooseDevice(&n, &properties));
    OK(cudaDeviceCanAccessPeer(&n, 0, 0));
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&n, bus));
    OK(cudaGetDeviceFlags(&flags));
    OK(cudaPointerGetAttributes(&attributes, &flags));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolTrimTo(pool, 0));
    of_mine.allocType = cudaMemAllocationTypePinned;
    of_mine.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&mine, &of_mine));
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaMemPoolDestroy(mine));
    OK(cudaDeviceReset());
    CHECK(!is_current() && !is_active());
    OK(cudaInitDevice(0, 0, 0));
    CHECK(!is_current() && is_active());
    std::thread([] {
        size_t stack = 0;
        OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
        CHECK(is_current());
    }).join();
    CHECK(!is_current());
}

int main() {
    ask_of_devices();
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
