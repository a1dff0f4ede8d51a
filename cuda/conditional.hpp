// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs. Kernels set a condition by cudaGraphSetConditional, a function of
// the device (device_functions.hpp). Here a condition is a number in the device's memory, its
// handle the address of it, and the function a store.
#pragma once

#include "cuda/graph.hpp"

namespace lockwarp::cuda {

// CUDA_CONDITIONAL_NODE_PARAMS
struct ConditionalNode {
    Address condition;
    ConditionalType type;
    uint32_t size;
    Graph** bodies;  // given back
    Context* context;
};
static_assert(sizeof(ConditionalNode) == 32);

ConditionalWork conditional_work(Graph& graph, ConditionalNode& node);
// Those of the graph's nodes and of their bodies' to what was asked for at a launch.
void set_conditions(const GraphExec& exec);
void run_conditional(const ConditionalWork& work);

}  // namespace lockwarp::cuda
