// SPDX-License-Identifier: Apache-2.0
// A trap as a finding: which check would have looked for it.
#include <algorithm>
#include <array>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

using warp::TrapKind;

// Copies bring their bytes to it.
bool is_of_mbarrier(const isa::Operation& o) { return isa::row(o.op).memory != isa::Memory::none; }
bool is_barrier(const isa::Operation& o) {
    const isa::Sync sync = isa::row(o.op).sync;
    return sync == isa::Sync::cta || sync == isa::Sync::cluster;
}

// The first that fits.
constexpr std::array rows{
    TrapRow{TrapKind::out_of_bounds, "memory", "out-of-bounds"},
    TrapRow{TrapKind::misaligned, "memory", "misaligned"},
    TrapRow{TrapKind::wrong_space, "memory", "wrong-space"},
    TrapRow{TrapKind::read_only, "memory", "read-only"},
    TrapRow{TrapKind::stack, "memory", "stack"},
    TrapRow{TrapKind::diverged, "sync", "diverged"},
    TrapRow{TrapKind::bad_mask, "sync", "bad-arrival", is_of_mbarrier},
    TrapRow{TrapKind::bad_mask, "sync", "bad-barrier", is_barrier},
    TrapRow{TrapKind::bad_mask, "sync", "bad-mask"},
    TrapRow{TrapKind::deadlock, "sync", "deadlock"},
    TrapRow{TrapKind::step_limit, "trap", "step-limit"},
    TrapRow{TrapKind::trap, "trap", "trap"},
    TrapRow{TrapKind::breakpoint, "trap", "breakpoint"},
    TrapRow{TrapKind::stopped, "", ""},
    TrapRow{TrapKind::illegal, "memory", "illegal"},
};

// Each trap has one row of any operation, the last of its rows.
constexpr bool complete() {
    constexpr auto kinds = static_cast<size_t>(TrapKind::illegal) + 1;
    for (size_t kind = 0; kind < kinds; ++kind) {
        size_t last = rows.size(), any = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].trap != static_cast<TrapKind>(kind)) continue;
            last = i;
            any += rows[i].is == nullptr ? 1 : 0;
        }
        if (any != 1 || rows[last].is != nullptr) return false;
    }
    return true;
}
static_assert(complete());

}  // namespace

std::span<const TrapRow> trap_rows() { return rows; }

const TrapRow& trap_row(const warp::Trap& trap, const isa::Program& program) {
    const isa::Operation& o = program.operations[trap.operation];
    return *std::ranges::find_if(rows, [&](const TrapRow& row) {
        return row.trap == trap.kind && (row.is == nullptr || row.is(o));
    });
}

Finding finding_of(const warp::Trap& trap, std::string_view kind) {
    Finding out;
    out.kind = kind;
    out.here = {trap.operation, trap.cta, trap.warp, trap.has_lane ? 1u << trap.lane : 0,
                trap.step};
    if (!trap.others.empty()) out.other = Site{trap.others[0], trap.cta, 0, 0, 0};
    if (trap.space != ptx::Space::none) {
        out.space = trap.space;
        out.address = trap.address;
    }
    out.message = warp::trap_name(trap.kind);
    if (!trap.detail.empty()) out.message += ": " + trap.detail;
    return out;
}

}  // namespace lockwarp::check
