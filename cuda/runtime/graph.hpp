// SPDX-License-Identifier: Apache-2.0
// The driver's functions of graphs and capture, for the runtime (see cuda/driver.hpp).
#pragma once

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

struct InstantiateParameters;  // CUDA_GRAPH_INSTANTIATE_PARAMS
struct UpdateResult;           // CUgraphExecUpdateResultInfo
struct AllocateNode;           // CUDA_MEM_ALLOC_NODE_PARAMS
struct NodeParameters;         // CUgraphNodeParams

extern "C" {

Result cuGraphAddChildGraphNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                size_t count, Graph* child);
Result cuGraphAddDependencies_v2(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                                 const void*, size_t count);
Result cuGraphAddEmptyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count);
Result cuGraphAddEventRecordNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                 size_t count, Event* event);
Result cuGraphAddEventWaitNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, Event* event);
Result cuGraphAddHostNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                          const HostNode* host);
Result cuGraphAddKernelNode_v2(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, const KernelNode2* n);
Result cuGraphAddMemAllocNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                              AllocateNode* n);
Result cuGraphAddMemFreeNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                             Address address);
Result cuGraphAddMemcpyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const Copy3D* copy, Context*);
Result cuGraphAddMemsetNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const MemsetNode* fill, Context*);
Result cuGraphAddNode_v2(GraphNode** out, Graph* graph, GraphNode* const* before, const void*,
                         size_t count, NodeParameters* p);
Result cuGraphChildGraphNodeGetGraph(GraphNode* node, Graph** out);
Result cuGraphClone(Graph** out, Graph* graph);
Result cuGraphDebugDotPrint(Graph* graph, const char* path, unsigned flags);
Result cuGraphConditionalHandleCreate(Address* out, Graph* graph, Context*, unsigned at_launch,
                                      unsigned flags);
Result cuGraphCreate(Graph** out, unsigned flags);
Result cuGraphDestroy(Graph* graph);
Result cuGraphDestroyNode(GraphNode* node);
Result cuGraphEventRecordNodeGetEvent(GraphNode* node, Event** out);
Result cuGraphEventRecordNodeSetEvent(GraphNode* node, Event* event);
Result cuGraphEventWaitNodeGetEvent(GraphNode* node, Event** out);
Result cuGraphEventWaitNodeSetEvent(GraphNode* node, Event* event);
Result cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child);
Result cuGraphExecDestroy(GraphExec* exec);
Result cuGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event);
Result cuGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event);
Result cuGraphExecGetFlags(GraphExec* exec, unsigned long long* flags);
Result cuGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node, const HostNode* host);
Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* n);
Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const Copy3D* copy,
                                      Context*);
Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* fill,
                                      Context*);
Result cuGraphExecNodeSetParams(GraphExec* exec, GraphNode* node, const NodeParameters* p);
Result cuGraphExecUpdate_v2(GraphExec* exec, Graph* graph, UpdateResult* out);
Result cuGraphGetEdges_v2(Graph* graph, GraphNode** from, GraphNode** to, uint64_t* data,
                          size_t* count);
Result cuGraphGetNodes(Graph* graph, GraphNode** out, size_t* count);
Result cuGraphGetRootNodes(Graph* graph, GraphNode** out, size_t* count);
Result cuGraphHostNodeGetParams(GraphNode* node, HostNode* out);
Result cuGraphHostNodeSetParams(GraphNode* node, const HostNode* host);
Result cuGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long flags);
Result cuGraphInstantiateWithParams(GraphExec** out, Graph* graph, InstantiateParameters* p);
Result cuGraphKernelNodeGetParams(GraphNode* node, KernelNode* out);
Result cuGraphKernelNodeSetParams_v2(GraphNode* node, const KernelNode2* n);
Result cuGraphLaunch(GraphExec* exec, Stream* stream);
Result cuGraphMemAllocNodeGetParams(GraphNode* node, AllocateNode* out);
Result cuGraphMemFreeNodeGetParams(GraphNode* node, Address* out);
Result cuGraphMemcpyNodeGetParams(GraphNode* node, Copy3D* out);
Result cuGraphMemcpyNodeSetParams(GraphNode* node, const Copy3D* copy);
Result cuGraphMemsetNodeGetParams(GraphNode* node, MemsetNode* out);
Result cuGraphMemsetNodeSetParams(GraphNode* node, const MemsetNode* fill);
Result cuGraphNodeFindInClone(GraphNode** out, GraphNode* original, Graph* clone);
Result cuGraphNodeGetDependencies_v2(GraphNode* node, GraphNode** out, uint64_t* data,
                                     size_t* count);
Result cuGraphNodeGetDependentNodes_v2(GraphNode* node, GraphNode** out, uint64_t* data,
                                       size_t* count);
Result cuGraphNodeGetEnabled(GraphExec* exec, GraphNode* node, unsigned* enabled);
Result cuGraphNodeGetType(GraphNode* node, int* type);
Result cuGraphNodeSetParams(GraphNode* node, const NodeParameters* p);
Result cuGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled);
Result cuGraphRemoveDependencies_v2(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                                    const void*, size_t count);
Result cuGraphUpload(GraphExec* exec, Stream* stream);
Result cuStreamBeginCaptureToGraph(Stream* stream, Graph* graph, GraphNode* const* before,
                                   const void*, size_t count, int mode);
Result cuStreamBeginCapture_v2(Stream* stream, int mode);
Result cuStreamEndCapture(Stream* stream, Graph** out);
Result cuStreamGetCaptureInfo_v3(Stream* stream, int* status, uint64_t* id, Graph** graph,
                                 GraphNode* const** nodes, const void** edges, size_t* count);
Result cuStreamUpdateCaptureDependencies_v2(Stream* stream, GraphNode* const* nodes, const void*,
                                            size_t count, unsigned flags);
Result cuThreadExchangeStreamCaptureMode(int* mode);
}  // extern "C"

}  // namespace lockwarp::cuda
