// SPDX-License-Identifier: Apache-2.0
#include "validate/faults.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::validate {

namespace {

using warp::TrapKind;

struct FaultRow {
    TrapKind trap;
    gpu::Fault fault;
};

constexpr auto rows = std::to_array<FaultRow>({
    {TrapKind::out_of_bounds, gpu::Fault::illegal_address},
    {TrapKind::read_only, gpu::Fault::illegal_address},
    {TrapKind::misaligned, gpu::Fault::misaligned_address},
    {TrapKind::wrong_space, gpu::Fault::address_space},
    {TrapKind::diverged, gpu::Fault::illegal_instruction},
    {TrapKind::bad_mask, gpu::Fault::illegal_instruction},
    {TrapKind::trap, gpu::Fault::launch_failed},
    {TrapKind::breakpoint, gpu::Fault::launch_failed},
});

}  // namespace

gpu::Fault fault_of(TrapKind kind) {
    const auto* const found = std::ranges::find(rows, kind, &FaultRow::trap);
    return found == rows.end() ? gpu::Fault::launch_failed : found->fault;
}

bool same_fault(const gpu::Ran& ran, TrapKind kind) {
    const bool endless = kind == TrapKind::deadlock || kind == TrapKind::step_limit;
    if (ran.outcome == gpu::Outcome::hung) return endless;
    return ran.outcome == gpu::Outcome::faulted && !endless && kind != TrapKind::stopped &&
           ran.fault == fault_of(kind);
}

}  // namespace lockwarp::validate
