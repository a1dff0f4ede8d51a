// SPDX-License-Identifier: Apache-2.0
#include "validate/side.hpp"

#include <algorithm>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "validate/faults.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::validate {

namespace {

// Steps of a warp after which the emulator is as endless as a kernel that the engine stopped.
constexpr uint64_t hung_steps = uint64_t{1} << 26;

// Of a launch of one CTA: keeps the registers of one warp as they are before one of its steps, and
// ends the run then.
struct Capture : warp::Observer {
    explicit Capture(const Difference& d) : at(d) {}
    struct OfCta : warp::CtaObserver {
        explicit OfCta(Capture& c) : capture(c) {}
        void retired(const warp::Retired& e) override {
            if (e.warp != capture.at.warp || e.step + 1 != capture.at.step) return;
            capture.registers.assign(e.registers, e.registers + e.program->register_bytes);
            capture.stop = true;
        }
        Capture& capture;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return cta.index == at.cta_index ? std::make_unique<OfCta>(*this) : nullptr;
    }

    const Difference& at;
    std::vector<uint8_t> registers;
    std::atomic<bool> stop{false};
};

// Of one CTA: the longest track.
struct TrackLength : warp::Observer {
    explicit TrackLength(const Plan& p) : plan(p), lanes(p.warps * 32) {}
    struct OfCta : warp::CtaObserver {
        explicit OfCta(TrackLength& l) : length(l) {}
        void retired(const warp::Retired& e) override {
            if (!length.plan.traced[e.operation]) return;
            const uint64_t words = length.plan.words(e.operation);
            for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1)
                length.lanes[e.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest))] += words;
        }
        TrackLength& length;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return place.index == cta ? std::make_unique<OfCta>(*this) : nullptr;
    }
    uint64_t words() const { return *std::ranges::max_element(lanes); }

    const Plan& plan;
    uint64_t cta = 0;
    std::vector<uint64_t> lanes;
};

}  // namespace

std::vector<uint8_t> patched(const launch::Case& c, const std::vector<uint64_t>& addresses) {
    std::vector<uint8_t> out = c.parameters;
    for (const launch::Patch& p : c.patches) {
        const uint64_t value = addresses[p.buffer] + p.offset;
        std::memcpy(out.data() + p.at, &value, sizeof value);
    }
    return out;
}

bool Side::fail_for_memory(uint64_t bytes) const {
    const auto megabytes = [](uint64_t n) { return grouped((n + (1u << 20) - 1) >> 20) + " MB"; };
    return fail("too little memory for tracks: they take " + megabytes(bytes) +
                " at least, and may take " + megabytes(options.trace_bytes) + " (--trace-mb)");
}

bool Side::fail(std::string why) const {
    if (report.problem.empty()) report.problem = std::move(why);
    return false;
}

warp::Launch Side::launch(Memory& bytes, uint64_t first_cta, uint64_t ctas) const {
    warp::Launch l;
    l.grid = c.grid;
    l.block = c.block;
    l.dynamic_shared = c.dynamic_shared;
    l.cluster = c.cluster;
    l.non_portable_cluster = c.non_portable_cluster;
    l.cooperative = c.cooperative;
    l.functions = c.functions;
    l.parameters = patched(c, addresses);
    for (size_t i = 0; i < bytes.size(); ++i)
        l.buffers.push_back({c.names[i], addresses[i], bytes[i]});
    l.max_steps = options.max_steps;
    l.threads = options.threads;
    l.fold_constants = options.optimization != 0;
    l.stop = options.stop;
    l.first_cta = first_cta;
    l.ctas = ctas;
    return l;
}

// Steps of a warp after which a run that follows an order has no end: it is lost on a way that the
// engine's did not take. Tracks are of one window then, with a word or more for each register.
uint64_t Side::ordered_steps(const Comparator& comparator) const {
    constexpr uint64_t steps_of_word = 64;  // its lanes may have parted
    const bool all = options.only.empty() && options.lines.empty() && !plan.is_share;
    return all ? steps_of_word * comparator.window_words() : hung_steps;
}

bool Side::emulate(Memory& bytes, uint64_t first_cta, uint64_t ctas, warp::Observer* observer,
                   Comparator* comparator) const {
    if (ctas == 0) return true;
    warp::Launch l = launch(bytes, first_cta, ctas);
    l.oracle = comparator;
    if (comparator != nullptr && !plan.orders.empty())
        l.max_steps = std::min(l.max_steps, ordered_steps(*comparator));
    if (comparator != nullptr) place_heap(l, *comparator);
    if (observer != nullptr) l.observers = {observer};
    const warp::Result r = exec::launch(report.program, l);
    if (r.refusal) return fail(r.refusal->what);
    report.folded = r.folded;
    report.statistics.instructions += r.statistics.instructions;
    report.statistics.lane_operations += r.statistics.lane_operations;
    report.statistics.products += r.statistics.products;
    report.statistics.ctas += r.statistics.ctas;
    if (!r.trap) return true;
    report.trap = r.trap;
    return false;
}

void Side::place_heap(warp::Launch& l, const Comparator& comparator) const {
    const auto blocks = comparator.blocks();
    if (!blocks) return;
    constexpr uint64_t granule = 256;
    l.heap_address = blocks->first / granule * granule;
    // The last block may be as long as the heap.
    uint64_t end = blocks->second + l.heap_bytes;
    for (const warp::Buffer& b : l.buffers)
        if (b.address > l.heap_address) end = std::min(end, b.address);
    l.heap_bytes = end - l.heap_address;
}

void Side::fault_difference(std::string what) const {
    Difference d;
    d.kind = DifferenceKind::fault;
    d.what = std::move(what);
    if (report.trap) {
        d.operation = report.trap->operation;
        d.cta = report.trap->cta;
        d.cta_index = report.trap->cta_index;
        d.warp = report.trap->warp;
        d.step = report.trap->step;
        d.lane = report.trap->lane;
    }
    report.first = d;
}

bool Side::trapped_alone() const {
    if (report.trap && !report.first)
        fault_difference(
            "the emulator trapped: " + std::string(warp::trap_name(report.trap->kind)) + ", " +
            report.trap->detail + "; " + engine + " ran on");
    return false;
}

void Side::compare_fault(const gpu::Ran& ran) const {
    report.fault = ran.what;
    Memory bytes = c.bytes;
    warp::Launch l = launch(bytes, 0, 0);
    if (ran.outcome == gpu::Outcome::hung) l.max_steps = std::min(l.max_steps, hung_steps);
    const warp::Result r = exec::launch(report.program, l);
    if (r.refusal) {
        fail(r.refusal->what);
        return;
    }
    report.trap = r.trap;
    report.statistics = r.statistics;
    if (!r.trap)
        return fault_difference(engine + ": " + ran.what + "; the emulator ran to its end");
    if (same_fault(ran, *r.trap, report.program)) {
        report.same_fault = true;
        report.counts.faults = 1;
        return;
    }

    fault_difference(engine + ": " + ran.what + "; the emulator: " +
                     std::string(warp::trap_name(r.trap->kind)) + ", " + r.trap->detail);
}

// With its loads observed a kernel may fault that does not by itself: unused ones are left out by
// the compiler.
bool Side::compare_end_of(const std::string& problem, const gpu::Ran& ran) const {
    if (!problem.empty()) return fail(problem);
    compare_fault(ran);
    return false;
}

void Side::compare_memory(Memory& emulated, const Memory& outputs) const {
    for (const auto& [address, bytes] : report.unknown_memory)
        for (size_t b = 0; b < outputs.size(); ++b) {
            const uint64_t at = address - addresses[b];  // of what is before it, a large one
            if (at >= outputs[b].size()) continue;
            std::copy_n(outputs[b].begin() + static_cast<std::ptrdiff_t>(at),
                        std::min(bytes, outputs[b].size() - at),
                        emulated[b].begin() + static_cast<std::ptrdiff_t>(at));
        }
    for (size_t b = 0; b < outputs.size(); ++b) {
        report.counts.memory_bytes += outputs[b].size();
        if (emulated[b] == outputs[b]) continue;
        for (size_t i = 0; i < outputs[b].size(); ++i) {
            if (emulated[b][i] == outputs[b][i]) continue;
            ++report.counts.memory_different;
            if (report.first) continue;
            Difference d;
            d.kind = DifferenceKind::memory;
            d.buffer = c.names[b];
            d.offset = i;
            d.emulated = emulated[b][i];
            d.other = outputs[b][i];
            report.first = d;
        }
    }
}

void Side::explain(const Tracks& tracks, Supplied supplied, Memory bytes) const {
    Difference& d = *report.first;
    const bool all = !plan.orders.empty() || plan.clusters.size() > 1;
    const uint64_t track = plan.warps * (tracks.window.words + tracks.slack) * word_bytes;
    const auto begin = tracks.words.begin() +
                       static_cast<std::ptrdiff_t>((d.cta_index - tracks.window.first_cta) * track);
    report.window = tracks.window;
    if (all) {
        report.tracks = tracks;
    } else {
        report.tracks = Tracks{tracks.window, tracks.slack, {}};
        report.tracks->words.assign(begin, begin + static_cast<std::ptrdiff_t>(track));
        report.tracks->window.first_cta = d.cta_index;
        report.tracks->window.ctas = 1;
    }
    if (d.kind != DifferenceKind::value) return;
    const Memory first = bytes;
    Comparator comparator(plan, tracks, supplied, before(first));
    Capture capture(d);
    warp::Launch l = all ? launch(bytes, tracks.window.first_cta, tracks.window.ctas)
                         : launch(bytes, d.cta_index, 1);
    l.oracle = &comparator;
    place_heap(l, comparator);
    l.stop = &capture.stop;
    l.threads = 1;
    l.observers = {&comparator, &capture};
    exec::launch(report.program, l);
    // Before a warp's first instruction its registers are zeros.
    capture.registers.resize(report.program.register_bytes);
    const isa::Operation& o = report.program.operations[d.operation];
    for (uint32_t i = 0; i < o.read; ++i) {
        const isa::Register& r =
            report.program.registers[report.program.uses[o.first_use + o.written + i]];
        Difference::Input& input = d.inputs.emplace_back();
        input.name = r.name;
        input.type = r.type;
        for (uint32_t lane = 0; lane < 32; ++lane)
            input.lanes[lane] = register_bits(r, capture.registers.data(), lane);
    }
}

Order::Before Side::before(const Memory& bytes) const {
    return [this, &bytes](uint64_t address, uint32_t count) -> const uint8_t* {
        const auto within = [&](uint64_t begin, const std::vector<uint8_t>& all) {
            return address >= begin && address - begin < all.size() &&
                   all.size() - (address - begin) >= count;
        };
        for (size_t i = 0; i < bytes.size(); ++i)
            if (within(addresses[i], bytes[i])) return bytes[i].data() + (address - addresses[i]);
        const std::vector<uint8_t>& variables = report.program.global_image;
        return within(isa::module_global_base, variables)
                   ? variables.data() + (address - isa::module_global_base)
                   : nullptr;
    };
}

bool Side::compare_tracks(const Tracks& tracks, Supplied& supplied, Memory& bytes,
                          bool& more) const {
    const Memory first = bytes;
    Comparator comparator(plan, tracks, supplied, before(first));
    const bool ran =
        emulate(bytes, tracks.window.first_cta, tracks.window.ctas, &comparator, &comparator);
    if (comparator.finish(report, !ran)) explain(tracks, supplied, first);
    report.unknown_memory.insert(report.unknown_memory.end(), comparator.unknown_global().begin(),
                                 comparator.unknown_global().end());
    ++report.windows;
    more = comparator.unfinished();
    return ran || trapped_alone();
}

void Side::make_plan(gpu::Traced traced, gpu::Orders orders) {
    plan.program = &report.program;
    plan.traced = std::move(traced);
    plan.orders = std::move(orders);
    plan.compared = plan.traced;
    plan.taken.assign(plan.traced.size(), false);
    const std::vector<std::string_view> why = taken_because(report.program);
    for (size_t i = 0; i < why.size(); ++i) switch (plan.ordered(static_cast<uint32_t>(i))) {
            case gpu::Ordered::load:
            case gpu::Ordered::weak:
            case gpu::Ordered::change:
                plan.traced[i] = true;
                break;
            case gpu::Ordered::block:
                plan.traced[i + 1] = true;
                [[fallthrough]];
            case gpu::Ordered::none:
            case gpu::Ordered::store:
            case gpu::Ordered::result:
                if (why[i].empty() || report.program.operations[i].written == 0) break;
                plan.traced[i] = plan.taken[i] = true;
                plan.compared[i] = false;
        }
    if (warp::cluster_refusal(report.program, c.grid, c.cluster, c.non_portable_cluster).empty())
        plan.clusters = warp::clusters_of(report.program, c.grid, c.cluster);
    plan.unwritten = may_be_unwritten(report.program, c.dynamic_shared);
    plan.warps = (c.block.count() + 31) / 32;
    plan.watched_warps = options.warps;
    // Whole clusters.
    const uint64_t slab = plan.clusters.slab();
    plan.first_cta = options.first_cta / slab * slab;
    plan.ctas = std::min(options.ctas, c.grid.count()) + options.first_cta % slab;
    plan.ctas = (plan.ctas + slab - 1) / slab * slab;
}

uint64_t track_words(const Side& side, const Memory& before) {
    TrackLength length(side.plan);
    Memory scratch = before;
    const uint64_t all = side.c.grid.count();
    const uint64_t slab = side.plan.clusters.slab();
    const uint64_t first = std::min(side.plan.first_cta, all - 1) / slab * slab;
    length.cta = first;
    warp::Launch l = side.launch(scratch, first, slab);
    l.threads = 1;
    l.max_steps = std::min(l.max_steps, uint64_t{1} << 20);
    l.observers = {&length};
    exec::launch(side.report.program, l);
    return length.words();
}

}  // namespace lockwarp::validate
