// SPDX-License-Identifier: Apache-2.0
// What cuGraphAddNode is given of a node of any kind.
#pragma once

#include "cuda/conditional.hpp"

namespace lockwarp::cuda {

struct AllocateNode {  // CUDA_MEM_ALLOC_NODE_PARAMS
    char pool[88];
    const void* access;
    size_t access_count, size;
    Address address;
};
static_assert(sizeof(AllocateNode) == 120);

// CUgraphNodeType
enum class NodeType : int {
    kernel = 0,
    copy = 1,
    fill = 2,
    host = 3,
    graph = 4,
    empty = 5,
    wait = 6,
    record = 7,
    allocate = 10,
    free = 11,
    memory = 12,
    conditional = 13
};

struct NodeParameters {  // CUgraphNodeParams
    NodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        KernelNode2 kernel;
        struct {
            int flags, reserved;
            Context* context;
            Copy3D copy;
        } copy;
        struct {
            MemsetNode node;
            Context* context;
        } fill;
        HostNode host;
        Graph* graph;
        Event* event;  // of wait and record
        AllocateNode allocate;
        Address freed;
        BatchMemoryNode memory;
        ConditionalNode conditional;
    };
    long long reserved2;
};
static_assert(sizeof(NodeParameters) == 256);

}  // namespace lockwarp::cuda
