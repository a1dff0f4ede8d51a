// SPDX-License-Identifier: Apache-2.0
#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

std::string_view trap_name(TrapKind kind) {
    switch (kind) {
        case TrapKind::out_of_bounds:
            return "address out of bounds";
        case TrapKind::misaligned:
            return "misaligned address";
        case TrapKind::wrong_space:
            return "address in the wrong state space";
        case TrapKind::read_only:
            return "store to read-only memory";
        case TrapKind::diverged:
            return "aligned instruction in a diverged warp";
        case TrapKind::bad_mask:
            return "illegal operand";
        case TrapKind::deadlock:
            return "deadlock";
        case TrapKind::stack:
            return "stack overflow";
        case TrapKind::step_limit:
            return "step limit reached";
        case TrapKind::trap:
            return "trap instruction";
        case TrapKind::breakpoint:
            return "brkpt instruction";
        case TrapKind::stopped:
            return "stopped";
        case TrapKind::illegal:
            return "illegal instruction";
    }
    return "trap";
}

}  // namespace lockwarp::warp
