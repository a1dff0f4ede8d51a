// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/sm.hpp"

#include <algorithm>
#include <utility>

#include "emu/timing/wavefronts.hpp"

namespace lockwarp::timing {

using isa::Operation;

namespace {

constexpr unsigned special_places = 3;  // of the special functions' queue

}  // namespace

const Operation& Sm::operation(const Item& item) const {
    return l.program->operations[item.operation];
}

void Sm::use(Pipe pipe, uint64_t centi) {
    const auto p = static_cast<size_t>(pipe);
    used[p] += centi;
    if (options.buckets == 0) return;
    while (now / bucket >= options.buckets) {
        for (size_t i = 0; 2 * i < over_time.size(); ++i) {
            std::array<uint64_t, pipes> sum = over_time[2 * i];
            if (2 * i + 1 < over_time.size())
                for (size_t k = 0; k < pipes; ++k) sum[k] += over_time[2 * i + 1][k];
            over_time[i] = sum;
        }
        over_time.resize((over_time.size() + 1) / 2);
        bucket *= 2;
    }
    if (over_time.size() <= now / bucket) over_time.resize(now / bucket + 1);
    over_time[now / bucket][p] += centi;
}

void Sm::pass(WarpState& w, const Item& item) {
    const Operation& o = operation(item);
    uint64_t at = 0;
    Stall reason = Stall::wait;
    for (uint32_t u = o.first_use + o.written; u < o.first_use + o.written + o.read; ++u) {
        const size_t v = value_read(u);
        if (w.values[v] > at) {
            at = w.values[v];
            reason = w.value_reasons[v];
        }
    }
    write(w, item.operation, at, reason);
}

size_t Sm::value_read(uint32_t use) const {
    const uint32_t source = l.sources[use];
    return source == Lowering::outside ? l.program->uses[use]
                                       : l.program->registers.size() + source;
}

void Sm::write(WarpState& w, uint32_t index, uint64_t at, Stall reason) {
    const Operation& o = l.program->operations[index];
    const auto set = [&](size_t v) {
        w.values[v] = at;
        w.value_reasons[v] = reason;
    };
    if (o.written != 0) set(l.program->registers.size() + index);
    for (uint32_t u = o.first_use; u < o.first_use + o.written; ++u)
        if (l.sources[u] == Lowering::outside) set(l.program->uses[u]);
}

uint64_t Sm::fetching(uint32_t line) const {
    constexpr uint32_t ahead = 16;
    const auto known = [](uint64_t at) { return at != never; };
    const auto here = fetched.begin() + line;
    const bool near = line == 0 || std::any_of(here - std::min(line, ahead), here, known);
    return near ? flow.fetch : flow.fetch_far;
}

void Sm::look(uint32_t index) {
    WarpState& w = warps[index];
    while (w.at < w.stream->items.size() &&
           l.operations[w.stream->items[w.at].operation].action == Action::free) {
        ++report.retired;
        ++report.operations[w.stream->items[w.at].operation].issues;
        pass(w, w.stream->items[w.at++]);
    }
    w.refused = 0;
    if (w.at == w.stream->items.size()) {
        finish(index);
        return;
    }
    const Item& item = w.stream->items[w.at];
    const Operation& o = operation(item);
    w.ready = w.next;
    w.reason = w.next_reason;
    const auto wait = [&](uint64_t until, Stall reason) {
        if (until <= w.ready) return;
        w.ready = until;
        w.reason = reason;
    };
    for (uint32_t u = o.first_use + o.written; u < o.first_use + o.written + o.read; ++u) {
        const size_t v = value_read(u);
        wait(w.values[v], w.value_reasons[v]);
    }
    const Action action = l.operations[item.operation].action;
    const bool all_copies = action == Action::copy_wait_all;
    if (action == Action::copy_wait || all_copies) {
        const size_t allowed = all_copies ? 0 : o.immediate;
        if (all_copies) wait(w.copies, Stall::long_scoreboard);
        if (w.groups.size() > allowed)
            for (size_t g = 0; g < w.groups.size() - allowed; ++g)
                wait(w.groups[g], Stall::long_scoreboard);
    }
    if (action == Action::product_wait && w.product_groups.size() > o.immediate)
        wait(w.product_groups[w.product_groups.size() - o.immediate - 1],
             Stall::math_pipe_throttle);
    if (action == Action::bulk_wait && w.sent_groups.size() > o.immediate)
        wait(w.sent_groups[w.sent_groups.size() - o.immediate - 1], Stall::long_scoreboard);
    if (flow.fetch != 0) {
        uint64_t& there = fetched[line_of[item.operation]];
        if (there == never) there = std::max(w.next, now) + fetching(line_of[item.operation]);
        wait(there, Stall::no_instruction);
    }
    SubCore& core = cores[w.number % sub_cores];
    core.wake = std::min(core.wake, w.ready);
}

void Sm::finish(uint32_t index) {
    WarpState& w = warps[index];
    SubCore& core = cores[w.number % sub_cores];
    std::erase(core.warps, index);
    Running& r = running[w.cta];
    if (w.first_clock != never) note_clock(w, r);
    r.alive &= ~(1u << w.of_cta);
    if (r.alive != 0) {
        // Those that wait for all may wait for it alone.
        for (uint32_t i = 0; i < r.openings.size(); ++i) release(r, i);
        return;
    }
    report.ctas.push_back({r.cta->cta, r.begin, now});
    start_next(w.cta, now + flow.start);
}

void Sm::note_clock(const WarpState& w, const Running& r) {
    first_clock = std::min(first_clock, w.first_clock);
    last_clock = std::max(last_clock, w.last_clock);
    if (r.number == 0 && w.clock_before != never)
        report.warp_clock_cycles.push_back(w.last_clock - w.clock_before);
}

void Sm::start_next(uint32_t slot, uint64_t at) {
    if (next_cta == queue.size()) return;
    Running& r = running[slot];
    r = Running{};
    r.cta = queue[next_cta];
    r.number = next_cta++;
    r.begin = at;
    r.openings.resize(r.cta->openings.size());
    // In the places of the warps of the CTA before.
    const auto first = static_cast<uint32_t>(slot * warps_of_cta);
    std::vector<uint32_t> placed;
    for (uint32_t of_cta = 0; of_cta < r.cta->warps.size(); ++of_cta) {
        const Stream& s = r.cta->warps[of_cta];
        if (s.items.empty()) continue;
        placed.push_back(first + of_cta);
        WarpState& w = warps[first + of_cta];
        w = WarpState{};
        w.stream = &s;
        w.cta = slot;
        w.of_cta = of_cta;
        w.number = started_warps++;
        w.next = w.last = at;
        const size_t values = l.program->registers.size() + l.operations.size();
        w.values.assign(values, 0);
        w.value_reasons.assign(values, Stall::wait);
        r.alive |= 1u << of_cta;
    }
    for (const uint32_t i : placed) {
        SubCore& core = cores[warps[i].number % sub_cores];
        core.warps.push_back(i);
        core.wake = std::min(core.wake, at);
    }
    for (const uint32_t i : placed) look(i);
}

void Sm::release(Running& r, uint32_t opening) {
    const Opening& o = r.cta->openings[opening];
    OpeningState& s = r.openings[opening];
    if (s.waiting.empty() || s.arrived < o.arrivals) return;
    if (o.all && (r.alive & ~o.warps) != 0) return;
    const bool is_phase = o.barrier == phase_barrier;
    const uint64_t at =
        is_phase ? std::max(s.at, now + 1)
                 : r.busy_barriers[o.barrier] / 100 +
                       (o.barrier == cluster_barrier ? flow.cluster_release : flow.barrier_release);
    for (const uint32_t i : std::exchange(s.waiting, {})) {
        warps[i].waiting = false;
        warps[i].next = is_phase ? std::max(at, warps[i].next) : at;
        warps[i].next_reason = Stall::barrier;
        ++warps[i].at;
        look(i);
    }
}

uint64_t Sm::pipe_free(const SubCore& core, const Item& item, Stall& reason) const {
    const Lowered& m = l.operations[item.operation];
    reason = Stall::math_pipe_throttle;
    if (m.pipe == Pipe::shared) {
        if (item.touched == Touched::global || item.touched == Touched::both) {
            reason = Stall::lg_throttle;
            return core.global.free_at(global.queue);
        }
        reason = Stall::mio_throttle;
        return core.shared.free_at(shared.queue);
    }
    if (m.pipe == Pipe::sfu) return core.special.free_at(special_places);
    // A fraction of a cycle left does not hold the next one up: the rate is kept all the same.
    return core.busy[static_cast<size_t>(m.pipe)] / 100;
}

void Sm::issue(uint32_t core_index, uint32_t index) {
    SubCore& core = cores[core_index];
    WarpState& w = warps[index];
    const Item& item = w.stream->items[w.at];
    const Operation& o = operation(item);
    const Lowered& m = l.operations[item.operation];
    OperationReport& entry = report.operations[item.operation];
    account(w, entry);
    ++entry.issues;
    ++report.retired;
    report.issued += m.issue;
    report.products += m.products;
    core.greedy = index;
    uint64_t hold = std::max<uint64_t>(m.issue, m.hold);
    const bool fences = m.fence != 0 && !(alone && o.op == isa::Op::cluster_arrive);
    const uint64_t fenced = fences ? drained(w, Kind::fence_wide) + m.fence - now : 0;
    uint64_t done = now + m.latency + fenced;
    Stall reason = m.reason;
    const bool memory = m.action == Action::load || m.action == Action::store ||
                        m.action == Action::atomic || m.action == Action::copy;
    if (memory) {
        const bool atomic = op_timing(o.op).atomic;
        if (item.touched == Touched::shared || item.touched == Touched::both) {
            const unsigned count = std::max<unsigned>(item.wavefronts, 1);
            const bool store = m.action == Action::store || m.action == Action::copy;
            const uint64_t served = serve_shared(core, count, m.data, store);
            const bool matrix = op_timing(o.op).data == Data::fragment;
            done = served + (atomic ? shared.atomic : matrix ? shared.matrix : shared.load);
            reason = Stall::short_scoreboard;
            entry.wavefronts += count;
            entry.ideal += least(o, item);
        }
        if (item.touched == Touched::global || item.touched == Touched::both) {
            done = serve_global(core, item, atomic, m.action == Action::store);
            reason = Stall::long_scoreboard;
            entry.sectors += item.sectors;
            if (m.moves != 0) {
                const Cost& move = cost(l.machine->arch, Kind::move_matrix);
                done += move.latency + m.moves * move.interval / 100;
                hold = std::max<uint64_t>(hold, m.moves);
            }
        }
        if (m.action == Action::copy) w.copies = std::max(w.copies, done);
        const bool stores = m.action == Action::store;
        if (stores && item.touched == Touched::shared) w.registers_stored += m.data;
        if ((stores || atomic) && item.touched == Touched::global) w.stored = now + flow.drain;
    } else if (m.pipe == Pipe::shared) {
        done = serve_shared(core, 1, 1, false) + m.latency;
    } else if (m.pipe == Pipe::sfu) {
        // Through a queue, in the order of issue.
        const uint64_t begin = std::max(now * 100, core.special_busy);
        core.special_busy = begin + uint64_t{m.issue} * m.interval;
        core.special.put(begin / 100);
        use(m.pipe, uint64_t{m.issue} * m.interval);
        done = begin / 100 + m.latency;
    } else if (m.pipe != Pipe::none) {
        uint64_t& busy = core.busy[static_cast<size_t>(m.pipe)];
        const uint64_t taken = uint64_t{m.issue} * m.interval;
        busy = (busy + 99 >= now * 100 ? busy : now * 100) + taken;
        use(m.pipe, taken);
        if (o.warpgroup != nullptr) {
            w.multiplied = busy / 100;
            w.products = std::max(w.products, w.multiplied + async.group);
        }
    }
    if (m.action == Action::bulk_load) done = bring(w, item);
    if (m.action == Action::bulk_store) w.sent = std::max(w.sent, send(w, item));
    if (item.map != 0) maps.insert(running[w.cta].cta->maps[item.map - 1]);
    write(w, item.operation, std::max(done, now + 1), reason);
    if (report.events.size() < options.events && now >= options.from_cycle) note(w, item, done);
    w.last = now;
    w.next = now + hold + fenced;
    w.next_reason = m.action == Action::branch ? Stall::branch_resolving : Stall::wait;
    if (fenced != 0) w.next_reason = Stall::membar;
    if (is_fence(m.kind)) {
        const uint64_t begin = drained(w, m.kind);
        w.next = begin + std::max<uint64_t>(hold, m.latency);
        if (m.kind == Kind::fence_shared || m.kind == Kind::fence_proxy)
            w.next += std::exchange(w.registers_stored, {}) * flow.drain_shared;
        w.next_reason = Stall::membar;
    }
    if (m.action == Action::clock) {
        if (w.first_clock != never) w.clock_before = w.last_clock;
        w.first_clock = std::min(w.first_clock, now);
        w.last_clock = std::max(w.last_clock, now);
    }
    switch (m.action) {
        case Action::copy_commit:
            w.groups.push_back(std::exchange(w.copies, {}));
            break;
        case Action::bulk_commit:
            w.sent_groups.push_back(std::exchange(w.sent, {}));
            break;
        case Action::product_commit:
            w.product_groups.push_back(std::exchange(w.products, {}));
            break;
        case Action::phase_wait: {
            if (!item.arrives) break;
            const uint32_t opening = w.stream->arrivals[w.arrivals++];
            w.waiting = true;
            w.next = now + async.wait;
            running[w.cta].openings[opening].waiting.push_back(index);
            release(running[w.cta], opening);
            return;
        }
        case Action::barrier:
        case Action::barrier_arrive: {
            if (!item.arrives) break;
            Running& r = running[w.cta];
            const uint32_t opening = w.stream->arrivals[w.arrivals++];
            uint64_t& busy = r.busy_barriers[r.cta->openings[opening].barrier];
            // Behind the sub-core's accesses to shared memory, which it orders.
            busy = std::max({busy, now * 100, core.port}) + flow.barrier_arrive;
            ++r.openings[opening].arrived;
            if (m.action == Action::barrier) {
                w.waiting = true;
                r.openings[opening].waiting.push_back(index);
                release(r, opening);
                return;
            }
            ++w.at;
            release(r, opening);
            look(index);
            return;
        }
        default:
            if (item.arrives) {
                const uint32_t opening = w.stream->arrivals[w.arrivals++];
                OpeningState& s = running[w.cta].openings[opening];
                s.at = std::max(s.at, done + (item.remote ? async.remote : async.phase));
                ++s.arrived;
                release(running[w.cta], opening);
            }
            break;
    }
    ++w.at;
    look(index);
}

void Sm::account(WarpState& w, OperationReport& entry) {
    const auto add = [&](Stall s, uint64_t cycles) {
        entry.stalls[static_cast<size_t>(s)] += cycles;
        report.stalls[static_cast<size_t>(s)] += cycles;
    };
    const uint64_t from = w.last + 1;
    const uint64_t ready = std::clamp(w.ready, std::min(from, now), now);
    if (ready > from) add(w.reason, ready - from);
    const uint64_t begin = std::max(ready, std::min(from, now));
    const uint64_t pipe = std::clamp(w.refused, begin, std::max(begin, now));
    if (pipe > begin) add(w.refused_reason, pipe - begin);
    if (now > pipe) add(Stall::not_selected, now - pipe);
}

void Sm::note(const WarpState& w, const Item& item, uint64_t done) {
    Event e;
    e.waits = std::min(w.last + 1, now);
    e.issue = now;
    e.done = std::max(done, now + 1);
    e.operation = item.operation;
    e.warp = static_cast<uint16_t>(w.number);
    e.cta = static_cast<uint16_t>(running[w.cta].number);
    e.stall = w.refused > w.ready ? w.refused_reason
              : w.ready > e.waits ? w.reason
                                  : Stall::not_selected;
    report.events.push_back(e);
}

unsigned Sm::least(const Operation& o, const Item& item) {
    if (op_timing(o.op).data == Data::fragment && o.wmma_fragment == nullptr)
        return std::max<unsigned>(1, o.vector[0].count);
    const unsigned bytes =
        o.mod.types == 0 ? 4 : std::max<unsigned>(o.mod.vec, 1) * isa::bits(o.mod.type[0]) / 8;
    return std::min<unsigned>(item.wavefronts,
                              op_timing(o.op).fold == Fold::access
                                  ? std::max(1u, 32 / phase_lanes(std::min(bytes, 16u)))
                                  : item.wavefronts);
}

bool Sm::before(const SubCore& core, const WarpState& a, uint32_t a_index, const WarpState& b,
                uint32_t b_index) {
    if ((a.refused != 0) != (b.refused != 0)) return a.refused != 0;
    if (a.refused != 0 && a.last != b.last) return a.last < b.last;
    if (a_index == core.greedy || b_index == core.greedy) return a_index == core.greedy;
    return a.number > b.number;
}

uint64_t Sm::step(uint32_t core_index) {
    SubCore& core = cores[core_index];
    uint32_t chosen = UINT32_MAX;
    uint64_t soonest = never;
    const auto try_one = [&](uint32_t i) {
        WarpState& w = warps[i];
        if (w.waiting) return;
        if (w.ready > now) {
            soonest = std::min(soonest, w.ready);
            return;
        }
        Stall reason{};
        const uint64_t free = pipe_free(core, w.stream->items[w.at], reason);
        if (free > now) {
            w.refused = std::max(w.refused, free);
            w.refused_reason = reason;
            soonest = std::min(soonest, free);
            return;
        }
        if (chosen == UINT32_MAX || before(core, w, i, warps[chosen], chosen)) chosen = i;
    };
    for (const uint32_t i : core.warps) try_one(i);
    if (chosen == UINT32_MAX) return soonest;
    issue(core_index, chosen);
    return now + 1;
}

void Sm::run() {
    while (true) {
        uint64_t soonest = never;
        for (const SubCore& c : cores) soonest = std::min(soonest, c.wake);
        if (soonest == never) break;
        now = std::max(now, soonest);
        for (uint32_t c = 0; c < sub_cores; ++c) {
            if (cores[c].wake > now) continue;
            cores[c].wake = never;  // look() brings it down to what it finds
            const uint64_t next = step(c);
            cores[c].wake = std::min(cores[c].wake, next);
            if (cores[c].wake <= now) cores[c].wake = now + 1;
        }
    }
}

}  // namespace lockwarp::timing
