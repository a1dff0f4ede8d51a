// SPDX-License-Identifier: Apache-2.0
// The driver API: nodes of every kind, what they are asked and told, in graphs and instances.
// nvcc: -lcuda
#include "driver_check.hpp"

CUDA_KERNEL_NODE_PARAMS kernel(CUfunction f, void** parameters) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = f;
    p.gridDimX = p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = threads;
    p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    return p;
}

CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr x, unsigned value) {
    CUDA_MEMSET_NODE_PARAMS p{};
    p.dst = x;
    p.value = value;
    p.elementSize = 4;
    p.width = threads;
    p.height = 1;
    return p;
}

CUDA_MEMCPY3D line(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D p{};
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = from;
    p.dstDevice = to;
    p.WidthInBytes = threads * sizeof(int);
    p.Height = p.Depth = 1;
    return p;
}

int calls = 0;
void count(void* by) { calls += *static_cast<int*>(by); }

struct Instance {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    Instance() { DO(cuGraphCreate(&graph, 0)); }
    ~Instance() {
        if (exec != nullptr) DO(cuGraphExecDestroy(exec));
        DO(cuGraphDestroy(graph));
    }
    void launch() {
        if (exec == nullptr) DO(cuGraphInstantiate(&exec, graph, 0));
        DO(cuGraphLaunch(exec, nullptr));
        DO(cuCtxSynchronize());
    }
};

void kernels(const World& world) {
    Instance g;
    CUdeviceptr x = world.x;
    int a = 1;
    void* parameters[] = {&x, &a};
    CUDA_KERNEL_NODE_PARAMS p = kernel(world.add, parameters), got{};
    CUgraphNode first = nullptr, second = nullptr;
    DO(cuGraphAddKernelNode(&first, g.graph, nullptr, 0, &p));
    DO(cuGraphAddKernelNode(&second, g.graph, &first, 1, &p));
    a = 10;
    DO(cuGraphKernelNodeSetParams(second, &p));
    DO(cuGraphKernelNodeGetParams(second, &got));
    CHECK(got.func == world.add && *static_cast<int*>(got.kernelParams[1]) == 10);
    CUkernelNodeAttrValue value{}, seen{};
    value.priority = -2;
    DO(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    DO(cuGraphKernelNodeCopyAttributes(second, first));
    DO(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_PRIORITY, &seen));
    CHECK(seen.priority == -2);
    value.priority = 2;  // no stream has one so low
    DO(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    DO(cuGraphKernelNodeGetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &seen));
    CHECK(seen.priority == 0);
    world.set(0);
    g.launch();
    CHECK(world.value() == 11);
    a = 100;
    DO(cuGraphExecKernelNodeSetParams(g.exec, first, &p));
    g.launch();
    CHECK(world.value() == 121);
}

void memory(const World& world, CUdeviceptr y) {
    Instance g;
    CUDA_MEMSET_NODE_PARAMS set = fill(world.x, 3), set_got{};
    CUDA_MEMCPY3D copy = line(y, world.x), copy_got{};
    CUgraphNode filled = nullptr, copied = nullptr;
    DO(cuGraphAddMemsetNode(&filled, g.graph, nullptr, 0, &set, world.context));
    DO(cuGraphAddMemcpyNode(&copied, g.graph, &filled, 1, &copy, world.context));
    set.value = 4;
    DO(cuGraphMemsetNodeSetParams(filled, &set));
    DO(cuGraphMemsetNodeGetParams(filled, &set_got));
    CHECK(set_got.value == 4 && set_got.width == threads);
    DO(cuGraphMemcpyNodeSetParams(copied, &copy));
    DO(cuGraphMemcpyNodeGetParams(copied, &copy_got));
    CHECK(copy_got.dstDevice == y);
    g.launch();
    CHECK(world.value(y) == 4);
    set.value = 5;
    DO(cuGraphExecMemsetNodeSetParams(g.exec, filled, &set, world.context));
    g.launch();
    CHECK(world.value(y) == 5);
    copy = line(world.x, y);
    DO(cuMemsetD32(y, 6, threads));
    DO(cuGraphExecMemcpyNodeSetParams(g.exec, copied, &copy, world.context));
    g.launch();
    CHECK(world.value() == 6);
}

void functions_and_children() {
    Instance inner, outer;
    int one = 1, ten = 10, hundred = 100;
    CUDA_HOST_NODE_PARAMS p{count, &one}, got{};
    CUgraphNode host = nullptr, child = nullptr, own = nullptr;
    DO(cuGraphAddHostNode(&host, inner.graph, nullptr, 0, &p));
    DO(cuGraphHostNodeGetParams(host, &got));
    CHECK(got.fn == count && got.userData == &one);
    p.userData = &ten;
    DO(cuGraphHostNodeSetParams(host, &p));
    inner.launch();
    CHECK(calls == 10);
    p.userData = &hundred;
    DO(cuGraphExecHostNodeSetParams(inner.exec, host, &p));
    inner.launch();
    CHECK(calls == 110);
    DO(cuGraphAddChildGraphNode(&child, outer.graph, nullptr, 0, inner.graph));
    CUgraph within = nullptr;
    DO(cuGraphChildGraphNodeGetGraph(child, &within));
    CHECK(within != nullptr && within != inner.graph);
    outer.launch();
    CHECK(calls == 120);
    p.userData = &one;
    DO(cuGraphNodeFindInClone(&own, host, within));
    DO(cuGraphHostNodeSetParams(host, &p));
    DO(cuGraphExecChildGraphNodeSetParams(outer.exec, child, inner.graph));
    outer.launch();
    CHECK(calls == 121);
}

void events() {
    Instance g;
    CUevent a = nullptr, b = nullptr, got = nullptr;
    DO(cuEventCreate(&a, CU_EVENT_DEFAULT));
    DO(cuEventCreate(&b, CU_EVENT_DEFAULT));
    CUgraphNode recorded = nullptr, waited = nullptr;
    DO(cuGraphAddEventRecordNode(&recorded, g.graph, nullptr, 0, a));
    DO(cuGraphAddEventWaitNode(&waited, g.graph, &recorded, 1, a));
    DO(cuGraphEventRecordNodeGetEvent(recorded, &got));
    CHECK(got == a);
    DO(cuGraphEventRecordNodeSetEvent(recorded, b));
    DO(cuGraphEventWaitNodeSetEvent(waited, b));
    DO(cuGraphEventWaitNodeGetEvent(waited, &got));
    CHECK(got == b);
    g.launch();
    DO(cuEventSynchronize(b));
    DO(cuGraphExecEventRecordNodeSetEvent(g.exec, recorded, a));
    DO(cuGraphExecEventWaitNodeSetEvent(g.exec, waited, a));
    g.launch();
    float milliseconds = -1;
    DO(cuEventElapsedTime(&milliseconds, b, a));
    CHECK(milliseconds >= 0);
    DO(cuEventDestroy(a));
    DO(cuEventDestroy(b));
}

// Memory that the graph makes, uses and frees.
void allocations(const World& world) {
    Instance g;
    CUDA_MEM_ALLOC_NODE_PARAMS p{}, got{};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = threads * sizeof(int);
    CUgraphNode made = nullptr, filled = nullptr, copied = nullptr, freed = nullptr;
    DO(cuGraphAddMemAllocNode(&made, g.graph, nullptr, 0, &p));
    CHECK(p.dptr != 0);
    DO(cuGraphMemAllocNodeGetParams(made, &got));
    CHECK(got.dptr == p.dptr);
    const CUDA_MEMSET_NODE_PARAMS set = fill(p.dptr, 77);
    const CUDA_MEMCPY3D copy = line(world.x, p.dptr);
    DO(cuGraphAddMemsetNode(&filled, g.graph, &made, 1, &set, world.context));
    DO(cuGraphAddMemcpyNode(&copied, g.graph, &filled, 1, &copy, world.context));
    DO(cuGraphAddMemFreeNode(&freed, g.graph, &copied, 1, p.dptr));
    CUdeviceptr of = 0;
    DO(cuGraphMemFreeNodeGetParams(freed, &of));
    CHECK(of == p.dptr);
    g.launch();
    CHECK(world.value() == 77);
}

CUgraphNode add_node(CUgraph graph, CUgraphNode before, CUgraphNodeParams& p) {
    CUgraphNode node = nullptr;
#if CUDA_VERSION >= 13000
    DO(cuGraphAddNode(&node, graph, &before, nullptr, before != nullptr, &p));
#else
    DO(cuGraphAddNode(&node, graph, &before, before != nullptr, &p));
#endif
    return node;
}

CUgraphNodeParams any_fill(const World& world, unsigned value) {
    const CUDA_MEMSET_NODE_PARAMS set = fill(world.x, value);
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_MEMSET;
    p.memset.dst = set.dst;
    p.memset.value = set.value;
    p.memset.elementSize = set.elementSize;
    p.memset.width = set.width;
    p.memset.height = set.height;
    p.memset.ctx = world.context;
    return p;
}

// A condition that holds at each launch, as it was asked for, and one that does not.
void any_nodes(const World& world) {
    Instance g;
    CUgraphNodeParams p = any_fill(world, 1);
    CUgraphNode last = add_node(g.graph, nullptr, p);
    CUgraphNode within[2] = {};
    for (const unsigned holds : {1u, 0u}) {
        CUgraphConditionalHandle condition = 0;
        DO(cuGraphConditionalHandleCreate(&condition, g.graph, world.context, holds,
                                          CU_GRAPH_COND_ASSIGN_DEFAULT));
        p = {};
        p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        p.conditional.handle = condition;
        p.conditional.type = CU_GRAPH_COND_TYPE_IF;
        p.conditional.size = 1;
        p.conditional.ctx = world.context;
        last = add_node(g.graph, last, p);
        const CUgraph body = p.conditional.phGraph_out[0];
        p = any_fill(world, holds == 1 ? 2 : 3);
        within[holds] = add_node(body, nullptr, p);
    }
    p = any_fill(world, 4);
    DO(cuGraphNodeSetParams(within[1], &p));
    g.launch();
    CHECK(world.value() == 4);
    p = any_fill(world, 5);
    const CUgraphNode fifth = add_node(g.graph, last, p);
    DO(cuGraphExecDestroy(g.exec));
    g.exec = nullptr;
    g.launch();
    CHECK(world.value() == 5);
    p = any_fill(world, 6);
    DO(cuGraphExecNodeSetParams(g.exec, fifth, &p));
    g.launch();
    CHECK(world.value() == 6);
}

int main() {
    const World world;
    CUdeviceptr y = 0;
    DO(cuMemAlloc(&y, threads * sizeof(int)));
    kernels(world);
    memory(world, y);
    functions_and_children();
    events();
    allocations(world);
    any_nodes(world);
    DO(cuMemFree(y));
    return done("driver_graph_nodes");
}
