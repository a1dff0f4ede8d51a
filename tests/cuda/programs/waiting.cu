// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for what the program does after it has launched them.
#include <cuda/atomic>

#include "check.hpp"

__device__ unsigned gate;

__global__ void answer(volatile unsigned* asked, volatile unsigned* answered, unsigned rounds) {
    for (unsigned i = 1; i <= rounds; ++i) {
        while (asked[0] < i) {
        }
        answered[0] = 3 * asked[0];
        __threadfence_system();
        answered[1] = i;
    }
}

// All threads of all CTAs wait, by other means than a volatile load.
__global__ void wait_at_the_gate(unsigned* sum, unsigned* flag) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> opened(*flag);
    while (opened.load(cuda::memory_order_acquire) == 0) __nanosleep(100);
    atomicAdd(sum, threadIdx.x + opened.load());
}

__global__ void open(unsigned* flag, unsigned value) { atomicExch(flag, value); }

__global__ void add(unsigned* x, unsigned a) { *x += a; }

unsigned read(const unsigned* x, cudaStream_t s) {
    unsigned out = 0;
    OK(cudaMemcpyAsync(&out, x, sizeof out, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    return out;
}

// The host asks, the kernel answers, while both run.
void in_turn(cudaStream_t s, volatile unsigned* words) {
    constexpr unsigned rounds = 100;
    answer<<<1, 1, 0, s>>>(words, words + 16, rounds);
    for (unsigned i = 1; i <= rounds; ++i) {
        words[0] = i;
        while (words[17] != i) CHECK(cudaStreamQuery(s) != cudaErrorLaunchFailure);
        CHECK(words[16] == 3 * i);
    }
    OK(cudaStreamSynchronize(s));
}

void for_a_copy(cudaStream_t s, cudaStream_t other, unsigned* x) {
    unsigned *flag = nullptr, value = 10;
    OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&flag), gate));
    OK(cudaMemsetAsync(flag, 0, sizeof gate, s));
    OK(cudaMemsetAsync(x, 0, sizeof gate, s));
    OK(cudaStreamSynchronize(s));
    wait_at_the_gate<<<4, 64, 0, s>>>(x, flag);
    add<<<1, 1, 0, s>>>(x, 5);
    EXPECT_ERROR(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaMemcpyAsync(flag, &value, sizeof value, cudaMemcpyHostToDevice, other));
    CHECK(read(x, s) == 4 * (2016 + 640) + 5);
}

void for_a_kernel(cudaStream_t s, cudaStream_t other, unsigned* x, unsigned* flag) {
    cudaEvent_t end;
    OK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    OK(cudaMemsetAsync(x, 0, sizeof gate, s));
    *flag = 0;
    wait_at_the_gate<<<2, 32, 0, s>>>(x, flag);
    OK(cudaEventRecord(end, s));
    EXPECT_ERROR(cudaEventQuery(end), cudaErrorNotReady);
    open<<<1, 1, 0, other>>>(flag, 1);
    OK(cudaEventSynchronize(end));
    CHECK(read(x, other) == 2 * (496 + 32));
    OK(cudaEventDestroy(end));
}

void in_a_graph(cudaStream_t s, unsigned* x, unsigned* flag) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    *flag = 0;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(x, 0, sizeof gate, s));
    wait_at_the_gate<<<1, 32, 0, s>>>(x, flag);
    add<<<1, 1, 0, s>>>(x, 7);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    EXPECT_ERROR(cudaStreamQuery(s), cudaErrorNotReady);
    *static_cast<volatile unsigned*>(flag) = 2;
    CHECK(read(x, s) == 496 + 64 + 7);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main() {
    // A GPU's driver loads a kernel when it is first launched, and waits for all others to do so.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    cudaStream_t s, other;
    unsigned *x = nullptr, *words = nullptr;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaMalloc(&x, sizeof *x));
    OK(cudaHostAlloc(&words, 256, cudaHostAllocMapped));
    for (int i = 0; i < 64; ++i) words[i] = 0;
    in_turn(s, words);
    for_a_copy(s, other, x);
    for_a_kernel(s, other, x, words + 32);
    in_a_graph(s, x, words + 32);
    OK(cudaFreeHost(words));
    OK(cudaFree(x));
    OK(cudaStreamDestroy(other));
    OK(cudaStreamDestroy(s));
    return done("waiting");
}
