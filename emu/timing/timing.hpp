// SPDX-License-Identifier: Apache-2.0
// Cycles: what a run would have taken, and where they went. An approximation, built from rows that
// each say where they come from; it listens to a run and changes nothing of it.
//
//   const timing::Machine& machine = *timing::machine_of(arch);
//   const timing::Lowering lowering = timing::lower(program, machine);
//   timing::Listener listener(lowering, machine.sms, max_items, false);
//   launch.observers = {&listener};
//   exec::launch(program, launch);
//   const timing::Report report = timing::simulate(lowering, launch, listener, {});
#pragma once

#include "emu/timing/listener.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::timing {

struct Options {
    unsigned registers = 0;   // of a thread; 0: Lowering's estimate
    uint64_t events = 0;      // of the timeline that are kept
    uint64_t from_cycle = 0;  // of the first kept
    unsigned buckets = 100;   // of the pipes' use over time
};

// What limits the CTAs on an SM.
enum class Limit : uint8_t { grid, ctas, warps, shared, registers };
std::string_view text_of(Limit l);

struct Residency {
    unsigned ctas = 1;  // at once on an SM
    Limit limit = Limit::grid;
    unsigned registers = 0;  // of a thread
};
Residency residency(const Machine& machine, const isa::Program& program, const warp::Launch& launch,
                    unsigned registers);

struct OperationReport {
    uint64_t issues = 0;      // of warps
    uint64_t wavefronts = 0;  // of shared memory
    uint64_t ideal = 0;       // wavefronts, were there no conflicts
    uint64_t sectors = 0;
    std::array<uint64_t, static_cast<size_t>(Stall::count_)> stalls{};  // cycles before it issued
};

struct Event {
    uint64_t waits = 0;  // since this cycle for its turn
    uint64_t issue = 0;
    uint64_t done = 0;  // a dependent instruction may issue
    uint32_t operation = 0;
    uint16_t warp = 0;          // of the SM, in the order in which they came
    uint16_t cta = 0;           // likewise
    Stall stall = Stall::wait;  // the longest of its waits
};

struct CtaReport {
    uint64_t cta = 0, begin = 0, end = 0;
};

struct Report {
    const Machine* machine = nullptr;
    Residency residency;
    uint64_t grid_ctas = 0;
    uint64_t sm_ctas = 0;       // that the modelled SM runs, of which
    uint64_t simulated = 0;     // were simulated
    bool cut = false;           // the run was longer than the model keeps
    uint64_t cta_cycles = 0;    // median of the CTAs simulated
    uint64_t sm_cycles = 0;     // of all of the SM's CTAs
    uint64_t clock_cycles = 0;  // between the first and the last clock read; 0: fewer than two
    // Between the last two clock reads of each warp of the first CTA that has two.
    std::vector<uint64_t> warp_clock_cycles;
    uint64_t issued = 0;      // instructions of the machine
    uint64_t retired = 0;     // instructions of the PTX, by warps
    uint64_t products = 0;    // multiply-adds of tensor cores
    double tensor_share = 0;  // of the peak of the tensor pipe
    std::array<double, static_cast<size_t>(Pipe::count_)> use{};  // 0 to 1
    std::array<std::vector<double>, static_cast<size_t>(Pipe::count_)> use_over_time;
    uint64_t bucket_cycles = 0;
    std::array<uint64_t, static_cast<size_t>(Stall::count_)> stalls{};  // warp cycles
    std::vector<OperationReport> operations;
    std::vector<CtaReport> ctas;
    std::vector<Event> events;
};

Report simulate(const Lowering& lowering, const warp::Launch& launch, const Listener& listener,
                const Options& options);

}  // namespace lockwarp::timing
