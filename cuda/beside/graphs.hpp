// SPDX-License-Identifier: Apache-2.0
// Graphs that a program has instantiated, as their nodes are: a launch of one is done node by node,
// so that each kernel is a launch as any other.
#pragma once

#include <optional>
#include <vector>

#include "cuda/driver_api.hpp"
#include "cuda/node_parameters.hpp"

namespace lockwarp::beside {

using cuda::Graph;
using cuda::GraphExec;
using cuda::GraphNode;

// A node that a launch does, of the kind that `type` says.
struct Step {
    GraphNode* node = nullptr;
    cuda::NodeType type{};
};

// In an order that the graph allows, those of graphs within it in their place; without nodes that
// do nothing or are switched off. nullopt: it has others than those that are launched alone, or is
// not known.
std::optional<std::vector<Step>> steps_of(GraphExec* exec);

// Does what a node other than a kernel's does, in the stream.
cuda::Result do_step(const Step& step, cuda::Stream* stream);

}  // namespace lockwarp::beside
