// SPDX-License-Identifier: Apache-2.0
// Launches that may begin before the one that they depend on has ended, and read before they wait
// for it: in some rounds what was there before. What they write without a wait, and what they look
// for in memory instead of waiting, is right in every round.
// nvcc: -arch=sm_90
// exec: --arch sm_90 --order 5
#include <cuda_runtime.h>

#include "check.hpp"

int *x, *seen;

// Its dependents may begin at once, before it has written.
__global__ void produce(int* out, int value) {
    cudaTriggerProgrammaticLaunchCompletion();
    *out = value;
}

// Its dependents begin when it has ended, and may not see what it wrote all the same.
__global__ void produce_whole(int* out, int value) { *out = value; }

// Faulty: reads without a wait, and before one.
__global__ void without_wait(const int* in, int* out) { out[0] = *in; }
__global__ void before_wait(const int* in, int* out) {
    out[0] = *static_cast<const volatile int*>(in);
    cudaGridDependencySynchronize();
    out[1] = *static_cast<const volatile int*>(in);
}

// Reads what comes before it in the stream, and ends what its dependents wait for.
__global__ void pass_on(const int* in, int* out) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    *out = *in;
}

// What it reads before it lets its dependents begin is not theirs to change.
__global__ void read_first(int* in, int* out) {
    *out = *static_cast<volatile int*>(in);
    cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void overwrite(int* in) { *in = -1; }

// Knows by memory that the launch before it has come far enough.
__global__ void look_for(const int* in, int value, int* out) {
    while (*static_cast<const volatile int*>(in) != value) {
    }
    *out = value;
}

using Producer = void(int*, int);
using Consumer = void(const int*, int*);
constexpr int rounds = 32;

cudaLaunchAttribute attribute;

cudaLaunchConfig_t config_of(int allowed, cudaStream_t s) {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = allowed;
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

void clear() {
    OK(cudaMemset(x, 0, 2 * sizeof *x));
    OK(cudaStreamSynchronize(nullptr));
}

struct Read {
    int early = 0;  // rounds that read what was there before
    bool waited_right = true;
};

Read read(Producer* producer, Consumer* consumer, int allowed, cudaStream_t s,
          bool other_work_between = false) {
    const cudaLaunchConfig_t config = config_of(allowed, s);
    Read out;
    for (int i = 1; i <= rounds; ++i) {
        int h[2];
        clear();
        producer<<<1, 1, 0, s>>>(x, i);
        if (other_work_between) OK(cudaMemsetAsync(seen, 0, sizeof *seen, s));
        OK(cudaLaunchKernelEx(&config, consumer, static_cast<const int*>(x), seen));
        OK(cudaMemcpyAsync(h, seen, sizeof h, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK(h[0] == i || h[0] == 0);
        if (h[0] == 0) ++out.early;
        if (h[1] != i) out.waited_right = false;
    }
    return out;
}

// The last of three waits for the second, which waits for the first.
void chain(cudaStream_t s) {
    const cudaLaunchConfig_t config = config_of(1, s);
    int early = 0;
    for (int i = 1; i <= rounds; ++i) {
        int h[2];
        clear();
        produce<<<1, 1, 0, s>>>(x, i);
        OK(cudaLaunchKernelEx(&config, pass_on, static_cast<const int*>(x), x + 1));
        OK(cudaLaunchKernelEx(&config, before_wait, static_cast<const int*>(x + 1), seen));
        OK(cudaMemcpyAsync(h, seen, sizeof h, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK(h[1] == i);
        early += h[0] == 0;
    }
    CHECK(early > 0 && early < rounds);
}

void other_means(cudaStream_t s) {
    const cudaLaunchConfig_t config = config_of(1, s);
    for (int i = 1; i <= rounds; ++i) {
        int h[2];
        clear();
        produce<<<1, 1, 0, s>>>(x, i);
        OK(cudaLaunchKernelEx(&config, look_for, static_cast<const int*>(x), i, seen));
        read_first<<<1, 1, 0, s>>>(x, seen + 1);
        OK(cudaLaunchKernelEx(&config, overwrite, x));
        OK(cudaMemcpyAsync(h, seen, sizeof h, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK(h[0] == i && h[1] == i);
    }
}

int main() {
    cudaStream_t s;
    OK(cudaMalloc(&x, 2 * sizeof *x));
    OK(cudaMalloc(&seen, 2 * sizeof *seen));
    OK(cudaStreamCreate(&s));
    for (Producer* const producer : {produce, produce_whole}) {
        const Read never = read(producer, without_wait, 1, s);
        CHECK(never.early > 0 && never.early < rounds);
        const Read late = read(producer, before_wait, 1, s);
        CHECK(late.early > 0 && late.early < rounds && late.waited_right);
    }
    // Without the attribute, and where something else comes between the two, in order.
    CHECK(read(produce, without_wait, 0, s).early == 0);
    CHECK(read(produce, without_wait, 1, s, true).early == 0);
    chain(s);
    other_means(s);
    return done("missing_dependency");
}
