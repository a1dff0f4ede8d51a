// SPDX-License-Identifier: Apache-2.0
// Launches of the C face with listeners of the emulator's own, for rooms that are built with it.
#pragma once

#include "emu/exec/inspector.hpp"
#include "engine/handles.hpp"

namespace lockwarp::engine {

// Hears of a launch; it is good for one.
class Watch {
  public:
    virtual ~Watch() = default;
    // All is in place but the listeners that this adds; they outlive the run.
    virtual void before(const lockwarp_kernel& kernel, warp::Launch& launch) = 0;
    // Not called where nothing ran.
    virtual void after(const lockwarp_kernel& kernel, const warp::Launch& launch,
                       const warp::Result& result) = 0;
};

// What the C face does not say of a launch; each may be nullptr.
struct Beside {
    Watch* watch = nullptr;
    warp::Heap* heap = nullptr;  // warp::Launch::heap; options' heap_bytes are its
    exec::Inspector* inspector = nullptr;
    warp::Outside* outside = nullptr;
    warp::DeviceAnswers* device = nullptr;
};

// As lockwarp_launch.
lockwarp_status launch_watched(const lockwarp_kernel* kernel,
                               const lockwarp_launch_options* options, const Beside& beside,
                               lockwarp_result** result, lockwarp_error** error);

}  // namespace lockwarp::engine
