// SPDX-License-Identifier: Apache-2.0
#include "validate/measure.hpp"

#include "validate/live.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint64_t max_clock_bytes = uint64_t{1} << 30;

// An error where a run did not end well, in the machine's words.
launch::Result<void> result_of(const gpu::Ran& ran) {
    if (ran.outcome == gpu::Outcome::done) return {};
    return launch::failure(ran.what);
}

// The buffers of a case on an engine.
struct Buffers {
    const launch::Case& c;
    gpu::Engine& engine;
    EngineMemory memory;
    std::vector<uint64_t> addresses;
    Memory before;              // with the addresses in it
    std::vector<bool> changed;  // by a run

    Buffers(const launch::Case& from, gpu::Engine& on)
        : c(from), engine(on), memory(on), changed(from.bytes.size(), true) {}

    launch::Result<void> place() {
        launch::Result<std::vector<uint64_t>> placed = validate::place(c, memory);
        if (!placed) return launch::failure(placed);
        addresses = std::move(*placed);
        before = c.bytes;
        launch::patch_buffers(c.buffer_patches, addresses, before);
        return {};
    }

    launch::Result<void> restore() const {
        for (size_t i = 0; i < addresses.size(); ++i)
            if (changed[i])
                if (launch::Result<void> ok = engine.write(addresses[i], before[i]); !ok) return ok;
        return {};
    }

    launch::Result<void> read(Memory& out) const {
        out = c.bytes;
        for (size_t i = 0; i < out.size(); ++i)
            if (launch::Result<void> ok = engine.read(addresses[i], out[i]); !ok) return ok;
        return {};
    }
};

launch::Result<void> measure_into(const launch::Case& c, const isa::Program& program,
                                  gpu::Engine& engine, const MeasureOptions& options,
                                  Measured& out) {
    const uint64_t threads = c.block.count();
    const uint64_t ctas = c.grid.count();
    out.point.ctas = ctas;
    out.point.warps = (threads + 31) / 32;
    if (threads == 0 || ctas == 0 || ctas > max_clock_bytes / gpu::slot_bytes / threads)
        return launch::failure("too many threads to measure");
    Buffers buffers(c, engine);
    if (launch::Result<void> ok = buffers.place(); !ok) return ok;
    if (launch::Result<void> ok = buffers.restore(); !ok) return ok;

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
                 c.cluster,
                 c.non_portable_cluster,
                 c.cooperative};
    if (launch::Result<void> ok = result_of(engine.run(job)); !ok) return ok;
    Memory wanted;
    if (launch::Result<void> ok = buffers.read(wanted); !ok) return ok;
    for (size_t i = 0; i < wanted.size(); ++i) buffers.changed[i] = wanted[i] != buffers.before[i];

    std::vector<uint8_t> bytes(ctas * threads * gpu::slot_bytes);
    const uint64_t slots = buffers.memory.allocate(bytes.size());
    if (slots == 0) return launch::failure("no memory for clocks on " + engine.device().name);
    job.ptx = clocked;
    job.parameters = gpu::clocked_parameters(parameters, slots);
    std::vector<RunClocks> runs(options.runs + 1);
    for (RunClocks& run : runs) {
        if (options.stop != nullptr && *options.stop) return launch::failure("stopped");
        if (launch::Result<void> ok = buffers.restore(); !ok) return ok;
        if (launch::Result<void> ok = engine.clear(slots, bytes.size()); !ok) return ok;
        if (launch::Result<void> ok = result_of(engine.run(job)); !ok)
            return launch::failure("the clocked kernel: " + ok.error().sentence);
        if (launch::Result<void> ok = engine.read(slots, bytes); !ok) return ok;
        launch::Result<RunClocks> clocks = run_clocks(gpu::clocked_slots(bytes), threads);
        if (!clocks) return launch::failure(clocks);
        run = std::move(*clocks);
        if (&run != runs.data()) continue;
        Memory got;
        if (launch::Result<void> ok = buffers.read(got); !ok) return ok;
        out.same_results = got == wanted;
    }
    take_medians(runs, out.point);
    return {};
}

}  // namespace

Measured measure(const launch::Case& c, const isa::Program& program, gpu::Engine& engine,
                 const MeasureOptions& options) {
    Measured out;
    if (launch::Result<void> ok = measure_into(c, program, engine, options, out); !ok)
        out.problem = ok.error().sentence;
    return out;
}

}  // namespace lockwarp::validate
