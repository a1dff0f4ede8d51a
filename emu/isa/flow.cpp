// SPDX-License-Identifier: Apache-2.0
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

bool branches(const Operation& o) { return is_branch(o.op); }

bool ends_path(const Operation& o) { return ends_lanes(o.op) && !o.guarded; }

bool ends_block(const Operation& o) { return branches(o) || ends_lanes(o.op); }

// The operation behind it is a way on.
bool falls_through(const Operation& o) { return !ends_path(o) && (!branches(o) || o.guarded); }

// The operations of one function; places in it count from its first.
struct Body {
    std::span<const Operation> operations;
    uint32_t first;
    std::span<const uint32_t> branch_targets;

    size_t size() const { return operations.size(); }
    const Operation& operator[](size_t i) const { return operations[i]; }

    // Calls f(place) for each operation that a branch may go to.
    template <class F>
    void each_target(const Operation& o, F&& f) const {
        const Flow flow = row(o.op).flow;
        if (flow == Flow::branch) f(o.target - first);
        if (flow == Flow::index)
            for (const uint32_t t : branch_targets.subspan(o.target, o.immediate)) f(t - first);
    }
};

// A block that only ends its lanes, as compilers put it at the end for early returns to go to.
bool only_exits(const Body& body, size_t first) { return ends_path(body[first]); }

// The exit that a program comes to if it does not return early: its last one that something leads
// to. The final operation is an exit that resolve added, often behind one of the program's own.
size_t lasting_exit(const Body& body) {
    const size_t n = body.size();
    bool reached = n < 2 || falls_through(body[n - 2]);
    for (const Operation& o : body.operations)
        body.each_target(o, [&](size_t target) { reached |= target == n - 1; });
    size_t last = n - 1;
    if (reached) return last;
    for (size_t i = 0; i + 1 < n; ++i)
        if (row(body[i].op).flow != Flow::trap && ends_path(body[i])) last = i;
    return last;
}

// Which ways to the end are edges. lasting: only those of the program's last exit that are not
// branches straight to it: lanes that return early are gone, and the others meet as if those ways
// did not exist. early: every exit, but guarded ones, which most lanes pass. all: those too.
enum class Ways : uint8_t { lasting, early, all };

Graph build(const Body& body, Ways ways) {
    const size_t n = body.size();
    std::vector<bool> leader(n + 1, false);
    leader[0] = true;
    for (size_t i = 0; i < n; ++i) {
        body.each_target(body[i], [&](size_t target) { leader[target] = true; });
        if (ends_block(body[i])) leader[i + 1] = true;
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
    const size_t last_exit = lasting_exit(body);
    for (uint32_t b = 0; b < blocks; ++b) {
        const size_t last = (b + 1 < blocks ? g.first[b + 1] : n) - 1;
        const Operation& o = body[last];
        const bool returns =
            row(o.op).flow == Flow::branch && o.guarded && only_exits(body, o.target - body.first);
        if (ways != Ways::lasting || !returns)
            body.each_target(o, [&](size_t target) { edge(b, g.block_of[target]); });
        if (falls_through(o) && last + 1 < n) edge(b, g.block_of[last + 1]);
        const bool ends = ends_block(o) && !branches(o);
        if (ends &&
            (ways == Ways::all || (!o.guarded && (ways == Ways::early || last == last_exit))))
            edge(b, blocks);
    }
    return g;
}

// Lengauer, Tarjan: "A Fast Algorithm for Finding Dominators in a Flowgraph" (the version with
// path compression), on the reversed graph: time O(m log n) also for a ladder of branches. Blocks
// are numbered in the order of a depth-first walk from the end; those that never reach it (endless
// loops) stay unnumbered.
struct Postdominators {
    static constexpr uint32_t none = UINT32_MAX;

    const Graph& graph;
    std::vector<uint32_t> number;     // by block
    std::vector<uint32_t> block;      // by number, as all below
    std::vector<uint32_t> parent;     // in the walk's tree
    std::vector<uint32_t> semi;       // semidominator
    std::vector<uint32_t> immediate;  // dominator
    std::vector<uint32_t> ancestor;   // in the forest of numbers that are done, compressed
    std::vector<uint32_t>
        best;  // on the way to the ancestor, the number with the least semidominator
    std::vector<uint32_t> path;  // scratch of find_best

    explicit Postdominators(const Graph& g) : graph(g) {
        walk();
        const auto count = static_cast<uint32_t>(block.size());
        semi.resize(count);
        best.resize(count);
        for (uint32_t i = 0; i < count; ++i) semi[i] = best[i] = i;
        ancestor.assign(count, none);
        immediate.assign(count, 0);
        std::vector<std::vector<uint32_t>> bucket(count);
        for (uint32_t w = count; w-- > 1;) {
            for (const uint32_t s : g.successors[block[w]])
                if (number[s] != none) semi[w] = std::min(semi[w], semi[find_best(number[s])]);
            bucket[semi[w]].push_back(w);
            ancestor[w] = parent[w];
            for (const uint32_t v : bucket[parent[w]]) {
                const uint32_t u = find_best(v);
                immediate[v] = semi[u] < semi[v] ? u : parent[w];
            }
            bucket[parent[w]].clear();
        }
        for (uint32_t w = 1; w < count; ++w)
            if (immediate[w] != semi[w]) immediate[w] = immediate[immediate[w]];
    }

    void walk() {
        const auto end = static_cast<uint32_t>(graph.first.size());
        number.assign(end + 1, none);
        std::vector<std::pair<uint32_t, uint32_t>> stack{{end, 0}};  // block, its parent's number
        while (!stack.empty()) {
            const auto [b, from] = stack.back();
            stack.pop_back();
            if (number[b] != none) continue;
            number[b] = static_cast<uint32_t>(block.size());
            block.push_back(b);
            parent.push_back(from);
            for (const uint32_t p : graph.predecessors[b])
                if (number[p] == none) stack.emplace_back(p, number[b]);
        }
    }

    uint32_t find_best(uint32_t v) {
        if (ancestor[v] == none) return v;
        // The way up, to be compressed from its top.
        path.clear();
        for (uint32_t u = v; ancestor[ancestor[u]] != none; u = ancestor[u]) path.push_back(u);
        for (size_t i = path.size(); i-- > 0;) {
            const uint32_t u = path[i];
            if (semi[best[ancestor[u]]] < semi[best[u]]) best[u] = best[ancestor[u]];
            ancestor[u] = ancestor[ancestor[u]];
        }
        return best[v];
    }
};

}  // namespace

void find_reconvergence(std::span<Operation> operations, uint32_t first_operation,
                        std::span<const uint32_t> branch_targets) {
    if (operations.empty()) return;
    const Body body{operations, first_operation, branch_targets};
    std::vector<size_t> left;
    for (size_t i = 0; i < operations.size(); ++i)
        if (branches(operations[i])) left.push_back(i);
    for (const size_t i : left) operations[i].reconverge = never;
    // Where every way on is an early exit, or goes round for ever but for one, the next graph has
    // the answer; where the only way out of a loop is a guarded exit, the last.
    for (const Ways ways : {Ways::lasting, Ways::early, Ways::all}) {
        if (left.empty()) break;
        const Graph graph = build(body, ways);
        const Postdominators found(graph);
        std::erase_if(left, [&](size_t i) {
            const uint32_t n = found.number[graph.block_of[i]];
            if (n == Postdominators::none) return false;
            const uint32_t block = found.block[found.immediate[n]];
            if (block != graph.first.size())
                operations[i].reconverge = first_operation + graph.first[block];
            return true;
        });
    }
}

}  // namespace lockwarp::isa
