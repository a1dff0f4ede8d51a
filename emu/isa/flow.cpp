#include "emu/isa/flow.hpp"

#include <algorithm>

namespace lockwarp::isa {

namespace {

// Basic blocks of a program; block `count` stands for the end.
struct Graph {
    std::vector<uint32_t> first;  // first operation of each block
    std::vector<std::vector<uint32_t>> successors;
    std::vector<std::vector<uint32_t>> predecessors;
    std::vector<uint32_t> block_of;  // by operation
};

bool ends_path(const Operation& o) {
    return (o.op == Op::ret || o.op == Op::exit || o.op == Op::trap) && !o.guarded;
}

bool ends_block(const Operation& o) {
    return o.op == Op::bra || o.op == Op::ret || o.op == Op::exit || o.op == Op::trap;
}

Graph build(const std::vector<Operation>& operations) {
    const size_t n = operations.size();
    std::vector<bool> leader(n + 1, false);
    leader[0] = true;
    for (size_t i = 0; i < n; ++i) {
        if (operations[i].op == Op::bra) leader[operations[i].target] = true;
        if (ends_block(operations[i])) leader[i + 1] = true;
    }
    Graph g;
    g.block_of.resize(n);
    for (size_t i = 0; i < n; ++i) {
        if (leader[i]) g.first.push_back(static_cast<uint32_t>(i));
        g.block_of[i] = static_cast<uint32_t>(g.first.size() - 1);
    }
    const auto blocks = static_cast<uint32_t>(g.first.size());
    g.successors.resize(blocks + 1);
    g.predecessors.resize(blocks + 1);
    const auto edge = [&](uint32_t from, uint32_t to) {
        g.successors[from].push_back(to);
        g.predecessors[to].push_back(from);
    };
    for (uint32_t b = 0; b < blocks; ++b) {
        const size_t last = (b + 1 < blocks ? g.first[b + 1] : n) - 1;
        const Operation& o = operations[last];
        if (o.op == Op::bra) edge(b, g.block_of[o.target]);
        const bool falls = !ends_path(o) && (o.op != Op::bra || o.guarded);
        if (falls && last + 1 < n) edge(b, g.block_of[last + 1]);
        if (ends_path(o) || (ends_block(o) && o.op != Op::bra)) edge(b, blocks);
    }
    return g;
}

// Blocks in post-order of the reversed graph from the end, so that a block's post-dominators have
// higher numbers. Blocks that never reach the end (endless loops) stay unnumbered.
std::vector<uint32_t> reverse_post_order(const Graph& g, std::vector<uint32_t>& number) {
    const auto end = static_cast<uint32_t>(g.first.size());
    number.assign(end + 1, UINT32_MAX);
    std::vector<uint32_t> order;
    std::vector<std::pair<uint32_t, size_t>> stack{{end, 0}};
    std::vector<bool> seen(end + 1, false);
    seen[end] = true;
    while (!stack.empty()) {
        auto& [block, next] = stack.back();
        if (next < g.predecessors[block].size()) {
            const uint32_t p = g.predecessors[block][next++];
            if (!seen[p]) {
                seen[p] = true;
                stack.emplace_back(p, 0);
            }
        } else {
            number[block] = static_cast<uint32_t>(order.size());
            order.push_back(block);
            stack.pop_back();
        }
    }
    std::ranges::reverse(order);
    return order;
}

}  // namespace

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", on the reversed graph.
void find_reconvergence(std::vector<Operation>& operations) {
    if (operations.empty()) return;
    const Graph g = build(operations);
    const auto end = static_cast<uint32_t>(g.first.size());
    std::vector<uint32_t> number;
    const std::vector<uint32_t> order = reverse_post_order(g, number);
    std::vector<uint32_t> immediate(end + 1, UINT32_MAX);
    immediate[end] = end;
    const auto meet = [&](uint32_t a, uint32_t b) {
        while (a != b) {
            while (number[a] < number[b]) a = immediate[a];
            while (number[b] < number[a]) b = immediate[b];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const uint32_t block : order) {
            if (block == end) continue;
            uint32_t best = UINT32_MAX;
            for (const uint32_t s : g.successors[block]) {
                if (number[s] == UINT32_MAX || immediate[s] == UINT32_MAX) continue;
                best = best == UINT32_MAX ? s : meet(best, s);
            }
            if (best != immediate[block]) {
                immediate[block] = best;
                changed = true;
            }
        }
    }
    const auto past_end = static_cast<uint32_t>(operations.size());
    for (size_t i = 0; i < operations.size(); ++i) {
        Operation& o = operations[i];
        if (o.op != Op::bra) continue;
        const uint32_t block = immediate[g.block_of[i]];
        o.reconverge = block == UINT32_MAX || block == end ? past_end : g.first[block];
    }
}

}  // namespace lockwarp::isa
