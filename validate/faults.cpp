// SPDX-License-Identifier: Apache-2.0
#include "validate/faults.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::validate {

namespace {

using warp::TrapKind;

// An mbarrier's own, as an H200 answers: an arrival beyond the pending count, a count of bytes
// beyond its bound.
bool is_of_memory(const isa::Operation& o) { return isa::row(o.op).memory != isa::Memory::none; }

// The first that fits.
struct FaultRow {
    TrapKind trap;
    gpu::Fault fault;
    bool (*is)(const isa::Operation&) = nullptr;
};

constexpr auto rows = std::to_array<FaultRow>({
    {TrapKind::out_of_bounds, gpu::Fault::illegal_address},
    {TrapKind::read_only, gpu::Fault::illegal_address},
    {TrapKind::misaligned, gpu::Fault::misaligned_address},
    {TrapKind::wrong_space, gpu::Fault::address_space},
    {TrapKind::diverged, gpu::Fault::illegal_instruction},
    {TrapKind::bad_mask, gpu::Fault::launch_failed, is_of_memory},
    {TrapKind::bad_mask, gpu::Fault::illegal_instruction},
    {TrapKind::illegal, gpu::Fault::illegal_instruction},
    {TrapKind::trap, gpu::Fault::launch_failed},
    {TrapKind::breakpoint, gpu::Fault::launch_failed},
});

}  // namespace

gpu::Fault fault_of(const warp::Trap& trap, const isa::Program& program) {
    const isa::Operation& o = program.operations[trap.operation];
    const auto* const found = std::ranges::find_if(rows, [&](const FaultRow& row) {
        return row.trap == trap.kind && (row.is == nullptr || row.is(o));
    });
    return found == rows.end() ? gpu::Fault::launch_failed : found->fault;
}

bool same_fault(const gpu::Ran& ran, const warp::Trap& trap, const isa::Program& program) {
    const TrapKind kind = trap.kind;
    const bool endless = kind == TrapKind::deadlock || kind == TrapKind::step_limit;
    if (ran.outcome == gpu::Outcome::hung) return endless;
    return ran.outcome == gpu::Outcome::faulted && !endless && kind != TrapKind::stopped &&
           ran.fault == fault_of(trap, program);
}

}  // namespace lockwarp::validate
