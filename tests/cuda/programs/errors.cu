// SPDX-License-Identifier: Apache-2.0
// Errors: their names, the last one, those of launches, and those that stay.
#include <cstring>

#include "check.hpp"

__global__ void empty() {}
__global__ void store(int* x) { *x = 1; }
__global__ void __launch_bounds__(64) bounded() {}

int main() {
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
    CHECK(std::strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    CHECK(std::strcmp(cudaGetErrorName(static_cast<cudaError_t>(5555)),
                      "unrecognized error code") == 0);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_ERROR(cudaSetDevice(7), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaSuccess);

    empty<<<1, 2048>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    empty<<<0, 1>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    empty<<<1, 1, 1 << 20>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    bounded<<<1, 128>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    int host = 0;
    EXPECT_ERROR(cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr),
                 cudaErrorInvalidResourceHandle);
    int x = 0;
    EXPECT_ERROR(cudaMemcpy(&x, &x, 4, static_cast<cudaMemcpyKind>(9)),
                 cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(cudaMemcpyToSymbol(&host, &x, 4), cudaErrorInvalidSymbol);
    cudaGetLastError();
    empty<<<1, 1>>>();
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());

    // An illegal address stays.
    store<<<1, 1>>>(reinterpret_cast<int*>(0x100));
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    void* p = nullptr;
    EXPECT_ERROR(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    return done("errors");
}
