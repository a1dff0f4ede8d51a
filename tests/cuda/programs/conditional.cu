// SPDX-License-Identifier: Apache-2.0
// nvcc: -rdc=true -lcudadevrt
// Conditional nodes of graphs, which kernels decide; and nodes that are added by what is the same
// call for each kind.
#include "check.hpp"

#if CUDART_VERSION >= 12030

__global__ void decide(cudaGraphConditionalHandle condition, const unsigned* value) {
    cudaGraphSetConditional(condition, *value);
}
__global__ void count_down(cudaGraphConditionalHandle condition, unsigned* value) {
    cudaGraphSetConditional(condition, --*value);
}
__global__ void add(int* x, int n) { *x += n; }

cudaGraphNode_t add_node(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphNodeParams& p) {
    cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(&node, graph, &before, nullptr, before != nullptr, &p));
#else
    OK(cudaGraphAddNode(&node, graph, &before, before != nullptr, &p));
#endif
    return node;
}

template <class... Arguments>
cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t before, void (*kernel)(Arguments...),
                           Arguments... arguments) {
    void* parameters[] = {&arguments...};
    cudaGraphNodeParams p{};
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = reinterpret_cast<void*>(kernel);
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = parameters;
    return add_node(graph, before, p);
}

// With its bodies.
struct Conditional {
    cudaGraphNode_t node;
    cudaGraph_t* bodies;
};
Conditional add_conditional(cudaGraph_t graph, cudaGraphNode_t before,
                            cudaGraphConditionalHandle condition, cudaGraphConditionalNodeType type,
                            unsigned bodies) {
    cudaGraphNodeParams p{};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = condition;
    p.conditional.type = type;
    p.conditional.size = bodies;
    const cudaGraphNode_t node = add_node(graph, before, p);
    CHECK(p.conditional.phGraph_out != nullptr);
    cudaGraphNodeType found = cudaGraphNodeTypeEmpty;
    OK(cudaGraphNodeGetType(node, &found));
    CHECK(found == cudaGraphNodeTypeConditional);
    return {node, p.conditional.phGraph_out};
}

struct Run {
    cudaGraph_t graph = nullptr;
    unsigned* value = nullptr;
    int* x = nullptr;

    Run() {
        OK(cudaGraphCreate(&graph, 0));
        OK(cudaMallocManaged(&value, sizeof *value));
        OK(cudaMallocManaged(&x, sizeof *x));
    }
    void end() {
        OK(cudaGraphExecDestroy(exec));
        exec = nullptr;
    }
    ~Run() {
        if (exec != nullptr) end();
        OK(cudaGraphDestroy(graph));
        OK(cudaFree(value));
        OK(cudaFree(x));
    }
    cudaGraphConditionalHandle condition(unsigned at_launch = 0, unsigned flags = 0) {
        cudaGraphConditionalHandle c = 0;
        OK(cudaGraphConditionalHandleCreate(&c, graph, at_launch, flags));
        return c;
    }
    // What x becomes.
    int operator()(unsigned with) {
        if (exec == nullptr) OK(cudaGraphInstantiate(&exec, graph, 0));
        *x = 0;
        *value = with;
        OK(cudaGraphLaunch(exec, nullptr));
        OK(cudaDeviceSynchronize());
        return *x;
    }

  private:
    cudaGraphExec_t exec = nullptr;
};

void if_node() {
    Run run;
    const auto c = run.condition();
    const auto first = add_kernel(run.graph, nullptr, decide, c, (const unsigned*)run.value);
    const auto node = add_conditional(run.graph, first, c, cudaGraphCondTypeIf, 1);
    add_kernel(node.bodies[0], nullptr, add, run.x, 5);
    add_kernel(run.graph, node.node, add, run.x, 1000);
    CHECK(run(0) == 1000);
    CHECK(run(1) == 1005);
    CHECK(run(2) == 1005);
    CHECK(run(0) == 1000);
}

#if CUDART_VERSION >= 12080
void else_and_switch() {
    Run run;
    const auto c = run.condition(), d = run.condition();
    auto last = add_kernel(run.graph, nullptr, decide, c, (const unsigned*)run.value);
    last = add_kernel(run.graph, last, decide, d, (const unsigned*)run.value);
    const auto either = add_conditional(run.graph, last, c, cudaGraphCondTypeIf, 2);
    add_kernel(either.bodies[0], nullptr, add, run.x, 100);
    add_kernel(either.bodies[1], nullptr, add, run.x, 200);
    const auto one = add_conditional(run.graph, either.node, d, cudaGraphCondTypeSwitch, 3);
    for (int i = 0; i < 3; ++i) add_kernel(one.bodies[i], nullptr, add, run.x, i + 1);
    CHECK(run(0) == 201);
    CHECK(run(1) == 102);
    CHECK(run(2) == 103);
    CHECK(run(3) == 100);
}
#else
void else_and_switch() {}
#endif

// Its value at a launch is asked for; the body is captured from a stream.
void while_node() {
    Run run;
    const auto c = run.condition(1, cudaGraphCondAssignDefault);
    const auto node = add_conditional(run.graph, nullptr, c, cudaGraphCondTypeWhile, 1);
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, node.bodies[0], nullptr, nullptr, 0,
                                     cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(run.x, 3);
    count_down<<<1, 1, 0, stream>>>(c, run.value);
    OK(cudaStreamEndCapture(stream, nullptr));
    OK(cudaStreamDestroy(stream));
    CHECK(run(7) == 21);
    CHECK(run(1) == 3);
    CHECK(run(7) == 21);
}

// A condition within a loop.
void nested() {
    Run run;
    const auto again = run.condition(1, cudaGraphCondAssignDefault);
    const auto loop = add_conditional(run.graph, nullptr, again, cudaGraphCondTypeWhile, 1);
    const cudaGraph_t body = loop.bodies[0];
    cudaGraphConditionalHandle odd = 0;
    OK(cudaGraphConditionalHandleCreate(&odd, body, 0, 0));
    auto last = add_kernel(body, nullptr, count_down, again, run.value);
    last = add_kernel(body, last, decide, odd, (const unsigned*)run.value);
    const auto inner = add_conditional(body, last, odd, cudaGraphCondTypeIf, 1);
    add_kernel(inner.bodies[0], nullptr, add, run.x, 1);
    CHECK(run(4) == 3);
    CHECK(run(1) == 0);
}

void other_nodes() {
    Run run;
    cudaGraphNodeParams p{};
    p.type = cudaGraphNodeTypeMemset;
    p.memset.dst = run.x;
    p.memset.value = 7;
    p.memset.elementSize = 4;
    p.memset.width = p.memset.height = 1;
    const auto fill = add_node(run.graph, nullptr, p);
    p = {};
    p.type = cudaGraphNodeTypeMemcpy;
    p.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(run.x, 4, 4, 1);
    p.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(run.value, 4, 4, 1);
    p.memcpy.copyParams.extent = make_cudaExtent(4, 1, 1);
    p.memcpy.copyParams.kind = cudaMemcpyDefault;
    const auto copy = add_node(run.graph, fill, p);
    p = {};
    p.type = cudaGraphNodeTypeMemAlloc;
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location = {cudaMemLocationTypeDevice, 0};
    p.alloc.bytesize = 64;
    const auto allocate = add_node(run.graph, copy, p);
    CHECK(p.alloc.dptr != nullptr);
    void* const memory = p.alloc.dptr;
    p = {};
    p.type = cudaGraphNodeTypeMemFree;
    p.free.dptr = memory;
    const auto release = add_node(run.graph, allocate, p);
    p = {};
    p.type = cudaGraphNodeTypeHost;
    p.host.fn = [](void* user) { *static_cast<int*>(user) += 10; };
    p.host.userData = run.x;
    auto last = add_node(run.graph, release, p);
    cudaGraph_t child = nullptr;
    OK(cudaGraphCreate(&child, 0));
    const auto added = add_kernel(child, nullptr, add, run.x, 1);
    p = {};
    p.type = cudaGraphNodeTypeKernel;
    int n = 100;
    void* parameters[] = {&run.x, &n};
    p.kernel.func = reinterpret_cast<void*>(add);
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = parameters;
    OK(cudaGraphNodeSetParams(added, &p));
    p = {};
    p.type = cudaGraphNodeTypeGraph;
    p.graph.graph = child;
    last = add_node(run.graph, last, p);
    OK(cudaGraphDestroy(child));
    p = {};
    p.type = cudaGraphNodeTypeEmpty;
    add_node(run.graph, last, p);
    CHECK(run(0) == 117);
    CHECK(*run.value == 7);

    // A graph with memory nodes has one instance at a time.
    cudaGraphExec_t exec = nullptr;
    EXPECT_ERROR(cudaGraphInstantiate(&exec, run.graph, 0), cudaErrorNotSupported);
    cudaGetLastError();
    run.end();
    OK(cudaGraphInstantiate(&exec, run.graph, 0));
    p = {};
    p.type = cudaGraphNodeTypeMemset;
    p.memset.dst = run.x;
    p.memset.value = 20;
    p.memset.elementSize = 4;
    p.memset.width = p.memset.height = 1;
    OK(cudaGraphExecNodeSetParams(exec, fill, &p));
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(*run.x == 130 && *run.value == 20);
    OK(cudaGraphExecDestroy(exec));
}

void refused() {
    Run run;
    const auto c = run.condition();
    const auto node = add_conditional(run.graph, nullptr, c, cudaGraphCondTypeIf, 1);
    add_kernel(node.bodies[0], nullptr, add, run.x, 1);
    cudaGraphConditionalHandle other = 0;
    CHECK(cudaGraphConditionalHandleCreate(&other, nullptr, 0, 0) != cudaSuccess);
    cudaGetLastError();
    cudaGraph_t clone = nullptr;
    CHECK(cudaGraphClone(&clone, run.graph) != cudaSuccess);
    cudaGetLastError();
    CHECK(run(0) >= 0);
}

int main() {
    if_node();
    else_and_switch();
    while_node();
    nested();
    other_nodes();
    refused();
    return done("conditional");
}

#else
int main() { return done("conditional"); }
#endif
