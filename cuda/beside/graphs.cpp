// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/graphs.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

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

// The driver's function of that name.
template <class... Given>
Result call(const char* name, Given... given) {
    const auto real = behind_as<Result(Given...)>(name);
    return real != nullptr ? real(given...) : cuda::not_supported;
}

// One that makes an executable graph.
template <class... More>
Result make(const char* name, GraphExec** out, Graph* graph, More... more) {
    const Result r = call(name, out, graph, more...);
    if (r == success) graphs().made(*out, graph);
    return r;
}

// One that makes it what another graph is.
template <class... More>
Result update(const char* name, GraphExec* exec, Graph* graph, More... more) {
    const Result r = call(name, exec, graph, more...);
    if (r == success) graphs().made(exec, graph);
    return r;
}

// One that gives a node of it other parameters, as `setter` gives them to the copy's.
template <class T, class... More>
Result set(const char* name, const char* setter, GraphExec* exec, GraphNode* node, T parameters,
           More... more) {
    const Result r = call(name, exec, node, parameters, more...);
    if (r == success)
        graphs().changed(exec, node, [&](Known&, GraphNode* own) {
            return call(setter, own, parameters) == success;
        });
    return r;
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
    return make("cuGraphInstantiateWithFlags", out, graph, flags);
}
Result cuGraphInstantiateWithParams(GraphExec** out, Graph* graph, void* parameters) {
    return make("cuGraphInstantiateWithParams", out, graph, parameters);
}
Result cuGraphInstantiateWithParams_ptsz(GraphExec** out, Graph* graph, void* parameters) {
    return make("cuGraphInstantiateWithParams_ptsz", out, graph, parameters);
}
Result cuGraphInstantiate(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                          size_t log_size) {
    return make("cuGraphInstantiate", out, graph, wrong, log, log_size);
}
Result cuGraphInstantiate_v2(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                             size_t log_size) {
    return make("cuGraphInstantiate_v2", out, graph, wrong, log, log_size);
}
Result cuGraphExecUpdate(GraphExec* exec, Graph* graph, GraphNode** wrong, int* result) {
    return update("cuGraphExecUpdate", exec, graph, wrong, result);
}
Result cuGraphExecUpdate_v2(GraphExec* exec, Graph* graph, void* result) {
    return update("cuGraphExecUpdate_v2", exec, graph, result);
}
Result cuGraphExecDestroy(GraphExec* exec) {
    graphs().gone(exec);
    return call("cuGraphExecDestroy", exec);
}

Result cuGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled) {
    const Result r = call("cuGraphNodeSetEnabled", exec, node, enabled);
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
    return set("cuGraphExecKernelNodeSetParams", "cuGraphKernelNodeSetParams", exec, node, p);
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* p) {
    return set("cuGraphExecKernelNodeSetParams_v2", "cuGraphKernelNodeSetParams_v2", exec, node, p);
}
Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node, const Copy3D* p,
                                      Context* context) {
    return set("cuGraphExecMemcpyNodeSetParams", "cuGraphMemcpyNodeSetParams", exec, node, p,
               context);
}
Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const MemsetNode* p,
                                      Context* context) {
    return set("cuGraphExecMemsetNodeSetParams", "cuGraphMemsetNodeSetParams", exec, node, p,
               context);
}
Result cuGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node, const HostNode* p) {
    return set("cuGraphExecHostNodeSetParams", "cuGraphHostNodeSetParams", exec, node, p);
}
Result cuGraphExecNodeSetParams(GraphExec* exec, GraphNode* node, NodeParameters* p) {
    return set("cuGraphExecNodeSetParams", "cuGraphNodeSetParams", exec, node, p);
}
Result cuGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return set("cuGraphExecEventRecordNodeSetEvent", "cuGraphEventRecordNodeSetEvent", exec, node,
               event);
}
Result cuGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node, Event* event) {
    return set("cuGraphExecEventWaitNodeSetEvent", "cuGraphEventWaitNodeSetEvent", exec, node,
               event);
}
// No copy's node can be given another graph: there is no setter.
Result cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child) {
    return set("cuGraphExecChildGraphNodeSetParams", "", exec, node, child);
}

}  // extern "C"
