// SPDX-License-Identifier: Apache-2.0
// A graph's nodes: adding them, their parameters, and the edges between them.
#include <algorithm>

#include "cuda/conditional.hpp"
#include "cuda/graph.hpp"
#include "cuda/node_parameters.hpp"
#include "cuda/stream_memory.hpp"

namespace lockwarp::cuda {

namespace {

template <class T>
const T& given(const T* p) {
    require(p != nullptr);
    return *p;
}

template <class Make>
Result add(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count, Make make) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(out != nullptr && (count == 0 || before != nullptr));
        *out = add_node(g, {before, count}, make());
    });
}

// The work of a node as that of one kind.
template <class T>
T& work_of(GraphNode& node) {
    T* const work = std::get_if<T>(&node.work);
    require(work != nullptr);
    return *work;
}

// Other work of the same kind for a node of a graph.
Result change(GraphNode* node, auto make) {
    return answer([&] {
        const std::shared_ptr<GraphNode> n = node_of(node);
        Work made = make();
        require(n->work.index() == made.index());
        keep_attributes(n->work, made);
        n->work = std::move(made);
    });
}

GraphExec::Step& step_of(GraphExec& exec, const GraphNode* node) {
    const auto found = std::ranges::find(exec.steps, node, &GraphExec::Step::node);
    require(found != exec.steps.end());
    return *found;
}

// The same for what was instantiated.
Result replace(GraphExec* exec, GraphNode* node, auto make) {
    return answer([&] {
        const std::shared_ptr<GraphExec> e = ready().execs.get(exec);
        Work made = make();
        const std::lock_guard lock(e->mutex);
        GraphExec::Step& step = step_of(*e, node);
        require(step.work.index() == made.index());
        keep_attributes(step.work, made);
        step.work = std::move(made);
    });
}

KernelWork kernel_of(const KernelNode* n) { return kernel_work({given(n), nullptr, nullptr}); }
KernelWork kernel_of(const KernelNode2* n) { return kernel_work(given(n)); }

KernelNode kernel_node(GraphNode& node) {
    auto& work = work_of<KernelWork>(node);
    KernelNode out{};
    out.function = work.function.get();
    std::copy_n(work.shape.grid, 3, out.grid);
    std::copy_n(work.shape.block, 3, out.block);
    out.dynamic_shared = work.shape.dynamic_shared;
    work.places.clear();
    for (const lockwarp_parameter& p : work.function->parameters)
        work.places.push_back(work.parameters.data() + p.offset);
    out.parameters = work.places.data();
    return out;
}

HostNode host_of(const HostNode* host) {
    require(given(host).function != nullptr);
    return *host;
}

ChildWork child_of(Graph* child) { return {copy_of(*ready().graphs.get(child))}; }
RecordWork record_of(Event* event) { return {driver().events.get(event)}; }
WaitWork wait_of(Event* event) { return {driver().events.get(event)}; }

AllocateWork allocate_work(Graph& graph, AllocateNode& n) {
    const std::shared_ptr<Context> context = current();
    n.address = allocate_for(graph, n.size, context);
    return {n.address, n.size, context};
}

// Of a node of any kind that needs no graph.
Work work_of(const NodeParameters& p) {
    switch (p.type) {
        case NodeType::kernel:
            return kernel_work(p.kernel);
        case NodeType::copy:
            return p.copy.copy;
        case NodeType::fill:
            return p.fill.node;
        case NodeType::host:
            return host_of(&p.host);
        case NodeType::graph:
            return child_of(p.graph);
        case NodeType::empty:
            return Nothing{};
        case NodeType::wait:
            return wait_of(p.event);
        case NodeType::record:
            return record_of(p.event);
        case NodeType::free:
            return FreeWork{p.freed};
        case NodeType::memory:
            return memory_work(p.memory);
        case NodeType::allocate:
        case NodeType::conditional:
            fail(not_supported);
    }
    fail(not_supported);
}

Work work_of(Graph& graph, NodeParameters& p) {
    if (p.type == NodeType::allocate) return allocate_work(graph, p.allocate);
    if (p.type == NodeType::conditional) return conditional_work(graph, p.conditional);
    return work_of(p);
}

// Lists are given as far as there is room; without a place for them, their length.
void give_nodes(const std::vector<GraphNode*>& nodes, GraphNode** out, size_t* count) {
    require(count != nullptr);
    if (out != nullptr)
        for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
    if (out == nullptr || *count > nodes.size()) *count = nodes.size();
}

std::vector<GraphNode*> nodes_where(Graph& g, auto which) {
    std::vector<GraphNode*> out;
    const std::lock_guard lock(g.mutex);
    for (const auto& n : g.nodes)
        if (which(*n)) out.push_back(n.get());
    return out;
}

std::shared_ptr<Graph> graph_of(const GraphNode& node) {
    std::shared_ptr<Graph> g = node.graph.lock();
    require(g != nullptr);
    return g;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGraphAddKernelNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const KernelNode* n) {
    return add(out, graph, before, count, [&] { return kernel_of(n); });
}

Result cuGraphAddKernelNode_v2(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, const KernelNode2* n) {
    return add(out, graph, before, count, [&] { return kernel_of(n); });
}

Result cuGraphAddMemcpyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const Copy3D* copy, Context*) {
    return add(out, graph, before, count, [&] { return given(copy); });
}

Result cuGraphAddMemsetNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const MemsetNode* fill, Context*) {
    return add(out, graph, before, count, [&] { return given(fill); });
}

Result cuGraphAddHostNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                          const HostNode* host) {
    return add(out, graph, before, count, [&] { return host_of(host); });
}

Result cuGraphAddBatchMemOpNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                size_t count, const BatchMemoryNode* memory) {
    return add(out, graph, before, count, [&] {
        require(given(memory).count != 0);
        return memory_work(*memory);
    });
}

Result cuGraphAddEmptyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count) {
    return add(out, graph, before, count, [] { return Nothing{}; });
}

Result cuGraphAddChildGraphNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                size_t count, Graph* child) {
    return add(out, graph, before, count, [&] { return child_of(child); });
}

Result cuGraphAddEventRecordNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                                 size_t count, Event* event) {
    return add(out, graph, before, count, [&] { return record_of(event); });
}

Result cuGraphAddEventWaitNode(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, Event* event) {
    return add(out, graph, before, count, [&] { return wait_of(event); });
}

Result cuGraphAddMemAllocNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                              AllocateNode* n) {
    return add(out, graph, before, count, [&] {
        require(n != nullptr);
        return allocate_work(*ready().graphs.get(graph), *n);
    });
}

Result cuGraphAddMemFreeNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                             Address address) {
    return add(out, graph, before, count, [&] { return FreeWork{address}; });
}

// As in cuGraphAddDependencies_v2 below.
Result cuGraphAddNode_v2(GraphNode** out, Graph* graph, GraphNode* const* before, const void*,
                         size_t count, NodeParameters* p) {
    return add(out, graph, before, count, [&] {
        require(p != nullptr);
        return work_of(*ready().graphs.get(graph), *p);
    });
}

Result cuGraphAddNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                      NodeParameters* p) {
    return cuGraphAddNode_v2(out, graph, before, nullptr, count, p);
}

Result cuGraphNodeSetParams(GraphNode* node, const NodeParameters* p) {
    return change(node, [&] { return work_of(given(p)); });
}

Result cuGraphExecNodeSetParams(GraphExec* exec, GraphNode* node, const NodeParameters* p) {
    return replace(exec, node, [&] { return work_of(given(p)); });
}

Result cuGraphMemAllocNodeGetParams(GraphNode* node, AllocateNode* out) {
    return answer([&] {
        require(out != nullptr);
        const std::shared_ptr<GraphNode> n = node_of(node);
        const auto& work = work_of<AllocateWork>(*n);
        *out = {};
        out->size = work.size;
        out->address = work.address;
    });
}

Result cuGraphMemFreeNodeGetParams(GraphNode* node, Address* out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<FreeWork>(*node_of(node)).address;
    });
}

Result cuGraphChildGraphNodeGetGraph(GraphNode* node, Graph** out) {
    return answer([&] {
        require(out != nullptr);
        const std::shared_ptr<Graph> child = work_of<ChildWork>(*node_of(node)).graph;
        driver().graphs.add_once(child);
        *out = child.get();
    });
}

Result cuGraphEventRecordNodeGetEvent(GraphNode* node, Event** out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<RecordWork>(*node_of(node)).event.get();
    });
}

Result cuGraphEventRecordNodeSetEvent(GraphNode* node, Event* event) {
    return change(node, [&] { return record_of(event); });
}

Result cuGraphEventWaitNodeGetEvent(GraphNode* node, Event** out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<WaitWork>(*node_of(node)).event.get();
    });
}

Result cuGraphEventWaitNodeSetEvent(GraphNode* node, Event* event) {
    return change(node, [&] { return wait_of(event); });
}

Result cuGraphKernelNodeGetParams(GraphNode* node, KernelNode* out) {
    return answer([&] {
        require(out != nullptr);
        *out = kernel_node(*node_of(node));
    });
}

Result cuGraphKernelNodeGetParams_v2(GraphNode* node, KernelNode2* out) {
    return answer([&] {
        require(out != nullptr);
        *out = {kernel_node(*node_of(node)), nullptr, nullptr};
    });
}

Result cuGraphKernelNodeSetParams(GraphNode* node, const KernelNode* n) {
    return change(node, [&] { return kernel_of(n); });
}

Result cuGraphKernelNodeSetParams_v2(GraphNode* node, const KernelNode2* n) {
    return change(node, [&] { return kernel_of(n); });
}

Result cuGraphMemcpyNodeGetParams(GraphNode* node, Copy3D* out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<Copy3D>(*node_of(node));
    });
}

Result cuGraphMemcpyNodeSetParams(GraphNode* node, const Copy3D* copy) {
    return change(node, [&] { return given(copy); });
}

Result cuGraphMemsetNodeGetParams(GraphNode* node, MemsetNode* out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<MemsetNode>(*node_of(node));
    });
}

Result cuGraphMemsetNodeSetParams(GraphNode* node, const MemsetNode* fill) {
    return change(node, [&] { return given(fill); });
}

Result cuGraphHostNodeGetParams(GraphNode* node, HostNode* out) {
    return answer([&] {
        require(out != nullptr);
        *out = work_of<HostNode>(*node_of(node));
    });
}

Result cuGraphHostNodeSetParams(GraphNode* node, const HostNode* host) {
    return change(node, [&] { return host_of(host); });
}

// The operations are the node's own.
Result cuGraphBatchMemOpNodeGetParams(GraphNode* node, BatchMemoryNode* out) {
    return answer([&] {
        require(out != nullptr);
        const auto& work = work_of<MemoryWork>(*node_of(node));
        *out = {nullptr, static_cast<unsigned>(work.operations.size()), work.operations.data(), 0};
    });
}

Result cuGraphBatchMemOpNodeSetParams(GraphNode* node, const BatchMemoryNode* memory) {
    return change(node, [&] { return memory_work(given(memory)); });
}

Result cuGraphExecBatchMemOpNodeSetParams(GraphExec* exec, GraphNode* node,
                                          const BatchMemoryNode* memory) {
    return replace(exec, node, [&] { return memory_work(given(memory)); });
}

Result cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node, const KernelNode* n) {
    return replace(exec, node, [&] { return kernel_of(n); });
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* n) {
    return replace(exec, node, [&] { return kernel_of(n); });
}

Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const Copy3D* copy,
                                      Context*) {
    return replace(exec, node, [&] { return given(copy); });
}

Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* fill,
                                      Context*) {
    return replace(exec, node, [&] { return given(fill); });
}

Result cuGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node, const HostNode* host) {
    return replace(exec, node, [&] { return host_of(host); });
}

Result cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child) {
    return replace(exec, node, [&] { return child_of(child); });
}

Result cuGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return replace(exec, node, [&] { return record_of(event); });
}

Result cuGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return replace(exec, node, [&] { return wait_of(event); });
}

Result cuGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled) {
    return answer([&] {
        const std::shared_ptr<GraphExec> e = ready().execs.get(exec);
        const std::lock_guard lock(e->mutex);
        step_of(*e, node).enabled = enabled != 0;
    });
}

Result cuGraphNodeGetEnabled(GraphExec* exec, GraphNode* node, unsigned* enabled) {
    return answer([&] {
        const std::shared_ptr<GraphExec> e = ready().execs.get(exec);
        require(enabled != nullptr);
        const std::lock_guard lock(e->mutex);
        *enabled = step_of(*e, node).enabled ? 1 : 0;
    });
}

Result cuGraphNodeGetType(GraphNode* node, int* type) {
    return answer([&] {
        require(type != nullptr);
        *type = node_types[node_of(node)->work.index()];
    });
}

Result cuGraphNodeFindInClone(GraphNode** out, GraphNode* original, Graph* clone) {
    return answer([&] {
        require(out != nullptr);
        const std::vector<GraphNode*> found = nodes_where(
            *ready().graphs.get(clone), [&](const GraphNode& n) { return n.original == original; });
        require(found.size() == 1);
        *out = found.front();
    });
}

Result cuGraphDestroyNode(GraphNode* node) {
    return answer([&] {
        const std::shared_ptr<Graph> g = graph_of(*node_of(node));
        const std::lock_guard lock(g->mutex);
        for (const auto& n : g->nodes) std::erase(n->before, node);
        std::erase_if(g->nodes, [&](const auto& n) { return n.get() == node; });
        driver().nodes.take(node);
    });
}

// An edge's data says when the later node may begin: after the earlier one is always right.
Result cuGraphAddDependencies_v2(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                                 const void*, size_t count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(count == 0 || (from != nullptr && to != nullptr));
        for (size_t i = 0; i < count; ++i)
            require(from[i] != to[i] && graph_of(*node_of(from[i])) == g &&
                    graph_of(*node_of(to[i])) == g);
        const std::lock_guard lock(g->mutex);
        for (size_t i = 0; i < count; ++i) node_of(to[i])->before.push_back(from[i]);
    });
}

Result cuGraphAddDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                              size_t count) {
    return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

Result cuGraphRemoveDependencies_v2(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                                    const void*, size_t count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(count == 0 || (from != nullptr && to != nullptr));
        const std::lock_guard lock(g->mutex);
        for (size_t i = 0; i < count; ++i)
            require(std::erase(node_of(to[i])->before, from[i]) != 0);
    });
}

Result cuGraphRemoveDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                                 size_t count) {
    return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

Result cuGraphGetNodes(Graph* graph, GraphNode** out, size_t* count) {
    return answer([&] {
        give_nodes(nodes_where(*ready().graphs.get(graph), [](const GraphNode&) { return true; }),
                   out, count);
    });
}

Result cuGraphGetRootNodes(Graph* graph, GraphNode** out, size_t* count) {
    return answer([&] {
        give_nodes(nodes_where(*ready().graphs.get(graph),
                               [](const GraphNode& n) { return n.before.empty(); }),
                   out, count);
    });
}

Result cuGraphGetEdges_v2(Graph* graph, GraphNode** from, GraphNode** to, uint64_t* data,
                          size_t* count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(count != nullptr && (from == nullptr) == (to == nullptr));
        std::vector<GraphNode*> froms, tos;
        {
            const std::lock_guard lock(g->mutex);
            for (const auto& n : g->nodes)
                for (GraphNode* const b : n->before) {
                    froms.push_back(b);
                    tos.push_back(n.get());
                }
        }
        size_t room = *count;
        if (from != nullptr && data != nullptr) std::fill_n(data, room, 0);
        give_nodes(froms, from, count);
        if (to != nullptr) give_nodes(tos, to, &room);
    });
}

Result cuGraphGetEdges(Graph* graph, GraphNode** from, GraphNode** to, size_t* count) {
    return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

Result cuGraphNodeGetDependencies_v2(GraphNode* node, GraphNode** out, uint64_t* data,
                                     size_t* count) {
    return answer([&] {
        const std::shared_ptr<GraphNode> n = node_of(node);
        require(count != nullptr);
        if (out != nullptr && data != nullptr) std::fill_n(data, *count, 0);
        give_nodes(n->before, out, count);
    });
}

Result cuGraphNodeGetDependencies(GraphNode* node, GraphNode** out, size_t* count) {
    return cuGraphNodeGetDependencies_v2(node, out, nullptr, count);
}

Result cuGraphNodeGetDependentNodes_v2(GraphNode* node, GraphNode** out, uint64_t* data,
                                       size_t* count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = graph_of(*node_of(node));
        require(count != nullptr);
        if (out != nullptr && data != nullptr) std::fill_n(data, *count, 0);
        give_nodes(nodes_where(*g,
                               [&](const GraphNode& n) {
                                   return std::ranges::find(n.before, node) != n.before.end();
                               }),
                   out, count);
    });
}

Result cuGraphNodeGetDependentNodes(GraphNode* node, GraphNode** out, size_t* count) {
    return cuGraphNodeGetDependentNodes_v2(node, out, nullptr, count);
}

}  // extern "C"
