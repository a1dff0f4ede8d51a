// SPDX-License-Identifier: Apache-2.0
// Launches that may begin before the one that they depend on has ended, and wait for it by
// themselves; the events of such launches.
// nvcc: -arch=sm_90
// exec: --arch sm_90
#include <cuda_runtime.h>

#include "check.hpp"

constexpr int n = 256;
int *x, *y;

// Its dependents may begin at once, before it has written.
__global__ void produce(int* out, int value) {
    cudaTriggerProgrammaticLaunchCompletion();
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void consume(const int* in, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int own = i + 1;  // needs nothing of what comes before
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    out[i] = in[i] + own;
}

cudaLaunchConfig_t config_of(cudaLaunchAttribute& attribute, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(n / 64);
    config.blockDim = dim3(64);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

// A chain of three: the second and the third may each begin before the one before.
void chain(cudaStream_t s) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = config_of(attribute, s);
    for (int round = 0; round < 16; ++round) {
        produce<<<n / 64, 64, 0, s>>>(x, 10 * round);
        OK(cudaLaunchKernelEx(&config, consume, static_cast<const int*>(x), y));
        OK(cudaLaunchKernelEx(&config, consume, static_cast<const int*>(y), x));
        int h[n];
        OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        for (int i = 0; i < n; ++i) CHECK(h[i] == 10 * round + 2 * (i + 1));
    }
}

void in_a_graph(cudaStream_t s) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = config_of(attribute, s);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    produce<<<n / 64, 64, 0, s>>>(x, 3);
    OK(cudaLaunchKernelEx(&config, consume, static_cast<const int*>(x), y));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    int h[n];
    OK(cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) CHECK(h[i] == 3 + i + 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

// Once all blocks have begun, or said so, the event has happened.
void events(cudaStream_t s, cudaStream_t other) {
    for (const bool completion : {false, true}) {
        cudaEvent_t event;
        OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        cudaLaunchAttribute attribute{};
        if (completion) {
            attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
            attribute.val.launchCompletionEvent.event = event;
        } else {
            attribute.id = cudaLaunchAttributeProgrammaticEvent;
            attribute.val.programmaticEvent.event = event;
            attribute.val.programmaticEvent.triggerAtBlockStart = 1;
        }
        const cudaLaunchConfig_t config = config_of(attribute, s);
        OK(cudaLaunchKernelEx(&config, produce, x, 4));
        OK(cudaStreamWaitEvent(other, event));
        produce<<<n / 64, 64, 0, other>>>(y, 5);
        OK(cudaEventSynchronize(event));
        OK(cudaEventQuery(event));
        OK(cudaDeviceSynchronize());
        int h[2];
        OK(cudaMemcpy(&h[0], x, sizeof *x, cudaMemcpyDeviceToHost));
        OK(cudaMemcpy(&h[1], y, sizeof *y, cudaMemcpyDeviceToHost));
        CHECK(h[0] == 4 && h[1] == 5);
        OK(cudaEventDestroy(event));
    }
}

int main() {
    cudaStream_t s, other;
    OK(cudaMalloc(&x, n * sizeof *x));
    OK(cudaMalloc(&y, n * sizeof *y));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&other));
    chain(s);
    in_a_graph(s);
    events(s, other);
    return done("dependent_launches");
}
