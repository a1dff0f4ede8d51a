// SPDX-License-Identifier: Apache-2.0
// The 16 barriers of a CTA (PTX manual, "Parallel Synchronization and Communication Instructions:
// bar, barrier"). The state is the CTA's own: Cta::barriers, and the paths that wait at one.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// The lanes `mask` of a path arrive at a bar instruction. true: the path goes on where it is.
bool barrier(Context& c, size_t path, const Operation& o, uint32_t mask);

// A barrier with a value (bar.red), or of the cluster (barrier.cluster.wait): the path retires it
// once the barrier has opened. false: it waits.
bool reduction(Context& c, size_t path, const Operation& o, uint32_t mask);

// Opens every barrier whose threads have all arrived: those it counts, or all that still live.
void release_barriers(Context& c);

}  // namespace lockwarp::exec
