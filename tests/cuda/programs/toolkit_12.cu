// SPDX-License-Identifier: Apache-2.0
// Functions and forms that the runtime of toolkit 12 has alone.
#include "check.hpp"

#if CUDART_VERSION < 13000

void forms() {
    int* x = nullptr;
    OK(cudaMallocManaged(&x, 4096));
    const cudaMemLocation here{cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise_v2(x, 4096, cudaMemAdviseSetReadMostly, here));
    OK(cudaMemPrefetchAsync_v2(x, 4096, here, 0, nullptr));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    cudaDeviceProp p{};
    OK(cudaGetDeviceProperties_v2(&p, 0));
    CHECK(p.major == 8);
}

void nodes() {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t first = nullptr, second = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams p{};
    p.type = cudaGraphNodeTypeEmpty;
    OK(cudaGraphAddNode(&first, graph, nullptr, 0, &p));
    OK(cudaGraphAddNode_v2(&second, graph, &first, nullptr, 1, &p));
    size_t count = 0;
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, &count));
    CHECK(count == 1);
    OK(cudaGraphDestroy(graph));
}

void captured() {
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    const cudaGraphNode_t* nodes = nullptr;
    size_t count = 9;
    OK(cudaStreamGetCaptureInfo_v2(s, &status, &id, nullptr, &nodes, &count));
    CHECK(status == cudaStreamCaptureStatusActive && count == 0);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
}

#if CUDART_VERSION >= 12030
void edges() {
    cudaGraph_t graph;
    cudaGraphNode_t a, b, list[2], other[2];
    cudaGraphEdgeData data[2]{};
    size_t count = 2;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, nullptr, 0));
    OK(cudaGraphAddDependencies_v2(graph, &a, &b, nullptr, 1));
    OK(cudaGraphGetEdges_v2(graph, list, other, data, &count));
    CHECK(count == 1 && list[0] == a && other[0] == b);
    count = 2;
    OK(cudaGraphNodeGetDependencies_v2(b, list, data, &count));
    CHECK(count == 1 && list[0] == a);
    count = 2;
    OK(cudaGraphNodeGetDependentNodes_v2(a, list, data, &count));
    CHECK(count == 1 && list[0] == b);
    OK(cudaGraphRemoveDependencies_v2(graph, &a, &b, nullptr, 1));
    OK(cudaGraphDestroy(graph));
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status{};
    OK(cudaStreamGetCaptureInfo_v3(s, &status, nullptr, nullptr, nullptr, nullptr, nullptr));
    OK(cudaStreamUpdateCaptureDependencies_v2(s, nullptr, nullptr, 0,
                                              cudaStreamSetCaptureDependencies));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
}
#else
void edges() {}
#endif

#if CUDART_VERSION >= 12080
void elapsed() {
    cudaEvent_t a, b;
    float milliseconds = -1;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventRecord(a));
    OK(cudaEventRecord(b));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime_v2(&milliseconds, a, b));
    CHECK(milliseconds >= 0);
}
#else
void elapsed() {}
#endif

void of_threads() {
    size_t bytes = 0;
    cudaFuncCache cache;
    OK(cudaThreadSetLimit(cudaLimitStackSize, 2048));
    OK(cudaThreadGetLimit(&bytes, cudaLimitStackSize));
    CHECK(bytes == 2048);
    OK(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaThreadGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferL1);
    OK(cudaThreadSynchronize());
    OK(cudaThreadExit());
}

int main() {
    forms();
    nodes();
    captured();
    edges();
    elapsed();
    of_threads();
    return done("toolkit_12");
}

#else

int main() { return done("toolkit_12"); }

#endif
