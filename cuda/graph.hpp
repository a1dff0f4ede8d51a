// SPDX-License-Identifier: Apache-2.0
// Graphs: work and what must come before it, built node by node or captured from streams.
#pragma once

#include <span>
#include <variant>

#include "cuda/state.hpp"

namespace lockwarp::cuda {

struct KernelWork {
    std::shared_ptr<Function> function;
    LaunchShape shape;
    std::vector<uint8_t> parameters;
    std::vector<void*> places{};  // of each parameter in these bytes, once they were asked for
    Attributes attributes{};      // that change nothing here
};
struct Nothing {};
struct ChildWork {
    std::shared_ptr<Graph> graph;  // a copy of the node's own
};
struct WaitWork {
    std::shared_ptr<Event> event;
};
struct RecordWork {
    std::shared_ptr<Event> event;
    std::shared_ptr<void> awaited{};  // SharedEvent::to_be_recorded
};
struct AllocateWork {
    Address address;
    size_t size;
    std::shared_ptr<Context> context;
};
struct FreeWork {
    Address address;
};
// What a handle of cuGraphConditionalHandleCreate stands for: a number that kernels store
// (cuda/conditional.hpp).
struct Condition {
    Address value = 0;  // of the number, which is the handle
    uint64_t allocation = 0;
    uint32_t at_launch = 0;  // that it becomes when the graph is launched, where that was asked for
    bool is_set_at_launch = false;
    Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    ~Condition();
};
// CUgraphConditionalNodeType
enum class ConditionalType : int { if_, while_, switch_ };
struct ConditionalWork {
    std::shared_ptr<Condition> condition;
    ConditionalType type;
    std::vector<std::shared_ptr<Graph>> bodies;
    std::shared_ptr<std::vector<Graph*>> handles;         // of the bodies, for the program
    std::vector<std::shared_ptr<GraphExec>> instances{};  // of the bodies, once instantiated
};
struct MemoryWork {
    std::vector<MemoryOperation> operations;
};
using Work = std::variant<KernelWork, Copy3D, MemsetNode, HostNode, ChildWork, Nothing, WaitWork,
                          RecordWork, AllocateWork, FreeWork, ConditionalWork, MemoryWork>;

// CUgraphNodeType, in the order of Work.
inline constexpr std::array node_types{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 13, 12};
static_assert(node_types.size() == std::variant_size_v<Work>);

struct GraphNode {
    std::weak_ptr<Graph> graph;
    Work work;
    std::vector<GraphNode*> before;
    const GraphNode* original = nullptr;  // that it is a copy of
    bool is_captured = false;
};

struct GraphExec;

struct Graph {
    ~Graph();
    std::mutex mutex;
    std::vector<std::shared_ptr<GraphNode>> nodes;  // in the order in which they were added
    // Memory of its allocation nodes: it stays while the graph does.
    std::vector<std::pair<Address, uint64_t>> allocated;  // with its number
    std::vector<std::shared_ptr<void>> kept{};            // references to user objects
    std::vector<std::shared_ptr<Condition>> conditions{};
    std::weak_ptr<GraphExec> instance{};  // the only one at a time of a graph with memory nodes
};

// A graph's work in an order that its edges allow.
struct GraphExec {
    struct Step {
        const GraphNode* node;  // that it was made of
        size_t place;           // of that among the graph's nodes
        std::vector<size_t> before;
        Work work;
        bool enabled = true;
    };
    std::mutex mutex;
    std::vector<Step> steps;
    std::shared_ptr<Graph> graph;
    unsigned long long flags = 0;
};

// A Failure where an edge leads to another graph.
GraphNode* add_node(const std::shared_ptr<Graph>& graph, std::span<GraphNode* const> before,
                    Work work);
// Memory that lives as long as the graph.
Address allocate_for(Graph& graph, size_t size, const std::shared_ptr<Context>& context);
// The program has no handles of its nodes any more, nor of the bodies of its conditional ones.
void forget(const std::shared_ptr<Graph>& graph);
std::shared_ptr<GraphNode> node_of(GraphNode* node);
// What kernel nodes have besides their parameters goes over to other work.
void keep_attributes(const Work& from, Work& to);
KernelWork kernel_work(const KernelNode2& node);
std::shared_ptr<Graph> copy_of(Graph& graph);
std::shared_ptr<GraphExec> instantiate(const std::shared_ptr<Graph>& graph);
void run_steps(GraphExec& exec);
// As above, from the beginning of a launch: conditions have the values that were asked for.
void run_launch(GraphExec& exec);
void run(const Work& work);

// What streams capture together.
struct Capture {
    std::shared_ptr<Graph> graph;
    uint64_t id = 0;
    bool invalidated = false;
    Stream* origin = nullptr;
    int mode = 0;  // CUstreamCaptureMode
};

// Work that a stream was asked for: it is done now, or becomes a node of the graph that the stream
// captures.
void submit(Stream* stream, Work work);
// Of what waits for work of the legacy stream: a Failure while a stream is captured in global mode.
void refuse_while_captured();
// The graph that a stream captures; nullptr.
std::shared_ptr<Graph> graph_of_capture(Stream* stream);
// Of what a capture cannot hold: a Failure, and the capture is invalid.
void refuse_capture(Stream* stream);

}  // namespace lockwarp::cuda
