// SPDX-License-Identifier: Apache-2.0
// What a CTA waits for that can never go on.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// The trap of the CTA: the place of the first path that waits, before others one that looks at
// memory, and in `detail` what each waits for. The CTA is not to run afterwards.
warp::Trap deadlock(Context& c);

// Of the eight bytes of an mbarrier, in the words of a report: its phase, and what that misses.
std::string mbarrier_text(const Context& c, uint64_t word);

}  // namespace lockwarp::exec
