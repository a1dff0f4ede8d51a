// SPDX-License-Identifier: Apache-2.0
// Two files compiled apart: functions and variables of the device that one defines and both use.
// nvcc: -rdc=true
// with: parts/linked_other.cu
#include "check.hpp"

extern __device__ int everywhere;
extern __constant__ float factor[4];
extern __device__ float squared_and(float x);
static __device__ int own = 3;
void launch_other(float* x);

__global__ void here(float* x) {
    const int i = threadIdx.x;
    x[i] = squared_and(x[i]) * factor[1] + everywhere + own;
}

__global__ void by_pointer(float* x, float (**function)(float)) { *x = (*function)(*x); }
__device__ float (*pointer)(float) = squared_and;

// An address that one kernel takes, no variable has, and another kernel calls.
using Function = float (*)(float);
__device__ float doubled(float x) { return x + x; }
__global__ void leave(Function* out) { *out = doubled; }
__global__ void by_value(float* x, Function function) { *x = function(*x); }

int main() {
    float h[32];
    float* d = nullptr;
    for (int i = 0; i < 32; ++i) h[i] = static_cast<float>(i);
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    here<<<1, 32>>>(d);
    OK(cudaGetLastError());
    launch_other(d);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; ++i) CHECK(h[i] == static_cast<float>((i * i + 7) * 2 + 100 + 3 + 4));
    const int other = 200;
    OK(cudaMemcpyToSymbol(everywhere, &other, sizeof other));
    const float two = 2;
    OK(cudaMemcpy(d, &two, sizeof two, cudaMemcpyHostToDevice));
    void* function = nullptr;
    OK(cudaGetSymbolAddress(&function, pointer));
    by_pointer<<<1, 1>>>(d, static_cast<float (**)(float)>(function));
    OK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 11);
    Function* left = nullptr;
    Function passed = nullptr;
    OK(cudaMalloc(&left, sizeof *left));
    leave<<<1, 1>>>(left);
    OK(cudaMemcpy(&passed, left, sizeof passed, cudaMemcpyDeviceToHost));
    by_value<<<1, 1>>>(d, passed);
    by_value<<<1, 1>>>(d, passed);
    OK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost));
    CHECK(h[0] == 44);
    return done("linked");
}
