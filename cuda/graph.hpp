// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <variant>

#include "cuda/state.hpp"

namespace lockwarp::cuda {

struct KernelWork {
    std::shared_ptr<Function> function;
    LaunchShape shape;
    std::vector<uint8_t> parameters;
};
struct Nothing {};
using Work = std::variant<Nothing, KernelWork, Copy3D, MemsetNode, HostNode>;

struct GraphNode {
    Work work;
    std::vector<GraphNode*> before;
};

struct Graph {
    std::mutex mutex;
    std::vector<std::shared_ptr<GraphNode>> nodes;  // in the order in which they were added
};

// A graph's work in an order that its edges allow.
struct GraphExec {
    std::mutex mutex;
    std::vector<std::pair<const GraphNode*, Work>> work;
};

}  // namespace lockwarp::cuda
