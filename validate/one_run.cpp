// SPDX-License-Identifier: Apache-2.0
#include "validate/one_run.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "validate/treatment.hpp"

namespace lockwarp::validate {

namespace {

// Further runs of the engine that a difference is held against.
constexpr int more_runs = 3;

std::string hex(uint64_t value) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
    return text.data();
}

void count_varying(Report& report, const Memory& a, const Memory& b) {
    report.varying_bytes = 0;
    for (size_t i = 0; i < a.size(); ++i)
        for (size_t at = 0; at < a[i].size(); ++at) report.varying_bytes += a[i][at] != b[i][at];
}

// Whether the instruction's results can be other ones in another run though it read the same:
// arithmetic whose inputs were all compared cannot.
bool may_vary(const Side& side, const Difference& d) {
    if (d.kind == DifferenceKind::fault) return false;
    if (d.kind == DifferenceKind::order) return !d.certain;
    if (d.kind != DifferenceKind::value) return true;
    const Options& o = side.options;
    return !o.only.empty() || !o.lines.empty() ||
           isa::row(side.report.program.operations[d.operation].op).memory != isa::Memory::none;
}

// Whether the emulator came to no end by the order that it was given.
bool has_no_end(const Side& side, const warp::Trap& trap) {
    return trap.kind == warp::TrapKind::deadlock ||
           (trap.kind == warp::TrapKind::step_limit && trap.step < side.options.max_steps);
}

// The word of a track that the difference is about.
uint64_t word_of(const Plan& plan, const Tracks& tracks, const Difference& d, uint64_t word) {
    const uint64_t track = (d.cta_index - tracks.window.first_cta) * plan.warps + d.warp;
    const uint64_t at = track * (tracks.window.words + tracks.slack) + word - tracks.window.first;
    return reinterpret_cast<const uint64_t*>(tracks.words.data())[at * 32 + d.lane];
}

// What the engine has at the difference in one of its runs; two words that differ: it varies.
struct Found {
    uint64_t number = 0, value = 0;
    bool operator==(const Found&) const = default;
};

Found found(const Plan& plan, const Tracks& tracks, const Memory& outputs, const Difference& d,
            size_t buffer) {
    if (d.kind == DifferenceKind::memory) return {0, outputs[buffer][d.offset]};
    if (d.word - tracks.window.first >= tracks.window.words) return {};
    Found f{word_of(plan, tracks, d, d.word), 0};
    if (f.number == 0 || f.number > plan.program->operations.size()) return f;
    const auto operation = static_cast<uint32_t>(f.number - 1);
    const isa::Operation& o = plan.program->operations[operation];
    const bool old = d.kind == DifferenceKind::order && o.written == 0;
    const uint64_t behind = old ? 1 + gpu::change_words : uint64_t{1} + d.reg;
    if (behind < plan.words(operation)) f.value = word_of(plan, tracks, d, d.word + behind);
    return f;
}

std::string place(const Report& report, const Difference& d) {
    if (d.kind == DifferenceKind::memory)
        return "memory at the end, buffer " + d.buffer + " byte " + std::to_string(d.offset);
    return "line " + std::to_string(report.program.operations[d.operation].place.line) + ", " +
           report.spellings[d.operation] + ", CTA " + std::to_string(d.cta_index) + ", warp " +
           std::to_string(d.warp) + ", lane " + std::to_string(d.lane);
}

}  // namespace

namespace {

constexpr uint32_t max_parts = 64;

// Whether the emulator needs its records to follow the run: what it cannot know by itself.
bool is_needed(const Plan& plan, uint32_t operation) {
    return plan.taken[operation] || plan.ordered(operation) != gpu::Ordered::none ||
           plan.unwritten.reads[operation] || may_be_undefined(plan.program->operations[operation]);
}

// With one of so many shares of the other operations.
Plan part_of(const Plan& whole, uint32_t part, uint32_t parts) {
    Plan out = whole;
    out.is_share = parts > 1;
    for (uint32_t i = 0; i < out.traced.size(); ++i)
        if (i % parts != part && !is_needed(whole, i)) out.traced[i] = false;
    return out;
}

struct Counted {
    std::vector<Counts> by_operation;
    uint64_t records = 0, windows = 0;

    explicit Counted(const Report& r)
        : by_operation(r.by_operation), records(r.records), windows(r.windows) {}
    void restore(Report& r) const {
        r.by_operation = by_operation;
        r.records = records;
        r.windows = windows;
        sum(r);
        r.first.reset();
        r.tracks.reset();
        r.trap.reset();
        r.unknown_memory.clear();
    }
    // What every part has counts once.
    void restore_needed(const Plan& plan, Report& r) const {
        for (uint32_t i = 0; i < by_operation.size(); ++i)
            if (is_needed(plan, i)) r.by_operation[i] = by_operation[i];
        sum(r);
    }
    static void sum(Report& r) {
        r.counts = {};
        for (const Counts& c : r.by_operation) r.counts += c;
    }
};

enum class Part : uint8_t { compared, failed, too_long };

// One run of the side's plan, whose tracks have at most `max_words` words.
Part compare_part(Side& side, Live& live, const ptx::Module& module, uint64_t max_words,
                  Memory& outputs, Memory& emulated, Answer* keep) {
    const Plan& plan = side.plan;
    Report& report = side.report;
    const gpu::TracedKernel kernel =
        gpu::trace_kernel(module, report.program, plan.traced, plan.orders);
    if (max_words <= 2 * kernel.longest) {
        side.fail_for_memory((2 * kernel.longest + 1) * word_bytes * plan.warps *
                             side.c.grid.count());
        return Part::failed;
    }
    const uint64_t room = max_words - kernel.longest;
    gpu::TraceWindow window;
    window.ctas = side.c.grid.count();
    // How often a lane polls is not known before.
    const uint64_t wanted = track_words(side, side.c.bytes) + kernel.longest;
    window.words = std::min(std::max<uint64_t>(4 * wanted, 1u << 12), room);
    const Counted before(report);
    for (;;) {
        Tracks tracks;
        Memory traced_outputs;
        if (!live.trace(kernel, window, plan.warps, tracks, traced_outputs)) {
            side.compare_end_of(live.problem, live.ran);
            return Part::failed;
        }
        count_varying(report, outputs, traced_outputs);
        emulated = side.c.bytes;
        Supplied supplied;
        bool more = false;
        const bool ran = side.compare_tracks(tracks, supplied, emulated, more);
        if (more) {
            // What follows behind the end of a track says nothing.
            before.restore(report);
            if (window.words == room) return Part::too_long;
            // Another run, which need not be like this one, with longer tracks.
            window.words = std::min(4 * window.words, room);
            continue;
        }
        if (!ran && report.first && report.first->kind == DifferenceKind::fault &&
            !plan.orders.empty() && has_no_end(side, *report.trap)) {
            report.first.reset();
            side.fail(
                "not comparable: no order that was tried brings the emulator to the end of the "
                "run on " +
                side.engine + ": CTA " + std::to_string(report.trap->cta_index) + ", line " +
                std::to_string(report.trap->place.line) + ": " + report.trap->detail);
            return Part::failed;
        }
        outputs = std::move(traced_outputs);
        if (keep != nullptr && !side.options.drop_tracks) keep->tracks.push_back(std::move(tracks));
        return ran ? Part::compared : Part::failed;
    }
}

}  // namespace

bool compare_one_run(Side& side, Live& live, const ptx::Module& module, Memory& outputs,
                     Memory& emulated, Answer* keep) {
    const Plan whole = side.plan;
    const uint64_t max_words =
        side.options.trace_bytes / word_bytes / whole.warps / side.c.grid.count();
    const Counted counted(side.report);
    const bool recorded = keep != nullptr && !side.options.drop_tracks;
    for (uint32_t parts = 1; parts <= (recorded ? 1 : max_parts); parts *= 2) {
        for (uint32_t part = 0;; ++part) {
            if (part == parts) {
                side.plan = whole;
                return true;
            }
            const Counted before(side.report);
            side.plan = part_of(whole, part, parts);
            const Part compared =
                compare_part(side, live, module, max_words, outputs, emulated, keep);
            if (compared == Part::failed) return false;
            if (compared == Part::too_long) break;
            if (part != 0) before.restore_needed(whole, side.report);
            // The plan stays that of the tracks in which it was found.
            if (side.report.first) return true;
        }
        counted.restore(side.report);
    }
    side.plan = whole;
    return side.fail(
        "the tracks do not fit: what depends on an order, or is taken from " + side.engine +
        ", must be of one run; give more memory for tracks, or compare after fewer instructions");
}

void judge(Side& side, Live& live, const ptx::Module& module, const Memory& outputs) {
    Report& report = side.report;
    const Difference d = *report.first;
    if (!may_vary(side, d)) return;
    const bool memory = d.kind == DifferenceKind::memory;
    if (!memory && !report.tracks) return;
    const auto buffer =
        static_cast<size_t>(std::ranges::find(side.c.names, d.buffer) - side.c.names.begin());
    const gpu::TracedKernel kernel =
        gpu::trace_kernel(module, report.program, side.plan.traced, side.plan.orders);
    gpu::TraceWindow window;
    window.ctas = 1;
    window.words = 1;
    if (!memory) window = report.window;
    const Found first = found(side.plan, memory ? Tracks{} : *report.tracks, outputs, d, buffer);
    for (int run = 0; run < more_runs; ++run) {
        Tracks tracks;
        Memory again;
        if (!live.trace(kernel, window, side.plan.warps, tracks, again)) return;
        const Found now = found(side.plan, tracks, again, d, buffer);
        if (now == first) continue;
        side.fail("not comparable: " + place(report, d) + ": " + side.engine + " has " +
                  (now.number == first.number
                       ? hex(first.value) + " in one run and " + hex(now.value) + " in another"
                       : "another way in each run") +
                  ", and no order of its threads that was tried gives the first");
        report.first.reset();
        return;
    }
}

}  // namespace lockwarp::validate
