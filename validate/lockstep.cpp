#include "validate/lockstep.hpp"

#include <algorithm>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "validate/comparator.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint64_t word_bytes = 8 * 32;  // of one word of all lanes of a warp

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

struct Runner {
    const Case& c;
    gpu::Engine& engine;
    const Options& options;
    Report& report;
    EngineMemory memory;
    std::vector<uint64_t> addresses;
    std::vector<uint8_t> parameters;
    std::vector<std::vector<uint8_t>> outputs;  // the engine's buffers after the plain kernel

    Runner(const Case& k, gpu::Engine& e, const Options& o, Report& r)
        : c(k), engine(e), options(o), report(r), memory(e) {}

    bool fail(std::string why) {
        if (report.problem.empty()) report.problem = std::move(why);
        return false;
    }

    bool place() {
        for (const auto& bytes : c.bytes) {
            addresses.push_back(memory.allocate(bytes.size()));
            if (addresses.back() == 0) return fail("no memory on " + engine.device().name);
        }
        parameters = c.parameters;
        for (const Patch& p : c.patches) {
            const uint64_t value = addresses[p.buffer] + p.offset;
            std::memcpy(parameters.data() + p.at, &value, sizeof value);
        }
        return true;
    }

    bool write_inputs() {
        for (size_t i = 0; i < c.bytes.size(); ++i)
            if (std::string why = engine.write(addresses[i], c.bytes[i]); !why.empty())
                return fail(why);
        return true;
    }

    // Runs the kernel on the engine and reads its buffers back. false: it could not be run, or
    // faulted (then the report says so).
    bool run_engine(const std::string& ptx, const std::vector<uint8_t>& with,
                    std::vector<std::vector<uint8_t>>& out) {
        if (!write_inputs()) return false;
        gpu::Job job{ptx, c.entry, c.grid, c.block, c.dynamic_shared, with};
        const gpu::Ran ran = engine.run(job);
        if (ran.outcome == gpu::Outcome::refused)
            return fail(engine.device().name + ": " + ran.what);
        if (ran.outcome == gpu::Outcome::faulted) {
            Difference d;
            d.kind = DifferenceKind::fault;
            d.what = engine.device().name + ": " + ran.what;
            report.first = d;
            return false;
        }
        out = c.bytes;
        for (size_t i = 0; i < out.size(); ++i)
            if (std::string why = engine.read(addresses[i], out[i]); !why.empty()) return fail(why);
        return true;
    }

    warp::Launch launch(std::vector<std::vector<uint8_t>>& bytes, uint64_t first_cta,
                        uint64_t ctas) const {
        warp::Launch l;
        l.grid = c.grid;
        l.block = c.block;
        l.dynamic_shared = c.dynamic_shared;
        l.parameters = parameters;
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
    bool emulate(std::vector<std::vector<uint8_t>>& bytes, uint64_t first_cta, uint64_t ctas,
                 warp::Observer* observer) {
        const warp::Result r =
            exec::launch(report.program, launch(bytes, first_cta, ctas), observer);
        if (r.refusal) return fail(r.refusal->what);
        report.statistics.instructions += r.statistics.instructions;
        report.statistics.lane_operations += r.statistics.lane_operations;
        report.statistics.ctas += r.statistics.ctas;
        if (r.trap) {
            report.trap = r.trap;
            Difference d;
            d.kind = DifferenceKind::fault;
            d.what = "the emulator trapped: " + std::string(warp::trap_name(r.trap->kind));
            d.operation = r.trap->operation;
            d.cta = r.trap->cta;
            d.warp = r.trap->warp;
            d.step = r.trap->step;
            d.lane = r.trap->lane;
            if (!report.first) report.first = d;
            return false;
        }
        return true;
    }

    void compare_memory(const std::vector<std::vector<uint8_t>>& emulated) {
        for (size_t b = 0; b < emulated.size(); ++b) {
            report.counts.memory_bytes += emulated[b].size();
            for (size_t i = 0; i < emulated[b].size(); ++i) {
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

    // One window of the tracks of one range of CTAs: the traced kernel on the engine, then the
    // emulator beside its tracks. more: some track goes on after the window.
    bool compare_window(const gpu::TracedKernel& kernel, const gpu::Traced& traced,
                        const gpu::TraceWindow& window, uint64_t warps,
                        std::vector<std::vector<uint8_t>>& emulated, bool& more) {
        std::vector<uint8_t> tracks(gpu::trace_bytes(window, kernel.slack, warps));
        EngineMemory own(engine);
        const uint64_t buffer = own.allocate(tracks.size());
        if (buffer == 0) return fail("no memory for tracks on " + engine.device().name);
        if (std::string why = engine.clear(buffer, tracks.size()); !why.empty()) return fail(why);
        std::vector<std::vector<uint8_t>> traced_outputs;
        if (!run_engine(kernel.ptx, gpu::trace_parameters(parameters, buffer, window, kernel.slack),
                        traced_outputs))
            return false;
        if (traced_outputs != outputs)
            return fail(
                "the traced kernel gives other results than the plain one: the kernel depends "
                "on timing, or on registers it never wrote");
        if (std::string why = engine.read(buffer, tracks); !why.empty()) return fail(why);
        Comparator comparator(report.program, traced, window, kernel.slack, warps, tracks);
        const bool ran = emulate(emulated, window.first_cta, window.ctas, &comparator);
        comparator.finish(report);
        ++report.windows;
        more = comparator.unfinished();
        return ran;
    }

    // The registers: range of CTAs after range, window of their tracks after window.
    bool compare_registers(const ptx::Module& module, std::vector<std::vector<uint8_t>>& emulated) {
        const gpu::Traced traced = gpu::choose_traced(report.program, options.only, module);
        if (std::ranges::find(traced, true) == traced.end())
            return fail("no instruction of the kernel is to be compared");
        const gpu::TracedKernel kernel = gpu::trace_kernel(module, report.program, traced);
        const uint64_t warps = (c.block.count() + 31) / 32;
        const uint64_t all = c.grid.count();
        // CTAs watched at once have room for tracks of this many words; the first window is
        // smaller, for most tracks are short.
        constexpr uint64_t wanted_words = 1 << 14;
        constexpr uint64_t first_words = 1 << 10;
        const uint64_t words_in_all = options.trace_bytes / word_bytes / warps;
        const uint64_t ctas = std::clamp<uint64_t>(words_in_all / wanted_words, 1, all);
        const uint64_t most_words = words_in_all / ctas;
        if (most_words <= 2 * kernel.slack) return fail("too little memory for tracks");
        for (uint64_t first = 0; first < all; first += ctas) {
            const std::vector<std::vector<uint8_t>> before = emulated;
            gpu::TraceWindow window;
            window.first_cta = first;
            window.ctas = std::min(ctas, all - first);
            window.words = std::min(first_words, most_words - kernel.slack);
            for (bool more = true; more;) {
                emulated = before;
                if (!compare_window(kernel, traced, window, warps, emulated, more)) return false;
                window.first += window.words;
                window.words = std::min(4 * window.words, most_words - kernel.slack);
            }
        }
        return true;
    }
};

}  // namespace

Report run_lockstep(const Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                    Answer* keep) {
    (void)keep;
    Report report;
    const ptx::Module module = gpu::with_explicit_rounding(c.module);
    isa::Resolved resolved = isa::resolve(module, arch, c.entry);
    report.diagnostics = std::move(resolved.diagnostics);
    report.program = std::move(resolved.program);
    if (!report.diagnostics.empty()) return report;
    Runner runner(c, engine, options, report);
    if (!runner.place()) return report;
    const bool ran = runner.run_engine(ptx::print(module), runner.parameters, runner.outputs);
    std::vector<std::vector<uint8_t>> emulated = c.bytes;
    if (!ran) {
        // What the emulator says of a kernel that faults on the engine belongs to the answer.
        if (report.first) runner.emulate(emulated, 0, c.grid.count(), nullptr);
        return report;
    }
    if (options.final_only ? runner.emulate(emulated, 0, c.grid.count(), nullptr)
                           : runner.compare_registers(module, emulated))
        runner.compare_memory(emulated);
    if (report.problem.empty() && report.counts.values + report.counts.memory_bytes == 0 &&
        !report.first)
        report.problem = "nothing was compared";
    return report;
}

}  // namespace lockwarp::validate
