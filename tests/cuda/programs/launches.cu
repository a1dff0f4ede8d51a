// SPDX-License-Identifier: Apache-2.0
// Every way to launch, and what is asked about kernels.
#include <cooperative_groups.h>

#include <cstring>

#include "check.hpp"

__global__ void add(int* x, int a) { atomicAdd(x, a); }
__global__ void __launch_bounds__(256) shared_user(int* x) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[16];
    dynamic[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) fixed[threadIdx.x] = 1;
    __syncthreads();
    atomicAdd(x, dynamic[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x % 16]);
}
__global__ void across_grid(int* x, int* y) {
    atomicAdd(x, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) y[blockIdx.x] = *x;
}

int value(const int* x) {
    int h = 0;
    OK(cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost));
    return h;
}

int called = 0;
void call(void* by) { called += *static_cast<int*>(by); }

void launches(int* x) {
    add<<<2, 3>>>(x, 1);
    OK(cudaGetLastError());
    CHECK(value(x) == 6);
    int a = 10;
    void* parameters[] = {&x, &a};
    OK(cudaLaunchKernel(reinterpret_cast<const void*>(add), dim3(1), dim3(2), parameters, 0,
                        nullptr));
    CHECK(value(x) == 26);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(2);
    config.blockDim = dim3(1);
    OK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(add), parameters));
    CHECK(value(x) == 46);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 0;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, add, x, 4));
    CHECK(value(x) == 54);
    cudaFunction_t function;
    OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(add)));
    OK(cudaLaunchKernel(reinterpret_cast<const void*>(function), dim3(1), dim3(1), parameters, 0,
                        nullptr));
    CHECK(value(x) == 64);
    cudaKernel_t kernel;
    OK(cudaGetKernel(&kernel, reinterpret_cast<const void*>(add)));
    OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), parameters, 0,
                        nullptr));
    CHECK(value(x) == 74);
    int one = 1;
    OK(cudaLaunchHostFunc(nullptr, call, &one));
    OK(cudaDeviceSynchronize());
    CHECK(called == 1);
}

void cooperative(int* x) {
    int* y = nullptr;
    OK(cudaMalloc(&y, 8 * sizeof(int)));
    OK(cudaMemset(x, 0, sizeof *x));
    void* parameters[] = {&x, &y};
    OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(across_grid), dim3(8), dim3(32),
                                   parameters, 0, nullptr));
    for (int i = 0; i < 8; ++i) CHECK(value(y + i) == 256);
    OK(cudaFree(y));
}

void about(int* x) {
    const void* const kernel = reinterpret_cast<const void*>(shared_user);
    cudaFuncAttributes a;
    std::memset(&a, 0xff, sizeof a);
    OK(cudaFuncGetAttributes(&a, shared_user));
    CHECK(a.sharedSizeBytes == 64 && a.maxThreadsPerBlock == 256 && a.numRegs > 0);
    CHECK(a.ptxVersion * 10 == __CUDA_ARCH_LIST__ && a.binaryVersion == architecture());
    CHECK(a.maxDynamicSharedSizeBytes == 48 * 1024 - 64);
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    OK(cudaFuncGetAttributes(&a, kernel));
    CHECK(a.maxDynamicSharedSizeBytes == 100 * 1024);
    OK(cudaMemset(x, 0, sizeof *x));
    shared_user<<<1, 256, 90 * 1024>>>(x);
    OK(cudaGetLastError());
    CHECK(value(x) == 255 * 128 + 256);
    EXPECT_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
                 cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
    OK(cudaFuncSetSharedMemConfig(kernel, cudaSharedMemBankSizeFourByte));
    const char* name = nullptr;
    OK(cudaFuncGetName(&name, kernel));
    CHECK(std::strstr(name, "shared_user") != nullptr);
    size_t offset = 9, size = 0;
    OK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(add), 1, &offset, &size));
    CHECK(offset == 8 && size == 4);
    cudaKernel_t handle;
    OK(cudaGetKernel(&handle, kernel));
    OK(cudaKernelSetAttributeForDevice(handle, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       64 * 1024, 0));

    int ctas = 0, grid = 0, block = 0;
    size_t free_shared = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, shared_user, 256, 0));
    CHECK(ctas == 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, shared_user, 256, 60 * 1024));
    CHECK(ctas == 2);
    // Its __launch_bounds__ do not count, though no such launch is taken.
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&ctas, shared_user, 512, 0, 0));
    CHECK(ctas == 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&ctas, shared_user, 1025, 0, 0));
    CHECK(ctas == 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, shared_user, 0, 0));
    CHECK(block == 256 && grid == 8 * 108);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&free_shared, shared_user, 2, 256));
    CHECK(free_shared > 0);
}

int main() {
    int* x = nullptr;
    OK(cudaMalloc(&x, sizeof(int)));
    OK(cudaMemset(x, 0, sizeof(int)));
    launches(x);
    cooperative(x);
    about(x);
    OK(cudaFree(x));
    return done("launches");
}
