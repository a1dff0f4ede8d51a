// SPDX-License-Identifier: Apache-2.0
// What warps of a warpgroup wait for.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

inline constexpr uint32_t no_warp = UINT32_MAX;

// A warp of Context::warp's warpgroup that lives and has not committed all wgmma groups of that
// warp but the last `pending` (PTX manual, wgmma.wait_group); no_warp: there is none.
uint32_t lags_behind(const Context& c, uint64_t pending);

}  // namespace lockwarp::exec
