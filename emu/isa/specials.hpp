// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// Whether the program reads that special register.
inline bool reads(const Program& program, Special which) {
    return std::ranges::find(program.specials, which, &SpecialUse::special) !=
           program.specials.end();
}

}  // namespace lockwarp::isa
