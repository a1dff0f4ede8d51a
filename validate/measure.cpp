// SPDX-License-Identifier: Apache-2.0
#include "validate/measure.hpp"

#include "validate/live.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint64_t max_clock_bytes = uint64_t{1} << 30;

// The machine's words for a run that did not end well; empty: it did.
std::string words_of(const gpu::Ran& ran) {
    return ran.outcome == gpu::Outcome::done ? std::string() : ran.what;
}

// The buffers of a case on an engine.
struct Buffers {
    const launch::Case& c;
    gpu::Engine& engine;
    EngineMemory memory;
    std::vector<uint64_t> addresses;
    std::vector<bool> changed;  // by a run

    Buffers(const launch::Case& from, gpu::Engine& on)
        : c(from), engine(on), memory(on), changed(from.bytes.size(), true) {}

    std::string place() {
        for (const auto& bytes : c.bytes) {
            addresses.push_back(memory.allocate(bytes.size()));
            if (addresses.back() == 0) return "no memory on " + engine.device().name;
        }
        return {};
    }

    std::string restore() const {
        for (size_t i = 0; i < addresses.size(); ++i)
            if (changed[i])
                if (std::string why = engine.write(addresses[i], c.bytes[i]); !why.empty())
                    return why;
        return {};
    }

    std::string read(Memory& out) const {
        out = c.bytes;
        for (size_t i = 0; i < out.size(); ++i)
            if (std::string why = engine.read(addresses[i], out[i]); !why.empty()) return why;
        return {};
    }
};

std::string measure_into(const launch::Case& c, const isa::Program& program, gpu::Engine& engine,
                         const MeasureOptions& options, Measured& out) {
    const uint64_t threads = c.block.count();
    const uint64_t ctas = c.grid.count();
    out.point.ctas = ctas;
    out.point.warps = (threads + 31) / 32;
    if (threads == 0 || ctas == 0 || ctas > max_clock_bytes / gpu::slot_bytes / threads)
        return "too many threads to measure";
    Buffers buffers(c, engine);
    if (std::string why = buffers.place(); !why.empty()) return why;
    if (std::string why = buffers.restore(); !why.empty()) return why;

    const std::string plain = gpu::plain_kernel(c.module, program);
    const std::string clocked = gpu::clocked_kernel(c.module, program);
    const std::vector<uint8_t> parameters = patched(c, buffers.addresses);
    gpu::Job job{plain,
                 c.entry,
                 c.grid,
                 c.block,
                 c.dynamic_shared,
                 parameters,
                 options.optimization,
                 program.functions.size() > 1 ? call_stack_bytes : 0,
                 !program.global_image.empty(),
                 c.cooperative};
    if (std::string why = words_of(engine.run(job)); !why.empty()) return why;
    Memory wanted;
    if (std::string why = buffers.read(wanted); !why.empty()) return why;
    for (size_t i = 0; i < wanted.size(); ++i) buffers.changed[i] = wanted[i] != c.bytes[i];

    std::vector<uint8_t> bytes(ctas * threads * gpu::slot_bytes);
    const uint64_t slots = buffers.memory.allocate(bytes.size());
    if (slots == 0) return "no memory for clocks on " + engine.device().name;
    job.ptx = clocked;
    job.parameters = gpu::clocked_parameters(parameters, slots);
    std::vector<RunClocks> runs(options.runs + 1);
    for (RunClocks& run : runs) {
        if (options.stop != nullptr && *options.stop) return "stopped";
        if (std::string why = buffers.restore(); !why.empty()) return why;
        if (std::string why = engine.clear(slots, bytes.size()); !why.empty()) return why;
        if (std::string why = words_of(engine.run(job)); !why.empty())
            return "the clocked kernel: " + why;
        if (std::string why = engine.read(slots, bytes); !why.empty()) return why;
        if (std::string why = run_clocks(gpu::clocked_slots(bytes), threads, run); !why.empty())
            return why;
        if (&run != runs.data()) continue;
        Memory got;
        if (std::string why = buffers.read(got); !why.empty()) return why;
        out.same_results = got == wanted;
    }
    take_medians(runs, out.point);
    return {};
}

}  // namespace

Measured measure(const launch::Case& c, const isa::Program& program, gpu::Engine& engine,
                 const MeasureOptions& options) {
    Measured out;
    out.problem = measure_into(c, program, engine, options, out);
    return out;
}

}  // namespace lockwarp::validate
