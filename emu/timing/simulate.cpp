// SPDX-License-Identifier: Apache-2.0
// One SM: its sub-cores issue the streams of its warps, cycle by cycle.
#include <algorithm>
#include <deque>
#include <utility>

#include "emu/timing/queues.hpp"
#include "emu/timing/timing.hpp"
#include "emu/timing/wavefronts.hpp"

namespace lockwarp::timing {

namespace {

using isa::Operation;

constexpr uint64_t never = UINT64_MAX;
constexpr size_t pipes = static_cast<size_t>(Pipe::count_);
constexpr unsigned register_unit = 8;    // of a thread
constexpr unsigned special_places = 3;   // of the special functions' queue
constexpr unsigned registers_kept = 16;  // that the assembler takes beside those that live

constexpr std::array<std::string_view, 5> limit_texts{"grid", "CTAs", "warps", "shared memory",
                                                      "registers"};

constexpr uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

struct WarpState {
    const Stream* stream = nullptr;
    size_t at = 0;
    size_t arrivals = 0;  // of Stream::arrivals, so many are behind it
    uint32_t cta = 0;     // slot in Sm::running
    uint32_t of_cta = 0;  // its number among the CTA's warps
    uint32_t number = 0;  // of the SM, in order
    uint64_t next = 0;    // cycle from which it may issue
    Stall next_reason = Stall::wait;
    uint64_t last = 0;   // cycle of its last issue
    uint64_t ready = 0;  // cycle from which the head may issue, as far as this warp goes
    Stall reason = Stall::wait;
    uint64_t refused = 0;  // the pipe was busy until here when the head was looked at
    Stall refused_reason = Stall::math_pipe_throttle;
    bool waiting = false;  // at a barrier
    bool done = true;
    // Cycle from which a value can be read: registers as blocks leave them, then what each
    // operation wrote last.
    std::vector<uint64_t> values;
    std::vector<Stall> value_reasons;
    std::deque<uint64_t> groups;            // cp.async: when each committed one is there
    uint64_t copies = 0;                    // when those not yet committed are
    std::deque<uint64_t> product_groups{};  // wgmma: when each committed one is done
    uint64_t products = 0;                  // when those not yet committed are
    uint64_t first_clock = never, last_clock = 0, clock_before = never;
};

struct OpeningState {
    unsigned arrived = 0;
    uint64_t at = 0;  // of a phase: the last arrival
    std::vector<uint32_t> waiting;
};

struct Running {
    const CtaStreams* cta = nullptr;
    uint64_t begin = 0;
    uint32_t alive = 0;  // warps of the CTA, by bits
    size_t number = 0;
    std::vector<OpeningState> openings{};                       // as CtaStreams::openings
    std::array<uint64_t, cluster_barrier + 1> busy_barriers{};  // until, in hundredths
};

struct SubCore {
    std::vector<uint32_t> warps;         // resident ones, oldest first
    std::array<uint64_t, pipes> busy{};  // until, in hundredths
    Queue shared, global, special;
    uint64_t global_port = 0;
    uint64_t special_busy = 0;  // until, in hundredths
    uint64_t port = 0;          // of shared memory, until, in hundredths
    uint32_t greedy = UINT32_MAX;
    uint64_t wake = 0;
};

struct Sm {
    const Lowering& l;
    const Options& options;
    const SharedRow& shared;
    const GlobalRow& global;
    const FlowRow& flow;
    const AsyncRow& async;
    Report& report;

    std::array<SubCore, sub_cores> cores{};
    std::deque<WarpState> warps{};  // references to them stay
    std::vector<Running> running{};
    std::vector<const CtaStreams*> queue{};
    size_t next_cta = 0;
    Calendar shared_pipe{};
    uint64_t lines_pipe = 0, sectors_pipe = 0;  // until, in hundredths
    uint64_t now = 0;
    uint32_t started_warps = 0;
    std::array<uint64_t, pipes> used{};  // hundredths
    std::vector<uint32_t> line_of{};     // of code, by operation
    std::vector<uint64_t> fetched{};     // from when an SM has it
    Centi sector = 0;                    // GlobalRow's, or more where all SMs share L2
    uint64_t l2_latency = 0;             // likewise
    std::vector<std::array<uint64_t, pipes>> over_time{};
    uint64_t bucket = 256;  // cycles

    const Operation& operation(const Item& item) const {
        return l.program->operations[item.operation];
    }

    void use(Pipe pipe, uint64_t centi) {
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

    // What costs no instruction passes its operands' time on.
    void pass(WarpState& w, const Item& item) {
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

    size_t value_read(uint32_t use) const {
        const uint32_t source = l.sources[use];
        return source == Lowering::outside ? l.program->uses[use]
                                           : l.program->registers.size() + source;
    }

    void write(WarpState& w, uint32_t index, uint64_t at, Stall reason) {
        const Operation& o = l.program->operations[index];
        const auto set = [&](size_t v) {
            w.values[v] = at;
            w.value_reasons[v] = reason;
        };
        if (o.written != 0) set(l.program->registers.size() + index);
        for (uint32_t u = o.first_use; u < o.first_use + o.written; ++u)
            if (l.sources[u] == Lowering::outside) set(l.program->uses[u]);
    }

    // Looks at the warp's next instruction: from which cycle its own operands allow it.
    void look(uint32_t index) {
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
        if (flow.fetch != 0) {
            uint64_t& there = fetched[line_of[item.operation]];
            if (there == never) there = std::max(w.next, now) + flow.fetch;
            wait(there, Stall::no_instruction);
        }
        SubCore& core = cores[w.number % sub_cores];
        core.wake = std::min(core.wake, w.ready);
    }

    void finish(uint32_t index) {
        WarpState& w = warps[index];
        w.done = true;
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

    void note_clock(const WarpState& w, const Running& r) {
        first_clock = std::min(first_clock, w.first_clock);
        last_clock = std::max(last_clock, w.last_clock);
        if (r.number == 0 && w.clock_before != never)
            report.warp_clock_cycles.push_back(w.last_clock - w.clock_before);
    }
    uint64_t first_clock = never, last_clock = 0;

    void start_next(uint32_t slot, uint64_t at) {
        if (next_cta == queue.size()) return;
        Running& r = running[slot];
        r = Running{};
        r.cta = queue[next_cta];
        r.number = next_cta++;
        r.begin = at;
        r.openings.resize(r.cta->openings.size());
        std::vector<uint32_t> placed;
        for (uint32_t of_cta = 0; of_cta < r.cta->warps.size(); ++of_cta) {
            const Stream& s = r.cta->warps[of_cta];
            if (s.items.empty()) continue;
            auto index = static_cast<uint32_t>(warps.size());
            for (uint32_t i = 0; i < warps.size(); ++i)
                if (warps[i].done && warps[i].cta == slot &&
                    std::ranges::find(placed, i) == placed.end()) {
                    index = i;
                    break;
                }
            if (index == warps.size()) warps.emplace_back();
            placed.push_back(index);
            WarpState& w = warps[index];
            w = WarpState{};
            w.stream = &s;
            w.cta = slot;
            w.of_cta = of_cta;
            w.number = started_warps++;
            w.next = w.last = at;
            w.done = false;
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

    // Lets those go on that wait for an opening of a barrier, if those have come that came in the
    // run, and, where it waits for all warps, the others have ended.
    void release(Running& r, uint32_t opening) {
        const Opening& o = r.cta->openings[opening];
        OpeningState& s = r.openings[opening];
        if (s.waiting.empty() || s.arrived < o.arrivals) return;
        if (o.all && (r.alive & ~o.warps) != 0) return;
        const bool is_phase = o.barrier == phase_barrier;
        const uint64_t at = is_phase ? std::max(s.at + async.phase, now + 1)
                                     : r.busy_barriers[o.barrier] / 100 +
                                           (o.barrier == cluster_barrier ? flow.cluster_release
                                                                         : flow.barrier_release);
        for (const uint32_t i : std::exchange(s.waiting, {})) {
            warps[i].waiting = false;
            warps[i].next = at;
            warps[i].next_reason = Stall::barrier;
            ++warps[i].at;
            look(i);
        }
    }

    // The earliest cycle at which the pipe takes the warp's head; `reason` says what it waits for.
    uint64_t pipe_free(const SubCore& core, const Item& item, Stall& reason) const {
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

    // Shared memory serves `count` wavefronts; gives when the last one is through.
    uint64_t serve_shared(SubCore& core, unsigned count, unsigned data, bool store) {
        const uint64_t port = std::max<uint64_t>(
            {shared.port_least, count * shared.port, store ? data * shared.port_store : 0});
        const uint64_t begin = std::max(now * 100, core.port);
        shared_pipe.forget(now * 100);
        const uint64_t end = shared_pipe.take(begin, count * shared.pipe);
        core.port = std::max(begin + port, end);
        core.shared.put(begin / 100);
        use(Pipe::shared, count * shared.pipe);
        return std::max(begin + (count - 1) * shared.wavefront, end - shared.pipe) / 100;
    }

    // A sub-core's accesses go to the SM in their order: one to global memory stands behind those
    // to shared memory before it.
    uint64_t serve_global(SubCore& core, const Item& item, bool atomic, bool store) {
        const uint64_t begin = std::max({now * 100, lines_pipe, core.global_port, core.port});
        lines_pipe = begin + item.lines * global.line;
        core.global_port = begin + global.port;
        use(Pipe::global, item.lines * global.line);
        uint64_t done = begin / 100 + global.l1 + item.lines - 1;
        uint64_t from = begin;
        if (item.sectors != 0 || atomic) {
            from = std::max(begin, sectors_pipe);
            sectors_pipe =
                from + item.sectors * (store ? std::max(global.sector_store, sector) : sector);
            done = sectors_pipe / 100 + (atomic      ? global.atomic
                                         : item.dram ? global.dram
                                                     : l2_latency);
        }
        if (item.sectors != 0 && !store && !atomic && item.touched == Touched::global)
            done = std::max(done, shared_pipe.take(done * 100, item.sectors * global.fill) / 100);
        core.global.put(from / 100);
        return done;
    }

    void issue(uint32_t core_index, uint32_t index) {
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
        uint64_t done = now + m.latency;
        Stall reason = m.reason;
        const bool memory = m.action == Action::load || m.action == Action::store ||
                            m.action == Action::atomic || m.action == Action::copy;
        if (memory) {
            const bool atomic = op_timing(o.op).atomic;
            if (item.touched == Touched::shared || item.touched == Touched::both) {
                const unsigned count = std::max<unsigned>(item.wavefronts, 1);
                const bool store = m.action == Action::store || m.action == Action::copy;
                const uint64_t served =
                    serve_shared(core, count, m.action == Action::copy ? 1 : m.data, store);
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
            if (o.warpgroup != nullptr) w.products = std::max(w.products, busy / 100 + async.group);
        }
        if (m.action == Action::bulk_load) done = bring(item);
        write(w, item.operation, std::max(done, now + 1), reason);
        if (report.events.size() < options.events && now >= options.from_cycle) note(w, item, done);
        w.last = now;
        w.next = now + hold;
        w.next_reason = m.action == Action::branch ? Stall::branch_resolving : Stall::wait;
        if (m.kind == Kind::fence) {
            w.next = now + std::max<uint64_t>(hold, m.latency);
            w.next_reason = Stall::membar;
        }
        switch (m.action) {
            case Action::copy_commit:
                w.groups.push_back(std::exchange(w.copies, uint64_t{0}));
                break;
            case Action::product_commit:
                w.product_groups.push_back(std::exchange(w.products, uint64_t{0}));
                break;
            case Action::phase_wait: {
                if (!item.arrives) break;
                const uint32_t opening = w.stream->arrivals[w.arrivals++];
                w.waiting = true;
                running[w.cta].openings[opening].waiting.push_back(index);
                release(running[w.cta], opening);
                return;
            }
            case Action::clock:
                if (w.first_clock != never) w.clock_before = w.last_clock;
                w.first_clock = std::min(w.first_clock, now);
                w.last_clock = std::max(w.last_clock, now);
                break;
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
                    s.at = std::max(s.at, done);
                    ++s.arrived;
                    release(running[w.cta], opening);
                }
                break;
        }
        ++w.at;
        look(index);
    }

    // A bulk copy to shared memory: when its bytes are there.
    uint64_t bring(const Item& item) {
        sectors_pipe = std::max(now * 100, sectors_pipe) + item.sectors * sector;
        return sectors_pipe / 100 + (item.dram ? global.dram : l2_latency) + async.copy;
    }

    // The cycles since the warp's last issue, by why they passed.
    void account(WarpState& w, OperationReport& entry) {
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

    void note(const WarpState& w, const Item& item, uint64_t done) {
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

    // Wavefronts of an access without conflicts, where all lanes want different words.
    static unsigned least(const Operation& o, const Item& item) {
        if (op_timing(o.op).data == Data::fragment && o.wmma_fragment == nullptr)
            return std::max<unsigned>(1, o.vector[0].count);
        const unsigned bytes =
            o.mod.types == 0 ? 4 : std::max<unsigned>(o.mod.vec, 1) * isa::bits(o.mod.type[0]) / 8;
        return std::min<unsigned>(item.wavefronts,
                                  op_timing(o.op).fold == Fold::access
                                      ? std::max(1u, 32 / phase_lanes(std::min(bytes, 16u)))
                                      : item.wavefronts);
    }

    // Of two warps that may issue: first one that a pipe had to refuse, and of these the one that
    // has waited longer since it issued; else the one that issued last, then the youngest.
    static bool before(const SubCore& core, const WarpState& a, uint32_t a_index,
                       const WarpState& b, uint32_t b_index) {
        if ((a.refused != 0) != (b.refused != 0)) return a.refused != 0;
        if (a.refused != 0 && a.last != b.last) return a.last < b.last;
        if (a_index == core.greedy || b_index == core.greedy) return a_index == core.greedy;
        return a.number > b.number;
    }

    // One sub-core at one cycle; gives when it may issue next.
    uint64_t step(uint32_t core_index) {
        SubCore& core = cores[core_index];
        uint32_t chosen = UINT32_MAX;
        uint64_t soonest = never;
        const auto try_one = [&](uint32_t i) {
            WarpState& w = warps[i];
            if (w.done || w.waiting) return;
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
        core.wake = never;  // look() brings it down to what it finds
        issue(core_index, chosen);
        return now + 1;
    }

    void run() {
        while (true) {
            uint64_t soonest = never;
            for (const SubCore& c : cores) soonest = std::min(soonest, c.wake);
            if (soonest == never) break;
            now = std::max(now, soonest);
            for (uint32_t c = 0; c < sub_cores; ++c) {
                if (cores[c].wake > now) continue;
                cores[c].wake = never;
                const uint64_t next = step(c);
                cores[c].wake = std::min(cores[c].wake, next);
                if (cores[c].wake <= now) cores[c].wake = now + 1;
            }
        }
    }
};

uint64_t median(std::vector<uint64_t> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

std::string_view text_of(Limit l) { return limit_texts[static_cast<size_t>(l)]; }

Residency residency(const Machine& machine, const isa::Program& program, const warp::Launch& launch,
                    unsigned registers) {
    const uint64_t warps = (launch.block.count() + 31) / 32;
    const uint64_t shared = program.shared_static + launch.dynamic_shared + machine.reserved;
    Residency out;
    out.registers = registers;
    const uint64_t of_cta = warps * 32 * round_up(std::max(registers, 16u), register_unit);
    const std::array<std::pair<Limit, uint64_t>, 4> limits{
        {{Limit::ctas, machine.ctas},
         {Limit::warps, machine.warps / std::max<uint64_t>(warps, 1)},
         {Limit::shared, shared == 0 ? machine.ctas : machine.shared / shared},
         {Limit::registers, registers_of_sm / std::max<uint64_t>(of_cta, 1)}}};
    uint64_t most = (launch.grid.count() + machine.sms - 1) / machine.sms;
    for (const auto& [limit, count] : limits)
        if (count < most) {
            most = count;
            out.limit = limit;
        }
    out.ctas = static_cast<unsigned>(std::max<uint64_t>(most, 1));
    return out;
}

Report simulate(const Lowering& lowering, const warp::Launch& launch, const Listener& listener,
                const Options& options) {
    Report report;
    const Machine& machine = *lowering.machine;
    report.machine = &machine;
    unsigned registers = options.registers;
    if (registers == 0) {
        // What the program asks of the assembler is kept, by spilling if need be.
        const isa::Program& program = *lowering.program;
        registers = std::min(255u, lowering.registers + registers_kept);
        if (program.max_registers != 0) registers = std::min(registers, program.max_registers);
        const uint64_t lanes = (launch.block.count() + 31) / 32 * 32;
        if (program.least_ctas != 0)
            registers = static_cast<unsigned>(std::min<uint64_t>(
                registers,
                registers_of_sm / (program.least_ctas * lanes) / register_unit * register_unit));
    }
    report.residency = residency(machine, *lowering.program, launch, registers);
    report.grid_ctas = launch.grid.count();
    report.sm_ctas = (report.grid_ctas + machine.sms - 1) / machine.sms;
    report.operations.resize(lowering.operations.size());
    report.cut = listener.full();
    Sm sm{.l = lowering,
          .options = options,
          .shared = shared_row(machine.arch),
          .global = global_row(machine.arch),
          .flow = flow_row(machine.arch),
          .async = async_row(machine.arch),
          .report = report};
    for (SubCore& c : sm.cores) c.wake = never;
    constexpr unsigned line_instructions = 8;
    uint32_t instructions = 0;
    for (const Lowered& m : lowering.operations) {
        sm.line_of.push_back(instructions / line_instructions);
        instructions += m.issue;
    }
    sm.fetched.assign(instructions / line_instructions + 1, never);
    const uint64_t busy_sms = std::min<uint64_t>(report.grid_ctas, machine.sms);
    sm.l2_latency = sm.global.l2 + sm.global.l2_loaded * busy_sms / machine.sms;
    sm.sector =
        std::max<Centi>(sm.global.sector, static_cast<Centi>(3200 * busy_sms / sm.global.l2_bytes));
    for (const CtaStreams* cta : listener.ctas())
        if (cta->ended || listener.full()) sm.queue.push_back(cta);
    sm.running.resize(std::max(1u, report.residency.ctas));
    for (uint32_t slot = 0; slot < sm.running.size(); ++slot) sm.start_next(slot, 0);
    sm.run();

    report.simulated = report.ctas.size();
    std::vector<uint64_t> cycles;
    uint64_t last = 0;
    for (const CtaReport& c : report.ctas) {
        cycles.push_back(c.end - c.begin);
        last = std::max(last, c.end);
    }
    report.cta_cycles = median(cycles);
    report.sm_cycles = last;
    // What was not run is taken to go on at the same rate.
    if (report.simulated != 0 && report.simulated < report.sm_ctas)
        report.sm_cycles = last * report.sm_ctas / report.simulated;
    if (sm.last_clock > 0 && sm.first_clock != never)
        report.clock_cycles = sm.last_clock - sm.first_clock;
    if (last != 0) {
        for (size_t p = 0; p < pipes; ++p) {
            const bool of_sm = p >= static_cast<size_t>(Pipe::shared);
            report.use[p] = static_cast<double>(sm.used[p]) / 100 / static_cast<double>(last) /
                            (of_sm ? 1 : sub_cores);
            for (const auto& b : sm.over_time)
                report.use_over_time[p].push_back(static_cast<double>(b[p]) / 100 /
                                                  static_cast<double>(sm.bucket) /
                                                  (of_sm ? 1 : sub_cores));
        }
        report.bucket_cycles = sm.bucket;
        report.tensor_share = report.use[static_cast<size_t>(Pipe::tensor)];
    }
    return report;
}

}  // namespace lockwarp::timing
