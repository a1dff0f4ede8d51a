// SPDX-License-Identifier: Apache-2.0
// The driver API: graphs as wholes: edges, copies, instances and their updates.
// nvcc: -lcuda
#include <unistd.h>

#include <string>

#include "driver_check.hpp"

#if CUDA_VERSION >= 13000
#define NO_DATA nullptr,
#else
#define NO_DATA
#endif

CUDA_KERNEL_NODE_PARAMS kernel(CUfunction f, void** parameters) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = f;
    p.gridDimX = p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = threads;
    p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    return p;
}

int main() {
    const World world;
    CUdeviceptr x = world.x;
    int a = 5;
    void* of_add[] = {&x, &a};
    CUDA_KERNEL_NODE_PARAMS adds = kernel(world.add, of_add), doubles = kernel(world.twice, of_add);
    CUgraph graph = nullptr;
    CUgraphNode add = nullptr, twice = nullptr, nothing = nullptr, list[4], more[4];
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddKernelNode(&twice, graph, nullptr, 0, &doubles));
    DO(cuGraphAddKernelNode(&add, graph, nullptr, 0, &adds));
    DO(cuGraphAddEmptyNode(&nothing, graph, &twice, 1));
    DO(cuGraphAddDependencies(graph, &add, &twice, NO_DATA 1));
    size_t count = 4;
    DO(cuGraphGetNodes(graph, list, &count));
    CHECK(count == 3);
    count = 4;
    DO(cuGraphGetRootNodes(graph, list, &count));
    CHECK(count == 1 && list[0] == add);
    count = 4;
    DO(cuGraphGetEdges(graph, list, more, NO_DATA & count));
    CHECK(count == 2);
    count = 4;
    DO(cuGraphNodeGetDependencies(twice, list, NO_DATA & count));
    CHECK(count == 1 && list[0] == add);
    count = 4;
    DO(cuGraphNodeGetDependentNodes(twice, list, NO_DATA & count));
    CHECK(count == 1 && list[0] == nothing);
    DO(cuGraphRemoveDependencies(graph, &twice, &nothing, NO_DATA 1));
    CUgraphNodeType type{};
    DO(cuGraphNodeGetType(nothing, &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_EMPTY);
    DO(cuGraphDestroyNode(nothing));

    CUgraphExec exec = nullptr;
    DO(cuGraphInstantiateWithFlags(&exec, graph, 0));
    DO(cuGraphUpload(exec, nullptr));
    world.set(1);
    DO(cuGraphLaunch(exec, nullptr));
    CHECK(world.value() == 12);
    cuuint64_t flags = 9;
    DO(cuGraphExecGetFlags(exec, &flags));
    CHECK(flags == 0);
    unsigned enabled = 9;
    DO(cuGraphNodeSetEnabled(exec, twice, 0));
    DO(cuGraphNodeGetEnabled(exec, twice, &enabled));
    CHECK(enabled == 0);
    DO(cuGraphLaunch(exec, nullptr));
    CHECK(world.value() == 17);
    DO(cuGraphNodeSetEnabled(exec, twice, 1));

    // A copy with another parameter, and the instance becomes as that is.
    CUgraph copy = nullptr;
    CUgraphNode found = nullptr;
    DO(cuGraphClone(&copy, graph));
    DO(cuGraphNodeFindInClone(&found, add, copy));
    a = 50;
    DO(cuGraphKernelNodeSetParams(found, &adds));
    CUgraphExecUpdateResultInfo updated{};
    DO(cuGraphExecUpdate(exec, copy, &updated));
    CHECK(updated.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    world.set(0);
    DO(cuGraphLaunch(exec, nullptr));
    CHECK(world.value() == 100);
    DO(cuGraphAddEmptyNode(&nothing, copy, nullptr, 0));
    EXPECT_RESULT(cuGraphExecUpdate(exec, copy, &updated), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    DO(cuGraphExecDestroy(exec));

    CUDA_GRAPH_INSTANTIATE_PARAMS p{};
    DO(cuGraphInstantiateWithParams(&exec, graph, &p));
    CHECK(p.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphInstantiate(&exec, graph, 0));
    DO(cuGraphExecDestroy(exec));

    const std::string path = "/tmp/driver_graphs." + std::to_string(getpid()) + ".dot";
    DO(cuGraphDebugDotPrint(graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    CHECK(std::remove(path.c_str()) == 0);
    EXPECT_RESULT(cuGraphDebugDotPrint(graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    DO(cuGraphDestroy(copy));
    DO(cuGraphDestroy(graph));
    return done("driver_graphs");
}
