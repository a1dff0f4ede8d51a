// SPDX-License-Identifier: Apache-2.0
// State spaces by name, without a dot.
#pragma once

#include <string_view>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

// "global", "shared"; "generic" of none, and of what is not memory.
constexpr std::string_view name_of(Space space) {
    switch (space) {
        case Space::global:
            return "global";
        case Space::shared:
            return "shared";
        case Space::local:
            return "local";
        case Space::param:
            return "param";
        case Space::const_:
            return "const";
        case Space::none:
        case Space::reg:
        case Space::sreg:
        case Space::tex:
            break;
    }
    return "generic";
}

}  // namespace lockwarp::ptx
