// SPDX-License-Identifier: Apache-2.0
// Graphs: making, copying, running.
#include "cuda/graph.hpp"

#include <algorithm>

#include "cuda/aside.hpp"
#include "cuda/conditional.hpp"
#include "cuda/copy.hpp"
#include "cuda/driver.hpp"
#include "cuda/family.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "cuda/stream_memory.hpp"

namespace lockwarp::cuda {

namespace {

// Whether a node allocates memory or frees it.
bool has_memory(const std::shared_ptr<GraphNode>& node) {
    return std::holds_alternative<AllocateWork>(node->work) ||
           std::holds_alternative<FreeWork>(node->work);
}

size_t place_of(const Graph& g, const GraphNode* node) {
    const auto found =
        std::ranges::find_if(g.nodes, [&](const auto& n) { return n.get() == node; });
    return static_cast<size_t>(found - g.nodes.begin());
}

template <class... Visitors>
struct Each : Visitors... {
    using Visitors::operator()...;
};
template <class... Visitors>
Each(Visitors...) -> Each<Visitors...>;

// As the graph is now: what changes it later is for launches that follow.
void launch_steps(GraphExec& exec, Stream* stream) {
    const bool waits = may_wait(exec);
    if (!is_put_off() && !waits) return run_launch(exec);
    auto now = std::make_unique<GraphExec>();
    {
        const std::lock_guard lock(exec.mutex);
        now->steps = exec.steps;
        now->graph = exec.graph;
    }
    std::vector<std::shared_ptr<Event>> recorded;
    for (const GraphExec::Step& s : now->steps)
        if (const auto* const r = std::get_if<RecordWork>(&s.work)) recorded.push_back(r->event);
    const HostNode all{[](void* user) {
                           const std::unique_ptr<GraphExec> own(static_cast<GraphExec*>(user));
                           run_launch(*own);
                       },
                       now.release()};
    const uint64_t number = put_off(stream, all, 0, waits);
    for (const std::shared_ptr<Event>& e : recorded) {
        const std::lock_guard lock(e->mutex);
        e->put_off = number;
    }
}

}  // namespace

void forget(const std::shared_ptr<Graph>& graph) {
    driver().nodes.erase_if([&](const GraphNode& node) { return node.graph.lock() == graph; });
    for (const auto& n : graph->nodes)
        if (const auto* const c = std::get_if<ConditionalWork>(&n->work))
            for (const auto& body : c->bodies) {
                driver().graphs.erase_if([&](const Graph& g) { return &g == body.get(); });
                forget(body);
            }
}

Graph::~Graph() {
    for (const auto& memory : allocated) {
        const std::optional<Allocation> a = allocation_at(memory.first);
        if (a && a->id == memory.second)
            answer([&] { release(memory.first, Kind::device, Kind::device); });
    }
}

Address allocate_for(Graph& graph, size_t size, const std::shared_ptr<Context>& context) {
    const Address address = allocate(size, Kind::device, context);
    keep_for_graph(address);
    const std::lock_guard lock(graph.mutex);
    graph.allocated.emplace_back(address, allocation_at(address)->id);
    return address;
}

std::shared_ptr<GraphNode> node_of(GraphNode* node) { return ready().nodes.get(node); }

void keep_attributes(const Work& from, Work& to) {
    const auto* const old = std::get_if<KernelWork>(&from);
    auto* const made = std::get_if<KernelWork>(&to);
    if (old == nullptr || made == nullptr) return;
    made->shape.cooperative = old->shape.cooperative;
    std::copy_n(old->shape.cluster, 3, made->shape.cluster);
    made->attributes = old->attributes;
}

KernelWork kernel_work(const KernelNode2& n) {
    KernelWork out;
    out.function = function_here(n.first.function != nullptr ? n.first.function : n.kernel);
    std::copy_n(n.first.grid, 3, out.shape.grid);
    std::copy_n(n.first.block, 3, out.shape.block);
    out.shape.dynamic_shared = n.first.dynamic_shared;
    out.parameters = parameters_of(*out.function, n.first.parameters, n.first.extra);
    return out;
}

GraphNode* add_node(const std::shared_ptr<Graph>& graph, std::span<GraphNode* const> before,
                    Work work) {
    auto node = std::make_shared<GraphNode>();
    node->graph = graph;
    node->work = std::move(work);
    const std::lock_guard lock(graph->mutex);
    for (GraphNode* const b : before) {
        require(place_of(*graph, b) != graph->nodes.size());
        node->before.push_back(b);
    }
    graph->nodes.push_back(node);
    return driver().nodes.add(std::move(node));
}

std::shared_ptr<Graph> copy_of(Graph& graph) {
    auto out = std::make_shared<Graph>();
    const std::lock_guard lock(graph.mutex);
    for (const auto& n : graph.nodes) {
        require(!std::holds_alternative<ConditionalWork>(n->work), not_supported);
        auto copy = std::make_shared<GraphNode>();
        copy->graph = out;
        copy->work = n->work;
        copy->original = n.get();
        out->nodes.push_back(copy);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i)
        for (const GraphNode* const b : graph.nodes[i]->before)
            out->nodes[i]->before.push_back(out->nodes[place_of(graph, b)].get());
    out->kept = graph.kept;
    for (const auto& n : out->nodes) driver().nodes.add(n);
    return out;
}

std::shared_ptr<GraphExec> instantiate(const std::shared_ptr<Graph>& graph) {
    auto exec = std::make_shared<GraphExec>();
    exec->graph = graph;
    const std::lock_guard lock(graph->mutex);
    if (std::ranges::any_of(graph->nodes, has_memory)) {
        require(graph->instance.expired(), not_supported);
        graph->instance = exec;
    }
    const size_t count = graph->nodes.size();
    std::vector<bool> done(count, false);
    // A node is ready when those before it are; with no cycle each round finds one.
    while (exec->steps.size() < count) {
        const size_t steps = exec->steps.size();
        for (size_t i = 0; i < count; ++i) {
            if (done[i]) continue;
            std::vector<size_t> before;
            for (const GraphNode* const b : graph->nodes[i]->before)
                before.push_back(place_of(*graph, b));
            if (!std::ranges::all_of(before, [&](size_t b) { return done[b]; })) continue;
            done[i] = true;
            const GraphNode& n = *graph->nodes[i];
            exec->steps.push_back({&n, i, std::move(before), n.work, true});
            if (auto* const c = std::get_if<ConditionalWork>(&exec->steps.back().work))
                for (const auto& body : c->bodies) c->instances.push_back(instantiate(body));
        }
        require(exec->steps.size() != steps);
    }
    return exec;
}

void run_steps(GraphExec& exec) {
    const std::lock_guard lock(exec.mutex);
    for (const GraphExec::Step& s : exec.steps) {
        if (current_in_error()->error != success) return;
        if (s.enabled) run(s.work);
    }
}

void run_launch(GraphExec& exec) {
    set_conditions(exec);
    run_steps(exec);
}

void run(const Work& work) {
    std::visit(Each{[](const KernelWork& k) { launch(*k.function, k.shape, k.parameters); },
                    [](const Copy3D& c) { copy_3d(c); }, [](const MemsetNode& n) { fill_node(n); },
                    [](const HostNode& h) { h.function(h.user); },
                    [](const ChildWork& c) { run_steps(*instantiate(c.graph)); },
                    [](const Nothing&) {}, [](const WaitWork&) {},
                    [](const RecordWork& r) { record_now(*r.event); }, [](const AllocateWork&) {},
                    [](const FreeWork&) {}, [](const ConditionalWork& c) { run_conditional(c); },
                    [](const MemoryWork& m) { run_memory(m); }},
               work);
}

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
        require(graph != nullptr);
        forget(ready().graphs.take(graph));
    });
}

Result cuGraphClone(Graph** out, Graph* graph) {
    return answer([&] {
        require(out != nullptr);
        *out = driver().graphs.add(copy_of(*ready().graphs.get(graph)));
    });
}

Result cuGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long flags) {
    return answer([&] {
        require(out != nullptr);
        current();  // an H200's driver wants a context
        const std::shared_ptr<GraphExec> exec = instantiate(ready().graphs.get(graph));
        exec->flags = flags;
        *out = driver().execs.add(exec);
    });
}

struct InstantiateParameters {  // CUDA_GRAPH_INSTANTIATE_PARAMS
    unsigned long long flags;
    Stream* upload_stream;
    GraphNode* wrong;
    int result;
};

Result cuGraphInstantiateWithParams(GraphExec** out, Graph* graph, InstantiateParameters* p) {
    if (p == nullptr) return invalid_value;
    p->wrong = nullptr;
    const Result made = cuGraphInstantiateWithFlags(out, graph, p->flags);
    p->result = made == success ? 0 : 1;
    return made;
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

Result cuGraphExecGetFlags(GraphExec* exec, unsigned long long* flags) {
    return answer([&] {
        require(flags != nullptr);
        *flags = ready().execs.get(exec)->flags;
    });
}

Result cuGraphExecDestroy(GraphExec* exec) {
    return answer([&] { ready().execs.take(exec); });
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
        if (graph_of_capture(stream) != nullptr) refuse_capture(stream);
        launch_steps(*e, stream);
    });
}

struct UpdateResult {  // CUgraphExecUpdateResultInfo
    int result;
    GraphNode* wrong;
    GraphNode* from;
};

// Other work for the same nodes with the same edges, in the order in which they were added.
Result cuGraphExecUpdate_v2(GraphExec* exec, Graph* graph, UpdateResult* out) {
    constexpr int topology_changed = 2, type_changed = 3;
    constexpr Result update_failure{910};
    UpdateResult result{};
    const Result done = answer([&] {
        const std::shared_ptr<GraphExec> e = ready().execs.get(exec);
        const std::shared_ptr<GraphExec> other = instantiate(ready().graphs.get(graph));
        const std::lock_guard lock(e->mutex);
        result.result = e->steps.size() == other->steps.size() ? 0 : topology_changed;
        for (size_t i = 0; i < e->steps.size() && result.result == 0; ++i) {
            const GraphExec::Step &a = e->steps[i], &b = other->steps[i];
            if (a.work.index() != b.work.index()) result.result = type_changed;
            if (a.place != b.place || a.before != b.before) result.result = topology_changed;
            if (result.result != 0) result.wrong = const_cast<GraphNode*>(b.node);
        }
        require(result.result == 0, update_failure);
        for (size_t i = 0; i < e->steps.size(); ++i)
            e->steps[i].work = std::move(other->steps[i].work);
    });
    if (out != nullptr) *out = result;
    return done;
}

Result cuGraphExecUpdate(GraphExec* exec, Graph* graph, GraphNode** wrong, int* result) {
    UpdateResult all{};
    const Result done = cuGraphExecUpdate_v2(exec, graph, &all);
    if (wrong != nullptr) *wrong = all.wrong;
    if (result != nullptr) *result = all.result;
    return done;
}

}  // extern "C"
