// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/schedule.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "emu/isa/flow.hpp"

namespace lockwarp::timing {

namespace {

using isa::Operation;
using isa::Program;
using ptx::Space;

// Blocks beyond this stand as they are: the schedule of a huge one would cost more than it tells.
constexpr size_t max_scheduled = 20000;
// Cycles that the assembler expects of what it cannot know.
constexpr unsigned shared_guess = 28;
constexpr unsigned global_guess = 200;

bool is_wall(const Lowered& m) {
    switch (m.action) {
        case Action::barrier:
        case Action::barrier_arrive:
        case Action::atomic:
        case Action::branch:
        case Action::clock:
        case Action::exit:
        case Action::copy_wait:
        case Action::copy_wait_all:
        case Action::copy_commit:
        case Action::bulk_load:
        case Action::bulk_store:
        case Action::bulk_commit:
        case Action::bulk_wait:
        case Action::phase_wait:
        case Action::product_commit:
        case Action::product_wait:
            return true;
        case Action::free:
        case Action::plain:
        case Action::tensor:
        case Action::load:
        case Action::store:
        case Action::copy:
            break;
    }
    return is_fence(m.kind) || m.fence != 0 || m.kind == Kind::wait || m.kind == Kind::registers ||
           m.kind == Kind::warp_barrier;
}

bool is_shared(const Operation& o) {
    return o.mod.space == Space::shared || isa::row(o.op).shared_only;
}

struct Node {
    uint32_t waits = 0;  // for so many others
    uint64_t path = 0;   // cycles from here to the end
    uint64_t ready = 0;
    std::vector<std::pair<uint32_t, uint32_t>> then;  // node, cycles from issue to issue
};

unsigned latency_of(const Operation& o, const Lowered& m) {
    if (m.action == Action::load) return is_shared(o) ? shared_guess : global_guess;
    return m.action == Action::free ? 0 : m.latency;
}

std::vector<Node> graph(const Lowering& l, const Block& block) {
    const Program& p = *l.program;
    const uint32_t n = block.last - block.first + 1;
    std::vector<Node> nodes(n);
    std::map<uint32_t, uint32_t> writer;                // register -> node
    std::map<uint32_t, std::vector<uint32_t>> readers;  // since it was written
    uint32_t wall = UINT32_MAX;
    std::vector<uint32_t> since_wall;
    // By memory: shared, and everything else.
    std::array<std::vector<uint32_t>, 2> stores, loads;
    const auto edge = [&](uint32_t from, uint32_t to, uint32_t cycles) {
        if (from == to) return;
        nodes[from].then.push_back({to, cycles});
        ++nodes[to].waits;
    };
    for (uint32_t i = 0; i < n; ++i) {
        const Operation& o = p.operations[block.first + i];
        const Lowered& m = l.operations[block.first + i];
        const uint32_t end = o.first_use + o.written + o.read;
        for (uint32_t u = o.first_use + o.written; u < end; ++u) {
            if (const uint32_t w = l.sources[u]; w != Lowering::outside)
                edge(w - block.first, i, latency_of(p.operations[w], l.operations[w]));
            else
                readers[p.uses[u]].push_back(i);
        }
        for (uint32_t u = o.first_use; u < o.first_use + o.written; ++u) {
            const uint32_t r = p.uses[u];
            // Lanes whose guard is false keep what was there.
            if (const auto w = writer.find(r); w != writer.end() && o.guarded)
                edge(w->second, i, 1);
            writer[r] = i;
            // What the block leaves in a register must not be there before others have read.
            if (l.sources[u] == Lowering::outside)
                for (const uint32_t reader : readers[r]) edge(reader, i, 0);
        }
        if (isa::uses_carry(o)) {  // as a register that no operation names
            const uint32_t r = UINT32_MAX;
            if (const auto w = writer.find(r); w != writer.end()) edge(w->second, i, 1);
            writer[r] = i;
        }
        if (is_wall(m)) {
            for (const uint32_t before : since_wall) edge(before, i, 0);
            if (since_wall.empty() && wall != UINT32_MAX) edge(wall, i, 0);
            since_wall.clear();
            wall = i;
            for (auto* lists : {&stores, &loads})
                for (auto& list : *lists) list.clear();
            continue;
        }
        if (wall != UINT32_MAX) edge(wall, i, 0);
        since_wall.push_back(i);
        const bool loads_here = m.action == Action::load;
        const bool stores_here = m.action == Action::store || m.action == Action::copy;
        if (!loads_here && !stores_here) continue;
        const size_t memory = is_shared(o) ? 0 : 1;
        for (const uint32_t s : stores[memory]) edge(s, i, 1);
        if (stores_here)
            for (const uint32_t s : loads[memory]) edge(s, i, 1);
        (stores_here ? stores : loads)[memory].push_back(i);
        if (stores_here) {
            // What follows waits for this one alone.
            stores[memory] = {i};
            loads[memory].clear();
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        const Operation& o = p.operations[block.first + i];
        const Lowered& m = l.operations[block.first + i];
        nodes[i].path = latency_of(o, m);
        for (const auto& [to, cycles] : nodes[i].then)
            nodes[i].path = std::max(nodes[i].path, nodes[to].path + cycles);
    }
    return nodes;
}

}  // namespace

void schedule(const Lowering& l, Block& block) {
    const uint32_t n = block.last - block.first + 1;
    block.order.resize(n);
    std::iota(block.order.begin(), block.order.end(), block.first);
    if (n < 3 || n > max_scheduled) return;
    std::vector<Node> nodes = graph(l, block);
    // Those whose predecessors have issued: by the cycle they are ready at, then by path.
    using Entry = std::pair<uint64_t, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> later;
    const auto behind = [&](uint32_t a, uint32_t b) {
        return nodes[a].path != nodes[b].path ? nodes[a].path < nodes[b].path : a > b;
    };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(behind)> now(behind);
    std::array<uint64_t, static_cast<size_t>(Pipe::count_)> busy{};  // until, in hundredths
    for (uint32_t i = 0; i < n; ++i)
        if (nodes[i].waits == 0) later.push({0, i});
    uint64_t cycle = 0;
    size_t at = 0;
    while (at < n) {
        while (!later.empty() && later.top().first <= cycle) {
            now.push(later.top().second);
            later.pop();
        }
        if (now.empty()) {
            cycle = later.top().first;
            continue;
        }
        const uint32_t i = now.top();
        now.pop();
        const Lowered& m = l.operations[block.first + i];
        uint64_t& pipe = busy[static_cast<size_t>(m.pipe)];
        if (m.issue != 0 && pipe / 100 > cycle) {
            later.push({pipe / 100, i});
            continue;
        }
        if (m.issue != 0) pipe = std::max(pipe, cycle * 100) + uint64_t{m.issue} * m.interval;
        block.order[at++] = block.first + i;
        for (const auto& [to, cycles] : nodes[i].then) {
            nodes[to].ready = std::max(nodes[to].ready, cycle + cycles);
            if (--nodes[to].waits == 0) later.push({nodes[to].ready, to});
        }
        cycle += m.issue;
    }
}

unsigned live_registers(const Lowering& l) {
    const Program& p = *l.program;
    const size_t words = (p.registers.size() + 63) / 64;
    const size_t blocks = l.blocks.size();
    if (words * blocks > (size_t{1} << 22)) return 255;
    const auto width = [](const isa::Register& r) {
        const Type t = r.type;
        return t == Type::pred ? 0u : isa::bits(t) > 32 ? 2u : 1u;
    };
    std::vector<std::vector<uint64_t>> in(blocks, std::vector<uint64_t>(words, 0));
    const auto successors = [&](size_t b) {
        std::vector<size_t> out;
        const Operation& o = p.operations[l.blocks[b].last];
        isa::each_target(p.branch_targets, o, [&](uint32_t t) { out.push_back(l.block_of[t]); });
        if (isa::goes_on(o)) out.push_back(b + 1);
        return out;
    };
    unsigned most = 0;
    // Backwards over a block; what lives where it begins.
    const auto walk = [&](size_t b, bool count) {
        std::vector<uint64_t> live(words, 0);
        for (const size_t s : successors(b))
            for (size_t w = 0; w < words; ++w) live[w] |= in[s][w];
        unsigned alive = 0;
        if (count)
            for (size_t at = 0; const isa::Register& r : p.registers) {
                if ((live[at / 64] >> (at % 64)) & 1) alive += width(r);
                ++at;
            }
        most = std::max(most, alive);
        for (uint32_t i = l.blocks[b].last + 1; i-- > l.blocks[b].first;) {
            const Operation& o = p.operations[i];
            const auto uses = std::span(p.uses).subspan(o.first_use, size_t{o.written} + o.read);
            const auto set = [&](uint32_t r, bool to) {
                uint64_t& word = live[r / 64];
                const uint64_t bit = uint64_t{1} << (r % 64);
                if (((word & bit) != 0) == to) return;
                word ^= bit;
                const unsigned slots = width(p.registers[r]);
                alive = to ? alive + slots : alive - std::min(alive, slots);
            };
            if (!o.guarded)
                for (const uint32_t r : uses.first(o.written)) set(r, false);
            for (const uint32_t r : uses.subspan(o.written)) set(r, true);
            if (count) most = std::max(most, alive);
        }
        return live;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = blocks; b-- > 0;) {
            std::vector<uint64_t> live = walk(b, false);
            if (live != in[b]) {
                in[b] = std::move(live);
                changed = true;
            }
        }
    }
    for (size_t b = 0; b < blocks; ++b) walk(b, true);
    return most;
}

}  // namespace lockwarp::timing
