// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels: parameters of every size, the order of a CTA's launches, those that
// come last, launches of launched kernels, streams, events and what is wrong with a launch.
// nvcc: -rdc=true
#include "check.hpp"

__device__ int order[64];
__device__ int noted;
__device__ int errors[32];

__global__ void note(int what) {
    if (threadIdx.x == 0) order[atomicAdd(&noted, 1)] = what;
}

struct Odd {
    char c[5];
    double d;
};
__global__ void keep(char a, Odd b, short s, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a + b.c[4] + static_cast<int>(b.d) + s + i;
}
__global__ void keep_for_each(int* out) {
    Odd odd{{1, 2, 3, 4, 5}, 10.0 * threadIdx.x};
    keep<<<2, 32>>>(static_cast<char>(blockIdx.x), odd, 100,
                    out + 64 * (threadIdx.x + 8 * blockIdx.x));
}

__global__ void in_order() {
    note<<<1, 32, 0, cudaStreamTailLaunch>>>(100);
    note<<<1, 32>>>(1);
    note<<<1, 32, 0, cudaStreamTailLaunch>>>(101);
    note<<<2, 32>>>(2);
    note<<<1, 32>>>(3);
}

__global__ void nested(int depth) {
    if (threadIdx.x != 0) return;
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(100 + depth);
    order[atomicAdd(&noted, 1)] = depth;
    if (depth < 20) nested<<<1, 2>>>(depth + 1);
}

// The sum of all numbers, halves of it by kernels of their own.
__global__ void quick_sum(const int* in, int n, unsigned long long* sum) {
    if (n > 32) {
        quick_sum<<<1, 1>>>(in, n / 2, sum);
        quick_sum<<<1, 1, 0, cudaStreamFireAndForget>>>(in + n / 2, n - n / 2, sum);
        return;
    }
    unsigned long long own = 0;
    for (int i = 0; i < n; ++i) own += in[i];
    atomicAdd(sum, own);
}

__global__ void with_shared(int n, int* out) {
    extern __shared__ int numbers[];
    numbers[threadIdx.x] = n + threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}
__global__ void launch_with_shared(int* out) {
    with_shared<<<1, 64, 64 * sizeof(int)>>>(1000, out);
}

// As CUB launches: a launch that fails leaves its parameters to the next, a kernel without any
// needs no buffer, and the streams that are no CTA's are none.
__global__ void nothing() {}
__global__ void by_address() {
    void* const kernel = reinterpret_cast<void*>(note);
    auto* const what = static_cast<int*>(cudaGetParameterBuffer(64, sizeof(int)));
    *what = 5;
    errors[0] = cudaLaunchDevice(kernel, what, dim3(1), dim3(2048), 0, nullptr);
    errors[1] = cudaLaunchDevice(kernel, what, dim3(1), dim3(32), 0, cudaStreamTailLaunch);
    errors[2] = cudaLaunchDevice(kernel, what, dim3(1), dim3(32), 0, cudaStreamFireAndForget);
    errors[3] = cudaGetLastError();
    errors[4] = cudaLaunchDevice(kernel, what, dim3(2), dim3(32), 0, nullptr);
    errors[5] =
        cudaLaunchDevice(reinterpret_cast<void*>(nothing), nullptr, dim3(1), dim3(1), 0, nullptr);
    errors[6] = cudaGetLastError();
}

__global__ void streams() {
    cudaStream_t a, b;
    errors[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    errors[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEvent_t e;
    errors[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    note<<<1, 1, 0, a>>>(1);
    errors[3] = cudaEventRecord(e, a);
    errors[4] = cudaStreamWaitEvent(b, e, 0);
    note<<<1, 1, 0, b>>>(2);
    errors[5] = cudaEventDestroy(e);
    errors[6] = cudaStreamDestroy(a);
    errors[7] = cudaStreamDestroy(b);
    errors[8] = a == b;
    cudaEvent_t timed;
    errors[9] = cudaEventCreateWithFlags(&timed, 0);
    errors[10] = cudaGetLastError();
    errors[11] = cudaGetLastError();
    int device = -1, count = -1;
    errors[12] = cudaGetDevice(&device);
    errors[13] = cudaGetDeviceCount(&count);
    errors[14] = device;
    errors[15] = count >= 1;
}

__global__ void __launch_bounds__(1024) wrong() {
    const dim3 blocks[] = {{2048, 1, 1}, {0, 1, 1}, {1, 1, 65}, {1, 1, 1}};
    const dim3 grids[] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 65536, 1}};
    for (int i = 0; i < 4; ++i) {
        note<<<grids[i], blocks[i]>>>(7);
        errors[2 * i] = cudaPeekAtLastError();
        errors[2 * i + 1] = cudaGetLastError();
    }
    note<<<1, 1, 0, reinterpret_cast<cudaStream_t>(0x1234568)>>>(7);
    errors[8] = cudaGetLastError();
    note<<<1, 1>>>(8);
    errors[9] = cudaGetLastError();
    note<<<1, 1, 0, cudaStreamLegacy>>>(9);
    errors[10] = cudaGetLastError();
    note<<<1, 1, 0, cudaStreamPerThread>>>(10);
    errors[11] = cudaGetLastError();
}

__global__ void store(int* p) { *p = 1; }
__global__ void launch_store() { store<<<1, 1>>>(nullptr); }

void expect_order(const std::initializer_list<int>& expected) {
    OK(cudaDeviceSynchronize());
    int n = 0, is[64];
    OK(cudaMemcpyFromSymbol(&n, noted, sizeof n));
    OK(cudaMemcpyFromSymbol(is, order, sizeof is));
    CHECK(n == static_cast<int>(expected.size()));
    int i = 0;
    for (const int e : expected) CHECK(is[i++] == e);
    const int none = 0;
    OK(cudaMemcpyToSymbol(noted, &none, sizeof none));
}

void expect_errors(const std::initializer_list<int>& expected) {
    int is[32];
    OK(cudaMemcpyFromSymbol(is, errors, sizeof is));
    int i = 0;
    for (const int e : expected) CHECK(is[i++] == e);
}

int main() {
    constexpr int n = 1000;
    int* d = nullptr;
    OK(cudaMalloc(&d, 4 * 1024 * sizeof(int)));
    int h[1024];

    keep_for_each<<<2, 8>>>(d);
    OK(cudaGetLastError());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1024; ++i) CHECK(h[i] == i / 512 + 5 + 10 * (i / 64 % 8) + 100 + i % 64);

    in_order<<<1, 1>>>();
    note<<<1, 1>>>(200);
    expect_order({1, 2, 2, 3, 100, 101, 200});

    nested<<<1, 2>>>(18);
    expect_order({18, 19, 20, 120, 119, 118});

    unsigned long long* sum = nullptr;
    OK(cudaMalloc(&sum, sizeof *sum));
    OK(cudaMemset(sum, 0, sizeof *sum));
    for (int i = 0; i < n; ++i) h[i] = i;
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    quick_sum<<<1, 1>>>(d, n, sum);
    unsigned long long is = 0;
    OK(cudaMemcpy(&is, sum, sizeof is, cudaMemcpyDeviceToHost));
    CHECK(is == n * (n - 1) / 2);

    launch_with_shared<<<1, 1>>>(d);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) CHECK(h[i] == 1063 - i);

    by_address<<<1, 1>>>();
    expect_order({5, 5});
    expect_errors({9, 1, 1, 1, 0, 0, 0});

    streams<<<1, 1>>>();
    expect_order({1, 2});
    expect_errors(
        {0, 0, 0, 0, 0, 0, 0, 0, 0, cudaErrorInvalidValue, cudaErrorInvalidValue, 0, 0, 0, 0, 1});

    wrong<<<1, 1>>>();
    expect_order({8, 9, 10});
    expect_errors({9, 9, 9, 9, 9, 9, 9, 9, cudaErrorInvalidValue, 0, 0, 0});

    launch_store<<<1, 1>>>();
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return done("device_launches");
}
