// SPDX-License-Identifier: Apache-2.0
// What CTAs wait for that can never go on.
#pragma once

#include <span>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// The trap of a CTA, or of all of a cluster by rank: the place of the first path that waits, before
// others one that looks at memory, and in `detail` what each waits for. They are not to run
// afterwards.
warp::Trap deadlock(std::span<Context* const> ctas);

// Of the eight bytes of an mbarrier, in the words of a report: its phase, and what that misses.
std::string mbarrier_text(const Context& c, const uint8_t* barrier);

}  // namespace lockwarp::exec
