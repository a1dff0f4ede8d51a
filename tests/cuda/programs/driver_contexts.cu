// SPDX-License-Identifier: Apache-2.0
// The driver API: contexts of the program's own and the primary one, and what they remember.
// nvcc: -lcuda
// exec: --devices 2
#include <cudaProfiler.h>

#include "driver_check.hpp"

void primary() {
    CUcontext first = nullptr, second = nullptr;
    unsigned flags = 9;
    int active = 9;
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    DO(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    DO(cuDevicePrimaryCtxRetain(&first, 0));
    DO(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(first == second);
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1 && flags == CU_CTX_SCHED_YIELD);
    DO(cuCtxSetCurrent(first));
    CUdeviceptr x = 0;
    DO(cuMemAlloc(&x, 16));
    unsigned long long id = 0, later = 0;
    DO(cuCtxGetId(first, &id));
    // It is gone, and stays the current one.
    DO(cuDevicePrimaryCtxReset(0));
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    DO(cuCtxGetCurrent(&second));
    CHECK(second == first);
    CUdevice device = 9;
    DO(cuCtxGetDevice(&device));
    CHECK(device == 0);
    CUstream stream = nullptr;
    size_t bytes = 0;
    unsigned version = 0;
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuMemFree(x), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuMemAlloc(&x, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuStreamCreate(&stream, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuCtxGetId(first, &later), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuCtxGetApiVersion(first, &version), CUDA_ERROR_INVALID_CONTEXT);
    DO(cuCtxSetCurrent(first));
    EXPECT_RESULT(cuMemAlloc(&x, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // Retained once more it is there again, for those too that had it.
    DO(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(second == first);
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1);
    DO(cuCtxGetId(first, &later));
    CHECK(later != id);
    DO(cuMemAlloc(&x, 16));
    DO(cuMemFree(x));
    for (int left = 3; left > 0; --left) {
        DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
        CHECK(active == 1);
        DO(cuDevicePrimaryCtxRelease(0));
    }
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    EXPECT_RESULT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuMemAlloc(&x, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    DO(cuCtxSetCurrent(nullptr));
}

void of_its_own() {
    World world;
    CUcontext now = nullptr;
    DO(cuCtxGetCurrent(&now));
    CHECK(now == world.context);
    DO(cuCtxPopCurrent(&now));
    CHECK(now == world.context);
    DO(cuCtxGetCurrent(&now));
    CHECK(now == nullptr);
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
    DO(cuCtxPushCurrent(world.context));
    DO(cuCtxSynchronize());
    DO(cuProfilerStart());
    DO(cuProfilerStop());
    CUcontext attached = nullptr;
    EXPECT_RESULT(cuCtxAttach(&attached, 1), CUDA_ERROR_INVALID_VALUE);
    DO(cuCtxAttach(&attached, 0));
    CHECK(attached == world.context);
    DO(cuCtxDetach(attached));
    DO(cuCtxSynchronize());
    CUdevice device = -1;
    DO(cuCtxGetDevice(&device));
    CHECK(device == 0);
    unsigned version = 0, flags = 0;
    DO(cuCtxGetApiVersion(world.context, &version));
    CHECK(version >= 3010);
    unsigned long long id = 0;
    DO(cuCtxGetId(world.context, &id));
    CHECK(id != 0);
    DO(cuCtxSetFlags(CU_CTX_SCHED_SPIN));
    DO(cuCtxGetFlags(&flags));
    CHECK(flags == CU_CTX_SCHED_SPIN);
    size_t bytes = 0;
    DO(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    CHECK(bytes == 1024);
    DO(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2049));
    EXPECT_RESULT(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512 << 10), CUDA_ERROR_INVALID_VALUE);
    DO(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    CHECK(bytes == 2064);
    DO(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    DO(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    CHECK(bytes == 4096);
    CUfunc_cache cache;
    DO(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
    DO(cuCtxGetCacheConfig(&cache));
    CHECK(cache == CU_FUNC_CACHE_PREFER_SHARED);
    CUsharedconfig banks;
    DO(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
    DO(cuCtxGetSharedMemConfig(&banks));
    CHECK(banks == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    int least = 9, greatest = 9;
    DO(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest < 0);
    DO(cuCtxResetPersistingL2Cache());
}

// Memory of another device.
void peers() {
    World world;
    CUcontext other = nullptr;
    DO(cuDevicePrimaryCtxRetain(&other, 1));
    DO(cuCtxPushCurrent(other));
    CUdeviceptr there = 0;
    DO(cuMemAlloc(&there, threads * sizeof(int)));
    DO(cuMemsetD32(there, 40, threads));
    DO(cuCtxSynchronize());  // other contexts do not wait for this one
    DO(cuCtxPopCurrent(nullptr));
    EXPECT_RESULT(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CUdeviceptr base = 0;
    size_t size = 0;
    EXPECT_RESULT(cuMemGetAddressRange(&base, &size, there + 4), CUDA_ERROR_NOT_FOUND);
    DO(cuCtxEnablePeerAccess(other, 0));
    DO(cuMemGetAddressRange(&base, &size, there + 4));
    CHECK(base == there && size == threads * sizeof(int));
    EXPECT_RESULT(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    world.launch_add(2, nullptr, there);
    CHECK(world.value(there) == 42);
    DO(cuMemcpyPeer(world.x, world.context, there, other, threads * sizeof(int)));
    CHECK(world.value() == 42);
    world.set(1);
    DO(cuMemcpyPeerAsync(there, other, world.x, world.context, threads * sizeof(int), nullptr));
    DO(cuCtxSynchronize());
    CHECK(world.value(there) == 1);
    DO(cuCtxDisablePeerAccess(other));
    // A function of one context's module is not another device's.
    DO(cuCtxPushCurrent(other));
    void* parameters[] = {&there};
    EXPECT_RESULT(
        cuLaunchKernel(world.twice, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr),
        CUDA_ERROR_INVALID_HANDLE);
    DO(cuMemFree(there));
    DO(cuCtxPopCurrent(nullptr));
    DO(cuDevicePrimaryCtxRelease(1));
}

int main() {
    DO(cuInit(0));
    primary();
    of_its_own();
    peers();
    return done("driver_contexts");
}
