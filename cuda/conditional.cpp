// SPDX-License-Identifier: Apache-2.0
#include "cuda/conditional.hpp"

#include <algorithm>

#include "cuda/memory.hpp"

namespace lockwarp::cuda {

namespace {

uint32_t& number(const Condition& c) { return *reinterpret_cast<uint32_t*>(c.value); }

}  // namespace

Condition::~Condition() {
    const std::optional<Allocation> a = allocation_at(value);
    if (a && a->id == allocation) answer([&] { release(value, Kind::device, Kind::device); });
}

ConditionalWork conditional_work(Graph& graph, ConditionalNode& node) {
    ConditionalWork out{nullptr, node.type, {}, std::make_shared<std::vector<Graph*>>(), {}};
    const auto most = node.type == ConditionalType::while_ ? 1u
                      : node.type == ConditionalType::if_  ? 2u
                                                           : UINT32_MAX;
    require(node.type >= ConditionalType::if_ && node.type <= ConditionalType::switch_);
    require(node.size != 0 && node.size <= most);
    {
        const std::lock_guard lock(graph.mutex);
        const auto found = std::ranges::find(graph.conditions, node.condition, &Condition::value);
        require(found != graph.conditions.end());
        out.condition = *found;
    }
    for (uint32_t i = 0; i < node.size; ++i) {
        out.bodies.push_back(std::make_shared<Graph>());
        out.handles->push_back(driver().graphs.add(out.bodies.back()));
    }
    node.bodies = out.handles->data();
    return out;
}

void set_conditions(const GraphExec& exec) {
    for (const GraphExec::Step& s : exec.steps) {
        const auto* const work = std::get_if<ConditionalWork>(&s.work);
        if (work == nullptr) continue;
        const Condition& c = *work->condition;
        if (c.is_set_at_launch) number(c) = c.at_launch;
        for (const auto& body : work->instances) set_conditions(*body);
    }
}

void run_conditional(const ConditionalWork& work) {
    const uint32_t& value = number(*work.condition);
    switch (work.type) {
        case ConditionalType::if_:
            if (value != 0)
                run_steps(*work.instances[0]);
            else if (work.instances.size() > 1)
                run_steps(*work.instances[1]);
            break;
        case ConditionalType::while_:
            while (value != 0 && current_in_error()->error == success)
                run_steps(*work.instances[0]);
            break;
        case ConditionalType::switch_:
            if (value < work.instances.size()) run_steps(*work.instances[value]);
            break;
    }
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGraphConditionalHandleCreate(Address* out, Graph* graph, Context*, unsigned at_launch,
                                      unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        const std::shared_ptr<Graph> g = driver().graphs.get(graph);
        require(out != nullptr && flags <= 1);  // CU_GRAPH_COND_ASSIGN_DEFAULT
        auto c = std::make_shared<Condition>();
        c->value = allocate(sizeof(uint32_t), Kind::device, context);
        c->allocation = allocation_at(c->value)->id;
        c->at_launch = at_launch;
        c->is_set_at_launch = flags != 0;
        const std::lock_guard lock(g->mutex);
        g->conditions.push_back(c);
        *out = c->value;
    });
}

}  // extern "C"
