// SPDX-License-Identifier: Apache-2.0
#include "validate/modelled.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "emu/lockwarp.hpp"
#include "emu/timing/timing.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint64_t max_items = 4'000'000;
constexpr uint64_t max_bytes = uint64_t{1} << 24;
constexpr uint64_t buffer_address = uint64_t{1} << 32;

}  // namespace

launch::Result<double> modelled_cycles(const programs::Probe& probe, unsigned warps,
                                       const timing::Machine& machine) {
    using launch::failure;
    if (probe.bytes > max_bytes)
        return failure("a buffer of " + std::to_string(probe.bytes) + " bytes");
    const ptx::Parsed parsed = ptx::parse(probe.ptx);
    if (!parsed.diagnostics.empty()) return failure(parsed.diagnostics.front().message);
    const isa::Resolved resolved = isa::resolve(parsed.module, machine.arch, probe.entry);
    if (!resolved.diagnostics.empty()) return failure(resolved.diagnostics.front().message);
    std::vector<uint8_t> bytes(probe.bytes);
    warp::Launch one;
    one.block.x = 32 * warps;
    one.parameters.resize(sizeof buffer_address);
    std::memcpy(one.parameters.data(), &buffer_address, sizeof buffer_address);
    one.buffers.push_back({"out", buffer_address, bytes});
    const timing::Lowering lowering = timing::lower(resolved.program, machine);
    timing::Listener listener(lowering, 1, max_items, false);
    one.observers = {&listener};
    const warp::Result result = exec::launch(resolved.program, one);
    if (result.refusal) return failure(result.refusal->what);
    if (result.trap) return failure(std::string(warp::trap_name(result.trap->kind)));
    const timing::Report report = timing::simulate(lowering, one, listener, {});
    if (report.warp_clock_cycles.empty()) return failure("no clock was read");
    return static_cast<double>(*std::ranges::max_element(report.warp_clock_cycles)) /
           probe.instructions;
}

Comparison compare_probes(const Probes& measured, const timing::Machine& machine,
                          const std::vector<std::string>& only) {
    Comparison out;
    double sum = 0;
    for (const programs::Probe& probe : programs::clock_probes(machine.arch, only)) {
        const auto row = measured.rows.find(probe.key);
        if (row == measured.rows.end()) continue;
        for (const auto& [warps, cycles] : row->second) {
            const launch::Result<double> modelled = modelled_cycles(probe, warps, machine);
            if (!modelled) {
                out.left_out.push_back(probe.key + ": " + modelled.error().sentence);
                break;
            }
            Beside beside{probe.key, warps, cycles, *modelled};
            sum += std::abs(beside.error());
            out.rows.push_back(std::move(beside));
        }
    }
    if (!out.rows.empty()) out.mean_error = sum / static_cast<double>(out.rows.size());
    return out;
}

}  // namespace lockwarp::validate
