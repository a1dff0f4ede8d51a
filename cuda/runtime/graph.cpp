// SPDX-License-Identifier: Apache-2.0
// Graphs: their nodes, copies, instances and launches.
#include <algorithm>

#include "cuda/node_parameters.hpp"
#include "cuda/runtime/copy.hpp"
#include "cuda/runtime/graph.hpp"

namespace lockwarp::cuda {

namespace {

KernelNode2 driver_node(const RuntimeKernelNode* n) {
    require(n != nullptr);
    KernelNode2 out{};
    out.first.function = kernel_of(n->function);
    out.first.grid[0] = n->grid.x;
    out.first.grid[1] = n->grid.y;
    out.first.grid[2] = n->grid.z;
    out.first.block[0] = n->block.x;
    out.first.block[1] = n->block.y;
    out.first.block[2] = n->block.z;
    out.first.dynamic_shared = n->dynamic_shared;
    out.first.parameters = n->parameters;
    out.first.extra = n->extra;
    return out;
}

RuntimeKernelNode runtime_node(const KernelNode& n) {
    return {host_function_of(n.function),
            {n.grid[0], n.grid[1], n.grid[2]},
            {n.block[0], n.block[1], n.block[2]},
            n.dynamic_shared,
            n.parameters,
            n.extra};
}

// cudaGraphNodeParams: as the driver's but for kernels and copies.
struct RuntimeNodeParameters {
    NodeType type;
    int reserved0[3];
    union {
        long long same[29];
        RuntimeKernelNode kernel;
        struct {
            int flags;
            int reserved[3];
            CopyBox box;
        } copy;
    };
    long long reserved2;
};
static_assert(sizeof(RuntimeNodeParameters) == sizeof(NodeParameters));

NodeParameters driver_node(const RuntimeNodeParameters& n) {
    NodeParameters out{};
    out.type = n.type;
    if (n.type == NodeType::kernel)
        out.kernel = driver_node(&n.kernel);
    else if (n.type == NodeType::copy)
        out.copy.copy = driver_copy(n.copy.box);
    else
        std::copy_n(n.same, std::size(n.same), out.reserved1);
    return out;
}

CopyBox line(void* target, const void* source, size_t count, CopyKind kind) {
    CopyBox box{};
    box.source = {const_cast<void*>(source), count, count, 1};
    box.target = {target, count, count, 1};
    box.extent = {count, 1, 1};
    box.kind = kind;
    return box;
}

CopyBox line_to_symbol(const void* variable, const void* source, size_t count, size_t offset,
                       CopyKind kind) {
    require_to_symbol(kind);
    require(count != 0);
    return line(within(variable, count, offset), source, count, kind);
}

CopyBox line_from_symbol(void* target, const void* variable, size_t count, size_t offset,
                         CopyKind kind) {
    require_from_symbol(kind);
    require(count != 0);
    return line(target, within(variable, count, offset), count, kind);
}

Result add_copy(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                const CopyBox* box) {
    return call([&] {
        require(box != nullptr);
        const Copy3D copy = driver_copy(*box);
        return cuGraphAddMemcpyNode(out, graph, before, count, &copy, nullptr);
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaGraphCreate(Graph** out, unsigned flags) {
    return call([&] { return cuGraphCreate(out, flags); });
}

Result cudaGraphDestroy(Graph* graph) {
    return call([&] { return cuGraphDestroy(graph); });
}

Result cudaGraphAddKernelNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                              const RuntimeKernelNode* node) {
    return call([&] {
        const KernelNode2 n = driver_node(node);
        return cuGraphAddKernelNode_v2(out, graph, before, count, &n);
    });
}

Result cudaGraphAddMemcpyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                              const CopyBox* box) {
    return add_copy(out, graph, before, count, box);
}

Result cudaGraphAddMemcpyNode1D(GraphNode** out, Graph* graph, GraphNode* const* before,
                                size_t count, void* target, const void* source, size_t size,
                                CopyKind kind) {
    const CopyBox box = line(target, source, size, kind);
    return add_copy(out, graph, before, count, &box);
}

Result cudaGraphAddMemcpyNodeToSymbol(GraphNode** out, Graph* graph, GraphNode* const* before,
                                      size_t count, const void* variable, const void* source,
                                      size_t size, size_t offset, CopyKind kind) {
    return call([&] {
        const CopyBox box = line_to_symbol(variable, source, size, offset, kind);
        return add_copy(out, graph, before, count, &box);
    });
}

Result cudaGraphAddMemcpyNodeFromSymbol(GraphNode** out, Graph* graph, GraphNode* const* before,
                                        size_t count, void* target, const void* variable,
                                        size_t size, size_t offset, CopyKind kind) {
    return call([&] {
        const CopyBox box = line_from_symbol(target, variable, size, offset, kind);
        return add_copy(out, graph, before, count, &box);
    });
}

Result cudaGraphAddMemsetNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                              const MemsetNode* node) {
    return call([&] { return cuGraphAddMemsetNode(out, graph, before, count, node, nullptr); });
}

Result cudaGraphAddHostNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const HostNode* node) {
    return call([&] { return cuGraphAddHostNode(out, graph, before, count, node); });
}

Result cudaGraphAddEmptyNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                             size_t count) {
    return call([&] { return cuGraphAddEmptyNode(out, graph, before, count); });
}

Result lockwarp_cudaGraphAddNode_13(GraphNode** out, Graph* graph, GraphNode* const* before,
                                    const void* edges, size_t count, RuntimeNodeParameters* p) {
    return call([&] {
        require(p != nullptr);
        NodeParameters n = driver_node(*p);
        const Result added = cuGraphAddNode_v2(out, graph, before, edges, count, &n);
        // What is given back: memory, and the bodies of a condition.
        if (n.type != NodeType::kernel && n.type != NodeType::copy)
            std::copy_n(n.reserved1, std::size(n.reserved1), p->same);
        return added;
    });
}

Result lockwarp_cudaGraphAddNode_12(GraphNode** out, Graph* graph, GraphNode* const* before,
                                    size_t count, RuntimeNodeParameters* p) {
    return lockwarp_cudaGraphAddNode_13(out, graph, before, nullptr, count, p);
}

Result cudaGraphNodeSetParams(GraphNode* node, const RuntimeNodeParameters* p) {
    return call([&] {
        require(p != nullptr);
        const NodeParameters n = driver_node(*p);
        return cuGraphNodeSetParams(node, &n);
    });
}

Result cudaGraphExecNodeSetParams(GraphExec* exec, GraphNode* node,
                                  const RuntimeNodeParameters* p) {
    return call([&] {
        require(p != nullptr);
        const NodeParameters n = driver_node(*p);
        return cuGraphExecNodeSetParams(exec, node, &n);
    });
}

Result cudaGraphConditionalHandleCreate(Address* out, Graph* graph, unsigned at_launch,
                                        unsigned flags) {
    return call(
        [&] { return cuGraphConditionalHandleCreate(out, graph, nullptr, at_launch, flags); });
}

Result cudaGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long flags) {
    return call([&] { return cuGraphInstantiateWithFlags(out, graph, flags); });
}

Result cudaGraphInstantiate(GraphExec** out, Graph* graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(out, graph, flags);
}

Result cudaGraphInstantiateWithParams(GraphExec** out, Graph* graph,
                                      InstantiateParameters* parameters) {
    return call([&] { return cuGraphInstantiateWithParams(out, graph, parameters); });
}

Result cudaGraphExecGetFlags(GraphExec* exec, unsigned long long* flags) {
    return call([&] { return cuGraphExecGetFlags(exec, flags); });
}

Result cudaGraphExecUpdate(GraphExec* exec, Graph* graph, UpdateResult* result) {
    return call([&] { return cuGraphExecUpdate_v2(exec, graph, result); });
}

Result cudaGraphDebugDotPrint(Graph* graph, const char* path, unsigned flags) {
    return call([&] { return cuGraphDebugDotPrint(graph, path, flags); });
}

Result cudaGraphClone(Graph** out, Graph* graph) {
    return call([&] { return cuGraphClone(out, graph); });
}

Result cudaGraphExecDestroy(GraphExec* exec) {
    return call([&] { return cuGraphExecDestroy(exec); });
}

Result cudaGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node,
                                        const RuntimeKernelNode* parameters) {
    return call([&] {
        const KernelNode2 n = driver_node(parameters);
        return cuGraphExecKernelNodeSetParams_v2(exec, node, &n);
    });
}

Result cudaGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const CopyBox* box) {
    return call([&] {
        require(box != nullptr);
        const Copy3D copy = driver_copy(*box);
        return cuGraphExecMemcpyNodeSetParams(exec, node, &copy, nullptr);
    });
}

Result cudaGraphExecMemcpyNodeSetParams1D(GraphExec* exec, GraphNode* node, void* target,
                                          const void* source, size_t size, CopyKind kind) {
    const CopyBox box = line(target, source, size, kind);
    return cudaGraphExecMemcpyNodeSetParams(exec, node, &box);
}

Result cudaGraphExecMemcpyNodeSetParamsToSymbol(GraphExec* exec, GraphNode* node,
                                                const void* variable, const void* source,
                                                size_t size, size_t offset, CopyKind kind) {
    return call([&] {
        const CopyBox box = line_to_symbol(variable, source, size, offset, kind);
        return cudaGraphExecMemcpyNodeSetParams(exec, node, &box);
    });
}

Result cudaGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec* exec, GraphNode* node, void* target,
                                                  const void* variable, size_t size, size_t offset,
                                                  CopyKind kind) {
    return call([&] {
        const CopyBox box = line_from_symbol(target, variable, size, offset, kind);
        return cudaGraphExecMemcpyNodeSetParams(exec, node, &box);
    });
}

Result cudaGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* fill) {
    return call([&] { return cuGraphExecMemsetNodeSetParams(exec, node, fill, nullptr); });
}

Result cudaGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node, const HostNode* host) {
    return call([&] { return cuGraphExecHostNodeSetParams(exec, node, host); });
}

Result cudaGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child) {
    return call([&] { return cuGraphExecChildGraphNodeSetParams(exec, node, child); });
}

Result cudaGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return call([&] { return cuGraphExecEventRecordNodeSetEvent(exec, node, event); });
}

Result cudaGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return call([&] { return cuGraphExecEventWaitNodeSetEvent(exec, node, event); });
}

Result cudaGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled) {
    return call([&] { return cuGraphNodeSetEnabled(exec, node, enabled); });
}

Result cudaGraphNodeGetEnabled(GraphExec* exec, GraphNode* node, unsigned* enabled) {
    return call([&] { return cuGraphNodeGetEnabled(exec, node, enabled); });
}

Result cudaGraphKernelNodeGetParams(GraphNode* node, RuntimeKernelNode* out) {
    return call([&] {
        require(out != nullptr);
        KernelNode n{};
        check(cuGraphKernelNodeGetParams(node, &n));
        *out = runtime_node(n);
    });
}

Result cudaGraphKernelNodeSetParams(GraphNode* node, const RuntimeKernelNode* parameters) {
    return call([&] {
        const KernelNode2 n = driver_node(parameters);
        return cuGraphKernelNodeSetParams_v2(node, &n);
    });
}

Result cudaGraphMemcpyNodeGetParams(GraphNode* node, CopyBox* out) {
    return call([&] {
        require(out != nullptr);
        Copy3D copy{};
        check(cuGraphMemcpyNodeGetParams(node, &copy));
        *out = runtime_copy(copy);
    });
}

Result cudaGraphMemcpyNodeSetParams(GraphNode* node, const CopyBox* box) {
    return call([&] {
        require(box != nullptr);
        const Copy3D copy = driver_copy(*box);
        return cuGraphMemcpyNodeSetParams(node, &copy);
    });
}

Result cudaGraphMemcpyNodeSetParams1D(GraphNode* node, void* target, const void* source,
                                      size_t size, CopyKind kind) {
    const CopyBox box = line(target, source, size, kind);
    return cudaGraphMemcpyNodeSetParams(node, &box);
}

Result cudaGraphMemcpyNodeSetParamsToSymbol(GraphNode* node, const void* variable,
                                            const void* source, size_t size, size_t offset,
                                            CopyKind kind) {
    return call([&] {
        const CopyBox box = line_to_symbol(variable, source, size, offset, kind);
        return cudaGraphMemcpyNodeSetParams(node, &box);
    });
}

Result cudaGraphMemcpyNodeSetParamsFromSymbol(GraphNode* node, void* target, const void* variable,
                                              size_t size, size_t offset, CopyKind kind) {
    return call([&] {
        const CopyBox box = line_from_symbol(target, variable, size, offset, kind);
        return cudaGraphMemcpyNodeSetParams(node, &box);
    });
}

Result cudaGraphMemsetNodeGetParams(GraphNode* node, MemsetNode* out) {
    return call([&] { return cuGraphMemsetNodeGetParams(node, out); });
}

Result cudaGraphMemsetNodeSetParams(GraphNode* node, const MemsetNode* fill) {
    return call([&] { return cuGraphMemsetNodeSetParams(node, fill); });
}

Result cudaGraphHostNodeGetParams(GraphNode* node, HostNode* out) {
    return call([&] { return cuGraphHostNodeGetParams(node, out); });
}

Result cudaGraphHostNodeSetParams(GraphNode* node, const HostNode* host) {
    return call([&] { return cuGraphHostNodeSetParams(node, host); });
}

Result cudaGraphAddChildGraphNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                  size_t count, Graph* child) {
    return call([&] { return cuGraphAddChildGraphNode(out, graph, before, count, child); });
}

Result cudaGraphChildGraphNodeGetGraph(GraphNode* node, Graph** out) {
    return call([&] { return cuGraphChildGraphNodeGetGraph(node, out); });
}

Result cudaGraphAddEventRecordNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                   size_t count, Event* event) {
    return call([&] { return cuGraphAddEventRecordNode(out, graph, before, count, event); });
}

Result cudaGraphAddEventWaitNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                 size_t count, Event* event) {
    return call([&] { return cuGraphAddEventWaitNode(out, graph, before, count, event); });
}

Result cudaGraphEventRecordNodeGetEvent(GraphNode* node, Event** out) {
    return call([&] { return cuGraphEventRecordNodeGetEvent(node, out); });
}

Result cudaGraphEventRecordNodeSetEvent(GraphNode* node, Event* event) {
    return call([&] { return cuGraphEventRecordNodeSetEvent(node, event); });
}

Result cudaGraphEventWaitNodeGetEvent(GraphNode* node, Event** out) {
    return call([&] { return cuGraphEventWaitNodeGetEvent(node, out); });
}

Result cudaGraphEventWaitNodeSetEvent(GraphNode* node, Event* event) {
    return call([&] { return cuGraphEventWaitNodeSetEvent(node, event); });
}

Result cudaGraphAddMemAllocNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                size_t count, AllocateNode* node) {
    return call([&] { return cuGraphAddMemAllocNode(out, graph, before, count, node); });
}

Result cudaGraphAddMemFreeNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, void* memory) {
    return call([&] {
        return cuGraphAddMemFreeNode(out, graph, before, count, reinterpret_cast<Address>(memory));
    });
}

Result cudaGraphMemAllocNodeGetParams(GraphNode* node, AllocateNode* out) {
    return call([&] { return cuGraphMemAllocNodeGetParams(node, out); });
}

Result cudaGraphMemFreeNodeGetParams(GraphNode* node, void** out) {
    return call([&] { return cuGraphMemFreeNodeGetParams(node, reinterpret_cast<Address*>(out)); });
}

Result cudaGraphUpload(GraphExec* exec, Stream* stream) {
    return call([&] { return cuGraphUpload(exec, stream); });
}

Result cudaGraphLaunch(GraphExec* exec, Stream* stream) {
    return call([&] { return cuGraphLaunch(exec, stream); });
}

}  // extern "C"
