// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "emu/warp/cluster.hpp"
#include "python/core/engines.hpp"
#include "python/core/failure.hpp"
#include "python/core/listeners.hpp"

namespace lockwarp::python {

namespace {

constexpr uint64_t max_items = 20'000'000;

const timing::Machine& machine_of(const std::string& name, isa::Arch arch) {
    const timing::Machine* const found =
        name.empty() ? timing::machine_of(arch) : timing::machine_named(name);
    if (found != nullptr) return *found;
    std::string known;
    for (const timing::Machine& m : timing::machines())
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", m.name, isa::row(m.arch).name);
    throw Failure(fmt::format("\"{}\" has no cycle model; these have one: {}",
                              name.empty() ? isa::row(arch).name : name, known));
}

// Moves the buffers to addresses as a GPU's driver gives them, and the pointers with them.
void place(warp::Launch& launch, const std::vector<Pointer>& pointers) {
    constexpr uint64_t first = uint64_t{0x70} << 32;
    constexpr uint64_t granule = uint64_t{2} << 20;
    if (pointers.empty()) return;
    uint64_t next = first;
    std::vector<uint8_t> moved = launch.parameters;
    for (warp::Buffer& b : launch.buffers) {
        for (const auto& [at, address] : pointers) {
            if (address < b.address || address - b.address >= b.bytes.size()) continue;
            const uint64_t value = next + (address - b.address);
            std::memcpy(moved.data() + at, &value, sizeof value);
        }
        b.address = next;
        next += (b.bytes.size() + 2 * granule - 1) / granule * granule;
    }
    launch.parameters = std::move(moved);
}

}  // namespace

TimedLaunch time_launch(const Kernel& kernel, const Request& request,
                        const std::vector<Pointer>& pointers, const std::string& name, bool all,
                        const std::atomic<bool>& stop) {
    const Source& source = kernel.source();
    const timing::Machine& machine = machine_of(name, source.arch);
    if (request.cooperative)
        throw Failure("the cycle model has no CTAs that wait for each other (cooperative)");
    TimedLaunch out;
    tools::Timed& t = out.timed;
    t.in = source.in;
    t.in.launch.launches[0].entry = kernel.program().entry;
    t.program = std::make_unique<isa::Program>(taken(launch::resolve(t.in, machine.arch)));
    t.sources = source.places;
    t.block_threads = request.block.count();
    t.lowering = timing::lower(*t.program, machine);

    // Memory that kernels write is the caller's: the model has a copy at the same addresses.
    warp::Launch launch = kernel.prepare(request);
    std::vector<std::vector<uint8_t>> copies;
    for (warp::Buffer& b : launch.buffers) {
        copies.emplace_back(b.bytes.begin(), b.bytes.end());
        b.bytes = copies.back();
    }
    place(launch, pointers);
    // Whole clusters run; of each the first CTA is one of the multiprocessor's.
    const bool good =
        warp::cluster_refusal(*t.program, launch.grid, launch.cluster, launch.non_portable_cluster)
            .empty();
    const uint64_t slab =
        good ? warp::clusters_of(*t.program, launch.grid, launch.cluster).slab() : 1;
    const uint64_t stride = (machine.sms + slab - 1) / slab * slab;
    timing::Listener listener(t.lowering, stride, max_items, false);
    std::vector<uint8_t> variables;
    launch.variables = &variables;
    launch.observers = {&listener};
    launch.stop = &stop;
    const uint64_t ctas = launch.grid.count();
    const uint64_t step = all ? ctas : stride;
    for (uint64_t cta = 0; cta < ctas; cta += step) {
        launch.first_cta = cta;
        launch.ctas = all ? 0 : slab;
        variables = kernel.variables();
        out.fault.result = exec::launch(*t.program, launch);
        if (out.fault.result.refusal)
            throw Failure(t.program->entry + ": " + out.fault.result.refusal->what);
        if (out.fault.result.trap) {
            Listeners({}, *t.program, launch).conclude(source.in, *t.program, out.fault);
            return out;
        }
        if (listener.full()) break;
    }
    launch.first_cta = launch.ctas = 0;
    t.report = timing::simulate(t.lowering, launch, listener, {});
    return out;
}

}  // namespace lockwarp::python
