// SPDX-License-Identifier: Apache-2.0
// Attributes of streams and kernel nodes, user objects, clusters that an SM holds.
#include "cuda/runtime/graph.hpp"
#include "cuda/runtime/state.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

struct UserObject;

extern "C" {
Result cuDeviceGetGraphMemAttribute(DeviceId device, int attribute, uint64_t* value);
Result cuDeviceSetGraphMemAttribute(DeviceId device, int attribute, const uint64_t* value);
Result cuDeviceGraphMemTrim(DeviceId device);
Result cuStreamSetAttribute(Stream* stream, int number, const AttributeValue* value);
Result cuStreamGetAttribute(Stream* stream, int number, AttributeValue* out);
Result cuStreamCopyAttributes(Stream* to, Stream* from);
Result cuGraphKernelNodeSetAttribute(GraphNode* node, int number, const AttributeValue* value);
Result cuGraphKernelNodeGetAttribute(GraphNode* node, int number, AttributeValue* out);
Result cuGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from);
Result cuUserObjectCreate(UserObject** out, void* object, HostFunction destroy, unsigned count,
                          unsigned flags);
Result cuUserObjectRetain(UserObject* handle, unsigned count);
Result cuUserObjectRelease(UserObject* handle, unsigned count);
Result cuGraphRetainUserObject(Graph* graph, UserObject* handle, unsigned count, unsigned flags);
Result cuGraphReleaseUserObject(Graph* graph, UserObject* handle, unsigned count);
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaStreamSetAttribute(Stream* stream, int number, const AttributeValue* value) {
    return call([&] { return cuStreamSetAttribute(stream, number, value); });
}

Result cudaStreamGetAttribute(Stream* stream, int number, AttributeValue* out) {
    return call([&] { return cuStreamGetAttribute(stream, number, out); });
}

Result cudaStreamCopyAttributes(Stream* to, Stream* from) {
    return call([&] { return cuStreamCopyAttributes(to, from); });
}

Result cudaGraphKernelNodeSetAttribute(GraphNode* node, int number, const AttributeValue* value) {
    return call([&] { return cuGraphKernelNodeSetAttribute(node, number, value); });
}

Result cudaGraphKernelNodeGetAttribute(GraphNode* node, int number, AttributeValue* out) {
    return call([&] { return cuGraphKernelNodeGetAttribute(node, number, out); });
}

Result cudaGraphKernelNodeCopyAttributes(GraphNode* to, GraphNode* from) {
    return call([&] { return cuGraphKernelNodeCopyAttributes(to, from); });
}

Result cudaUserObjectCreate(UserObject** out, void* object, HostFunction destroy, unsigned count,
                            unsigned flags) {
    return call([&] { return cuUserObjectCreate(out, object, destroy, count, flags); });
}

Result cudaUserObjectRetain(UserObject* object, unsigned count) {
    return call([&] { return cuUserObjectRetain(object, count); });
}

Result cudaUserObjectRelease(UserObject* object, unsigned count) {
    return call([&] { return cuUserObjectRelease(object, count); });
}

Result cudaGraphRetainUserObject(Graph* graph, UserObject* object, unsigned count, unsigned flags) {
    return call([&] { return cuGraphRetainUserObject(graph, object, count, flags); });
}

Result cudaGraphReleaseUserObject(Graph* graph, UserObject* object, unsigned count) {
    return call([&] { return cuGraphReleaseUserObject(graph, object, count); });
}

Result cudaMemPoolGetAccess(int* flags, Pool* pool, const Location* location) {
    return ask([&] { return cuMemPoolGetAccess(flags, pool, location); });
}

Result cudaDeviceGetGraphMemAttribute(int device, int attribute, uint64_t* value) {
    return call([&] { return cuDeviceGetGraphMemAttribute(device, attribute, value); });
}

Result cudaDeviceSetGraphMemAttribute(int device, int attribute, const uint64_t* value) {
    return call([&] { return cuDeviceSetGraphMemAttribute(device, attribute, value); });
}

Result cudaDeviceGraphMemTrim(int device) {
    return call([&] { return cuDeviceGraphMemTrim(device); });
}

}  // extern "C"
