// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes and edges in a graph, and capture of streams. Toolkit 13 has edges with data, which
// change nothing here.
#include "cuda/runtime/graph.hpp"
#include "cuda/runtime/state.hpp"

using namespace lockwarp::cuda;

extern "C" {

Result cudaGraphGetNodes(Graph* graph, GraphNode** nodes, size_t* count) {
    return call([&] { return cuGraphGetNodes(graph, nodes, count); });
}

Result cudaGraphGetRootNodes(Graph* graph, GraphNode** nodes, size_t* count) {
    return call([&] { return cuGraphGetRootNodes(graph, nodes, count); });
}

Result cudaGraphNodeGetType(GraphNode* node, int* type) {
    return call([&] { return cuGraphNodeGetType(node, type); });
}

Result cudaGraphNodeFindInClone(GraphNode** out, GraphNode* original, Graph* clone) {
    return call([&] { return cuGraphNodeFindInClone(out, original, clone); });
}

Result cudaGraphDestroyNode(GraphNode* node) {
    return call([&] { return cuGraphDestroyNode(node); });
}

Result lockwarp_cudaGraphAddDependencies_13(Graph* graph, GraphNode* const* from,
                                            GraphNode* const* to, const void* data, size_t count) {
    return call([&] { return cuGraphAddDependencies_v2(graph, from, to, data, count); });
}

Result lockwarp_cudaGraphAddDependencies_12(Graph* graph, GraphNode* const* from,
                                            GraphNode* const* to, size_t count) {
    return lockwarp_cudaGraphAddDependencies_13(graph, from, to, nullptr, count);
}

Result lockwarp_cudaGraphRemoveDependencies_13(Graph* graph, GraphNode* const* from,
                                               GraphNode* const* to, const void* data,
                                               size_t count) {
    return call([&] { return cuGraphRemoveDependencies_v2(graph, from, to, data, count); });
}

Result lockwarp_cudaGraphRemoveDependencies_12(Graph* graph, GraphNode* const* from,
                                               GraphNode* const* to, size_t count) {
    return lockwarp_cudaGraphRemoveDependencies_13(graph, from, to, nullptr, count);
}

Result lockwarp_cudaGraphGetEdges_13(Graph* graph, GraphNode** from, GraphNode** to, uint64_t* data,
                                     size_t* count) {
    return call([&] { return cuGraphGetEdges_v2(graph, from, to, data, count); });
}

Result lockwarp_cudaGraphGetEdges_12(Graph* graph, GraphNode** from, GraphNode** to,
                                     size_t* count) {
    return lockwarp_cudaGraphGetEdges_13(graph, from, to, nullptr, count);
}

Result lockwarp_cudaGraphNodeGetDependencies_13(GraphNode* node, GraphNode** out, uint64_t* data,
                                                size_t* count) {
    return call([&] { return cuGraphNodeGetDependencies_v2(node, out, data, count); });
}

Result lockwarp_cudaGraphNodeGetDependencies_12(GraphNode* node, GraphNode** out, size_t* count) {
    return lockwarp_cudaGraphNodeGetDependencies_13(node, out, nullptr, count);
}

Result lockwarp_cudaGraphNodeGetDependentNodes_13(GraphNode* node, GraphNode** out, uint64_t* data,
                                                  size_t* count) {
    return call([&] { return cuGraphNodeGetDependentNodes_v2(node, out, data, count); });
}

Result lockwarp_cudaGraphNodeGetDependentNodes_12(GraphNode* node, GraphNode** out, size_t* count) {
    return lockwarp_cudaGraphNodeGetDependentNodes_13(node, out, nullptr, count);
}

Result cudaStreamBeginCapture(Stream* stream, int mode) {
    return call([&] { return cuStreamBeginCapture_v2(stream, mode); });
}

Result cudaStreamBeginCaptureToGraph(Stream* stream, Graph* graph, GraphNode* const* before,
                                     const void* data, size_t count, int mode) {
    return call(
        [&] { return cuStreamBeginCaptureToGraph(stream, graph, before, data, count, mode); });
}

Result cudaStreamEndCapture(Stream* stream, Graph** graph) {
    return call([&] { return cuStreamEndCapture(stream, graph); });
}

Result cudaStreamIsCapturing(Stream* stream, int* status) {
    return call([&] { return cuStreamIsCapturing(stream, status); });
}

Result lockwarp_cudaStreamGetCaptureInfo_13(Stream* stream, int* status, uint64_t* id,
                                            Graph** graph, GraphNode* const** nodes,
                                            const void** edges, size_t* count) {
    return call(
        [&] { return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count); });
}

Result lockwarp_cudaStreamGetCaptureInfo_12(Stream* stream, int* status, uint64_t* id,
                                            Graph** graph, GraphNode* const** nodes,
                                            size_t* count) {
    return lockwarp_cudaStreamGetCaptureInfo_13(stream, status, id, graph, nodes, nullptr, count);
}

Result lockwarp_cudaStreamUpdateCaptureDependencies_13(Stream* stream, GraphNode* const* nodes,
                                                       const void* data, size_t count,
                                                       unsigned flags) {
    return call(
        [&] { return cuStreamUpdateCaptureDependencies_v2(stream, nodes, data, count, flags); });
}

Result lockwarp_cudaStreamUpdateCaptureDependencies_12(Stream* stream, GraphNode* const* nodes,
                                                       size_t count, unsigned flags) {
    return lockwarp_cudaStreamUpdateCaptureDependencies_13(stream, nodes, nullptr, count, flags);
}

Result cudaThreadExchangeStreamCaptureMode(int* mode) {
    return call([&] { return cuThreadExchangeStreamCaptureMode(mode); });
}

}  // extern "C"
