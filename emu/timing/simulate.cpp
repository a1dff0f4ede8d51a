// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "emu/timing/sm.hpp"
#include "emu/warp/cluster.hpp"

namespace lockwarp::timing {

namespace {

constexpr unsigned register_unit = 8;    // of a thread
constexpr unsigned registers_kept = 16;  // that the assembler takes beside those that live

constexpr std::array<std::string_view, 5> limit_texts{"grid", "CTAs", "warps", "shared memory",
                                                      "registers"};

constexpr uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

uint64_t median(std::vector<uint64_t> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

std::string_view text_of(Limit l) { return limit_texts[static_cast<size_t>(l)]; }

Residency residency(const Machine& machine, const isa::Program& program, const warp::Launch& launch,
                    unsigned registers) {
    const uint64_t warps = (launch.block.count() + 31) / 32;
    const uint64_t shared =
        isa::in_shared_units(program.arch, program.shared_static + launch.dynamic_shared) +
        machine.reserved;
    Residency out;
    out.registers = registers;
    const uint64_t of_cta = warps * 32 * round_up(std::max(registers, 16u), register_unit);
    const std::array<std::pair<Limit, uint64_t>, 4> limits{
        {{Limit::ctas, machine.ctas},
         {Limit::warps, machine.warps / std::max<uint64_t>(warps, 1)},
         {Limit::shared, shared == 0 ? machine.ctas : machine.shared / shared},
         {Limit::registers, registers_of_sm / std::max<uint64_t>(of_cta, 1)}}};
    uint64_t most = (launch.grid.count() + machine.sms - 1) / machine.sms;
    for (const auto& [limit, count] : limits)
        if (count < most) {
            most = count;
            out.limit = limit;
        }
    out.ctas = static_cast<unsigned>(std::max<uint64_t>(most, 1));
    return out;
}

Report simulate(const Lowering& lowering, const warp::Launch& launch, const Listener& listener,
                const Options& options) {
    Report report;
    const Machine& machine = *lowering.machine;
    report.machine = &machine;
    unsigned registers = options.registers;
    if (registers == 0) {
        // What the program asks of the assembler is kept, by spilling if need be.
        const isa::Program& program = *lowering.program;
        registers = std::min(255u, lowering.registers + registers_kept);
        if (program.max_registers != 0) registers = std::min(registers, program.max_registers);
        const uint64_t lanes = (launch.block.count() + 31) / 32 * 32;
        if (program.least_ctas != 0)
            registers = static_cast<unsigned>(std::min<uint64_t>(
                registers,
                registers_of_sm / (program.least_ctas * lanes) / register_unit * register_unit));
    }
    report.residency = residency(machine, *lowering.program, launch, registers);
    report.grid_ctas = launch.grid.count();
    report.sm_ctas = (report.grid_ctas + machine.sms - 1) / machine.sms;
    report.operations.resize(lowering.operations.size());
    report.cut = listener.full();
    Sm sm{.l = lowering,
          .options = options,
          .shared = shared_row(machine.arch),
          .global = global_row(machine.arch),
          .flow = flow_row(machine.arch),
          .async = async_row(machine.arch),
          .report = report};
    for (SubCore& c : sm.cores) c.wake = never;
    sm.alone = warp::clusters_of(*lowering.program, launch.grid, launch.cluster).size() == 1;
    constexpr unsigned line_instructions = 8;
    constexpr uint64_t sector = 3200;  // bytes, in hundredths
    uint32_t instructions = 0;
    for (const Lowered& m : lowering.operations) {
        sm.line_of.push_back(instructions / line_instructions);
        instructions += m.issue;
    }
    sm.fetched.assign(instructions / line_instructions + 1, never);
    const uint64_t busy_sms = std::min<uint64_t>(report.grid_ctas, machine.sms);
    sm.l2_latency = sm.global.l2 + sm.global.l2_loaded * busy_sms / machine.sms;
    sm.sector = std::max<Centi>(sm.global.sector,
                                static_cast<Centi>(sector * busy_sms / sm.global.l2_bytes));
    for (const CtaStreams* cta : listener.ctas())
        if (cta->ended || listener.full()) sm.queue.push_back(cta);
    sm.running.resize(std::max(1u, report.residency.ctas));
    for (const CtaStreams* cta : sm.queue)
        sm.warps_of_cta = std::max(sm.warps_of_cta, cta->warps.size());
    sm.warps.resize(sm.running.size() * sm.warps_of_cta);
    for (uint32_t slot = 0; slot < sm.running.size(); ++slot) sm.start_next(slot, 0);
    sm.run();

    report.simulated = report.ctas.size();
    std::vector<uint64_t> cycles;
    uint64_t last = 0;
    for (const CtaReport& c : report.ctas) {
        cycles.push_back(c.end - c.begin);
        last = std::max(last, c.end);
    }
    report.cta_cycles = median(cycles);
    report.sm_cycles = last;
    // What was not run is taken to go on at the same rate.
    if (report.simulated != 0 && report.simulated < report.sm_ctas)
        report.sm_cycles = last * report.sm_ctas / report.simulated;
    if (sm.last_clock > 0 && sm.first_clock != never)
        report.clock_cycles = sm.last_clock - sm.first_clock;
    if (last != 0) {
        for (size_t p = 0; p < pipes; ++p) {
            const bool of_sm = p >= static_cast<size_t>(Pipe::shared);
            report.use[p] = static_cast<double>(sm.used[p]) / 100 / static_cast<double>(last) /
                            (of_sm ? 1 : sub_cores);
            for (const auto& b : sm.over_time)
                report.use_over_time[p].push_back(static_cast<double>(b[p]) / 100 /
                                                  static_cast<double>(sm.bucket) /
                                                  (of_sm ? 1 : sub_cores));
        }
        report.bucket_cycles = sm.bucket;
        report.tensor_share = report.use[static_cast<size_t>(Pipe::tensor)];
    }
    return report;
}

}  // namespace lockwarp::timing
