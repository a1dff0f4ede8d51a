// SPDX-License-Identifier: Apache-2.0
// Graphs, built node by node and captured from streams.
#include <vector>

#include "check.hpp"

__global__ void add(int* x, int a) { x[threadIdx.x] += a; }
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }

constexpr int n = 32;

struct Numbers {
    int* device = nullptr;
    int host[n];
    Numbers() { OK(cudaMalloc(&device, sizeof host)); }
    ~Numbers() { cudaFree(device); }
    void set(int value) {
        for (int& h : host) h = value;
        OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    }
    bool all(int value) {
        OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        for (int h : host)
            if (h != value) return false;
        return true;
    }
};

int calls = 0;
void count(void* by) { calls += *static_cast<int*>(by); }

#if CUDART_VERSION >= 13000
cudaError_t depend(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to) {
    return cudaGraphAddDependencies(g, from, to, nullptr, 1);
}
cudaError_t undo(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to) {
    return cudaGraphRemoveDependencies(g, from, to, nullptr, 1);
}
cudaError_t edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
    return cudaGraphGetEdges(g, from, to, nullptr, count);
}
cudaError_t before(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
    return cudaGraphNodeGetDependencies(node, out, nullptr, count);
}
cudaError_t after(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
    return cudaGraphNodeGetDependentNodes(node, out, nullptr, count);
}
#else
cudaError_t depend(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to) {
    return cudaGraphAddDependencies(g, from, to, 1);
}
cudaError_t undo(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to) {
    return cudaGraphRemoveDependencies(g, from, to, 1);
}
cudaError_t edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
    return cudaGraphGetEdges(g, from, to, count);
}
cudaError_t before(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
    return cudaGraphNodeGetDependencies(node, out, count);
}
cudaError_t after(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
    return cudaGraphNodeGetDependentNodes(node, out, count);
}
#endif

cudaKernelNodeParams kernel(void* function, void** parameters) {
    cudaKernelNodeParams p{};
    p.func = function;
    p.gridDim = dim3(1);
    p.blockDim = dim3(n);
    p.kernelParams = parameters;
    return p;
}

void* address(void (*f)(int*, int)) { return reinterpret_cast<void*>(f); }

cudaGraphNodeType type_of(cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

// y = (7 + 3) * 2 by edges that say another order than that of the nodes.
void built() {
    Numbers x, y;
    cudaGraph_t g;
    OK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t copy, doubled, added, filled, host, empty;
    int three = 3, one = 1;
    void* of_add[] = {&x.device, &three};
    void* of_twice[] = {&x.device};
    OK(cudaGraphAddMemcpyNode1D(&copy, g, nullptr, 0, y.device, x.device, sizeof x.host,
                                cudaMemcpyDeviceToDevice));
    cudaKernelNodeParams p = kernel(reinterpret_cast<void*>(twice), of_twice);
    OK(cudaGraphAddKernelNode(&doubled, g, nullptr, 0, &p));
    p = kernel(address(add), of_add);
    OK(cudaGraphAddKernelNode(&added, g, nullptr, 0, &p));
    cudaMemsetParams fill{};
    fill.dst = y.device;
    fill.elementSize = 4;
    fill.width = n;
    fill.height = 1;
    fill.value = 9;
    OK(cudaGraphAddMemsetNode(&filled, g, nullptr, 0, &fill));
    cudaHostNodeParams host_parameters{count, &one};
    OK(cudaGraphAddHostNode(&host, g, &copy, 1, &host_parameters));
    OK(cudaGraphAddEmptyNode(&empty, g, &host, 1));
    OK(depend(g, &added, &doubled));
    OK(depend(g, &doubled, &copy));
    OK(depend(g, &filled, &copy));
    OK(depend(g, &filled, &empty));
    OK(undo(g, &filled, &empty));
    CHECK(type_of(copy) == cudaGraphNodeTypeMemcpy && type_of(added) == cudaGraphNodeTypeKernel);
    CHECK(type_of(filled) == cudaGraphNodeTypeMemset && type_of(host) == cudaGraphNodeTypeHost);
    CHECK(type_of(empty) == cudaGraphNodeTypeEmpty);
    size_t count_of = 0;
    OK(cudaGraphGetNodes(g, nullptr, &count_of));
    CHECK(count_of == 6);
    OK(cudaGraphGetRootNodes(g, nullptr, &count_of));
    CHECK(count_of == 2);
    OK(edges(g, nullptr, nullptr, &count_of));
    CHECK(count_of == 5);
    cudaGraphNode_t list[8];
    count_of = 8;
    OK(before(copy, list, &count_of));
    CHECK(count_of == 2 && list[0] == doubled && list[1] == filled);
    count_of = 8;
    OK(after(copy, list, &count_of));
    CHECK(count_of == 1 && list[0] == host);

    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphUpload(exec, nullptr));
    x.set(7);
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(y.all(20) && calls == 1);

    // Other parameters for what was instantiated.
    int five = 5, ten = 10;
    void* of_other[] = {&x.device, &five};
    p = kernel(address(add), of_other);
    OK(cudaGraphExecKernelNodeSetParams(exec, added, &p));
    host_parameters.userData = &ten;
    OK(cudaGraphExecHostNodeSetParams(exec, host, &host_parameters));
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, y.device, x.device, 4,
                                          cudaMemcpyDeviceToDevice));
    fill.value = 1;
    OK(cudaGraphExecMemsetNodeSetParams(exec, filled, &fill));
    unsigned enabled = 0;
    OK(cudaGraphNodeSetEnabled(exec, doubled, 0));
    OK(cudaGraphNodeGetEnabled(exec, doubled, &enabled));
    CHECK(enabled == 0);
    x.set(7);
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaMemcpy(y.host, y.device, sizeof y.host, cudaMemcpyDeviceToHost));
    CHECK(y.host[0] == 12 && y.host[1] == 1 && calls == 11);

    // What the nodes have, and another value of it.
    cudaKernelNodeParams got{};
    OK(cudaGraphKernelNodeGetParams(added, &got));
    CHECK(got.func == address(add) && got.blockDim.x == n);
    CHECK(*static_cast<int*>(got.kernelParams[1]) == 3);
    OK(cudaGraphKernelNodeSetParams(added, &p));
    cudaMemcpy3DParms box{};
    OK(cudaGraphMemcpyNodeGetParams(copy, &box));
    CHECK(box.extent.width == sizeof x.host && box.dstPtr.ptr == y.device);
    OK(cudaGraphMemcpyNodeSetParams(copy, &box));
    cudaGraphNode_t second;
    OK(cudaGraphAddMemcpyNode(&second, g, &copy, 1, &box));
    OK(cudaGraphDestroyNode(second));
    OK(cudaGraphExecMemcpyNodeSetParams(exec, copy, &box));
    OK(cudaGraphMemcpyNodeSetParams1D(copy, y.device, x.device, sizeof x.host,
                                      cudaMemcpyDeviceToDevice));
    cudaMemsetParams got_fill{};
    OK(cudaGraphMemsetNodeGetParams(filled, &got_fill));
    CHECK(got_fill.value == 9);
    OK(cudaGraphMemsetNodeSetParams(filled, &fill));
    cudaHostNodeParams got_host{};
    OK(cudaGraphHostNodeGetParams(host, &got_host));
    CHECK(got_host.fn == count && got_host.userData == &one);
    OK(cudaGraphHostNodeSetParams(host, &host_parameters));

    // A copy, and the changed graph in place of the first.
    cudaGraph_t clone;
    cudaGraphNode_t in_clone;
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphNodeFindInClone(&in_clone, added, clone));
    CHECK(type_of(in_clone) == cudaGraphNodeTypeKernel && in_clone != added);
    cudaGraphExecUpdateResultInfo info{};
    OK(cudaGraphExecUpdate(exec, clone, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    x.set(1);
    OK(cudaGraphNodeSetEnabled(exec, doubled, 1));
    OK(cudaGraphLaunch(exec, nullptr));
    CHECK(y.all(12));
    OK(cudaGraphDestroyNode(empty));
    EXPECT_ERROR(cudaGraphExecUpdate(exec, g, &info), cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();

    // A node before itself.
    EXPECT_ERROR(depend(clone, &in_clone, &in_clone), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphDestroy(nullptr), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(g));
}

void children_events_memory() {
    Numbers x;
    cudaGraph_t child, g, inner;
    int two = 2;
    void* of_add[] = {&x.device, &two};
    cudaKernelNodeParams p = kernel(address(add), of_add);
    cudaGraphNode_t node, embedded, record, wait, allocated, freed;
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddKernelNode(&node, child, nullptr, 0, &p));
    OK(cudaGraphCreate(&g, 0));
    cudaEvent_t event, other, got;
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&other));
    OK(cudaGraphAddChildGraphNode(&embedded, g, nullptr, 0, child));
    OK(cudaGraphChildGraphNodeGetGraph(embedded, &inner));
    CHECK(inner != child);
    OK(cudaGraphAddEventRecordNode(&record, g, &embedded, 1, event));
    OK(cudaGraphAddEventWaitNode(&wait, g, &record, 1, event));
    OK(cudaGraphEventRecordNodeSetEvent(record, other));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    CHECK(got == other);
    OK(cudaGraphEventWaitNodeSetEvent(wait, other));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
    CHECK(got == other);
    cudaMemAllocNodeParams memory{};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location = {cudaMemLocationTypeDevice, 0};
    memory.bytesize = sizeof x.host;
    OK(cudaGraphAddMemAllocNode(&allocated, g, nullptr, 0, &memory));
    CHECK(memory.dptr != nullptr);
    OK(cudaGraphAddMemFreeNode(&freed, g, &allocated, 1, memory.dptr));
    cudaMemAllocNodeParams about{};
    OK(cudaGraphMemAllocNodeGetParams(allocated, &about));
    CHECK(about.dptr == memory.dptr && about.bytesize == sizeof x.host);
    void* what = nullptr;
    OK(cudaGraphMemFreeNodeGetParams(freed, &what));
    CHECK(what == memory.dptr);
    cudaGraphInstantiateParams how{};
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiateWithParams(&exec, g, &how));
    CHECK(how.result_out == cudaGraphInstantiateSuccess);
    unsigned long long flags = 9;
    OK(cudaGraphExecGetFlags(exec, &flags));
    CHECK(flags == 0);
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, event));
    OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, event));
    OK(cudaGraphExecChildGraphNodeSetParams(exec, embedded, child));
    x.set(1);
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaEventSynchronize(event));
    CHECK(x.all(3));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(child));
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(other));
}

void captured() {
    Numbers x, y;
    cudaStream_t s, t;
    cudaEvent_t fork, join;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&t));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    x.set(1);
    y.set(100);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == cudaStreamCaptureModeGlobal);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status{};
    OK(cudaStreamIsCapturing(s, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add<<<1, n, 0, s>>>(x.device, 4);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork));
    OK(cudaStreamIsCapturing(t, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    twice<<<1, n, 0, t>>>(y.device);
    OK(cudaMemsetAsync(x.device, 0, 4, s));
    OK(cudaEventRecord(join, t));
    OK(cudaStreamWaitEvent(s, join));
    OK(cudaMemcpyAsync(y.device, x.device, 4, cudaMemcpyDeviceToDevice, s));
    static int one = 1;
    calls = 0;
    OK(cudaLaunchHostFunc(s, count, &one));
    void* memory = nullptr;
    OK(cudaMallocAsync(&memory, 64, s));
    OK(cudaMemsetAsync(memory, 1, 64, s));
    OK(cudaFreeAsync(memory, s));
    unsigned long long id = 0;
    cudaGraph_t g = nullptr, of_info = nullptr;
    const cudaGraphNode_t* last = nullptr;
    size_t last_count = 0;
#if CUDART_VERSION >= 13000
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &of_info, &last, nullptr, &last_count));
    cudaGraphNode_t same = last[0];
    OK(cudaStreamUpdateCaptureDependencies(s, &same, nullptr, 1, 1));
#else
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &of_info, &last, &last_count));
    cudaGraphNode_t same = last[0];
    OK(cudaStreamUpdateCaptureDependencies(s, &same, 1, 1));
#endif
    CHECK(id != 0 && last_count == 1);
    OK(cudaStreamEndCapture(s, &g));
    CHECK(g == of_info);
    OK(cudaStreamIsCapturing(t, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    CHECK(x.all(1) && y.all(100) && calls == 0);  // nothing ran
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiateWithFlags(&exec, g, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(y.host, y.device, sizeof y.host, cudaMemcpyDeviceToHost));
    CHECK(y.host[0] == 0 && y.host[1] == 200 && calls == 1);

    // A stream that did not join, work that cannot be captured, and the default stream.
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    add<<<1, n, 0, s>>>(x.device, 1);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork));
    twice<<<1, n, 0, t>>>(y.device);
    EXPECT_ERROR(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureUnjoined);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, n>>>(x.device, 1);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
    EXPECT_ERROR(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    EXPECT_ERROR(cudaStreamEndCapture(s, &g), cudaErrorIllegalState);
    EXPECT_ERROR(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
                 cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();

    // Into a graph that is there.
    cudaGraph_t mine;
    OK(cudaGraphCreate(&mine, 0));
    OK(cudaStreamBeginCaptureToGraph(s, mine, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    add<<<1, n, 0, s>>>(x.device, 1);
    OK(cudaStreamEndCapture(s, &g));
    CHECK(g == mine);
    size_t nodes = 0;
    OK(cudaGraphGetNodes(mine, nullptr, &nodes));
    CHECK(nodes == 1);
    // A graph is not captured, and where a capture fails the graph that it goes to is gone.
    OK(cudaStreamBeginCaptureToGraph(s, mine, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaGraphLaunch(exec, s), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    CHECK(g == nullptr);
    cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

// Memory that a graph allocates and the program frees is there again at the next launch.
void freed_outside() {
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    OK(cudaStreamCreate(&s));
    int* own = nullptr;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&own, n * sizeof(int), s));
    OK(cudaMemsetAsync(own, 0, n * sizeof(int), s));
    add<<<1, n, 0, s>>>(own, 7);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&exec, g, 0));
    unsigned long long bytes = 0, none = 0;
    for (int i = 0; i < 3; ++i) {
        OK(cudaGraphLaunch(exec, s));
        int last = 0;
        OK(cudaMemcpyAsync(&last, own + n - 1, sizeof last, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        CHECK(last == 7);
        OK(i == 1 ? cudaFree(own) : cudaFreeAsync(own, s));
    }
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
    CHECK(bytes >= n * sizeof(int));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    CHECK(bytes >= n * sizeof(int));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &none));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
    CHECK(bytes == 0);
    OK(cudaStreamDestroy(s));
}

int main() {
    freed_outside();
    built();
    children_events_memory();
    captured();
    return done("graphs");
}
