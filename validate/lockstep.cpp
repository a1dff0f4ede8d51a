#include "validate/lockstep.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>

#include "emu/isa/resolver.hpp"
#include "emu/lockwarp.hpp"
#include "validate/comparator.hpp"
#include "validate/digest.hpp"
#include "validate/faults.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint64_t word_bytes = 8 * 32;  // of one word of all lanes of a warp

// Steps of a warp after which the emulator is as endless as a kernel that the engine stopped.
constexpr uint64_t hung_steps = uint64_t{1} << 26;

constexpr const char* other_results =
    "the traced kernel gives other results than the plain one: the kernel depends on timing, or on "
    "registers it never wrote";

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

using Memory = std::vector<std::vector<uint8_t>>;

// Memory of the engine that is given back at the end.
struct EngineMemory {
    gpu::Engine& engine;
    std::vector<uint64_t> addresses;

    explicit EngineMemory(gpu::Engine& e) : engine(e) {}
    EngineMemory(const EngineMemory&) = delete;
    EngineMemory& operator=(const EngineMemory&) = delete;
    ~EngineMemory() {
        for (const uint64_t a : addresses) engine.release(a);
    }
    uint64_t allocate(uint64_t bytes) {
        const uint64_t address = engine.allocate(bytes);
        if (address != 0) addresses.push_back(address);
        return address;
    }
};

std::vector<uint8_t> patched(const Case& c, const std::vector<uint64_t>& addresses) {
    std::vector<uint8_t> out = c.parameters;
    for (const Patch& p : c.patches) {
        const uint64_t value = addresses[p.buffer] + p.offset;
        std::memcpy(out.data() + p.at, &value, sizeof value);
    }
    return out;
}

// Keeps the registers of one warp as they are before one of its steps, and ends the run then.
class Capture : public warp::Observer {
  public:
    Capture(Comparator& beside, const Difference& at) : beside_(beside), at_(at) {}
    void retired(const warp::Retired& e) override {
        beside_.retired(e);
        if (e.warp != at_.warp || e.step + 1 != at_.step) return;
        registers.assign(e.registers, e.registers + e.program->register_bytes);
        stop = true;
    }
    std::vector<uint8_t> registers;
    std::atomic<bool> stop{false};

  private:
    Comparator& beside_;
    const Difference& at_;
};

// The longest track of the CTAs that run.
class TrackLength : public warp::Observer {
  public:
    TrackLength(const Plan& plan) : plan_(plan), lanes_(plan.warps * 32) {}
    void retired(const warp::Retired& e) override {
        if (!plan_.traced[e.operation]) return;
        const uint64_t words = 1u + e.program->operations[e.operation].written;
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1)
            lanes_[e.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest))] += words;
    }
    uint64_t words() const { return *std::ranges::max_element(lanes_); }

  private:
    const Plan& plan_;
    std::vector<uint64_t> lanes_;
};

// The emulator's side of a case, and what both ways of comparing share.
struct Side {
    const Case& c;
    const Options& options;
    Report& report;
    std::string engine;  // its name
    std::vector<uint64_t> addresses;
    Plan plan;

    bool fail(std::string why) const {
        if (report.problem.empty()) report.problem = std::move(why);
        return false;
    }

    warp::Launch launch(Memory& bytes, uint64_t first_cta, uint64_t ctas) const {
        warp::Launch l;
        l.grid = c.grid;
        l.block = c.block;
        l.dynamic_shared = c.dynamic_shared;
        l.parameters = patched(c, addresses);
        for (size_t i = 0; i < bytes.size(); ++i)
            l.buffers.push_back({c.names[i], addresses[i], bytes[i]});
        l.max_steps = options.max_steps;
        l.threads = options.threads;
        l.stop = options.stop;
        l.first_cta = first_cta;
        l.ctas = ctas;
        return l;
    }

    // One emulated range of CTAs. false: it did not run to its end.
    bool emulate(Memory& bytes, uint64_t first_cta, uint64_t ctas, warp::Observer* observer,
                 warp::Oracle* oracle = nullptr) const {
        if (ctas == 0) return true;
        warp::Launch l = launch(bytes, first_cta, ctas);
        l.oracle = oracle;
        const warp::Result r = exec::launch(report.program, l, observer);
        if (r.refusal) return fail(r.refusal->what);
        report.statistics.instructions += r.statistics.instructions;
        report.statistics.lane_operations += r.statistics.lane_operations;
        report.statistics.products += r.statistics.products;
        report.statistics.ctas += r.statistics.ctas;
        if (!r.trap) return true;
        report.trap = r.trap;
        return false;
    }

    void fault_difference(std::string what) const {
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

    // The engine ran to its end, the emulator did not.
    bool trapped_alone() const {
        if (report.trap && !report.first)
            fault_difference(
                "the emulator trapped: " + std::string(warp::trap_name(report.trap->kind)) + ", " +
                report.trap->detail + "; " + engine + " ran on");
        return false;
    }

    // The engine did not run to its end: does the emulator end in the same way?
    void compare_fault(const gpu::Ran& ran) const {
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
        if (same_fault(ran, r.trap->kind)) {
            report.same_fault = true;
            report.counts.faults = 1;
            return;
        }

        fault_difference(engine + ": " + ran.what + "; the emulator: " +
                         std::string(warp::trap_name(r.trap->kind)) + ", " + r.trap->detail);
    }

    void compare_memory(const Memory& emulated, const Memory& outputs) const {
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

    // What the instruction that differs read: its CTA once more, up to the step before it.
    void explain(const Tracks& tracks, Supplied supplied, Memory bytes) const {
        Difference& d = *report.first;
        const uint64_t track = plan.warps * (tracks.window.words + tracks.slack) * word_bytes;
        const auto begin =
            tracks.words.begin() +
            static_cast<std::ptrdiff_t>((d.cta_index - tracks.window.first_cta) * track);
        report.tracks = Tracks{tracks.window, tracks.slack, {}};
        report.tracks->words.assign(begin, begin + static_cast<std::ptrdiff_t>(track));
        report.tracks->window.first_cta = d.cta_index;
        report.tracks->window.ctas = 1;
        if (d.kind != DifferenceKind::value) return;
        Comparator comparator(plan, tracks, supplied);
        Capture capture(comparator, d);
        warp::Launch l = launch(bytes, d.cta_index, 1);
        l.oracle = &comparator;
        l.stop = &capture.stop;
        l.threads = 1;
        exec::launch(report.program, l, &capture);
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

    // The emulator beside one window of tracks. `bytes`: memory before the window's CTAs, and
    // afterwards after them.
    bool compare_tracks(const Tracks& tracks, Supplied& supplied, Memory& bytes, bool& more) const {
        const Memory before = bytes;
        Comparator comparator(plan, tracks, supplied);
        const bool ran =
            emulate(bytes, tracks.window.first_cta, tracks.window.ctas, &comparator, &comparator);
        if (comparator.finish(report)) explain(tracks, supplied, before);
        ++report.windows;
        more = comparator.unfinished();
        return ran || trapped_alone();
    }

    void make_plan(gpu::Traced traced) {
        plan.program = &report.program;
        plan.traced = std::move(traced);
        plan.compared = plan.traced;
        plan.taken.assign(plan.traced.size(), false);
        const std::vector<std::string_view> why = taken_because(report.program);
        for (size_t i = 0; i < why.size(); ++i)
            if (!why[i].empty() && report.program.operations[i].written != 0) {
                plan.traced[i] = plan.taken[i] = true;
                plan.compared[i] = false;
            }
        plan.warps = (c.block.count() + 31) / 32;
        plan.watched_warps = options.warps;
        plan.first_cta = options.first_cta;
        plan.ctas = options.ctas;
    }

    bool takes() const { return std::ranges::find(plan.taken, true) != plan.taken.end(); }
};

// The engine's side: runs kernels and brings their tracks.
struct Live {
    const Case& c;
    gpu::Engine& engine;
    const std::vector<uint64_t>& addresses;
    const std::vector<uint8_t> parameters;
    uint32_t optimization;
    gpu::Ran ran;
    std::string problem;
    double compile = 0;

    bool run(const std::string& ptx, const std::vector<uint8_t>& with, Memory& out) {
        for (size_t i = 0; i < c.bytes.size(); ++i)
            if (problem = engine.write(addresses[i], c.bytes[i]); !problem.empty()) return false;
        ran = engine.run({ptx, c.entry, c.grid, c.block, c.dynamic_shared, with, optimization});
        if (ran.outcome != gpu::Outcome::done) return false;
        out = c.bytes;
        for (size_t i = 0; i < out.size(); ++i)
            if (problem = engine.read(addresses[i], out[i]); !problem.empty()) return false;
        return true;
    }

    // The tracks of a window, and the buffers after that run. false: `problem` says why.
    bool trace(const gpu::TracedKernel& kernel, const gpu::TraceWindow& window, uint64_t warps,
               Tracks& tracks, Memory& outputs) {
        tracks.window = window;
        tracks.slack = kernel.slack;
        tracks.words.resize(gpu::trace_bytes(window, kernel.slack, warps));
        EngineMemory own(engine);
        const uint64_t buffer = own.allocate(tracks.words.size());
        if (buffer == 0) {
            problem = "no memory for tracks on " + engine.device().name;
            return false;
        }
        if (problem = engine.clear(buffer, tracks.words.size()); !problem.empty()) return false;
        const Clock::time_point begin = Clock::now();
        if (!run(kernel.ptx, gpu::trace_parameters(parameters, buffer, window, kernel.slack),
                 outputs)) {
            if (problem.empty() && ran.outcome == gpu::Outcome::refused)
                problem = "the traced kernel: " + ran.what;
            return false;
        }
        // An engine compiles a text once: the first run is the slow one.
        if (compile == 0) compile = since(begin);
        problem = engine.read(buffer, tracks.words);
        return problem.empty();
    }
};

struct Fetched {
    bool good = false;
    Tracks tracks;
    Memory outputs;
};

// How long tracks will be: as those of the first watched CTA, in most kernels.
uint64_t track_words(const Side& side, const Memory& before) {
    TrackLength length(side.plan);
    Memory scratch = before;
    const uint64_t all = side.c.grid.count();
    warp::Launch l = side.launch(scratch, std::min(side.plan.first_cta, all - 1), 1);
    l.threads = 1;
    l.max_steps = std::min(l.max_steps, uint64_t{1} << 20);
    exec::launch(side.report.program, l, &length);
    return length.words();
}

// The registers: range of CTAs after range, window of their tracks after window. While the emulator
// runs beside one, the engine makes the next.
bool compare_registers(Side& side, Live& live, const ptx::Module& module, Memory& outputs,
                       Memory& emulated, Answer* keep) {
    const Plan& plan = side.plan;
    if (std::ranges::find(plan.compared, true) == plan.compared.end() && !side.options.final_only)
        return side.fail("no instruction of the kernel is to be compared");
    const gpu::TracedKernel kernel = gpu::trace_kernel(module, side.report.program, plan.traced);
    const uint64_t all = side.c.grid.count();
    const bool takes = side.takes();
    // What is taken from the engine is that of one run: one window, all CTAs.
    const uint64_t first_watched = takes ? 0 : std::min(plan.first_cta, all);
    const uint64_t watched = takes ? all : std::min(plan.ctas, all - first_watched);
    if (watched == 0) return side.fail("the grid has no CTA " + std::to_string(plan.first_cta));
    const uint64_t wanted = std::max<uint64_t>(track_words(side, emulated) + kernel.slack, 64);
    // Two windows are in memory at a time.
    const uint64_t words_in_all = side.options.trace_bytes / 2 / word_bytes / plan.warps;
    const uint64_t ctas = takes ? all : std::clamp<uint64_t>(words_in_all / wanted, 1, watched);
    const uint64_t most_words = words_in_all / ctas;
    if (most_words <= 2 * kernel.slack) return side.fail("too little memory for tracks");
    const uint64_t room = most_words - kernel.slack;
    const auto window_at = [&](uint64_t first) {
        gpu::TraceWindow w;
        w.first_cta = first;
        w.ctas = std::min(ctas, first_watched + watched - first);
        w.words = std::min(takes ? std::max(wanted * 4, uint64_t{1} << 12) : wanted, room);
        return w;
    };
    // The memory of a window that was compared serves the next but one.
    const auto fetch = [&](gpu::TraceWindow window, std::vector<uint8_t> memory) {
        Fetched f;
        f.tracks.words = std::move(memory);
        f.good = live.trace(kernel, window, plan.warps, f.tracks, f.outputs);
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
            if (!now.good) {
                // With its loads observed a kernel may fault that does not by itself: unused ones
                // are left out by the compiler.
                if (!live.problem.empty()) return side.fail(live.problem);
                side.compare_fault(live.ran);
                return false;
            }
            if (takes) {
                for (size_t b = 0; b < outputs.size(); ++b)
                    for (size_t i = 0; i < outputs[b].size(); ++i)
                        side.report.varying_bytes += outputs[b][i] != now.outputs[b][i];
                outputs = now.outputs;
            } else if (now.outputs != outputs) {
                return side.fail(other_results);
            }
            emulated = before;
            if (!side.compare_tracks(now.tracks, supplied, emulated, more)) return false;
            if (keep != nullptr && !side.options.drop_tracks)
                keep->tracks.push_back(std::move(now.tracks));
            if (!more) {
                spare = std::move(now.tracks.words);
                break;
            }
            if (takes)
                return side.fail(
                    "the tracks do not fit: values taken from the GPU must be of one run; give "
                    "more memory for tracks, or compare after fewer instructions");
            window.first += window.words;
            window.words = std::min(4 * window.words, room);
            // The engine is one: it ends what it was asked for before.
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
    if (!other.good) {
        if (!live.problem.empty()) return side.fail(live.problem);
        side.compare_fault(live.ran);
        return false;
    }
    if (!ran) return side.trapped_alone();
    if (other.outputs != outputs) return side.fail(other_results);
    side.report.by_digest = true;
    const auto* const theirs = reinterpret_cast<const uint64_t*>(other.tracks.words.data());
    const std::vector<uint64_t>& ours = digests.words();
    const size_t at =
        static_cast<size_t>(std::mismatch(ours.begin(), ours.end(), theirs).first - ours.begin());
    if (at == ours.size()) {
        for (size_t i = 0; i < side.report.by_operation.size(); ++i) {
            side.report.by_operation[i].values += digests.values()[i];
            side.report.counts.values += digests.values()[i];
        }
        return true;
    }
    side.report.by_digest = false;
    for (const uint64_t count : {uint64_t{1}, ctas}) {
        plan.first_cta = count == 1 ? first + at / (plan.warps * 32) : first;
        plan.ctas = count;
        side.report.counts = {};
        side.report.by_operation.assign(side.report.by_operation.size(), {});
        emulated = side.c.bytes;
        if (!compare_registers(side, live, module, outputs, emulated, nullptr)) return false;
        if (side.report.first) break;
    }
    return true;
}

bool by_digests(const Side& side, const Memory& before, const Answer* keep) {
    const Options& o = side.options;
    if (o.registers == Registers::words || side.takes() || o.final_only || o.warps != UINT32_MAX ||
        (keep != nullptr && !o.drop_tracks))
        return false;
    if (o.registers == Registers::digests) return true;
    const uint64_t all = side.c.grid.count();
    const uint64_t ctas = std::max<uint64_t>(std::min(o.ctas, all - std::min(o.first_cta, all)), 1);
    return track_words(side, before) * word_bytes * side.plan.warps > o.trace_bytes / ctas;
}

// Resolves the program, with its roundings written out. false: the report says why.
bool resolve(const ptx::Module& module, isa::Arch arch, const Case& c, Report& report) {
    isa::Resolved resolved = isa::resolve(module, arch, c.entry);
    report.diagnostics = std::move(resolved.diagnostics);
    report.program = std::move(resolved.program);
    for (const ptx::Instruction* i : gpu::instructions_of(c.module, report.program.entry))
        report.spellings.push_back(isa::spelled(*i));
    report.spellings.resize(report.program.operations.size(), "exit");
    report.by_operation.resize(report.program.operations.size());
    return report.diagnostics.empty();
}

void check_that_something_was_compared(Report& report) {
    if (report.problem.empty() && report.counts.values + report.counts.memory_bytes == 0 &&
        !report.first && !report.same_fault)
        report.problem = "nothing was compared";
}

// What of an answer does not belong to the case; empty: nothing.
std::string mismatch(const Case& c, const Report& report, const Plan& plan, const Answer& answer) {
    if (answer.addresses.size() != c.bytes.size()) return "its buffers' addresses are not complete";
    if (!answer.outputs.empty()) {
        if (answer.outputs.size() != c.bytes.size()) return "its buffers are not complete";
        for (size_t i = 0; i < c.bytes.size(); ++i)
            if (answer.outputs[i].size() != c.bytes[i].size()) return "a buffer has another size";
    }
    if (!answer.tracks.empty() && answer.traced.size() != report.program.operations.size())
        return "its tracks are of another program";
    uint64_t longest = 0;
    for (size_t i = 0; i < answer.traced.size(); ++i)
        if (answer.traced[i])
            longest = std::max<uint64_t>(longest, 1u + report.program.operations[i].written);
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

Report run_lockstep(const Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                    Answer* keep) {
    Report report;
    const ptx::Module module = gpu::with_explicit_rounding(c.module);
    if (!resolve(module, arch, c, report)) return report;
    Side side{c, options, report, engine.device().name, {}, {}};
    EngineMemory memory(engine);
    for (const auto& bytes : c.bytes) {
        side.addresses.push_back(memory.allocate(bytes.size()));
        if (side.addresses.back() == 0) {
            side.fail("no memory on " + engine.device().name);
            return report;
        }
    }
    side.make_plan(options.final_only ? gpu::Traced(report.program.operations.size(), false)
                                      : gpu::choose_traced(report.program, options.only, module));
    Live live{c,  engine, side.addresses, patched(c, side.addresses), options.optimization, {},
              {}, 0};
    Memory outputs;
    const Clock::time_point begin = Clock::now();
    const bool ran = live.run(ptx::print(module), live.parameters, outputs);
    if (keep != nullptr) {
        *keep = Answer{};
        keep->device = engine.device();
        keep->addresses = side.addresses;
        keep->ran = live.ran;
    }
    if (!ran) {
        if (!live.problem.empty())
            side.fail(live.problem);
        else if (live.ran.outcome == gpu::Outcome::refused)
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
    const bool registers = !options.final_only || side.takes();
    const bool digest = registers && by_digests(side, emulated, keep);
    const bool good =
        digest      ? compare_digests(side, live, module, outputs, emulated)
        : registers ? compare_registers(side, live, module, outputs, emulated, keep)
                    : side.emulate(emulated, 0, c.grid.count(), nullptr) || side.trapped_alone();
    if (keep != nullptr) {
        keep->outputs = outputs;
        if (registers) keep->traced = side.plan.traced;
    }
    if (good) side.compare_memory(emulated, outputs);
    report.seconds.traced = since(beside);
    report.seconds.compile = live.compile;
    check_that_something_was_compared(report);
    return report;
}

Report replay(const Case& c, isa::Arch arch, const Answer& answer, const Options& options) {
    Report report;
    const ptx::Module module = gpu::with_explicit_rounding(c.module);
    if (!resolve(module, arch, c, report)) return report;
    Side side{c, options, report, answer.device.name, answer.addresses, {}};
    side.make_plan(answer.tracks.empty() ? gpu::Traced(report.program.operations.size(), false)
                                         : answer.traced);
    if (std::string why = mismatch(c, report, side.plan, answer); !why.empty()) {
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
