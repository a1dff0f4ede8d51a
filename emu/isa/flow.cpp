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

// The operations of one function; places in it count from its first.
struct Body {
    std::span<const Operation> operations;
    uint32_t first;
    std::span<const uint32_t> branch_targets;
    std::span<const uint8_t> lost_calls;  // by call, 1: none comes back from it
    bool returns = false;                 // there is an unguarded ret

    size_t size() const { return operations.size(); }
    const Operation& operator[](size_t i) const { return operations[i]; }

    bool is_lost_call(const Operation& o) const {
        return row(o.op).flow == Flow::call && o.target < lost_calls.size() &&
               lost_calls[o.target] != 0;
    }
    bool ends_path(const Operation& o) const {
        return (ends_lanes(o.op) || is_lost_call(o)) && !o.guarded;
    }
    bool ends_block(const Operation& o) const { return isa::ends_block(o) || ends_path(o); }
    // The operation behind it is a way on.
    bool falls_through(const Operation& o) const {
        return !ends_path(o) && (!branches(o) || o.guarded);
    }
    // It ends lanes as the program means to: where a function has both, an exit is a failure.
    bool is_return(size_t i) const {
        const Flow flow = row(operations[i].op).flow;
        return flow == Flow::ret || (flow == Flow::exit && (!returns || i + 1 == size()));
    }
    // Nothing goes on behind it, and no trap is the reason.
    bool ends_well(size_t i) const {
        const Flow flow = row(operations[i].op).flow;
        return (flow == Flow::ret || flow == Flow::exit) && ends_path(operations[i]);
    }

    // Calls f(place) for each operation that a branch may go to.
    template <class F>
    void each_target(const Operation& o, F&& f) const {
        isa::each_target(branch_targets, o, [&](uint32_t t) { f(t - first); });
    }
};

// The exit that a program comes to if it does not return early: its last one that something leads
// to. The final operation is an exit that resolve added, often behind one of the program's own.
size_t lasting_exit(const Body& body) {
    const size_t n = body.size();
    bool reached = n < 2 || body.falls_through(body[n - 2]);
    for (const Operation& o : body.operations)
        body.each_target(o, [&](size_t target) { reached |= target == n - 1; });
    size_t last = n - 1;
    if (reached) return last;
    for (size_t i = 0; i + 1 < n; ++i)
        if (body.is_return(i) && body.ends_path(body[i])) last = i;
    return last;
}

// Which ways to the end are edges. lasting: only those of the program's last exit that are not
// branches straight to it: lanes that return early, or fail, are gone, and the others meet as if
// those ways did not exist. endless: those of every exit, and those out of each loop that comes to
// none, behind operations from which it begins again. early: branches straight to exits too. exits:
// those of a function that returns as well, to which a whole part of it may lead (CUB's
// ThreadExit). all: also guarded exits, which most lanes pass, and failures.
enum class Ways : uint8_t { lasting, endless, early, exits, all };

// Marks the blocks from which `to` can be reached.
void mark_before(const Graph& g, uint32_t to, std::vector<bool>& marked) {
    std::vector<uint32_t> stack{to};
    while (!stack.empty()) {
        const uint32_t b = stack.back();
        stack.pop_back();
        if (marked[b]) continue;
        marked[b] = true;
        for (const uint32_t p : g.predecessors[b]) stack.push_back(p);
    }
}

// The blocks that can be reached from `from`.
std::vector<bool> reached(const Graph& g, uint32_t from) {
    std::vector<bool> out(g.successors.size(), false);
    std::vector<uint32_t> stack{from};
    while (!stack.empty()) {
        const uint32_t b = stack.back();
        stack.pop_back();
        if (out[b]) continue;
        out[b] = true;
        stack.insert(stack.end(), g.successors[b].begin(), g.successors[b].end());
    }
    return out;
}

// An edge to the end from the last block of each loop that never comes there, and from each other
// from which the loop begins again where it does from the last. Loops that come to an exit of
// another kind are not endless.
void leave_endless_loops(Graph& g, const Body& body) {
    const auto end = static_cast<uint32_t>(g.first.size());
    std::vector<bool> leaves(g.successors.size(), false);
    mark_before(g, end, leaves);
    for (size_t i = 0; i < body.size(); ++i)
        if (body.ends_well(i)) mark_before(g, g.block_of[i], leaves);
    for (uint32_t b = end; b-- > 0;) {
        if (leaves[b]) continue;
        const auto is_back = [&](uint32_t s) { return s <= b; };
        if (std::ranges::none_of(g.successors[b], is_back)) continue;
        std::vector<bool> before(g.successors.size(), false);
        mark_before(g, b, before);
        if (std::ranges::none_of(g.successors[b],
                                 [&](uint32_t s) { return is_back(s) && before[s]; }))
            continue;
        // The same from each of its begins.
        const std::vector<bool> in_loop = reached(g, b);
        std::vector<bool> last(g.successors.size(), false);
        for (const uint32_t s : g.successors[b]) {
            if (!is_back(s) || !before[s]) continue;
            for (const uint32_t p : g.predecessors[s])
                if (p >= s && in_loop[p]) last[p] = true;
        }
        for (uint32_t p = 0; p < end; ++p) {
            if (!last[p]) continue;
            g.successors[p].push_back(end);
            g.predecessors[end].push_back(p);
        }
        mark_before(g, b, leaves);
    }
}

Graph build(const Body& body, Ways ways) {
    const size_t n = body.size();
    std::vector<bool> leader(n + 1, false);
    leader[0] = true;
    for (size_t i = 0; i < n; ++i) {
        body.each_target(body[i], [&](size_t target) { leader[target] = true; });
        if (body.ends_block(body[i])) leader[i + 1] = true;
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
        // To a block that only ends its lanes, as compilers put it at the end for early returns.
        const bool returns = row(o.op).flow == Flow::branch && o.guarded &&
                             body.ends_path(body[o.target - body.first]);
        if (ways >= Ways::early || !returns)
            body.each_target(o, [&](size_t target) { edge(b, g.block_of[target]); });
        if (body.falls_through(o) && last + 1 < n) edge(b, g.block_of[last + 1]);
        const bool counts = ways == Ways::all       ? body.ends_block(o) && !branches(o)
                            : ways == Ways::exits   ? body.ends_well(last)
                            : ways == Ways::lasting ? last == last_exit && body.ends_path(o)
                                                    : body.is_return(last) && body.ends_path(o);
        if (counts) edge(b, blocks);
    }
    if (ways == Ways::endless) leave_endless_loops(g, body);
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

// Whether a function may come to a return of its own, as far as `lost_calls` is known.
bool may_return(const Program& program, const Function& f, std::span<const uint8_t> lost_calls) {
    Body body{std::span(program.operations).subspan(f.first, f.end - f.first), f.first,
              program.branch_targets, lost_calls};
    std::vector<bool> seen(body.size(), false);
    std::vector<size_t> stack{0};
    while (!stack.empty()) {
        const size_t i = stack.back();
        stack.pop_back();
        if (i >= body.size() || seen[i]) continue;
        seen[i] = true;
        const Operation& o = body[i];
        if (row(o.op).flow == Flow::ret) return true;
        body.each_target(o, [&](size_t target) { stack.push_back(target); });
        if (body.falls_through(o)) stack.push_back(i + 1);
    }
    return false;
}

}  // namespace

std::vector<uint8_t> find_lost_calls(const Program& program) {
    const size_t functions = program.functions.size();
    std::vector<uint8_t> lost(program.calls.size());
    std::vector<std::vector<size_t>> calls_of(functions);
    for (size_t i = 0; i < lost.size(); ++i) {
        const Call& c = program.calls[i];
        const bool is_named = c.function != UINT32_MAX;
        lost[i] = c.system == System::assertfail || is_named;
        if (is_named) calls_of[c.function].push_back(i);
    }
    // A function returns if a way leads to its return on which every call comes back. Those that
    // are called mostly stand behind those that call them.
    std::vector<bool> returns(functions, false);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t f = functions; f-- > 1;) {
            if (returns[f] || !may_return(program, program.functions[f], lost)) continue;
            grown = returns[f] = true;
            for (const size_t i : calls_of[f]) lost[i] = 0;
        }
    }
    return lost;
}

std::vector<Block> blocks_of(const Program& program, const Function& f) {
    std::vector<bool> leads(f.end - f.first + 1, false);
    leads[0] = true;
    for (uint32_t i = f.first; i < f.end; ++i) {
        const Operation& o = program.operations[i];
        each_target(program.branch_targets, o, [&](uint32_t t) { leads[t - f.first] = true; });
        if (ends_block(o)) leads[i + 1 - f.first] = true;
    }
    std::vector<Block> out;
    std::vector<uint32_t> block_of(leads.size());
    for (uint32_t i = f.first; i < f.end; ++i) {
        if (leads[i - f.first]) out.push_back({i, i, {}});
        out.back().end = i + 1;
        block_of[i - f.first] = static_cast<uint32_t>(out.size() - 1);
    }
    for (Block& b : out) {
        const Operation& last = program.operations[b.end - 1];
        each_target(program.branch_targets, last,
                    [&](uint32_t t) { b.next.push_back(block_of[t - f.first]); });
        if (goes_on(last)) b.next.push_back(block_of[b.end - f.first]);
    }
    return out;
}

void find_reconvergence(std::span<Operation> operations, uint32_t first_operation,
                        std::span<const uint32_t> branch_targets,
                        std::span<const uint8_t> lost_calls) {
    if (operations.empty()) return;
    Body body{operations, first_operation, branch_targets, lost_calls};
    body.returns = std::ranges::any_of(
        operations, [&](const Operation& o) { return row(o.op).flow == Flow::ret && !o.guarded; });
    std::vector<size_t> left;
    for (size_t i = 0; i < operations.size(); ++i)
        if (branches(operations[i])) left.push_back(i);
    for (const size_t i : left) operations[i].reconverge = never;
    // Where no way on leads to the last exit, the second graph has the answer; where all that do
    // not fail are branches straight to exits, the third; where they lead to exits beside a return,
    // the fourth; else the last.
    for (const Ways ways : {Ways::lasting, Ways::endless, Ways::early, Ways::exits, Ways::all}) {
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
