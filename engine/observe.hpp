// SPDX-License-Identifier: Apache-2.0
// A C observer as one of the emulator's.
#pragma once

#include "emu/warp/observer.hpp"
#include "engine/handles.hpp"

namespace lockwarp::engine {

// What the C face calls a state space; "" for none that has addresses.
const char* space_name(ptx::Space space);

class Listener : public warp::Observer {
  public:
    Listener(const lockwarp_kernel& kernel, const lockwarp_observer& to)
        : kernel_(kernel), to_(to) {}

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;

  private:
    const lockwarp_kernel& kernel_;
    lockwarp_observer to_;
};

}  // namespace lockwarp::engine
