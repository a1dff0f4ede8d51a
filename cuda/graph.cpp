// SPDX-License-Identifier: Apache-2.0
// Graphs that a program builds node by node: kernels, copies, fills, host functions.
#include "cuda/graph.hpp"

#include <algorithm>

#include "cuda/copy.hpp"

namespace lockwarp::cuda {

namespace {

KernelWork work_of(const KernelNode& n, Function* function) {
    KernelWork out;
    out.function = driver().functions.get(function);
    std::copy_n(n.grid, 3, out.shape.grid);
    std::copy_n(n.block, 3, out.shape.block);
    out.shape.dynamic_shared = n.dynamic_shared;
    out.parameters = parameters_of(*out.function, n.parameters, n.extra);
    return out;
}

KernelWork work_of(const KernelNode2& n) {
    return work_of(n.first, n.first.function != nullptr ? n.first.function : n.kernel);
}

Result add_node(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                auto make_work) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(out != nullptr && (count == 0 || before != nullptr));
        auto node = std::make_shared<GraphNode>();
        node->work = make_work();
        const std::lock_guard lock(g->mutex);
        for (GraphNode* const b : std::span(before, count)) {
            require(std::ranges::any_of(g->nodes, [&](const auto& n) { return n.get() == b; }));
            node->before.push_back(b);
        }
        g->nodes.push_back(node);
        *out = driver().nodes.add(std::move(node));
    });
}

// Other work of the same kind for a node.
template <class Make>
Result replace(GraphExec* exec, GraphNode* node, Make make) {
    return answer([&] {
        const std::shared_ptr<GraphExec> e = ready().execs.get(exec);
        Work made = make();
        const std::lock_guard lock(e->mutex);
        const auto found =
            std::ranges::find(e->work, node, &std::pair<const GraphNode*, Work>::first);
        require(found != e->work.end() && found->second.index() == made.index());
        found->second = std::move(made);
    });
}

std::shared_ptr<GraphExec> instantiate(Graph& g) {
    auto exec = std::make_shared<GraphExec>();
    const std::lock_guard lock(g.mutex);
    std::vector<const GraphNode*> done;
    const auto is_done = [&](const GraphNode* n) {
        return std::ranges::find(done, n) != done.end();
    };
    // A node is ready when those before it are; with no cycle each round finds one.
    while (done.size() < g.nodes.size()) {
        const size_t before = done.size();
        for (const auto& n : g.nodes)
            if (!is_done(n.get()) && std::ranges::all_of(n->before, is_done)) {
                done.push_back(n.get());
                exec->work.emplace_back(n.get(), n->work);
            }
        require(done.size() != before);
    }
    return exec;
}

void run(const Work& work) {
    if (const auto* const kernel = std::get_if<KernelWork>(&work))
        launch(*kernel->function, kernel->shape, kernel->parameters);
    else if (const auto* const copy = std::get_if<Copy3D>(&work))
        copy_3d(*copy);
    else if (const auto* const fill = std::get_if<MemsetNode>(&work))
        fill_node(*fill);
    else if (const auto* const host = std::get_if<HostNode>(&work))
        host->function(host->user);
}

template <class T>
const T& given(const T* p) {
    require(p != nullptr);
    return *p;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGraphCreate(Graph** out, unsigned flags) {
    return answer([&] {
        require(out != nullptr && flags == 0);
        *out = ready().graphs.add(std::make_shared<Graph>());
    });
}

Result cuGraphDestroy(Graph* graph) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.take(graph);
        driver().nodes.erase_if([&](const GraphNode& node) {
            return std::ranges::any_of(g->nodes, [&](const auto& n) { return n.get() == &node; });
        });
    });
}

Result cuGraphAddKernelNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const KernelNode* n) {
    return add_node(out, graph, before, count,
                    [&] { return work_of(given(n), given(n).function); });
}

Result cuGraphAddKernelNode_v2(GraphNode** out, Graph* graph, GraphNode* const* before,
                               size_t count, const KernelNode2* n) {
    return add_node(out, graph, before, count, [&] { return work_of(given(n)); });
}

Result cuGraphAddMemcpyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const Copy3D* copy, Context*) {
    return add_node(out, graph, before, count, [&] { return given(copy); });
}

Result cuGraphAddMemsetNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                            const MemsetNode* fill, Context*) {
    return add_node(out, graph, before, count, [&] { return given(fill); });
}

Result cuGraphAddHostNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count,
                          const HostNode* host) {
    return add_node(out, graph, before, count, [&] {
        require(given(host).function != nullptr);
        return *host;
    });
}

Result cuGraphAddEmptyNode(GraphNode** out, Graph* graph, GraphNode* const* before, size_t count) {
    return add_node(out, graph, before, count, [] { return Nothing{}; });
}

Result cuGraphAddDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to,
                              size_t count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(count == 0 || (from != nullptr && to != nullptr));
        const std::lock_guard lock(g->mutex);
        for (size_t i = 0; i < count; ++i) {
            driver().nodes.get(from[i]);
            driver().nodes.get(to[i])->before.push_back(from[i]);
        }
    });
}

// The nodes, or how many there are.
Result cuGraphGetNodes(Graph* graph, GraphNode** out, size_t* count) {
    return answer([&] {
        const std::shared_ptr<Graph> g = ready().graphs.get(graph);
        require(count != nullptr);
        const std::lock_guard lock(g->mutex);
        if (out != nullptr)
            for (size_t i = 0; i < *count; ++i)
                out[i] = i < g->nodes.size() ? g->nodes[i].get() : nullptr;
        if (out == nullptr || *count > g->nodes.size()) *count = g->nodes.size();
    });
}

Result cuGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long) {
    return answer([&] {
        require(out != nullptr);
        *out = driver().execs.add(instantiate(*ready().graphs.get(graph)));
    });
}

Result cuGraphInstantiate_v2(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                             size_t log_size) {
    if (wrong != nullptr) *wrong = nullptr;
    if (log != nullptr && log_size != 0) *log = 0;
    return cuGraphInstantiateWithFlags(out, graph, 0);
}

Result cuGraphInstantiate(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                          size_t log_size) {
    return cuGraphInstantiate_v2(out, graph, wrong, log, log_size);
}

Result cuGraphExecDestroy(GraphExec* exec) {
    return answer([&] { ready().execs.take(exec); });
}

Result cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node, const KernelNode* n) {
    return replace(exec, node, [&] { return work_of(given(n), given(n).function); });
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* n) {
    return replace(exec, node, [&] { return work_of(given(n)); });
}

Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const Copy3D* copy,
                                      Context*) {
    return replace(exec, node, [&] { return given(copy); });
}

Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* fill,
                                      Context*) {
    return replace(exec, node, [&] { return given(fill); });
}

Result cuGraphUpload(GraphExec* exec, Stream* stream) {
    return answer([&] {
        current();
        check_stream(stream);
        driver().execs.get(exec);
    });
}

Result cuGraphLaunch(GraphExec* exec, Stream* stream) {
    return answer([&] {
        current();
        check_stream(stream);
        const std::shared_ptr<GraphExec> e = driver().execs.get(exec);
        const std::lock_guard lock(e->mutex);
        for (const auto& [node, work] : e->work) {
            if (current_in_error()->error != success) return;
            run(work);
        }
    });
}

}  // extern "C"
