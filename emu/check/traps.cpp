// SPDX-License-Identifier: Apache-2.0
// A trap as a finding: which check would have looked for it.
#include <algorithm>
#include <array>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

using warp::TrapKind;

constexpr std::array rows{
    TrapRow{TrapKind::out_of_bounds, "memory", "out-of-bounds"},
    TrapRow{TrapKind::misaligned, "memory", "misaligned"},
    TrapRow{TrapKind::wrong_space, "memory", "wrong-space"},
    TrapRow{TrapKind::read_only, "memory", "read-only"},
    TrapRow{TrapKind::stack, "memory", "stack"},
    TrapRow{TrapKind::diverged, "sync", "diverged"},
    TrapRow{TrapKind::bad_mask, "sync", "bad-operand"},
    TrapRow{TrapKind::deadlock, "sync", "deadlock"},
    TrapRow{TrapKind::step_limit, "trap", "step-limit"},
    TrapRow{TrapKind::trap, "trap", "trap"},
    TrapRow{TrapKind::breakpoint, "trap", "breakpoint"},
    TrapRow{TrapKind::stopped, "", ""},
};

constexpr bool complete() {
    for (size_t i = 0; i < rows.size(); ++i)
        if (static_cast<size_t>(rows[i].trap) >= rows.size()) return false;
    for (size_t kind = 0; kind < rows.size(); ++kind)
        if (std::ranges::count(rows, static_cast<TrapKind>(kind), &TrapRow::trap) != 1)
            return false;
    return static_cast<size_t>(TrapKind::stopped) + 1 == rows.size();
}
static_assert(complete());

}  // namespace

std::span<const TrapRow> trap_rows() { return rows; }

Finding finding_of(const warp::Trap& trap, std::string_view kind) {
    Finding out;
    out.kind = kind;
    out.here = {trap.operation, trap.cta, trap.warp, trap.has_lane ? 1u << trap.lane : 0,
                trap.step};
    if (!trap.others.empty()) out.other = Site{trap.others[0], trap.cta, 0, 0, 0};
    if (trap.has_address && trap.space != ptx::Space::none) {
        out.space = trap.space;
        out.address = trap.address;
    }
    out.message = warp::trap_name(trap.kind);
    if (!trap.detail.empty()) out.message += ": " + trap.detail;
    return out;
}

}  // namespace lockwarp::check
