// SPDX-License-Identifier: Apache-2.0
#include "validate/live.hpp"

#include <fmt/format.h>

namespace lockwarp::validate {

launch::Result<std::vector<uint64_t>> place(const launch::Case& c, EngineMemory& memory) {
    std::vector<uint64_t> addresses = c.fixed;
    addresses.resize(c.bytes.size());
    const std::string& name = memory.engine.device().name;
    // First what must lie where it is said, before something else lies there.
    for (size_t i = 0; i < addresses.size(); ++i)
        if (addresses[i] != 0 && !memory.allocate_at(addresses[i], c.bytes[i].size()))
            return launch::failure(
                fmt::format("buffer '{}' is to lie at {:#x}, and {} does not give "
                            "that address: choose another, or none",
                            c.names[i], addresses[i], name));
    for (size_t i = 0; i < addresses.size(); ++i) {
        if (addresses[i] != 0) continue;
        addresses[i] = memory.allocate(c.bytes[i].size());
        if (addresses[i] == 0) return launch::failure("no memory on " + name);
    }
    return addresses;
}

bool Live::run(const std::string& ptx, const std::vector<uint8_t>& with, Memory& out) {
    for (size_t i = 0; i < c.bytes.size(); ++i)
        if (!good(engine.write(addresses[i], c.bytes[i]))) return false;
    ran = engine.run({ptx, c.entry, c.grid, c.block, c.dynamic_shared, with, optimization,
                      stack_bytes, fresh, c.cluster, c.non_portable_cluster, c.cooperative});
    if (ran.outcome != gpu::Outcome::done) return false;
    out = c.bytes;
    for (size_t i = 0; i < out.size(); ++i)
        if (!good(engine.read(addresses[i], out[i]))) return false;
    return true;
}

bool Live::trace(const gpu::TracedKernel& kernel, const gpu::TraceWindow& window, uint64_t warps,
                 Tracks& tracks, Memory& outputs) {
    tracks.window = window;
    tracks.slack = gpu::slack_of(kernel, window);
    tracks.words.resize(gpu::trace_bytes(window, tracks.slack, warps));
    EngineMemory own(engine);
    const uint64_t before = gpu::bytes_before(kernel);
    const uint64_t begin_of_all = own.allocate(before + tracks.words.size());
    const uint64_t buffer = begin_of_all + before;
    if (begin_of_all == 0) {
        problem = "no memory for tracks on " + engine.device().name;
        return false;
    }
    if (!good(engine.clear(begin_of_all, before + tracks.words.size()))) return false;
    const Clock::time_point begin = Clock::now();
    if (!run(kernel.ptx, gpu::trace_parameters(parameters, buffer, window, kernel), outputs)) {
        if (problem.empty() &&
            (ran.outcome == gpu::Outcome::refused || ran.outcome == gpu::Outcome::uncompiled))
            problem = "the traced kernel: " + ran.what;
        return false;
    }
    // An engine compiles a text once: the first run is the slow one.
    if (compile == 0) compile = since(begin);
    return good(engine.read(buffer, tracks.words));
}

}  // namespace lockwarp::validate
