// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "check.hpp"

__global__ void add(int* x, int a) { *x += a; }

int called = 0;
void CUDART_CB after(cudaStream_t, cudaError_t status, void* user) {
    CHECK(status == cudaSuccess);
    called += *static_cast<int*>(user);
}

int main() {
    cudaStream_t a, b, c;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&c, cudaStreamDefault, -3));
    unsigned flags = 9;
    int priority = 9, device = 9;
    unsigned long long id_a = 0, id_b = 0;
    OK(cudaStreamGetFlags(b, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetPriority(c, &priority));
    CHECK(priority == -3);
    OK(cudaStreamGetId(a, &id_a));
    OK(cudaStreamGetId(b, &id_b));
    CHECK(id_a != id_b);
    OK(cudaStreamGetDevice(a, &device));
    CHECK(device == 0);

    int* x = nullptr;
    int h = 0, five = 5;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    cudaEvent_t begin, end, plain;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    float ms = -1;
    EXPECT_ERROR(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    OK(cudaEventRecord(begin, a));
    add<<<1, 1, 0, a>>>(x, 1);
    OK(cudaEventRecord(plain, a));
    OK(cudaStreamWaitEvent(b, plain, 0));
    add<<<1, 1, 0, b>>>(x, 2);
    OK(cudaStreamAddCallback(b, after, &five, 0));
    OK(cudaEventRecordWithFlags(end, b, cudaEventRecordDefault));
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 0 && called == 5);
    EXPECT_ERROR(cudaEventElapsedTime(&ms, begin, plain), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    OK(cudaStreamQuery(b));
    OK(cudaStreamSynchronize(b));
    add<<<1, 1, 0, cudaStreamPerThread>>>(x, 4);
    add<<<1, 1, 0, cudaStreamLegacy>>>(x, 8);
    OK(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost));
    CHECK(h == 15);
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(plain));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaStreamDestroy(c));
    return done("streams");
}
