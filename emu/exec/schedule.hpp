// SPDX-License-Identifier: Apache-2.0
// When asynchronous instructions do their work: bulk and tensor copies, cp.async, wgmma.mma_async,
// st.async and red.async. The manual allows every time between issue and the wait that covers it;
// a program whose result depends on it lacks a wait.
#pragma once

#include "emu/exec/ready.hpp"
#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::exec {

struct Schedule {
    // false: where they are issued. true: where somebody waits for them; what nobody waits for, at
    // the end of its CTA.
    bool late = false;
    // With `late`: the only operation that is late; of wgmma.mma_async all are. UINT32_MAX: every
    // one.
    uint32_t operation = UINT32_MAX;
};

// As launch(). Late, observers hear of copies without what they touch; an oracle is refused.
// `plain_arithmetic` and `fold_constants` are the launch's.
warp::Result launch(const isa::Program& program, const warp::Launch& launch,
                    const Schedule& schedule);
// The same with what `ready` was made with in place of the launch's own.
warp::Result launch(const Ready& ready, const warp::Launch& launch, const Schedule& schedule);

}  // namespace lockwarp::exec
