// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/graphs.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "cuda/beside/forward.hpp"

namespace lockwarp::beside {

using cuda::Copy3D;
using cuda::Event;
using cuda::HostNode;
using cuda::KernelNode;
using cuda::KernelNode2;
using cuda::MemsetNode;
using cuda::NodeParameters;
using cuda::NodeType;
using cuda::Result;
using cuda::Stream;
using cuda::success;

namespace {

struct EdgeData {  // CUgraphEdgeData
    uint8_t from_port, to_port, type, reserved[5];
};

// A copy of the graph as it was instantiated, which has changed since as the executable one has.
struct Known {
    Graph* copy = nullptr;  // nullptr: changed in a way that a copy cannot follow
    std::set<GraphNode*> off;
};

class Graphs {
  public:
    void made(GraphExec* exec, Graph* graph) {
        static const auto clone = behind_as<Result(Graph**, Graph*)>("cuGraphClone");
        Known known;
        if (clone == nullptr || clone(&known.copy, graph) != success) known.copy = nullptr;
        const std::lock_guard lock(mutex_);
        drop(known_[exec]);
        known_[exec] = std::move(known);
    }
    void gone(GraphExec* exec) {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(exec);
        if (found == known_.end()) return;
        drop(found->second);
        known_.erase(found);
    }
    // change(the copy's node) says whether it could.
    void changed(GraphExec* exec, GraphNode* node,
                 const std::function<bool(Known& known, GraphNode* own)>& change) {
        static const auto find =
            behind_as<Result(GraphNode**, GraphNode*, Graph*)>("cuGraphNodeFindInClone");
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(exec);
        if (found == known_.end() || found->second.copy == nullptr) return;
        GraphNode* own = nullptr;
        if (find(&own, node, found->second.copy) != success || !change(found->second, own))
            drop(found->second);
    }
    std::optional<std::vector<Step>> steps(GraphExec* exec) {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(exec);
        if (found == known_.end() || found->second.copy == nullptr) return std::nullopt;
        std::vector<Step> out;
        if (!add(found->second.copy, found->second.off, out)) return std::nullopt;
        return out;
    }

  private:
    static void drop(Known& known) {
        static const auto destroy = behind_as<Result(Graph*)>("cuGraphDestroy");
        if (known.copy != nullptr) destroy(known.copy);
        known = {};
    }
    static bool add(Graph* graph, const std::set<GraphNode*>& off, std::vector<Step>& out);

    std::mutex mutex_;
    std::map<GraphExec*, Known> known_;
};

Graphs& graphs() {
    static auto* const all = new Graphs;
    return *all;
}

// Pairs of nodes, the second behind the first. false: they cannot be had.
bool edges_of(Graph* graph, std::vector<std::pair<GraphNode*, GraphNode*>>& out) {
    static const auto second =
        behind_as<Result(Graph*, GraphNode**, GraphNode**, EdgeData*, size_t*)>(
            "cuGraphGetEdges_v2");
    static const auto first =
        behind_as<Result(Graph*, GraphNode**, GraphNode**, size_t*)>("cuGraphGetEdges");
    const auto get = [&](GraphNode** from, GraphNode** to, EdgeData* data, size_t* count) {
        return second != nullptr ? second(graph, from, to, data, count)
                                 : first(graph, from, to, count);
    };
    size_t count = 0;
    if (get(nullptr, nullptr, nullptr, &count) != success) return false;
    std::vector<GraphNode*> from(count), to(count);
    std::vector<EdgeData> data(count);
    if (count != 0 && get(from.data(), to.data(), data.data(), &count) != success) return false;
    for (size_t i = 0; i < count; ++i) out.emplace_back(from[i], to[i]);
    return true;
}

bool Graphs::add(Graph* graph, const std::set<GraphNode*>& off, std::vector<Step>& out) {
    static const auto get_nodes =
        behind_as<Result(Graph*, GraphNode**, size_t*)>("cuGraphGetNodes");
    static const auto get_type = behind_as<Result(GraphNode*, NodeType*)>("cuGraphNodeGetType");
    static const auto get_child =
        behind_as<Result(GraphNode*, Graph**)>("cuGraphChildGraphNodeGetGraph");
    size_t count = 0;
    if (get_nodes(graph, nullptr, &count) != success) return false;
    std::vector<GraphNode*> nodes(count);
    if (count != 0 && get_nodes(graph, nodes.data(), &count) != success) return false;
    std::vector<std::pair<GraphNode*, GraphNode*>> edges;
    if (!edges_of(graph, edges)) return false;
    std::map<GraphNode*, std::vector<GraphNode*>> behind_it;
    std::map<GraphNode*, size_t> awaited;
    for (const auto& [from, to] : edges) {
        behind_it[from].push_back(to);
        ++awaited[to];
    }
    std::vector<GraphNode*> ready;
    for (GraphNode* const node : nodes)
        if (awaited[node] == 0) ready.push_back(node);
    for (size_t i = 0; i < ready.size(); ++i) {
        GraphNode* const node = ready[i];
        for (GraphNode* const next : behind_it[node])
            if (--awaited[next] == 0) ready.push_back(next);
        NodeType type{};
        if (get_type(node, &type) != success) return false;
        if (off.contains(node)) continue;
        Graph* child = nullptr;
        switch (type) {
            case NodeType::empty:
                break;
            case NodeType::graph:
                if (get_child(node, &child) != success || !add(child, off, out)) return false;
                break;
            case NodeType::kernel:
            case NodeType::copy:
            case NodeType::fill:
            case NodeType::host:
            case NodeType::wait:
            case NodeType::record:
                out.push_back({node, type});
                break;
            default:
                return false;
        }
    }
    return ready.size() == nodes.size();
}

Result copy(GraphNode* node, Stream* stream) {
    static const auto get = behind_as<Result(GraphNode*, Copy3D*)>("cuGraphMemcpyNodeGetParams");
    static const auto run = behind_as<Result(const Copy3D*, Stream*)>("cuMemcpy3DAsync_v2");
    Copy3D c{};
    const Result r = get(node, &c);
    return r == success ? run(&c, stream) : r;
}

Result fill(GraphNode* node, Stream* stream) {
    using Line = Result(cuda::Address, unsigned, size_t, Stream*);
    using Plane = Result(cuda::Address, size_t, unsigned, size_t, size_t, Stream*);
    static const auto get =
        behind_as<Result(GraphNode*, MemsetNode*)>("cuGraphMemsetNodeGetParams");
    MemsetNode n{};
    if (const Result r = get(node, &n); r != success) return r;
    const std::string bits = std::to_string(8 * n.element_size) + "Async";
    if (n.height <= 1)
        return behind_as<Line>(("cuMemsetD" + bits).c_str())(n.target, n.value, n.width, stream);
    return behind_as<Plane>(("cuMemsetD2D" + bits).c_str())(n.target, n.pitch, n.value, n.width,
                                                            n.height, stream);
}

Result call_host(GraphNode* node, Stream* stream) {
    static const auto get = behind_as<Result(GraphNode*, HostNode*)>("cuGraphHostNodeGetParams");
    static const auto run =
        behind_as<Result(Stream*, cuda::HostFunction, void*)>("cuLaunchHostFunc");
    HostNode n{};
    const Result r = get(node, &n);
    return r == success ? run(stream, n.function, n.user) : r;
}

Result wait(GraphNode* node, Stream* stream) {
    static const auto get = behind_as<Result(GraphNode*, Event**)>("cuGraphEventWaitNodeGetEvent");
    static const auto run = behind_as<Result(Stream*, Event*, unsigned)>("cuStreamWaitEvent");
    Event* event = nullptr;
    const Result r = get(node, &event);
    return r == success ? run(stream, event, 0) : r;
}

Result record(GraphNode* node, Stream* stream) {
    static const auto get =
        behind_as<Result(GraphNode*, Event**)>("cuGraphEventRecordNodeGetEvent");
    static const auto run = behind_as<Result(Event*, Stream*)>("cuEventRecord");
    Event* event = nullptr;
    const Result r = get(node, &event);
    return r == success ? run(event, stream) : r;
}

// The executable graph's node was given these parameters: so is the copy's, by `setter`.
template <class T>
void set(GraphExec* exec, GraphNode* node, T parameters, const char* setter) {
    graphs().changed(exec, node, [&](Known&, GraphNode* own) {
        const auto real = behind_as<Result(GraphNode*, T)>(setter);
        return real != nullptr && real(own, parameters) == success;
    });
}

void lose(GraphExec* exec, GraphNode* node) {
    graphs().changed(exec, node, [](Known&, GraphNode*) { return false; });
}

}  // namespace

std::optional<std::vector<Step>> steps_of(GraphExec* exec) { return graphs().steps(exec); }

Result do_step(const Step& step, Stream* stream) {
    switch (step.type) {
        case NodeType::copy:
            return copy(step.node, stream);
        case NodeType::fill:
            return fill(step.node, stream);
        case NodeType::host:
            return call_host(step.node, stream);
        case NodeType::wait:
            return wait(step.node, stream);
        case NodeType::record:
            return record(step.node, stream);
        default:
            return cuda::invalid_value;
    }
}

}  // namespace lockwarp::beside

using namespace lockwarp::beside;
using lockwarp::cuda::Context;

extern "C" {

Result cuGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long flags) {
    static const auto real =
        behind_as<Result(GraphExec**, Graph*, unsigned long long)>("cuGraphInstantiateWithFlags");
    const Result r = real(out, graph, flags);
    if (r == success) graphs().made(*out, graph);
    return r;
}

Result cuGraphInstantiateWithParams(GraphExec** out, Graph* graph, void* parameters) {
    static const auto real =
        behind_as<Result(GraphExec**, Graph*, void*)>("cuGraphInstantiateWithParams");
    const Result r = real(out, graph, parameters);
    if (r == success) graphs().made(*out, graph);
    return r;
}

Result cuGraphInstantiateWithParams_ptsz(GraphExec** out, Graph* graph, void* parameters) {
    static const auto real =
        behind_as<Result(GraphExec**, Graph*, void*)>("cuGraphInstantiateWithParams_ptsz");
    const Result r = real(out, graph, parameters);
    if (r == success) graphs().made(*out, graph);
    return r;
}

Result cuGraphInstantiate_v2(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                             size_t log_size) {
    static const auto real =
        behind_as<Result(GraphExec**, Graph*, GraphNode**, char*, size_t)>("cuGraphInstantiate_v2");
    const Result r = real(out, graph, wrong, log, log_size);
    if (r == success) graphs().made(*out, graph);
    return r;
}

Result cuGraphInstantiate(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                          size_t log_size) {
    static const auto real =
        behind_as<Result(GraphExec**, Graph*, GraphNode**, char*, size_t)>("cuGraphInstantiate");
    const Result r = real(out, graph, wrong, log, log_size);
    if (r == success) graphs().made(*out, graph);
    return r;
}

Result cuGraphExecDestroy(GraphExec* exec) {
    static const auto real = behind_as<Result(GraphExec*)>("cuGraphExecDestroy");
    graphs().gone(exec);
    return real(exec);
}

Result cuGraphExecUpdate_v2(GraphExec* exec, Graph* graph, void* result) {
    static const auto real = behind_as<Result(GraphExec*, Graph*, void*)>("cuGraphExecUpdate_v2");
    const Result r = real(exec, graph, result);
    if (r == success) graphs().made(exec, graph);
    return r;
}

Result cuGraphExecUpdate(GraphExec* exec, Graph* graph, GraphNode** wrong, int* result) {
    static const auto real =
        behind_as<Result(GraphExec*, Graph*, GraphNode**, int*)>("cuGraphExecUpdate");
    const Result r = real(exec, graph, wrong, result);
    if (r == success) graphs().made(exec, graph);
    return r;
}

Result cuGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, unsigned)>("cuGraphNodeSetEnabled");
    const Result r = real(exec, node, enabled);
    if (r == success)
        graphs().changed(exec, node, [&](Known& known, GraphNode* own) {
            if (enabled != 0)
                known.off.erase(own);
            else
                known.off.insert(own);
            return true;
        });
    return r;
}

Result cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node, const KernelNode* p) {
    static const auto real = behind_as<Result(GraphExec*, GraphNode*, const KernelNode*)>(
        "cuGraphExecKernelNodeSetParams");
    const Result r = real(exec, node, p);
    if (r == success) set(exec, node, p, "cuGraphKernelNodeSetParams");
    return r;
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* p) {
    static const auto real = behind_as<Result(GraphExec*, GraphNode*, const KernelNode2*)>(
        "cuGraphExecKernelNodeSetParams_v2");
    const Result r = real(exec, node, p);
    if (r == success) set(exec, node, p, "cuGraphKernelNodeSetParams_v2");
    return r;
}

Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const Copy3D* p,
                                      Context* context) {
    static const auto real = behind_as<Result(GraphExec*, GraphNode*, const Copy3D*, Context*)>(
        "cuGraphExecMemcpyNodeSetParams");
    const Result r = real(exec, node, p, context);
    if (r == success) set(exec, node, p, "cuGraphMemcpyNodeSetParams");
    return r;
}

Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* p,
                                      Context* context) {
    static const auto real = behind_as<Result(GraphExec*, GraphNode*, const MemsetNode*, Context*)>(
        "cuGraphExecMemsetNodeSetParams");
    const Result r = real(exec, node, p, context);
    if (r == success) set(exec, node, p, "cuGraphMemsetNodeSetParams");
    return r;
}

Result cuGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node, const HostNode* p) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, const HostNode*)>("cuGraphExecHostNodeSetParams");
    const Result r = real(exec, node, p);
    if (r == success) set(exec, node, p, "cuGraphHostNodeSetParams");
    return r;
}

Result cuGraphExecNodeSetParams(GraphExec* exec, GraphNode* node, NodeParameters* p) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, NodeParameters*)>("cuGraphExecNodeSetParams");
    const Result r = real(exec, node, p);
    if (r == success) set(exec, node, p, "cuGraphNodeSetParams");
    return r;
}

Result cuGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, Event*)>("cuGraphExecEventRecordNodeSetEvent");
    const Result r = real(exec, node, event);
    if (r == success) set(exec, node, event, "cuGraphEventRecordNodeSetEvent");
    return r;
}

Result cuGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, Event*)>("cuGraphExecEventWaitNodeSetEvent");
    const Result r = real(exec, node, event);
    if (r == success) set(exec, node, event, "cuGraphEventWaitNodeSetEvent");
    return r;
}

// No copy's node can be given another graph.
Result cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child) {
    static const auto real =
        behind_as<Result(GraphExec*, GraphNode*, Graph*)>("cuGraphExecChildGraphNodeSetParams");
    const Result r = real(exec, node, child);
    if (r == success) lose(exec, node);
    return r;
}

}  // extern "C"
