// SPDX-License-Identifier: Apache-2.0
// The end that the caller wishes (Launch::stop).
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

inline bool is_stop_wanted(const Context& c) {
    const std::atomic<bool>* const stop = c.launch->stop;
    return stop != nullptr && stop->load(std::memory_order_relaxed);
}

// The trap of the CTA: the place of its first warp that has not ended, and in `detail` where each
// warp stands and what it waits for.
warp::Trap stopped(const Context& c);

}  // namespace lockwarp::exec
