// SPDX-License-Identifier: Apache-2.0
#include "validate/lockstep.hpp"

#include <algorithm>
#include <cstring>
#include <future>

#include "emu/isa/resolver.hpp"
#include "emu/lockwarp.hpp"
#include "validate/digest.hpp"
#include "validate/live.hpp"
#include "validate/one_run.hpp"
#include "validate/places.hpp"
#include "validate/racing_store.hpp"

namespace lockwarp::validate {

namespace {

constexpr const char* other_results =
    "the traced kernel gives other results than the plain one: the kernel depends on timing, or on "
    "registers it never wrote";

// Whether two runs gave the same memory. Where the kernel reads what nothing wrote they may differ:
// `outputs` become those of the run whose tracks are compared.
bool same_outputs(Side& side, const Memory& now, Memory& outputs) {
    if (now == outputs) return true;
    if (side.report.counts.unwritten == 0 && side.report.unknown_memory.empty()) return false;
    for (size_t b = 0; b < outputs.size(); ++b)
        for (size_t i = 0; i < outputs[b].size(); ++i)
            side.report.varying_bytes += outputs[b][i] != now[b][i];
    outputs = now;
    return true;
}

// The registers: range of CTAs after range, window of their tracks after window. While the emulator
// runs beside one, the engine makes the next.
bool compare_registers(Side& side, Live& live, const ptx::Module& module, Memory& outputs,
                       Memory& emulated, Answer* keep) {
    const Plan& plan = side.plan;
    const gpu::TracedKernel kernel = gpu::trace_kernel(module, side.report.program, plan.traced);
    const uint64_t all = side.c.grid.count();
    const uint64_t first_watched = std::min(plan.first_cta, all);
    const uint64_t watched = std::min(plan.ctas, all - first_watched);
    if (watched == 0) return side.fail("the grid has no CTA " + std::to_string(plan.first_cta));
    // A window behind the first one has it at both of its ends.
    const uint64_t slack = 2 * kernel.longest;
    const uint64_t wanted = std::max<uint64_t>(track_words(side, emulated) + slack, 64);
    // Two windows are in memory at a time.
    const uint64_t words_in_all = side.options.trace_bytes / 2 / word_bytes / plan.warps;
    const uint64_t slab = plan.clusters.slab();
    const uint64_t ctas =
        std::clamp<uint64_t>(words_in_all / wanted / slab * slab, std::min(slab, watched), watched);
    const uint64_t max_words = words_in_all / ctas;
    if (max_words <= 2 * slack)
        return side.fail_for_memory((2 * slack + 1) * ctas * 2 * word_bytes * plan.warps);
    const uint64_t room = max_words - slack;
    const auto window_at = [&](uint64_t first) {
        gpu::TraceWindow w;
        w.first_cta = first;
        w.ctas = std::min(ctas, first_watched + watched - first);
        w.words = std::min(wanted, room);
        return w;
    };
    // The memory of a window that was compared serves the next but one.
    const auto fetch = [&](gpu::TraceWindow window, std::vector<uint8_t> memory) {
        Fetched f;
        f.tracks.words = std::move(memory);
        f.good = live.trace(kernel, window, plan.warps, f.tracks, f.outputs);
        f.problem = live.problem;
        f.ran = live.ran;
        return f;
    };
    if (!side.emulate(emulated, 0, first_watched, nullptr)) return side.trapped_alone();
    std::future<Fetched> next =
        std::async(std::launch::async, fetch, window_at(first_watched), std::vector<uint8_t>());
    std::vector<uint8_t> spare;
    for (uint64_t first = first_watched; first < first_watched + watched; first += ctas) {
        Fetched now = next.get();
        const bool last = first + ctas >= first_watched + watched;
        if (!last && now.good)
            next = std::async(std::launch::async, fetch, window_at(first + ctas), std::move(spare));
        const Memory before = emulated;
        Supplied supplied;
        gpu::TraceWindow window = window_at(first);
        for (bool more = true; more;) {
            if (!now.good) return side.compare_end_of(now.problem, now.ran);
            emulated = before;
            if (!side.compare_tracks(now.tracks, supplied, emulated, more)) return false;
            if (!same_outputs(side, now.outputs, outputs)) {
                side.report.traced_differs = true;
                return side.fail(other_results);
            }
            if (keep != nullptr && !side.options.drop_tracks)
                keep->tracks.push_back(std::move(now.tracks));
            if (!more) {
                spare = std::move(now.tracks.words);
                break;
            }
            window.first += window.words;
            window.words = std::min(4 * window.words, room);
            // The engine runs one thing at a time: an earlier request ends first.
            if (next.valid()) next.wait();
            now = fetch(window, std::move(now.tracks.words));
        }
    }
    const uint64_t rest = first_watched + watched;
    return side.emulate(emulated, rest, all - rest, nullptr) || side.trapped_alone();
}

// The registers by digests, of all CTAs at once; the first CTA that differs, and where that shows
// only what is masked all of them, word by word.
bool compare_digests(Side& side, Live& live, const ptx::Module& module, Memory& outputs,
                     Memory& emulated) {
    Plan& plan = side.plan;
    const uint64_t all = side.c.grid.count();
    const uint64_t first = std::min(plan.first_cta, all);
    const uint64_t ctas = std::min(plan.ctas, all - first);
    if (ctas == 0) return side.fail("the grid has no CTA " + std::to_string(plan.first_cta));
    const gpu::TracedKernel kernel{gpu::digest_kernel(module, side.report.program, plan.traced), 0};
    gpu::TraceWindow window;
    window.words = 1;
    window.first_cta = first;
    window.ctas = ctas;
    std::future<Fetched> engine = std::async(std::launch::async, [&] {
        Fetched f;
        f.good = live.trace(kernel, window, plan.warps, f.tracks, f.outputs);
        return f;
    });
    Digests digests(plan, first, ctas);
    const bool ran = side.emulate(emulated, 0, first, nullptr) &&
                     side.emulate(emulated, first, ctas, &digests) &&
                     side.emulate(emulated, first + ctas, all - first - ctas, nullptr);
    const Fetched other = engine.get();
    if (!other.good) return side.compare_end_of(live.problem, live.ran);
    if (!ran) return side.trapped_alone();
    const bool same = other.outputs == outputs;
    side.report.by_digest = same;
    const auto* const theirs = reinterpret_cast<const uint64_t*>(other.tracks.words.data());
    const std::vector<uint64_t>& ours = digests.words();
    const size_t at =
        static_cast<size_t>(std::mismatch(ours.begin(), ours.end(), theirs).first - ours.begin());
    if (same && at == ours.size()) {
        for (size_t i = 0; i < side.report.by_operation.size(); ++i) {
            side.report.by_operation[i].values += digests.values()[i];
            side.report.counts.values += digests.values()[i];
        }
        return true;
    }
    side.report.by_digest = false;
    const Counts counts = side.report.counts;
    const std::vector<Counts> by_operation = side.report.by_operation;
    const auto compare_words_of = [&](uint64_t first_cta, uint64_t count) {
        plan.first_cta = first_cta;
        plan.ctas = count;
        side.report.counts = counts;
        side.report.by_operation = by_operation;
        emulated = side.c.bytes;
        return compare_registers(side, live, module, outputs, emulated, nullptr);
    };
    if (at < ours.size()) {
        const uint64_t slab = plan.clusters.slab();
        const uint64_t cta = at / (plan.warps * 32);
        if (!compare_words_of(first + cta / slab * slab, slab)) return false;
        if (side.report.first) return true;
    }
    return compare_words_of(first, ctas);
}

bool by_digests(const Side& side, const Memory& before, const Answer* keep) {
    const Options& o = side.options;
    if (o.registers == Registers::words || side.is_of_one_run() || side.c.cooperative ||
        o.final_only || o.warps != UINT32_MAX || (keep != nullptr && !o.drop_tracks))
        return false;
    if (o.registers == Registers::digests) return true;
    const uint64_t all = side.c.grid.count();
    const uint64_t ctas = std::max<uint64_t>(std::min(o.ctas, all - std::min(o.first_cta, all)), 1);
    return track_words(side, before) * word_bytes * side.plan.warps > o.trace_bytes / ctas;
}

// What is compared of the registers; what depends on place is left out, and counted.
gpu::Traced traced_of(Report& report, const ptx::Module& module, const Options& options,
                      gpu::Orders& orders) {
    gpu::Traced traced(report.program.operations.size(), false);
    const std::vector<bool> depends = depends_on_place(report.program, module);
    for (size_t i = 0; i < orders.size(); ++i)
        if (depends[i] && orders[i] == gpu::Ordered::weak) orders[i] = gpu::Ordered::none;
    if (options.final_only) return traced;
    traced = gpu::choose_traced(report.program, options.only, module);
    const auto chosen = [&](uint32_t line) {
        return options.lines.empty() || std::ranges::any_of(options.lines, [&](const auto& range) {
                   return range.first <= line && line <= range.second;
               });
    };
    for (size_t i = 0; i < traced.size(); ++i)
        traced[i] = traced[i] && chosen(report.program.operations[i].place.line);
    for (size_t i = 0; i < traced.size(); ++i)
        if (traced[i] && depends[i]) {
            traced[i] = false;
            ++report.counts.places;
            ++report.by_operation[i].places;
        }
    return traced;
}

// Resolves the program, with its roundings written out. false: the report says why.
bool resolve(const ptx::Module& module, isa::Arch arch, const launch::Case& c, Report& report) {
    isa::Resolved resolved = isa::resolve(module, arch, c.entry);
    report.diagnostics = std::move(resolved.diagnostics);
    report.program = std::move(resolved.program);
    for (const ptx::Instruction* i : gpu::instructions_of(c.module, report.program))
        report.spellings.push_back(i == nullptr ? "exit" : isa::spelled(*i));
    report.sources = ptx::source_map(c.module);
    report.by_operation.resize(report.program.operations.size());
    for (const isa::Operation& o : report.program.operations)
        if (isa::row(o.op).of_objects)
            report.problem = "line " + std::to_string(o.place.line) + ": " +
                             std::string(isa::row(o.op).name) +
                             ": a GPU's textures and surfaces are its driver's";
    return report.diagnostics.empty() && report.problem.empty();
}

void check_that_something_was_compared(Report& report) {
    if (report.problem.empty() && report.counts.values + report.counts.memory_bytes == 0 &&
        !report.first && !report.same_fault)
        report.problem = "nothing was compared";
}

// What of an answer is not that of the case or its program, whatever is in it; empty: nothing.
std::string other_program(const launch::Case& c, const Report& report, const Answer& answer) {
    if (answer.addresses.size() != c.bytes.size()) return "its buffers' addresses are not complete";
    if (!answer.outputs.empty()) {
        if (answer.outputs.size() != c.bytes.size()) return "its buffers are not complete";
        for (size_t i = 0; i < c.bytes.size(); ++i)
            if (answer.outputs[i].size() != c.bytes[i].size()) return "a buffer has another size";
    }
    if (!answer.tracks.empty() && answer.traced.size() != report.program.operations.size())
        return "its tracks are of another program";
    // Behind the first of a block stands the rest of it.
    if (!answer.orders.empty() && (answer.orders.size() != answer.traced.size() ||
                                   answer.orders.back() == gpu::Ordered::block))
        return "its order is of another program";
    return {};
}

// What of an answer's tracks does not belong to the case; empty: nothing.
std::string mismatch(const launch::Case& c, const Report& report, const Plan& plan,
                     const Answer& answer) {
    if (answer.tracks.empty()) return {};
    uint64_t longest = 0;
    for (size_t i = 0; i < answer.traced.size(); ++i)
        if (answer.traced[i])
            longest = std::max(longest, gpu::record_words(report.program, answer.orders,
                                                          static_cast<uint32_t>(i)));
    for (const Tracks& t : answer.tracks) {
        const gpu::TraceWindow& w = t.window;
        constexpr uint64_t limit = uint64_t{1} << 40;  // none of the products below overflows
        if (w.ctas == 0 || w.ctas > c.grid.count() || w.first_cta > c.grid.count() - w.ctas ||
            t.slack < longest || t.slack > limit || w.words > limit || w.first > limit ||
            (w.words + t.slack) > limit / plan.warps / w.ctas ||
            t.words.size() != gpu::trace_bytes(w, t.slack, plan.warps))
            return "a window of its tracks is not right";
    }
    return {};
}

}  // namespace

namespace {

// Tensor maps have the bytes that our encoder gives them. What is wrong if the engine's driver
// gives them others; empty: nothing.
std::string check_maps(const launch::Case& c, const std::vector<uint64_t>& addresses,
                       gpu::Engine& engine) {
    for (const launch::CaseMap& m : c.maps) {
        isa::TensorMap map = m.map;
        map.address = addresses[m.buffer] + m.offset;
        const launch::Result<std::vector<uint8_t>> driver = engine.encode(map);
        const std::string name = engine.device().name + ": tensor map '" + m.name + "'";
        if (!driver) return name + ": " + driver.error().sentence;
        if (!driver->empty() && !std::ranges::equal(*driver, isa::encode(map)))
            return name + ": its driver encodes it otherwise than the emulator";
    }
    return {};
}

}  // namespace

Report run_lockstep(const launch::Case& given, isa::Arch arch, gpu::Engine& engine,
                    const Options& options, Answer* keep) {
    Report report;
    const ptx::Module module = gpu::with_explicit_rounding(given.module);
    if (!resolve(module, arch, given, report)) return report;
    EngineMemory memory(engine);
    launch::Result<std::vector<uint64_t>> placed = place(given, memory);
    if (!placed) {
        report.problem = placed.error().sentence;
        return report;
    }
    if (std::string wrong = check_maps(given, *placed, engine); !wrong.empty()) {
        report.problem = std::move(wrong);
        return report;
    }
    // Buffers that hold addresses hold them from the start, on both sides.
    launch::Case with_addresses;
    if (!given.buffer_patches.empty()) {
        with_addresses = given;
        launch::patch_buffers(given.buffer_patches, *placed, with_addresses.bytes);
    }
    const launch::Case& c = given.buffer_patches.empty() ? given : with_addresses;
    Side side{c, options, report, engine.device().name, std::move(*placed), {}};
    gpu::Orders orders = gpu::choose_ordered(report.program, module);
    gpu::Traced traced = traced_of(report, module, options, orders);
    side.make_plan(std::move(traced), std::move(orders));
    Live live{c,
              engine,
              side.addresses,
              patched(c, side.addresses),
              options.optimization,
              report.program.functions.size() > 1 ? call_stack_bytes : 0,
              !report.program.global_image.empty(),
              {},
              {},
              0};
    Memory outputs;
    const Clock::time_point begin = Clock::now();
    const bool ran = live.run(ptx::print(module), live.parameters, outputs);
    if (keep != nullptr) {
        *keep = Answer{};
        keep->device = engine.device();
        keep->addresses = side.addresses;
        keep->ran = live.ran;
        keep->optimization = options.optimization;
    }
    if (!ran) {
        if (!live.problem.empty())
            side.fail(live.problem);
        else if (live.ran.outcome == gpu::Outcome::refused ||
                 live.ran.outcome == gpu::Outcome::uncompiled)
            side.fail(engine.device().name + ": " + live.ran.what);
        else
            side.compare_fault(live.ran);
        return report;
    }
    report.seconds.start = since(begin);
    if (options.measure) {
        Memory scratch = c.bytes;
        warp::Launch l = side.launch(scratch, 0, 0);
        const Clock::time_point alone = Clock::now();
        exec::launch(report.program, l);
        report.seconds.alone = since(alone);
    }
    const Clock::time_point beside = Clock::now();
    Memory emulated = c.bytes;
    const bool one_run = side.is_of_one_run() || c.cooperative;
    const bool registers = !options.final_only || one_run;
    if (registers && std::ranges::find(side.plan.compared, true) == side.plan.compared.end() &&
        !options.final_only) {
        side.fail("no instruction of the kernel is to be compared");
        report.nothing = true;
        return report;
    }
    const bool digest = registers && by_digests(side, emulated, keep);
    const bool good =
        digest       ? compare_digests(side, live, module, outputs, emulated)
        : !registers ? side.emulate(emulated, 0, c.grid.count(), nullptr) || side.trapped_alone()
        : one_run    ? compare_one_run(side, live, module, outputs, emulated, keep)
                     : compare_registers(side, live, module, outputs, emulated, keep);
    if (keep != nullptr) {
        keep->outputs = outputs;
        if (registers) keep->traced = side.plan.traced;
        if (registers) keep->orders = side.plan.orders;
    }
    report.ordered = !side.plan.orders.empty();
    if (good) side.compare_memory(emulated, outputs);
    if (report.first) judge(side, live, module, outputs);
    if (report.first)
        report.first->racing =
            racing_store(report.program, *report.first, [&](warp::Observer& observer) {
                Memory scratch = c.bytes;
                warp::Launch l = side.launch(scratch, 0, c.grid.count());
                l.observers = {&observer};
                exec::launch(report.program, l);
            });
    report.seconds.traced = since(beside);
    report.seconds.compile = live.compile;
    check_that_something_was_compared(report);
    return report;
}

Report replay(const launch::Case& c, isa::Arch arch, const Answer& answer, const Options& how) {
    Options options = how;
    options.optimization = answer.optimization;
    Report report;
    const ptx::Module module = gpu::with_explicit_rounding(c.module);
    if (!resolve(module, arch, c, report)) return report;
    Side side{c, options, report, answer.device.name, answer.addresses, {}};
    std::string why = other_program(c, report, answer);
    if (why.empty()) {
        if (answer.tracks.empty())
            side.make_plan(gpu::Traced(report.program.operations.size(), false), {});
        else
            side.make_plan(answer.traced, answer.orders);
        why = mismatch(c, report, side.plan, answer);
    }
    if (!why.empty()) {
        side.fail("the recording does not belong to its program: " + why);
        return report;
    }
    if (answer.ran.outcome == gpu::Outcome::faulted || answer.ran.outcome == gpu::Outcome::hung) {
        side.compare_fault(answer.ran);
        return report;
    }
    Memory emulated = c.bytes;
    // Without outputs only the CTAs that have tracks are run.
    const bool whole = !answer.outputs.empty();
    uint64_t done = 0;
    bool good = true;
    for (size_t i = 0; i < answer.tracks.size() && good;) {
        const uint64_t first = answer.tracks[i].window.first_cta;
        const uint64_t ctas = answer.tracks[i].window.ctas;
        if (whole && first > done)
            good = side.emulate(emulated, done, first - done, nullptr) || side.trapped_alone();
        const Memory before = emulated;
        Supplied supplied;
        for (; i < answer.tracks.size() && good && answer.tracks[i].window.first_cta == first &&
               answer.tracks[i].window.ctas == ctas;
             ++i) {
            bool more = false;
            emulated = before;
            good = side.compare_tracks(answer.tracks[i], supplied, emulated, more);
        }
        done = first + ctas;
    }
    if (good && whole) {
        good = side.emulate(emulated, done, c.grid.count() - done, nullptr) || side.trapped_alone();
        if (good) side.compare_memory(emulated, answer.outputs);
    }
    check_that_something_was_compared(report);
    return report;
}

}  // namespace lockwarp::validate
